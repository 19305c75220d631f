//! Judges, without a JVM, whether HotSpot's compilers accept a method.
//!
//! Both compilers first follow the monitors that are held through the code, exceptions included. A method
//! that they have refused is never tried again, so it is interpreted for good.
//!
//! | | C1 | C2 |
//! |---|:-:|:-:|
//! | a place is reached with different monitors held | refuses | refuses |
//! | `monitorexit` without a monitor | refuses | refuses |
//! | an exception or a return leaves the method with a monitor held | refuses | refuses |
//! | a handler covers an instruction of its own first block that throws | refuses | |
//!
//! `monitorexit` of a monitor that is held counts as throwing nothing. The object that a monitor belongs to
//! is not followed: a monitor is identified by its `monitorenter`. Probes change neither.

use super::code::{Code, Handler, Instruction, Places};
use super::opcode::{self, Flow, JSR, JSR_W, MONITORENTER, MONITOREXIT, RET, WIDE, is_goto};
use crate::certain::Certain as _;
use crate::rewrite::Skip;

/// Which compilers accept a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompiledBy {
    /// C1, the fast one.
    pub c1: bool,
    /// C2, the optimising one.
    pub c2: bool,
}

impl CompiledBy {
    /// Returns whether each compiler that accepts a method judged `old` accepts this one too.
    #[must_use]
    pub fn is_as_good_as(self, old: Self) -> bool {
        self.c1 >= old.c1 && self.c2 >= old.c2
    }
}

/// Judges a method. `None` if it has subroutines (`jsr`), which compilers stopped using with Java 6.
pub(in crate::rewrite) fn judge(code: &Code<'_>) -> Result<Option<CompiledBy>, Skip> {
    let mut judge = Judge::new(code);
    if !judge.follow()? {
        return Ok(None);
    }
    judge.compiled_by.c1 &= !judge.handlers_cover_themselves()?;
    Ok(Some(judge.compiled_by))
}

/// The monitors that are held: the place after the `monitorenter` of the last one, or 0.
type Monitors = usize;

struct Judge<'c, 'a> {
    code: &'c Code<'a>,
    /// The monitors with which each instruction is reached.
    held: Vec<Option<Monitors>>,
    /// The monitors held before each `monitorenter`.
    below: Vec<Monitors>,
    work: Vec<usize>,
    /// Where basic blocks begin, except for handlers.
    blocks: Places,
    compiled_by: CompiledBy,
}

impl<'c, 'a> Judge<'c, 'a> {
    fn new(code: &'c Code<'a>) -> Self {
        let len = code.bytes.len();
        Self {
            code,
            held: vec![None; len],
            below: vec![0; len],
            work: Vec::new(),
            blocks: Places::none(len),
            compiled_by: CompiledBy { c1: true, c2: true },
        }
    }

    /// Follows all paths, each instruction once. Returns `false` if there are subroutines.
    fn follow(&mut self) -> Result<bool, Skip> {
        self.reach(0, 0);
        while let Some(start) = self.work.pop() {
            for instruction in self.code.instructions_from(start) {
                let Instruction { pc, op, next } = instruction?;
                let held = self.held.get(pc).copied().flatten().certain();
                let wide_ret = op == WIDE && self.code.bytes.get(pc + 1) == Some(&RET);
                if wide_ret || matches!(op, JSR | JSR_W | RET) {
                    return Ok(false);
                }
                if throws(op, held) {
                    self.throw(pc, held);
                }
                let after = self.step(pc, op, held);
                let flow = opcode::flow(op);
                for target in self.code.targets(pc, flow)? {
                    let target = target?;
                    self.blocks.add(target);
                    self.reach(target, after);
                }
                if flow != Flow::Next {
                    self.blocks.add(next);
                }
                let ends = matches!(flow, Flow::Stop | Flow::Switch | Flow::Return) || is_goto(op);
                if ends || !self.continue_at(next, after) {
                    break;
                }
            }
        }
        Ok(true)
    }

    fn step(&mut self, pc: usize, op: u8, held: Monitors) -> Monitors {
        match op {
            MONITORENTER => {
                if let Some(below) = self.below.get_mut(pc) {
                    *below = held;
                }
                pc + 1
            }
            MONITOREXIT => match held.checked_sub(1) {
                Some(entered) => self.below.get(entered).copied().certain(),
                None => {
                    self.refuse();
                    0
                }
            },
            _ => held,
        }
    }

    fn throw(&mut self, pc: usize, held: Monitors) {
        let handlers: &'c [Handler] = &self.code.handlers;
        for handler in handlers.iter().filter(|handler| handler.covers(pc)) {
            self.reach(handler.handler.into(), held);
            if handler.catches_all() {
                return;
            }
        }
        if held != 0 {
            self.refuse();
        }
    }

    fn reach(&mut self, pc: usize, held: Monitors) {
        if self.continue_at(pc, held) {
            self.work.push(pc);
        }
    }

    /// Records the monitors with which an instruction is reached. Returns whether it must be followed.
    fn continue_at(&mut self, pc: usize, held: Monitors) -> bool {
        match self.held.get_mut(pc) {
            Some(here @ None) => {
                *here = Some(held);
                true
            }
            Some(Some(known)) => {
                if *known != held {
                    self.refuse();
                }
                false
            }
            None => false,
        }
    }

    fn refuse(&mut self) {
        self.compiled_by = CompiledBy { c1: false, c2: false };
    }

    fn handlers_cover_themselves(&self) -> Result<bool, Skip> {
        let handlers = &self.code.handlers;
        for entry in handlers.iter().filter(|entry| entry.covers(entry.handler.into())) {
            let start = usize::from(entry.handler);
            for instruction in self.code.instructions_from(start) {
                let Instruction { pc, op, .. } = instruction?;
                let Some(held) = self.held.get(pc).copied().flatten() else { break };
                let is_block = self.blocks.contains(pc)
                    || handlers.iter().any(|other| usize::from(other.handler) == pc);
                if pc != start && is_block {
                    break;
                }
                if throws(op, held) && op != MONITOREXIT && entry.covers(pc) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Returns whether an instruction throws, in the view of the compilers.
fn throws(op: u8, held: Monitors) -> bool {
    match op {
        MONITOREXIT => held == 0,
        WIDE => false,
        _ if opcode::flow(op) == Flow::Return => held != 0,
        _ => !opcode::is_harmless(op),
    }
}
