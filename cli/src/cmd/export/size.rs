//! Estimates the size of an export before it is written.

use std::cmp::Reverse;
use std::fmt;
use std::io::Write;

use flow_codec::read::{ThreadFile, Trace};
use flow_query::analysis::PathTree;

use super::request::Export;
use crate::export::{Emit, PathFormat, Size, Stacks, Viewer, Writer, writer};
use crate::failure::{Failure, Status};
use crate::output::{Out, Progress, bytes, plural};
use flow_query::reading::count_thread;

/// The calls that are measured, of the largest threads from their first on. Most exports that a viewer opens have
/// fewer: their size is known.
const MEASURED_CALLS: u64 = 1 << 22;
/// The calls that show whether a file is far from too large.
const FEW_CALLS: u64 = 1 << 16;
/// The error of a size that was not measured, in percent.
const ERROR_PERCENT: u64 = 15;
/// The depths that are measured to find one that fits.
const TRIED_DEPTHS: usize = 6;

/// Depths that are counted separately to find one that fits.
const DEPTHS: usize = 1024;

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = if self.is_exact { String::new() } else { format!(" (±{ERROR_PERCENT} %)") };
        write!(f, "about {}{error} for {}", bytes(self.bytes), plural(self.calls, "call"))
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
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        Self { bytes, calls, is_exact: self.is_exact && calls == self.calls }
    }

    /// The most that it can be.
    pub(super) fn most_bytes(self) -> u64 {
        let error = if self.is_exact { 0 } else { self.bytes / 100 * ERROR_PERCENT };
        self.bytes.saturating_add(error)
    }
}

impl Export<'_> {
    /// Estimates the size of a timeline: measures the first calls, and counts all of them.
    pub(super) fn estimate(&self) -> Result<Size, Failure> {
        self.estimate_at(self.depth(), MEASURED_CALLS)
    }

    /// Returns the size of a timeline if it may be larger than this. Measures little if it is far from that.
    pub(super) fn larger_than(&self, bytes: u64) -> Result<Option<Size>, Failure> {
        if self.estimate_at(self.depth(), FEW_CALLS)?.bytes <= bytes / 2 {
            return Ok(None);
        }
        Ok(Some(self.estimate()?).filter(|size| size.bytes > bytes))
    }

    fn estimate_at(&self, depth: u64, measured_calls: u64) -> Result<Size, Failure> {
        let mut progress = Progress::without_results(self.bytes());
        let mut files: Vec<&ThreadFile> = self.trace.files().iter().collect();
        files.sort_by_key(|file| Reverse(file.bytes()));
        // How many calls are left out by their time is known only after all of them were read.
        let most = if self.is_limited() { u64::MAX } else { measured_calls };
        let mut measured = Size { bytes: 0, calls: 0, is_exact: true };
        let Writer::Timeline(mut timeline) =
            writer(self.to, self.trace, self.scale, &self.of_presets)
        else {
            return Ok(measured);
        };
        let mut ends = Vec::new();
        timeline.begin(&mut ends);
        for file in &files {
            let emit = Emit { depth, ..self.emit(most - measured.calls) };
            let size = emit.measure(self.trace, file, timeline.as_mut(), &mut progress)?;
            measured.bytes += size.bytes;
            measured.calls += size.calls;
            if measured.calls >= most {
                measured.is_exact = false;
                break;
            }
        }
        timeline.finish(&mut ends);
        measured.bytes += ends.len() as u64;
        if measured.is_exact {
            return Ok(measured);
        }
        let mut calls: u64 = 0;
        for file in files {
            calls = calls.saturating_add(self.count(file, depth, &mut progress)?);
        }
        Ok(measured.of(calls))
    }

    /// The calls of a thread that are shown.
    fn count(
        &self,
        file: &ThreadFile,
        depth: u64,
        progress: &mut Progress,
    ) -> Result<u64, Failure> {
        if self.chosen.selection().is_all() && depth == u64::MAX {
            return Ok(count_thread(file, progress).0.enters);
        }
        let mut calls = [0];
        Emit { depth, ..self.emit(u64::MAX) }.count(file, &mut calls, progress)?;
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
        for file in self.trace.files() {
            self.emit(u64::MAX).count(file, &mut by_depth, &mut progress)?;
        }
        let mut calls: u64 = 0;
        let fits = |size: &Size| size.bytes <= viewer.bytes;
        // The last element counts all deeper calls.
        let sizes = by_depth.iter().take(DEPTHS - 1).map(|more| {
            calls = calls.saturating_add(*more);
            size.of(calls)
        });
        let guess = sizes.take_while(fits).count() as u64;
        // Outer calls may take more bytes than others, so each guess is measured.
        for depth in (1..=guess).rev().take(TRIED_DEPTHS) {
            let size = self.estimate_at(depth, MEASURED_CALLS)?;
            if size.most_bytes() <= viewer.bytes {
                return Ok(Some((depth, size)));
            }
        }
        Ok(None)
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
        is_exact: false,
    };
    // `low` frames fit, `high` do not.
    let (mut low, mut high) = (0, frames.min(viewer.frames.saturating_add(1)));
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if size(middle).most_bytes() <= viewer.bytes { low = middle } else { high = middle }
    }
    (low > 0).then(|| (low as u64, size(low)))
}
