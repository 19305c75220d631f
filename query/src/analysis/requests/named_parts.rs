//! Names what happened in parts of a thread, which may lie inside each other, in one walk.

use std::collections::{HashSet, VecDeque};
use std::num::NonZeroU64;
use std::ops::Range;

use flow_codec::MethodId;
use flow_codec::format::marks::Position;
use flow_codec::format::shape_name::CallOrder;
use flow_codec::read::{Methods, Stamp, TimelineEvent, Unwound, VisitTimeline};

use crate::dag::{Behaviour, NameCalls};

/// A part of a thread.
#[derive(Debug)]
pub(crate) struct Part {
    /// The number by which the caller knows it.
    pub(crate) number: usize,
    /// The events, in order.
    pub(crate) ranges: VecDeque<Range<Position>>,
}

/// What happened in a part.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct NamedPart {
    /// What was called, without the calls that are left out.
    pub(crate) did: Behaviour,
    /// The method that was called first.
    pub(crate) first: Option<MethodId>,
}

/// Names the parts of threads in their timelines.
#[derive(Debug)]
pub(crate) struct NameParts<'a> {
    methods: &'a Methods,
    /// Methods whose calls are left out: what they call counts as called by their callers.
    left_out: HashSet<MethodId>,
    /// The parts that have not begun, the first one last.
    next: Vec<Part>,
    open: Vec<OpenPart<'a>>,
    /// What names the next parts.
    idle: Vec<NameCalls<'a>>,
    ended: Vec<(usize, NamedPart)>,
}

#[derive(Debug)]
struct OpenPart<'a> {
    part: Part,
    named: NameCalls<'a>,
    /// Of each open frame whether it is named, the innermost last.
    frames: Vec<bool>,
    first: Option<MethodId>,
}

impl<'a> NameParts<'a> {
    /// Names without the calls of some methods.
    pub(crate) fn without(methods: &'a Methods, left_out: HashSet<MethodId>) -> Self {
        Self {
            methods,
            left_out,
            next: Vec::new(),
            open: Vec::new(),
            idle: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// Begins a thread with these parts of it.
    pub(crate) fn begin_thread(&mut self, mut parts: Vec<Part>) {
        parts.retain(|part| !part.ranges.is_empty());
        parts.sort_by_key(|part| std::cmp::Reverse(part.ranges.front().map(|range| range.start)));
        self.next = parts;
    }

    /// Ends a thread, and puts what happened in its parts where their numbers say.
    pub(crate) fn end_thread(&mut self, found: &mut [NamedPart]) {
        while let Some(part) = self.next.pop() {
            self.begin(part);
        }
        for part in std::mem::take(&mut self.open) {
            self.end(part);
        }
        for (number, part) in self.ended.drain(..) {
            if let Some(found) = found.get_mut(number) {
                *found = part;
            }
        }
    }

    fn begin(&mut self, part: Part) {
        let new = || NameCalls::of(self.methods, CallOrder::default());
        let named = self.idle.pop().unwrap_or_else(new);
        self.open.push(OpenPart { part, named, frames: Vec::new(), first: None });
    }

    fn end(&mut self, OpenPart { part, mut named, first, .. }: OpenPart<'a>) {
        self.ended.push((part.number, NamedPart { did: named.take(), first }));
        self.idle.push(named);
    }

    /// Moves on to a position.
    fn advance(&mut self, to: Position) {
        let starts = |part: &mut Part| part.ranges.front().is_some_and(|range| range.start <= to);
        while let Some(part) = self.next.pop_if(starts) {
            self.begin(part);
        }
        let mut number = 0;
        while let Some(open) = self.open.get_mut(number) {
            while open.part.ranges.pop_front_if(|range| range.end <= to).is_some() {}
            match open.part.ranges.is_empty() {
                true => {
                    let open = self.open.swap_remove(number);
                    self.end(open);
                }
                false => number += 1,
            }
        }
    }

    /// The parts that an event belongs to, each with the end of the range.
    fn parts_at(&mut self, at: Position) -> impl Iterator<Item = (&mut OpenPart<'a>, Position)> {
        self.open.iter_mut().filter_map(move |open| {
            let range = open.part.ranges.front().filter(|range| range.start <= at)?;
            let end = range.end;
            Some((open, end))
        })
    }
}

impl VisitTimeline for NameParts<'_> {
    fn enter(&mut self, method: MethodId, at: Stamp) -> bool {
        self.advance(at.position);
        let is_named = !self.left_out.contains(&method);
        for (open, _) in self.parts_at(at.position) {
            open.frames.push(is_named);
            if is_named {
                open.named.enter(method, at);
                open.first.get_or_insert(method);
            }
        }
        true
    }

    fn exit(&mut self, count: NonZeroU64, at: Stamp, unwound: Option<&Unwound>) -> bool {
        self.advance(at.position);
        for (open, end) in self.parts_at(at.position) {
            let in_part = match end.offset == at.position.offset {
                true => count.get().min(end.exits - at.position.exits),
                false => count.get(),
            };
            let stay =
                open.frames.len().saturating_sub(usize::try_from(in_part).unwrap_or(usize::MAX));
            let named = open.frames.drain(stay..).filter(|is_named| *is_named).count();
            if let Some(named) = NonZeroU64::new(named as u64) {
                open.named.exit(named, at, unwound);
            }
        }
        true
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        self.advance(event.position);
        for (open, _) in self.parts_at(event.position) {
            open.named.other(event.clone());
        }
        true
    }
}
