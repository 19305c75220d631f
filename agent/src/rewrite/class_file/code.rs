//! The code of one method: its parts and its instructions.

use super::bytes::{Attributes, Reader};
use super::opcode::{self, Flow, Switch};
use super::pool::Pool;
use crate::rewrite::{Malformed, Skip};

/// A `Code` attribute.
#[derive(Clone, Debug)]
pub(in crate::rewrite) struct Code<'a> {
    pub(in crate::rewrite) max_stack: u16,
    pub(in crate::rewrite) max_locals: u16,
    /// The instructions.
    pub(in crate::rewrite) bytes: &'a [u8],
    pub(in crate::rewrite) handlers: Vec<Handler>,
    pub(in crate::rewrite) tables: Tables<'a>,
}

/// An entry of the exception table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rewrite) struct Handler {
    pub(in crate::rewrite) start: u16,
    pub(in crate::rewrite) end: u16,
    pub(in crate::rewrite) handler: u16,
    pub(in crate::rewrite) catch_type: u16,
}

impl Handler {
    pub(in crate::rewrite) fn covers(&self, pc: usize) -> bool {
        (usize::from(self.start)..usize::from(self.end)).contains(&pc)
    }

    pub(in crate::rewrite) fn catches_all(&self) -> bool {
        self.catch_type == 0
    }
}

/// The attributes of code that are copied, each as the index of its name and its content. All others are left
/// out: type annotations, which a running program cannot read, and unknown ones, whose offsets could be wrong
/// unnoticed.
#[derive(Clone, Debug, Default)]
pub(in crate::rewrite) struct Tables<'a> {
    /// Every `LineNumberTable`; there may be several.
    pub(in crate::rewrite) lines: Vec<(u16, &'a [u8])>,
    /// Every `LocalVariableTable` and `LocalVariableTypeTable`: they have the same shape.
    pub(in crate::rewrite) variables: Vec<(u16, &'a [u8])>,
    /// The `StackMapTable`.
    pub(in crate::rewrite) frames: Option<(u16, &'a [u8])>,
}

impl<'a> Code<'a> {
    /// Reads the content of a `Code` attribute.
    pub(in crate::rewrite) fn parse(content: &'a [u8], pool: &Pool<'a>) -> Result<Self, Skip> {
        let (code, mut reader) = Self::parse_head(content)?;
        let tables = Tables::read(&mut reader, pool)?;
        if !reader.is_empty() {
            return Err(Skip::Malformed);
        }
        Ok(Self { tables, ..code })
    }

    /// Reads the content of a `Code` attribute up to its own attributes: everything that determines what
    /// runs. The reader continues there.
    pub(in crate::rewrite) fn parse_head(content: &'a [u8]) -> Result<(Self, Reader<'a>), Skip> {
        let mut reader = Reader::new(content);
        let max_stack = reader.u16()?;
        let max_locals = reader.u16()?;
        let bytes = reader.sized()?;
        if bytes.is_empty() || bytes.len() > usize::from(u16::MAX) {
            return Err(Skip::Malformed);
        }
        let mut handlers = Vec::new();
        for _ in 0..reader.u16()? {
            handlers.push(Handler {
                start: reader.u16()?,
                end: reader.u16()?,
                handler: reader.u16()?,
                catch_type: reader.u16()?,
            });
        }
        let code = Self { max_stack, max_locals, bytes, handlers, tables: Tables::default() };
        Ok((code, reader))
    }

    /// Returns the instructions from an offset on, as far as they can be read.
    pub(in crate::rewrite) fn instructions_from(&self, pc: usize) -> Instructions<'a> {
        Instructions { code: self.bytes, pc }
    }

    /// Returns all instructions, as far as they can be read.
    pub(in crate::rewrite) fn instructions(&self) -> Instructions<'a> {
        self.instructions_from(0)
    }

    /// Returns the places that the instruction at `pc` may branch to.
    pub(in crate::rewrite) fn targets(
        &self,
        pc: usize,
        flow: Flow,
    ) -> Result<impl Iterator<Item = Result<usize, Skip>> + use<'a>, Skip> {
        let switch = match flow {
            Flow::Branch | Flow::WideBranch => Some(Switch::branch(pc)),
            Flow::Switch => Some(Switch::at(self.bytes, pc)?),
            Flow::Next | Flow::Return | Flow::Stop => None,
        };
        let (code, wide) = (self.bytes, flow != Flow::Branch);
        let offsets = switch.into_iter().flat_map(Switch::offsets);
        Ok(offsets.map(move |at| opcode::target(code, pc, at, wide)))
    }
}

impl<'a> Tables<'a> {
    fn read(reader: &mut Reader<'a>, pool: &Pool<'a>) -> Result<Self, Skip> {
        let mut tables = Self::default();
        for attribute in Attributes::new(reader) {
            let (name, content) = attribute?;
            match pool.utf8(name)? {
                b"LineNumberTable" => tables.lines.push((name, content)),
                b"LocalVariableTable" | b"LocalVariableTypeTable" => {
                    tables.variables.push((name, content));
                }
                b"StackMapTable" if tables.frames.is_some() => return Err(Skip::Malformed),
                b"StackMapTable" => tables.frames = Some((name, content)),
                _ => {}
            }
        }
        Ok(tables)
    }
}

/// Returns the lines, each with the place where it begins, in the order of the code, from the content of a `Code` attribute.
pub(in crate::rewrite) fn line_numbers(
    content: &[u8],
    pool: &Pool<'_>,
) -> Result<Vec<(u16, u16)>, Malformed> {
    let mut reader = Reader::new(content);
    let _max_stack_and_locals = reader.take(4)?;
    let _code = reader.sized()?;
    let handlers = usize::from(reader.u16()?);
    let _exception_table = reader.take(handlers * 8)?;
    let mut lines = Vec::new();
    for attribute in Attributes::new(&mut reader) {
        let (name, content) = attribute?;
        if pool.utf8(name)? == b"LineNumberTable" {
            let mut table = Reader::new(content);
            for _ in 0..table.u16()? {
                lines.push((table.u16()?, table.u16()?));
            }
        }
    }
    // A stable sort: of several lines at one place, the first one stays first.
    lines.sort_by_key(|(pc, _)| *pc);
    Ok(lines)
}

/// One instruction: where it begins, its opcode, and where the next one begins.
#[derive(Clone, Copy, Debug)]
pub(in crate::rewrite) struct Instruction {
    pub(in crate::rewrite) pc: usize,
    pub(in crate::rewrite) op: u8,
    pub(in crate::rewrite) next: usize,
}

/// See [`Code::instructions`].
#[derive(Debug)]
pub(in crate::rewrite) struct Instructions<'a> {
    code: &'a [u8],
    pc: usize,
}

impl<'a> Instructions<'a> {
    /// Returns all instructions of some code, up to the first that cannot be read.
    pub(in crate::rewrite) fn of(code: &'a [u8]) -> Self {
        Self { code, pc: 0 }
    }
}

impl Iterator for Instructions<'_> {
    type Item = Result<Instruction, Skip>;

    fn next(&mut self) -> Option<Self::Item> {
        let pc = self.pc;
        let op = *self.code.get(pc)?;
        match opcode::length_at(self.code, pc) {
            Ok(len) => {
                self.pc = pc + len;
                Some(Ok(Instruction { pc, op, next: self.pc }))
            }
            Err(skip) => {
                self.pc = self.code.len();
                Some(Err(skip))
            }
        }
    }
}

/// The ranges that each handler covers. Entries of one handler that overlap or touch count as one.
#[derive(Debug)]
pub(in crate::rewrite) struct Coverage {
    /// By handler, then by start.
    ranges: Vec<Range>,
}

/// Places that a handler covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Range {
    handler: u16,
    start: u16,
    end: u16,
    /// In [`ByPlace`], which is searched like a balanced tree: the last end in the subtree of which this is
    /// the root.
    last_end: u16,
}

impl Coverage {
    pub(in crate::rewrite) fn new(handlers: &[Handler]) -> Self {
        let range = |&Handler { start, end, handler, .. }: &Handler| Range {
            handler,
            start,
            end,
            last_end: end,
        };
        let mut ranges: Vec<Range> = handlers.iter().map(range).collect();
        ranges.sort_unstable_by_key(|range| (range.handler, range.start));
        ranges.dedup_by(|range, last| {
            let is_one = last.handler == range.handler && range.start <= last.end;
            if is_one {
                last.end = last.end.max(range.end);
            }
            is_one
        });
        Self { ranges }
    }

    /// Returns the first handler at or after a place.
    pub(in crate::rewrite) fn handler_from(&self, pc: usize) -> Option<usize> {
        let first = self.ranges.partition_point(|range| usize::from(range.handler) < pc);
        self.ranges.get(first).map(|range| range.handler.into())
    }

    /// Returns where a handler stops covering the range that contains `pc`. `None` if it does not cover `pc`.
    pub(in crate::rewrite) fn end_of(&self, handler: usize, pc: usize) -> Option<usize> {
        let key = |range: &Range| (usize::from(range.handler), usize::from(range.start));
        let after = self.ranges.partition_point(|range| key(range) <= (handler, pc));
        let range = self.ranges.get(after.checked_sub(1)?)?;
        let end = usize::from(range.end);
        (usize::from(range.handler) == handler && pc < end).then_some(end)
    }

    /// Returns the same ranges, to find handlers by what they cover.
    pub(in crate::rewrite) fn by_place(mut self) -> ByPlace {
        self.ranges.sort_unstable_by_key(|range| range.start);
        set_last_ends(&mut self.ranges);
        ByPlace { ranges: self.ranges }
    }
}

/// Which handlers cover which places.
#[derive(Debug)]
pub(in crate::rewrite) struct ByPlace {
    /// By start.
    ranges: Vec<Range>,
}

impl ByPlace {
    /// Calls `found` with each handler that covers `pc`.
    ///
    /// # Errors
    /// The first one of `found`.
    pub(in crate::rewrite) fn at<E>(
        &self,
        pc: usize,
        found: &mut impl FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        search(&self.ranges, pc, found)
    }

    /// Returns whether any handler covers `pc`.
    pub(in crate::rewrite) fn covers(&self, pc: usize) -> bool {
        self.at(pc, &mut |_| Err(())).is_err()
    }
}

/// Computes the last ends, and returns the last of them all.
fn set_last_ends(ranges: &mut [Range]) -> u16 {
    let middle = ranges.len() / 2;
    let (left, rest) = ranges.split_at_mut(middle);
    let Some((root, right)) = rest.split_first_mut() else { return 0 };
    root.last_end = root.end.max(set_last_ends(left)).max(set_last_ends(right));
    root.last_end
}

fn search<E>(
    ranges: &[Range],
    pc: usize,
    found: &mut impl FnMut(usize) -> Result<(), E>,
) -> Result<(), E> {
    let (left, rest) = ranges.split_at(ranges.len() / 2);
    let Some((root, right)) = rest.split_first() else { return Ok(()) };
    if usize::from(root.last_end) <= pc {
        return Ok(());
    }
    search(left, pc, found)?;
    if usize::from(root.start) <= pc {
        if pc < usize::from(root.end) {
            found(root.handler.into())?;
        }
        search(right, pc, found)?;
    }
    Ok(())
}

/// A set of places in some code.
#[derive(Debug)]
pub(in crate::rewrite) struct Places {
    words: Vec<u64>,
}

impl Places {
    /// An empty set, for code of this length.
    pub(in crate::rewrite) fn none(code_len: usize) -> Self {
        Self { words: vec![0; code_len / 64 + 1] }
    }

    pub(in crate::rewrite) fn add(&mut self, pc: usize) {
        if let Some(word) = self.words.get_mut(pc / 64) {
            *word |= 1 << (pc % 64);
        }
    }

    pub(in crate::rewrite) fn contains(&self, pc: usize) -> bool {
        self.words.get(pc / 64).is_some_and(|word| word >> (pc % 64) & 1 != 0)
    }
}
