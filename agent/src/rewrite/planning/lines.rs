//! Finds the places for the probes of lines: where an entry of the `LineNumberTable` begins.
//!
//! A line may have several entries, such as the head of a loop. Each is a place of its own, so a line counts whenever
//! execution reaches one of them. So is the start of an exception handler that has no entry: its code belongs to the line before
//! it, which execution need not have reached.
//!
//! With [`LineProbes::Once`], lines that are always reached together share a probe: nothing between them throws, calls or
//! branches, and no other code leads there.
//!
//! At the start of an exception handler, no call may be inserted before the place of its CATCH (`catch`). Lines that begin
//! there are recorded at that place.

use std::collections::BTreeMap;

use super::catch::CatchPlaces;
use crate::rewrite::Skip;
use crate::rewrite::class_file::bytes::Reader;
use crate::rewrite::class_file::code::{Code, Instruction, Places};
use crate::rewrite::class_file::opcode::{self, Flow};

/// Which probes of lines a method has.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum LineProbes {
    /// None.
    #[default]
    None,
    /// Each line is recorded each time it is reached.
    Each,
    /// Each line is recorded once, or once for each test.
    Once,
    /// Like `Once`, and the method has no other probes: its calls are not recorded.
    Alone,
}

/// The lines of a method, in the order of its code.
#[derive(Debug, Default)]
pub(in crate::rewrite) struct Lines {
    pub(in crate::rewrite) numbers: Vec<u16>,
    /// Where they are recorded.
    pub(in crate::rewrite) places: Vec<usize>,
    /// For each place, the index of its first line.
    pub(in crate::rewrite) firsts: Vec<usize>,
}

/// The line that begins at each place, of those where instructions start.
pub(in crate::rewrite) fn table(
    code: &Code<'_>,
    starts: &Places,
) -> Result<BTreeMap<usize, u16>, Skip> {
    // The JVM takes the first of several entries for one place.
    let mut lines = BTreeMap::new();
    for (_, table) in &code.tables.lines {
        let mut table = Reader::new(table);
        for _ in 0..table.u16()? {
            let (pc, line) = (usize::from(table.u16()?), table.u16()?);
            if starts.contains(pc) {
                lines.entry(pc).or_insert(line);
            }
        }
    }
    Ok(lines)
}

impl Lines {
    pub(in crate::rewrite) fn of(
        code: &Code<'_>,
        locks: bool,
        probes: LineProbes,
    ) -> Result<Self, Skip> {
        if probes == LineProbes::None {
            return Ok(Self::default());
        }
        let mut starts = Places::none(code.bytes.len());
        for instruction in code.instructions() {
            starts.add(instruction?.pc);
        }
        let mut lines = table(code, &starts)?;
        let handlers = code.handlers.iter().map(|handler| usize::from(handler.handler));
        for handler in handlers.filter(|handler| starts.contains(*handler)) {
            let line = lines.range(..=handler).next_back().map(|(_, line)| *line);
            if let Some(line) = line {
                lines.entry(handler).or_insert(line);
            }
        }
        let mut moved = CatchPlaces::new(code, locks).peekable();
        let mut last: Option<(usize, usize)> = None;
        let mut places = Vec::with_capacity(lines.len());
        for &pc in lines.keys() {
            while let Some(place) =
                moved.next_if(|place| place.as_ref().is_ok_and(|place| place.handler <= pc))
            {
                let place = place?;
                last = Some((place.handler, place.pc));
            }
            places.push(match last {
                Some((handler, to)) if (handler..to).contains(&pc) => to,
                _ => pc,
            });
        }
        let firsts = match probes {
            LineProbes::None | LineProbes::Each => (0..places.len()).collect(),
            LineProbes::Once | LineProbes::Alone => {
                let at: Vec<_> = lines.keys().copied().collect();
                let firsts = first_of_each(code, &at, &places)?;
                places = firsts.iter().filter_map(|first| places.get(*first).copied()).collect();
                firsts
            }
        };
        Ok(Self { numbers: lines.into_values().collect(), places, firsts })
    }
}

/// Divides the lines that begin `at` some instructions into those that are always reached together, and returns the index of the
/// first line of each part. `places` are where they would be recorded one by one.
fn first_of_each(code: &Code<'_>, at: &[usize], places: &[usize]) -> Result<Vec<usize>, Skip> {
    let mut led_to = Places::none(code.bytes.len());
    code.handlers.iter().for_each(|handler| led_to.add(handler.handler.into()));
    for instruction in code.instructions() {
        let Instruction { pc, op, .. } = instruction?;
        for target in code.targets(pc, opcode::flow(op))? {
            led_to.add(target?);
        }
    }
    let mut lines = at.iter().zip(places).enumerate().peekable();
    let mut firsts = Vec::new();
    let mut follows = false;
    for instruction in code.instructions() {
        let Instruction { pc, op, .. } = instruction?;
        follows &= !led_to.contains(pc);
        if let Some((number, (_, place))) = lines.next_if(|(_, (at, _))| **at == pc) {
            let is_here = *place == pc;
            if !(follows && is_here) {
                firsts.push(number);
            }
            follows = is_here;
        }
        follows &= opcode::flow(op) == Flow::Next && opcode::is_harmless(op);
    }
    Ok(firsts)
}
