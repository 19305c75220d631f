//! A second reader of marks, written from the description in `codec/src/format/marks.rs`. It is strict.

use std::collections::BTreeMap;

use crate::Event;

/// What is said of a place between two events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mark {
    /// What is before had happened by the first time, and nothing behind it before the second one.
    Time {
        /// The first.
        by_ns: u64,
        /// The second.
        from_ns: u64,
    },
    /// When the next event happened.
    Instant(u64),
    /// So many exits from here on were by exception.
    Unwound(usize),
    /// Something is missing.
    Gap,
    /// Recording is suspended.
    Paused,
    /// It goes on.
    Resumed,
    /// What the program said.
    Note(String),
}

/// Marks by the number of events before them.
pub(crate) fn decode_marks(file: &[u8], events: &[Event], flow: &[u8]) -> Vec<(usize, Mark)> {
    if file.is_empty() {
        return Vec::new();
    }
    assert_eq!(file.get(..9), Some(&b"flow-mrk\x01"[..]), "magic and version of marks");
    let starts = starts_of_records(flow);
    let mut rest = &file[9..];
    let (mut offset, mut last_by, mut last) = (0, 0, 0);
    let mut marks = Vec::new();
    while let Some((&kind, after)) = rest.split_first() {
        rest = after;
        offset += number(&mut rest);
        let exits = index(number(&mut rest));
        let (mut payload, after) = rest.split_at(
            index({
                let mut rest = rest;
                number(&mut rest)
            }) + length(rest),
        );
        rest = after;
        number(&mut payload);
        let first =
            *starts.get(&offset).unwrap_or_else(|| panic!("a mark inside a record: {offset}"));
        let place = first + exits;
        assert!(place >= last, "marks in order");
        last = place;
        let run = events.get(first..place).expect("a mark behind the events");
        assert!(run.iter().all(|event| *event == Event::Exit), "a mark inside a run of exits");
        let mark = match kind {
            1 => {
                let by_ns = last_by + number(&mut payload);
                let difference = number(&mut payload);
                let half = difference / 2;
                let from_ns =
                    if difference.is_multiple_of(2) { by_ns + half } else { by_ns - half - 1 };
                last_by = by_ns;
                Mark::Time { by_ns, from_ns }
            }
            2 => {
                let count = index(number(&mut payload));
                let run = events.get(place..place + count).expect("unwound exits there are");
                assert!(count > 0 && run.iter().all(|event| *event == Event::Exit));
                payload = &[];
                Mark::Unwound(count)
            }
            3 => {
                number(&mut payload);
                Mark::Gap
            }
            4 => Mark::Paused,
            5 => Mark::Resumed,
            6 => {
                Mark::Note(String::from_utf8(std::mem::take(&mut payload).to_vec()).expect("UTF-8"))
            }
            7 => {
                let (mut event, mut starts) = (place, starts.range(offset..));
                let mut record = *starts.next().expect("a record").0;
                let first_ns = number(&mut payload);
                assert!(first_ns.is_multiple_of(8), "the first event is at the mark");
                last_by += first_ns / 8;
                marks.push((event, Mark::Instant(last_by)));
                while !payload.is_empty() {
                    let number = number(&mut payload);
                    last_by += number / 8;
                    event += 1;
                    if number.is_multiple_of(8) {
                        assert_eq!(events[event - 1..=event], [Event::Exit; 2], "in one run");
                    } else {
                        let (start, events) = starts.next().expect("a further record");
                        assert_eq!((*start - record, *events), (number % 8, event), "the next one");
                        record = *start;
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

/// Where records begin, and how many events come before; the end included.
fn starts_of_records(flow: &[u8]) -> BTreeMap<u64, usize> {
    let (mut starts, mut at, mut events) = (BTreeMap::new(), 0, 0);
    while at < flow.len() {
        starts.insert(at as u64, events);
        let first = flow[at];
        let (mut value, mut weight) = (usize::from(first % 64), 64);
        let mut more = first & 0x40 != 0;
        at += 1;
        while more {
            value += usize::from(flow[at] % 128) * weight;
            weight *= 128;
            more = flow[at] >= 128;
            at += 1;
        }
        events += if first < 128 { value + 1 } else { 1 };
    }
    starts.insert(at as u64, events);
    starts
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("a small number")
}

/// Bytes of the number at the start.
fn length(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte < 128).expect("a number ends") + 1
}

fn number(bytes: &mut &[u8]) -> u64 {
    let (number, rest) = bytes.split_at(length(bytes));
    *bytes = rest;
    number.iter().rev().fold(0, |value, byte| value * 128 + u64::from(byte % 128))
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
        let expected = [(1, Mark::Time { by_ns: 5000, from_ns: 9000 }), (4, Mark::Unwound(2))];
        assert_eq!(decode_marks(&file, &events, &flow), expected);

        let mut file = b"flow-mrk\x01".to_vec();
        file.extend([0x07, 0x00, 0x00, 0x0C]);
        file.extend([0xC0, 0xB8, 0x02, 0xF1, 0x01, 0xC1, 0x02, 0xC1, 0x02, 0xC1, 0x02, 0x50]);
        let times = [5000, 5030, 5070, 5110, 5150, 5160];
        let expected: Vec<_> = times.map(Mark::Instant).into_iter().enumerate().collect();
        assert_eq!(decode_marks(&file, &events, &flow), expected);
    }
}
