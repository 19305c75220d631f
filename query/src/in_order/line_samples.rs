//! The samples of a call, those of the same line together.

use flow_codec::MethodId;
use flow_codec::format::samples::Frame;
use flow_codec::read::{StackSample, StackSamples};

/// Samples that found a call at the same line, in the same method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineSamples {
    /// The line of the call, if the call is on the stack.
    pub line: Option<Frame>,
    /// The innermost method, if that is another one, or why there is no stack.
    pub inside: Inside,
    /// The number of samples.
    pub count: u64,
    /// The time that they represent.
    pub ns: u64,
    /// For how much of that time the thread waited.
    pub waiting_ns: u64,
}

/// What a call was doing when it was sampled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Inside {
    /// The sample was in the code of the call.
    Itself,
    /// The call had called this method, if the method is known.
    Method(Option<MethodId>),
    /// There is no stack, for this reason.
    Missed(&'static str),
}

impl LineSamples {
    /// A sample that was taken in a call of a method, or outside of all calls.
    #[must_use]
    pub fn new(sample: &StackSample, samples: &StackSamples, call: Option<MethodId>) -> Self {
        let innermost = samples.frames(sample).next();
        let inside = match (sample.missed(), innermost) {
            (Some(cause), _) => Inside::Missed(cause.name()),
            (None, Some(frame)) if call.is_some() && frame.method == call => Inside::Itself,
            (None, frame) => Inside::Method(frame.and_then(|frame| frame.method)),
        };
        let line = call.and_then(|call| samples.frame_of(sample, call));
        let (count, ns, waiting_ns) = (sample.intervals(), sample.ns(), sample.waiting_ns());
        Self { line, inside, count, ns, waiting_ns }
    }

    /// The number of the line, if it is known.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        self.line.and_then(|line| line.line)
    }

    /// Adds later ones, if they are of the same line.
    pub fn add(&mut self, later: &Self) -> bool {
        let is_same = (self.number(), self.inside) == (later.number(), later.inside);
        if is_same {
            self.count = self.count.saturating_add(later.count);
            self.ns = self.ns.saturating_add(later.ns);
            self.waiting_ns = self.waiting_ns.saturating_add(later.waiting_ns);
        }
        is_same
    }
}
