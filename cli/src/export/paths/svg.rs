//! A flame graph, drawn by inferno. Its width is the number of calls, or their time.

use std::io::{self, Write};
use std::ops::Range;

use flow_codec::read::Trace;
use inferno::flamegraph::color::{BackgroundColor, Color, PaletteMap};
use inferno::flamegraph::{self, Direction, Options, TextTruncateDirection};

use super::super::labels::short_program;
use super::collapsed;
use super::path_format::PathFormat;
use super::stacks::Stacks;
use crate::output::Unit;

/// A picture with search and zoom.
pub(in crate::export) struct Svg;

/// Frames narrower than this share of the picture, in percent, are not drawn: they would be 0.1 pixels wide.
const MIN_WIDTH: f64 = 0.01;
/// The same as a divisor.
const MIN_PART: u64 = 10_000;
/// The size of deeper pictures is estimated.
const MAX_MEASURED_FRAMES: usize = 4_000;
/// About the size of a frame in the file.
const FRAME_BYTES: u64 = 300;

impl PathFormat for Svg {
    /// It is small enough to be written for that, unless browsers could not show it anyway: the text of stacks so
    /// deep would take gigabytes.
    fn size(&self, stacks: &Stacks<'_>, trace: &Trace) -> u64 {
        if self.frames(stacks) > MAX_MEASURED_FRAMES {
            let mut frames: u64 = 0;
            drawn(stacks).for_each(|_| frames += 1);
            return frames.saturating_mul(FRAME_BYTES);
        }
        let mut written = Counter(0);
        match self.write(stacks, trace, &mut written) {
            Ok(()) => written.0,
            // There is nothing to draw.
            Err(_) => 0,
        }
    }

    fn frames(&self, stacks: &Stacks<'_>) -> usize {
        drawn(stacks).most_frames()
    }

    fn can_be_empty(&self) -> bool {
        false
    }

    fn write(&self, stacks: &Stacks<'_>, trace: &Trace, to: &mut dyn Write) -> io::Result<()> {
        let mut lines = Vec::new();
        let mut colours = PaletteMap::default();
        collapsed::lines(&drawn(stacks), trace, form, |stack, calls| {
            for name in stack.split(';') {
                if colours.get(name).is_none() {
                    colours.insert(name, colour(name));
                }
            }
            lines.push(format!("{stack} {calls}"))
        });
        let mut options = Options::default();
        options.title = short_program(trace).unwrap_or_else(|| "JVM".to_owned());
        options.count_name = match scale_of(stacks) {
            Unit::Cpu => "ns of CPU time".to_owned(),
            Unit::Calls | Unit::Samples => stacks.counted().to_owned(),
            unit => unit.word().to_owned(),
        };
        options.min_width = MIN_WIDTH;
        options.palette_map = Some(&mut colours);
        // Calls grow downwards from the root, which is in view, and names keep their start.
        options.direction = Direction::Inverted;
        options.text_truncate_direction = TextTruncateDirection::Right;
        options.bgcolors = Some(BackgroundColor::Flat(Color { r: 255, g: 255, b: 255 }));
        let mut picture = Vec::new();
        flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut picture)?;
        to.write_all(&restyled(picture))
    }
}

const SEARCH: &[u8] = b"#search { text-anchor:end; opacity:0.1;";
const VISIBLE: &[u8] = b"#search { text-anchor:end; text-decoration:underline;";
const ALL: &[u8] = b"<title>all (";
const FILL: &[u8] = b"fill=\"";
const GREY: &[u8] = b"rgb(215,215,215)";

/// Changes what inferno has no options for: makes the sum of all stacks, the last box, grey instead of red; and makes the
/// search, at the beginning, visible before the mouse is over it.
fn restyled(mut picture: Vec<u8>) -> Vec<u8> {
    if let Some(fill) = fill(&picture) {
        picture.splice(fill, GREY.iter().copied());
    }
    if let Some(start) = find(&picture, SEARCH) {
        picture.splice(start..start + SEARCH.len(), VISIBLE.iter().copied());
    }
    picture
}

/// Returns where the colour of the sum is.
fn fill(picture: &[u8]) -> Option<Range<usize>> {
    let all = picture.windows(ALL.len()).rposition(|part| part == ALL)?;
    let start = all + find(picture.get(all..)?, FILL)? + FILL.len();
    Some(start..start + find(picture.get(start..)?, b"\"")?)
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|part| part == what)
}

/// Counts what is written.
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Between the name of a method and its package.
const SEPARATOR: &str = " – ";

/// A name as it is drawn, the package last: `Orders.total(int) – com.app`.
fn form(name: &str) -> String {
    let name = collapsed::form(name);
    let before_parameters = name.split('(').next().unwrap_or_default();
    let mut dots = before_parameters.rmatch_indices('.').map(|(dot, _)| dot);
    match dots.nth(1).and_then(|dot| Some((name.get(..dot)?, name.get(dot + 1..)?))) {
        Some((package, rest)) => format!("{rest}{SEPARATOR}{package}"),
        None => name,
    }
}

/// The colour of a package, the same in every picture and light, so that black text can be read.
fn colour(name: &str) -> Color {
    let package = name.split_once(SEPARATOR).map_or("", |(_, package)| package);
    // FNV-1a.
    let hash = package.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    let [r, g, b, ..] = hash.to_be_bytes().map(|byte| byte % 96);
    Color { r: 159 + r, g: 159 + g, b: 120 + b }
}

/// The unit of the weight of stacks.
pub(in crate::export) fn scale_of(stacks: &Stacks<'_>) -> Unit {
    Unit::new(stacks.tree().axis())
}

/// The stacks that are wide enough to be drawn.
pub(in crate::export) fn drawn<'a>(stacks: &Stacks<'a>) -> Stacks<'a> {
    stacks.at_least(stacks.tree().weight().div_ceil(MIN_PART))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_grey_behind_any_number_of_boxes() {
        let boxes = "<title>a (1)</title><rect fill=\"red\"/>".repeat(100_000);
        let picture = |search: &str, colour: &str| {
            let all = format!("<title>all (5)</title><rect x=\"0\" fill=\"{colour}\"/>");
            format!("<style>{search}</style>{boxes}{all}</svg>").into_bytes()
        };
        let search = std::str::from_utf8(SEARCH).unwrap();
        let visible = std::str::from_utf8(VISIBLE).unwrap();
        let grey = picture(visible, "rgb(215,215,215)");
        assert!(restyled(picture(search, "rgb(1,2,3)")) == grey);
        assert_eq!(restyled(b"<svg/>".to_vec()), b"<svg/>");
    }
}
