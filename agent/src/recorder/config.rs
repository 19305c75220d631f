//! What is recorded, and in chunks of which size.

use std::time::Instant;

use flow_codec::format::raw;

use super::chunk::Shape;

/// Chunks with times are larger by this factor: their events have eight more bytes, and a hand-over writes
/// two files.
const TIMED_GROWTH: usize = 4;
/// No chunk with times is larger than this.
const MAX_TIMED_BYTES: usize = 16 << 20;

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
    /// Whether stacks are sampled, too.
    pub has_stacks: bool,
    /// Times in threads and in the manifest count from here.
    pub started: Instant,
}

impl Config {
    /// Returns the sizes of chunks and events.
    pub(super) fn shape(&self) -> Shape {
        let Self { chunk_bytes: max_fill, has_stacks, .. } = *self;
        match self.side_band {
            SideBand::ExactTimes => Shape {
                max_fill: max_fill.saturating_mul(TIMED_GROWTH).min(MAX_TIMED_BYTES),
                exit_bytes: raw::TIME_BYTES + 1,
                has_stacks,
            },
            SideBand::None | SideBand::Marks | SideBand::SampledTimes => {
                Shape { max_fill, exit_bytes: 1, has_stacks }
            }
        }
    }
}
