//! Estimates the size of an export before it is written.

use std::cmp::Reverse;
use std::fmt;
use std::io::Write;

use flow_codec::analysis::PathTree;
use flow_codec::read::{ThreadFile, Trace};

use super::write::Export;
use crate::export::{PathFormat, Size, Stacks, Viewer, Writer, writer};
use crate::failure::{Failure, Status};
use crate::input::reading::count_thread;
use crate::output::{Out, Progress, bytes, plural};

/// The calls of a thread that are measured, from its first on.
const SAMPLED_CALLS: u64 = 1 << 16;
/// The threads that are measured, the largest.
const SAMPLED_THREADS: usize = 16;

/// Depths that are counted separately to find one that fits.
const DEPTHS: usize = 1024;

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "about {} for {}", bytes(self.bytes), plural(self.calls, "call"))
    }
}

impl Size {
    pub(super) fn print(self, out: &mut Out) -> Result<Status, Failure> {
        writeln!(out, "{self}")?;
        Ok(Status::Done)
    }

    /// The size of this many calls of the same kind.
    fn of(self, calls: u64) -> Self {
        let bytes = u128::from(self.bytes) * u128::from(calls) / u128::from(self.calls.max(1));
        Self { bytes: u64::try_from(bytes).unwrap_or(u64::MAX), calls }
    }
}

impl Export<'_> {
    /// Estimates the size of a timeline: measures some of the calls, and counts all of them.
    pub(super) fn estimate(&self) -> Result<Size, Failure> {
        let mut progress = Progress::without_results(self.bytes());
        let mut files: Vec<&ThreadFile> = self.trace.files.iter().collect();
        files.sort_by_key(|file| Reverse(file.bytes));
        // How many calls are left out by their time is known only after all of them were read.
        let is_whole = self.is_limited();
        let (max_calls, threads) =
            if is_whole { (u64::MAX, usize::MAX) } else { (SAMPLED_CALLS, SAMPLED_THREADS) };
        let emit = self.emit(max_calls);
        let mut sample = Size { bytes: 0, calls: 0 };
        for file in files.iter().take(threads) {
            let Writer::Timeline(mut timeline) = writer(self.args.to, self.trace, self.scale)
            else {
                break;
            };
            let size = emit.measure(self.trace, file, timeline.as_mut(), &mut progress)?;
            sample.bytes += size.bytes;
            sample.calls += size.calls;
        }
        if is_whole {
            return Ok(sample);
        }
        let mut calls: u64 = 0;
        for file in files {
            calls = calls.saturating_add(self.count(file, &mut progress)?);
        }
        Ok(sample.of(calls))
    }

    /// The calls of a thread that are shown.
    fn count(&self, file: &ThreadFile, progress: &mut Progress) -> Result<u64, Failure> {
        if self.chosen.selection.is_all() && self.args.depth.is_none() {
            return Ok(count_thread(file, progress).0.enters);
        }
        let mut calls = [0];
        self.emit(u64::MAX).count(file, &mut calls, progress)?;
        Ok(calls.into_iter().sum())
    }

    /// The largest `--depth` with which a timeline of this size becomes small enough, and its size then.
    pub(super) fn depth_that_fits(
        &self,
        viewer: &Viewer,
        size: Size,
    ) -> Result<Option<(u64, Size)>, Failure> {
        let mut progress = Progress::without_results(self.bytes());
        let mut by_depth = vec![0; DEPTHS];
        for file in &self.trace.files {
            self.emit(u64::MAX).count(file, &mut by_depth, &mut progress)?;
        }
        let mut calls: u64 = 0;
        let fits = |size: &Size| size.bytes <= viewer.bytes;
        // The last element counts all deeper calls.
        let sizes = by_depth.iter().take(DEPTHS - 1).map(|more| {
            calls = calls.saturating_add(*more);
            size.of(calls)
        });
        Ok((1..).zip(sizes.take_while(fits)).last())
    }
}

/// The largest `--depth` below `frames` with which a format becomes small enough, and its size then.
pub(super) fn frames_that_fit(
    format: &dyn PathFormat,
    tree: &PathTree,
    trace: &Trace,
    viewer: &Viewer,
    frames: usize,
) -> Option<(u64, Size)> {
    let size = |frames| Size {
        bytes: format.size(&Stacks::new(tree, frames), trace),
        calls: tree.calls(),
    };
    // `low` frames fit, `high` do not.
    let (mut low, mut high) = (0, frames.min(viewer.frames.saturating_add(1)));
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if size(middle).bytes <= viewer.bytes { low = middle } else { high = middle }
    }
    (low > 0).then(|| (low as u64, size(low)))
}
