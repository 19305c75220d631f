//! Finds the places for the probes of lines: where an entry of the `LineNumberTable` begins.
//!
//! A line may have several entries, such as the head of a loop. Each is a place of its own, so a line counts whenever
//! execution reaches one of them. So is the start of an exception handler that has no entry: its code belongs to the line before
//! it, which execution need not have reached.
//!
//! At the start of an exception handler, no call may be inserted before the place of its CATCH (`catch`). Lines that begin
//! there are recorded at that place.

use std::collections::BTreeMap;

use super::catch::CatchPlaces;
use crate::rewrite::Skip;
use crate::rewrite::class_file::bytes::Reader;
use crate::rewrite::class_file::code::{Code, Places};

/// The lines of a method, in the order of its code.
#[derive(Debug, Default)]
pub(in crate::rewrite) struct Lines {
    pub(in crate::rewrite) numbers: Vec<u16>,
    /// Where each is recorded.
    pub(in crate::rewrite) places: Vec<usize>,
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
    pub(in crate::rewrite) fn of(code: &Code<'_>, locks: bool) -> Result<Self, Skip> {
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
        Ok(Self { numbers: lines.into_values().collect(), places })
    }
}
