//! What is exported, and what its size and its bytes are made from.

use flow_codec::read::{TestRun, TimeLimits, Trace};
use flow_query::analysis::PathTree;
use flow_query::reading::Selected;

use crate::args::ExportArgs;
use crate::export::{Emit, OfPresets, Target};
use crate::output::Unit;

/// An export: which calls of which trace.
pub(super) struct Export<'a> {
    pub(super) args: &'a ExportArgs,
    pub(super) to: Target,
    pub(super) trace: &'a Trace,
    pub(super) chosen: Selected,
    pub(super) scale: Unit,
    /// Samples by path, if these are written.
    pub(super) samples: Option<PathTree>,
    /// All tests of the trace, if they are written.
    pub(super) tests: Vec<TestRun>,
    pub(super) of_presets: OfPresets,
}

impl Export<'_> {
    pub(super) fn emit(&self, max_calls: u64) -> Emit<'_> {
        Emit { chosen: &self.chosen, depth: self.depth(), max_calls, scale: self.scale }
    }

    /// Returns whether calls are left out by their time.
    pub(super) fn is_limited(&self) -> bool {
        self.chosen.limits() != TimeLimits::NONE
    }

    /// The size of all thread files.
    pub(super) fn bytes(&self) -> u64 {
        self.trace.files().iter().fold(0, |sum, file| file.bytes().saturating_add(sum))
    }

    /// The deepest calls that are written.
    pub(super) fn depth(&self) -> u64 {
        self.args.depth.unwrap_or(u64::MAX)
    }
}
