//! HOT: the words by which a thread's chunk is found and switched off.
//!
//! | offset | size | field | value |
//! |---:|---:|---|---|
//! | 0 | 16 | nowhere | exits are stored here while there is no chunk; never read |
//! | 16 |  8 | position | address of the next byte to be written; 0 before the thread has started |
//! | 24 |  8 | limit | an event may be stored at any position below it; 0 sends the thread to the recorder: no chunk, or recording is off |
//! | 32 |  8 | ended | not 0 once the thread has ended |
//! |  40 |  8 | last | the last address at which an exit can begin; exits do not check the limit, and stop here |
//! | 48 | 16 | | not used |
//!
//! The probes (`agent/java`) read and write position and limit of the blocks in the table of
//! `blocks`. A block fills a cache line, because its thread stores to it with each event.
//!
//! An exit stores its byte without a check. So the block of a running thread always has a position that can
//! be written to; [`Control::park`] sets one in the block itself.
//!
//! No thread has the id 0. Its block belongs to the table: its word `ended` switches all probes off.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::ops::Deref;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sys::HeldBlock;

/// The control block of one thread.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Control {
    nowhere: [AtomicU64; 2],
    position: AtomicU64,
    /// Sequentially consistent, like `Recorder::on`: if one thread sets it up while another one ends the
    /// recording, at least one of them sees the other.
    limit: AtomicU64,
    ended: AtomicU64,
    last: AtomicU64,
}

impl Control {
    /// The address of the next byte to be written.
    #[inline]
    pub(crate) fn position(&self, order: Ordering) -> u64 {
        self.position.load(order)
    }

    /// Moves the position. For the thread itself.
    #[inline]
    pub(crate) fn set_position(&self, address: u64, order: Ordering) {
        self.position.store(address, order);
    }

    /// The limit and the last place for an exit.
    #[cfg(test)]
    pub(crate) fn ends(&self) -> (u64, u64) {
        (self.limit.load(Ordering::Relaxed), self.last.load(Ordering::Relaxed))
    }

    /// Returns whether an event may be stored at the position.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.position.load(Ordering::Relaxed) < self.limit.load(Ordering::Relaxed)
    }

    /// Directs the thread to a chunk: the addresses of its first byte, of its limit, and of the last place
    /// for an exit. For the thread itself.
    pub(crate) fn begin(&self, first: u64, limit: u64, last: u64) {
        self.last.store(last, Ordering::Relaxed);
        self.set_position(first, Ordering::Release);
        self.limit.store(limit, Ordering::SeqCst);
    }

    /// Sends the thread to the recorder at its next entry.
    pub(crate) fn call_for_attention(&self) {
        self.limit.store(0, Ordering::SeqCst);
    }

    /// Discards the thread's exits. For the thread itself, while it has no chunk.
    pub fn park(&self) {
        let nowhere = ptr::from_ref(&self.nowhere).expose_provenance() as u64;
        self.call_for_attention();
        self.last.store(nowhere, Ordering::Relaxed);
        self.set_position(nowhere, Ordering::Relaxed);
    }

    /// Returns whether the thread has no position yet.
    pub(crate) fn is_new(&self) -> bool {
        self.position.load(Ordering::Relaxed) == 0
    }

    /// Returns whether the thread has ended; its last probes may still run.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed) != 0
    }

    /// Parks the thread for good.
    pub(crate) fn end(&self) {
        self.ended.store(1, Ordering::Relaxed);
        self.park();
    }

    /// The word with the address of the next byte to be written, which only the thread itself changes.
    pub(crate) fn position_word(&self) -> &AtomicU64 {
        &self.position
    }

    /// The word that is not 0 while probes are switched off; in the first block only.
    #[must_use]
    pub fn off_switch(&self) -> &AtomicU64 {
        &self.ended
    }
}

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

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use flow_codec::format::raw;

    use super::*;

    const PROBES: &str = include_str!("../../java/java/lang/FlowProbe.java");

    /// A constant of the probe class.
    fn constant(name: &str) -> usize {
        let declaration = format!("private static final int {name} = ");
        let (_, rest) = PROBES.split_once(&declaration).unwrap();
        let (value, _) = rest.split_once(';').unwrap();
        match value.strip_prefix("0x") {
            Some(hex) => usize::from_str_radix(hex, 16).unwrap(),
            None => value.parse().unwrap(),
        }
    }

    #[test]
    fn the_probe_class_has_the_layout_of_control_blocks_and_events() {
        for (name, expected) in [
            ("BLOCK_SHIFT", size_of::<Control>().trailing_zeros() as usize),
            ("POSITION", offset_of!(Control, position)),
            ("LIMIT", offset_of!(Control, limit)),
            ("OFF_SWITCH", offset_of!(Control, ended)),
            ("LAST", offset_of!(Control, last)),
            ("EXIT", raw::EXIT.into()),
            ("TIME", raw::TIME.into()),
            ("TIME_BYTES", raw::TIME_BYTES),
        ] {
            assert_eq!(constant(name), expected, "{name}");
        }
        assert!(size_of::<Control>().is_power_of_two());
    }

    #[test]
    fn the_probes_refer_to_the_layout_by_its_constants() {
        for before in ["block + ", "BLOCKS + ", "& IDS) << ", "nanoTime() << 8 | ", "(byte) ~"] {
            let uses: Vec<_> = PROBES.split(before).skip(1).collect();
            assert!(!uses.is_empty(), "{before}");
            let named =
                |rest: &&str| rest.starts_with(|c: char| c.is_ascii_uppercase() || c == '(');
            assert!(uses.iter().all(named), "{before}");
        }
    }
}
