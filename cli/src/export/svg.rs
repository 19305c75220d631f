//! A flame graph, drawn by inferno. Its width is the number of calls, or their time.

use std::io::{self, Write};

use flow_codec::read::Trace;
use inferno::flamegraph::{self, Options};

use super::collapsed;
use super::labels::program;
use super::path_format::PathFormat;
use super::stacks::Stacks;
use crate::output::Unit;

/// A picture with search and zoom.
pub(super) struct Svg;

/// Frames narrower than this share of the picture, in percent, are not drawn: they would be 0.1 pixels wide.
const MIN_WIDTH: f64 = 0.01;
/// The same as a divisor.
const MIN_PART: u64 = 10_000;

/// The size of a frame in the file.
const RECTANGLE_BYTES: u64 = 300;

impl PathFormat for Svg {
    fn size(&self, stacks: &Stacks<'_>, _trace: &Trace) -> u64 {
        let mut frames: u64 = 0;
        drawn(stacks).for_each(|_| frames += 1);
        frames.saturating_mul(RECTANGLE_BYTES)
    }

    fn frames(&self, stacks: &Stacks<'_>) -> usize {
        drawn(stacks).most_frames()
    }

    fn can_be_empty(&self) -> bool {
        false
    }

    fn write(&self, stacks: &Stacks<'_>, trace: &Trace, to: &mut dyn Write) -> io::Result<()> {
        let mut lines = Vec::new();
        collapsed::lines(&drawn(stacks), trace, |stack, calls| {
            lines.push(format!("{stack} {calls}"))
        });
        let mut options = Options::default();
        options.title = program(trace);
        options.count_name = scale_of(stacks).word().to_owned();
        options.min_width = MIN_WIDTH;
        // A method has the same colour in every picture.
        options.hash = true;
        flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), to)
    }
}

/// The unit of the weight of stacks.
pub(super) fn scale_of(stacks: &Stacks<'_>) -> Unit {
    Unit::new(stacks.tree().is_timed())
}

/// The stacks that are wide enough to be drawn.
pub(super) fn drawn<'a>(stacks: &Stacks<'a>) -> Stacks<'a> {
    stacks.at_least(stacks.tree().weight().div_ceil(MIN_PART))
}
