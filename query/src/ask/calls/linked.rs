//! What belongs to single calls of a trace by its presets: what they hand over, and the contexts that they are in.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;

use flow_codec::ThreadId;
use flow_codec::format::marks::Position;
use flow_codec::read::Trace;

use crate::analysis::HandOvers;
use crate::open::{ContextSpans, LinkedValue, Links, hand_overs_if_recorded, read_contexts};

/// What the calls of each thread hand over, and what they run of that.
#[derive(Debug, Default)]
pub struct HandedCalls(HashMap<ThreadId, HandedInThread>);

/// What the calls of a thread hand over, and what they run of that. Both have the same number, of the whole trace.
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct HandedInThread {
    /// The calls that hand something over, in order, by their numbers in the thread; each with the number of what it hands over.
    pub given: VecDeque<(u64, u64)>,
    /// The calls that run what was handed over, in the order of the first of them, outer ones first.
    pub taken: VecDeque<HandedPart>,
}

/// The calls of a thread that run something that was handed over.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HandedPart {
    /// The numbers of the calls.
    pub calls: Range<u64>,
    /// The number of what was handed over.
    pub number: u64,
    /// Whether it is no part of what that call is a part of, in the same thread.
    pub is_elsewhere: bool,
    /// Whether another call may have handed it over.
    pub is_guessed: bool,
}

impl HandedCalls {
    /// Reads the hand-overs of a trace, as far as they can be read; there are none if they were not recorded.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        let mut handed = Self::default();
        let Ok((hand_overs, _)) = hand_overs_if_recorded(trace, &mut ()) else { return handed };
        let links = Links::of(&hand_overs);
        let sections = hand_overs.sections().iter().enumerate();
        let sections = sections.filter(|(_, section)| !section.numbers.is_empty());
        for (number, (index, section)) in (1..).zip(sections) {
            let Some(give) = hand_overs.give_of(section) else { continue };
            handed.0.entry(give.thread).or_default().given.push_back((give.number, number));
            let taken = &mut handed.0.entry(section.thread).or_default().taken;
            taken.push_back(HandedPart {
                calls: section.numbers.clone(),
                number,
                is_elsewhere: links.is_elsewhere(index),
                is_guessed: section.is_guessed,
            });
        }
        for of_thread in handed.0.values_mut() {
            of_thread.given.make_contiguous().sort_unstable();
            let taken = of_thread.taken.make_contiguous();
            taken.sort_by_key(|part| (part.calls.start, Reverse(part.calls.end), part.number));
        }
        handed
    }

    /// Returns whether nothing is handed over.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the hand-overs of a thread.
    #[must_use]
    pub fn of_thread(&self, thread: ThreadId) -> HandedInThread {
        self.0.get(&thread).cloned().unwrap_or_default()
    }
}

/// The contexts that calls are in, also by what was handed to their threads.
#[derive(Debug, Default)]
pub struct CallContexts {
    /// The parts of each thread in which a key has a value, in order.
    of_threads: HashMap<ThreadId, Rc<[ContextPart]>>,
}

/// A part of a thread in which a key has a value.
type ContextPart = (Range<Position>, Rc<(String, String)>);

/// The contexts of a thread, position by position.
#[derive(Clone, Debug, Default)]
pub struct ContextsInThread {
    parts: Rc<[ContextPart]>,
    next: usize,
    open: Vec<ContextPart>,
    text: Option<Rc<str>>,
}

impl CallContexts {
    /// Reads the contexts of a trace, as far as they can be read; there are none if they were not recorded.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        let Ok((spans, _)) = read_contexts(trace, &mut ()) else { return Self::default() };
        let hand_overs = hand_overs_if_recorded(trace, &mut ());
        let hand_overs = hand_overs.map_or_else(|_| HandOvers::default(), |(read, _)| read);
        let links = Links::of(&hand_overs);
        let mut of_threads: HashMap<ThreadId, Vec<ContextPart>> = HashMap::new();
        let all = ContextSpans::of(spans);
        for LinkedValue { key, value, parts, .. } in links.of_values(&all, |_, _| true) {
            let pair = Rc::new((key.to_owned(), value.to_owned()));
            for part in parts {
                let of_thread = of_threads.entry(part.thread).or_default();
                of_thread.extend(part.ranges.into_iter().map(|range| (range, pair.clone())));
            }
        }
        let in_order = |(thread, mut parts): (ThreadId, Vec<ContextPart>)| {
            parts.sort_by(|(one, pair), (other, than)| {
                one.start.cmp(&other.start).then_with(|| pair.cmp(than))
            });
            (thread, parts.into())
        };
        let of_threads = of_threads.into_iter().map(in_order).collect();
        Self { of_threads }
    }

    /// Returns the contexts of a thread.
    #[must_use]
    pub fn of_thread(&self, thread: ThreadId) -> ContextsInThread {
        let parts = self.of_threads.get(&thread).cloned().unwrap_or_default();
        ContextsInThread { parts, ..ContextsInThread::default() }
    }
}

impl ContextsInThread {
    /// The context at a position that is not before the last one: `order=17 user=eve`.
    pub fn at(&mut self, position: Position) -> Option<Rc<str>> {
        let was_open = self.open.len();
        self.open.retain(|(range, _)| range.end > position);
        let mut is_new = self.open.len() < was_open;
        while let Some(part) =
            self.parts.get(self.next).filter(|(range, _)| range.start <= position)
        {
            self.next += 1;
            if part.0.end > position {
                self.open.push(part.clone());
                is_new = true;
            }
        }
        if is_new {
            self.open.sort_by(|(_, one), (_, other)| one.cmp(other));
            let mut texts: Vec<_> =
                self.pairs().map(|(key, value)| format!("{key}={value}")).collect();
            texts.dedup();
            self.text = (!texts.is_empty()).then(|| texts.join(" ").into());
        }
        self.text.clone()
    }

    /// The keys with their values at the [last position](Self::at), by key. A key may have several values: its own, and those
    /// with which something was handed over.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.open.iter().map(|(_, pair)| (pair.0.as_str(), pair.1.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use flow_codec::Offset;

    use super::*;

    #[test]
    fn a_call_is_in_each_part_around_it() {
        let at = |offset: u64| Position::before(Offset::new(offset));
        let part = |range: Range<u64>, key: &str, value: &str| {
            (at(range.start)..at(range.end), Rc::new((key.to_owned(), value.to_owned())))
        };
        let parts = [
            part(1..9, "b", "1"),
            part(2..4, "a", "2"),
            part(4..6, "a", "3"),
            part(5..5, "c", "4"),
        ];
        let mut contexts = ContextsInThread { parts: parts.into(), ..Default::default() };
        let texts =
            (0..11).map(|offset| contexts.at(at(offset)).as_deref().unwrap_or("-").to_owned());
        let expected =
            ["-", "b=1", "a=2 b=1", "a=2 b=1", "a=3 b=1", "a=3 b=1", "b=1", "b=1", "b=1"];
        assert_eq!(texts.collect::<Vec<_>>(), [&expected[..], &["-", "-"]].concat());
    }
}
