//! The tables that follow the code of a method, with the new offsets.

use super::Skip;
use super::class_file::bytes::Reader;
use super::class_file::frames::{FrameWriter, Frames};
use super::class_file::pool::Additions;
use super::layout::{CALL, Handlers, Layout, put, short};
use super::planning::plan::{Covered, End, PointKind};

/// The type of exceptions in the exception table: all.
const ANY: u16 = 0;

impl Layout<'_, '_> {
    /// Our handlers come last, so that the program's own get exceptions first.
    pub(super) fn write_exception_table(
        &self,
        handlers: &Handlers,
        out: &mut Vec<u8>,
    ) -> Result<(), Skip> {
        let count_at = out.len();
        out.extend_from_slice(&[0, 0]);
        let mut count = 0;
        let mut entry = |out: &mut Vec<u8>, places: [usize; 3], catch_type: u16| {
            let [start, end, _] = places;
            if start < end {
                for place in places {
                    out.extend_from_slice(&short(place)?.to_be_bytes());
                }
                out.extend_from_slice(&catch_type.to_be_bytes());
                count += 1;
            }
            Ok::<_, Skip>(())
        };
        for handler in &self.plan.code.handlers {
            let places = [handler.start, handler.end, handler.handler].map(usize::from);
            let [start, end, at] = places.map(|pc| self.label(pc));
            entry(out, [start?, end?, at?], handler.catch_type)?;
        }
        for point in &self.plan.points {
            if let (PointKind::Call(_), Some(handler)) = (point.kind, handlers.end) {
                let next = point.pc + CALL;
                let start = self.instruction_start(point.pc)? + CALL;
                entry(out, [start, self.label(next)?, handler], ANY)?;
            }
        }
        for piece in &self.plan.covered {
            let handler = if piece.before { handlers.before } else { handlers.after };
            let Some(handler) = handler else { continue };
            entry(out, [self.start_of(piece)?, self.end_of(piece)?, handler], ANY)?;
        }
        put(out, count_at, &short(count)?.to_be_bytes());
        Ok(())
    }

    /// The probes of arguments come before the label of the first instruction.
    fn start_of(&self, piece: &Covered) -> Result<usize, Skip> {
        if piece.start == 0 { Ok(self.snippets.entered) } else { self.label(piece.start) }
    }

    fn end_of(&self, piece: &Covered) -> Result<usize, Skip> {
        match piece.end {
            End::At(pc) => self.label(pc),
            End::Call(pc) => self.instruction_start(pc),
            End::Exit(pc) => Ok(self.instruction_start(pc)? - self.snippets.left),
        }
    }

    /// Writes the attributes of the code.
    pub(super) fn write_tables(
        &self,
        handlers: &Handlers,
        additions: &mut Additions,
        out: &mut Vec<u8>,
    ) -> Result<(), Skip> {
        let tables = &self.plan.code.tables;
        let count_at = out.len();
        out.extend_from_slice(&[0, 0]);
        let mut count = tables.lines.len() + tables.variables.len();

        for (name, table) in &tables.lines {
            let content_at = open_attribute(*name, out);
            let mut reader = Reader::new(table);
            let entries = reader.u16()?;
            out.extend_from_slice(&entries.to_be_bytes());
            for _ in 0..entries {
                let place = self.table_label(reader.u16()?)?;
                out.extend_from_slice(&short(place)?.to_be_bytes());
                out.extend_from_slice(reader.take(2)?);
            }
            close_attribute(content_at, out)?;
        }
        for (name, table) in &tables.variables {
            let content_at = open_attribute(*name, out);
            let mut reader = Reader::new(table);
            let entries = reader.u16()?;
            out.extend_from_slice(&entries.to_be_bytes());
            for _ in 0..entries {
                let start = reader.u16()?;
                let end = start.checked_add(reader.u16()?).ok_or(Skip::Malformed)?;
                let (start, end) = (self.table_label(start)?, self.table_label(end)?);
                out.extend_from_slice(&short(start)?.to_be_bytes());
                let len = end.checked_sub(start).ok_or(Skip::Malformed)?;
                out.extend_from_slice(&short(len)?.to_be_bytes());
                out.extend_from_slice(reader.take(6)?);
            }
            close_attribute(content_at, out)?;
        }
        if tables.frames.is_some() || (self.verified && handlers.exist()) {
            count += 1;
            self.write_frames(handlers, additions, out)?;
        }
        put(out, count_at, &short(count)?.to_be_bytes());
        Ok(())
    }

    fn write_frames(
        &self,
        handlers: &Handlers,
        additions: &mut Additions,
        out: &mut Vec<u8>,
    ) -> Result<(), Skip> {
        let (name, table) = match self.plan.code.tables.frames {
            Some((name, table)) => (name, Some(table)),
            None => (additions.stack_map_table()?, None),
        };
        let content_at = open_attribute(name, out);
        let mut writer = FrameWriter::new(out);
        let moved = |pc: u16| short(self.instruction_start(pc.into())?);
        if let Some(table) = table {
            for frame in Frames::new(table)? {
                let frame = frame?;
                writer.put(self.label(frame.pc)?, &frame, moved)?;
            }
        }
        if self.verified {
            let places = [(handlers.before, true), (handlers.end, false), (handlers.after, false)];
            for (place, before) in places {
                if let Some(place) = place {
                    writer.put_handler(place, additions.throwable()?, before)?;
                }
            }
        }
        writer.finish();
        close_attribute(content_at, out)
    }
}

/// Writes the name of an attribute, and room for its length. Returns where the content begins.
pub(super) fn open_attribute(name: u16, out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&name.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    out.len()
}

/// Writes the length of an attribute whose content ends here.
pub(super) fn close_attribute(content_at: usize, out: &mut [u8]) -> Result<(), Skip> {
    let len = u32::try_from(out.len() - content_at).map_err(|_| Skip::TooLarge)?;
    put(out, content_at - 4, &len.to_be_bytes());
    Ok(())
}
