//! Raw chunks: what a probe appends, before the recorder [canonicalizes](crate::write::Canonicalizer) it to
//! [`flow`](super::flow).
//!
//! A probe may take about two nanoseconds, so it only appends bytes. A raw chunk is a sequence of whole
//! events; the first byte of an event is its kind:
//!
//! | event | bytes | appended | written to `.flow` |
//! |---|---|---|---|
//! | ENTER  | as in `.flow`: `80`…`FF`, … | first thing in a method | the same bytes |
//! | EXIT   | `00` | before each return | one exit of an exit run |
//! | BEGIN  | `7B`, then an ENTER: the constructor called | before `super(…)` or `this(…)` | nothing |
//! | BEGIN-UNKNOWN | `7C` | the same, where the constructor called is not recorded | nothing |
//! | END    | `7D` | right after that call | nothing |
//! | CATCH  | `7E` | by every exception handler of the program, before it throws, calls or returns | nothing |
//! | UNWOUND EXIT | `7F` | by our own handler, when a method is left by an exception | one exit |
//! | LINE   | `77`, then two bytes, the lowest first, then `00`: the number of a line | before the first instruction of a line, each time it is reached, in methods that `lines=` names | nothing |
//! | VALUE | `76`, then six bytes, then how many of them count, 1 to 6 | in methods that `values=` names: after the entry, and before an exit | nothing |
//! | STEP | `75`, then two bytes, the lowest first, then `00`: the index of an instruction. Or `75`, the lower two bytes of a value, the number of its kind from 1 to 7, its upper two bytes, `00`, `00` | in methods that `instructions=` names: before each run of instructions, with the operands that are not known before | nothing |
//! | NUMBER | `79`, then seven bytes, the lowest first | before an ENTER, EXIT, UNWOUND EXIT or UNWOUND BY, with `order=total` | the sequence number of that event; seven `FF` if it is not known |
//! | UNWOUND BY | `78`, then three bytes, the lowest first: 1 more than the id of the class of the exception | the same, if the class has an [id](super::ids#classes) | one exit |
//! | TIME   | `7A`, then seven bytes, the lowest first | before an event, with `clock=exact` | the time of the events up to the next one; an EXIT directly after an ENTER, without a TIME in between, has no time: that is a method that can only return |
//!
//! A time has the low 56 bits of a number of nanoseconds, counted from an instant that the
//! [journal](super::journal) gives: *zero*. The difference to *zero*, modulo 2<sup>56</sup>, is the time
//! since the start of the trace; a difference of 2<sup>55</sup> (417 days) or more is a time before the
//! start, and counts as 0.
//!
//! A sequence number comes from a counter of all threads of the process. The probe takes it between the instant at which
//! the event begins (an entry: before the first instruction of the method) and the instant at which the program continues.
//! So an event that happened before another one, in another thread, has the smaller number. Numbers have 56 bits and do
//! not wrap around: at 100 million events a second, they last for 22 years. With numbers, an entry and an exit are never
//! appended together, and events that the canonicalizer works out have no number.
//!
//! In the rules below, an UNWOUND BY is an UNWOUND EXIT. The last of its bytes is never `FF`. One of which all three
//! bytes are `00` names no class.
//!
//! A LINE has a [mark](super::marks#kinds), at its position between entries and exits. It has neither a time nor a sequence
//! number. In the rules below it is a CATCH: a constructor that calls another one reaches no line until that call returns.
//!
//! A VALUE is a piece of a [value](super::values): those that follow each other are joined, and have a
//! [mark](super::marks#kinds) at their position. What was said of a LINE holds for it, too. A long value is more than one
//! event, so a chunk or the recording may end inside it.
//!
//! A STEP is a [step](super::instructions) of the topmost call, and has a [mark](super::marks#kinds) at its position. What was
//! said of a LINE holds for it, too. One with another kind is not valid.
//!
//! An ENTER never contains `00`; of the bytes `75` to `7F`, only its last byte can be one. No other first
//! byte is valid. The canonicalizer skips such bytes, an ENTER that the chunk cuts off, and one that is not
//! valid in `.flow`.
//!
//! # In memory
//!
//! A chunk in memory holds the complement of each byte: `7F` for `80`, `FF` for an EXIT. What has not been
//! written yet is `00`, like fresh memory, so reserving it costs nothing. Read as raw bytes these are `FF`s:
//! an ENTER that never ends. No event ends in `FF`, so what has been recorded ends with the last byte in
//! memory that is not zero. An event that was being written is a truncated ENTER.
//!
//! # Why BEGIN, END and CATCH
//!
//! The verifier allows no exception handler around the call of `super(…)` or `this(…)`. An exception out of
//! that call ends the calling constructor without any event of its own. The canonicalizer works out which
//! constructors ended this way, and writes their exits where they belong. From each BEGIN to its END, it
//! keeps the constructor as *pending*, with the depth `d` of the stack at that moment (the constructor is
//! then the topmost frame). With the topmost pending constructor at depth `n` and the stack at depth `d`:
//!
//! - EXIT, UNWOUND EXIT, CATCH, BEGIN, BEGIN-UNKNOWN: while `n == d`, the constructor was unwound: a frame
//!   above it cannot have done this, nor can the constructor itself, whose handlers do not cover the call,
//!   and which makes only one. Write its exit, as one by exception; `d -= 1`; it is no longer pending;
//!   inspect the next pending one.
//! - ENTER where `n == d`: a constructor between BEGIN and END calls only the constructor that BEGIN names.
//!   If this is its first call and the method is that one, no other call may follow. If a constructor whose
//!   call was seen gets a second ENTER, it was unwound: exit as above. If the first call is another method
//!   than the named one, nothing is known, and the constructor is treated as after BEGIN-UNKNOWN, where an
//!   ENTER proves nothing.
//! - UNWOUND EXIT, after its own exit is written: while `n == d` and the named call was seen, the constructor
//!   was unwound, because that call threw. Exit as above. If that were left to the next event, an END further
//!   down could be mistaken for this constructor's.
//! - END: the topmost pending constructor is no longer pending.
//!
//! A constructor that an UNWOUND BY proves to be unwound was left by an exception of the same class: by the exception of
//! the call that it made, or, if the event is that of a frame below it, most likely by the one that continued there. If
//! another event proves it, the class is unknown.
//!
//! A handler that releases a monitor appends its CATCH only after that. If releasing the monitor throws, the
//! UNWOUND EXIT of the handler's method proves as much about pending constructors as the CATCH would have.
//!
//! Depths are relative: only their differences to those of pending constructors matter.
//!
//! # What is not exact
//!
//! - The call of another constructor throws, and no event shows it: the callee is not recorded, was unwound
//!   before its ENTER, or a class loader ran first. If unrecorded code catches the exception and then calls
//!   recorded code, those calls appear below the unwound constructor, whose exit follows late. If the next
//!   event is the END of a constructor further down, it is mistaken for the END of the unwound one. If no
//!   event follows, the exit is missing.
//! - The stack overflows in our handler: the exit of its frame is missing until the thread's end. The probes
//!   of entries prevent this (`agent/java/FlowProbe.java.in`) where pages have 4 KiB.
//!
//! # Examples
//!
//! `new C()`, where C's constructor (id 1) calls that of B (id 2), which throws, caught by `main` (id 0):
//!
//! | raw | meaning |
//! |---|---|
//! | `80` | main |
//! | `81 7B 82` | C begins, and calls its super constructor B |
//! | `82 7F` | B begins, and is left by the exception |
//! | `7E` | main catches: so C was unwound, its exit is written here |
//! | `00` | main returns |
//!
//! The result is `80 81 82 02`: three exits in one run.
//!
//! The same, where the class of the exception has the id 300, of which 301 is `2D 01 00`:
//!
//! | raw | meaning |
//! |---|---|
//! | `80` | main |
//! | `81 7B 82` | C begins, and calls its super constructor B |
//! | `82 78 2D 01 00` | B begins, and is left by the exception |
//! | `7E` | main catches: so C was unwound, by the same exception, because B was its call |
//! | `00` | main returns |
//!
//! The result is the same, with a mark of [kind `0B`](super::marks#kinds) for the class.
//!
//! A method (id 1) that runs its lines 12, 300 and 12, and calls another one (id 2) in between:
//!
//! | raw | meaning |
//! |---|---|
//! | `81` | it begins |
//! | `77 0C 00 00` | line 12 |
//! | `77 2C 01 00` | line 300 |
//! | `82 00` | the call |
//! | `77 0C 00 00` | line 12 |
//! | `00` | it returns |
//!
//! The result is `81 82 01`, with two marks of [kind `0C`](super::marks#kinds): lines 12 and 300 after the first entry, line
//! 12 after the first exit.
//!
//! A call of a method (id 1) with 5 and "abc", which returns null, as in the example of [values](super::values):
//!
//! | raw | meaning |
//! |---|---|
//! | `81` | it begins |
//! | `76 05 00 05 00 00 00 06` | the first argument |
//! | `76 0A 01 03 03 61 62 06` | the first six bytes of the second argument |
//! | `76 63 00 00 00 00 00 01` | the last one |
//! | `76 20 00 00 00 00 00 02` | the result |
//! | `00` | it returns |
//!
//! The result is `81 00`, with one mark of [kind `0D`](super::marks#kinds) for all of these values.
//!
//! A call of the method (id 1) in the example of [instructions](super::instructions):
//!
//! | raw | meaning |
//! |---|---|
//! | `81` | it begins |
//! | `75 00 08 05 00 00 00 00` | *this* has the identity 2048 |
//! | `75 2D 01 06 00 00 00 00` | it is of the class 300 |
//! | `75 00 00 00` | the run at 0 |
//! | `75 04 00 00` | the run at 4 |
//! | `00` | it returns |
//!
//! The result is `81 00`, with one mark of [kind `0E`](super::marks#kinds) for all of these steps.

use super::instructions::{Operand, Step};
use crate::MethodId;

/// A method is left by a return.
pub const EXIT: u8 = 0x00;
/// A line is reached, whose number follows.
pub const LINE: u8 = 0x77;
/// A piece of a value follows.
pub const VALUE: u8 = 0x76;
/// Bytes of a VALUE.
pub const VALUE_BYTES: usize = 8;
/// The most bytes of a value in one VALUE.
pub const PIECE_BYTES: usize = 6;
/// A step of a run of instructions follows.
pub const STEP: u8 = 0x75;
/// Bytes of a STEP that begins a run.
pub const RUN_BYTES: usize = 4;
/// Bytes of a STEP with an operand.
pub const OPERAND_BYTES: usize = 8;
/// Bytes of a LINE.
pub const LINE_BYTES: usize = 4;
/// The sequence number of the event that follows, in seven bytes.
pub const NUMBER: u8 = 0x79;
/// Bytes of a NUMBER.
pub const NUMBER_BYTES: usize = 8;
/// The number of an event whose number is not known.
pub const NO_NUMBER: u64 = (1 << 56) - 1;
/// The time of the events that follow, in seven bytes.
pub const TIME: u8 = 0x7A;
/// Bytes of a TIME.
pub const TIME_BYTES: usize = 8;
/// A method is left by an exception whose class follows.
pub const UNWOUND_BY: u8 = 0x78;
/// Bytes of an UNWOUND BY.
pub const UNWOUND_BY_BYTES: usize = 4;
/// A constructor calls another one, whose ENTER follows as a part of this event.
pub const BEGIN: u8 = 0x7B;
/// A constructor calls another one that is not recorded.
pub const BEGIN_UNKNOWN: u8 = 0x7C;
/// A constructor's call of another one returned.
pub const END: u8 = 0x7D;
/// An exception handler of the program begins.
pub const CATCH: u8 = 0x7E;
/// A method is left by an exception.
pub const UNWOUND_EXIT: u8 = 0x7F;

/// The VALUEs of bytes of a value.
#[doc(hidden)]
pub fn words_of(value: &[u8]) -> impl Iterator<Item = [u8; VALUE_BYTES]> {
    value.chunks(PIECE_BYTES).map(|piece| {
        let mut word = [0; VALUE_BYTES];
        word.iter_mut().skip(1).zip(piece).for_each(|(to, from)| *to = *from);
        let [kind, .., count] = &mut word;
        (*kind, *count) = (VALUE, piece.len().to_le_bytes()[0]);
        word
    })
}

/// The bytes of a value in a VALUE, the first one lowest, and how many of them count: at most 6.
#[inline]
#[must_use]
pub(crate) fn piece_of(word: [u8; VALUE_BYTES]) -> (u64, usize) {
    let [.., count] = word;
    (u64::from_le_bytes(word) >> u8::BITS, usize::from(count).min(PIECE_BYTES))
}

/// The step at the start of some bytes, and the bytes that it takes. `None` if there is no whole one.
#[inline]
#[must_use]
pub(crate) fn step_of(bytes: &[u8]) -> Option<(Step, usize)> {
    let [STEP, low, high, kind] = *bytes.first_chunk()? else { return None };
    if kind == 0 {
        return Some((Step::Run(u16::from_le_bytes([low, high])), RUN_BYTES));
    }
    let operand = Operand::of(kind)?;
    let [_, _, _, _, third, fourth, _, _] = *bytes.first_chunk()?;
    Some((Step::Operand(operand, u32::from_le_bytes([low, high, third, fourth])), OPERAND_BYTES))
}

/// The STEP of an operand.
#[doc(hidden)]
#[must_use]
pub fn operand(kind: Operand, value: u32) -> [u8; OPERAND_BYTES] {
    let [low, high, third, fourth] = value.to_le_bytes();
    [STEP, low, high, kind as u8, third, fourth, 0, 0]
}

/// The UNWOUND BY of an exception of this class; `None` if there is no room for its id.
#[doc(hidden)]
#[must_use]
pub fn unwound_by(class: MethodId) -> Option<[u8; UNWOUND_BY_BYTES]> {
    let number = u32::try_from(class.get()).ok()?.checked_add(1)?;
    let [low, middle, high, 0] = number.to_le_bytes() else { return None };
    (high != u8::MAX).then_some([UNWOUND_BY, low, middle, high])
}

/// The class that an UNWOUND BY names.
#[doc(hidden)]
#[must_use]
pub fn class_of([_, low, middle, high]: [u8; UNWOUND_BY_BYTES]) -> Option<MethodId> {
    let number = u32::from_le_bytes([low, middle, high, 0]);
    number.checked_sub(1).and_then(|id| MethodId::new(id.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_of_an_exception_comes_back_if_there_is_room_for_its_id() {
        for (id, bytes) in [
            (0, Some([0x78, 0x01, 0x00, 0x00])),
            (300, Some([0x78, 0x2D, 0x01, 0x00])),
            (0xFE_FFFE, Some([0x78, 0xFF, 0xFF, 0xFE])),
            (0xFE_FFFF, None),
            (u64::from(u32::MAX), None),
            (1 << 40, None),
        ] {
            let id = MethodId::new(id).unwrap();
            assert_eq!(unwound_by(id), bytes);
            assert!(bytes.is_none_or(|bytes| class_of(bytes) == Some(id)));
        }
        assert_eq!(class_of([0x78, 0, 0, 0]), None);
    }
}
