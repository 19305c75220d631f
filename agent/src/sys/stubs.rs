//! Pieces of code that the virtual machine generates and that have no frame it could walk: they copy arrays, for example.
//! A signal handler finds the caller of such a piece from registers and stack.
//!
//! A piece either begins by saving the frame pointer, and then the frame pointer locates the caller, or it does not touch
//! the stack, and then the return address is on top. Only for x86-64: elsewhere no caller is found.

#![expect(unsafe_code, reason = "reads registers and the stack of the thread that is interrupted")]

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

/// The most pieces that are known. There are about 200, and 500 more in large programs.
const MAX: usize = 2048;

/// How a piece uses the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CodeFrames {
    /// It may save the frame pointer first, and then keeps it.
    Saved,
    /// It never touches the stack.
    None,
}

/// A piece: its first address, and its length with the way in which it uses the stack in the highest bit.
struct Stub {
    start: AtomicU64,
    len: AtomicU64,
}

const FRAMELESS: u64 = 1 << 63;

static STUBS: [Stub; MAX] =
    [const { Stub { start: AtomicU64::new(0), len: AtomicU64::new(0) } }; MAX];
static COUNT: AtomicUsize = AtomicUsize::new(0);
static ADDING: Mutex<()> = Mutex::new(());

/// Adds a piece, unless it is known or there is no room.
pub(crate) fn add(start: u64, len: u64, frames: CodeFrames) {
    let _one_at_a_time = ADDING.lock();
    let count = COUNT.load(Ordering::Relaxed);
    let known = STUBS.iter().take(count);
    let is_known = known.into_iter().any(|stub| stub.start.load(Ordering::Relaxed) == start);
    let Some(stub) = STUBS.get(count).filter(|_| !is_known) else { return };
    let flag = if frames == CodeFrames::None { FRAMELESS } else { 0 };
    stub.start.store(start, Ordering::Relaxed);
    stub.len.store(len.min(FRAMELESS - 1) | flag, Ordering::Relaxed);
    // Pairs with the load in `find`.
    COUNT.store(count + 1, Ordering::Release);
}

fn find(address: u64) -> Option<(u64, CodeFrames)> {
    let known = STUBS.iter().take(COUNT.load(Ordering::Acquire));
    known.into_iter().find_map(|stub| {
        let (start, len) = (stub.start.load(Ordering::Relaxed), stub.len.load(Ordering::Relaxed));
        let frames = if len & FRAMELESS == 0 { CodeFrames::Saved } else { CodeFrames::None };
        (address.wrapping_sub(start) < len & !FRAMELESS).then_some((start, frames))
    })
}

/// Registers of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Registers {
    pub(super) code: u64,
    pub(super) stack: u64,
    pub(super) frame: u64,
}

/// Reads words of this process, also where there may be no memory. May be called in a signal handler.
pub(crate) fn read<const WORDS: usize>(address: u64) -> Option<[u64; WORDS]> {
    let mut words = [0_u64; WORDS];
    let bytes = size_of_val(&words);
    let to = libc::iovec { iov_base: words.as_mut_ptr().cast(), iov_len: bytes };
    let at = std::ptr::with_exposed_provenance_mut(usize::try_from(address).ok()?);
    let from = libc::iovec { iov_base: at, iov_len: bytes };
    let process = std::process::id().cast_signed();
    // SAFETY: there is room for the words; the system checks the other address.
    let read = unsafe { libc::process_vm_readv(process, &raw const to, 1, &raw const from, 1, 0) };
    (usize::try_from(read) == Ok(bytes)).then_some(words)
}

/// Returns whether the system lets this process read its memory with `process_vm_readv`. Sandboxes may forbid it.
pub(crate) fn can_read() -> bool {
    let word = 1_u64;
    read::<1>((&raw const word).expose_provenance() as u64) == Some([word])
}

/// The registers in the caller of a piece, as they will be after it; `code` is in the call.
fn caller(registers: Registers, start: u64, frames: CodeFrames) -> Option<Registers> {
    /// `push rbp; mov rbp, rsp`.
    const SAVES: u32 = 0xEC8B_4855;
    const RET: u8 = 0xC3;
    /// Frames of such pieces are smaller.
    const MAX_FRAME: u64 = 1 << 16;
    let Registers { code, stack, frame } = registers;
    let first = |address| read::<1>(address).map(|[word]| word);
    let [next, ..] = first(code)?.to_le_bytes();
    if frames == CodeFrames::None || code == start || next == RET {
        let [to] = read(stack)?;
        return Some(Registers { code: to.checked_sub(1)?, stack: stack + 8, frame });
    }
    if u32::try_from(first(start)? & u64::from(u32::MAX)) != Ok(SAVES) {
        return None;
    }
    if code == start + 1 {
        let [_, to] = read(stack)?;
        return Some(Registers { code: to.checked_sub(1)?, stack: stack + 16, frame });
    }
    if frame.wrapping_sub(stack) >= MAX_FRAME || !frame.is_multiple_of(8) {
        return None;
    }
    let [saved, to] = read(frame)?;
    Some(Registers { code: to.checked_sub(1)?, stack: frame + 16, frame: saved })
}

/// Calls `walk` with the registers of the caller, if a thread was interrupted in such a piece. `context` is what the system
/// passes to the handler that is running.
pub(crate) fn with_caller<T>(
    context: *mut c_void,
    walk: impl FnOnce(*mut c_void) -> T,
) -> Option<T> {
    let of_caller = |registers: Registers| {
        let (start, frames) = find(registers.code)?;
        caller(registers, start, frames)
    };
    with_registers(context, of_caller, walk)
}

/// Calls `walk` with other registers, if `change` returns some.
#[cfg(target_arch = "x86_64")]
pub(super) fn with_registers<T>(
    context: *mut c_void,
    change: impl FnOnce(Registers) -> Option<Registers>,
    walk: impl FnOnce(*mut c_void) -> T,
) -> Option<T> {
    // SAFETY: in a handler, the system's own struct.
    let mut copy = unsafe { context.cast::<libc::ucontext_t>().as_ref() }.copied()?;
    let register = |number: libc::c_int| usize::try_from(number).ok();
    let numbers = [libc::REG_RIP, libc::REG_RSP, libc::REG_RBP].map(register);
    let [code, stack, frame] =
        numbers.map(|number| copy.uc_mcontext.gregs.get(number?).map(|word| word.cast_unsigned()));
    let registers = Registers { code: code?, stack: stack?, frame: frame? };
    let Registers { code, stack, frame } = change(registers)?;
    for (number, value) in numbers.into_iter().zip([code, stack, frame]) {
        *copy.uc_mcontext.gregs.get_mut(number?)? = value.cast_signed();
    }
    Some(walk((&raw mut copy).cast()))
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn with_registers<T>(
    _: *mut c_void,
    _: impl FnOnce(Registers) -> Option<Registers>,
    _: impl FnOnce(*mut c_void) -> T,
) -> Option<T> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address<T>(of: &T) -> u64 {
        std::ptr::from_ref(of).expose_provenance() as u64
    }

    #[test]
    fn the_caller_is_found_at_every_instruction() {
        // push rbp; mov rbp, rsp; nop; pop rbp; ret.
        let code: [u8; 16] = *b"\x55\x48\x8B\xEC\x90\x5D\xC3\xCC\xCC\xCC\xCC\xCC\xCC\xCC\xCC\xCC";
        // Saved frame pointer, return address, and the caller's.
        let stack = [0x7000_u64, 0x5001, 0x9000];
        let (start, top) = (address(&code), address(&stack));
        let at = |code, stack, frame| Registers { code: start + code, stack, frame };
        let expected = Registers { code: 0x5000, stack: top + 16, frame: 0x7000 };
        for (registers, kept) in [
            (at(0, top + 8, 0x7000), 0x7000),
            (at(1, top, 0x7000), 0x7000),
            (at(4, top, top), 0x7000),
            (at(6, top + 8, 0x7000), 0x7000),
        ] {
            let found = caller(registers, start, CodeFrames::Saved);
            assert_eq!(found, Some(Registers { frame: kept, ..expected }), "{registers:?}");
        }
        // Without a frame the return address is on top.
        let found = caller(at(5, top + 8, 1), start, CodeFrames::None);
        assert_eq!(found, Some(Registers { frame: 1, ..expected }));
        // A frame pointer that is something else.
        for frame in [0, top + 1, top.wrapping_sub(8), top + (1 << 20)] {
            assert_eq!(caller(at(4, top, frame), start, CodeFrames::Saved), None, "{frame}");
        }
        // Another beginning.
        assert_eq!(caller(at(4, top, top), start + 1, CodeFrames::Saved), None);
        assert_eq!(read::<1>(8), None, "no memory");
        assert!(can_read());
    }

    #[test]
    fn a_piece_is_found_by_any_of_its_addresses() {
        add(0x1000, 0x20, CodeFrames::Saved);
        add(0x1020, 0x10, CodeFrames::None);
        add(0x1000, 0x99, CodeFrames::None);
        assert_eq!(find(0x0FFF), None);
        assert_eq!(find(0x1000), Some((0x1000, CodeFrames::Saved)));
        assert_eq!(find(0x101F), Some((0x1000, CodeFrames::Saved)));
        assert_eq!(find(0x102F), Some((0x1020, CodeFrames::None)));
        assert_eq!(find(0x1030), None);
    }
}
