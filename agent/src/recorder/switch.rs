//! Whether events are recorded: the switches that threads, probes and callbacks read.
//!
//! ```text
//!              set_paused                    switch_off
//!   recording ◀──────────▶ paused    either ────────────▶ off, for good
//! ```
//!
//! - A callback that reads a switch late records one more event into memory that stays valid.
//! - A thread of the program reads them where it hands over, and follows: it parks, or resumes.
//! - Classes are rewritten until no thread records any more. Otherwise a thread that still records would call methods that do
//!   not.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::sys::sampling;

/// How often a thread that waits checks whether the recording has ended.
const CHECK_PERIOD: Duration = Duration::from_millis(50);

/// The switches of a recording.
#[derive(Debug)]
pub(super) struct Switch {
    /// Off once recording has ended, for any reason; never on again.
    on: AtomicBool,
    /// Sequentially consistent, like `on`, where threads follow it.
    paused: AtomicBool,
    was_paused: AtomicBool,
    pub(super) hold: Hold,
    takes_classes: AtomicBool,
    /// Set when `on` goes off, so that probes no longer call the recorder.
    probes_off: Option<&'static AtomicU64>,
    /// When a fault ended the recording; 0 while none has.
    stopped_at_ns: AtomicU64,
    abandoned: AtomicBool,
}

impl Switch {
    pub(super) fn new() -> Self {
        Self {
            on: AtomicBool::new(true),
            paused: AtomicBool::new(false),
            was_paused: AtomicBool::new(false),
            hold: Hold::default(),
            takes_classes: AtomicBool::new(true),
            probes_off: None,
            stopped_at_ns: AtomicU64::new(0),
            abandoned: AtomicBool::new(false),
        }
    }

    /// Returns whether events are still recorded. Read at the top of every callback.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Returns whether events are still recorded, in one order with [`switch_off`](Self::switch_off) and the limits of
    /// chunks. For threads that have called the recorder.
    #[inline]
    pub(super) fn is_still_on(&self) -> bool {
        // Pairs with `switch_off`.
        self.on.load(Ordering::SeqCst)
    }

    /// Returns whether recording is paused.
    #[inline]
    pub(super) fn is_paused(&self) -> bool {
        self.paused.load(Ordering::SeqCst)
    }

    /// Returns whether threads may have frames whose entries were not recorded because of a pause.
    pub(super) fn was_paused(&self) -> bool {
        self.was_paused.load(Ordering::SeqCst)
    }

    /// Notes that recording is or was paused.
    pub(super) fn note_pause(&self) {
        self.was_paused.store(true, Ordering::SeqCst);
    }

    /// Pauses or resumes. Returns whether that has changed.
    pub(super) fn set_paused(&self, paused: bool) -> bool {
        self.paused.swap(paused, Ordering::SeqCst) != paused
    }

    /// Switches probes through `switch` from now on.
    pub(super) fn set_probes(&mut self, switch: &'static AtomicU64) {
        switch.store(u64::from(self.is_paused()), Ordering::Relaxed);
        self.probes_off = Some(switch);
    }

    /// Lets probes call the recorder no more, or again.
    pub(super) fn switch_probes(&self, off: bool) {
        if let Some(switch) = self.probes_off {
            switch.store(u64::from(off), Ordering::SeqCst);
        }
    }

    /// Makes threads stop recording at their next slow path.
    pub(super) fn switch_off(&self) {
        sampling::set_on(false);
        // Pairs with `is_still_on`, see `Control::limit`.
        self.on.store(false, Ordering::SeqCst);
        if let Some(switch) = self.probes_off {
            switch.store(1, Ordering::Relaxed);
        }
    }

    /// Returns whether classes are still rewritten.
    pub(super) fn takes_classes(&self) -> bool {
        self.takes_classes.load(Ordering::Relaxed)
    }

    /// Lets no more classes be rewritten.
    pub(super) fn take_no_more_classes(&self) {
        self.takes_classes.store(false, Ordering::Relaxed);
    }

    /// Notes that a fault has ended the recording.
    pub(super) fn note_stop(&self, at_ns: u64) {
        self.stopped_at_ns.store(at_ns.max(1), Ordering::Relaxed);
    }

    /// When a fault ended the recording, if one has.
    #[inline]
    pub(super) fn stopped_at_ns(&self) -> Option<u64> {
        Some(self.stopped_at_ns.load(Ordering::Relaxed)).filter(|at_ns| *at_ns != 0)
    }

    /// Ends the recording in a process that is a fork of the recorded one: locks that its threads held are held for ever.
    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
        self.switch_off();
        self.take_no_more_classes();
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }
}

/// Whether threads wait at their next entry.
#[derive(Debug, Default)]
pub(super) struct Hold {
    /// Sequentially consistent, like [`Switch::is_paused`].
    is_on: AtomicBool,
    lock: Mutex<()>,
    released: Condvar,
}

impl Hold {
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::SeqCst)
    }

    /// Lets threads wait, or lets all continue. Returns whether that has changed.
    pub(super) fn set(&self, held: bool) -> bool {
        if self.is_on.swap(held, Ordering::SeqCst) == held {
            return false;
        }
        if !held {
            // A thread that has checked waits now.
            drop(self.lock.lock());
            self.released.notify_all();
        }
        true
    }

    /// Waits until threads may continue, for the current thread.
    #[cold]
    pub(super) fn wait_while(&self, is_recording: impl Fn() -> bool) {
        let mut lock = self.lock.lock();
        while self.is_on() && is_recording() {
            self.released.wait_for(&mut lock, CHECK_PERIOD);
        }
    }
}
