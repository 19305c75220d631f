//! Which sections of threads follow from some events, by what threads hand to each other.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use flow_codec::ThreadId;
use flow_codec::format::marks::Position;

use super::values::{ContextSpans, OtherValues};
use crate::analysis::{ContextSpan, Give, HandOvers, Section};

/// Some events of a thread.
pub(crate) type InThread = (ThreadId, Range<Position>);

/// What threads hand to each other, to be followed from any events.
pub(crate) struct Links<'a> {
    hand_overs: &'a HandOvers,
    /// The section that each belongs to: itself, if it was handed over from elsewhere.
    owners: Vec<usize>,
    /// The gives in each section that is its own owner.
    of_owners: HashMap<usize, Vec<usize>>,
    /// The sections of each give.
    of_gives: HashMap<usize, Vec<usize>>,
    /// The gives of each thread, in order.
    of_threads: HashMap<ThreadId, Vec<usize>>,
    /// The sections of each thread, which follow each other in the order of their beginnings.
    sections: HashMap<ThreadId, Range<usize>>,
    /// How many calls each owner has that hand over and run nothing.
    calls: HashMap<usize, u64>,
}

/// A part of a thread that some events belong to, or that follows from them.
pub(crate) struct LinkedPart<'a> {
    pub(crate) thread: ThreadId,
    /// The events, without those that were handed over from elsewhere.
    pub(crate) ranges: Vec<Range<Position>>,
    pub(crate) of: PartOf<'a>,
}

/// What a part is.
pub(crate) enum PartOf<'a> {
    /// One of the events' ranges, by its number.
    Events(usize),
    /// What was handed over, and how many calls of it are in the ranges.
    Section(&'a Section, u64),
}

/// A value of a key, and what belongs to it.
pub(crate) struct LinkedValue<'s, 'l> {
    pub(crate) key: &'s str,
    pub(crate) value: &'s str,
    /// Where a thread has it, in the order in which these spans began.
    pub(crate) spans: Vec<&'s ContextSpan>,
    /// The events of each span.
    pub(crate) events: Vec<InThread>,
    pub(crate) parts: Vec<LinkedPart<'l>>,
}

/// The sections that follow from some events.
#[derive(Default)]
pub(super) struct Reached {
    /// All of them, each after that of its give.
    all: Vec<usize>,
    /// The sections in which something happens, or in those that they hand over.
    needed: HashSet<usize>,
    reached: HashSet<usize>,
}

impl<'a> Links<'a> {
    pub(crate) fn of(hand_overs: &'a HandOvers) -> Self {
        let (gives, sections) = (hand_overs.gives(), hand_overs.sections());
        let mut owners: Vec<usize> = Vec::with_capacity(sections.len());
        // A section comes after the one around it. What runs in the call that handed it over is a part of what is around.
        for (number, section) in sections.iter().enumerate() {
            let around = section.around.and_then(|around| owners.get(around).copied());
            let give = section.give.and_then(|give| gives.get(give));
            let is_here = |give: &Give| {
                give.is_around(section) && owners.get(give.section()).copied() == around
            };
            let stays = give.is_none_or(is_here);
            owners.push(around.filter(|_| stays).unwrap_or(number));
        }
        let mut links = Self {
            hand_overs,
            owners,
            of_owners: HashMap::new(),
            of_gives: HashMap::new(),
            of_threads: HashMap::new(),
            sections: HashMap::new(),
            calls: HashMap::new(),
        };
        for (number, give) in gives.iter().enumerate() {
            links.of_threads.entry(give.thread).or_default().push(number);
            if let Some(owner) = links.owners.get(give.section()) {
                links.of_owners.entry(*owner).or_default().push(number);
            }
        }
        for of_thread in links.of_threads.values_mut() {
            of_thread.sort_by_key(|give| gives.get(*give).map(|give| give.at));
        }
        for (number, (section, owner)) in sections.iter().zip(&links.owners).enumerate() {
            if owner == &number
                && let Some(give) = section.give
            {
                links.of_gives.entry(give).or_default().push(number);
            }
            *links.calls.entry(*owner).or_default() += section.calls;
            links.sections.entry(section.thread).or_insert(number..number).end = number + 1;
        }
        links
    }

    /// Returns whether a section was handed over from elsewhere: it is no part of what is around it.
    pub(crate) fn is_elsewhere(&self, section: usize) -> bool {
        self.owners.get(section) == Some(&section)
    }

    /// The gives in some events, without those in sections that were handed over from elsewhere.
    fn gives_in<'l>(&'l self, (thread, range): &'l InThread) -> impl Iterator<Item = usize> + 'l {
        let (gives, sections) = (self.hand_overs.gives(), self.hand_overs.sections());
        let of_thread = self.of_threads.get(thread).map_or(&[][..], Vec::as_slice);
        let before = |position: Position| {
            of_thread.partition_point(|give| {
                gives.get(*give).is_some_and(|give| Position::before(give.at) < position)
            })
        };
        let in_range = of_thread.get(before(range.start)..before(range.end)).unwrap_or_default();
        in_range.iter().copied().filter(move |give| {
            let section = gives.get(*give).and_then(|give| self.owners.get(give.section()));
            let owner = section.and_then(|owner| sections.get(*owner));
            owner.is_some_and(|owner| owner.range.start <= range.start)
        })
    }

    /// Returns whether another value was set where something is handed over.
    fn is_of_others(&self, give: usize, others: OtherValues<'_>) -> bool {
        let give = self.hand_overs.gives().get(give);
        give.is_some_and(|give| others.contain(give.thread, Position::before(give.at)))
    }

    /// The sections that follow from some events.
    fn reached_from(&self, events: &[InThread], others: OtherValues<'_>) -> Reached {
        let mut reached = Reached::default();
        let gives = events.iter().flat_map(|events| self.gives_in(events)).collect();
        self.follow(gives, others, &mut reached);
        let Reached { all, needed, .. } = &mut reached;
        for number in all.iter().rev() {
            let gives = self.of_owners.get(number).into_iter().flatten();
            let mut given = gives.filter_map(|give| self.of_gives.get(give)).flatten();
            let has_calls = self.calls.get(number).is_some_and(|calls| *calls > 0);
            if has_calls || given.any(|section| needed.contains(section)) {
                needed.insert(*number);
            }
        }
        reached
    }

    /// Adds the sections that follow from some gives, in order.
    fn follow(&self, gives: Vec<usize>, others: OtherValues<'_>, reached: &mut Reached) {
        let mut next = gives;
        next.reverse();
        while let Some(give) = next.pop() {
            for section in self.of_gives.get(&give).into_iter().flatten() {
                if reached.reached.insert(*section) {
                    reached.all.push(*section);
                    let gives = self.of_owners.get(section).into_iter().flatten().rev();
                    next.extend(gives.filter(|give| !self.is_of_others(**give, others)));
                }
            }
        }
    }

    /// Each wanted value of a context with what belongs to it, by key and value.
    pub(crate) fn of_values<'s>(
        &self,
        all: &'s ContextSpans,
        is_wanted: impl Fn(&str, &str) -> bool,
    ) -> impl Iterator<Item = LinkedValue<'s, 'a>> {
        let mut of_values = all.by_value();
        of_values.retain(|(key, value), _| is_wanted(key, value));
        of_values.into_iter().map(|((key, value), spans)| {
            let events: Vec<InThread> =
                spans.iter().map(|span| (span.thread, span.range.clone())).collect();
            let parts = self.parts_of(&events, all.others(key, value));
            LinkedValue { key, value, spans, events, parts }
        })
    }

    /// The parts of threads that belong to some events: these, without those in a part that follows from others of them, then what
    /// follows, each part after that of the call that handed it over.
    pub(super) fn parts_of(
        &self,
        events: &[InThread],
        others: OtherValues<'_>,
    ) -> Vec<LinkedPart<'a>> {
        let reached = self.reached_from(events, others);
        let own = events.iter().enumerate().filter(|(_, events)| !self.is_inside(&reached, events));
        let own = own.map(|(number, events)| LinkedPart {
            thread: events.0,
            ranges: without(&events.1, &self.others_in(events, None)),
            of: PartOf::Events(number),
        });
        let handed = reached.parts().filter_map(|number| self.part_of(number, others));
        let mut parts: Vec<_> = own.chain(handed).collect();
        parts.retain(|part| !part.ranges.is_empty());
        parts
    }

    /// All events of all threads as parts: those that nothing handed over, then what follows, each part after that of the call that
    /// handed it over.
    pub(super) fn all_parts(&self) -> Vec<LinkedPart<'a>> {
        let sections = self.hand_overs.sections();
        let owners = (0..sections.len()).filter(|number| self.is_elsewhere(*number));
        let is_given = |number: &usize| sections.get(*number).is_some_and(|of| of.give.is_some());
        let (given, own): (Vec<_>, Vec<_>) = owners.partition(is_given);
        let (mut reached, mut first) = (Reached::default(), Vec::new());
        // What only parts of its own lead to, because links are guessed, is handed over by nothing.
        for number in own.into_iter().chain(given) {
            if reached.reached.insert(number) {
                first.push(number);
                let gives = self.of_owners.get(&number).cloned().unwrap_or_default();
                self.follow(gives, OtherValues::NONE, &mut reached);
            }
        }
        let part = |number| self.part_of(number, OtherValues::NONE);
        let own = first.into_iter().enumerate().filter_map(|(at, number)| {
            Some(LinkedPart { of: PartOf::Events(at), ..part(number)? })
        });
        let mut parts: Vec<_> = own.chain(reached.all.into_iter().filter_map(part)).collect();
        parts.retain(|part| !part.ranges.is_empty());
        parts
    }

    /// A section as a part, without what was handed over from elsewhere in it.
    fn part_of(&self, number: usize, others: OtherValues<'_>) -> Option<LinkedPart<'a>> {
        let section = self.hand_overs.sections().get(number)?;
        let events = (section.thread, section.range.clone());
        let mut not_in_it = self.others_in(&events, Some(number));
        let of_values = others.in_range(section.thread, &section.range);
        not_in_it.extend(of_values.map(|span| (span.range.clone(), span.calls.clone())));
        not_in_it.sort_by_key(|(range, _)| range.start);
        let calls = calls_without(&section.numbers, &not_in_it);
        Some(LinkedPart {
            thread: section.thread,
            ranges: without(&section.range, &not_in_it),
            of: PartOf::Section(section, calls),
        })
    }

    /// Returns whether events begin in a section that is reached.
    pub(super) fn is_inside(&self, reached: &Reached, (thread, range): &InThread) -> bool {
        let of_thread = self.sections.get(thread).cloned().unwrap_or_default();
        let first = of_thread.start;
        let sections = self.hand_overs.sections().get(of_thread).unwrap_or_default();
        let before = sections.partition_point(|section| section.range.start <= range.start);
        let mut inside = before.checked_sub(1).map(|number| first + number);
        while let Some(number) = inside {
            let Some(section) = self.hand_overs.sections().get(number) else { break };
            if range.start < section.range.end {
                let owner = self.owners.get(number);
                return owner.is_some_and(|owner| reached.reached.contains(owner));
            }
            inside = section.around;
        }
        false
    }

    /// The sections in some events, or in a section, that were handed over from elsewhere.
    fn others_in(&self, (thread, range): &InThread, of_section: Option<usize>) -> Vec<Elsewhere> {
        let of_thread = self.sections.get(thread).cloned().unwrap_or_default();
        let first = of_thread.start;
        let sections = self.hand_overs.sections().get(of_thread).unwrap_or_default();
        let begun = |at: Position| sections.partition_point(|section| section.range.start <= at);
        // A task may begin where its thread does.
        let start = of_section.map_or_else(|| begun(range.start), |number| number + 1 - first);
        let inside = start..begun(range.end).max(start);
        let own = inside.filter_map(|number| {
            sections.get(number).filter(|_| self.is_elsewhere(first + number))
        });
        own.map(|section| (section.range.clone(), section.numbers.clone())).collect()
    }

    /// How many calls are in some events without those that were handed over from elsewhere, of those with these numbers.
    pub(crate) fn calls_without_others(&self, events: &InThread, numbers: &Range<u64>) -> u64 {
        calls_without(numbers, &self.others_in(events, None))
    }
}

/// Events that do not belong to those around them, and the numbers of their calls.
type Elsewhere = (Range<Position>, Range<u64>);

/// How many calls are not elsewhere, of those with these numbers.
fn calls_without(numbers: &Range<u64>, others: &[Elsewhere]) -> u64 {
    let (mut calls, mut from) = (0, numbers.start);
    for (_, other) in others {
        calls += other.start.min(numbers.end).saturating_sub(from);
        from = from.max(other.end);
    }
    calls + numbers.end.saturating_sub(from)
}

/// What is not elsewhere, of a range.
fn without(range: &Range<Position>, others: &[Elsewhere]) -> Vec<Range<Position>> {
    let (mut ranges, mut start) = (Vec::new(), range.start);
    for (other, _) in others {
        if other.start > start {
            ranges.push(start..other.start);
        }
        start = start.max(other.end.min(range.end));
    }
    if start < range.end {
        ranges.push(start..range.end);
    }
    ranges
}

impl Reached {
    /// The sections, without those in which nothing happens.
    pub(super) fn parts(&self) -> impl Iterator<Item = usize> {
        self.all.iter().copied().filter(|number| self.needed.contains(number))
    }
}
