//! HOT: one event of a raw chunk, as [`raw`](crate::format::raw) specifies it.
//!
//! The canonicalizer parses single events only where it must; [`count_events`] and the tests always do.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::MethodId;
use crate::Undecoded;
use crate::format::flow::{self, Record};
use crate::format::raw::{
    BEGIN, BEGIN_UNKNOWN, CATCH, END, EXIT, LINE, LINE_BYTES, NO_NUMBER, NUMBER, NUMBER_BYTES,
    OPERAND_BYTES, STEP, TIME, TIME_BYTES, UNWOUND_BY, UNWOUND_BY_BYTES, UNWOUND_EXIT, VALUE,
    VALUE_BYTES, class_of, step_of,
};

/// The first byte of an ENTER is at least this; so is every byte of one except the last.
const ENTER: u8 = 0x80;

/// What a probe appended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    Enter(MethodId),
    Exit,
    /// With the id of the called constructor, if it is recorded.
    Begin(Option<MethodId>),
    End,
    Catch,
    /// With the id of the class of the exception, if it is known.
    UnwoundExit(Option<MethodId>),
    /// A line is reached.
    Line(u16),
    /// A piece of a value.
    Value,
    /// A step of a run of instructions.
    Step,
    /// The time of the events that follow.
    Time(u64),
    /// The sequence number of the event that follows, if it is known.
    Number(Option<u64>),
    /// Bytes that no probe appends. The canonicalizer skips them.
    Invalid,
}

impl Event {
    /// The event at the start of `bytes`, and its length: at least one byte, if there is any.
    #[inline]
    pub(super) fn first(bytes: &[u8]) -> (Self, usize) {
        let Some((&kind, rest)) = bytes.split_first() else {
            return (Self::Invalid, 0);
        };
        match kind {
            ENTER.. => match enter(bytes) {
                Some((method, len)) => (Self::Enter(method), len),
                None => (Self::Invalid, invalid_enter_len(bytes)),
            },
            EXIT => (Self::Exit, 1),
            BEGIN => match enter(rest) {
                Some((method, len)) => (Self::Begin(Some(method)), 1 + len),
                None => (Self::Begin(None), 1),
            },
            BEGIN_UNKNOWN => (Self::Begin(None), 1),
            END => (Self::End, 1),
            CATCH => (Self::Catch, 1),
            UNWOUND_EXIT => (Self::UnwoundExit(None), 1),
            UNWOUND_BY => match bytes.first_chunk() {
                Some(bytes) => (Self::UnwoundExit(class_of(*bytes)), UNWOUND_BY_BYTES),
                None => (Self::Invalid, bytes.len()),
            },
            LINE => match bytes.first_chunk() {
                Some([_, low, high, _]) => {
                    (Self::Line(u16::from_le_bytes([*low, *high])), LINE_BYTES)
                }
                None => (Self::Invalid, bytes.len()),
            },
            VALUE if bytes.len() >= VALUE_BYTES => (Self::Value, VALUE_BYTES),
            VALUE => (Self::Invalid, bytes.len()),
            STEP => match step_of(bytes) {
                Some((_, len)) => (Self::Step, len),
                None if may_be_step(bytes) => (Self::Invalid, bytes.len()),
                None => (Self::Invalid, 1),
            },
            TIME => match bytes.first_chunk() {
                Some(bytes) => (Self::Time(u64::from_le_bytes(*bytes) >> u8::BITS), TIME_BYTES),
                None => (Self::Invalid, bytes.len()),
            },
            NUMBER => match bytes.first_chunk() {
                Some(bytes) => {
                    let number = u64::from_le_bytes(*bytes) >> u8::BITS;
                    (Self::Number((number != NO_NUMBER).then_some(number)), NUMBER_BYTES)
                }
                None => (Self::Invalid, bytes.len()),
            },
            _ => (Self::Invalid, 1),
        }
    }
}

/// Returns whether bytes that begin with a STEP end inside it.
fn may_be_step(bytes: &[u8]) -> bool {
    bytes.len() < OPERAND_BYTES && bytes.get(3).is_none_or(|kind| matches!(kind, 1..=7))
}

/// The canonical ENTER at the start of `bytes`, and its length.
#[inline]
fn enter(bytes: &[u8]) -> Option<(MethodId, usize)> {
    // Nearly all programs have fewer than 8192 methods.
    if let &[first @ 0xC0..=0xFF, second @ 0x01..=0x7F, ..] = bytes {
        let number = u64::from(first & 0x3F) | u64::from(second) << 6;
        return Some((MethodId::new(number)?, 2));
    }
    match flow::decode(bytes) {
        Ok((Record::Enter(method), len)) if len == 1 || bytes.get(len - 1) != Some(&0) => {
            Some((method, len))
        }
        _ => None,
    }
}

/// The end of an invalid ENTER: it never ends, is too large, or ends in zeros.
#[cold]
fn invalid_enter_len(bytes: &[u8]) -> usize {
    bytes.iter().position(|&byte| byte < ENTER).map_or(bytes.len(), |last| last + 1)
}

/// How many events a raw chunk holds, or were written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EventCounts {
    /// Method entries.
    pub enters: u64,
    /// Method exits.
    pub exits: u64,
}

impl EventCounts {
    pub(super) fn add(&mut self, more: Self) {
        self.enters = self.enters.saturating_add(more.enters);
        self.exits = self.exits.saturating_add(more.exits);
    }
}

/// Counts the entries and exits in a raw chunk, except those that only a
/// [`Canonicalizer`](super::Canonicalizer) can find.
#[must_use]
pub fn count_events(raw: &[u8]) -> EventCounts {
    let mut counts = EventCounts::default();
    let mut rest = raw;
    while !rest.is_empty() {
        let (event, len) = Event::first(rest);
        match event {
            Event::Enter(_) => counts.enters += 1,
            Event::Exit | Event::UnwoundExit(_) => counts.exits += 1,
            Event::Begin(_)
            | Event::End
            | Event::Catch
            | Event::Line(_)
            | Event::Value
            | Event::Step
            | Event::Time(_)
            | Event::Number(_)
            | Event::Invalid => {}
        }
        debug_assert!(0 < len && len <= rest.len(), "an event is some of the bytes");
        rest = rest.get(len..).unwrap_or(&[]);
    }
    counts
}

/// Returns whether the events of a raw chunk have sequence numbers.
pub(super) fn is_numbered(raw: &[u8]) -> bool {
    let mut rest = raw;
    loop {
        // A chunk may consist of lines alone, so this has to be quick.
        while let Some(([LINE, ..], after)) = rest.split_first_chunk::<LINE_BYTES>() {
            rest = after;
        }
        let (event, len) = Event::first(rest);
        match event {
            Event::Number(_) => return true,
            // These have none.
            Event::Begin(_)
            | Event::End
            | Event::Catch
            | Event::Line(_)
            | Event::Value
            | Event::Step => {}
            _ => return false,
        }
        rest = rest.get(len..).unwrap_or_default();
    }
}

/// The offset of the first bytes that are not an event. A truncated ENTER at the end does not count.
#[must_use]
pub(crate) fn first_invalid(raw: &[u8]) -> Option<usize> {
    let mut rest = raw;
    while !rest.is_empty() {
        let (event, len) = Event::first(rest);
        debug_assert!(0 < len && len <= rest.len(), "an event is some of the bytes");
        let next = rest.get(len..).unwrap_or(&[]);
        let may_be_cut_off =
            matches!(rest.first(), Some(&(TIME | NUMBER | UNWOUND_BY | LINE | VALUE | STEP)))
                || flow::decode(rest) == Err(Undecoded::Incomplete);
        let is_cut_off = next.is_empty() && may_be_cut_off;
        if event == Event::Invalid && !is_cut_off {
            return Some(raw.len() - rest.len());
        }
        rest = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> MethodId {
        MethodId::new(number).unwrap()
    }

    #[test]
    fn events_are_recognised_by_their_first_byte() {
        assert_eq!(Event::first(&[0x81, 0x00]), (Event::Enter(id(1)), 1));
        assert_eq!(Event::first(&[0xFF, 0x7F, 0x00]), (Event::Enter(id(8191)), 2));
        assert_eq!(Event::first(&[0xC0, 0x80, 0x01]), (Event::Enter(id(8192)), 3));
        assert_eq!(Event::first(&[0x00]), (Event::Exit, 1));
        assert_eq!(Event::first(&[0x7B, 0xFB, 0x7B]), (Event::Begin(Some(id(7931))), 3));
        assert_eq!(Event::first(&[0x7C, 0x81]), (Event::Begin(None), 1));
        assert_eq!(Event::first(&[0x7D]), (Event::End, 1));
        assert_eq!(Event::first(&[0x7E]), (Event::Catch, 1));
        assert_eq!(Event::first(&[0x7F, 0x7F]), (Event::UnwoundExit(None), 1));
        assert_eq!(Event::first(&[0x78, 0x2D, 1, 0]), (Event::UnwoundExit(Some(id(300))), 4));
        assert_eq!(Event::first(&[0x78, 0, 0, 0, 9]), (Event::UnwoundExit(None), 4));
        assert_eq!(Event::first(&[0x78, 1, 0x81]), (Event::Invalid, 3), "cut off");
        assert_eq!(Event::first(&[0x77, 0x2C, 1, 0, 9]), (Event::Line(300), 4));
        assert_eq!(Event::first(&[0x77, 0x2C, 1]), (Event::Invalid, 3), "cut off");
        assert_eq!(Event::first(&[0x76, 5, 0, 5, 0, 0, 0, 6, 9]), (Event::Value, 8));
        assert_eq!(Event::first(&[0x76, 5, 0, 0x81]), (Event::Invalid, 4), "cut off");
        assert_eq!(Event::first(&[0x75, 0x2C, 1, 0, 9]), (Event::Step, 4));
        assert_eq!(Event::first(&[0x75, 1, 2, 5, 3, 4, 0, 0, 9]), (Event::Step, 8));
        for cut in [&[0x75][..], &[0x75, 1, 2], &[0x75, 1, 2, 7], &[0x75, 1, 2, 1, 3, 4, 0]] {
            assert_eq!(Event::first(cut), (Event::Invalid, cut.len()));
        }
        assert_eq!(Event::first(&[0x75, 1, 2, 8, 3, 4, 0, 0, 9]), (Event::Invalid, 1));
        assert_eq!(Event::first(&[0x7A, 1, 2, 0, 0, 0, 0, 0, 9]), (Event::Time(0x201), 8));
        assert_eq!(Event::first(&[0x7A, 1, 2, 0x81]), (Event::Invalid, 4), "cut off");
    }

    #[test]
    fn bytes_that_no_probe_appends_are_invalid() {
        assert_eq!(Event::first(&[0x01, 0x81]), (Event::Invalid, 1));
        assert_eq!(Event::first(&[0xC1, 0x00, 0x81]), (Event::Invalid, 2), "ends in zeros");
        assert_eq!(Event::first(&[0xC1, 0x80]), (Event::Invalid, 2), "never ends");
        assert_eq!(Event::first(&[0xFF; 20]), (Event::Invalid, 20), "neither ends nor fits");
        assert_eq!(Event::first(&[0x7B, 0xC1, 0x80]), (Event::Begin(None), 1));
        assert_eq!(Event::first(&[0x7B, 0x00]), (Event::Begin(None), 1));
    }

    #[test]
    fn a_truncated_event_is_not_an_invalid_one() {
        for sound in [
            &[][..],
            &[0x81, 0x7B, 0xC0, 0x80, 0x01, 0x00],
            &[0x81, 0xC0],
            &[0x7B, 0xC0],
            &[0x78, 1],
            &[0x77, 0xFF],
        ] {
            assert_eq!(first_invalid(sound), None, "{sound:02X?}");
        }
        for wrong in
            [&[0x81, 0x01][..], &[0x81, 0xC0, 0x00], &[[0x81; 1].as_slice(), &[0xFF; 10]].concat()]
        {
            assert_eq!(first_invalid(wrong), Some(1), "{wrong:02X?}");
        }
    }

    #[test]
    fn events_are_counted_whatever_the_length_of_their_ids() {
        // Ids 1, 64 and 8192, three exits, and other events.
        let counts =
            count_events(&[0x81, 0xC0, 0x01, 0x7E, 0x00, 0x7B, 0x81, 0xC0, 0x80, 0x01, 0x7F, 0x00]);
        assert_eq!(counts, EventCounts { enters: 3, exits: 3 });
    }
}
