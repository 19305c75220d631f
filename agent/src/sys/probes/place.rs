//! HOT: where the control block of a thread is (safe).

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::ops::Deref;

use super::blocks::HeldBlock;
use super::control::Control;

/// Where a control block is.
#[derive(Debug)]
pub enum ControlPlace {
    /// In the table that probes use.
    Table(HeldBlock),
    /// Anywhere else: no probe reads it.
    Private(Box<Control>),
}

impl Deref for ControlPlace {
    type Target = Control;

    #[inline]
    fn deref(&self) -> &Control {
        match self {
            Self::Table(control) => control,
            Self::Private(control) => control,
        }
    }
}
