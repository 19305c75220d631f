//! What probes record of the exceptions that reach handlers of a method.
//!
//! ```text
//! dup  line  HANDLED          at the start of the handler, after its CATCH: the exception is on the stack
//! aload n  line  HANDLED      if the CATCH comes later: the first instruction has put the exception into a variable
//! ```
//!
//! All handlers count, also those that compilers make of `finally` and `synchronized`: the JVM makes no difference, and neither
//! do the events of JVMTI. What is thrown again leaves the call, which is recorded anyway.
//!
//! Between a handler and the place of its CATCH may be a place that other code leads to, as when an empty `catch` is the last
//! thing in a `synchronized` block. There, the probe is at the start of the handler if another handler covers that, which then
//! releases what is locked.
//!
//! A handler that other code leads to, too, has no probe, because it would record exceptions that there are not. Nor has one
//! whose exception is in no variable at the place of its CATCH. No known compiler makes either.

use super::catch::CatchPlace;
use super::snippet::push_integer;
use crate::rewrite::Skip;
use crate::rewrite::class_file::bytes::u16_at;
use crate::rewrite::class_file::code::{ByPlace, Code, Coverage, Instruction, Places};
use crate::rewrite::class_file::opcode::{
    self, ALOAD, ASTORE, ASTORE_3, DUP, Flow, INVOKESTATIC, ISTORE, ISTORE_0, WIDE,
};
use crate::rewrite::class_file::pool::Additions;
use crate::rewrite::planning::lines;

/// The slots on top of a method's own stack that the probe takes.
pub(in crate::rewrite) const STACK: u16 = 2;

/// The first of the instructions that store a reference into one of the first four variables.
const ASTORE_0: u8 = ASTORE_3 - 3;

/// In the number that a probe is passed: the message is left out.
const WITHOUT_MESSAGE: i32 = 1 << 16;

/// A handler whose exceptions are recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rewrite) struct HandlerProbe {
    /// Where the probe is.
    pub(in crate::rewrite) pc: usize,
    /// The line in which the handler begins, 0 if it is not known.
    line: u16,
    /// The variable that has the exception there, if it is not on the stack.
    variable: Option<u16>,
}

/// The handlers of a method.
#[derive(Debug, Default)]
pub(in crate::rewrite) struct HandlerProbes {
    /// The handlers with a probe, in the order of the code.
    pub(in crate::rewrite) list: Vec<HandlerProbe>,
    /// Whether there are handlers without a probe.
    pub(in crate::rewrite) has_others: bool,
}

impl HandlerProbes {
    /// The handlers with these places.
    pub(in crate::rewrite) fn of(code: &Code<'_>, places: &[CatchPlace]) -> Result<Self, Skip> {
        let mut handlers = Self::default();
        if places.is_empty() {
            return Ok(handlers);
        }
        let none = || Places::none(code.bytes.len());
        let (mut starts, mut reached, mut begins) = (none(), none(), none());
        code.handlers.iter().for_each(|handler| begins.add(handler.handler.into()));
        for instruction in code.instructions() {
            let Instruction { pc, op, next } = instruction?;
            starts.add(pc);
            let flow = opcode::flow(op);
            for target in code.targets(pc, flow)? {
                reached.add(target?);
            }
            // HandlerProbes inside the first instructions of another one are reached from there.
            let is_left =
                matches!(flow, Flow::Return | Flow::Stop | Flow::Switch) || opcode::is_goto(op);
            if !is_left && begins.contains(next) {
                reached.add(next);
            }
        }
        let lines = lines::table(code, &starts)?;
        let coverage = Coverage::new(&code.handlers).by_place();
        for place in places {
            let later = match (place.handler..=place.pc).any(|pc| reached.contains(pc)) {
                true => None,
                false if place.pc == place.handler => Some((place.pc, None)),
                false => variable(code, place)?.map(|variable| (place.pc, Some(variable))),
            };
            let at_start = || {
                let may_be = !reached.contains(place.handler)
                    && is_covered_by_others(&coverage, place.handler);
                may_be.then_some((place.handler, None))
            };
            let Some((pc, variable)) = later.or_else(at_start) else {
                handlers.has_others = true;
                continue;
            };
            let line = lines.range(..=place.handler).next_back();
            let line = line.map_or(0, |(_, line)| *line);
            handlers.list.push(HandlerProbe { pc, line, variable });
        }
        handlers.list.sort_unstable_by_key(|handler| handler.pc);
        Ok(handlers)
    }
}

/// Returns whether handlers cover the start of a handler, and it is none of these.
fn is_covered_by_others(coverage: &ByPlace, handler: usize) -> bool {
    let mut is_covered = false;
    let own = coverage.at(handler, &mut |by| {
        is_covered = true;
        if by == handler { Err(()) } else { Ok(()) }
    });
    is_covered && own.is_ok()
}

/// The variable into which the first instruction of a handler stores the exception, if it is still there at the place of the CATCH.
fn variable(code: &Code<'_>, place: &CatchPlace) -> Result<Option<u16>, Skip> {
    let mut found = None;
    for instruction in code.instructions_from(place.handler) {
        let Instruction { pc, op, .. } = instruction?;
        if pc >= place.pc {
            break;
        }
        match (store(code.bytes, pc, op)?, found) {
            (Some(variable), None) if pc == place.handler && is_reference(code.bytes, pc, op) => {
                found = Some(variable);
            }
            (_, None) => return Ok(None),
            // A long or double takes the next variable, too.
            (Some(other), Some(variable)) if other == variable || other + 1 == variable => {
                return Ok(None);
            }
            _ => {}
        }
    }
    Ok(found)
}

/// The variable that an instruction stores into.
fn store(code: &[u8], pc: usize, op: u8) -> Result<Option<u16>, Skip> {
    Ok(match op {
        ISTORE..=ASTORE => code.get(pc + 1).map(|variable| u16::from(*variable)),
        ISTORE_0..=ASTORE_3 => Some(u16::from((op - ISTORE_0) % 4)),
        WIDE if matches!(code.get(pc + 1), Some(ISTORE..=ASTORE)) => Some(u16_at(code, pc + 2)?),
        _ => None,
    })
}

fn is_reference(code: &[u8], pc: usize, op: u8) -> bool {
    matches!(op, ASTORE | ASTORE_0..=ASTORE_3) || code.get(pc + 1) == Some(&ASTORE)
}

impl HandlerProbe {
    /// Returns what is inserted. `redacts_message`: the message is left out.
    pub(in crate::rewrite) fn probe(
        self,
        redacts_message: bool,
        additions: &mut Additions,
    ) -> Result<Vec<u8>, Skip> {
        let mut probe = Vec::with_capacity(10);
        match self.variable.map(u8::try_from) {
            None => probe.push(DUP),
            Some(Ok(variable)) => probe.extend_from_slice(&[ALOAD, variable]),
            Some(Err(_)) => {
                probe.extend_from_slice(&[WIDE, ALOAD]);
                probe.extend_from_slice(&self.variable.unwrap_or_default().to_be_bytes());
            }
        }
        let without = if redacts_message { WITHOUT_MESSAGE } else { 0 };
        push_integer(i32::from(self.line) | without, additions, &mut probe)?;
        probe.push(INVOKESTATIC);
        probe.extend_from_slice(&additions.handled()?.to_be_bytes());
        Ok(probe)
    }
}
