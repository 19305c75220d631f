//! In which order threads made the calls before the first difference.

use std::collections::VecDeque;

use flow_codec::format::manifest::Timing;
use flow_codec::read::{EventKind, MergedItem, Trace};
use flow_codec::{MethodNames, NameForm};

use super::{DifferingThread, RunDifferences};
use crate::open::Traces;
use crate::select::thread_name;
use crate::shapes::JoinedThread;

/// A call among those of several threads.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ThreadTurn {
    /// The name of the thread.
    pub thread: String,
    /// The short name of the method.
    pub method: String,
    /// Whether the calls of other threads above it certainly came before it.
    pub is_certain: bool,
}

impl RunDifferences {
    /// The last calls of all threads until the first difference, on both sides: at most `most`, the call that differs last. Of
    /// several threads that differ, the first that is not the first thread of its trace counts, so of a test one of its helpers. `None` if
    /// there is one thread only, or if it was not recorded in which order threads ran.
    #[doc(hidden)]
    #[must_use]
    pub fn turns(&self, runs: [&Traces; 2], most: usize) -> Option<[Vec<ThreadTurn>; 2]> {
        let is_helper = |of: &&DifferingThread| {
            self.threads(of).iter().flatten().all(|thread| thread.place.1 > 0)
        };
        let of = self.differing.iter().find(is_helper).or(self.differing.first())?;
        let numbers = of.first_numbers()?;
        let [Some(before), Some(after)] = self.threads(of) else { return None };
        let side = |side: usize, thread: &JoinedThread| {
            turns(runs.get(side)?.get(thread.place.0)?, thread.place.1, numbers[side], most)
        };
        Some([side(0, before)?, side(1, after)?])
    }
}

impl DifferingThread {
    /// The numbers of the call at which the two sides part.
    fn first_numbers(&self) -> Option<[u64; 2]> {
        let of_value = self.values.first().map(|value| value.first.numbers);
        if self.values.is_before_calls {
            return of_value;
        }
        let of_call = self.comparison.differences().first().map(|difference| {
            let [before, after] = difference.numbers;
            let shift = difference.shifts.first();
            // Calls before the first that only one side made are the same.
            let inside = shift.map_or(0, |shift| {
                shift.number.saturating_sub(if shift.is_added { after } else { before })
            });
            [before.saturating_add(inside), after.saturating_add(inside)]
        });
        of_call.or(of_value)
    }
}

/// The last calls of all threads until a thread, given as an index, makes a call with this number.
fn turns(trace: &Trace, thread: usize, number: u64, most: usize) -> Option<Vec<ThreadTurn>> {
    let is_exact = trace.manifest().is_some_and(|manifest| manifest.timing == Timing::Exact);
    if trace.files().len() < 2 || !(trace.has_numbers() || is_exact) {
        return None;
    }
    let (mut last, mut calls) = (VecDeque::new(), 0);
    for item in trace.merged() {
        let MergedItem::Event { thread: of, event, is_certain } = item else { continue };
        let EventKind::Enter(method) = event.kind else { continue };
        if last.len() == most {
            last.pop_front();
        }
        last.push_back((of, method, is_certain));
        if of == thread && calls == number {
            break;
        }
        calls += u64::from(of == thread);
    }
    let names = MethodNames::new(trace.methods());
    let turn = |(thread, method, is_certain): (usize, _, _)| {
        let file = trace.files().get(thread);
        ThreadTurn {
            thread: file.map_or("", |file| thread_name(trace, file.id())).to_owned(),
            method: names.get(method, NameForm::Short),
            is_certain,
        }
    };
    Some(last.into_iter().map(turn).collect())
}
