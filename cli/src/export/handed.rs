//! What the exported calls of a thread hand to other threads, and which of them run what was handed over.

use std::ops::Range;

use flow_codec::ThreadId;
use flow_query::ask::{HandedCalls, HandedInThread, HandedPart};

/// The hand-overs of the current thread, call by call.
pub(super) struct Handed<'a> {
    all: &'a HandedCalls,
    /// What is handed over in the current thread, from the next call on.
    of_thread: HandedInThread,
    /// The parts that the last call is in, the innermost last; and whether an exported call was in each.
    inside: Vec<(HandedPart, bool)>,
    /// How many calls of the thread began before its last event; none at its beginning.
    calls: Option<u64>,
}

/// Something that a call hands over.
pub(super) struct Given {
    pub(super) number: u64,
    /// The part from elsewhere that the call is in: its number, and that of its first call.
    part: Option<(u64, u64)>,
}

/// What a call hands over and runs.
#[derive(Default)]
pub(super) struct OfCall {
    pub(super) given: Vec<Given>,
    /// The numbers of what it is the first exported call of.
    pub(super) begun: Vec<u64>,
}

impl Given {
    /// The number of the part that gives it, if the innermost open exported call, which has this number, is outside of that part.
    pub(super) fn part_inside(&self, open: Option<u64>) -> Option<u64> {
        let (part, first) = self.part?;
        open.is_none_or(|call| call < first).then_some(part)
    }
}

impl<'a> Handed<'a> {
    pub(super) fn new(all: &'a HandedCalls) -> Self {
        Self { all, of_thread: HandedInThread::default(), inside: Vec::new(), calls: None }
    }

    pub(super) fn begin_thread(&mut self, thread: ThreadId) {
        (self.of_thread, self.calls) = (self.all.of_thread(thread), None);
        self.inside.clear();
    }

    /// Returns whether there was an event in the current thread.
    pub(super) fn is_begun(&self) -> bool {
        self.calls.is_some()
    }

    /// What calls that are left out have handed over since the last event, before an event with this number of earlier calls; at
    /// the first event, also what was handed over before the part that is exported.
    pub(super) fn by_hidden(&mut self, calls: u64) -> Vec<Given> {
        let from = self.calls.replace(calls).unwrap_or_default();
        self.given(from..calls)
    }

    /// The next exported call is entered, which has this number.
    pub(super) fn enter(&mut self, call: u64) -> OfCall {
        self.calls = Some(call + 1);
        if self.has_none() {
            return OfCall::default();
        }
        self.reach(call);
        let begins = |(part, is_begun): &mut (HandedPart, bool)| {
            (!std::mem::replace(is_begun, true)).then_some(part.number)
        };
        let begun = self.inside.iter_mut().filter_map(begins).collect();
        OfCall { given: self.given(call..call + 1), begun }
    }

    /// Returns whether nothing is handed over or run in the rest of the thread.
    fn has_none(&self) -> bool {
        let HandedInThread { given, taken, .. } = &self.of_thread;
        self.inside.is_empty() && given.is_empty() && taken.is_empty()
    }

    /// The innermost part from elsewhere that the last call is in.
    pub(super) fn part(&self) -> Option<&HandedPart> {
        self.inside.iter().rev().map(|(part, _)| part).find(|part| part.is_elsewhere)
    }

    /// Ends and begins parts up to a call.
    fn reach(&mut self, call: u64) {
        self.inside.retain(|(part, _)| part.calls.end > call);
        let taken = &mut self.of_thread.taken;
        while let Some(part) = taken.pop_front_if(|part| part.calls.start <= call) {
            if part.calls.contains(&call) {
                self.inside.push((part, false));
            }
        }
    }

    fn given(&mut self, by: Range<u64>) -> Vec<Given> {
        let mut given = Vec::new();
        while let Some((call, number)) =
            self.of_thread.given.pop_front_if(|(call, _)| *call < by.end)
        {
            if by.contains(&call) {
                self.reach(call);
                let part = self.part().map(|part| (part.number, part.calls.start));
                given.push(Given { number, part });
            }
        }
        given
    }
}
