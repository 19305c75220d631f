//! What is shown of calls in order.

use flow_codec::read::{Methods, Selection, StackSamples};

/// What is shown of the calls of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The methods of the trace.
    pub methods: &'a Methods,
    /// Calls that are not left out.
    pub selection: &'a Selection,
    /// Calls that are shown with all their callees, if not all calls are.
    pub wanted: Option<&'a Selection>,
    /// The samples of the trace, if they are shown.
    pub samples: Option<&'a StackSamples>,
    /// How many calls are shown of a stack.
    pub max_depth: usize,
    /// Calls shorter than this are not shown.
    pub min_ns: u64,
    /// Whether consecutive calls of a method are one row.
    pub collapses: bool,
    /// Whether the row of a call has the number of calls in it that are not shown.
    pub counts_below: bool,
    /// Whether a line that follows itself is one row.
    pub joins_lines: bool,
    /// What is shown beside calls.
    pub beside: Beside,
}

/// What is shown beside calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beside {
    /// Nothing.
    Nothing,
    /// Where an exception leaves calls.
    Unwinding,
    /// Details, which the timeline may have.
    Details,
}
