//! The requests of a page: those that an exception ended, then the longest.

use flow_codec::ThreadId;
use flow_codec::read::Trace;
use flow_query::analysis::Operation;
use flow_query::ask::Operations;
use flow_query::reading::Listener;
use serde::Serialize;

use crate::failure::Failure;
use crate::html::names::PageMethods;
use crate::html::numbers::cut;

/// The most requests of a page.
const REQUESTS: usize = 2000;
/// The most characters of a request, and of its parameters.
const TEXT_CHARS: usize = 200;

/// A request in the list of the page.
#[derive(Serialize)]
struct Row {
    text: String,
    parameters: String,
    /// The class of the exception that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    thrown: Option<String>,
    /// The method of the program that it is from, or that served it.
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<u32>,
    at: Option<u64>,
    from: u64,
    by: Option<u64>,
    thread: ThreadId,
    /// The number of the call in the thread.
    call: u64,
}

/// The requests of a page.
#[derive(Default, Serialize)]
pub(in crate::html) struct PageRequests {
    rows: Vec<Row>,
    /// How many further requests there are.
    more: u64,
}

impl PageRequests {
    /// Reads the requests of a trace.
    ///
    /// # Errors
    /// The question cannot be asked.
    pub(in crate::html) fn read(
        trace: &Trace,
        names: &PageMethods,
        listener: &mut impl Listener,
    ) -> Result<Self, Failure> {
        let (read, worst) = Operations::of("http").worst(trace, REQUESTS, listener)?;
        let more = read.count.saturating_sub(worst.len() as u64);
        let row = |operation: Operation| {
            let bounds = operation.times.duration;
            let parameters = operation.parameters.iter();
            let parameters = parameters.map(|one| format!("{} = {}", one.name, one.value));
            Row {
                text: cut(operation.text.as_deref().unwrap_or("?"), TEXT_CHARS),
                parameters: cut(&parameters.collect::<Vec<_>>().join(", "), TEXT_CHARS),
                thrown: operation.thrown.as_deref().map(|class| cut(class, TEXT_CHARS)),
                method: operation.caller.or(operation.served_by).map(|id| names.in_shapes(id)),
                at: operation.times.start.estimate_ns,
                from: bounds.from_ns,
                by: Some(bounds.by_ns).filter(|by_ns| *by_ns != u64::MAX),
                thread: operation.thread,
                call: operation.number,
            }
        };
        Ok(Self { rows: worst.into_iter().map(row).collect(), more })
    }
}
