//! A call with all that it called, or a value of a context, and what these handed to other threads.

mod reached;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;

use flow_codec::format::marks::Position;
use flow_codec::format::roles::{MethodRole, PresetRole};
use flow_codec::read::{Stamp, ThreadFile, Timeline, Trace, VisitTimeline, When};
use flow_codec::{MethodId, Offset, ThreadId};

use self::reached::{InThread, Links};
use super::call::SelectedCall;
use crate::Error;
use crate::analysis::{
    CONTEXT, ContextSpan, FindContexts, FindHandOvers, HANDOVERS, HandOvers, roles_in,
};
use crate::reading::{Listener, Soundness, read_thread};
use crate::select::{CallPlace, ContextPattern, Selected, start_ns, thread_title};

/// What belongs to a call, or to a value of a context: the events themselves, what these handed to other threads, and so on.
#[derive(Debug)]
pub struct Request {
    parts: Vec<RequestPart>,
}

/// A part of a thread that belongs to a request.
#[derive(Clone, Debug)]
pub struct RequestPart {
    /// The events.
    file: ThreadFile,
    ranges: Vec<Range<Position>>,
    /// The call that handed it over; of the first part none.
    given: Option<GivenBy>,
}

/// The call that handed a part over.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GivenBy {
    /// The call.
    pub call: CallPlace,
    /// Where it is in its thread.
    pub at: Offset,
    /// When it began.
    pub given: When,
    /// When the part began.
    pub taken: When,
    /// Whether another call may have handed it over.
    pub is_guessed: bool,
}

/// The roles of a preset, without which there is no answer.
fn recorded(
    trace: &Trace,
    preset: &str,
    what: &'static str,
    flag: &'static str,
) -> Result<HashMap<MethodId, MethodRole>, Error> {
    let roles = roles_in(trace, preset);
    match roles.is_empty() {
        true => Err(Error::NotRecorded { path: trace.dir().to_path_buf(), what, flag }),
        false => Ok(roles),
    }
}

/// Reads what the threads of a trace work for, and when.
///
/// # Errors
/// That was not recorded.
fn read_contexts(
    trace: &Trace,
    listener: &mut impl Listener,
) -> Result<(Vec<ContextSpan>, Soundness), Error> {
    let roles = recorded(trace, CONTEXT, "what threads work for", "--context")?;
    let has_objects = roles.values().any(|role| role.role() == PresetRole::Made);
    let mut visitor = FindContexts::new(trace.methods(), roles);
    let (begin, end) = (FindContexts::begin_thread, FindContexts::end_thread);
    if has_objects {
        // An object may be made in a thread that is read after one that uses it.
        read_all(trace, &mut (), &mut visitor, begin, end);
        visitor.begin_again();
    }
    let soundness = read_all(trace, listener, &mut visitor, begin, end);
    Ok((visitor.end(), soundness))
}

/// The values that the context of a trace's threads had.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ContextSum {
    /// The key.
    pub key: Rc<str>,
    /// The value.
    pub value: Rc<str>,
    /// The thread in which a key had the value first.
    pub thread: ThreadId,
    /// The number of the first call then.
    pub call: u64,
    /// When it had the value first.
    pub begun: When,
    /// When what belongs to the value ended.
    pub ended: When,
    /// In how many threads something belongs to it.
    pub threads: usize,
    /// How many calls belong to it.
    pub calls: u64,
    /// How many calls exceptions ended while a thread had the value.
    pub thrown: u64,
}

/// Returns the values that the context of a trace's threads had, in the order in which they began, with what threads handed to others
/// meanwhile, if that was recorded.
///
/// # Errors
/// No contexts were recorded.
pub fn sum_contexts(
    trace: &Trace,
    listener: &mut impl Listener,
) -> Result<(Vec<ContextSum>, Soundness), Error> {
    let (spans, of_contexts) = read_contexts(trace, listener)?;
    let (hand_overs, of_hand_overs) = hand_overs_if_recorded(trace, listener)?;
    let soundness = of_contexts.and(of_hand_overs);
    let mut of_values: BTreeMap<(Rc<str>, Rc<str>), Vec<ContextSpan>> = BTreeMap::new();
    for span in spans {
        of_values.entry((span.key.clone(), span.value.clone())).or_default().push(span);
    }
    let links = Links::of(&hand_overs);
    let sum = |spans: Vec<ContextSpan>| sum(&spans, &links, &hand_overs);
    let mut sums: Vec<_> = of_values.into_values().filter_map(sum).collect();
    sums.sort_by_key(|sum| (sum.begun.estimate_ns, sum.thread, sum.call));
    Ok((sums, soundness))
}

/// Adds up the spans of a value.
fn sum(spans: &[ContextSpan], links: &Links<'_>, hand_overs: &HandOvers) -> Option<ContextSum> {
    let first = spans.iter().min_by_key(|span| span.begun.estimate_ns)?;
    let events: Vec<InThread> =
        spans.iter().map(|span| (span.thread, span.range.clone())).collect();
    let reached = links.reached_from(&events);
    let mut threads: BTreeSet<ThreadId> = spans.iter().map(|span| span.thread).collect();
    let mut calls = 0;
    // A task that sets the value again is a part of what was handed over.
    for (span, events) in spans.iter().zip(&events) {
        if !links.is_inside(&reached, events) {
            calls += links.calls_without_others(events, &span.calls);
        }
    }
    let mut ended = spans.iter().map(|span| span.ended).max_by_key(|at| at.estimate_ns)?;
    for section in reached.parts().filter_map(|number| hand_overs.sections().get(number)) {
        threads.insert(section.thread);
        let events = (section.thread, section.range.clone());
        calls += links.calls_without_others(&events, &section.numbers);
        if section.ended.estimate_ns > ended.estimate_ns {
            ended = section.ended;
        }
    }
    Some(ContextSum {
        key: first.key.clone(),
        value: first.value.clone(),
        thread: first.thread,
        call: first.calls.start,
        begun: first.begun,
        ended,
        threads: threads.len(),
        calls,
        thrown: spans.iter().map(|span| span.thrown).sum(),
    })
}

/// Passes the timelines of all threads, with values, to a visitor.
fn read_all<V: VisitTimeline>(
    trace: &Trace,
    listener: &mut impl Listener,
    visitor: &mut V,
    begin: impl Fn(&mut V, ThreadId),
    end: impl Fn(&mut V, Stamp),
) -> Soundness {
    let mut soundness = Soundness::Whole;
    let all = Selected::all();
    for file in trace.files().iter().filter(|file| file.bytes() > 0) {
        begin(visitor, file.id());
        let timeline = all.timeline(file, start_ns(trace, file)).map(Timeline::with_values);
        let reading = read_thread(file, timeline, listener, visitor, |visitor, timeline| {
            end(visitor, timeline.now());
        });
        soundness = soundness.and(reading.report(file, listener));
    }
    soundness
}

/// Reads what the threads of a trace hand to each other.
///
/// # Errors
/// That was not recorded.
fn read_hand_overs(
    trace: &Trace,
    listener: &mut impl Listener,
) -> Result<(HandOvers, Soundness), Error> {
    let what = "what threads hand to each other";
    let roles = recorded(trace, HANDOVERS, what, "--handovers")?;
    let mut visitor = FindHandOvers::new(roles);
    let (begin, end) = (FindHandOvers::begin_thread, FindHandOvers::end_thread);
    let soundness = read_all(trace, listener, &mut visitor, begin, end);
    Ok((visitor.end(), soundness))
}

/// What the threads of a trace hand to each other; nothing if that was not recorded.
fn hand_overs_if_recorded(
    trace: &Trace,
    listener: &mut impl Listener,
) -> Result<(HandOvers, Soundness), Error> {
    match read_hand_overs(trace, listener) {
        Err(Error::NotRecorded { .. }) => Ok((HandOvers::default(), Soundness::Whole)),
        read => read,
    }
}

impl Request {
    /// Finds what belongs to a call of a trace.
    ///
    /// # Errors
    /// There is no such call, or it was not recorded what threads hand to each other.
    pub(super) fn of_call(
        call: CallPlace,
        trace: &mut Trace,
        listener: &mut impl Listener,
    ) -> Result<Self, Error> {
        let (hand_overs, _) = read_hand_overs(trace, listener)?;
        let (_, file, range) = SelectedCall::find(call, trace, listener)?;
        Ok(Self::of(&[(file.id(), range)], trace, &hand_overs))
    }

    /// Finds what belongs to a value of a context of a trace; what threads hand to each other only if that was recorded.
    ///
    /// # Errors
    /// No contexts were recorded.
    pub(super) fn of_context(
        wanted: &ContextPattern,
        trace: &Trace,
        listener: &mut impl Listener,
    ) -> Result<Self, Error> {
        let (spans, _) = read_contexts(trace, listener)?;
        let spans = spans.into_iter().filter(|span| wanted.is_of(&span.key, &span.value));
        let ranges: Vec<_> = spans.map(|span| (span.thread, span.range)).collect();
        let (hand_overs, _) = hand_overs_if_recorded(trace, listener)?;
        Ok(Self::of(&ranges, trace, &hand_overs))
    }

    fn of(ranges: &[InThread], trace: &Trace, hand_overs: &HandOvers) -> Self {
        let links = Links::of(hand_overs);
        let reached = links.reached_from(ranges);
        let files: HashMap<_, _> = trace.files().iter().map(|file| (file.id(), file)).collect();
        let mut parts = Vec::new();
        for events @ (thread, range) in ranges {
            let Some(file) = files.get(thread) else { continue };
            if links.is_inside(&reached, events) {
                continue;
            }
            let ranges = links.without_others(*thread, range.clone());
            parts.push(RequestPart { ranges, file: file.whole(), given: None });
        }
        for number in reached.parts() {
            let Some(section) = hand_overs.sections().get(number) else { continue };
            let Some(give) = hand_overs.give_of(section) else { continue };
            let Some(file) = files.get(&section.thread) else { continue };
            parts.push(RequestPart {
                file: file.whole(),
                ranges: links.without_others(section.thread, section.range.clone()),
                given: Some(GivenBy {
                    call: CallPlace::new(give.thread, give.number),
                    at: give.at,
                    given: give.time,
                    taken: section.time,
                    is_guessed: section.is_guessed,
                }),
            });
        }
        Self { parts }
    }

    /// What belongs to it: its own part first, each other one after that of the call that handed it over.
    #[must_use]
    pub fn parts(&self) -> &[RequestPart] {
        &self.parts
    }

    /// The threads of the request, each once, with nothing but its parts.
    pub(super) fn threads(&self, title: &str) -> Vec<ThreadFile> {
        let mut threads: BTreeMap<ThreadId, (usize, ThreadFile, Vec<Range<Position>>)> =
            BTreeMap::new();
        for (number, part) in self.parts.iter().enumerate() {
            let ranges = part.ranges.iter().cloned();
            let known = threads.entry(part.file.id());
            known.or_insert_with(|| (number, part.file.clone(), Vec::new())).2.extend(ranges);
        }
        let mut threads: Vec<_> = threads.into_values().collect();
        threads.sort_by_key(|(first, ..)| *first);
        let file = |(_, file, ranges): (usize, ThreadFile, Vec<Range<Position>>)| {
            file.only(title, &joined(ranges))
        };
        threads.into_iter().map(file).collect()
    }
}

impl RequestPart {
    /// The thread, with nothing but the part.
    #[must_use]
    pub fn file(&self) -> ThreadFile {
        self.file.only("", &self.ranges)
    }

    /// The thread, by its id and name.
    #[must_use]
    pub fn thread_title(&self, trace: &Trace) -> String {
        thread_title(trace, self.file.id())
    }

    /// The call that handed it over; of the first part none.
    #[must_use]
    pub fn given(&self) -> Option<&GivenBy> {
        self.given.as_ref()
    }
}

/// Ranges in order, those that overlap as one.
fn joined(mut ranges: Vec<Range<Position>>) -> Vec<Range<Position>> {
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, before| {
        let overlap = next.start < before.end;
        if overlap {
            before.end = before.end.max(next.end);
        }
        overlap
    });
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::handed_tests::found;

    /// The parts of other threads that belong to the events of a thread between two offsets, as their ranges without those of
    /// other requests.
    fn parts(threads: &[&str], (thread, range): (u64, Range<u64>)) -> Vec<String> {
        let found = found(threads);
        let at = |offset: u64| Position::before(Offset::new(offset));
        let ranges = [(ThreadId::new(thread), at(range.start)..at(range.end))];
        let links = Links::of(&found);
        let reached = links.reached_from(&ranges);
        let [own] = ranges.clone();
        let others = reached.parts().map(|number| {
            let section = &found.sections()[number];
            (section.thread, section.range.clone())
        });
        let shown = |(thread, range): (ThreadId, Range<Position>)| {
            let ranges = links.without_others(thread, range).into_iter();
            let ranges: Vec<_> = ranges
                .map(|range| {
                    let end = range.end.offset.get();
                    let end = if end == u64::MAX { "end".to_owned() } else { end.to_string() };
                    format!("{}..{end}", range.start.offset)
                })
                .collect();
            format!("{thread}: {}", ranges.join(" "))
        };
        std::iter::once(own).chain(others).map(shown).collect()
    }

    #[test]
    fn a_request_has_what_its_tasks_hand_on() {
        let threads = ["mG5)m)mG7))", "B5)mG6))E5)B7)m)E7)", "T6m))"];
        assert_eq!(parts(&threads, (1, 0..6)), ["1: 0..6", "2: 2..8", "3: 0..4"]);
        assert_eq!(parts(&threads, (1, 6..11)), ["1: 6..11", "2: 13..16"]);
    }

    #[test]
    fn a_thread_of_a_pool_does_not_belong_to_the_request_that_started_it() {
        // The first task starts the thread, the second one is of another request, and the thread does something of its own.
        let threads = ["mG5S2)))mG7))", "B5)m)E5)B7)m)E7)m)"];
        assert_eq!(parts(&threads, (1, 0..8)), ["1: 0..8", "2: 2..5", "2: 0..2 5..10 13..end"]);
        assert_eq!(parts(&threads, (1, 8..13)), ["1: 8..13", "2: 10..13"]);
    }

    #[test]
    fn what_runs_in_the_thread_that_hands_it_over_stays_in_its_place() {
        assert_eq!(parts(&["mG5)T5m)))"], (1, 0..9)), ["1: 0..9"]);
        // While it waits, a thread runs a task of another request.
        let threads = ["mG5)T6m))m))", "mG6)T5m)))"];
        assert_eq!(parts(&threads, (1, 0..12)), ["1: 0..4 8..12", "2: 4..8"]);
        assert_eq!(parts(&threads, (2, 0..9)), ["2: 0..4 8..9", "1: 4..8"]);
    }

    #[test]
    fn sections_in_which_nothing_happens_are_left_out() {
        assert_eq!(parts(&["mG5))", "T5))"], (1, 0..5)), ["1: 0..5"]);
        // Unless they hand on.
        let threads = ["mG5))", "T5G6)))", "T6m))"];
        assert_eq!(parts(&threads, (1, 0..5)).len(), 3);
    }
}
