//! Constructors: where they call `super(…)` or `this(…)`, and what runs before that.
//!
//! Until that call `this` is not initialised, and the frame of an exception handler must say so. So the two
//! parts of a constructor need one handler each, and the call itself can have none: the verifier checks a
//! handler against the states before and after it.
//!
//! Only the code before the call is followed, path by path. Compilers put branches there (conditional
//! arguments), several calls on several paths (Groovy), loops and handlers (statements before `super`, Java
//! 22 and later), so nothing simpler works.

use std::collections::BTreeMap;

use crate::rewrite::Skip;
use crate::rewrite::class_file::class::{ClassFile, Entry};
use crate::rewrite::class_file::code::{ByPlace, Code, Coverage, Instruction, Places};
use crate::rewrite::class_file::descriptor::signature;
use crate::rewrite::class_file::frames::Frames;
use crate::rewrite::class_file::opcode::{self, Flow, JSR, JSR_W, is_goto};
use crate::rewrite::class_file::pool::Member;
use crate::rewrite::class_file::stack::{ThisHolders, constructor_call};

/// The result of analysing a constructor.
#[derive(Debug)]
pub(in crate::rewrite) struct Before<'a> {
    /// The instructions that run before `this` is initialised.
    pub(in crate::rewrite) instructions: Places,
    /// The calls that initialise it, by place.
    pub(in crate::rewrite) calls: BTreeMap<usize, Member<'a>>,
}

/// Follows a constructor to its calls of another one.
///
/// # Errors
/// [`Skip::OddConstructor`] if the code is not as compilers generate it.
pub(in crate::rewrite) fn analyse<'a>(
    class: &ClassFile<'a>,
    entry: &Entry<'a>,
    code: &Code<'a>,
) -> Result<Before<'a>, Skip> {
    let coverage = Coverage::new(&code.handlers).by_place();
    let walk = Walk::new(class, code, &coverage);
    let before = walk.run().map_err(|_| Skip::OddConstructor)?;
    if frames_disagree(entry, code, &before)? {
        return Err(Skip::OddConstructor);
    }
    Ok(before)
}

/// With more steps than this for each byte of code, no compiler wrote the code. A step is an instruction, or
/// a path that reaches a branch target or handler.
const STEPS_PER_BYTE: usize = 32;
/// Joining states that hold more slots than this costs further steps.
const SLOTS_PER_STEP: usize = 8;

struct Walk<'c, 'a> {
    class: &'c ClassFile<'a>,
    code: &'c Code<'a>,
    coverage: &'c ByPlace,
    /// The states at the places that branches and handlers lead to.
    joins: BTreeMap<usize, ThisHolders>,
    /// The places that must still be followed.
    work: Vec<usize>,
    before: Before<'a>,
    /// Where constructors are called for other objects.
    other_calls: Places,
    steps_left: usize,
}

impl<'c, 'a> Walk<'c, 'a> {
    fn new(class: &'c ClassFile<'a>, code: &'c Code<'a>, coverage: &'c ByPlace) -> Self {
        let len = code.bytes.len();
        Self {
            class,
            code,
            coverage,
            joins: BTreeMap::from([(0, ThisHolders::at_entry())]),
            work: vec![0],
            before: Before { instructions: Places::none(len), calls: BTreeMap::new() },
            other_calls: Places::none(len),
            steps_left: (len + 1) * STEPS_PER_BYTE,
        }
    }

    fn run(mut self) -> Result<Before<'a>, Skip> {
        while let Some(pc) = self.work.pop() {
            let state = self.joins.get(&pc).cloned().ok_or(Skip::OddConstructor)?;
            self.follow(pc, state)?;
        }
        let both = self.before.calls.keys().any(|pc| self.other_calls.contains(*pc));
        if both { Err(Skip::OddConstructor) } else { Ok(self.before) }
    }

    /// Follows one path until it ends, initialises `this`, or runs into a known place.
    fn follow(&mut self, start: usize, mut state: ThisHolders) -> Result<(), Skip> {
        for instruction in self.code.instructions_from(start) {
            let instruction = instruction?;
            let Instruction { pc, op, .. } = instruction;
            if pc != start && self.joins.contains_key(&pc) {
                return self.join(pc, &state);
            }
            self.spend(1)?;
            self.before.instructions.add(pc);
            if self.initialises(&state, instruction)? {
                return Ok(());
            }
            self.coverage.at(pc, &mut |handler| self.join(handler, &state.at_handler()))?;
            let flow = opcode::flow(op);
            if flow == Flow::Return || matches!(op, JSR | JSR_W) {
                return Err(Skip::OddConstructor);
            }
            state.step(self.code.bytes, instruction, &self.class.pool)?;
            // The frame of our handler declares it.
            if !state.keeps_local_0() {
                return Err(Skip::OddConstructor);
            }
            for target in self.code.targets(pc, flow)? {
                self.join(target?, &state)?;
            }
            if matches!(flow, Flow::Stop | Flow::Switch) || is_goto(op) {
                return Ok(());
            }
        }
        Err(Skip::OddConstructor)
    }

    /// Returns whether an instruction is a call of `super(…)` or `this(…)`, and records it.
    fn initialises(&mut self, state: &ThisHolders, instruction: Instruction) -> Result<bool, Skip> {
        let call = constructor_call(state, self.code.bytes, instruction, &self.class.pool)?;
        let Some((callee, for_this)) = call else {
            return Ok(false);
        };
        let pc = instruction.pc;
        if !for_this {
            self.other_calls.add(pc);
            return Ok(false);
        }
        let known = callee.class == self.class.name || Some(callee.class) == self.class.super_name;
        if !known || self.coverage.covers(pc) {
            return Err(Skip::OddConstructor);
        }
        self.before.calls.insert(pc, callee);
        Ok(true)
    }

    fn spend(&mut self, steps: usize) -> Result<(), Skip> {
        self.steps_left = self.steps_left.checked_sub(steps).ok_or(Skip::OddConstructor)?;
        Ok(())
    }

    fn join(&mut self, pc: usize, state: &ThisHolders) -> Result<(), Skip> {
        self.spend(1 + state.slots() / SLOTS_PER_STEP)?;
        let changed = match self.joins.get_mut(&pc) {
            Some(known) => known.join(state)?,
            None => {
                self.joins.insert(pc, state.clone());
                true
            }
        };
        if changed {
            self.work.push(pc);
        }
        Ok(())
    }
}

/// Returns whether a frame declares `this` as not initialised at a place that no path reaches before the
/// call. That code never runs, but the verifier checks it, and its handler.
fn frames_disagree(entry: &Entry<'_>, code: &Code<'_>, before: &Before<'_>) -> Result<bool, Skip> {
    // In frames, a long counts as one local variable.
    let mut locals = 1 + signature(entry.descriptor)?.parameters;
    let Some((_, table)) = code.tables.frames else {
        return Ok(false);
    };
    let mut uninitialised = true;
    for frame in Frames::new(table)? {
        let frame = frame?;
        (locals, uninitialised) = frame.uninitialised_this(locals, uninitialised)?;
        if uninitialised && !before.instructions.contains(frame.pc) {
            return Ok(true);
        }
    }
    Ok(false)
}
