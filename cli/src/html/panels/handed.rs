//! What threads hand to each other, so that the page shows one tree across threads: parts of threads, as the numbers that their calls
//! have on the page, each with the call that handed it over.

use std::cmp::Reverse;
use std::collections::HashMap;

use flow_codec::format::marks::Position;
use flow_codec::{Offset, ThreadId};
use flow_query::open::{Request, RequestPart};
use serde::Serialize;

use crate::html::charts::gather::Gather;
use crate::html::numbers::exact;

/// The most parts of a page.
const PARTS: usize = 20_000;
/// The most ranges of them, all together.
const RANGES: usize = 40_000;
/// Another call may have handed the part over.
const IS_GUESSED: i64 = 1;
/// The page lacks calls of the part.
const IS_CUT: i64 = 2;
/// After all events.
const NEVER: Position = Position { offset: Offset::new(u64::MAX), exits: u64::MAX };

/// The parts of the page, whose calls are numbered while their threads are read.
pub(in crate::html) struct HandedParts {
    parts: Vec<Part>,
    title: Option<String>,
    /// How many further parts there are.
    more: usize,
    /// The places of each thread that has not been read, the last one first.
    places: HashMap<ThreadId, Vec<Place>>,
    /// Places of the thread that is being read, the last one first, and where the next one is.
    next: Vec<Place>,
    next_at: Position,
    /// Of each place that was read, how many calls come before it, or the number of the call.
    numbers: Vec<Option<u64>>,
}

/// A part of a thread.
struct Part {
    thread: ThreadId,
    /// The thread of the call that handed it over, and the place of the call.
    given: Option<(ThreadId, usize)>,
    is_guessed: bool,
    /// The places where each range begins and ends.
    ranges: Vec<[usize; 2]>,
    is_cut: bool,
}

/// A position whose number is wanted.
struct Place {
    at: Position,
    /// Whether the number is that of the call that begins here, or if it is not on the page, of the one around it.
    is_call: bool,
    /// The place of the number among all numbers.
    of: usize,
}

/// The parts of the page.
#[derive(Default, Serialize)]
pub(super) struct PageHandOvers {
    /// The thread of each part; the thread and the number of the call that handed it over, or -1 twice; [`IS_GUESSED`] and [`IS_CUT`]; how
    /// many ranges it has; and of each range the number of its first call and that after its last one.
    parts: Vec<i64>,
    /// How many further parts there are.
    more: usize,
    /// The request that the page is of, if it is of one.
    title: Option<String>,
}

impl Default for HandedParts {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            title: None,
            more: 0,
            places: HashMap::new(),
            next: Vec::new(),
            next_at: NEVER,
            numbers: Vec::new(),
        }
    }
}

impl HandedParts {
    /// Begins with the parts of a request, and how that is named if the page has nothing else.
    pub(in crate::html) fn new(request: &Request, title: Option<String>) -> Self {
        let more = request.parts().len().saturating_sub(PARTS);
        let mut made = Self { title, more, ..Self::default() };
        let mut left = RANGES;
        for part in request.parts().iter().take(PARTS) {
            let part = made.part(part, left);
            left -= part.ranges.len();
            made.parts.push(part);
        }
        let of_threads = made.places.values_mut();
        of_threads.for_each(|places| places.sort_by_key(|place| Reverse(place.at)));
        made
    }

    fn part(&mut self, part: &RequestPart, left: usize) -> Part {
        let thread = part.thread();
        let given = part.given().map(|given| {
            let of = given.call.thread();
            (of, self.place(of, Position::before(given.at), true))
        });
        let ranges = part.ranges().iter().take(left);
        let ranges = ranges.map(|range| [range.start, range.end]);
        Part {
            thread,
            given,
            is_guessed: part.given().is_some_and(|given| given.is_guessed),
            ranges: ranges.map(|at| at.map(|at| self.place(thread, at, false))).collect(),
            is_cut: part.ranges().len() > left,
        }
    }

    fn place(&mut self, thread: ThreadId, at: Position, is_call: bool) -> usize {
        let of = self.numbers.len();
        self.numbers.push(None);
        self.places.entry(thread).or_default().push(Place { at, is_call, of });
        of
    }

    /// Begins a thread, which may be one that the page does not have.
    pub(in crate::html) fn begin_thread(&mut self, thread: ThreadId, is_listed: bool) {
        self.next = self.places.remove(&thread).filter(|_| is_listed).unwrap_or_default();
        self.next_at = self.next.last().map_or(NEVER, |place| place.at);
    }

    /// Numbers the places up to an event, which has not been gathered yet.
    #[inline]
    pub(in crate::html) fn pass(&mut self, at: Position, gather: &Gather) {
        if self.next_at <= at {
            self.number_up_to(at, gather);
        }
    }

    /// Numbers the places after the last event of a thread.
    pub(in crate::html) fn end_thread(&mut self, gather: &Gather) {
        self.number_up_to(NEVER, gather);
    }

    fn number_up_to(&mut self, at: Position, gather: &Gather) {
        while let Some(place) = self.next.pop_if(|place| place.at <= at) {
            let number = match place.is_call && place.at < at {
                true => gather.innermost_call(),
                false => Some(gather.calls()),
            };
            self.numbers.get_mut(place.of).into_iter().for_each(|of| *of = number);
        }
        self.next_at = self.next.last().map_or(NEVER, |place| place.at);
    }

    /// How many parts the page does not have.
    pub(in crate::html) fn more(&self) -> u64 {
        self.more as u64
    }

    /// Returns the parts with calls of the page, after all threads were read.
    pub(super) fn finish(self) -> PageHandOvers {
        let number = |place: usize| self.numbers.get(place).copied().flatten();
        let mut flat = Vec::new();
        for part in &self.parts {
            let mut ranges: Vec<[u64; 2]> = Vec::new();
            let mut is_cut = part.is_cut;
            for range in &part.ranges {
                match range.map(number) {
                    [Some(from), Some(to)] if from == to => {}
                    [Some(from), Some(to)] => match ranges.last_mut() {
                        // What was between them is not on the page.
                        Some(last) if last[1] == from => last[1] = to,
                        _ => ranges.push([from, to]),
                    },
                    _ => is_cut = true,
                }
            }
            if ranges.is_empty() && !is_cut {
                continue;
            }
            let given = part.given.and_then(|(thread, place)| Some((thread, number(place)?)));
            let given = given.map_or([-1, -1], |(of, call)| [exact(of.get()), exact(call)]);
            let guessed = if part.is_guessed { IS_GUESSED } else { 0 };
            let cut = if is_cut { IS_CUT } else { 0 };
            flat.extend([exact(part.thread.get()), given[0], given[1], guessed | cut]);
            flat.push(exact(ranges.len() as u64));
            flat.extend(ranges.into_iter().flatten().map(exact));
        }
        PageHandOvers { parts: flat, more: self.more, title: self.title }
    }
}
