//! The net effect of a dropped chunk: the frames it left, and those it entered that are still open.
//!
//! A recorder that drops a chunk must still know what later exits close. So the chunk is canonicalized as
//! usual, and only events that no other event undoes are kept. Calls that began and ended in the chunk are
//! lost.

use super::canonicalize::Canonicalizer;
use super::net_effect::NetEffect;
use crate::format::flow::Encoded;
use crate::format::raw::{BEGIN_UNKNOWN, NO_NUMBER, NUMBER};

/// The net effect of a dropped chunk.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Condensed {
    /// Raw events with which the next chunk begins: an ENTER for each frame that is open.
    pub raw: Vec<u8>,
    /// The number of these ENTERs.
    pub frames: u64,
    /// How many events are lost.
    pub lost: u64,
}

impl Canonicalizer {
    /// Takes back the chunk that was just written to `canonical`, except for its net effect. Exits of frames
    /// that were open before are held back, as if nothing else had happened; the chunk must not be written.
    pub fn condense(&mut self, canonical: &[u8]) -> Condensed {
        let mut effect = NetEffect::of(canonical);
        effect.leave(self.held());
        let NetEffect { left, entered, entries, exits } = effect;
        let events = entries.saturating_add(exits);
        let frames = entered.len() as u64;
        let pending = self.take_back(frames, left);
        let base = self.depth();
        let mut raw = Vec::new();
        if self.is_numbered() && !entered.is_empty() {
            raw.extend((NO_NUMBER << u8::BITS | u64::from(NUMBER)).to_le_bytes());
        }
        let mut pending = pending.into_iter().peekable();
        for (method, depth) in entered.into_iter().zip(base + 1..) {
            raw.extend_from_slice(Encoded::enter(method).as_bytes());
            if pending.next_if_eq(&depth).is_some() {
                raw.push(BEGIN_UNKNOWN);
            }
        }
        Condensed { raw, frames, lost: events.saturating_sub(frames.saturating_add(left)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Canonicalizes chunks, dropping those with `true`. Returns what is written, and how many events are
    /// lost.
    fn written(chunks: &[(&[u8], bool)]) -> (Vec<u8>, u64) {
        let (mut canonicalizer, mut out, mut lost) = (Canonicalizer::default(), Vec::new(), 0);
        let mut first = Vec::new();
        for (chunk, dropped) in chunks {
            let mut canonical = Vec::new();
            canonicalizer.push(&[&first[..], chunk].concat(), &mut canonical);
            first.clear();
            if *dropped {
                let condensed = canonicalizer.condense(&canonical);
                // A reader of the journal knows only the state.
                assert_eq!(
                    Canonicalizer::resume(&canonicalizer.state()).unwrap().state(),
                    canonicalizer.state()
                );
                (first, lost) = (condensed.raw, lost + condensed.lost);
            } else {
                out.extend(canonical);
            }
        }
        canonicalizer.push(&first, &mut out);
        canonicalizer.finish(&mut out);
        (out, lost)
    }

    #[test]
    fn calls_that_end_in_the_chunk_are_lost_and_open_frames_stay() {
        let first = [0x81, 0x82, 0x00];
        let middle = [0x83, 0x00, 0x00, 0x84, 0x85, 0x00, 0x86];
        let last = [0x87, 0x00, 0x00, 0x00];
        let chunks = [(&first[..], false), (&middle, true), (&last, false)];
        // Left: 81. Entered: 84, 86. Lost: 83 and 85 with their exits.
        let expected = vec![0x81, 0x82, 0x01, 0x84, 0x86, 0x87, 0x02];
        assert_eq!(written(&chunks), (expected, 4));
    }

    #[test]
    fn several_chunks_in_a_row_may_be_dropped_and_the_last_one_too() {
        let chunks: [(&[u8], bool); 4] = [
            (&[0x81, 0x82], true),
            (&[0x00, 0x83, 0xC4, 0x01], true),
            (&[0x00], true),
            (&[0x00, 0x00, 0x00], true),
        ];
        assert_eq!(
            written(&chunks),
            (vec![0x00], 9 - 1),
            "all but the exit of a frame from before"
        );
        assert_eq!(written(&chunks[..2]), (vec![0x81, 0x83, 0xC4, 0x01], 2));
        assert_eq!(written(&[(&[], true)]), (vec![], 0));
    }

    #[test]
    fn constructors_that_were_in_a_call_are_still_open() {
        // 81 and 82 are in calls of 82 and 83; the exception that ends all is caught in 80.
        let chunks: [(&[u8], bool); 3] = [
            (&[0x80, 0x84, 0x00], false),
            (&[0x81, 0x7B, 0x82, 0x82, 0x7B, 0x83, 0x83, 0x85, 0x00], true),
            (&[0x7F, 0x7E, 0x00], false),
        ];
        let whole = [(&chunks.map(|(bytes, _)| bytes).concat()[..], false)];
        assert_eq!(written(&whole).0, [0x80, 0x84, 0x00, 0x81, 0x82, 0x83, 0x85, 0x04]);
        let expected = vec![0x80, 0x84, 0x00, 0x81, 0x82, 0x83, 0x03];
        assert_eq!(written(&chunks).0.len(), expected.len());
        assert_eq!(written(&chunks), (expected, 2));
    }
}
