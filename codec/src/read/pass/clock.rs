//! HOT: the time while records are passed on.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::cell::Cell;

use crate::read::{Elapsed, TimeAxis, TimeInterval};

/// The current time in the thread that is being read, for the receiver of its records. All events between two
/// time marks have the same time, by the rules of [`Elapsed`].
#[derive(Debug, Default)]
pub struct Clock {
    wall: Cell<Elapsed>,
    cpu: Cell<Elapsed>,
    interval: Cell<u64>,
}

/// The times of one event.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Moments {
    pub(crate) wall: Elapsed,
    pub(crate) cpu: Elapsed,
    pub(crate) interval: u64,
}

impl Clock {
    /// How much time has passed when the record that is being passed on happened, since the recording began, or for CPU
    /// time since the thread began.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn now(&self, axis: TimeAxis) -> Elapsed {
        match axis {
            TimeAxis::Wall => self.wall.get(),
            TimeAxis::Cpu => self.cpu.get(),
        }
    }

    /// The number of the current interval between two marks: the time is the same as long as this is. No two intervals have
    /// the same number, not even of different threads.
    #[doc(hidden)]
    #[must_use]
    #[inline(always)]
    pub fn interval(&self) -> u64 {
        self.interval.get()
    }

    /// All current times.
    #[inline]
    pub(crate) fn moments(&self) -> Moments {
        let (wall, cpu) = (self.wall.get(), self.cpu.get());
        Moments { wall, cpu, interval: self.interval.get() }
    }

    /// Sets all times, to go back or forward.
    #[inline]
    pub(crate) fn set(&self, moments: Moments) {
        let Moments { wall, cpu, interval } = moments;
        self.wall.set(wall);
        self.cpu.set(cpu);
        self.interval.set(interval);
    }

    /// Begins a thread.
    #[doc(hidden)]
    pub fn begin_thread(&self) {
        self.begin(TimeInterval::default());
    }

    /// Begins an interval.
    #[doc(hidden)]
    pub fn begin(&self, TimeInterval { wall, cpu }: TimeInterval) {
        self.set(Moments { wall, cpu, interval: self.interval.get() + 1 });
    }
}
