//! A second reader of the journal and a second fold, written from the descriptions in
//! `codec/src/format/journal.rs` and `raw.rs`. It is strict where a writer that was killed has no excuse.

use std::collections::BTreeMap;

use crate::Event;

/// What an open slot tells of its thread.
#[derive(Clone, Debug)]
pub(crate) struct OpenChunk {
    /// So much of the thread's file comes before.
    pub(crate) offset: usize,
    /// What follows.
    pub(crate) events: Vec<Event>,
    /// Which of these are exits by exception.
    pub(crate) unwound: Vec<usize>,
    /// Which of them happened when.
    pub(crate) instants: Vec<(usize, u64)>,
    /// So much of the thread's marks file comes before.
    pub(crate) marks_offset: usize,
    /// The marks that follow there.
    pub(crate) pending: Vec<u8>,
    /// Times: how many of the events had happened, by when, and from when on others did.
    pub(crate) ticks: Vec<(usize, u64, u64)>,
}

/// The open chunks by thread.
pub(crate) fn open_chunks(bytes: &[u8]) -> BTreeMap<u64, OpenChunk> {
    let mut found: BTreeMap<u64, OpenChunk> = BTreeMap::new();
    // Killed before the header was there.
    if bytes.iter().all(|byte| *byte == 0) {
        return found;
    }
    assert_eq!(bytes[..8], *b"flow-jnl", "the journal's magic number");
    assert_eq!(word(bytes, 1), 1, "the journal's version");
    let mut rest = &bytes[64..];
    while !rest.is_empty() && word(rest, 0) != 0 {
        let size = usize::try_from(word(rest, 0)).expect("a size");
        assert_eq!(size % 8, 0, "the size of a slot");
        assert!((40..=rest.len()).contains(&size), "a slot of {size}, {} are left", rest.len());
        let (slot, further) = rest.split_at(size);
        rest = further;
        if word(slot, 1) & 1 == 0 {
            continue;
        }
        let offset = usize::try_from(word(slot, 3)).expect("an offset");
        let resume = usize::try_from(word(slot, 4) % (1 << 32)).expect("a length");
        let marks = usize::try_from(word(slot, 4) >> 32).expect("a length");
        let (slot, marks) = slot.split_at(size - marks);
        let raw = raw(&slot[40 + resume.div_ceil(8) * 8..]);
        let fold = || Fold::resume(&slot[40..40 + resume]);
        let Fold { events, unwound, times, .. } = fold().run(&raw);
        let times = times.iter().enumerate().filter_map(|(event, time)| Some((event, (*time)?)));
        let instants = times.map(|(event, time)| (event, time - word(bytes, 2))).collect();
        let (pending, ticks) = (Vec::new(), Vec::new());
        let mut chunk =
            OpenChunk { offset, events, unwound, instants, marks_offset: 0, pending, ticks };
        if !marks.is_empty() {
            chunk.marks_offset = usize::try_from(word(marks, 0)).expect("an offset");
            let pending = usize::try_from(word(marks, 1)).expect("a length");
            chunk.pending = marks[16..16 + pending].to_vec();
            let words: Vec<u64> = marks[16 + pending.next_multiple_of(8)..]
                .chunks(8)
                .map(|bytes| word(bytes, 0))
                .collect();
            for tick in words.chunks_exact(3).take_while(|tick| tick[0] > 0) {
                let bytes = usize::try_from(tick[0] - 1).expect("a place");
                // The last of these may be of an event that was not stored any more.
                if let Some(raw) = raw.get(..bytes) {
                    chunk.ticks.push((fold().run(raw).events.len(), tick[1], tick[2]));
                }
            }
        }
        let better = found.get(&word(slot, 2)).is_none_or(|other| other.offset < offset);
        if better {
            found.insert(word(slot, 2), chunk);
        }
    }
    found
}

fn word(bytes: &[u8], index: usize) -> u64 {
    u64::from_le_bytes(bytes[8 * index..8 * index + 8].try_into().expect("eight bytes"))
}

/// What has been recorded ends with the last byte that is not zero.
fn raw(chunk: &[u8]) -> Vec<u8> {
    let end = chunk.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    chunk[..end].iter().map(|byte| !byte).collect()
}

/// What a constructor that has called another one waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Callee {
    Met,
    Unknown,
    Expected(u64),
}

struct Note {
    depth: i64,
    callee: Callee,
}

struct Fold {
    depth: i64,
    notes: Vec<Note>,
    events: Vec<Event>,
    unwound: Vec<usize>,
    /// The last time told, and that of each event, where there are times.
    time: Option<u64>,
    times: Vec<Option<u64>>,
}

impl Fold {
    fn resume(state: &[u8]) -> Self {
        let mut numbers = Vec::new();
        let mut value = (0_u64, 1_u64);
        for byte in state {
            value = (value.0 + u64::from(byte % 128) * value.1, value.1.wrapping_mul(128));
            if *byte < 128 {
                numbers.push(value.0);
                value = (0, 1);
            }
        }
        assert_eq!(value, (0, 1), "the state of the fold ends inside a number");
        let held = numbers.first().copied().unwrap_or(0);
        let mut notes = Vec::new();
        let mut depth = 0;
        for pair in numbers.get(1..).unwrap_or_default().chunks(2) {
            depth -= i64::try_from(pair[0]).expect("a depth");
            let callee = match pair[1] {
                0 => Callee::Met,
                1 => Callee::Unknown,
                n => Callee::Expected(n - 2),
            };
            notes.push(Note { depth, callee });
        }
        notes.reverse();
        let events: Vec<_> = (0..held).map(|_| Event::Exit).collect();
        let times = vec![None; events.len()];
        Self { depth: 0, notes, events, unwound: Vec::new(), time: None, times }
    }

    fn run(mut self, raw: &[u8]) -> Self {
        let mut at = 0;
        while at < raw.len() {
            let (first, rest) = (raw[at], &raw[at + 1..]);
            at += 1;
            match first {
                0x00 => {
                    self.kill_at_top();
                    self.exit();
                }
                0x7F => {
                    self.kill_at_top();
                    self.unwind();
                    // The call that a constructor waits for threw.
                    while let Some(note) = self.notes.last()
                        && note.depth == self.depth
                        && note.callee == Callee::Met
                    {
                        self.kill();
                    }
                }
                0x7E | 0x7C => {
                    self.kill_at_top();
                    if first == 0x7C {
                        self.note(Callee::Unknown);
                    }
                }
                0x7B => match enter(rest) {
                    Some((method, length)) => {
                        at += length;
                        self.kill_at_top();
                        self.note(Callee::Expected(method));
                    }
                    None => break,
                },
                0x7D => drop(self.notes.pop()),
                0x7A => {
                    let Some(time) = rest.get(..7) else { break };
                    at += 7;
                    self.time =
                        Some(time.iter().rev().fold(0, |t, byte| t * 256 + u64::from(*byte)));
                }
                0x80.. => match enter(&raw[at - 1..]) {
                    Some((method, length)) => {
                        at += length - 1;
                        self.enter(method);
                    }
                    None => break,
                },
                other => panic!("{other:02X} is no event"),
            }
        }
        self
    }

    fn note(&mut self, callee: Callee) {
        self.notes.push(Note { depth: self.depth, callee });
    }

    fn exit(&mut self) {
        self.events.push(Event::Exit);
        self.times.push(self.time);
        self.depth -= 1;
    }

    fn unwind(&mut self) {
        self.unwound.push(self.events.len());
        self.exit();
    }

    /// The constructor that the topmost note is of has died.
    fn kill(&mut self) {
        self.notes.pop();
        self.unwind();
    }

    fn kill_at_top(&mut self) {
        while self.notes.last().is_some_and(|note| note.depth == self.depth) {
            self.kill();
        }
    }

    fn enter(&mut self, method: u64) {
        while let Some(note) = self.notes.last_mut()
            && note.depth == self.depth
        {
            match note.callee {
                Callee::Unknown => break,
                Callee::Met => self.kill(),
                Callee::Expected(expected) => {
                    note.callee = if expected == method { Callee::Met } else { Callee::Unknown };
                    break;
                }
            }
        }
        self.events.push(Event::Enter(method));
        self.times.push(self.time);
        self.depth += 1;
    }
}

/// The method of the ENTER at the start and its length; `None` if it is cut off.
fn enter(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    assert!(first >= 0x80, "{first:02X} is no ENTER");
    let mut value = u64::from(first % 64);
    let mut length = 1;
    let mut shift = 6;
    let mut more = first & 0x40 != 0;
    while more {
        let byte = *bytes.get(length)?;
        // A word of ones is what has not been written.
        value |= u64::from(byte % 128).checked_shl(shift)?;
        shift += 7;
        length += 1;
        more = byte >= 0x80;
    }
    Some((value, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_slot_is_read() {
        let words: [u64; 6] = [256, 5, 1, 3, 3, 0];
        let mut slot: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        slot[40..43].copy_from_slice(&[0x02, 0x02, 0x0B]);
        slot.extend([0x7E, 0xFF]);
        slot.resize(256, 0);
        let mut journal = b"flow-jnl".to_vec();
        journal.extend(1_u64.to_le_bytes());
        journal.resize(64, 0);
        journal.extend(&slot);
        journal.resize(4096, 0);
        let chunk = &open_chunks(&journal)[&1];
        assert_eq!(chunk.offset, 3);
        assert_eq!(chunk.events, [Event::Exit, Event::Exit, Event::Enter(1), Event::Exit]);
    }

    #[test]
    fn the_documented_chunk_is_folded() {
        let raw = [0x80, 0x81, 0x7B, 0x82, 0x82, 0x7F, 0x7E, 0x00];
        let Fold { events, unwound, .. } = Fold::resume(&[]).run(&raw);
        assert_eq!(unwound, [3, 4]);
        let expected = [0, 1, 2].map(Event::Enter).into_iter().chain([Event::Exit; 3]);
        assert_eq!(events, expected.collect::<Vec<_>>());
    }
}
