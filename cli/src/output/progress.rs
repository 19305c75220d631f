//! A bar for reads that take long, on stderr and only when that is a terminal.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use flow_codec::Offset;
use indicatif::{ProgressBar, ProgressStyle};

use super::message;

/// The clock is looked at once in so many steps.
const STEPS_PER_LOOK: u32 = 1 << 16;
/// Shorter reads show no bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// How far a read of several files has come.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    wanted: bool,
    started: Instant,
    total_bytes: u64,
    /// Bytes of the files that are done.
    done_bytes: u64,
    steps: u32,
}

impl Progress {
    /// Starts a read of so many bytes. Without a terminal on stderr it stays silent, and so it does
    /// when the results `scroll` on one.
    pub(crate) fn new(total_bytes: u64, scroll: bool) -> Self {
        Self {
            bar: None,
            wanted: !scroll && stderr().is_terminal(),
            started: Instant::now(),
            total_bytes,
            done_bytes: 0,
            steps: 0,
        }
    }

    /// To be called for every event; `position` is asked for rarely.
    #[inline]
    pub(crate) fn step(&mut self, position: impl FnOnce() -> Offset) {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(STEPS_PER_LOOK) && self.wanted {
            self.show(position());
        }
    }

    /// To be called now and then.
    pub(crate) fn at(&mut self, position: Offset) {
        if self.wanted {
            self.show(position);
        }
    }

    #[cold]
    fn show(&mut self, position: Offset) {
        if self.bar.is_none() && self.started.elapsed() >= PATIENCE {
            let bar = ProgressBar::new(self.total_bytes);
            let style = "{wide_bar} {percent}%  {binary_bytes_per_sec}  {eta} left";
            bar.set_style(
                ProgressStyle::with_template(style)
                    .unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done_bytes.saturating_add(position.get()));
        }
    }

    /// A file of this size is done.
    pub(crate) fn file_done(&mut self, bytes: u64) {
        self.done_bytes = self.done_bytes.saturating_add(bytes);
    }

    /// Tells the user something, without the bar in the way.
    pub(crate) fn message(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| message(text)),
            None => message(text),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
