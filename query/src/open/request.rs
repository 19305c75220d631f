//! A call with all that it called, and what it handed to other threads.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use flow_codec::format::marks::Position;
use flow_codec::read::{ThreadFile, Timeline, Trace, When};
use flow_codec::{Offset, ThreadId};

use super::call::SelectedCall;
use crate::Error;
use crate::analysis::{FindHandOvers, Give, HANDOVERS, HandOvers, roles_in};
use crate::reading::{Listener, Soundness, read_thread};
use crate::select::{CallPlace, Selected, start_ns, thread_title};

/// What belongs to a call: it and what it called, what it handed to other threads, and so on.
#[derive(Debug)]
pub struct Request {
    call: SelectedCall,
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

/// Reads what the threads of a trace hand to each other.
///
/// # Errors
/// That was not recorded.
pub fn read_hand_overs(
    trace: &Trace,
    listener: &mut impl Listener,
) -> Result<(HandOvers, Soundness), Error> {
    let roles = roles_in(trace, HANDOVERS);
    if roles.is_empty() {
        return Err(Error::NotRecorded {
            path: trace.dir().to_path_buf(),
            what: "what threads hand to each other",
            flag: "--handovers",
        });
    }
    let mut soundness = Soundness::Whole;
    let mut visitor = FindHandOvers::new(roles);
    let all = Selected::all();
    for file in trace.files().iter().filter(|file| file.bytes() > 0) {
        visitor.begin_thread(file.id());
        let timeline = all.timeline(file, start_ns(trace, file)).map(Timeline::with_values);
        let reading = read_thread(file, timeline, listener, &mut visitor, |visitor, timeline| {
            visitor.end_thread(timeline.now());
        });
        soundness = soundness.and(reading.report(file, listener));
    }
    Ok((visitor.end(), soundness))
}

impl Request {
    /// Finds what belongs to a call of a trace.
    ///
    /// # Errors
    /// There is no such call, or it was not recorded what threads hand to each other.
    pub(super) fn find(
        call: CallPlace,
        trace: &mut Trace,
        listener: &mut impl Listener,
    ) -> Result<Self, Error> {
        let (hand_overs, _) = read_hand_overs(trace, listener)?;
        let (selected, file, range) = SelectedCall::find(call, trace, listener)?;
        let reached = Reached::from(&hand_overs, call.thread(), &range);
        let mut parts = vec![RequestPart {
            ranges: reached.without_others(call.thread(), range.clone()),
            file,
            given: None,
        }];
        for number in reached.parts() {
            let Some(section) = hand_overs.sections().get(number) else { continue };
            let Some(give) = hand_overs.give_of(section) else { continue };
            let of_thread = |file: &&ThreadFile| file.id() == section.thread;
            let Some(file) = trace.files().iter().find(of_thread) else { continue };
            parts.push(RequestPart {
                file: file.whole(),
                ranges: reached.without_others(section.thread, section.range.clone()),
                given: Some(GivenBy {
                    call: CallPlace::new(give.thread, give.number),
                    at: give.at,
                    given: give.time,
                    taken: section.time,
                    is_guessed: section.is_guessed,
                }),
            });
        }
        Ok(Self { call: selected, parts })
    }

    /// The call.
    #[must_use]
    pub fn call(&self) -> &SelectedCall {
        &self.call
    }

    /// What belongs to it: its own part first, each other one after that of the call that handed it over.
    #[must_use]
    pub fn parts(&self) -> &[RequestPart] {
        &self.parts
    }

    /// The threads of the request, each once, with nothing but its parts.
    pub(super) fn threads(&self) -> Vec<ThreadFile> {
        let mut threads: BTreeMap<ThreadId, (usize, ThreadFile, Vec<Range<Position>>)> =
            BTreeMap::new();
        for (number, part) in self.parts.iter().enumerate() {
            let ranges = part.ranges.iter().cloned();
            let known = threads.entry(part.file.id());
            known.or_insert_with(|| (number, part.file.clone(), Vec::new())).2.extend(ranges);
        }
        let mut threads: Vec<_> = threads.into_values().collect();
        threads.sort_by_key(|(first, ..)| *first);
        let of_call = format!("request {}", self.call.number);
        let file = |(_, file, mut ranges): (usize, ThreadFile, Vec<Range<Position>>)| {
            ranges.sort_by_key(|range| range.start);
            file.only(&of_call, &ranges)
        };
        threads.into_iter().map(file).collect()
    }
}

impl RequestPart {
    /// The thread, with nothing but the part.
    #[must_use]
    pub fn file(&self, title: &str) -> ThreadFile {
        self.file.only(title, &self.ranges)
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

/// The sections that belong to a call.
struct Reached<'a> {
    hand_overs: &'a HandOvers,
    /// The section that each belongs to: itself, if it is known who handed it over.
    owners: Vec<usize>,
    /// The sections, each after that of its give.
    all: Vec<usize>,
    is_reached: Vec<bool>,
    /// Whether anything happens in a section, or in those that it hands over.
    is_needed: Vec<bool>,
    /// The sections of each thread, which follow each other in the order of their beginnings.
    of_threads: HashMap<ThreadId, Range<usize>>,
    thread: ThreadId,
    range: Range<Position>,
}

impl<'a> Reached<'a> {
    fn from(hand_overs: &'a HandOvers, thread: ThreadId, range: &Range<Position>) -> Self {
        let (gives, sections) = (hand_overs.gives(), hand_overs.sections());
        let mut owners: Vec<usize> = Vec::with_capacity(sections.len());
        // A section comes after the one around it. What runs where it was handed over is a part of what is around.
        for (number, section) in sections.iter().enumerate() {
            let around = section.around.and_then(|around| owners.get(around).copied());
            let give = section.give.and_then(|give| gives.get(give));
            let is_here = |give: &Give| {
                give.thread == section.thread && owners.get(give.section()).copied() == around
            };
            let stays = give.is_none_or(is_here);
            owners.push(around.filter(|_| stays).unwrap_or(number));
        }
        let count = sections.len();
        let mut of_threads: HashMap<ThreadId, Range<usize>> = HashMap::new();
        for (number, section) in sections.iter().enumerate() {
            of_threads.entry(section.thread).or_insert(number..number).end = number + 1;
        }
        let mut reached = Self {
            hand_overs,
            owners,
            all: Vec::new(),
            is_reached: vec![false; count],
            is_needed: vec![false; count],
            of_threads,
            thread,
            range: range.clone(),
        };
        reached.find_all();
        reached
    }

    /// Returns whether a position is in the call itself, in no section of another give.
    fn is_in_call(&self, thread: ThreadId, at: Position, section: usize) -> bool {
        let owner =
            self.owners.get(section).and_then(|owner| self.hand_overs.sections().get(*owner));
        thread == self.thread
            && self.range.contains(&at)
            && owner.is_some_and(|owner| owner.range.start <= self.range.start)
    }

    fn find_all(&mut self) {
        let (gives, sections) = (self.hand_overs.gives(), self.hand_overs.sections());
        let mut of_owners: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut of_gives: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut of_call = Vec::new();
        for (number, give) in gives.iter().enumerate() {
            if self.is_in_call(give.thread, Position::before(give.at), give.section()) {
                of_call.push(number);
            } else if let Some(owner) = self.owners.get(give.section()) {
                of_owners.entry(*owner).or_default().push(number);
            }
        }
        for (number, section) in sections.iter().enumerate() {
            section
                .give
                .into_iter()
                .for_each(|give| of_gives.entry(give).or_default().push(number));
        }
        let mut next: Vec<usize> = of_call.into_iter().rev().collect();
        while let Some(give) = next.pop() {
            for section in of_gives.get(&give).into_iter().flatten() {
                let is_own = self.owners.get(*section) == Some(section);
                let Some(is_reached) = self.is_reached.get_mut(*section) else { continue };
                if is_own && !std::mem::replace(is_reached, true) {
                    self.all.push(*section);
                    next.extend(of_owners.get(section).into_iter().flatten().rev());
                }
            }
        }
        let mut calls: HashMap<usize, u64> = HashMap::new();
        for (section, owner) in sections.iter().zip(&self.owners) {
            *calls.entry(*owner).or_default() += section.calls;
        }
        for number in self.all.iter().rev() {
            let gives = of_owners.get(number).into_iter().flatten();
            let mut given = gives.filter_map(|give| of_gives.get(give)).flatten();
            let is_needed = calls.get(number).is_some_and(|calls| *calls > 0)
                || given.any(|section| self.is_needed.get(*section).is_some_and(|needed| *needed));
            if let Some(needed) = self.is_needed.get_mut(*number) {
                *needed = is_needed;
            }
        }
    }

    /// The sections that belong to the call, without those in which nothing happens.
    fn parts(&self) -> impl Iterator<Item = usize> {
        let is_needed = |number: &usize| self.is_needed.get(*number).copied().unwrap_or_default();
        self.all.iter().copied().filter(is_needed)
    }

    /// A range without the sections in it that were handed over from elsewhere.
    fn without_others(&self, thread: ThreadId, range: Range<Position>) -> Vec<Range<Position>> {
        let of_thread = self.of_threads.get(&thread).cloned().unwrap_or_default();
        let sections = self.hand_overs.sections().get(of_thread.clone()).unwrap_or_default();
        let inside = |at: Position| sections.partition_point(|section| section.range.start <= at);
        let inside = inside(range.start)..inside(range.end).max(inside(range.start));
        let others = inside.filter_map(|number| {
            let is_own =
                self.owners.get(of_thread.start + number) == Some(&(of_thread.start + number));
            sections.get(number).filter(|_| is_own)
        });
        let (mut ranges, mut start) = (Vec::new(), range.start);
        for other in others {
            if other.range.start > start {
                ranges.push(start..other.range.start);
            }
            start = start.max(other.range.end.min(range.end));
        }
        if start < range.end {
            ranges.push(start..range.end);
        }
        ranges
    }
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
        let range = at(range.start)..at(range.end);
        let reached = Reached::from(&found, ThreadId::new(thread), &range);
        let own = (ThreadId::new(thread), range);
        let others = reached.parts().map(|number| {
            let section = &found.sections()[number];
            (section.thread, section.range.clone())
        });
        let shown = |(thread, range): (ThreadId, Range<Position>)| {
            let ranges = reached.without_others(thread, range).into_iter();
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
        assert_eq!(parts(&threads, (1, 0..6)), ["1: 0..6", "2: 2..9", "3: 0..4"]);
        assert_eq!(parts(&threads, (1, 6..11)), ["1: 6..11", "2: 14..17"]);
    }

    #[test]
    fn a_thread_of_a_pool_does_not_belong_to_the_request_that_started_it() {
        // The first task starts the thread, the second one is of another request, and the thread does something of its own.
        let threads = ["mG5S2)))mG7))", "B5)m)E5)B7)m)E7)m)"];
        assert_eq!(parts(&threads, (1, 0..8)), ["1: 0..8", "2: 0..8 14..end"]);
        assert_eq!(parts(&threads, (1, 8..13)), ["1: 8..13", "2: 10..13"]);
    }

    #[test]
    fn what_runs_in_the_thread_that_hands_it_over_stays_in_its_place() {
        assert_eq!(parts(&["mG5)T5m)))"], (1, 0..9)), ["1: 0..9"]);
        // While it waits, a thread runs a task of another request.
        let threads = ["mG5)T6m))m))", "mG6)T5m)))"];
        assert_eq!(parts(&threads, (1, 0..12)), ["1: 0..4 8..12", "2: 4..7"]);
        assert_eq!(parts(&threads, (2, 0..9)), ["2: 0..4 7..9", "1: 4..7"]);
    }

    #[test]
    fn sections_in_which_nothing_happens_are_left_out() {
        assert_eq!(parts(&["mG5))", "T5))"], (1, 0..5)), ["1: 0..5"]);
        // Unless they hand on.
        let threads = ["mG5))", "T5G6)))", "T6m))"];
        assert_eq!(parts(&threads, (1, 0..5)).len(), 3);
    }
}
