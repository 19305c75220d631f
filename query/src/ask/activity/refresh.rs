//! What a program did between two answers.

use std::time::Duration;

use flow_codec::read::Trace;
use flow_codec::{MethodId, ThreadId};

use crate::rows::{ActiveMethodRow, ActiveThreadRow, Chain, RefreshRow, RowNames};

/// What happened since the answer before.
#[derive(Clone, Debug, Default)]
pub struct Refresh {
    /// What is recorded.
    pub title: String,
    /// How long ago the answer before was.
    pub interval: Duration,
    /// How long the recording takes, if that is known.
    pub age_ns: Option<u64>,
    /// Whether it continues.
    pub is_recording: bool,
    /// Calls that were read.
    pub calls: u64,
    /// Bytes of events that were written.
    pub bytes: u64,
    /// Bytes of events that were read.
    pub read_bytes: u64,
    /// Places where events were lost.
    pub gaps: u64,
    /// Places where recording was suspended.
    pub pauses: u64,
    /// What could not be read.
    pub damage: Vec<String>,
    /// Methods that were called, or in which time passed.
    pub methods: Vec<ActiveMethod>,
    /// Who called whom.
    pub edges: Vec<Edge>,
    /// Threads that have not ended, or that did something.
    pub threads: Vec<ActiveThread>,
    /// Whether it is known for how long threads run.
    pub has_cpu: bool,
}

/// What a method did.
#[derive(Clone, Debug)]
pub struct ActiveMethod {
    /// The number of its trace.
    pub trace: usize,
    /// The method.
    pub id: MethodId,
    /// The readable name of the method.
    pub name: String,
    /// Calls of the method.
    pub calls: u64,
    /// Time in itself; `None` if the trace has no times.
    pub self_ns: Option<u64>,
    /// For how much of this time threads ran; `None` if that is not known. It may be more, of a thread that ran without a call
    /// for longer than the interval.
    pub cpu_ns: Option<u64>,
    /// How much of this time is after the last event of a thread: it waits, or it computes without a call.
    pub silent_ns: u64,
}

impl ActiveMethod {
    /// For how much of its time threads waited.
    #[must_use]
    pub fn waiting_ns(&self) -> u64 {
        let known_ns = self.self_ns.unwrap_or(0).saturating_sub(self.silent_ns);
        self.cpu_ns.map_or(0, |cpu_ns| known_ns.saturating_sub(cpu_ns))
    }

    /// For how long threads ran in it; its time, if that is not known: see [`Refresh::has_cpu`].
    #[must_use]
    pub fn weight_ns(&self, has_cpu: bool) -> Option<u64> {
        if has_cpu { self.cpu_ns.or(self.self_ns.map(|_| 0)) } else { self.self_ns }
    }
}

/// Calls of a method by another, as numbers of rows.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// `None` for the outermost calls.
    pub caller: Option<usize>,
    /// What was called.
    pub callee: usize,
    /// How often.
    pub calls: u64,
}

/// What a thread does.
#[derive(Clone, Debug)]
pub struct ActiveThread {
    /// The name of its trace, if there are several.
    pub trace: String,
    /// The thread.
    pub id: ThreadId,
    /// The name of the thread.
    pub name: String,
    /// Calls that the thread made.
    pub calls: u64,
    /// The readable names of open calls, the outermost first.
    pub stack: Vec<String>,
    /// Whether frames may be missing at the start of the stack.
    pub is_partial: bool,
    /// How long ago its last event was.
    pub idle_ns: Option<u64>,
}

impl Refresh {
    /// A number of calls as a rate: of those that were read, for all.
    #[must_use]
    pub fn rate(&self, calls: u64) -> u64 {
        let ns = self.interval.as_nanos().max(1);
        let all = u128::from(calls) * u128::from(self.bytes.max(1)) * 1_000_000_000;
        let rate = all / (u128::from(self.read_bytes.max(1)) * ns);
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    /// Returns whether only a part was read.
    #[must_use]
    pub const fn is_estimate(&self) -> bool {
        self.read_bytes < self.bytes
    }

    /// Returns whether any method has a time.
    #[must_use]
    pub fn has_times(&self) -> bool {
        self.methods.iter().any(|row| row.self_ns.is_some())
    }

    /// For how long threads ran in all methods; if that is not known, the time of these.
    #[must_use]
    pub fn weight_ns(&self) -> u64 {
        self.methods.iter().filter_map(|row| row.weight_ns(self.has_cpu)).sum()
    }

    /// The whole as a row.
    #[must_use]
    pub fn row(&self) -> RefreshRow<'_> {
        RefreshRow {
            source: &self.title,
            recording: self.is_recording,
            age_ns: self.age_ns,
            interval_ns: u64::try_from(self.interval.as_nanos()).unwrap_or(u64::MAX),
            calls: self.calls,
            calls_per_s: self.rate(self.calls),
            bytes: self.bytes,
            read_bytes: self.read_bytes,
            gaps: self.gaps,
            pauses: self.pauses,
            threads: self.threads.len(),
        }
    }

    /// Methods as rows. `traces` are those that were asked.
    pub fn method_rows<'a>(
        &self,
        methods: impl IntoIterator<Item = &'a ActiveMethod>,
        traces: &'a [Trace],
    ) -> impl Iterator<Item = ActiveMethodRow<'a>> {
        let mut names: Vec<_> = traces.iter().map(|trace| RowNames::new(trace.methods())).collect();
        methods.into_iter().filter_map(move |method| {
            Some(ActiveMethodRow {
                method: names.get_mut(method.trace)?.get(method.id),
                calls: method.calls,
                calls_per_s: self.rate(method.calls),
                self_ns: method.self_ns,
                cpu_ns: if self.has_cpu { method.weight_ns(true) } else { None },
                silent_ns: method.self_ns.map(|_| method.silent_ns),
            })
        })
    }

    /// A thread as a row.
    #[must_use]
    pub fn thread_row<'a>(&self, thread: &'a ActiveThread) -> ActiveThreadRow<'a> {
        ActiveThreadRow {
            trace: &thread.trace,
            thread: thread.id,
            name: &thread.name,
            calls: thread.calls,
            calls_per_s: self.rate(thread.calls),
            since_ns: thread.idle_ns,
            stack: Chain(thread.stack.clone()),
            partial: thread.is_partial,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_all_calls() {
        let refresh = Refresh {
            interval: Duration::from_millis(500),
            bytes: 300,
            read_bytes: 100,
            ..Refresh::default()
        };
        assert_eq!(refresh.rate(7), 42);
        assert!(refresh.is_estimate());
        let refresh = Refresh { read_bytes: 300, ..refresh };
        assert_eq!((refresh.rate(7), refresh.is_estimate()), (14, false));
        assert_eq!(Refresh::default().rate(0), 0);
    }
}
