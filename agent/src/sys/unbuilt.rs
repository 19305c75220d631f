//! Compiled methods that have not built their frame yet, or not any more. Small methods are interrupted there half of the
//! time. The virtual machine walks frames that are built only, so a signal handler passes it the registers as they will be
//! once the frame is built, or were before it was removed.
//!
//! The instructions are those of HotSpot on x86-64: elsewhere, and where there are others, nothing is found. What was found
//! wrongly does no harm: the virtual machine checks each frame, and this is for threads of which it finds none otherwise.

use std::ffi::c_void;

use super::stubs::{Registers, read, with_registers};

/// The bytes before the place of a thread that are read, and all that are.
const BEFORE: usize = 24;
const WORDS: usize = 9;
/// Pushing or popping the frame pointer moves the stack by this.
const WORD: u64 = 8;

/// What an instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// Stores far below the stack, to see whether there is room; or compares with a word of the thread, or jumps depending
    /// on it; or copies the frame pointer.
    Nothing,
    PushFramePointer,
    PopFramePointer,
    /// Makes room for this many bytes.
    Grow(u64),
    Shrink(u64),
    Return,
}

/// One of the instructions with which frames are built or removed, at the start of `bytes`, and its length.
fn step(bytes: &[u8]) -> Option<(Step, usize)> {
    let number = |at: usize| {
        bytes.get(at..)?.first_chunk().map(|bytes| u64::from(u32::from_le_bytes(*bytes)))
    };
    Some(match *bytes {
        [0x55, ..] => (Step::PushFramePointer, 1),
        [0x5D, ..] => (Step::PopFramePointer, 1),
        [0xC3, ..] => (Step::Return, 1),
        [0x48, 0x83, 0xEC, size, ..] => (Step::Grow(size.into()), 4),
        [0x48, 0x81, 0xEC, ..] => (Step::Grow(number(3)?), 7),
        [0x48, 0x83, 0xC4, size, ..] => (Step::Shrink(size.into()), 4),
        [0x48, 0x81, 0xC4, ..] => (Step::Shrink(number(3)?), 7),
        // mov [rsp - size], eax
        [0x89, 0x84, 0x24, ..] => (Step::Nothing, 7),
        // mov rbp, rsp
        [0x48, 0x8B, 0xEC, ..] | [0x48, 0x89, 0xE5, ..] => (Step::Nothing, 3),
        // mov [rsp + offset], rbp
        [0x48, 0x89, 0x6C, 0x24, ..] => (Step::Nothing, 5),
        // cmp dword [r15 + offset], number
        [0x41, 0x81, 0x7F, ..] => (Step::Nothing, 8),
        [0x41, 0x81, 0xBF, ..] => (Step::Nothing, 11),
        // cmp rsp, [r15 + offset]
        [0x49, 0x3B, 0x67, ..] => (Step::Nothing, 4),
        [0x49, 0x3B, 0xA7, ..] => (Step::Nothing, 7),
        // mov r10, [r15 + offset]; test [r10], eax
        [0x4D, 0x8B, 0x97, ..] => (Step::Nothing, 7),
        [0x41, 0x85, 0x02, ..] => (Step::Nothing, 3),
        // jne, ja
        [0x0F, 0x85 | 0x87, ..] => (Step::Nothing, 6),
        _ => return None,
    })
}

/// How far the stack still moves until a frame is built, and the bytes of these instructions: all that follow each other
/// from the start of `bytes`, if one of them moves it or the frame pointer was just saved.
fn until_built(before: &[u8], bytes: &[u8]) -> Option<(u64, usize)> {
    let (mut moves, mut at, mut is_frame) = (0, 0, false);
    // The last ones may come after the stack was moved, before the frame counts as built.
    let ends: [&[u8]; 3] = [&[0x48, 0x89, 0x6C, 0x24], &[0x41, 0x81, 0x7F], &[0x41, 0x81, 0xBF]];
    if ends.iter().any(|end| bytes.starts_with(end)) {
        is_frame = true;
    } else if matches!(bytes, [0x0F, 0x85, ..]) {
        let compares = |len: usize, kind: u8| {
            before
                .len()
                .checked_sub(len)
                .and_then(|at| before.get(at..))
                .is_some_and(|bytes| matches!(bytes, [0x41, 0x81, found, ..] if *found == kind))
        };
        is_frame = compares(8, 0x7F) || compares(11, 0xBF);
    }
    while let Some((step, len)) = step(bytes.get(at..)?) {
        match step {
            Step::Nothing => {}
            Step::PushFramePointer => moves += WORD,
            Step::Grow(size) => (moves, is_frame) = (moves + size, true),
            Step::PopFramePointer | Step::Shrink(_) | Step::Return => break,
        }
        at += len;
    }
    is_frame.then_some((moves, at))
}

/// How far the stack was moved while a frame was removed, by the instructions directly before the start of `bytes`, which
/// end with a return.
fn since_built(before: &[u8], bytes: &[u8]) -> Option<u64> {
    // Only such instructions follow, the last of them a return.
    let mut at = 0;
    let popped_later = loop {
        match step(bytes.get(at..)?)? {
            (Step::Return, _) => break at > 0 && bytes.first() == Some(&0x5D),
            (Step::Nothing | Step::PopFramePointer, len) => at += len,
            _ => return None,
        }
    };
    let shrunk = |end: usize| -> Option<u64> {
        [4, 7].into_iter().find_map(|len| match step(before.get(end.checked_sub(len)?..end)?)? {
            (Step::Shrink(size), found) if found == len => Some(size),
            _ => None,
        })
    };
    if popped_later {
        return shrunk(before.len());
    }
    // After that, up to two instructions.
    let pops = (0..=13).filter_map(|back| before.len().checked_sub(back));
    pops.into_iter().find_map(|end| {
        let pop = end.checked_sub(1)?;
        (before.get(pop) == Some(&0x5D)).then_some(())?;
        let mut at = end;
        while at < before.len() {
            match step(before.get(at..)?)? {
                (Step::Nothing, len) => at += len,
                _ => return None,
            }
        }
        (at == before.len()).then(|| shrunk(pop))?.map(|size| size + WORD)
    })
}

/// The registers as they are while the frame is there.
fn built(registers: Registers) -> Option<Registers> {
    let words: [u64; WORDS] = read(registers.code.checked_sub(BEFORE as u64)?)?;
    let mut bytes = [0; WORDS * 8];
    bytes
        .iter_mut()
        .zip(words.iter().flat_map(|word| word.to_le_bytes()))
        .for_each(|(to, from)| *to = from);
    let (before, bytes) = bytes.split_at_checked(BEFORE)?;
    let Registers { code, stack, frame } = registers;
    if let Some((moves, len)) = until_built(before, bytes) {
        return Some(Registers {
            code: code + len as u64,
            stack: stack.checked_sub(moves)?,
            frame,
        });
    }
    let moved = since_built(before, bytes)?;
    Some(Registers { code, stack: stack.checked_sub(moved)?, frame })
}

/// Calls `walk` with the registers of the same thread in the same method with its frame, if it was interrupted while that
/// was built or removed. `context` is what the system passes to the handler that is running.
pub(crate) fn with_frame<T>(
    context: *mut c_void,
    walk: impl FnOnce(*mut c_void) -> T,
) -> Option<T> {
    with_registers(context, built, walk)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where each of these instructions begins, and all of their bytes.
    fn code(instructions: &[&[u8]]) -> (Vec<usize>, Vec<u8>) {
        let mut starts = Vec::new();
        let mut bytes = vec![0xCC; BEFORE];
        for instruction in instructions {
            starts.push(bytes.len());
            bytes.extend_from_slice(instruction);
        }
        (starts, [&bytes[..], &[0xCC; 40]].concat())
    }

    #[test]
    fn the_frame_is_built_from_any_instruction_on() {
        let bang = &[0x89, 0x84, 0x24, 0, 0x80, 0xFE, 0xFF][..];
        let barrier = [&[0x41, 0x81, 0x7F, 0x20, 1, 0, 0, 0][..], &[0x0F, 0x85, 1, 2, 0, 0]];
        // With and without a check of the stack, and with a barrier.
        let usual = [bang, &[0x55], &[0x48, 0x83, 0xEC, 0x10], barrier[0], barrier[1]];
        let leaf = [
            &[0x48, 0x81, 0xEC, 0x18, 0, 0, 0][..],
            &[0x48, 0x89, 0x6C, 0x24, 0x10],
            barrier[0],
            barrier[1],
        ];
        for (instructions, moves) in [
            (&usual[..], &[24, 24, 16, 0, 0][..]),
            (&usual[1..3], &[24, 16]),
            (&leaf, &[24, 0, 0, 0]),
        ] {
            let (starts, bytes) = code(instructions);
            let end = BEFORE + instructions.iter().map(|bytes| bytes.len()).sum::<usize>();
            for (start, moves) in starts.into_iter().zip(moves) {
                let (before, rest) = bytes.split_at(start);
                assert_eq!(until_built(before, rest), Some((*moves, end - start)), "{start}");
            }
            assert_eq!(until_built(&bytes[..end], &bytes[end..]), None);
        }
        // A jump in the middle of a method.
        assert_eq!(until_built(&[0x90; 24], &[barrier[1], &[0x90; 20]].concat()), None);
    }

    #[test]
    fn the_frame_is_found_until_the_return() {
        let polls: [&[&[u8]]; 4] = [
            &[&[0x49, 0x3B, 0x67, 0x28], &[0x0F, 0x87, 9, 0, 0, 0]],
            &[&[0x49, 0x3B, 0xA7, 8, 1, 0, 0], &[0x0F, 0x87, 9, 0, 0, 0]],
            &[&[0x4D, 0x8B, 0x97, 8, 1, 0, 0], &[0x41, 0x85, 0x02]],
            &[],
        ];
        for poll in polls {
            for shrink in [&[0x48, 0x83, 0xC4, 0x10][..], &[0x48, 0x81, 0xC4, 0x10, 0, 0, 0]] {
                let instructions = [&[shrink, &[0x5D]][..], poll, &[&[0xC3]]].concat();
                let (starts, bytes) = code(&instructions);
                for (number, start) in starts.into_iter().enumerate() {
                    let (before, rest) = bytes.split_at(start);
                    let expected = [None, Some(16)].get(number).copied().unwrap_or(Some(24));
                    assert_eq!(
                        since_built(before, rest),
                        expected,
                        "{number} of {instructions:02X?}"
                    );
                }
            }
        }
        assert_eq!(since_built(&[0x90; 24], &[0xC3; 48]), None);
    }
}
