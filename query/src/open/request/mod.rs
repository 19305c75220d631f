//! A call with all that it called, or a value of a context, and what these handed to other threads.

mod reached;
mod values;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use flow_codec::format::marks::Position;
use flow_codec::format::roles::{MethodRole, PresetRole};
use flow_codec::read::{Bounds, ThreadFile, Trace, When};
use flow_codec::{MethodId, Offset, ThreadId};

pub(crate) use self::reached::{LinkedPart, LinkedValue, Links, PartOf};
pub(crate) use self::values::ContextSpans;
use self::values::OtherValues;
use super::call::SelectedCall;
use crate::Error;
use crate::analysis::{
    CONTEXT, ContextSpan, FindContexts, FindHandOvers, HANDOVERS, HandOvers, Section,
    recorded_roles,
};
use crate::reading::{Listener, Soundness, read_all_with_values};
use crate::select::{CallPlace, ContextPattern, thread_title};

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
    /// The key and value of the context that the thread had, `order=17`, if it is the part of one.
    context: Option<String>,
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

impl GivenBy {
    /// How long after the call the part began, if both times are known.
    #[must_use]
    pub fn delay(&self) -> Option<Bounds> {
        let is_known = self.given.estimate_ns.is_some() && self.taken.estimate_ns.is_some();
        is_known.then(|| self.given.bounds.until(self.taken.bounds))
    }
}

/// Returns the methods that say what threads work for, with their roles.
///
/// # Errors
/// That was not recorded.
pub(crate) fn recorded_contexts(trace: &Trace) -> Result<HashMap<MethodId, MethodRole>, Error> {
    recorded_roles(trace, CONTEXT, "what threads work for", "--context")
}

/// Reads what the threads of a trace work for, and when.
///
/// # Errors
/// That was not recorded.
pub(crate) fn read_contexts(
    trace: &Trace,
    listener: &mut impl Listener,
) -> Result<(Vec<ContextSpan>, Soundness), Error> {
    let roles = recorded_contexts(trace)?;
    let has_objects = roles.values().any(|role| role.role() == PresetRole::Made);
    let mut visitor = FindContexts::new(trace.methods(), roles.into());
    let (begin, end) = (FindContexts::begin_thread, FindContexts::end_thread);
    if has_objects {
        // An object may be made in a thread that is read after one that uses it.
        read_all_with_values(trace, &mut (), &mut visitor, begin, end);
        visitor.begin_again();
    }
    let soundness = read_all_with_values(trace, listener, &mut visitor, begin, end);
    Ok((visitor.end().0, soundness))
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
    let roles = recorded_roles(trace, HANDOVERS, what, "--handovers")?;
    let mut visitor = FindHandOvers::new(roles);
    let (begin, end) = (FindHandOvers::begin_thread, FindHandOvers::end_thread);
    let soundness = read_all_with_values(trace, listener, &mut visitor, begin, end);
    Ok((visitor.end(), soundness))
}

/// What the threads of a trace hand to each other; nothing if that was not recorded.
pub(crate) fn hand_overs_if_recorded(
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
        let links = Links::of(&hand_overs);
        let parts = links.parts_of(&[(file.id(), range)], OtherValues::NONE);
        Ok(Self { parts: parts_in(trace, &hand_overs, parts, None) })
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
        let (hand_overs, _) = hand_overs_if_recorded(trace, listener)?;
        let (links, spans) = (Links::of(&hand_overs), ContextSpans::of(spans));
        let mut parts = Vec::new();
        let is_wanted = |key: &str, value: &str| wanted.is_of(key, value);
        for LinkedValue { key, value, parts: of_value, .. } in links.of_values(&spans, is_wanted) {
            let context = format!("{key}={value}");
            parts.extend(parts_in(trace, &hand_overs, of_value, Some(&context)));
        }
        Ok(Self { parts })
    }

    /// All that the threads of a trace did, as one tree: what nothing handed over first. Without parts if it was not recorded what
    /// threads hand to each other, or if they handed over nothing.
    #[must_use]
    pub fn of_all(trace: &Trace, listener: &mut impl Listener) -> Self {
        let hand_overs = hand_overs_if_recorded(trace, listener);
        let hand_overs = hand_overs.map_or_else(|_| HandOvers::default(), |(read, _)| read);
        let parts = parts_in(trace, &hand_overs, Links::of(&hand_overs).all_parts(), None);
        let is_handed = parts.iter().any(|part| part.given.is_some());
        Self { parts: if is_handed { parts } else { Vec::new() } }
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

/// Finds the threads of parts. `context` is what the own parts are of.
fn parts_in(
    trace: &Trace,
    hand_overs: &HandOvers,
    parts: Vec<LinkedPart<'_>>,
    context: Option<&str>,
) -> Vec<RequestPart> {
    let files: HashMap<_, _> = trace.files().iter().map(|file| (file.id(), file)).collect();
    let given = |section: &Section| {
        let give = hand_overs.give_of(section)?;
        Some(GivenBy {
            call: CallPlace::new(give.thread, give.number),
            at: give.at,
            given: give.time,
            taken: section.time,
            is_guessed: section.is_guessed,
        })
    };
    let part = |LinkedPart { thread, ranges, of }| {
        let (context, given) = match of {
            PartOf::Events(_) => (context.map(str::to_owned), None),
            PartOf::Section(section, _) => (None, Some(given(section)?)),
        };
        Some(RequestPart { file: files.get(&thread)?.whole(), ranges, context, given })
    };
    parts.into_iter().filter_map(part).collect()
}

impl RequestPart {
    /// The thread, with nothing but the part.
    #[must_use]
    pub fn file(&self) -> ThreadFile {
        self.file.only("", &self.ranges)
    }

    /// The thread.
    #[doc(hidden)]
    #[must_use]
    pub fn thread(&self) -> ThreadId {
        self.file.id()
    }

    /// The events, in order: those of each range, without those of parts inside it.
    #[doc(hidden)]
    #[must_use]
    pub fn ranges(&self) -> &[Range<Position>] {
        &self.ranges
    }

    /// The thread, by its id and name.
    #[must_use]
    pub fn thread_title(&self, trace: &Trace) -> String {
        thread_title(trace, self.file.id())
    }

    /// The key and value of the context that the thread had, `order=17`, if it is the part of one.
    #[must_use]
    pub fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// The call that handed it over; of the first part none.
    #[doc(hidden)]
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
    fn parts(threads: &[&str], events: (u64, Range<u64>)) -> Vec<String> {
        parts_without(threads, events, OtherValues::NONE)
    }

    fn parts_without(
        threads: &[&str],
        (thread, range): (u64, Range<u64>),
        others: OtherValues<'_>,
    ) -> Vec<String> {
        let found = found(threads);
        let at = |offset: u64| Position::before(Offset::new(offset));
        let events = [(ThreadId::new(thread), at(range.start)..at(range.end))];
        Links::of(&found).parts_of(&events, others).into_iter().map(shown_part).collect()
    }

    fn shown_part(LinkedPart { thread, ranges, .. }: LinkedPart<'_>) -> String {
        let ranges: Vec<_> = ranges
            .into_iter()
            .map(|range| {
                let end = range.end.offset.get();
                let end = if end == u64::MAX { "end".to_owned() } else { end.to_string() };
                format!("{}..{end}", range.start.offset)
            })
            .collect();
        format!("{thread}: {}", ranges.join(" "))
    }

    #[test]
    fn a_task_that_sets_another_value_belongs_to_that_one_meanwhile() {
        let threads = ["mG5)m)", "B5)m)mG7))m)E5)", "T7m))"];
        assert_eq!(parts(&threads, (1, 0..6)), ["1: 0..6", "2: 2..12", "3: 0..4"]);
        let at = |offset: u64| Position::before(Offset::new(offset));
        let span = |value: &str, thread, range: Range<u64>| ContextSpan {
            thread: ThreadId::new(thread),
            key: "order".into(),
            value: value.into(),
            range: at(range.start)..at(range.end),
            calls: 2..4,
            begun: When::UNKNOWN,
            ended: When::UNKNOWN,
            thrown: 0,
        };
        let spans = ContextSpans::of(vec![span("1", 1, 0..6), span("2", 2, 5..10)]);
        let others = spans.others("order", "1");
        assert_eq!(parts_without(&threads, (1, 0..6), others), ["1: 0..6", "2: 2..5 10..12"]);
        let others = spans.others("user", "eve");
        assert_eq!(parts_without(&threads, (1, 0..6), others).len(), 3);
        // The values that it has itself do not end it.
        let others = spans.others("order", "2");
        assert_eq!(parts_without(&threads, (2, 5..10), others), ["2: 5..10", "3: 0..4"]);
    }

    #[test]
    fn a_task_that_begins_where_its_thread_does_is_no_part_of_the_thread() {
        // The thread runs the task of another request first, and then does something of its own.
        let threads = ["mG5S2)))mG7))", "B7)m)E7)m)"];
        assert_eq!(parts(&threads, (1, 0..8)), ["1: 0..8", "2: 0..2 5..end"]);
        assert_eq!(parts(&threads, (1, 8..13)), ["1: 8..13", "2: 2..5"]);
        assert_eq!(parts(&["mS2G5)))", "T5m))"], (1, 0..8)), ["1: 0..8", "2: 0..4"]);
        let threads = ["mS2G5)))", "T5m))m)"];
        assert_eq!(parts(&threads, (1, 0..8)), ["1: 0..8", "2: 4..end", "2: 0..4"]);
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
    fn what_a_thread_runs_after_the_call_that_handed_it_over_belongs_to_that_call() {
        // A servlet that dispatches, and whose thread continues; an event loop that runs what its handler gave it.
        let own = "mmG5))mT5m))))";
        assert_eq!(parts(&[own], (1, 1..6)), ["1: 1..6", "1: 7..11"]);
        assert_eq!(parts(&[own], (1, 6..13)), ["1: 6..7 11..13"]);
        assert_eq!(all(&[own]), ["1: 0..7 11..end", "⇢ 1: 7..11"]);
        // One that was handed over inside another hand-over.
        assert_eq!(all(&["mG5G6))T6m)))"]), ["1: 0..7 11..end", "⇢ 1: 7..11"]);
        assert_eq!(parts(&["mG5))B5)m)E5)m)"], (1, 0..5)), ["1: 0..5", "1: 7..10"]);
    }

    /// All parts, as their threads and ranges, and whether each was handed over.
    fn all(threads: &[&str]) -> Vec<String> {
        let found = found(threads);
        let shown = |part: LinkedPart<'_>| {
            let is_handed = matches!(part.of, PartOf::Section(..));
            format!("{}{}", if is_handed { "⇢ " } else { "" }, shown_part(part))
        };
        Links::of(&found).all_parts().into_iter().map(shown).collect()
    }

    #[test]
    fn all_events_of_all_threads_are_in_one_part_each() {
        // The first thread starts the second one and gives it a task, and the third one does something of its own.
        let threads = ["mS2G5)))", "mB5)m)E5)m))", "mm))"];
        assert_eq!(all(&threads), ["1: 0..end", "3: 0..end", "⇢ 2: 3..6", "⇢ 2: 0..3 6..end"]);
        // Two tasks that hand over each other, which cannot be.
        let each_other = all(&["T5G6)m))", "T6G5)m))"]);
        assert_eq!(each_other, ["1: 7..end", "2: 0..end", "⇢ 1: 0..7"]);
        // The same, but a part of one of them looked as if it came from elsewhere.
        let circle = all(&["T7G5)m))", "mT5T6G7)m)))G6))"]);
        assert_eq!(circle, ["1: 7..end", "2: 0..1 11..end", "1: 0..7", "⇢ 2: 1..11"]);
    }

    #[test]
    fn sections_in_which_nothing_happens_are_left_out() {
        assert_eq!(parts(&["mG5))", "T5))"], (1, 0..5)), ["1: 0..5"]);
        // Unless they hand on.
        let threads = ["mG5))", "T5G6)))", "T6m))"];
        assert_eq!(parts(&threads, (1, 0..5)).len(), 3);
    }
}
