//! A bar for long reads, on stderr and only if that is a terminal.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use flow_codec::Offset;
use flow_query::Remark;
use flow_query::reading::Listener;
use indicatif::{ProgressBar, ProgressDrawTarget as DrawTarget, ProgressStyle};

use super::{Out, message, remark};

/// The bar is updated once in this many steps.
const STEPS_PER_UPDATE: u32 = 1 << 16;
/// Shorter reads show no bar.
const DELAY: Duration = Duration::from_millis(500);

/// The progress of reading several files.
#[derive(Debug)]
pub(crate) struct Progress {
    /// `None` if stderr is not a terminal. Hidden at first, because it measures the rate from the start.
    bar: Option<ProgressBar>,
    is_shown: bool,
    started: Instant,
    /// The size of the files that have been read.
    done_bytes: u64,
    steps: u32,
}

impl Progress {
    /// Starts a read of this many bytes, whose results go to `out`. The bar disappears when results reach a terminal,
    /// and is not shown at all if stderr is not one.
    pub(crate) fn new(total_bytes: u64, out: &mut Out) -> Self {
        let progress = Self::without_results(total_bytes);
        if let Some(bar) = &progress.bar {
            out.share_with(bar);
        }
        progress
    }

    /// No bar at all.
    pub(crate) fn hidden() -> Self {
        Self { bar: None, is_shown: false, started: Instant::now(), done_bytes: 0, steps: 0 }
    }

    /// The same if results go elsewhere, or appear only after everything has been read.
    pub(crate) fn without_results(total_bytes: u64) -> Self {
        let is_terminal = stderr().is_terminal();
        let hidden = || ProgressBar::with_draw_target(Some(total_bytes), DrawTarget::hidden());
        Self {
            bar: is_terminal.then(hidden),
            is_shown: false,
            started: Instant::now(),
            done_bytes: 0,
            steps: 0,
        }
    }

    #[cold]
    fn show(&mut self, position: Offset) {
        let Some(bar) = &self.bar else { return };
        if bar.is_finished() {
            self.bar = None;
            return;
        }
        bar.set_position(self.done_bytes.saturating_add(position.get()));
        if !self.is_shown && self.started.elapsed() >= DELAY {
            self.is_shown = true;
            let style = "{wide_bar} {percent}%  {binary_bytes_per_sec}  {eta} left";
            let style = ProgressStyle::with_template(style);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_draw_target(DrawTarget::stderr());
        }
    }
}

impl Listener for Progress {
    #[inline]
    fn step(&mut self, position: impl FnOnce() -> Offset) {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(STEPS_PER_UPDATE) && self.bar.is_some() {
            self.show(position());
        }
    }

    fn at(&mut self, position: Offset) {
        if self.bar.is_some() {
            self.show(position);
        }
    }

    fn expect_more(&mut self, bytes: u64) {
        if let Some(bar) = &self.bar {
            bar.inc_length(bytes);
        }
    }

    fn file_done(&mut self, bytes: u64) {
        self.done_bytes = self.done_bytes.saturating_add(bytes);
    }

    /// Prints a message, without the bar in the way.
    fn message(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| message(text)),
            None => message(text),
        }
    }

    fn remark(&self, noticed: &Remark) {
        self.message(&remark(noticed));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
