//! What is recorded, and in chunks of which size.

use std::time::Instant;

use flow_codec::format::manifest::Order;
use flow_codec::format::raw;

use super::memory::chunk::Shape;

/// Chunks with times or numbers are larger by this factor: their events have eight more bytes, and a hand-over writes
/// two files.
const TIMED_GROWTH: usize = 4;
/// No such chunk is larger than this.
const MAX_TIMED_BYTES: usize = 16 << 20;

const _: () = assert!(raw::TIME_BYTES == raw::NUMBER_BYTES, "exits with either have one size");

/// What is recorded in addition to the events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SideBand {
    /// Nothing: the format of events has no place for it.
    None,
    /// Marks: which exits were by exception, and the program's notes.
    Marks,
    /// Marks, and times from samples of the threads' positions.
    SampledTimes,
    /// Marks, and the time of each event.
    ExactTimes,
}

/// What a recorder is created with.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// How many bytes of events a chunk may hold.
    pub chunk_bytes: usize,
    /// What is recorded in addition to the events.
    pub side_band: SideBand,
    /// Whether events have sequence numbers. Then they have no times of their own, but may have marks.
    pub order: Order,
    /// Whether stacks are sampled, too.
    pub has_stacks: bool,
    /// Times in threads and in the manifest count from here.
    pub started: Instant,
}

impl Config {
    /// Returns the sizes of chunks and events.
    pub(super) fn shape(&self) -> Shape {
        let Self { chunk_bytes: max_fill, has_stacks, .. } = *self;
        if self.side_band == SideBand::ExactTimes || self.order == Order::Total {
            return Shape {
                max_fill: max_fill.saturating_mul(TIMED_GROWTH).min(MAX_TIMED_BYTES),
                exit_bytes: raw::TIME_BYTES + 1,
                has_stacks,
            };
        }
        Shape { max_fill, exit_bytes: 1, has_stacks }
    }
}
