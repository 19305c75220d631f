//! Raw chunks, and how they become the events of `.flow`: see "Why BEGIN, END and CATCH" in
//! `codec/src/format/raw.rs` for the rules.

use std::fmt;

use crate::flow::{Event, Number, number, put_number};
use crate::leb128;

/// What a chunk says beside events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// A line is reached.
    Line(u16),
    /// A byte of a value.
    Byte(u8),
    /// A step of a run of instructions: its kind and its value.
    Step(u8, u32),
}

/// What a probe appends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RawEvent {
    /// A method is entered.
    Enter(u64),
    /// It returns.
    Exit,
    /// A constructor calls this other one.
    Begin(u64),
    /// A constructor calls another one that is not recorded.
    BeginUnknown,
    /// The call of another constructor returned.
    End,
    /// An exception handler of the program runs.
    Catch,
    /// A method is left by an exception.
    UnwoundExit,
    /// The same, with 1 more than the id of the class of the exception, or 0.
    UnwoundBy(u32),
    /// A line is reached.
    Line(u16),
    /// Up to six bytes of a value, and how many.
    Value([u8; 7]),
    /// A run of instructions begins.
    Run(u16),
    /// An operand: its kind, 1 to 7, and its value.
    Operand(u8, u32),
    /// The low 56 bits of the time of the events that follow.
    Time(u64),
    /// The sequence number of the event that follows, or all ones.
    Number(u64),
}

impl fmt::Display for RawEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enter(method) => write!(f, "ENTER {method}"),
            Self::Exit => f.write_str("EXIT"),
            Self::Begin(method) => write!(f, "BEGIN {method}"),
            Self::BeginUnknown => f.write_str("BEGIN-UNKNOWN"),
            Self::End => f.write_str("END"),
            Self::Catch => f.write_str("CATCH"),
            Self::UnwoundExit => f.write_str("UNWOUND EXIT"),
            Self::UnwoundBy(class) => write!(f, "UNWOUND BY {class}"),
            Self::Line(line) => write!(f, "LINE {line}"),
            Self::Value(piece) => write!(f, "VALUE {piece:02X?}"),
            Self::Run(at) => write!(f, "STEP {at}"),
            Self::Operand(kind, value) => write!(f, "STEP {kind} {value}"),
            Self::Time(time) => write!(f, "TIME {time}"),
            Self::Number(number) => write!(f, "NUMBER {number}"),
        }
    }
}

impl RawEvent {
    /// Its bytes in a chunk.
    #[must_use]
    pub fn bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Self::Enter(method) => put_number(0x80, method, &mut bytes),
            Self::Exit => bytes.push(0x00),
            Self::Begin(method) => {
                bytes.push(0x7B);
                put_number(0x80, method, &mut bytes);
            }
            Self::BeginUnknown => bytes.push(0x7C),
            Self::End => bytes.push(0x7D),
            Self::Catch => bytes.push(0x7E),
            Self::UnwoundExit => bytes.push(0x7F),
            Self::UnwoundBy(class) => {
                bytes.push(0x78);
                bytes.extend(&class.to_le_bytes()[..3]);
            }
            Self::Line(line) => {
                bytes.push(0x77);
                bytes.extend(line.to_le_bytes());
                bytes.push(0);
            }
            Self::Value(piece) => {
                bytes.push(0x76);
                bytes.extend(piece);
            }
            Self::Run(at) => {
                bytes.push(0x75);
                bytes.extend(at.to_le_bytes());
                bytes.push(0);
            }
            Self::Operand(kind, value) => {
                let [a, b, c, d] = value.to_le_bytes();
                bytes.extend([0x75, a, b, kind, c, d, 0, 0]);
            }
            Self::Time(time) => {
                bytes.push(0x7A);
                bytes.extend(&time.to_le_bytes()[..7]);
            }
            Self::Number(number) => {
                bytes.push(0x79);
                bytes.extend(&number.to_le_bytes()[..7]);
            }
        }
        bytes
    }
}

/// Splits a chunk into its events, and bytes that are no event (`None`): an unknown kind, or an event that is cut off
/// or whose method id is not valid in `.flow`.
#[must_use]
pub fn parse(chunk: &[u8]) -> Vec<Option<RawEvent>> {
    let mut events = Vec::new();
    let mut rest = chunk;
    while let Some(&kind) = rest.first() {
        let (len, event) = match kind {
            0x80.. => {
                let (len, method) = enter(rest);
                (len, method.map(RawEvent::Enter))
            }
            0x00 => (1, Some(RawEvent::Exit)),
            0x7B if rest.len() > 1 && rest[1] >= 0x80 => match enter(&rest[1..]) {
                (len, Some(method)) => (1 + len, Some(RawEvent::Begin(method))),
                (_, None) => (1, Some(RawEvent::BeginUnknown)),
            },
            0x7B | 0x7C => (1, Some(RawEvent::BeginUnknown)),
            0x7D => (1, Some(RawEvent::End)),
            0x7E => (1, Some(RawEvent::Catch)),
            0x7F => (1, Some(RawEvent::UnwoundExit)),
            0x78 => match rest.first_chunk() {
                Some(bytes) => (4, Some(RawEvent::UnwoundBy(u32::from_le_bytes(*bytes) >> 8))),
                None => (rest.len(), None),
            },
            0x77 => match rest.first_chunk() {
                Some([_, low, high, _]) => {
                    (4, Some(RawEvent::Line(u16::from_le_bytes([*low, *high]))))
                }
                None => (rest.len(), None),
            },
            0x76 => match rest.first_chunk::<8>() {
                Some([_, piece @ ..]) => (8, Some(RawEvent::Value(*piece))),
                None => (rest.len(), None),
            },
            0x75 => match *rest {
                [_, low, high, 0, ..] => (4, Some(RawEvent::Run(u16::from_le_bytes([low, high])))),
                [_, a, b, kind @ 1..=7, c, d, _, _, ..] => {
                    (8, Some(RawEvent::Operand(kind, u32::from_le_bytes([a, b, c, d]))))
                }
                [_, _, _, 8..=0xFF, ..] => (1, None),
                _ => (rest.len(), None),
            },
            0x7A => match rest.first_chunk() {
                Some(bytes) => (8, Some(RawEvent::Time(u64::from_le_bytes(*bytes) >> 8))),
                None => (rest.len(), None),
            },
            0x79 => match rest.first_chunk() {
                Some(bytes) => (8, Some(RawEvent::Number(u64::from_le_bytes(*bytes) >> 8))),
                None => (rest.len(), None),
            },
            _ => (1, None),
        };
        events.push(event);
        rest = &rest[len..];
    }
    events
}

/// The length of the ENTER at the start of `bytes`, and its method, if it is whole and canonical.
fn enter(bytes: &[u8]) -> (usize, Option<u64>) {
    if bytes[0] & 0x40 == 0 {
        return (1, Some(u64::from(bytes[0] & 0x3F)));
    }
    let Some(last) = bytes[1..].iter().position(|byte| *byte < 0x80) else {
        return (bytes.len(), None);
    };
    let len = last + 2;
    match number(&bytes[..len]) {
        Number::Whole { value, .. } if bytes[len - 1] != 0 => (len, Some(value)),
        _ => (len, None),
    }
}

/// One event of `.flow`, and what is known about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CanonicalEvent {
    /// The event.
    pub event: Event,
    /// The last TIME before it, unless it ends a method that can only return.
    pub time: Option<u64>,
    /// Its sequence number, if it has one.
    pub number: Option<u64>,
    /// Whether it is an exit by exception.
    pub is_unwound: bool,
    /// The id of the class of the exception, if it is known.
    pub class: Option<u64>,
}

/// The first call that a constructor makes between BEGIN and END.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Callee {
    /// It must be this one, and was not seen yet.
    Expected(u64),
    /// It was the expected one.
    Seen,
    /// It may be any, and proves nothing.
    Unknown,
}

#[derive(Debug)]
struct Note {
    depth: i64,
    callee: Callee,
}

/// Turns the raw events of a thread into those of `.flow`.
#[derive(Default, Debug)]
pub struct Canonicalizer {
    /// Relative to the first event.
    depth: i64,
    notes: Vec<Note>,
    time: Option<u64>,
    /// The NUMBER before the event.
    number: Option<u64>,
    /// Whether an entry had that time: an exit directly after it has none.
    is_of_entry: bool,
    /// The class of the exception of the event that is being added.
    class: Option<u64>,
    events: Vec<CanonicalEvent>,
    /// The lines and bytes of values, each with the number of events before it.
    details: Vec<(usize, Detail)>,
}

impl Canonicalizer {
    /// Continues with a state from the journal. Exits that it holds come first.
    ///
    /// # Panics
    /// The state is not as specified.
    #[must_use]
    pub fn resume(mut state: &[u8]) -> Self {
        let mut canonicalizer = Self::default();
        if state.is_empty() {
            return canonicalizer;
        }
        for _ in 0..leb128::take(&mut state) {
            canonicalizer.put(Event::Exit, false);
        }
        let mut depth = 0;
        while !state.is_empty() {
            depth -= i64::try_from(leb128::take(&mut state)).expect("a depth");
            let callee = match leb128::take(&mut state) {
                0 => Callee::Seen,
                1 => Callee::Unknown,
                n => Callee::Expected(n - 2),
            };
            canonicalizer.notes.insert(0, Note { depth, callee });
        }
        canonicalizer
    }

    /// Adds an event.
    pub fn push(&mut self, event: RawEvent) {
        self.class = match event {
            RawEvent::UnwoundBy(number) => u64::from(number).checked_sub(1),
            _ => None,
        };
        match event {
            RawEvent::Enter(method) => {
                self.unwind_while(|note| note.callee == Callee::Seen);
                if let Some(note) = self.note_of_topmost_frame() {
                    let is_expected = note.callee == Callee::Expected(method);
                    note.callee = if is_expected { Callee::Seen } else { Callee::Unknown };
                }
                self.put(Event::Enter(method), false);
                self.depth += 1;
            }
            RawEvent::Exit => {
                self.unwind_while(|_| true);
                self.exit(false);
            }
            RawEvent::UnwoundExit | RawEvent::UnwoundBy(_) => {
                self.unwind_while(|_| true);
                self.exit(true);
                self.unwind_while(|note| note.callee == Callee::Seen);
            }
            RawEvent::Catch => self.unwind_while(|_| true),
            RawEvent::Begin(method) => {
                self.unwind_while(|_| true);
                self.notes.push(Note { depth: self.depth, callee: Callee::Expected(method) });
            }
            RawEvent::BeginUnknown => {
                self.unwind_while(|_| true);
                self.notes.push(Note { depth: self.depth, callee: Callee::Unknown });
            }
            RawEvent::End => {
                self.notes.pop();
            }
            RawEvent::Line(line) => {
                self.unwind_while(|_| true);
                self.details.push((self.events.len(), Detail::Line(line)));
            }
            RawEvent::Value([bytes @ .., count]) => {
                self.unwind_while(|_| true);
                let place = self.events.len();
                let bytes = bytes.into_iter().take(count.into());
                self.details.extend(bytes.map(|byte| (place, Detail::Byte(byte))));
            }
            RawEvent::Run(at) => {
                self.unwind_while(|_| true);
                self.details.push((self.events.len(), Detail::Step(0, at.into())));
            }
            RawEvent::Operand(kind, value) => {
                self.unwind_while(|_| true);
                self.details.push((self.events.len(), Detail::Step(kind, value)));
            }
            RawEvent::Time(time) => (self.time, self.is_of_entry) = (Some(time), false),
            RawEvent::Number(number) => self.number = (number != (1 << 56) - 1).then_some(number),
        }
    }

    /// The events so far, and the lines and bytes of values, each with the number of events before it.
    #[must_use]
    pub fn into_events(self) -> (Vec<CanonicalEvent>, Vec<(usize, Detail)>) {
        (self.events, self.details)
    }

    /// Writes the exits of constructors that an exception ended: the topmost frames, while they have notes like this.
    /// Nobody gave them numbers: a NUMBER before is that of the event that shows that they ended.
    fn unwind_while(&mut self, is_unwound: impl Fn(&Note) -> bool) {
        let number = self.number.take();
        while self.note_of_topmost_frame().is_some_and(|note| is_unwound(note)) {
            self.notes.pop();
            self.exit(true);
        }
        self.number = number;
    }

    fn note_of_topmost_frame(&mut self) -> Option<&mut Note> {
        self.notes.last_mut().filter(|note| note.depth == self.depth)
    }

    fn exit(&mut self, is_unwound: bool) {
        self.put(Event::Exit, is_unwound);
        self.depth -= 1;
    }

    fn put(&mut self, event: Event, is_unwound: bool) {
        let is_of_leaf = self.is_of_entry && event == Event::Exit && !is_unwound;
        let time = self.time.filter(|_| !is_of_leaf);
        self.is_of_entry = event != Event::Exit;
        let number = self.number.take();
        let class = self.class.filter(|_| is_unwound);
        self.events.push(CanonicalEvent { event, time, number, is_unwound, class });
    }
}

/// The events of a thread that recorded these chunks.
pub fn canonicalize<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
    canonicalize_marked(chunks).0.into_iter().map(|canonical| canonical.event).collect()
}

/// The same, with what is known about each event, and the lines and bytes of values, each with the number of events before
/// it.
pub fn canonicalize_marked<'a>(
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<CanonicalEvent>, Vec<(usize, Detail)>) {
    let mut canonicalizer = Canonicalizer::default();
    for event in chunks.into_iter().flat_map(parse).flatten() {
        canonicalizer.push(event);
    }
    canonicalizer.into_events()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_constructor_is_unwound() {
        let raw = [0x80, 0x81, 0x7B, 0x82, 0x82, 0x7F, 0x7E, 0x00];
        let enters = [0, 1, 2].map(Event::Enter);
        let canonical = [&enters[..], &[Event::Exit; 3]].concat();
        assert_eq!(canonicalize([&raw[..]]), canonical);
        let (events, _) = canonicalize_marked([&raw[..]]);
        let unwound = events.into_iter().map(|event| event.is_unwound);
        let unwound: Vec<_> = unwound.collect();
        assert_eq!(unwound, [false, false, false, true, true, false]);

        let raw = [0x80, 0x81, 0x7B, 0x82, 0x82, 0x78, 0x2D, 0x01, 0x00, 0x7E, 0x00];
        let (events, _) = canonicalize_marked([&raw[..]]);
        assert_eq!(events.iter().map(|event| event.event).collect::<Vec<_>>(), canonical);
        let classes: Vec<_> = events.into_iter().map(|event| event.class).collect();
        assert_eq!(classes, [None, None, None, Some(300), Some(300), None]);
    }

    #[test]
    fn the_documented_lines_are_between_the_events() {
        let raw = b"\x81\x77\x0C\0\0\x77\x2C\x01\0\x82\0\x77\x0C\0\0\0";
        let (events, lines) = canonicalize_marked([&raw[..]]);
        let events: Vec<_> = events.into_iter().map(|event| event.event).collect();
        assert_eq!(events, [Event::Enter(1), Event::Enter(2), Event::Exit, Event::Exit]);
        let expected =
            [(1, 12), (1, 300), (3, 12)].map(|(place, line)| (place, Detail::Line(line)));
        assert_eq!(lines, expected);
    }
}
