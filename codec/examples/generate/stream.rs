//! Writes calls as the bytes of a thread file, in large blocks.

use std::io::{self, Write};
use std::num::NonZeroU64;

use flow_codec::MethodId;
use flow_codec::format::flow::Encoded;
use flow_codec::format::test_marks::Outcome;

use super::clock::Clock;

const BLOCK_BYTES: usize = 1 << 20;
/// Bytes stored for each record, of which only the record's own count.
const STORED_BYTES: usize = 8;
/// Space for a run of exits and an entry.
const ROOM_BYTES: usize = 4 * STORED_BYTES;

/// The entry of one method, ready to be stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    bytes: [u8; STORED_BYTES],
    len: u8,
}

impl Call {
    pub(crate) fn new(id: u32) -> Self {
        let encoded = Encoded::enter(MethodId::new(id.into()).expect("32 bits are few"));
        let mut bytes = [0; STORED_BYTES];
        let len = encoded.as_bytes().len();
        bytes[..len].copy_from_slice(encoded.as_bytes());
        Self { bytes, len: u8::try_from(len).expect("at most five") }
    }
}

/// The sums of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub(crate) enters: u64,
    pub(crate) exits: u64,
    pub(crate) bytes: u64,
}

/// The events of one thread, up to a number of calls; then all frames are left.
#[derive(Debug)]
pub(crate) struct Stream<W> {
    out: W,
    block: Vec<u8>,
    /// How much of `block` is used.
    len: usize,
    /// Exits that are not encoded yet.
    exits: u64,
    open: u64,
    calls: u64,
    left: u64,
    bytes: u64,
    clock: Option<Clock<W>>,
}

impl<W: Write> Stream<W> {
    pub(crate) fn new(out: W, calls: u64, clock: Option<Clock<W>>) -> Self {
        let block = vec![0; BLOCK_BYTES];
        Self { out, block, len: 0, exits: 0, open: 0, calls, left: calls, bytes: 0, clock }
    }

    /// Enters a method. Returns whether another call is to be made.
    #[inline]
    pub(crate) fn enter(&mut self, call: Call) -> io::Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        if self.len + ROOM_BYTES > BLOCK_BYTES {
            self.flush()?;
        }
        self.encode_exits();
        if let Some(clock) = &mut self.clock {
            clock.enter(self.bytes + self.len as u64)?;
        }
        self.store(call.bytes, call.len.into());
        self.open += 1;
        self.left -= 1;
        Ok(self.left > 0)
    }

    /// Leaves this many frames, which must be open.
    #[inline]
    pub(crate) fn exit(&mut self, count: u64) {
        self.exits += count;
        self.open -= count;
    }

    /// A test begins here, or ends with this outcome.
    pub(crate) fn test(&mut self, name: &str, outcome: Option<Outcome>) {
        self.encode_exits();
        if let Some(clock) = &mut self.clock {
            clock.test(self.bytes + self.len as u64, name, outcome);
        }
    }

    /// What follows happens again: exceptions and notes are where they were.
    pub(crate) fn again(&mut self) {
        self.clock.iter_mut().for_each(Clock::again);
    }

    /// How many calls are left to be made.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// The number of open frames.
    pub(crate) fn depth(&self) -> u64 {
        self.open
    }

    /// Leaves all frames.
    pub(crate) fn finish(mut self) -> io::Result<Written> {
        self.exit(self.open);
        self.encode_exits();
        if let Some(clock) = &mut self.clock {
            clock.finish(self.bytes + self.len as u64)?;
        }
        self.flush()?;
        self.out.flush()?;
        let calls = self.calls - self.left;
        Ok(Written { enters: calls, exits: calls, bytes: self.bytes })
    }

    #[inline]
    fn encode_exits(&mut self) {
        if let Some(clock) = &mut self.clock {
            clock.exit(self.bytes + self.len as u64, self.exits);
        }
        match NonZeroU64::new(self.exits) {
            None => {}
            // Most runs have one byte.
            Some(count) if count.get() <= 64 => {
                self.block[self.len] = Encoded::exits(count).as_bytes()[0];
                self.len += 1;
            }
            Some(count) => {
                let encoded = Encoded::exits(count);
                let bytes = encoded.as_bytes();
                self.block[self.len..][..bytes.len()].copy_from_slice(bytes);
                self.len += bytes.len();
            }
        }
        self.exits = 0;
    }

    #[inline]
    fn store(&mut self, bytes: [u8; STORED_BYTES], len: usize) {
        self.block[self.len..][..STORED_BYTES].copy_from_slice(&bytes);
        self.len += len;
    }

    #[cold]
    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.block[..self.len])?;
        self.bytes += self.len as u64;
        self.len = 0;
        Ok(())
    }
}
