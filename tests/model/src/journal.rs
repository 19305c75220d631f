//! The journal: the chunks of threads that were recording when the process ended.

use std::collections::BTreeMap;

use crate::raw::{CanonicalEvent, Canonicalizer, Detail, parse};

/// The thread of slots with lines.
const LINES: u64 = u64::MAX;

/// An open slot.
#[derive(Clone, Debug)]
pub struct OpenChunk {
    /// Bytes of the thread's file that come before.
    pub offset: usize,
    /// The events that follow.
    pub events: Vec<CanonicalEvent>,
    /// The lines and bytes of values, each with the number of these events before it.
    pub details: Vec<(usize, Detail)>,
    /// How many of these are exits that the chunk before held back.
    pub held: usize,
    /// Subtracted from the times of events.
    pub zero_ns: u64,
    /// Bytes of the thread's marks file that come before.
    pub marks_offset: usize,
    /// The encoded marks that follow.
    pub pending_marks: Vec<u8>,
    /// The samples of the thread since then.
    pub ticks: Vec<Tick>,
}

/// A mark of times or of stacks that is not encoded yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tick {
    /// How many events of the chunk are before it.
    pub events: usize,
    /// When they had happened.
    pub by_ns: u64,
    /// When the next one had not happened.
    pub from_ns: u64,
    /// For how many microseconds the thread had run since the previous one.
    pub ran_us: Option<u64>,
    /// Whether these are the first and the last time at which the stack was sampled there.
    pub is_stacks: bool,
}

/// Reads a journal. Returns the open chunks of each thread, by their offsets: all but the last one wait to be
/// written.
///
/// # Panics
/// Something is in it that a recorder that was killed cannot have left.
#[must_use]
pub fn open_chunks(journal: &[u8]) -> BTreeMap<u64, BTreeMap<usize, OpenChunk>> {
    let mut found: BTreeMap<u64, BTreeMap<usize, OpenChunk>> = BTreeMap::new();
    // Killed before the header was written.
    if journal.len() < 64 || word(journal, 1) == 0 {
        assert!(journal.iter().skip(8).all(|byte| *byte == 0), "slots without a header");
        return found;
    }
    assert_eq!(journal[..8], *b"flow-jnl", "the journal's magic number");
    assert_eq!(word(journal, 1), 1, "the journal's version");
    let mut rest = &journal[64..];
    while !rest.is_empty() && word(rest, 0) != 0 {
        let size = len(word(rest, 0));
        assert_eq!(size % 8, 0, "the size of a slot");
        assert!((40..=rest.len()).contains(&size), "a slot of {size}, {} are left", rest.len());
        let (slot, further) = rest.split_at(size);
        rest = further;
        let is_open = word(slot, 1) & 1 == 1;
        if !is_open {
            continue;
        }
        if word(slot, 2) == LINES {
            continue;
        }
        let (thread, chunk) = (word(slot, 2), open_chunk(slot, word(journal, 2)));
        found.entry(thread).or_default().entry(chunk.offset).or_insert(chunk);
    }
    found
}

/// The identity of the recording that a journal belongs to, as the manifest has it; `None` in an older one.
#[must_use]
pub fn journal_identity(journal: &[u8]) -> Option<String> {
    let number = journal.get(24..32).map_or(0, |_| word(journal, 3));
    (number > 0).then(|| format!("{number:016x}"))
}

/// Lines of threads in a journal, and how many bytes of them come before.
#[must_use]
pub fn open_lines(journal: &[u8]) -> Option<(usize, Vec<u8>)> {
    let mut rest = journal.get(64..).unwrap_or_default();
    let mut found: Option<(usize, Vec<u8>)> = None;
    while !rest.is_empty() && word(rest, 0) != 0 {
        let (slot, further) = rest.split_at(len(word(rest, 0)));
        rest = further;
        let offset = len(word(slot, 3));
        if word(slot, 1) & 1 == 1
            && word(slot, 2) == LINES
            && found.as_ref().is_none_or(|known| known.0 <= offset)
        {
            let text: Vec<u8> = slot[40..].iter().map(|byte| !byte).collect();
            let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
            found = Some((offset, text[..end].to_vec()));
        }
    }
    found
}

fn open_chunk(slot: &[u8], zero_ns: u64) -> OpenChunk {
    let offset = len(word(slot, 3));
    let state_len = len(word(slot, 4) % (1 << 32));
    let marks_len = len(word(slot, 4) >> 32);
    let (slot, marks) = slot.split_at(slot.len() - marks_len);
    let state = &slot[40..40 + state_len];
    // Of the complement of its bytes, what is still zero was not written.
    let chunk = &slot[40 + state_len.next_multiple_of(8)..];
    let end = chunk.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let raw: Vec<u8> = chunk[..end].iter().map(|byte| !byte).collect();

    let (marks_offset, pending_marks, ticks) = if marks.is_empty() {
        (0, Vec::new(), Vec::new())
    } else {
        let pending = len(word(marks, 1));
        let ticks = ticks(&marks[16 + pending.next_multiple_of(8)..], state, &raw);
        (len(word(marks, 0)), marks[16..16 + pending].to_vec(), ticks)
    };
    let ((events, details), held) = (canonicalize(state, &raw), canonicalize(state, &[]).0.len());
    OpenChunk { offset, events, details, held, zero_ns, marks_offset, pending_marks, ticks }
}

fn ticks(words: &[u8], state: &[u8], raw: &[u8]) -> Vec<Tick> {
    let mut ticks = Vec::new();
    for tick in words.chunks_exact(24).filter(|tick| word(tick, 0) > 0) {
        // The last ones may be of events that were not stored any more.
        if let Some(before) = raw.get(..len(word(tick, 0) % (1 << 31)) - 1) {
            let events = canonicalize(state, before).0.len();
            let ran_us = (word(tick, 0) >> 32).checked_sub(1);
            let is_stacks = word(tick, 0) >> 31 & 1 == 1;
            let (by_ns, from_ns) = (word(tick, 1), word(tick, 2));
            ticks.push(Tick { events, by_ns, from_ns, ran_us, is_stacks });
        }
    }
    ticks
}

/// The events, lines and bytes of values of a chunk, all of whose bytes are events, but for one at the end that was being written.
fn canonicalize(state: &[u8], raw: &[u8]) -> (Vec<CanonicalEvent>, Vec<(usize, Detail)>) {
    let mut events = parse(raw);
    if events.last() == Some(&None) {
        events.pop();
    }
    let mut canonicalizer = Canonicalizer::resume(state);
    for event in events {
        canonicalizer.push(event.unwrap_or_else(|| panic!("no event in a chunk: {raw:02X?}")));
    }
    canonicalizer.into_events()
}

fn word(bytes: &[u8], index: usize) -> u64 {
    u64::from_le_bytes(bytes[8 * index..8 * index + 8].try_into().expect("eight bytes"))
}

fn len(word: u64) -> usize {
    usize::try_from(word).expect("a length")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Event;

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
        let chunk = &open_chunks(&journal)[&1][&3];
        assert_eq!(chunk.offset, 3);
        let events: Vec<_> = chunk.events.iter().map(|event| event.event).collect();
        assert_eq!(events, [Event::Exit, Event::Exit, Event::Enter(1), Event::Exit]);
    }
}
