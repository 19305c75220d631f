//! HOT: raw chunks to canonical `.flow`.
//!
//! A recorder only appends: a *raw chunk* is a sequence of whole events, an ENTER as `.flow`
//! encodes it and one byte [`RAW_EXIT`] for each exit. An encoded ENTER never holds that byte (its
//! first byte is at least `80`, its last is not zero), so the fold never parses: it copies, and
//! replaces every run of two or more exits by one record. A run may go on in the next chunk; it is
//! held back until something else follows or the thread is finished.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;

use memchr::memmem;

use crate::format::flow::Encoded;

/// One exit in a raw chunk.
pub const RAW_EXIT: u8 = 0x00;

/// Folds the raw chunks of one thread, in order.
#[derive(Debug)]
pub struct Fold {
    pending_exits: u64,
    exit_pair: memmem::Finder<'static>,
}

impl Default for Fold {
    fn default() -> Self {
        Self { pending_exits: 0, exit_pair: memmem::Finder::new(&[RAW_EXIT, RAW_EXIT]) }
    }
}

impl Fold {
    /// Appends the canonical form of `raw`, which holds whole events, to `out`.
    pub fn push(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        let mut rest = self.take_exits(raw);
        if rest.is_empty() {
            return;
        }
        self.flush_exits(out);
        // A single exit is canonical as it stands; only pairs need work, and the exits at the end,
        // whose run may not be over.
        while let Some(at) = self.exit_pair.find(rest) {
            let (plain, run) = rest.split_at(at);
            out.extend_from_slice(plain);
            rest = self.take_exits(run);
            if rest.is_empty() {
                return;
            }
            self.flush_exits(out);
        }
        match rest.split_last() {
            Some((&RAW_EXIT, before)) => {
                out.extend_from_slice(before);
                self.pending_exits = 1;
            }
            _ => out.extend_from_slice(rest),
        }
    }

    /// Appends the exits held back. To be called once, after the thread's last chunk.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.flush_exits(out);
    }

    /// Counts the exits `raw` begins with and returns what follows them.
    fn take_exits<'a>(&mut self, raw: &'a [u8]) -> &'a [u8] {
        let run = raw.iter().position(|&byte| byte != RAW_EXIT).unwrap_or(raw.len());
        self.pending_exits += run as u64;
        raw.get(run..).unwrap_or(&[])
    }

    fn flush_exits(&mut self, out: &mut Vec<u8>) {
        if let Some(count) = NonZeroU64::new(self.pending_exits) {
            out.extend_from_slice(Encoded::exits(count).as_bytes());
            self.pending_exits = 0;
        }
    }
}

/// How many events some raw bytes hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EventCounts {
    /// Method entries.
    pub enters: u64,
    /// Method exits.
    pub exits: u64,
}

/// Counts the events of a raw chunk.
#[must_use]
pub fn count_events(raw: &[u8]) -> EventCounts {
    let mut counts = EventCounts::default();
    let mut more = false;
    for &byte in raw {
        if more {
            more = byte & 0x80 != 0;
        } else if byte == RAW_EXIT {
            counts.exits += 1;
        } else {
            counts.enters += 1;
            more = byte & 0x40 != 0;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(chunks: &[&[u8]]) -> Vec<u8> {
        let mut fold = Fold::default();
        let mut out = Vec::new();
        for chunk in chunks {
            fold.push(chunk, &mut out);
        }
        fold.finish(&mut out);
        out
    }

    #[test]
    fn exits_become_one_record() {
        assert_eq!(fold(&[&[0x81, 0x82, 0x00, 0x00, 0x83, 0x00]]), [0x81, 0x82, 0x01, 0x83, 0x00]);
        assert_eq!(fold(&[&[0x00; 64]]), [0x3F]);
        assert_eq!(fold(&[&[0x00; 65]]), [0x40, 0x01]);
        assert!(fold(&[]).is_empty());
    }

    #[test]
    fn events_are_counted_whatever_the_length_of_their_ids() {
        // Ids 1, 64 and 8192, three exits.
        let counts = count_events(&[0x81, 0xC0, 0x01, 0x00, 0xC0, 0x80, 0x01, 0x00, 0x00]);
        assert_eq!(counts, EventCounts { enters: 3, exits: 3 });
    }

    #[test]
    fn exit_run_survives_chunk_boundary() {
        assert_eq!(fold(&[&[0x81, 0x00], &[0x00], &[], &[0x00, 0x82]]), [0x81, 0x02, 0x82]);
        assert_eq!(fold(&[&[0x81, 0x00], &[0x82, 0x00, 0x00]]), [0x81, 0x00, 0x82, 0x01]);
    }
}
