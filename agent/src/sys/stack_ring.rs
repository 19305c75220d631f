//! HOT: a ring of sampled stacks. Signal handlers fill it, one thread of the agent empties it.
//!
//! A handler must neither wait nor allocate. So all memory is there before, and a handler that finds no free place gives
//! up. Each place has a *turn* (as in Vyukov's bounded queue): number `n` may be filled when it is `n`, and read when it
//! is `n + 1`. Who finds its turn owns the place until it stores the next turn.

#![expect(unsafe_code, reason = "places that are owned by turns")]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::certain::Certain as _;

/// A frame as the JVM writes it: the index of a bytecode, or less than 0, and a method.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawFrame {
    pub(crate) bci: i32,
    pub(crate) method: usize,
}

/// One look at a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shot {
    /// The Java thread; 0 if it is unknown.
    pub(crate) thread: u64,
    /// The Java thread that is its carrier, or the same.
    pub(crate) carrier: u64,
    pub(crate) at_ns: u64,
    pub(crate) intervals: u64,
    /// What the operating system's thread ran since its previous sample.
    pub(crate) ran_us: u64,
    /// How many frames there are, or a negative code.
    pub(crate) frames: i32,
}

#[derive(Debug)]
struct Place {
    turn: AtomicU64,
    shot: UnsafeCell<Shot>,
}

/// The ring.
#[derive(Debug)]
pub(crate) struct StackRing {
    places: Box<[Place]>,
    /// `max_frames` for each place.
    frames: *mut RawFrame,
    max_frames: usize,
    /// The number of the next stack.
    next: AtomicU64,
    /// That of the next one that is read. Locked by the reader.
    read: Mutex<u64>,
}

// SAFETY: `frames` and the shots are used by the owner of their place only, see `fill` and `take`.
unsafe impl Send for StackRing {}
// SAFETY: as above.
unsafe impl Sync for StackRing {}

impl StackRing {
    /// Creates a ring for this many stacks, each with at most this many frames. The memory is taken from the system when
    /// it is used first, and never given back: a late signal may still use it.
    ///
    /// # Errors
    /// There is no memory.
    pub(crate) fn new(places: usize, max_frames: usize) -> io::Result<&'static Self> {
        let bytes = places.saturating_mul(max_frames).saturating_mul(size_of::<RawFrame>());
        // SAFETY: a mapping at a place that the system chooses, so nothing is replaced.
        let frames: *mut c_void = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                bytes.max(1),
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }?;
        let place =
            |number: u64| Place { turn: AtomicU64::new(number), shot: UnsafeCell::default() };
        let places = (0..places as u64).map(place).collect();
        let (frames, next, read) = (frames.cast(), AtomicU64::new(0), Mutex::new(0));
        Ok(Box::leak(Box::new(Self { places, frames, max_frames, next, read })))
    }

    /// How many stacks have room.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The most frames of a stack.
    pub(crate) const fn max_frames(&self) -> usize {
        self.max_frames
    }

    fn place(&self, number: u64) -> Option<(usize, &Place)> {
        let at = usize::try_from(number).ok()?.checked_rem(self.places.len())?;
        Some((at, self.places.get(at)?))
    }

    /// Lets `fill` fill a place. Returns `false` if there is none. For signal handlers.
    pub(crate) fn fill(&self, fill: impl FnOnce(&mut [RawFrame]) -> Shot) -> bool {
        let mut number = self.next.load(Ordering::Relaxed);
        let (at, place) = loop {
            let Some((at, place)) = self.place(number) else { return false };
            // Pairs with the store in `take`: what was read before is read.
            let turn = place.turn.load(Ordering::Acquire);
            if turn < number {
                return false;
            }
            if turn > number {
                number = self.next.load(Ordering::Relaxed);
                continue;
            }
            match self.next.compare_exchange_weak(
                number,
                number + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => break (at, place),
                Err(other) => number = other,
            }
        };
        // SAFETY: within the mapping: there are this many frames for each place.
        let first = unsafe { self.frames.add(at * self.max_frames) };
        // SAFETY: this thread owns the place from its turn on until the store below, and zeros are frames.
        let frames = unsafe { std::slice::from_raw_parts_mut(first, self.max_frames) };
        let shot = fill(frames);
        // SAFETY: as above.
        unsafe { *place.shot.get() = shot };
        // Pairs with the load in `take`.
        place.turn.store(number + 1, Ordering::Release);
        true
    }

    /// Passes the next stack on, and frees its place. Returns `false` if there is none.
    pub(crate) fn take(&self, read: impl FnOnce(&Shot, &[RawFrame])) -> bool {
        let mut next = self.read.lock();
        let number = *next;
        let Some((at, place)) = self.place(number) else { return false };
        // Pairs with the store in `fill`.
        if place.turn.load(Ordering::Acquire) != number + 1 {
            return false;
        }
        // SAFETY: the reader, of which the lock allows one, owns the place from this turn on until the store below.
        let shot = unsafe { *place.shot.get() };
        // SAFETY: within the mapping.
        let first = unsafe { self.frames.add(at * self.max_frames) };
        let len = usize::try_from(shot.frames).unwrap_or(0).min(self.max_frames);
        // SAFETY: as above for the owner; these frames were filled.
        read(&shot, unsafe { std::slice::from_raw_parts(first, len) });
        // Pairs with the load in `fill`.
        place.turn.store(number + self.places.len() as u64, Ordering::Release);
        *next = number + 1;
        true
    }

    /// Returns whether more than half of the places are in use.
    pub(crate) fn is_half_full(&self) -> bool {
        let used = self.next.load(Ordering::Relaxed).saturating_sub(*self.read.lock());
        usize::try_from(used).certain() > self.places.len() / 2
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn shot(thread: u64, frames: i32) -> Shot {
        Shot { thread, frames, ..Shot::default() }
    }

    #[test]
    fn a_full_ring_refuses_and_continues_when_one_was_read() {
        let ring = StackRing::new(2, 3).unwrap();
        let fill = |number: u64| {
            ring.fill(|frames| {
                frames.iter_mut().for_each(|frame| frame.method = usize::try_from(number).unwrap());
                shot(number, 2)
            })
        };
        assert!(fill(1) && fill(2) && !fill(3));
        let mut seen = Vec::new();
        let mut take = || ring.take(|shot, frames| seen.push((shot.thread, frames.to_vec())));
        assert!(take());
        assert!(fill(4) && !fill(5));
        assert!(take() && take() && !take());
        let frames = |method| vec![RawFrame { bci: 0, method }; 2];
        assert_eq!(seen, [(1, frames(1)), (2, frames(2)), (4, frames(4))]);
    }

    #[test]
    fn threads_fill_at_once_and_every_stack_is_whole() {
        const EACH: u64 = 20_000;
        let ring = StackRing::new(64, 8).unwrap();
        let seen = std::thread::scope(|scope| {
            let fillers: Vec<_> = (1..=3)
                .map(|thread| {
                    scope.spawn(move || {
                        let fill = |number: u64| {
                            ring.fill(|frames| {
                                let method = usize::try_from(thread << 32 | number).unwrap();
                                frames.iter_mut().for_each(|frame| frame.method = method);
                                shot(thread << 32 | number, 8)
                            })
                        };
                        (0..EACH).filter(|number| fill(*number)).count() as u64
                    })
                })
                .collect();
            let mut last = HashMap::new();
            let mut seen = 0;
            let mut take = || {
                ring.take(|shot, frames| {
                    assert!(frames.iter().all(|frame| frame.method as u64 == shot.thread));
                    let before = last.insert(shot.thread >> 32, shot.thread);
                    assert!(before < Some(shot.thread), "in order");
                    seen += 1;
                })
            };
            while fillers.iter().any(|filler| !filler.is_finished()) {
                take();
            }
            while take() {}
            let filled: u64 = fillers.into_iter().map(|filler| filler.join().unwrap()).sum();
            assert_eq!(seen, filled);
            seen
        });
        assert!(seen >= 64);
    }
}
