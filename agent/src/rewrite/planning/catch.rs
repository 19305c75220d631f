//! Finds the place for the CATCH of each exception handler.
//!
//! The best place is the start of the handler. But the probe is a call, which may throw, so two things must
//! hold. It must not lead back to its own handler: with a full stack that would never end, and C1 does not
//! compile such a handler. And no monitor may be held that only the handler itself releases: our own handler
//! would be reached with and without that monitor, and neither C1 nor C2 compiles such a method. So the probe
//! moves past the first instructions of `synchronized` and `finally`, which throw nothing: up to the
//! `monitorexit`, and to where the handler no longer covers itself. Nothing is recorded between the two
//! places. If `monitorexit` itself throws, our handler records the exit, which means the same to the
//! canonicalizer as a CATCH.

use crate::rewrite::Skip;
use crate::rewrite::class_file::code::{Code, Coverage, Instruction};
use crate::rewrite::class_file::opcode::{self, Flow, MONITOREXIT, RET, WIDE};

/// A place for a CATCH.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rewrite) struct CatchPlace {
    /// Where the handler begins.
    pub(in crate::rewrite) handler: usize,
    pub(in crate::rewrite) pc: usize,
    /// Whether an exception there still leads back to the handler.
    pub(in crate::rewrite) leads_back: bool,
}

/// The places for the handlers of a method, each handler once. Each instruction is read at most once.
#[derive(Debug)]
pub(in crate::rewrite) struct CatchPlaces<'c, 'a> {
    code: &'c Code<'a>,
    /// Whether the code has monitors.
    locks: bool,
    coverage: Coverage,
    /// Handlers before this one have their places.
    next: usize,
    run: Run,
}

/// Consecutive instructions that throw nothing.
#[derive(Clone, Copy, Default, Debug)]
struct Run {
    end: usize,
    /// The place after the last `monitorexit`.
    after_exit: usize,
}

impl<'c, 'a> CatchPlaces<'c, 'a> {
    pub(in crate::rewrite) fn new(code: &'c Code<'a>, locks: bool) -> Self {
        let coverage = Coverage::new(&code.handlers);
        Self { code, locks, coverage, next: 0, run: Run::default() }
    }

    fn place(&mut self, handler: usize) -> Result<CatchPlace, Skip> {
        // The case of most handlers.
        if !self.locks && self.coverage.end_of(handler, handler).is_none() {
            return Ok(CatchPlace { handler, pc: handler, leads_back: false });
        }
        // The handlers come in order: one before the end of the last run lies within it.
        if handler >= self.run.end {
            self.run = self.run_from(handler)?;
        }
        let Run { end, after_exit } = self.run;
        let pc = handler.max(after_exit);
        Ok(match self.coverage.end_of(handler, pc) {
            None => CatchPlace { handler, pc, leads_back: false },
            Some(next) if next <= end && next < self.code.bytes.len() => {
                CatchPlace { handler, pc: next, leads_back: false }
            }
            Some(_) => CatchPlace { handler, pc, leads_back: true },
        })
    }

    fn run_from(&self, start: usize) -> Result<Run, Skip> {
        let mut run = Run { end: start, after_exit: start };
        for instruction in self.code.instructions_from(start) {
            let Instruction { pc, op, next } = instruction?;
            let is_plain = match op {
                MONITOREXIT => true,
                WIDE => self.code.bytes.get(pc + 1) != Some(&RET),
                _ => opcode::flow(op) == Flow::Next && opcode::is_harmless(op),
            };
            if !is_plain {
                break;
            }
            run.end = next;
            // No code ends with a `monitorexit`.
            if op == MONITOREXIT && next < self.code.bytes.len() {
                run.after_exit = next;
            }
        }
        Ok(run)
    }
}

impl Iterator for CatchPlaces<'_, '_> {
    type Item = Result<CatchPlace, Skip>;

    fn next(&mut self) -> Option<Self::Item> {
        let handler = self.coverage.handler_from(self.next)?;
        self.next = handler + 1;
        Some(self.place(handler))
    }
}
