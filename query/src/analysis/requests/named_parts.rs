//! Names what happened in parts of a thread, which may lie inside each other, in one walk.

use std::cmp::Ordering;
use std::collections::{HashSet, VecDeque};
use std::num::NonZeroU64;
use std::ops::Range;

use flow_codec::MethodId;
use flow_codec::format::marks::Position;
use flow_codec::format::shape_name::CallOrder;
use flow_codec::read::{EventKind, Methods, Stamp, TimelineEvent, Unwound, VisitTimeline};

use crate::dag::{Behaviour, NameCalls};

/// A part of a thread.
#[derive(Debug)]
pub(crate) struct ThreadPart {
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
    next: Vec<ThreadPart>,
    open: Vec<OpenPart<'a>>,
    /// What names the next parts.
    idle: Vec<NameCalls<'a>>,
    ended: Vec<(usize, NamedPart)>,
}

#[derive(Debug)]
struct OpenPart<'a> {
    part: ThreadPart,
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
    pub(crate) fn begin_thread(&mut self, mut parts: Vec<ThreadPart>) {
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

    fn begin(&mut self, part: ThreadPart) {
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
        let starts =
            |part: &mut ThreadPart| part.ranges.front().is_some_and(|range| range.start <= to);
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

    /// The parts that an event belongs to.
    fn parts_at(&mut self, at: Position) -> impl Iterator<Item = &mut OpenPart<'a>> {
        let is_in = move |open: &&mut OpenPart<'a>| {
            open.part.ranges.front().is_some_and(|range| range.start <= at)
        };
        self.open.iter_mut().filter(is_in)
    }
}

impl VisitTimeline for NameParts<'_> {
    fn enter(&mut self, method: MethodId, at: Stamp) -> bool {
        self.advance(at.position);
        let is_named = !self.left_out.contains(&method);
        for open in self.parts_at(at.position) {
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
        let Position { offset, exits } = at.position;
        let run = exits..exits.saturating_add(count.get());
        for open in &mut self.open {
            // The exits that are in the part: a range may end in the run, and another one begin.
            let in_run = |place: Position| match place.offset.cmp(&offset) {
                Ordering::Less => run.start,
                Ordering::Equal => place.exits.clamp(run.start, run.end),
                Ordering::Greater => run.end,
            };
            let ranges = open.part.ranges.iter().take_while(|range| range.start.offset <= offset);
            let in_part: u64 = ranges.map(|range| in_run(range.end) - in_run(range.start)).sum();
            let in_part = usize::try_from(in_part).unwrap_or(usize::MAX);
            let stay = open.frames.len().saturating_sub(in_part);
            let named = open.frames.drain(stay..).filter(|is_named| *is_named).count();
            if let Some(named) = NonZeroU64::new(named as u64) {
                open.named.exit(named, at, unwound);
            }
        }
        true
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        if !matches!(event.kind, EventKind::Gap { .. } | EventKind::Pause | EventKind::Resume) {
            return true;
        }
        self.advance(event.position);
        for open in self.parts_at(event.position) {
            open.named.other(event.clone());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use flow_codec::Offset;
    use flow_codec::read::When;

    use super::*;

    fn method(name: u8) -> MethodId {
        MethodId::new(name.into()).unwrap()
    }

    /// What `events` call in parts, each with its ranges, such as `5..7 9..11`: an event a character, `)` leaves a frame, `]` two, and calls of `x` are left out.
    fn named(events: &str, parts: &[&str]) -> Vec<(Behaviour, Option<u64>)> {
        let at = |offset: u64| Position::before(Offset::new(offset));
        let methods = Methods::default();
        let left_out = HashSet::from([method(b'x')]);
        let mut visitor = NameParts::without(&methods, left_out);
        let range = |range: &str| {
            let place = |text: &str| {
                let (offset, exits) = text.split_once('+').unwrap_or((text, "0"));
                Position { exits: exits.parse().unwrap(), ..at(offset.parse().unwrap()) }
            };
            let (start, end) = range.split_once("..").unwrap();
            place(start)..place(end)
        };
        let part = |(number, ranges): (usize, &&str)| ThreadPart {
            number,
            ranges: ranges.split(' ').map(range).collect(),
        };
        visitor.begin_thread(parts.iter().enumerate().map(part).collect());
        for (offset, event) in events.bytes().enumerate() {
            let position = at(offset as u64);
            let stamp = Stamp { position, time: When::UNKNOWN, calls: 0 };
            match event {
                b')' => visitor.exit(NonZeroU64::MIN, stamp, None),
                b']' => visitor.exit(NonZeroU64::new(2).unwrap(), stamp, None),
                name => visitor.enter(method(name), stamp),
            };
        }
        let mut found = vec![NamedPart::default(); parts.len()];
        visitor.end_thread(&mut found);
        found.iter().map(|part| (part.did, part.first.map(MethodId::get))).collect()
    }

    #[test]
    fn parts_inside_each_other_are_named_as_if_alone() {
        let [outer, inner, alone, again] =
            &named("ab)c)a)b)c))", &["0..12", "5..7 9..11", "1..5", "7..11"])[..]
        else {
            panic!()
        };
        assert_eq!(outer.0.calls, 6);
        assert_eq!(inner, &named("a)c)", &["0..4"])[0]);
        assert_eq!(alone, again);
        assert_eq!(alone.1, Some(u64::from(b'b')));
    }

    #[test]
    fn calls_that_are_left_out_count_as_those_of_their_callers() {
        let part = &["0..8"];
        assert_eq!(named("xab))x))", part), named("ab))x)c)", &["0..6"]));
        assert_eq!(named("a)xb))x)", part), named("a)b)", &["0..4"]));
    }

    #[test]
    fn a_part_that_begins_and_ends_inside_calls_has_what_is_between() {
        // Exits of calls that began before it are not of the part; what is open at its end, is.
        assert_eq!(named("ab))cd))", &["1..6"]), named("b)cd))", &["0..6"]));
    }

    #[test]
    fn a_range_may_end_and_begin_in_a_run_of_exits() {
        // `t` is of another request; `]` leaves it, and the call around it, which is of this one.
        let alone = named("fg)h))", &["0..6"]);
        assert_eq!(named("fgt]h))", &["0..2 3+1..7"]), alone);
        assert_eq!(named("fg)h]", &["0..4+1"]), named("fg)h)", &["0..5"]));
    }
}
