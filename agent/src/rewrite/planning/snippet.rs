//! The events that probes append, and the instructions that do it.
//!
//! The events are those of [`flow_codec::format::raw`]. A probe stores the complement of each byte.

use flow_codec::MethodId;
use flow_codec::format::flow::Encoded;
use flow_codec::format::raw;

use crate::rewrite::Skip;
use crate::rewrite::class_file::opcode::{BIPUSH, DUP, INVOKESTATIC, LDC, LDC_W, SIPUSH};
use crate::rewrite::class_file::pool::{Additions, Role};

/// Bytes that one call appends: one to four.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rewrite) struct Event {
    bytes: [u8; 4],
    len: usize,
}

/// The store of an event of three bytes has a fourth one, which must not look like an event.
const FILLER: u8 = 0xFF;

impl Event {
    pub(in crate::rewrite) const CATCH: Self = Self::one(raw::CATCH);
    pub(in crate::rewrite) const END: Self = Self::one(raw::END);
    const BEGIN_UNKNOWN: Self = Self::one(raw::BEGIN_UNKNOWN);

    const fn one(byte: u8) -> Self {
        Self { bytes: [byte, FILLER, FILLER, FILLER], len: 1 }
    }

    fn of(parts: [&[u8]; 2]) -> Option<Self> {
        let mut bytes = [FILLER; 4];
        let mut len = 0;
        for byte in parts.into_iter().flatten() {
            *bytes.get_mut(len)? = *byte;
            len += 1;
        }
        Some(Self { bytes, len })
    }

    /// A method is entered.
    pub(in crate::rewrite) fn enter(method: MethodId) -> Result<Self, Skip> {
        Self::of([Encoded::enter(method).as_bytes(), &[]]).ok_or(Skip::IdTooLarge)
    }

    /// A method is entered and left, if there is room for both.
    pub(in crate::rewrite) fn enter_and_exit(method: MethodId) -> Option<Self> {
        Self::of([Encoded::enter(method).as_bytes(), &[raw::EXIT]])
    }

    /// A constructor calls another one. If there is no room for its id, it counts as not recorded.
    pub(in crate::rewrite) fn begin(callee: Option<MethodId>) -> Self {
        callee
            .and_then(|callee| Self::of([&[raw::BEGIN], Encoded::enter(callee).as_bytes()]))
            .unwrap_or(Self::BEGIN_UNKNOWN)
    }

    /// What it is for.
    fn role(self) -> Role {
        match self.bytes {
            [raw::BEGIN | raw::BEGIN_UNKNOWN | raw::END | raw::CATCH, ..] => Role::Hint,
            _ => Role::Event,
        }
    }

    /// The number whose lower bytes are stored, the lowest one first.
    fn value(self) -> i32 {
        let [a, b, ..] = self.bytes;
        match self.len {
            // The bytes that do not matter are chosen so that the number is small.
            1 => (!a).cast_signed().into(),
            2 => (!i16::from_le_bytes([a, b])).into(),
            _ => !i32::from_le_bytes(self.bytes),
        }
    }
}

const LDC_W_BYTES: usize = 3;

/// Pushes a number.
pub(in crate::rewrite) fn push_integer(
    value: i32,
    additions: &mut Additions,
    code: &mut Vec<u8>,
) -> Result<(), Skip> {
    if let Ok(byte) = i8::try_from(value) {
        code.extend_from_slice(&[BIPUSH, byte.cast_unsigned()]);
    } else if let Ok(short) = i16::try_from(value) {
        code.push(SIPUSH);
        code.extend_from_slice(&short.to_be_bytes());
    } else {
        let index = additions.integer(value)?;
        match u8::try_from(index) {
            Ok(index) => code.extend_from_slice(&[LDC, index]),
            Err(_) => {
                code.push(LDC_W);
                code.extend_from_slice(&index.to_be_bytes());
            }
        }
    }
    Ok(())
}

/// A few instructions to insert; by default none.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::rewrite) struct Snippet {
    bytes: [u8; 6],
    len: usize,
}

impl Snippet {
    pub(in crate::rewrite) const NOTHING: Self = Self { bytes: [0; 6], len: 0 };

    /// Appends an event: pushes its number and calls the probe.
    pub(in crate::rewrite) fn append(
        event: Event,
        additions: &mut Additions,
    ) -> Result<Self, Skip> {
        Self::call_with(event, additions, |additions| additions.append(event.len, event.role()))
    }

    /// Appends an event of one byte with the probe for exception handlers.
    pub(in crate::rewrite) fn note(event: Event, additions: &mut Additions) -> Result<Self, Skip> {
        Self::call_with(event, additions, |additions| additions.note(event.role()))
    }

    /// Appends that a line is reached: pushes its number and calls the probe.
    pub(in crate::rewrite) fn line(line: u16, additions: &mut Additions) -> Result<Self, Skip> {
        let mut snippet = Self::NOTHING;
        match u8::try_from(line).ok().filter(|line| line.cast_signed() >= 0) {
            Some(line) => snippet.push(&[BIPUSH, line]),
            // The probe takes the lower two bytes.
            None => {
                snippet.push(&[SIPUSH]);
                snippet.push(&line.to_be_bytes());
            }
        }
        snippet.call(additions.line()?);
        Ok(snippet)
    }

    /// Appends that a place of lines is reached, if it is not recorded yet.
    pub(in crate::rewrite) fn place(
        place: u32,
        is_first: bool,
        additions: &mut Additions,
    ) -> Result<Self, Skip> {
        let mut snippet = Self::NOTHING;
        let mut pushed = Vec::with_capacity(LDC_W_BYTES);
        let place = i32::try_from(place).map_err(|_| Skip::IdTooLarge)?;
        push_integer(place, additions, &mut pushed)?;
        snippet.push(&pushed);
        snippet.call(additions.place(is_first)?);
        Ok(snippet)
    }

    fn call_with(
        event: Event,
        additions: &mut Additions,
        probe: impl Fn(&mut Additions) -> Result<u16, Skip>,
    ) -> Result<Self, Skip> {
        let mut snippet = Self::NOTHING;
        let mut pushed = Vec::with_capacity(LDC_W_BYTES);
        push_integer(event.value(), additions, &mut pushed)?;
        snippet.push(&pushed);
        snippet.call(probe(additions)?);
        Ok(snippet)
    }

    /// Appends an exit.
    pub(in crate::rewrite) fn exit(additions: &mut Additions) -> Result<Self, Skip> {
        let mut snippet = Self::NOTHING;
        snippet.call(additions.exit()?);
        Ok(snippet)
    }

    /// Appends an exit by the exception on the stack, which stays there.
    pub(in crate::rewrite) fn unwound_exit(additions: &mut Additions) -> Result<Self, Skip> {
        let mut snippet = Self::NOTHING;
        snippet.push(&[DUP]);
        snippet.call(additions.unwound()?);
        Ok(snippet)
    }

    pub(in crate::rewrite) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&self.bytes)
    }

    pub(in crate::rewrite) fn len(&self) -> usize {
        self.len
    }

    fn call(&mut self, probe: u16) {
        self.push(&[INVOKESTATIC]);
        self.push(&probe.to_be_bytes());
    }

    fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if let Some(slot) = self.bytes.get_mut(self.len) {
                *slot = *byte;
                self.len += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> MethodId {
        MethodId::new(number).unwrap()
    }

    #[test]
    fn the_lower_bytes_of_the_number_are_the_complement_of_the_event() {
        for (number, value, len) in [
            (0, 0x7F, 1),
            (63, 0x40, 1),
            (64, !0x01C0, 2),
            (8191, !0x7FFF, 2),
            (8192, 0x00FE_7F3F, 3),
            (1 << 20, !0x0180_80C0, 4),
        ] {
            let event = Event::enter(id(number)).unwrap();
            assert_eq!((event.value(), event.len), (value, len), "{number}");
        }
        assert_eq!(Event::enter(id(1 << 27)), Err(Skip::IdTooLarge));
        assert_eq!(Event::CATCH.value(), -0x7F);
    }

    #[test]
    fn entry_and_exit_of_a_leaf_are_one_event() {
        let event = |number| Event::enter_and_exit(id(number)).map(Event::value);
        assert_eq!(event(0), Some(!0x0080));
        assert_eq!(event(64), Some(0x00FF_FE3F));
        assert_eq!(event(8192), Some(!0x0001_80C0));
        assert_eq!(event(1 << 20), None);
    }

    #[test]
    fn a_begin_names_the_constructor_if_there_is_room() {
        let event = |number| Event::begin(Some(id(number)));
        assert_eq!((event(2).value(), event(2).len), (0x7D84, 2));
        assert_eq!((event(64).value(), event(64).len), (0x00FE_3F84, 3));
        assert_eq!((event(8192).value(), event(8192).len), (!0x0180_C07B, 4));
        assert_eq!(event(1 << 20), Event::begin(None));
        assert_eq!(Event::begin(None).value(), !0x7C);
    }
}
