//! Finds out what a signal has interrupted: the stack on which its handler runs, and the code that the sample is about.
//!
//! The system starts a handler on the stack of the code that it interrupts, or on the alternate stack of the thread. With code
//! of other languages both may be small: goroutines have stacks of a few KiB, and Go gives each thread that runs them an
//! alternate one of 32 KiB; Rust's alternate stack has 8 KiB; C libraries with fibers have stacks of any size and no alternate
//! one. So the handler first checks that its stack has enough room.
//!
//! If two signals are due at once, the system starts both handlers: that of the higher number first, on top of the other one,
//! which has not run an instruction. The JVM suspends threads by a signal, for Flight Recorder for example, mostly at the same
//! instants at which our timers expire. The sample is of the code that the other handler has interrupted.

#![expect(unsafe_code, reason = "reads what the system passes to handlers")]

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

/// Bytes of stack that the walk may use: `AsyncGetCallTrace` used up to 6 KiB where it was measured, and a fault inside, which
/// the JVM expects, takes another signal frame.
const NEEDED_BYTES: usize = 16 << 10;

/// Returns whether the current handler has room to walk the stack. Its stack is the thread's own, with the addresses `own`
/// (empty if they are unknown), or an alternate one.
pub(super) fn has_room(context: *mut c_void, own: Range<usize>) -> bool {
    let here = 0_u8;
    let here = (&raw const here).addr();
    // SAFETY: in a handler, the system's own struct.
    let Some(context) = (unsafe { context.cast::<libc::ucontext_t>().as_ref() }) else {
        return false;
    };
    let alternate = &context.uc_stack;
    is_enough(here, alternate_place(alternate), own)
}

fn alternate_place(stack: &libc::stack_t) -> Range<usize> {
    let first = stack.ss_sp.addr();
    match stack.ss_flags & libc::SS_DISABLE {
        0 => first..first.saturating_add(stack.ss_size),
        _ => 0..0,
    }
}

fn is_enough(here: usize, alternate: Range<usize>, own: Range<usize>) -> bool {
    match alternate.contains(&here) {
        true => here - alternate.start >= NEEDED_BYTES,
        false => own.is_empty() || own.contains(&here),
    }
}

/// Returns the context of the code that was running, if `context` is that of another handler before its first instruction;
/// else `context`.
pub(super) fn code(context: *mut c_void) -> *mut c_void {
    /// The most handlers that are followed: more signals are hardly due at once.
    const MOST: usize = 4;
    (0..MOST)
        .try_fold(context, |context, _| beneath(context).ok_or(context))
        .unwrap_or_else(|end| end)
}

/// The registers of a thread that show whether it is about to run a handler.
#[derive(Clone, Copy, Debug)]
struct Registers {
    code: usize,
    stack: usize,
    /// The arguments.
    signal: usize,
    info: usize,
    context: usize,
}

/// Returns the context that a handler was called with, if `context` is before its first instruction.
fn beneath(context: *mut c_void) -> Option<*mut c_void> {
    // SAFETY: in a handler, the system's own struct, or one that this function returned.
    let registers = registers(unsafe { context.cast::<libc::ucontext_t>().as_ref() }?)?;
    let signal = i32::try_from(registers.signal).ok().filter(|signal| (1..=64).contains(signal))?;
    let is_there = is_frame(registers) && handler_of(signal) == Some(registers.code);
    is_there.then(|| ptr::with_exposed_provenance_mut(registers.context))
}

/// Returns the address of the handler of a signal.
pub(super) fn handler_of(signal: c_int) -> Option<usize> {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: only asks; there is room for the result.
    let result = unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) };
    // SAFETY: the call has filled it in if it returned 0.
    (result == 0).then(|| unsafe { action.assume_init() }.sa_sigaction)
}

#[cfg(target_arch = "x86_64")]
fn registers(context: &libc::ucontext_t) -> Option<Registers> {
    let get = |number: c_int| {
        let word = context.uc_mcontext.gregs.get(usize::try_from(number).ok()?)?;
        usize::try_from(word.cast_unsigned()).ok()
    };
    Some(Registers {
        code: get(libc::REG_RIP)?,
        stack: get(libc::REG_RSP)?,
        signal: get(libc::REG_RDI)?,
        info: get(libc::REG_RSI)?,
        context: get(libc::REG_RDX)?,
    })
}

/// Returns whether the stack is as the system leaves it for a handler: the address to which it returns, the context, and
/// the information.
#[cfg(target_arch = "x86_64")]
fn is_frame(registers: Registers) -> bool {
    registers.context == registers.stack.wrapping_add(8) && registers.info > registers.context
}

#[cfg(target_arch = "aarch64")]
fn registers(context: &libc::ucontext_t) -> Option<Registers> {
    let words = &context.uc_mcontext.regs;
    let get = |number: usize| usize::try_from(*words.get(number)?).ok();
    Some(Registers {
        code: usize::try_from(context.uc_mcontext.pc).ok()?,
        stack: usize::try_from(context.uc_mcontext.sp).ok()?,
        signal: get(0)?,
        info: get(1)?,
        context: get(2)?,
    })
}

/// Returns whether the stack is as the system leaves it for a handler: the information and the context.
#[cfg(target_arch = "aarch64")]
fn is_frame(registers: Registers) -> bool {
    registers.info == registers.stack
        && registers.context == registers.info.wrapping_add(size_of::<libc::siginfo_t>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_unknown_stacks_have_no_room() {
        let own = 0x10_0000..0x20_0000;
        let go = 0x80_0000..0x80_8000;
        let rust = 0x90_0000..0x90_2000;
        assert!(is_enough(0x1F_F000, 0..0, own.clone()), "the own one");
        assert!(is_enough(0x1F_F000, go.clone(), own.clone()), "the own one, beside another");
        assert!(is_enough(0x80_7000, go.clone(), own.clone()), "a large alternate one");
        assert!(!is_enough(0x80_3FFF, go, own.clone()), "one of which most is in use");
        assert!(!is_enough(0x90_1F00, rust, own.clone()), "a small alternate one");
        assert!(!is_enough(0x50_0000, 0..0, own), "that of a fiber");
        assert!(is_enough(0x50_0000, 0..0, 0..0), "unknown");
    }
}
