//! The *beginning* of a thread in a part of a trace: what a reader of a [`container`](super::container) needs to read on
//! from there, if everything before it was removed.
//!
//! Numbers are LEB128: groups of seven bits, the lowest first.
//!
//! | | |
//! |---|---|
//! | events | a number: bytes of the thread's events in earlier parts |
//! | entries, exits | two numbers: how many of each are in these bytes |
//! | marks | a number: bytes of the thread's marks that are not needed |
//! | offset, *by*, *from* | three numbers: the position of the last of these marks, and the two times of the last time mark among them; 0 where there was none |
//! | frames | a number: how many frames are open after these events |
//! | | the ENTER of each, outermost first, as in [`flow`](crate::format::flow) |
//! | | the lines about the thread in earlier parts that a reader needs: its `open`, its `start`, its last `rename`, and its `end`, as in [`threads`](crate::format::threads) |
//!
//! The marks of this part begin with the first one that belongs to events of this part; marks before it may be there too.
//!
//! # What a reader does
//!
//! The thread begins with a mark for the gap, whose number of events is that of the entries and exits without an exit for
//! each of the open frames; then the open frames are entered, and then the events of the part follow. Positions and marks
//! move accordingly.
//!
//! A beginning that is not as described, or that does not fit the events, counts as damage. The next beginning of the thread
//! counts instead, and events before it are left out. Without one, the first event that is there follows the mark for the gap,
//! whose number of events is then unknown, and the marks of the part are left out.
//!
//! # Example
//!
//! 300 bytes of events are in earlier parts, with 150 entries and 148 exits. Two frames are open, of methods 1 and 200.
//! 40 bytes of marks are not needed; the last of them is at offset 290, and the last time among them is 5000, the same for
//! *from*.
//!
//! | bytes | |
//! |---|---|
//! | `AC 02` | 300 bytes of events |
//! | `96 01` `94 01` | 150 entries, 148 exits |
//! | `28` | 40 bytes of marks |
//! | `A2 02` `88 27` `88 27` | offset 290, by 5000, from 5000 |
//! | `02` | two frames |
//! | `81` `C8 03` | ENTER 1, ENTER 200 |

use crate::MethodId;
use crate::format::flow::{Encoded, Record, records};
use crate::format::leb128;
use crate::format::marks::BeforeMarks;

/// The beginning of a thread in a part.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Beginning {
    /// Bytes of events before it.
    pub events: u64,
    /// How many entries these are.
    pub entries: u64,
    /// And exits.
    pub exits: u64,
    /// Where the needed marks begin.
    pub marks: u64,
    /// What the decoder of marks must know there.
    pub before: BeforeMarks,
    /// The open frames, outermost first.
    pub frames: Vec<MethodId>,
    /// Lines about the thread.
    pub lines: Vec<u8>,
}

impl Beginning {
    /// Appends its bytes.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        let BeforeMarks { offset, by_ns, from_ns } = self.before;
        let frames = self.frames.len() as u64;
        let numbers = [self.events, self.entries, self.exits, self.marks, offset, by_ns, from_ns];
        numbers.into_iter().chain([frames]).for_each(|number| leb128::put(bytes, number));
        for method in &self.frames {
            bytes.extend_from_slice(Encoded::enter(*method).as_bytes());
        }
        bytes.extend_from_slice(&self.lines);
    }

    /// Decodes it; `None` if these bytes are not one.
    #[must_use]
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut numbers = [0; 8];
        for number in &mut numbers {
            *number = leb128::take(&mut bytes)?;
        }
        let [events, entries, exits, marks, offset, by_ns, from_ns, count] = numbers;
        let mut frames = Vec::new();
        let mut end = 0;
        let mut entered = records(bytes);
        while (frames.len() as u64) < count {
            let (Record::Enter(method), after) = entered.next()? else { return None };
            frames.push(method);
            end = after;
        }
        let lines = bytes.get(end..)?.to_vec();
        let before = BeforeMarks { offset, by_ns, from_ns };
        // Each open frame was entered there.
        let fits = count <= entries && end as u64 <= events;
        fits.then_some(Self { events, entries, exits, marks, before, frames, lines })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> (Beginning, Vec<u8>) {
        let text = include_str!("beginning.rs");
        let table = text.split("# Example").nth(1).unwrap().split("use super").next().unwrap();
        let cells =
            table.lines().filter_map(|line| line.strip_prefix("//! | `")?.split('|').next());
        let digits =
            cells.flat_map(|cell| cell.split([' ', '`'])).filter(|digits| !digits.is_empty());
        let bytes = digits.map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
        let beginning = Beginning {
            events: 300,
            entries: 150,
            exits: 148,
            marks: 40,
            before: BeforeMarks { offset: 290, by_ns: 5000, from_ns: 5000 },
            frames: [1, 200].map(|id| MethodId::new(id).unwrap()).to_vec(),
            lines: Vec::new(),
        };
        (beginning, bytes)
    }

    #[test]
    fn the_example_is_what_is_written_and_read() {
        let (beginning, bytes) = example();
        let mut written = Vec::new();
        beginning.encode(&mut written);
        assert_eq!(written, bytes, "{written:02X?}");
        assert_eq!(Beginning::decode(&bytes), Some(beginning.clone()));
        let lines = b"{\"event\":\"start\"}\n".to_vec();
        let with_lines = [&bytes[..], &lines].concat();
        assert_eq!(Beginning::decode(&with_lines), Some(Beginning { lines, ..beginning }));
    }

    #[test]
    fn what_is_cut_or_cannot_be_is_refused() {
        let (beginning, bytes) = example();
        for end in 0..bytes.len() {
            assert_eq!(Beginning::decode(&bytes[..end]), None, "{end}");
        }
        for wrong in [
            Beginning { entries: 1, ..beginning.clone() },
            Beginning { events: 2, ..beginning.clone() },
        ] {
            let mut bytes = Vec::new();
            wrong.encode(&mut bytes);
            assert_eq!(Beginning::decode(&bytes), None, "{wrong:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
            let _ = Beginning::decode(&bytes);
        }
    }
}
