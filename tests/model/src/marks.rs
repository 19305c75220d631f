//! Marks: what is known about positions between the events of a thread.

use std::collections::BTreeMap;

use crate::flow::{Event, Record, decode};
use crate::leb128;
use crate::raw::Detail;

/// What is known about a position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mark {
    /// All events before it had happened at the first time, and no event after it happened before the second one.
    Time {
        /// The first time.
        by_ns: u64,
        /// The second time.
        from_ns: u64,
        /// For how many microseconds the thread had run since the previous time mark.
        ran_us: Option<u64>,
    },
    /// When the next event happened.
    Instant(u64),
    /// The next exits were by exception.
    Unwound {
        /// How many.
        exits: usize,
        /// The class of the exception; empty if it is unknown.
        class: String,
    },
    /// The id of the class of the exception of the next exits.
    Thrown(u64),
    /// Events are missing.
    Gap,
    /// Recording is suspended.
    Paused,
    /// Recording resumes.
    Resumed,
    /// A text from the program.
    Note(String),
    /// The stack was sampled at these two times, and maybe between them.
    Stacks(u64, u64),
    /// The topmost frame reached this line.
    Line(u16),
    /// A byte of a value.
    Byte(u8),
    /// A step of a run of instructions: its kind and its value.
    Step(u8, u32),
    /// The sequence number of the next event, if it has one.
    Order(Option<u64>),
    /// A test begins or ends: the state, the name, the detail.
    Test(u8, String, String),
}

impl From<Detail> for Mark {
    fn from(detail: Detail) -> Self {
        match detail {
            Detail::Line(line) => Self::Line(line),
            Detail::Byte(byte) => Self::Byte(byte),
            Detail::Step(kind, value) => Self::Step(kind, value),
        }
    }
}

/// Reads a marks file, also an empty one. Returns each mark with the number of events before it. `flow` are the bytes
/// that the positions refer to.
///
/// # Panics
/// It is not as flow writes it.
#[must_use]
#[expect(
    clippy::too_many_lines,
    reason = "one arm for each kind of mark, in the order of the specification"
)]
pub fn decode_marks(file: &[u8], events: &[Event], flow: &[u8]) -> Vec<(usize, Mark)> {
    if file.is_empty() {
        return Vec::new();
    }
    assert_eq!(file.get(..9), Some(&b"flow-mrk\x01"[..]), "magic and version of marks");
    let starts = events_before_records(flow);
    let mut rest = &file[9..];
    let (mut offset, mut last_by, mut last) = (0, 0, 0);
    let mut marks = Vec::new();
    while let Some((&kind, after)) = rest.split_first() {
        rest = after;
        offset += leb128::take(&mut rest);
        let exits = leb128::take_len(&mut rest);
        let payload_len = leb128::take_len(&mut rest);
        let (mut payload, after) = rest.split_at(payload_len);
        rest = after;
        let first =
            *starts.get(&offset).unwrap_or_else(|| panic!("a mark inside a record: {offset}"));
        let place = first + exits;
        assert!(place >= last, "marks in order");
        last = place;
        let before = events.get(first..place).expect("a mark after the events");
        assert!(before.iter().all(|event| *event == Event::Exit), "a mark inside a run of exits");
        let mark = match kind {
            1 => {
                let by_ns = last_by + leb128::take(&mut payload);
                let difference = leb128::take(&mut payload);
                let half = difference / 2;
                let is_later = difference.is_multiple_of(2);
                last_by = by_ns;
                let from_ns = if is_later { by_ns + half } else { by_ns - half - 1 };
                let ran_us = (!payload.is_empty()).then(|| leb128::take(&mut payload));
                Mark::Time { by_ns, from_ns, ran_us }
            }
            2 => {
                let exits = leb128::take_len(&mut payload);
                let run = events.get(place..place + exits).expect("exits after the mark");
                assert!(exits > 0 && run.iter().all(|event| *event == Event::Exit), "in one run");
                Mark::Unwound { exits, class: take_text(&mut payload) }
            }
            3 => {
                leb128::take(&mut payload);
                Mark::Gap
            }
            4 => Mark::Paused,
            5 => Mark::Resumed,
            6 => Mark::Note(take_text(&mut payload)),
            8 => {
                let (state, mut texts) = payload.split_first().expect("a state");
                let name_bytes = usize::try_from(leb128::take(&mut texts)).expect("a small number");
                let (mut name, detail) = texts.split_at(name_bytes);
                payload = detail;
                Mark::Test(*state, take_text(&mut name), take_text(&mut payload))
            }
            11 => Mark::Thrown(leb128::take(&mut payload)),
            9 => {
                let difference = leb128::take(&mut payload);
                let half = difference / 2;
                let is_later = difference.is_multiple_of(2);
                let first = if is_later { last_by + half } else { last_by - half - 1 };
                Mark::Stacks(first, first + leb128::take(&mut payload))
            }
            10 => Mark::Order((!payload.is_empty()).then(|| leb128::take(&mut payload))),
            12 => {
                let mut line = 0_i64;
                assert!(!payload.is_empty(), "a mark of lines has some");
                while !payload.is_empty() {
                    let difference = leb128::take(&mut payload).cast_signed();
                    let is_later = difference % 2 == 0;
                    line += if is_later { difference / 2 } else { -(difference / 2) - 1 };
                    marks.push((place, Mark::Line(line.try_into().expect("16 bits"))));
                }
                continue;
            }
            13 => {
                marks.extend(payload.iter().map(|byte| (place, Mark::Byte(*byte))));
                continue;
            }
            14 => {
                let mut at = 0_i64;
                assert!(!payload.is_empty(), "a mark of steps has some");
                while !payload.is_empty() {
                    let number = leb128::take(&mut payload);
                    let (kind, value) = (number % 8, number / 8);
                    let value = match kind {
                        0 if value.is_multiple_of(2) => {
                            at += (value / 2).cast_signed();
                            u16::try_from(at).expect("16 bits").into()
                        }
                        0 => {
                            at -= (value / 2).cast_signed() + 1;
                            u16::try_from(at).expect("16 bits").into()
                        }
                        _ => u32::try_from(value).expect("32 bits"),
                    };
                    marks.push((place, Mark::Step(kind.to_le_bytes()[0], value)));
                }
                continue;
            }
            7 => {
                let (mut event, mut starts) = (place, starts.range(offset..));
                let mut record = *starts.next().expect("a record").0;
                let since_by = leb128::take(&mut payload);
                assert!(since_by.is_multiple_of(8), "the first event is at the mark");
                last_by += since_by / 8;
                marks.push((event, Mark::Instant(last_by)));
                while !payload.is_empty() {
                    let number = leb128::take(&mut payload);
                    last_by += number / 8;
                    if number.is_multiple_of(8) {
                        event += 1;
                        assert_eq!(events[event - 1..=event], [Event::Exit; 2], "in one run");
                    } else {
                        record += number % 8;
                        let found = starts.find(|(start, _)| **start == record);
                        event = *found.expect("a record begins there").1;
                    }
                    marks.push((event, Mark::Instant(last_by)));
                }
                last = event;
                continue;
            }
            other => panic!("a mark of kind {other}"),
        };
        assert!(payload.is_empty(), "nothing else in a mark of kind {kind}");
        marks.push((place, mark));
    }
    marks
}

/// The sequence numbers of events, from all marks of their thread.
///
/// # Panics
/// The marks are not in order.
#[must_use]
pub fn sequence_numbers(events: usize, marks: &[(usize, Mark)]) -> Vec<Option<u64>> {
    let mut marks = marks.iter().filter_map(|(place, mark)| match mark {
        Mark::Order(number) => Some((*place, *number)),
        _ => None,
    });
    let mut marked = marks.next();
    let mut next = None;
    let numbers = (0..events).map(|event| {
        while let Some((place, number)) = marked.filter(|(place, _)| *place <= event) {
            assert_eq!(place, event, "marks in order");
            (next, marked) = (number, marks.next());
        }
        let number = next;
        next = next.map(|number| number + 1);
        number
    });
    numbers.collect()
}

/// Takes what is left of a payload.
fn take_text(payload: &mut &[u8]) -> String {
    String::from_utf8(std::mem::take(payload).to_vec()).expect("UTF-8")
}

/// The number of events before each record, by its offset; also before the end.
fn events_before_records(flow: &[u8]) -> BTreeMap<u64, usize> {
    let (mut starts, mut events) = (BTreeMap::new(), 0);
    for (offset, record) in decode(flow).records {
        starts.insert(offset, events);
        events += match record {
            Record::Enter(_) => 1,
            Record::Exits(count) => usize::try_from(count).expect("exits in memory"),
        };
    }
    starts.insert(flow.len() as u64, events);
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_marks_are_read() {
        let flow = [0x81, 0x82, 0x00, 0x83, 0x01];
        let enter = Event::Enter;
        let events = [enter(1), enter(2), Event::Exit, enter(3), Event::Exit, Event::Exit];
        let mut file = b"flow-mrk\x01".to_vec();
        file.extend([0x01, 0x01, 0x00, 0x04, 0x88, 0x27, 0xC0, 0x3E]);
        file.extend([0x02, 0x03, 0x00, 0x0D, 0x02]);
        file.extend(b"com.app.Oops");
        let unwound = Mark::Unwound { exits: 2, class: "com.app.Oops".to_owned() };
        let expected = [(1, Mark::Time { by_ns: 5000, from_ns: 9000, ran_us: None }), (4, unwound)];
        assert_eq!(decode_marks(&file, &events, &flow), expected);

        let file = b"flow-mrk\x01\x0B\x04\x00\x02\xAC\x02\x02\x00\x00\x01\x02";
        let unwound = Mark::Unwound { exits: 2, class: String::new() };
        let expected = [(4, Mark::Thrown(300)), (4, unwound)];
        assert_eq!(decode_marks(file, &events, &flow), expected);

        let file = b"flow-mrk\x01\x0C\x01\x00\x03\x18\xC0\x04\x0C\x01\x01\x01\x18";
        let [enter, also, exit] = [Event::Enter(1), Event::Enter(2), Event::Exit];
        let lines = [(1, 12), (1, 300), (3, 12)].map(|(place, line)| (place, Mark::Line(line)));
        assert_eq!(decode_marks(file, &[enter, also, exit, exit], &[0x81, 0x82, 0x01]), lines);

        let mut file = b"flow-mrk\x01".to_vec();
        file.extend([0x07, 0x00, 0x00, 0x0C]);
        file.extend([0xC0, 0xB8, 0x02, 0xF1, 0x01, 0xC1, 0x02, 0xC1, 0x02, 0xC1, 0x02, 0x50]);
        let times = [5000, 5030, 5070, 5110, 5150, 5160];
        let expected: Vec<_> = times.map(Mark::Instant).into_iter().enumerate().collect();
        assert_eq!(decode_marks(&file, &events, &flow), expected);

        let mut file = b"flow-mrk\x01\x01\x01\x00\x04\x88\x27\xC0\x3E".to_vec();
        file.extend([0x09, 0x00, 0x00, 0x04, 0xD0, 0x0F, 0xC4, 0x13]);
        let time = Mark::Time { by_ns: 5000, from_ns: 9000, ran_us: None };
        let expected = [(1, time), (1, Mark::Stacks(6000, 8500))];
        assert_eq!(decode_marks(&file, &events, &flow), expected);

        let mut file = b"flow-mrk\x01\x0A\x00\x00\x01\x0A\x0A\x03\x00\x02\xAC\x02".to_vec();
        file.extend([0x0A, 0x01, 0x01, 0x00]);
        let order = [(0, Some(10)), (3, Some(300)), (5, None)];
        let expected = order.map(|(place, number)| (place, Mark::Order(number)));
        assert_eq!(decode_marks(&file, &events, &flow), expected);
        let numbers = [Some(10), Some(11), Some(12), Some(300), Some(301), None];
        assert_eq!(sequence_numbers(6, &expected), numbers);

        let mut file = b"flow-mrk\x01\x08\x02\x00\x18\x00\x11com.app.ATest.oneone()".to_vec();
        file.extend(b"\x08\x00\x00\x16\x02\x11com.app.ATest.onewhy");
        let test =
            |state, detail: &str| (2, Mark::Test(state, "com.app.ATest.one".into(), detail.into()));
        assert_eq!(decode_marks(&file, &events, &flow), [test(0, "one()"), test(2, "why")]);
    }
}
