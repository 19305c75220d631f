//! Assembles a method: the old instructions, what is inserted, and tables with the new offsets.
//!
//! ```text
//! ENTER  VALUES  THIS         first, never again: a branch to place 0 leads to what follows them
//! …  LINE  …                  at the start of each line, if lines are recorded (`lines`); nothing else if calls are not
//! …  STEP  …                  at the start of each run of instructions, if these are recorded (`steps`)
//! …  load  STEP  …            after an instruction that loads an object, for the same
//! …  COPY  getfield  VALUES …  around accesses to fields and elements, if these are recorded (`accesses`)
//! …  CATCH  HANDLED  …        at the start of each exception handler, or soon after it (`catch`); HANDLED if exceptions are
//!                             recorded (`handlers`)
//! …  BEGIN  call  END  …      around super(…) and this(…)
//! …  VALUES  EXIT  return  …  before each return
//! VALUES, UNWOUND-EXIT, athrow   for what is covered before this is initialised
//! END, VALUES, UNWOUND-EXIT, athrow   for the END above, whose own call may overflow the stack
//! VALUES, UNWOUND-EXIT, athrow   for what is covered otherwise
//! ```
//!
//! VALUES are there if values are recorded (`values`), THIS if instructions are. The version of the method, if it has several,
//! is the first of the VALUES after the entry.
//!
//! An offset of the old code has a *label*, where the code inserted before its instruction begins, and a
//! *start*, where the instruction itself begins. Branches and tables refer to labels.

use super::class_file::class::ClassFile;
use super::class_file::frames::Frames;
use super::class_file::opcode::{
    ALOAD_1, ATHROW, GOTO_W, IFEQ, IFNONNULL, IFNULL, INVOKESTATIC, JSR, JSR_W, Switch, is_goto,
    length_at, padded, target,
};
use super::class_file::pool::Additions;
use super::planning::lines::LineProbes;
use super::planning::plan::{Announced, Ids, Plan, PointKind};
use super::planning::snippet::{Event, Snippet};
use super::planning::{accesses, handlers, steps, values};
use crate::certain::Certain as _;
use crate::rewrite::Skip;

/// The first class version whose code is verified by frames.
const FIRST_WITH_FRAMES: u16 = 50;

/// Memory that is reused from one method to the next.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    labels: Vec<usize>,
    starts: Vec<usize>,
    wide: Vec<bool>,
}

/// Widening one branch may make others too long. After this many rounds the method is left unchanged.
const MAX_ROUNDS: usize = 16;

/// The bytes of a conditional branch with an offset of two bytes.
const SHORT_BRANCH: usize = 3;
/// The bytes of `goto_w` and `jsr_w`.
const WIDE_GOTO: usize = 5;
/// The bytes of any `invokespecial`.
pub(super) const CALL: usize = 3;

/// Writes the content of the new `Code` attribute to the end of `out`.
///
/// # Errors
/// The method must not be changed. What was written is then useless.
pub(super) fn assemble(
    class: &ClassFile<'_>,
    plan: &Plan<'_>,
    ids: &Ids,
    additions: &mut Additions,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<(), Skip> {
    let snippets = Snippets::new(plan, ids, additions)?;
    let mut layout = Layout { plan, snippets, scratch, verified: class.major >= FIRST_WITH_FRAMES };
    layout.place_all()?;
    layout.write(additions, out)
}

/// The instructions that are inserted into one method.
#[derive(Debug, Default)]
pub(super) struct Snippets {
    enter: Vec<u8>,
    /// How many bytes of these are the entry itself, without what follows it.
    pub(super) entered: usize,
    exit: Vec<u8>,
    /// How many bytes of these are the exit itself, without the result.
    pub(super) left: usize,
    catch: Snippet,
    /// One for each handler whose exceptions are recorded.
    handled: Vec<Vec<u8>>,
    /// One for each place where lines have a probe.
    lines: Vec<Snippet>,
    /// For each run of instructions: before and after its first one.
    steps: Vec<[Vec<u8>; 2]>,
    /// What comes before and after each access.
    accesses: Vec<[Vec<u8>; 2]>,
    /// One for each call.
    begins: Vec<Snippet>,
    end: Snippet,
    unwound_exit: Vec<u8>,
}

impl Snippets {
    fn new(plan: &Plan<'_>, ids: &Ids, additions: &mut Additions) -> Result<Self, Skip> {
        let lines = lines_of(plan, ids.first_place, additions)?;
        if plan.line_probes == LineProbes::Alone {
            let announce = |announced| announcement(announced, additions);
            let enter = plan.announced.map_or_else(|| Ok(Vec::new()), announce)?;
            return Ok(Self { enter, lines, ..Self::default() });
        }
        let is_one = plan.leaf && additions.may_join();
        let leaf = if is_one { Event::enter_and_exit(ids.method) } else { None };
        let mut append = |event| Snippet::append(event, additions);
        let entered = append(leaf.map_or_else(|| Event::enter(ids.method), Ok)?)?;
        let callees = ids.callees.iter().copied().chain(std::iter::repeat(None));
        let begins = plan
            .calls
            .iter()
            .zip(callees)
            .map(|(_, callee)| append(Event::begin(callee)))
            .collect::<Result<_, _>>()?;
        let left = if leaf.is_some() { Snippet::NOTHING } else { Snippet::exit(additions)? };
        let mut enter = entered.as_bytes().to_vec();
        if plan.version > 0 {
            values::push_version(plan.version, additions, &mut enter)?;
        }
        let accesses = plan.accesses.iter().map(|access| access.probes(&ids.fields, additions));
        let accesses = accesses.collect::<Result<_, _>>()?;
        let handled =
            plan.handlers.iter().map(|handler| handler.probe(plan.redacts_handled, additions));
        let handled = handled.collect::<Result<_, _>>()?;
        let (mut exit, mut unwound_exit) = (Vec::new(), Vec::new());
        if let Some(values) = &plan.values {
            values.push_arguments(additions, &mut enter)?;
            values.push_result(additions, &mut exit)?;
            values.push_message(additions, &mut unwound_exit)?;
        }
        let mut steps = Vec::new();
        if let Some(plan) = &plan.steps {
            plan.push_this(additions, &mut enter)?;
            for run in &plan.runs {
                steps.push([run.before(additions)?, run.after(additions)?]);
            }
        }
        exit.extend_from_slice(left.as_bytes());
        unwound_exit.extend_from_slice(Snippet::unwound_exit(additions)?.as_bytes());
        Ok(Self {
            enter,
            entered: entered.len(),
            exit,
            left: left.len(),
            catch: Snippet::note(Event::CATCH, additions)?,
            handled,
            lines,
            steps,
            accesses,
            begins,
            end: Snippet::note(Event::END, additions)?,
            unwound_exit,
        })
    }

    /// Returns what is inserted at a point, before its instruction.
    fn before(&self, kind: PointKind) -> &[u8] {
        match kind {
            PointKind::Catch => self.catch.as_bytes(),
            PointKind::Handler(number) => self.handled.get(number).map_or(&[], Vec::as_slice),
            PointKind::Line(number) => {
                self.lines.get(number).map(Snippet::as_bytes).unwrap_or_default()
            }
            PointKind::Step(number) => {
                self.steps.get(number).map(|[before, _]| &before[..]).unwrap_or_default()
            }
            PointKind::Exit => &self.exit,
            PointKind::Call(number) => {
                self.begins.get(number).map(Snippet::as_bytes).unwrap_or_default()
            }
            PointKind::Access(number) => {
                self.accesses.get(number).map(|[before, _]| &**before).unwrap_or_default()
            }
            PointKind::Branch | PointKind::WideBranch | PointKind::Switch | PointKind::After(_) => {
                &[]
            }
        }
    }

    /// Returns what is inserted after the instruction of a point.
    fn after(&self, kind: PointKind) -> &[u8] {
        match kind {
            PointKind::Call(_) => self.end.as_bytes(),
            PointKind::After(number) => {
                self.steps.get(number).map(|[_, after]| &after[..]).unwrap_or_default()
            }
            PointKind::Access(number) => {
                self.accesses.get(number).map(|[_, after]| &**after).unwrap_or_default()
            }
            _ => &[],
        }
    }
}

/// Passes the first argument to a static method.
fn announcement(
    Announced { class, name, descriptor }: Announced<'_>,
    additions: &mut Additions,
) -> Result<Vec<u8>, Skip> {
    let [high, low] = additions.method(class, name, descriptor)?.to_be_bytes();
    Ok(vec![ALOAD_1, INVOKESTATIC, high, low])
}

/// The probes of lines.
fn lines_of(
    plan: &Plan<'_>,
    first_place: u32,
    additions: &mut Additions,
) -> Result<Vec<Snippet>, Skip> {
    let starts = plan.first_lines.iter().zip(first_place..);
    let snippets = starts.enumerate().map(|(number, (first, place))| match plan.line_probes {
        LineProbes::None | LineProbes::Each => {
            let line = plan.line_starts.get(*first).copied().ok_or(Skip::Malformed)?;
            Snippet::line(line, additions)
        }
        LineProbes::Once => Snippet::place(place, false, additions),
        LineProbes::Alone => Snippet::place(place, number == 0, additions),
    });
    snippets.collect()
}

/// A method while it is being moved.
#[derive(Debug)]
pub(super) struct Layout<'l, 'a> {
    pub(super) plan: &'l Plan<'a>,
    pub(super) snippets: Snippets,
    scratch: &'l mut Scratch,
    /// Whether the verifier reads frames.
    pub(super) verified: bool,
}

impl Layout<'_, '_> {
    fn place_all(&mut self) -> Result<(), Skip> {
        self.scratch.wide.clear();
        self.scratch.wide.resize(self.plan.points.len(), false);
        for _ in 0..MAX_ROUNDS {
            self.place();
            if !self.widen()? {
                return Ok(());
            }
        }
        Err(Skip::TooLarge)
    }

    /// Finds the labels of all offsets, and for each point the start of what is inserted there, or of its
    /// instruction if nothing is.
    fn place(&mut self) {
        let code = self.plan.code.bytes;
        let Scratch { labels, starts, wide } = &mut *self.scratch;
        labels.clear();
        starts.clear();
        // From here on, a label is the old offset plus this.
        let mut shift = self.snippets.enter.len();
        for (point, wide) in self.plan.points.iter().zip(wide) {
            labels.extend((labels.len()..=point.pc).map(|pc| pc + shift));
            starts.push(point.pc + shift);
            shift += self.snippets.before(point.kind).len();
            match point.kind {
                PointKind::Catch
                | PointKind::Handler(_)
                | PointKind::Line(_)
                | PointKind::Step(_)
                | PointKind::Exit
                | PointKind::WideBranch => {}
                PointKind::Call(_) | PointKind::Access(_) | PointKind::After(_) => {
                    shift += self.snippets.after(point.kind).len();
                }
                PointKind::Branch if *wide => {
                    shift += widening(code.get(point.pc).copied().certain());
                }
                PointKind::Branch => {}
                PointKind::Switch => shift = padded(point.pc + shift) - padded(point.pc),
            }
        }
        labels.extend((labels.len()..=code.len()).map(|pc| pc + shift));
    }

    /// Marks the branches whose offset does not fit into two bytes. Returns whether there are new ones.
    fn widen(&mut self) -> Result<bool, Skip> {
        let mut widened = false;
        for (number, point) in self.plan.points.iter().enumerate() {
            if point.kind != PointKind::Branch || self.is_wide(number) {
                continue;
            }
            let offset = self.branch_offset(number, point.pc, false)?;
            if i16::try_from(offset).is_ok() {
                continue;
            }
            // The inverted branch leads to the next instruction, which must already have a frame.
            let next = point.pc + SHORT_BRANCH;
            if !is_goto(self.op(point.pc)) && self.verified && !self.has_frame(next)? {
                return Err(Skip::TooLarge);
            }
            if let Some(wide) = self.scratch.wide.get_mut(number) {
                *wide = true;
            }
            widened = true;
        }
        Ok(widened)
    }

    fn has_frame(&self, pc: usize) -> Result<bool, Skip> {
        let Some((_, table)) = self.plan.code.tables.frames else { return Ok(false) };
        for frame in Frames::new(table)? {
            if frame?.pc == pc {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn op(&self, pc: usize) -> u8 {
        self.plan.code.bytes.get(pc).copied().certain()
    }

    fn is_wide(&self, number: usize) -> bool {
        self.scratch.wide.get(number).copied().certain()
    }

    fn start(&self, number: usize) -> Result<usize, Skip> {
        self.scratch.starts.get(number).copied().ok_or(Skip::Malformed)
    }

    pub(super) fn label(&self, pc: usize) -> Result<usize, Skip> {
        self.scratch.labels.get(pc).copied().ok_or(Skip::Malformed)
    }

    /// Returns the label of an offset in a table. A range that begins with the code still does.
    pub(super) fn table_label(&self, pc: u16) -> Result<usize, Skip> {
        if pc == 0 { Ok(0) } else { self.label(pc.into()) }
    }

    /// Returns where the instruction at an offset starts.
    pub(super) fn instruction_start(&self, pc: usize) -> Result<usize, Skip> {
        let points = &self.plan.points;
        let first = points.partition_point(|point| point.pc < pc);
        let here = points.iter().skip(first).take_while(|point| point.pc == pc);
        let inserted: usize = here.map(|point| self.snippets.before(point.kind).len()).sum();
        Ok(self.label(pc)? + inserted)
    }

    fn branch_offset(&self, number: usize, pc: usize, wide: bool) -> Result<i64, Skip> {
        let target = target(self.plan.code.bytes, pc, pc + 1, wide)?;
        Ok(distance(self.start(number)?, self.label(target)?))
    }

    fn write(&self, additions: &mut Additions, out: &mut Vec<u8>) -> Result<(), Skip> {
        let code = &self.plan.code;
        // Most probes start with an empty stack; LINE, STEP, BEGIN, END and CATCH add to its content.
        let on_top = !self.plan.line_starts.is_empty()
            || !self.plan.calls.is_empty()
            || !code.handlers.is_empty();
        let max_stack = code.max_stack.checked_add(on_top.into()).ok_or(Skip::TooLarge)?;
        let max_stack = max_stack.max(if self.has_handlers() { 2 } else { 1 });
        let has_values = self.plan.values.is_some() || self.plan.version > 0;
        let for_values = if has_values { values::STACK } else { 0 };
        let for_steps = if self.plan.steps.is_some() { steps::STACK } else { 0 };
        let for_accesses = if self.plan.accesses.is_empty() { 0 } else { accesses::STACK };
        let for_handlers = if self.plan.handlers.is_empty() { 0 } else { handlers::STACK };
        let for_all = for_values.max(for_steps).max(for_accesses).max(for_handlers);
        let max_stack = max_stack.checked_add(for_all).ok_or(Skip::TooLarge)?;
        out.extend_from_slice(&max_stack.to_be_bytes());
        out.extend_from_slice(&code.max_locals.to_be_bytes());

        let len_at = out.len();
        out.extend_from_slice(&[0; 4]);
        let start = out.len();
        self.write_instructions(out)?;
        if Some(out.len() - start) != self.scratch.labels.last().copied() {
            return Err(Skip::Malformed);
        }
        let handlers = self.write_handlers(start, out);
        let len = u32::from(short(out.len() - start)?);
        put(out, len_at, &len.to_be_bytes());

        self.write_exception_table(&handlers, out)?;
        self.write_tables(&handlers, additions, out)
    }

    fn has_handlers(&self) -> bool {
        !self.plan.covered.is_empty() || !self.plan.calls.is_empty()
    }

    fn write_instructions(&self, out: &mut Vec<u8>) -> Result<(), Skip> {
        let code = self.plan.code.bytes;
        let copy = |out: &mut Vec<u8>, from: usize, to: usize| {
            code.get(from..to).map(|part| out.extend_from_slice(part)).ok_or(Skip::Malformed)
        };
        out.extend_from_slice(&self.snippets.enter);
        let mut from = 0;
        for (number, point) in self.plan.points.iter().enumerate() {
            let pc = point.pc;
            if from <= pc {
                copy(out, from, pc)?;
                from = pc;
            }
            out.extend_from_slice(self.snippets.before(point.kind));
            match point.kind {
                PointKind::Catch
                | PointKind::Handler(_)
                | PointKind::Line(_)
                | PointKind::Step(_)
                | PointKind::Exit => {}
                PointKind::Call(_) | PointKind::Access(_) | PointKind::After(_) => {
                    // After an access, it is there already.
                    if from == pc {
                        from += length_at(code, pc)?;
                        copy(out, pc, from)?;
                    }
                    out.extend_from_slice(self.snippets.after(point.kind));
                }
                PointKind::Branch => {
                    from += SHORT_BRANCH;
                    self.write_branch(number, pc, out)?;
                }
                PointKind::WideBranch => {
                    from += WIDE_GOTO;
                    out.push(self.op(pc));
                    out.extend_from_slice(&offset(self.branch_offset(number, pc, true)?)?);
                }
                PointKind::Switch => {
                    from = self.write_switch(number, pc, out)?;
                }
            }
        }
        copy(out, from, code.len())
    }

    fn write_branch(&self, number: usize, pc: usize, out: &mut Vec<u8>) -> Result<(), Skip> {
        let op = self.op(pc);
        let distance = self.branch_offset(number, pc, false)?;
        if !self.is_wide(number) {
            let short = i16::try_from(distance).map_err(|_| Skip::TooLarge)?;
            out.push(op);
            out.extend_from_slice(&short.to_be_bytes());
        } else if is_goto(op) {
            out.push(if op == JSR { JSR_W } else { GOTO_W });
            out.extend_from_slice(&offset(distance)?);
        } else {
            // The branch, inverted, over a `goto_w`.
            out.extend_from_slice(&[inverted(op), 0, 8, GOTO_W]);
            out.extend_from_slice(&offset(distance - 3)?);
        }
        Ok(())
    }

    /// Writes a switch with its new offsets. Returns the offset at which the old code continues.
    fn write_switch(&self, number: usize, pc: usize, out: &mut Vec<u8>) -> Result<usize, Skip> {
        let code = self.plan.code.bytes;
        let start = self.start(number)?;
        let switch = Switch::at(code, pc)?;
        out.push(self.op(pc));
        out.resize(out.len() + padded(start) - start - 1, 0);
        let operands = out.len();
        let old = code.get(switch.operands_at..switch.end()).ok_or(Skip::Malformed)?;
        out.extend_from_slice(old);
        for at in switch.offsets() {
            let label = self.label(target(code, pc, at, true)?)?;
            put(out, operands + at - switch.operands_at, &offset(distance(start, label))?);
        }
        Ok(switch.end())
    }

    /// Writes our handlers, and returns where each is.
    fn write_handlers(&self, start: usize, out: &mut Vec<u8>) -> Handlers {
        let mut handlers = Handlers::default();
        // C1 compiles no method in which a handler is also reached in another way, so none of them continues
        // in the next one.
        let mut put = |probes: &[&[u8]]| {
            let at = out.len() - start;
            for probe in probes {
                out.extend_from_slice(probe);
            }
            out.push(ATHROW);
            Some(at)
        };
        let Snippets { end, unwound_exit, .. } = &self.snippets;
        if self.plan.covered.iter().any(|piece| piece.before) {
            handlers.before = put(&[unwound_exit]);
        }
        if !self.plan.calls.is_empty() {
            handlers.end = put(&[end.as_bytes(), unwound_exit]);
        }
        if self.plan.covered.iter().any(|piece| !piece.before) {
            handlers.after = put(&[unwound_exit]);
        }
        handlers
    }
}

/// Where our handlers are.
#[derive(Debug, Default)]
pub(super) struct Handlers {
    pub(super) before: Option<usize>,
    pub(super) end: Option<usize>,
    pub(super) after: Option<usize>,
}

impl Handlers {
    pub(super) fn exist(&self) -> bool {
        self.before.is_some() || self.end.is_some() || self.after.is_some()
    }
}

/// How much longer a branch gets with an offset of four bytes.
fn widening(op: u8) -> usize {
    if is_goto(op) { WIDE_GOTO - SHORT_BRANCH } else { WIDE_GOTO }
}

fn inverted(op: u8) -> u8 {
    match op {
        IFNULL => IFNONNULL,
        IFNONNULL => IFNULL,
        // Opposite branches have adjacent opcodes, beginning with an odd one.
        _ => ((op - IFEQ) ^ 1) + IFEQ,
    }
}

fn distance(from: usize, to: usize) -> i64 {
    let place = |place| i64::try_from(place).unwrap_or(i64::MAX);
    place(to) - place(from)
}

fn offset(distance: i64) -> Result<[u8; 4], Skip> {
    i32::try_from(distance).map(i32::to_be_bytes).map_err(|_| Skip::TooLarge)
}

pub(super) fn short(number: usize) -> Result<u16, Skip> {
    u16::try_from(number).map_err(|_| Skip::TooLarge)
}

pub(super) fn put(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(old) = out.get_mut(at..at + bytes.len()) {
        old.copy_from_slice(bytes);
    }
}
