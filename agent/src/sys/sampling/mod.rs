//! Signals that interrupt threads at intervals, and what the handler does: it lets the JVM walk the stack of the thread
//! into a place of the ring.
//!
//! Each thread that is sampled has a *target*, which the signal names by number and generation. Targets are never freed:
//! a signal may arrive late. The handler takes no lock, allocates nothing, and restores `errno`.
//!
//! With the clock of processor time, each thread has a timer of the system, which sends the signal to that thread. The
//! system checks such timers at its ticks only (1 to 10 ms); intervals that passed in between are counted. With the
//! other clock a thread of the agent sends the signals, to threads that ran since their last sample and run Java code: a
//! signal would end system calls of native code early. Stacks of other threads can be read from outside.
//!
//! While the handler runs, other signals are blocked, so that no other handler needs stack on top of it. Faults are not
//! blocked: the JVM causes some on purpose while it walks a stack.

#![expect(unsafe_code, reason = "signals and timers of the system")]

mod interrupted;

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

use once_cell::sync::OnceCell;
use parking_lot::Mutex;

use super::clock;
use super::stack_ring::{RawFrame, Shot, StackRing};

/// Targets in a block of the table, and blocks of it.
const BLOCK: usize = 256;
const BLOCKS: usize = 1024;
const NS_A_US: u64 = 1000;
/// A thread that ran for less since its last sample counts as having waited: it finished the handler.
const WAITED_NS: u64 = 15_000;

/// A thread that is sampled.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Target {
    /// Odd while it is in use.
    generation: AtomicU32,
    /// The number of the thread in the system.
    os_thread: AtomicI32,
    /// The Java thread.
    thread: AtomicU64,
    /// A word of the JVM for this thread.
    env: AtomicUsize,
    /// The stack of the thread: its first address, and the address after its last one. Both 0 if they are unknown.
    stack: [AtomicUsize; 2],
    /// Processor time of the thread at its last sample, when the handler began and when it ended. Stored by the handler.
    began_ns: AtomicU64,
    ended_ns: AtomicU64,
    /// Intervals for which there was no room in the ring.
    missed: AtomicU64,
    /// Intervals in which the handler had no room on its stack.
    cramped: AtomicU64,
    /// Intervals that the next signal represents, with the clock of time that passes.
    due: AtomicU64,
    /// The timer of the system, plus 1; 0 for none.
    timer: AtomicUsize,
}

/// Functions that the room of the JVM provides.
#[derive(Debug)]
pub(crate) struct Walker {
    /// Walks the stack of the current thread. Called in the handler.
    pub(crate) walk: fn(&Interrupted<'_>, &mut [RawFrame]) -> Walked,
    /// Returns whether the thread with this word of the JVM is in native code or waits, so that its stack can be read
    /// without a signal.
    pub(crate) is_apart: fn(usize) -> bool,
}

/// A Java thread that is to be sampled.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    /// The number of the thread in the system.
    pub(crate) os_thread: i32,
    /// The Java thread.
    pub(crate) thread: u64,
    /// The word of the JVM for the thread.
    pub(crate) env: usize,
    /// The addresses of its stack; empty if they are unknown.
    pub(crate) stack: Range<usize>,
}

/// The current thread in the handler.
#[derive(Debug)]
pub(crate) struct Interrupted<'a> {
    /// Its registers, as the system passes them.
    pub(crate) context: *mut c_void,
    /// The word of the JVM for it.
    pub(crate) env: usize,
    /// The Java thread of the operating system's thread.
    pub(crate) thread: u64,
    /// When the handler began.
    pub(crate) at_ns: u64,
    handler: std::marker::PhantomData<&'a ()>,
}

/// The result of walking a stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walked {
    /// How many frames there are, or a negative code.
    pub(crate) frames: i32,
    /// The Java thread they belong to.
    pub(crate) thread: u64,
}

static WALKER: OnceCell<&'static Walker> = OnceCell::new();
static RING: AtomicPtr<StackRing> = AtomicPtr::new(ptr::null_mut());
/// Samples are taken.
static ON: AtomicBool = AtomicBool::new(false);
static SIGNAL: AtomicI32 = AtomicI32::new(0);
static TABLE: [AtomicPtr<[Target; BLOCK]>; BLOCKS] =
    [const { AtomicPtr::new(ptr::null_mut()) }; BLOCKS];
static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);

/// The targets in use.
#[derive(Debug, Default)]
struct Registry {
    by_os_thread: HashMap<i32, u32>,
    free: Vec<u32>,
    len: u32,
    /// The interval of timers; `None` with the clock of time that passes.
    timer_ns: Option<u64>,
}

fn target(index: u32) -> Option<&'static Target> {
    let index = usize::try_from(index).ok()?;
    let block = TABLE.get(index / BLOCK)?.load(Ordering::Acquire);
    // SAFETY: `Registry::claim` stores blocks that are never freed.
    let block = unsafe { block.as_ref() }?;
    block.get(index % BLOCK)
}

fn value(index: u32, generation: u32) -> usize {
    (index as usize) << 32 | generation as usize
}

impl Registry {
    fn claim(&mut self) -> Option<u32> {
        if let Some(index) = self.free.pop() {
            return Some(index);
        }
        let index = self.len;
        let block = TABLE.get(index as usize / BLOCK)?;
        if block.load(Ordering::Relaxed).is_null() {
            let fresh: Box<[Target; BLOCK]> = Box::new(std::array::from_fn(|_| Target::default()));
            // Pairs with the load in `target`.
            block.store(Box::into_raw(fresh), Ordering::Release);
        }
        self.len += 1;
        Some(index)
    }
}

/// Prepares the process for samples with at most this many frames: chooses a signal that nobody uses, and installs the
/// handler, for the life of the process. `timer_ns` is the interval of processor time; without one, signals are sent by
/// [`interrupt_threads`].
///
/// # Errors
/// No signal is free, or there is no memory.
pub(crate) fn prepare(
    walker: &'static Walker,
    max_frames: usize,
    timer_ns: Option<u64>,
) -> Result<(), String> {
    /// The memory of the ring, of which only that of stacks is used, and limits for the number of stacks.
    const RING_BYTES: usize = 16 << 20;
    let _ = WALKER.set(walker);
    let mut registry = REGISTRY.lock();
    let registry = registry.get_or_insert_with(Registry::default);
    registry.timer_ns = timer_ns;
    let known = RING.load(Ordering::Acquire);
    // SAFETY: rings are never freed.
    if unsafe { known.as_ref() }.is_none_or(|ring| ring.max_frames() != max_frames) {
        let places = (RING_BYTES / (max_frames * size_of::<RawFrame>())).clamp(128, 8192);
        let ring = StackRing::new(places, max_frames)
            .map_err(|error| format!("sample: no memory for stacks: {error}"))?;
        RING.store(ptr::from_ref(ring).cast_mut(), Ordering::Release);
    }
    // Stacks that late handlers of an earlier recording stored.
    while ring().is_some_and(|ring| ring.take(|_, _| {})) {}
    if SIGNAL.load(Ordering::Relaxed) == 0 {
        let signal = install().ok_or(
            "sample: no signal is free: all real-time signals have handlers; end the other profiler, or leave out sample",
        )?;
        SIGNAL.store(signal, Ordering::Relaxed);
    }
    if !is_ours() {
        return Err(format!(
            "sample: another library has replaced the handler of signal {}; samples cannot be taken in this process",
            SIGNAL.load(Ordering::Relaxed)
        ));
    }
    Ok(())
}

/// Signals that code causes by what it does. The system ends a process that blocks one of them and causes it: `SIGSYS` comes
/// from a sandbox that handles system calls of the process itself, also those of the handler.
const FAULTS: [c_int; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGSYS,
];

/// Installs the handler for a real-time signal that has none. Real-time signals mean nothing to the JVM, and their
/// default is to end the process, so nobody sends one that has no handler.
fn install() -> Option<c_int> {
    let free = |signal: &c_int| interrupted::handler_of(*signal) == Some(libc::SIG_DFL);
    // From the highest number down: libraries that use real-time signals mostly begin with the lowest, and if several signals
    // are due, the handler of the highest sees what the others have interrupted, see `interrupted`.
    let signal = (libc::SIGRTMIN()..libc::SIGRTMAX()).rev().find(free)?;
    // SAFETY: a struct of numbers, for which zero is valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_signal as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: a set that belongs to us.
    unsafe { libc::sigfillset(&raw mut action.sa_mask) };
    for fault in FAULTS {
        // SAFETY: as above, filled in.
        unsafe { libc::sigdelset(&raw mut action.sa_mask, fault) };
    }
    // SAFETY: a handler with three arguments, as the flag says, in a library that is never unloaded.
    let result = unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
    (result == 0).then_some(signal)
}

/// Returns whether the handler of our signal is still ours.
pub(crate) fn is_ours() -> bool {
    interrupted::handler_of(SIGNAL.load(Ordering::Relaxed)) == Some(on_signal as *const () as usize)
}

/// Takes samples from now on, or not.
pub(crate) fn set_on(is_on: bool) {
    ON.store(is_on, Ordering::SeqCst);
}

/// The number of the calling thread in the system.
pub(crate) fn os_thread() -> i32 {
    // SAFETY: has no preconditions.
    unsafe { libc::gettid() }
}

/// Starts to sample a thread. Does nothing if the thread is sampled already, blocks the signal, as threads of the agent do, or
/// has ended.
///
/// # Errors
/// There are too many threads, or no timer for this one.
pub(crate) fn add_thread(running: &Running) -> Result<(), String> {
    if blocks_signal(running.os_thread) {
        return Ok(());
    }
    let mut registry = REGISTRY.lock();
    let Some(registry) = registry.as_mut() else { return Ok(()) };
    if let Some(index) = registry.by_os_thread.get(&running.os_thread) {
        let known = target(*index).map(|target| target.thread.load(Ordering::Relaxed));
        if known == Some(running.thread) {
            return Ok(());
        }
        // The number of a thread that ended unnoticed was used again.
        end(registry, running.os_thread);
    }
    let Some(used_ns) = cpu_clock(running.os_thread).read() else { return Ok(()) };
    let index = begin(registry, running, used_ns).ok_or("too many threads are sampled")?;
    start_timer(registry, index)
}

/// Stops sampling threads that have ended unnoticed.
pub(crate) fn remove_ended() {
    let mut registry = REGISTRY.lock();
    let Some(registry) = registry.as_mut() else { return };
    let ended = |os_thread: &&i32| cpu_clock(**os_thread).read().is_none();
    let ended: Vec<i32> = registry.by_os_thread.keys().filter(ended).copied().collect();
    ended.into_iter().for_each(|os_thread| end(registry, os_thread));
}

fn begin(registry: &mut Registry, running: &Running, used_ns: u64) -> Option<u32> {
    let index = registry.claim()?;
    let target = target(index)?;
    target.os_thread.store(running.os_thread, Ordering::Relaxed);
    target.thread.store(running.thread, Ordering::Relaxed);
    target.env.store(running.env, Ordering::Relaxed);
    let ends = [running.stack.start, running.stack.end];
    target.stack.iter().zip(ends).for_each(|(to, end)| to.store(end, Ordering::Relaxed));
    target.began_ns.store(used_ns, Ordering::Relaxed);
    // Not sampled yet.
    target.ended_ns.store(0, Ordering::Relaxed);
    target.missed.store(0, Ordering::Relaxed);
    target.cramped.store(0, Ordering::Relaxed);
    target.due.store(0, Ordering::Relaxed);
    // Pairs with the load in the handler.
    target.generation.fetch_add(1, Ordering::Release);
    registry.by_os_thread.insert(running.os_thread, index);
    Some(index)
}

fn start_timer(registry: &mut Registry, index: u32) -> Result<(), String> {
    let (Some(interval_ns), Some(target)) = (registry.timer_ns, target(index)) else {
        return Ok(());
    };
    let os_thread = target.os_thread.load(Ordering::Relaxed);
    let timer = create_timer(os_thread, value(index, target.generation.load(Ordering::Relaxed)))
        .and_then(|timer| {
            target.timer.store(timer as usize + 1, Ordering::Relaxed);
            set_timer(timer, interval_ns)
        });
    timer.map_err(|error| {
        end(registry, os_thread);
        format!("no timer for a thread: {error}")
    })
}

/// The clock of a thread of this process. Its number follows from that of the thread.
fn cpu_clock(os_thread: i32) -> clock::ThreadClock {
    clock::ThreadClock::of_os_thread(os_thread)
}

fn create_timer(os_thread: i32, value: usize) -> io::Result<libc::timer_t> {
    // SAFETY: a struct of numbers and pointers, for which zero is valid.
    let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
    event.sigev_value = libc::sigval { sival_ptr: ptr::with_exposed_provenance_mut(value) };
    event.sigev_signo = SIGNAL.load(Ordering::Relaxed);
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_notify_thread_id = os_thread;
    let mut timer = MaybeUninit::uninit();
    // SAFETY: numbers that the system checks, and room for the timer.
    let result = unsafe {
        libc::timer_create(cpu_clock(os_thread).number(), &raw mut event, timer.as_mut_ptr())
    };
    match result {
        // SAFETY: the call has stored it.
        0 => Ok(unsafe { timer.assume_init() }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Starts a timer at a random part of its interval, so that threads are not sampled in step, and short ones too.
fn set_timer(timer: libc::timer_t, interval_ns: u64) -> io::Result<()> {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let random = (clock::nano_time() ^ timer as u64).wrapping_mul(GOLDEN) >> 11;
    let timespec = |ns: u64| libc::timespec {
        tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(ns % 1_000_000_000).unwrap_or(0),
    };
    let when = libc::itimerspec {
        it_interval: timespec(interval_ns),
        it_value: timespec(1 + random % interval_ns),
    };
    // SAFETY: a timer of ours, and times.
    match unsafe { libc::timer_settime(timer, 0, &raw const when, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Samples a thread no longer.
pub(crate) fn remove_thread(os_thread: i32) {
    if let Some(registry) = REGISTRY.lock().as_mut() {
        end(registry, os_thread);
    }
}

fn end(registry: &mut Registry, os_thread: i32) {
    let Some(index) = registry.by_os_thread.remove(&os_thread) else { return };
    let Some(target) = target(index) else { return };
    target.generation.fetch_add(1, Ordering::SeqCst);
    if let Some(timer) = target.timer.swap(0, Ordering::Relaxed).checked_sub(1) {
        // SAFETY: a timer of ours, which nobody uses any more.
        unsafe { libc::timer_delete(ptr::with_exposed_provenance_mut(timer)) };
    }
    registry.free.push(index);
}

/// Samples no thread any longer.
pub(crate) fn remove_all_threads() {
    set_on(false);
    if let Some(registry) = REGISTRY.lock().as_mut() {
        let all: Vec<i32> = registry.by_os_thread.keys().copied().collect();
        all.into_iter().for_each(|os_thread| end(registry, os_thread));
    }
}

/// Returns whether the calling thread blocks our signal.
fn blocks_signal_here() -> bool {
    let mut set = MaybeUninit::uninit();
    // SAFETY: room for a set, which the call fills in; nothing is changed.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), set.as_mut_ptr()) };
    // SAFETY: filled in.
    unsafe { libc::sigismember(set.as_ptr(), SIGNAL.load(Ordering::Relaxed)) == 1 }
}

/// Returns whether a thread blocks our signal.
fn blocks_signal(os_thread: i32) -> bool {
    if os_thread == self::os_thread() {
        return blocks_signal_here();
    }
    let signal = SIGNAL.load(Ordering::Relaxed);
    let status = std::fs::read_to_string(format!("/proc/self/task/{os_thread}/status"));
    let status = status.unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Sends the signal to a thread.
fn interrupt(target: &Target, index: u32) {
    let generation = target.generation.load(Ordering::Relaxed);
    let info = SignalInfo {
        signal: SIGNAL.load(Ordering::Relaxed),
        error: 0,
        code: libc::SI_QUEUE,
        padding: 0,
        // The process and the user that send it.
        first: std::process::id().cast_signed(),
        second: 0,
        value: value(index, generation),
        rest: [0; 12],
    };
    let os_thread = target.os_thread.load(Ordering::Relaxed);
    // SAFETY: a signal with a handler to a thread of this process, or to none; the information is valid as long as the
    // call.
    unsafe {
        libc::syscall(
            libc::SYS_rt_tgsigqueueinfo,
            std::process::id(),
            os_thread,
            info.signal,
            &raw const info,
        );
    }
}

/// The state in which `sample-clock=wall` found a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Looked {
    /// The thread gets the signal.
    Interrupted,
    /// The thread is in native code or waits, and gets no signal. `intervals` have passed since its last sample, in which it
    /// ran for `ran_us`.
    Apart { intervals: u64, ran_us: u64 },
    /// The thread has not run since its last sample.
    Waited,
}

/// Interrupts the threads that ran since their last sample and are in Java code. `intervals` have passed since the last
/// call. Reports each thread.
pub(crate) fn interrupt_threads(intervals: u64, mut report: impl FnMut(u64, Looked)) {
    let registry = REGISTRY.lock();
    let (Some(registry), Some(walker)) = (registry.as_ref(), WALKER.get()) else { return };
    for (os_thread, index) in &registry.by_os_thread {
        let Some((target, used_ns)) = target(*index).zip(cpu_clock(*os_thread).read()) else {
            continue;
        };
        let thread = target.thread.load(Ordering::Relaxed);
        let ended_ns = target.ended_ns.load(Ordering::Relaxed);
        if ended_ns > 0 && used_ns.saturating_sub(ended_ns) < WAITED_NS {
            report(thread, Looked::Waited);
            continue;
        }
        let due = target.due.fetch_add(intervals, Ordering::Relaxed) + intervals;
        if (walker.is_apart)(target.env.load(Ordering::Relaxed)) {
            // A handler that runs late finds that nothing is due.
            let intervals = target.due.swap(0, Ordering::Relaxed).min(due);
            let before_ns = target.began_ns.swap(used_ns, Ordering::Relaxed);
            target.ended_ns.store(used_ns.max(1), Ordering::Relaxed);
            report(thread, Looked::Apart { intervals, ran_us: ran_us(before_ns, used_ns) });
            continue;
        }
        report(thread, Looked::Interrupted);
        interrupt(target, *index);
    }
}

/// Returns for how many microseconds a thread ran between two times of its clock.
fn ran_us(before_ns: u64, now_ns: u64) -> u64 {
    (now_ns / NS_A_US).saturating_sub(before_ns / NS_A_US)
}

/// Why a handler stored no stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Missed {
    /// The ring had no room.
    RingFull,
    /// The stack of the handler had no room for the walk.
    Cramped,
}

/// Reports the intervals without a stack since the last call, by thread.
pub(crate) fn take_missed(mut report: impl FnMut(u64, Missed, u64)) {
    let registry = REGISTRY.lock();
    let Some(registry) = registry.as_ref() else { return };
    for index in registry.by_os_thread.values() {
        let Some(target) = target(*index) else { continue };
        let kinds = [(Missed::RingFull, &target.missed), (Missed::Cramped, &target.cramped)];
        for (why, intervals) in kinds {
            let missed = intervals.swap(0, Ordering::Relaxed);
            if missed > 0 {
                report(target.thread.load(Ordering::Relaxed), why, missed);
            }
        }
    }
}

/// The ring.
pub(crate) fn ring() -> Option<&'static StackRing> {
    // SAFETY: rings are never freed.
    unsafe { RING.load(Ordering::Acquire).as_ref() }
}

/// `siginfo_t` of a timer, or of a signal that was queued with a value, on 64-bit Linux.
#[repr(C)]
struct SignalInfo {
    signal: c_int,
    error: c_int,
    code: c_int,
    padding: c_int,
    first: c_int,
    /// Of a timer: how many more intervals have passed.
    second: c_int,
    value: usize,
    rest: [u64; 12],
}

unsafe extern "C" fn on_signal(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the place of this thread, which lives as long as the thread.
    let errno_place = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let errno = unsafe { *errno_place };
    // SAFETY: the system passes a `siginfo_t`, whose layout that is.
    if let Some(info) = unsafe { info.cast::<SignalInfo>().as_ref() } {
        handle(info, context);
    }
    // SAFETY: as above.
    unsafe { *errno_place = errno };
}

/// The handler. Values that are not ours, sent by somebody else, are ignored.
fn handle(info: &SignalInfo, context: *mut c_void) {
    if !matches!(info.code, libc::SI_TIMER | libc::SI_QUEUE) {
        return;
    }
    let (Ok(index), generation) = (u32::try_from(info.value >> 32), info.value & 0xFFFF_FFFF)
    else {
        return;
    };
    let (Some(target), Some(walker)) = (target(index), WALKER.get()) else { return };
    // Pairs with the store in `begin`.
    let is_current = target.generation.load(Ordering::Acquire) as usize == generation;
    if !is_current
        || generation.is_multiple_of(2)
        || target.os_thread.load(Ordering::Relaxed) != os_thread()
    {
        return;
    }
    if info.code == libc::SI_QUEUE && target.due.load(Ordering::Relaxed) == 0 {
        // Two signals came at once, and the first one counted the intervals of both; or the stack was read from outside.
        return;
    }
    let began_ns = clock::cpu_time();
    let before_ns = target.began_ns.swap(began_ns, Ordering::Relaxed);
    if !ON.load(Ordering::Relaxed) {
        return;
    }
    let ran_us = ran_us(before_ns, began_ns);
    let due = target.due.swap(0, Ordering::Relaxed);
    let intervals = match info.code {
        libc::SI_TIMER => 1 + u64::try_from(info.second).unwrap_or(0),
        _ => due,
    };
    let [first, end] = target.stack.each_ref().map(|end| end.load(Ordering::Relaxed));
    if interrupted::has_room(context, first..end) {
        let env = target.env.load(Ordering::Relaxed);
        let thread = target.thread.load(Ordering::Relaxed);
        let handler = std::marker::PhantomData;
        let context = interrupted::code(context);
        let at_ns = clock::nano_time();
        walk(
            walker,
            target,
            Interrupted { context, env, thread, at_ns, handler },
            intervals,
            ran_us,
        );
    } else {
        target.cramped.fetch_add(intervals, Ordering::Relaxed);
    }
    target.ended_ns.store(clock::cpu_time(), Ordering::Relaxed);
}

/// Lets the JVM walk the stack into a place of the ring. A function of its own, so that the handler needs little stack when
/// there is no walk.
#[inline(never)]
fn walk(
    walker: &Walker,
    target: &Target,
    interrupted: Interrupted<'_>,
    intervals: u64,
    ran_us: u64,
) {
    let (carrier, at_ns) = (interrupted.thread, interrupted.at_ns);
    let has_room = ring().is_some_and(|ring| {
        ring.fill(|frames| {
            let Walked { frames, thread } = (walker.walk)(&interrupted, frames);
            Shot { thread, carrier, at_ns, intervals, ran_us, frames }
        })
    });
    if !has_room {
        target.missed.fetch_add(intervals, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    static WALK: Walker = Walker {
        walk: |interrupted, frames| {
            if let Some(first) = frames.first_mut() {
                *first = RawFrame { bci: 5, method: interrupted.env };
            }
            Walked { frames: 1, thread: interrupted.thread }
        },
        is_apart: |env| env == APART,
    };
    const APART: usize = 66;

    fn running(env: usize) -> Running {
        Running { os_thread: os_thread(), thread: 9, env, stack: 0..0 }
    }

    fn run(duration: Duration) {
        let start_ns = clock::cpu_time();
        while Duration::from_nanos(clock::cpu_time() - start_ns) < duration {}
    }

    /// Removes the alternate stack that the standard library gives its threads: it has no room for a walk.
    fn leave_alternate_stack() {
        let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        // SAFETY: this thread does not run on that stack, and does not need it at its end.
        assert_eq!(unsafe { libc::sigaltstack(&raw const none, ptr::null_mut()) }, 0);
    }

    /// In one test, because the state is that of the process.
    #[test]
    fn threads_are_sampled_by_the_time_that_they_use_and_by_time_that_passes() {
        leave_alternate_stack();
        prepare(&WALK, 4, Some(1_000_000)).unwrap();
        add_thread(&running(88)).unwrap();
        let ring = ring().unwrap();
        let drain = || {
            let (mut samples, mut intervals) = (0, 0);
            while ring.take(|shot, frames| {
                assert_eq!((shot.thread, shot.frames), (9, 1));
                assert_eq!(frames, [RawFrame { bci: 5, method: 88 }]);
                samples += 1;
                intervals += shot.intervals;
            }) {}
            (samples, intervals)
        };
        run(Duration::from_millis(20));
        assert_eq!(drain(), (0, 0), "off");
        set_on(true);
        run(Duration::from_millis(200));
        std::thread::sleep(Duration::from_millis(50));
        set_on(false);
        let (samples, intervals) = drain();
        assert!(samples > 5 && (150..=230).contains(&intervals), "{samples}, {intervals}");
        remove_thread(os_thread());
        set_on(true);
        run(Duration::from_millis(20));
        assert_eq!(drain(), (0, 0), "removed");

        prepare(&WALK, 4, None).unwrap();
        // The number now belongs to another thread, which has ended.
        add_thread(&Running { thread: 8, ..running(88) }).unwrap();
        add_thread(&running(88)).unwrap();
        let (mut interrupted, mut waited) = (0, 0);
        let deadline = Instant::now() + Duration::from_secs(20);
        while (interrupted == 0 || waited == 0) && Instant::now() < deadline {
            interrupt_threads(3, |thread, looked| {
                assert_eq!(thread, 9);
                match looked {
                    Looked::Interrupted => interrupted += 1,
                    Looked::Waited => waited += 1,
                    Looked::Apart { .. } => panic!("it is here"),
                }
            });
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(interrupted > 0 && waited > 0, "{interrupted}, {waited}");
        let mut intervals = 0;
        while ring.take(|shot, _| intervals += shot.intervals) {}
        assert!(intervals >= 3 && intervals % 3 == 0, "{intervals}");

        // A thread in native code gets no signal, and is reported with the time for which it ran.
        remove_thread(os_thread());
        add_thread(&running(APART)).unwrap();
        run(Duration::from_millis(20));
        let mut looked = Vec::new();
        interrupt_threads(2, |_, found| looked.push(found));
        let [Looked::Apart { intervals: 2, ran_us: 20_000.. }] = looked[..] else {
            panic!("{looked:?}")
        };
        assert!(!ring.take(|_, _| {}));

        // The stack is another one than that of the thread.
        remove_thread(os_thread());
        add_thread(&Running { stack: 8..16, ..running(88) }).unwrap();
        interrupt_threads(5, |_, found| assert_eq!(found, Looked::Interrupted));
        let mut missed = Vec::new();
        take_missed(|thread, why, intervals| missed.push((thread, why, intervals)));
        assert_eq!(missed, [(9, Missed::Cramped, 5)]);
        assert!(!ring.take(|_, _| {}));

        // A thread that ends unnoticed.
        let other = std::thread::spawn(|| {
            let os_thread = os_thread();
            add_thread(&Running { os_thread, ..running(88) }).unwrap();
            os_thread
        });
        let other = other.join().unwrap();
        let is_known = || REGISTRY.lock().as_ref().unwrap().by_os_thread.contains_key(&other);
        assert!(is_known());
        while cpu_clock(other).read().is_some() {
            std::thread::yield_now();
        }
        remove_ended();
        assert!(!is_known());
        remove_all_threads();
        assert!(is_ours());
    }
}
