//! Reads exported files as their viewers do, with independent libraries: protobuf by prost, JSON by serde, which
//! refuses unknown fields, CSV by its crate, pictures as XML. Each reader returns
//! calls with their times, or paths with their weights.

#![allow(clippy::unwrap_used, reason = "what cannot be read is wrong")]

pub(crate) mod chrome;
pub(crate) mod firefox;
pub(crate) mod otlp;
pub(crate) mod otlp_profile;
pub(crate) mod perfetto;
pub(crate) mod pprof;
pub(crate) mod rows;
pub(crate) mod speedscope;
pub(crate) mod svg;
pub(crate) mod tables;

use std::collections::BTreeMap;

/// A call as a timeline shows it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Call {
    /// Its start, in calls or in nanoseconds.
    pub(crate) begin: u64,
    /// `None` if it was open at the end of the thread.
    pub(crate) end: Option<u64>,
    pub(crate) depth: usize,
    pub(crate) name: String,
}

/// The calls of each thread, in order, by the thread's name.
pub(crate) type Threads = BTreeMap<String, Vec<Call>>;

/// An instant: its thread, time and name.
pub(crate) type Instants = Vec<(String, u64, String)>;

/// The calls of each path, outermost method first.
pub(crate) type Paths = BTreeMap<Vec<String>, u64>;

/// Builds the calls of one thread from their starts and ends.
#[derive(Default)]
pub(crate) struct Stack {
    calls: Vec<Call>,
    /// The indexes of open calls.
    open: Vec<usize>,
}

impl Stack {
    pub(crate) fn begin(&mut self, name: String, begin: u64) {
        self.open.push(self.calls.len());
        self.calls.push(Call { begin, end: None, depth: self.open.len() - 1, name });
    }

    /// Ends the topmost call. Returns its name.
    pub(crate) fn end(&mut self, end: u64) -> String {
        let call = &mut self.calls[self.open.pop().unwrap()];
        call.end = Some(end);
        call.name.clone()
    }

    /// Two calls may begin at the same time only if there is a clock.
    pub(crate) fn finish(self) -> Vec<Call> {
        assert!(self.calls.is_sorted_by(|a, b| a.begin <= b.begin));
        self.calls
    }
}
