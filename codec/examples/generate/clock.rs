//! Marks for the events, as a sampler would have recorded them.

use std::io::{self, Write};
use std::num::NonZeroU64;

use flow_codec::Offset;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use flow_codec::format::test_marks::{Outcome, TestMark};

/// The duration of entering a method.
pub(crate) const ENTER_NS: u64 = 20;
/// The duration of leaving one.
pub(crate) const EXIT_NS: u64 = 5;

/// One run of exits in this many is by exception, and there is a note every this many events.
const SELDOM: u64 = 100_000;
const BLOCK_BYTES: usize = 1 << 16;

/// The clock of one thread, and its marks.
#[derive(Debug)]
pub(crate) struct Clock<W> {
    out: W,
    encoder: MarkEncoder,
    block: Vec<u8>,
    now_ns: u64,
    period_ns: u64,
    due_ns: u64,
    events: u64,
}

impl<W: Write> Clock<W> {
    pub(crate) fn new(out: W, period_ns: u64) -> Self {
        let (encoder, block) = (MarkEncoder::default(), HEADER.to_vec());
        Self { out, encoder, block, now_ns: 0, period_ns, due_ns: 0, events: 0 }
    }

    /// A method is entered at this offset.
    #[inline]
    pub(crate) fn enter(&mut self, offset: u64) -> io::Result<()> {
        if self.now_ns >= self.due_ns {
            self.due_ns = self.now_ns + self.period_ns;
            self.time(offset);
            self.flush_if(BLOCK_BYTES)?;
        }
        self.now_ns += ENTER_NS;
        self.events += 1;
        if self.events.is_multiple_of(SELDOM) {
            let note = Mark::Note(format!("step {}", self.events / SELDOM));
            self.encoder.encode(Position::before(Offset::new(offset)), &note, &mut self.block);
        }
        Ok(())
    }

    /// Counts events from 0 again, by which exceptions and notes are placed.
    pub(crate) fn again(&mut self) {
        self.events = 0;
    }

    /// A test begins before this offset, or ends with this outcome.
    pub(crate) fn test(&mut self, offset: u64, name: &str, outcome: Option<Outcome>) {
        self.time(offset);
        let test = TestMark { outcome, name: name.to_owned(), detail: String::new() };
        let position = Position::before(Offset::new(offset));
        self.encoder.encode(position, &Mark::Test(test), &mut self.block);
    }

    /// The record at this offset leaves this many frames.
    #[inline]
    pub(crate) fn exit(&mut self, offset: u64, exits: u64) {
        self.now_ns += exits * EXIT_NS;
        if exits > 1 && self.events % SELDOM == SELDOM / 2 {
            let position = Position { offset: Offset::new(offset), exits: 0 };
            let thrown = Some("java.lang.IllegalStateException".to_owned());
            let count = NonZeroU64::new(exits.min(2)).expect("more than one");
            let mark = Mark::Unwound { exits: count, thrown };
            self.encoder.encode(position, &mark, &mut self.block);
        }
    }

    /// The events end at this offset.
    pub(crate) fn finish(&mut self, offset: u64) -> io::Result<()> {
        self.time(offset);
        self.flush_if(0)?;
        self.out.flush()
    }

    fn time(&mut self, offset: u64) {
        let mark = Mark::Time { by_ns: self.now_ns, from_ns: self.now_ns, ran_us: None };
        self.encoder.encode(Position::before(Offset::new(offset)), &mark, &mut self.block);
    }

    fn flush_if(&mut self, bytes: usize) -> io::Result<()> {
        if self.block.len() >= bytes {
            self.out.write_all(&self.block)?;
            self.block.clear();
        }
        Ok(())
    }
}
