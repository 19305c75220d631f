//! The samples of a call, those of the same line together.

use flow_codec::MethodId;
use flow_codec::format::samples::Frame;
use flow_codec::read::{StackSample, StackSamples};

use super::{Labels, duration, plural};

/// Samples that found a call at the same line, in the same method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LineSamples {
    /// The line of the call, if the call is on the stack.
    line: Option<Frame>,
    /// The innermost method, if that is another one, or why there is no stack.
    inside: Inside,
    samples: u64,
    ns: u64,
    waiting_ns: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Inside {
    Itself,
    Method(Option<MethodId>),
    Missed(&'static str),
}

impl LineSamples {
    /// A sample that was taken in a call of a method, or outside of all calls.
    pub(crate) fn new(
        sample: &StackSample,
        samples: &StackSamples,
        call: Option<MethodId>,
    ) -> Self {
        let innermost = samples.frames(sample).next();
        let inside = match (sample.missed(), innermost) {
            (Some(cause), _) => Inside::Missed(cause.name()),
            (None, Some(frame)) if call.is_some() && frame.method == call => Inside::Itself,
            (None, frame) => Inside::Method(frame.and_then(|frame| frame.method)),
        };
        Self {
            line: call.and_then(|call| samples.frame_of(sample, call)),
            inside,
            samples: sample.intervals,
            ns: sample.ns,
            waiting_ns: sample.waiting_ns,
        }
    }

    fn line(&self) -> Option<u32> {
        self.line.and_then(|line| line.line)
    }

    /// Adds later ones, if they are of the same line.
    pub(crate) fn add(&mut self, later: &Self) -> bool {
        let is_same = (self.line(), self.inside) == (later.line(), later.inside);
        if is_same {
            self.samples = self.samples.saturating_add(later.samples);
            self.ns = self.ns.saturating_add(later.ns);
            self.waiting_ns = self.waiting_ns.saturating_add(later.waiting_ns);
        }
        is_same
    }

    /// How many they are.
    pub(crate) fn count(&self) -> u64 {
        self.samples
    }

    /// How many they are, the time that they represent, and for how much of it the thread waited.
    pub(crate) fn numbers(&self) -> [u64; 3] {
        [self.samples, self.ns, self.waiting_ns]
    }

    /// Where they are: `Db.java:20 in java.util.HashMap.get(Object)`.
    pub(crate) fn place(&self, labels: &Labels<'_>) -> String {
        let line = self.line().map(|line| {
            let method = self.line.and_then(|frame| frame.method);
            let place = method.and_then(|method| labels.line(method, line));
            let (source, line) = place.unwrap_or((None, line));
            format!("{}:{line}", source.unwrap_or("line"))
        });
        let inside = match self.inside {
            Inside::Itself => None,
            Inside::Missed(cause) => Some(format!("no stack: {cause}")),
            Inside::Method(Some(method)) => Some(format!("in {}", labels.name(method))),
            Inside::Method(None) => Some("in an unknown method".to_owned()),
        };
        line.into_iter().chain(inside).collect::<Vec<_>>().join(" ")
    }

    /// As text: `3 samples, 30 ms, 10 ms waiting  Db.java:20`.
    pub(crate) fn text(&self, labels: &Labels<'_>) -> String {
        let waiting = match self.waiting_ns {
            0 => String::new(),
            ns => format!(", {} waiting", duration(ns)),
        };
        let (samples, place) = (plural(self.samples, "sample"), self.place(labels));
        let gap = if place.is_empty() { "" } else { "  " };
        format!("{samples}, {}{waiting}{gap}{place}", duration(self.ns))
    }
}
