//! What happened in and between calls: lines, values, instructions, samples and marks.

use flow_codec::format::instructions::Step;
use flow_codec::format::values::{CallValue, Role};
use flow_codec::read::{Bounds, CallTimes, EventKind, Operands, When};
use flow_codec::{MethodId, Offset};

use super::line_samples::LineSamples;
use crate::reading::UNKNOWN_TIMES;
use crate::text::MarkWords;

/// Something that happened in a call, or between calls.
#[derive(Clone, Debug)]
pub struct Detail {
    /// How many calls are shown around it.
    pub depth: usize,
    /// The offset of the record before which, or in which, it is.
    pub offset: Offset,
    /// When it happened; of several things in one row, the first of them.
    pub time: When,
    /// Whether everything that other threads did before certainly happened before.
    pub is_certain: bool,
    /// The method of the innermost call around it, with the version of its code.
    pub method: Option<MethodId>,
    /// The version of the method; 0 for the first one.
    pub version: u16,
    /// What happened.
    pub kind: DetailKind,
}

/// What happened in a call, or between calls.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum DetailKind {
    /// The call reached a line.
    Line {
        /// The number of the line.
        line: u16,
        /// How many times in a row.
        count: u64,
    },
    /// Values that belong together: arguments, a result, a message, or an access.
    Values {
        /// The values.
        values: Vec<CallValue>,
        /// The class of the exception, if the value is its message.
        thrown: Option<String>,
    },
    /// The call executed an instruction.
    Instruction {
        /// The index of the instruction in the code.
        at: u16,
        /// What was recorded of its operands.
        operands: Operands,
    },
    /// Samples found the call.
    Samples {
        /// The samples, all of the same line.
        samples: LineSamples,
        /// When the last of them was taken.
        last_ns: u64,
    },
    /// A note, a test mark, a gap, or a pause.
    Mark(EventKind),
}

impl Detail {
    /// When it happened. Samples also have a duration: the time from the first to the last one.
    #[must_use]
    pub fn times(&self) -> CallTimes {
        let start = self.time;
        let DetailKind::Samples { last_ns, .. } = self.kind else {
            return CallTimes { start, ..UNKNOWN_TIMES };
        };
        let ns = last_ns.saturating_sub(start.bounds.from_ns);
        let duration = Bounds { from_ns: ns, by_ns: ns };
        CallTimes { start, duration, duration_ns: ns, ..UNKNOWN_TIMES }
    }

    /// Returns whether an event is a mark, which is shown between calls.
    #[must_use]
    pub fn is_mark(event: &EventKind) -> bool {
        MarkWords::of(event).is_some()
    }

    /// Returns whether nothing that follows can become a part of the row.
    pub(super) fn is_final(&self) -> bool {
        match &self.kind {
            DetailKind::Mark(_) => true,
            // The class of the exception follows its message.
            DetailKind::Values { values, .. } => {
                values.iter().any(|value| !is_given(value) && value.role != Role::Message)
            }
            _ => false,
        }
    }

    /// Adds a later detail of the same call, if both are one row.
    pub(super) fn join(&mut self, later: &Self, joins_lines: bool) -> bool {
        use DetailKind::{Line, Samples, Values};
        if self.depth != later.depth {
            return false;
        }
        match (&mut self.kind, &later.kind) {
            (Line { line, count }, Line { line: next, .. }) if joins_lines && line == next => {
                *count += 1;
                true
            }
            (Samples { samples, last_ns }, Samples { samples: next, last_ns: at }) => {
                let is_same = samples.add(next);
                if is_same {
                    *last_ns = *at;
                }
                is_same
            }
            (Values { values, .. }, Values { values: next, .. }) if next.iter().all(is_given) => {
                values.extend_from_slice(next);
                true
            }
            _ => false,
        }
    }

    /// Adds an operand to an instruction of the call.
    pub(super) fn operand(&mut self, depth: usize, step: Step) {
        if let (DetailKind::Instruction { operands, .. }, Step::Operand(kind, value)) =
            (&mut self.kind, step)
            && self.depth == depth
        {
            operands.add(kind, value);
        }
    }

    /// An exception of this class leaves the call. A message is that of the exception.
    pub(super) fn threw(&mut self, class: &str) {
        if let DetailKind::Values { values, thrown } = &mut self.kind
            && matches!(&values[..], [CallValue { role: Role::Message, .. }])
        {
            *thrown = Some(class.to_owned());
        }
    }
}

/// Returns whether a value was passed to the call.
fn is_given(value: &CallValue) -> bool {
    matches!(value.role, Role::Argument(_) | Role::This)
}
