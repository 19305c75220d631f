//! The threads that carry virtual threads, and whose CPU time theirs is.
//!
//! A virtual thread has no CPU clock: it runs on carriers, now on one and then on another. The JVM says when a carrier begins
//! and ceases to run one. At each look of the sampler, what a carrier has run since the look before belongs to the virtual
//! thread that it carries. That is exact for one that runs from look to look. Those that run for less are seen as often as
//! they run, so sums over many of them are right, as those of samples are.
//!
//! So all virtual threads together never have more CPU time than their carriers. What carriers run without a virtual
//! thread, for the JVM's scheduler, counts for the next one.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use flow_codec::ThreadId;
use parking_lot::Mutex;

use crate::sys::clock::ThreadClock;

/// All carriers so far. Never freed, because a thread refers to its own; those of threads that have ended are used again.
static CARRIERS: Mutex<Vec<&'static Carrier>> = Mutex::new(Vec::new());

thread_local! {
    static CURRENT: Cell<Option<&'static Carrier>> = const { Cell::new(None) };
}

/// A thread that carries virtual threads.
#[derive(Debug)]
struct Carrier {
    clock: Mutex<ThreadClock>,
    /// One more than the virtual thread that it carries; 0 if it carries none.
    carried: AtomicU64,
}

/// Notes that the calling thread begins to carry a virtual thread.
pub fn mounted(thread: ThreadId) {
    if let Some(carrier) = CURRENT.get().or_else(add_current) {
        carrier.carried.store(thread.get().wrapping_add(1), Ordering::Relaxed);
    }
}

/// Notes that the calling thread ceases to carry a virtual thread.
pub fn unmounted() {
    if let Some(carrier) = CURRENT.get() {
        carrier.carried.store(0, Ordering::Relaxed);
    }
}

#[cold]
fn add_current() -> Option<&'static Carrier> {
    let clock = ThreadClock::of_current()?;
    let mut carriers = CARRIERS.lock();
    let carrier = if let Some(ended) = carriers.iter().find(|carrier| carrier.has_ended(clock)) {
        *ended.clock.lock() = clock;
        *ended
    } else {
        let carrier = Carrier { clock: Mutex::new(clock), carried: AtomicU64::new(0) };
        let carrier = &*Box::leak(Box::new(carrier));
        carriers.push(carrier);
        carrier
    };
    CURRENT.set(Some(carrier));
    Some(carrier)
}

impl Carrier {
    /// Returns whether its thread has ended. A new one may have the number that it had.
    fn has_ended(&self, new: ThreadClock) -> bool {
        let clock = *self.clock.lock();
        clock.number() == new.number() || clock.read().is_none()
    }
}

/// The CPU time of carriers, for one recording.
#[derive(Debug, Default)]
pub(in crate::recorder) struct Carriers(Mutex<Vec<Seen>>);

/// The clock of a carrier, as it was read.
#[derive(Debug)]
struct Seen {
    carrier: &'static Carrier,
    read_ns: u64,
    /// For how many looks it has not run.
    stays: u32,
    /// What it has run that belongs to no virtual thread yet.
    ran_ns: u64,
}

impl Carriers {
    /// Begins a look: reads the clocks of carriers.
    pub(in crate::recorder) fn begin(&self) {
        let mut seen = self.0.lock();
        let new = CARRIERS.lock().get(seen.len()..).unwrap_or_default().to_vec();
        seen.extend(new.into_iter().map(Seen::new));
        seen.iter_mut().for_each(Seen::look);
    }

    /// Returns whether the thread is on a carrier.
    pub(in crate::recorder) fn carry(&self, thread: ThreadId) -> bool {
        self.0.lock().iter().any(|seen| seen.carries(thread))
    }

    /// Returns what its carrier has run for a thread, which is at most this; `None` if it is on none.
    pub(in crate::recorder) fn ran_ns(&self, thread: ThreadId, most_ns: u64) -> Option<u64> {
        let mut seen = self.0.lock();
        let seen = seen.iter_mut().find(|seen| seen.carries(thread))?;
        let ns = seen.ran_ns.min(most_ns);
        seen.ran_ns -= ns;
        Some(ns)
    }
}

impl Seen {
    fn new(carrier: &'static Carrier) -> Self {
        let read_ns = carrier.clock.lock().read().unwrap_or_default();
        Self { carrier, read_ns, stays: 0, ran_ns: 0 }
    }

    fn carries(&self, thread: ThreadId) -> bool {
        self.carrier.carried.load(Ordering::Relaxed) == thread.get().wrapping_add(1)
    }

    /// Reads the clock. The clock of a carrier that does not run is read more and more rarely.
    fn look(&mut self) {
        /// The clock is read at least once in this many looks.
        const MOST_STAYS: u32 = 16;
        self.stays += 1;
        if self.stays < MOST_STAYS && !self.stays.is_power_of_two() {
            return;
        }
        // The clock of a thread that has ended shows nothing.
        let ns = self.carrier.clock.lock().read().unwrap_or_default();
        let ran_ns = ns.saturating_sub(self.read_ns);
        self.read_ns = ns;
        self.ran_ns += ran_ns;
        if ran_ns > 0 {
            self.stays = 0;
        } else if self.stays >= MOST_STAYS {
            self.stays = MOST_STAYS / 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clock;

    const MS: u64 = 1_000_000;

    fn run_for(ns: u64) {
        let before = clock::cpu_time();
        while clock::cpu_time() - before < ns {}
    }

    #[test]
    fn what_a_carrier_ran_belongs_to_the_thread_that_it_carries() {
        let carriers = Carriers::default();
        let ran_ns = |thread: u64| carriers.ran_ns(ThreadId::new(thread), u64::MAX);
        run_for(2 * MS);
        mounted(ThreadId::new(1_001));
        carriers.begin();
        assert!(carriers.carry(ThreadId::new(1_001)) && !carriers.carry(ThreadId::new(1_002)));
        assert!(ran_ns(1_001).unwrap() < MS, "what came before does not count");
        run_for(MS);
        carriers.begin();
        let ns = ran_ns(1_001).unwrap();
        assert!((MS..50 * MS).contains(&ns), "{ns}");
        assert_eq!([ran_ns(1_001), ran_ns(1_002)], [Some(0), None]);
        run_for(MS);
        unmounted();
        assert_eq!(ran_ns(1_001), None);
        carriers.begin();
        mounted(ThreadId::new(1_002));
        assert_eq!(carriers.ran_ns(ThreadId::new(1_002), MS / 2), Some(MS / 2));
        let rest_ns = ran_ns(1_002).unwrap();
        assert!((MS / 2..50 * MS).contains(&rest_ns), "{rest_ns}");
        unmounted();
    }

    #[test]
    fn the_place_of_a_carrier_that_has_ended_is_used_again() {
        let add = || {
            std::thread::spawn(|| {
                mounted(ThreadId::new(1_003));
                unmounted();
            })
            .join()
            .unwrap();
        };
        add();
        let count = CARRIERS.lock().len();
        (0..100).for_each(|_| add());
        // Other tests add carriers, too.
        assert!(CARRIERS.lock().len() < count + 10);
    }
}
