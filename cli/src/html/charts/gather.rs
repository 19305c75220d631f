//! Gathers what the page shows of calls, in one pass over all threads.
//!
//! Times are in a unit of the caller's choice. Memory: the open frames, the budgets of [`Timeline`] and
//! [`Flame`], and a few bytes for each method.

use std::cmp::Reverse;
use std::num::NonZeroU64;

use flow_codec::MethodId;
use flow_codec::format::values::CallValue;
use flow_codec::read::Unwound;
use flow_query::analysis::ROOT;

use super::chart::{ChartBox, FRAMES, Kind};
use super::flame::Flame;
use super::kinds::{MethodKind, MethodKinds};
use super::lane::Lane;
use super::timeline::{Contents, Timeline};
use crate::export::MethodNumbers;
use crate::html::of_calls::details::{DetailBudget, Details, EndedCall};
use crate::output::OpenValues;

/// The sums of one method.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::html) struct MethodSums {
    pub(in crate::html) calls: u64,
    /// The weight of its outermost frames, callees included: CPU time if that is known, else their duration.
    pub(in crate::html) total: u64,
    /// The weight of all its frames without their callees.
    pub(in crate::html) self_weight: u64,
    /// The duration of its outermost frames.
    pub(in crate::html) duration: u64,
    /// The number of open frames.
    open: u64,
    pub(in crate::html) kind: MethodKind,
    /// The thread that called it last, by number; its calls before that thread, and the first one in it.
    thread: u32,
    before: u64,
    first: u64,
}

/// The calls of one method in one thread.
#[derive(Clone, Copy, Debug)]
pub(in crate::html) struct Called {
    /// The number of the method.
    pub(in crate::html) method: u32,
    pub(in crate::html) calls: u64,
    /// The start of the first call.
    pub(in crate::html) first: u64,
}

/// An open frame.
#[derive(Clone, Copy, Debug)]
struct Frame {
    method: u32,
    /// Its path, or that of the deepest frame below it that has one.
    path: u32,
    at: u64,
    weight_at: u64,
    /// The number of earlier calls.
    calls: u64,
    /// The weight of its callees.
    inside: u64,
    /// The number of boxes at its start.
    first: usize,
    /// The method that the lane shows: its own, or for a library that of the application's frame that called it.
    shown: u32,
    in_own: bool,
    /// Whether it is of the application, or called something of it.
    has_own: bool,
    /// Whether the thread waits in it.
    waits: bool,
}

/// The sums of one thread.
#[derive(Debug)]
pub(in crate::html) struct ThreadSums {
    pub(in crate::html) calls: u64,
    pub(in crate::html) most_frames: u64,
    /// The start of its first call, and its end.
    pub(in crate::html) begin: u64,
    pub(in crate::html) end: u64,
    /// The self time of the application's methods outside of waiting. That of an outermost call that lasts for most of
    /// the thread's life, such as `main`, does not count: often it waits for other threads.
    pub(in crate::html) active: u64,
    pub(in crate::html) lane: Lane,
    /// Its methods.
    pub(in crate::html) called: Vec<Called>,
    /// Its timeline and its flame graph, if it has charts.
    pub(in crate::html) charts: Option<Charts>,
    /// Values and exceptions of its calls.
    pub(in crate::html) details: Details,
}

/// How much the page shows of a thread: the most boxes of its charts, and what else is counted.
#[derive(Clone, Copy, Debug)]
pub(in crate::html) struct Budget {
    pub(in crate::html) timeline: usize,
    pub(in crate::html) flame: usize,
    pub(in crate::html) instants: usize,
}

/// The charts of a thread.
#[derive(Debug)]
pub(in crate::html) struct Charts {
    pub(in crate::html) timeline: Vec<ChartBox>,
    pub(in crate::html) flame: Vec<ChartBox>,
}

/// Adds up the calls of any number of threads, one after another.
#[derive(Default, Debug)]
pub(in crate::html) struct Gather {
    kinds: MethodKinds,
    numbers: MethodNumbers,
    sums: Vec<MethodSums>,
    /// The flame graph of the threads that have ended.
    flame: Flame,
    of_thread: Flame,
    timeline: Option<Timeline>,
    budget: Option<Budget>,
    open: Vec<Frame>,
    values: OpenValues,
    details: Details,
    /// The start of the thread's first call, and the number of its calls.
    begin: Option<u64>,
    calls: u64,
    most_frames: usize,
    /// The number of the thread, from 1.
    thread: u32,
    /// The methods that it called.
    called: Vec<u32>,
    lane: Lane,
    /// The time of the last event.
    since: u64,
    active: u64,
    /// The duration of the longest outermost call, and what it added to `active`.
    longest: (u64, u64),
}

impl Gather {
    /// Gathers calls of methods of these kinds.
    pub(in crate::html) fn new(kinds: MethodKinds) -> Self {
        Self { kinds, ..Self::default() }
    }

    /// Begins a thread. Without a budget it has no charts.
    pub(in crate::html) fn begin_thread(&mut self, budget: Option<Budget>, details: DetailBudget) {
        self.details = Details::within(details);
        self.budget = budget;
        self.timeline = budget.map(|budget| Timeline::new(budget.timeline));
        self.begin = None;
        (self.calls, self.most_frames) = (0, 0);
        self.thread += 1;
        self.since = 0;
        (self.active, self.longest) = (0, (0, 0));
    }

    /// Ends the thread. Frames that are still open end here.
    pub(in crate::html) fn end_thread(&mut self, end: u64, weight: u64) -> ThreadSums {
        while !self.open.is_empty() {
            self.keep_details(end, None);
            self.leave_at(end, weight);
        }
        let flame = std::mem::take(&mut self.of_thread);
        self.flame.merge(&flame);
        let timeline = self.timeline.take().map(Timeline::finish);
        let charts = timeline.zip(self.budget);
        let begin = self.begin.unwrap_or(end);
        let (longest, of_longest) = self.longest;
        let spans_thread = longest > (end - begin) / 2;
        let active = self.active - if spans_thread { of_longest } else { 0 };
        ThreadSums {
            calls: self.calls,
            most_frames: self.most_frames as u64,
            begin,
            end,
            active,
            lane: std::mem::take(&mut self.lane),
            called: self.take_called(),
            charts: charts.map(|(timeline, budget)| {
                let flame = flame.finish(budget.flame);
                Charts { timeline, flame }
            }),
            details: std::mem::take(&mut self.details),
        }
    }

    /// The methods of the thread: the application's first, and of these the most frequent first.
    fn take_called(&mut self) -> Vec<Called> {
        let sums = &self.sums;
        let called = self.called.drain(..).filter_map(|method| {
            let sums = sums.get(usize::try_from(method).ok()?)?;
            let calls = sums.calls - sums.before;
            Some((sums.kind.is_own, Called { method, calls, first: sums.first }))
        });
        let mut called: Vec<_> = called.collect();
        called.sort_by_key(|(is_own, called)| (!is_own, Reverse(called.calls), called.method));
        called.into_iter().map(|(_, called)| called).collect()
    }

    /// Returns the methods in the order of their numbers, with their sums, and the flame graph of all threads.
    pub(in crate::html) fn finish(self) -> (Vec<(MethodId, MethodSums)>, Flame) {
        let methods = self.numbers.methods().iter().copied();
        (methods.zip(self.sums).collect(), self.flame)
    }

    /// The method of the innermost open frame.
    pub(in crate::html) fn innermost(&self) -> Option<MethodId> {
        self.method(self.open.last()?.method)
    }

    /// The number of the call of the innermost open frame.
    pub(in crate::html) fn innermost_call(&self) -> Option<u64> {
        Some(self.open.last()?.calls)
    }

    /// The method with a number.
    fn method(&self, number: u32) -> Option<MethodId> {
        self.numbers.methods().get(usize::try_from(number).ok()?).copied()
    }

    /// The number of calls that the thread has made.
    pub(in crate::html) fn calls(&self) -> u64 {
        self.calls
    }

    /// The number of open frames.
    pub(in crate::html) fn open_frames(&self) -> usize {
        self.open.len()
    }

    /// A method is entered. `weight` is how much of that had passed by then. Neither decreases.
    #[inline]
    pub(in crate::html) fn enter(&mut self, method: MethodId, at: u64, weight: u64) {
        self.begin.get_or_insert(at);
        let (id, (method, is_new)) = (method, self.numbers.get(method));
        if is_new {
            self.sums.push(MethodSums { kind: self.kinds.get(id), ..MethodSums::default() });
        }
        let mut kind = MethodKind::default();
        if let Some(sums) = sums_mut(&mut self.sums, method) {
            if sums.thread != self.thread {
                (sums.thread, sums.before, sums.first) = (self.thread, sums.calls, at);
                self.called.push(method);
            }
            sums.calls += 1;
            sums.open += 1;
            kind = sums.kind;
        }
        if kind.waits || self.open.is_empty() {
            self.pass_all_time(at);
        } else {
            self.pass_time(at);
        }
        let caller = self.open.last();
        let parent = caller.map_or(ROOT, |frame| frame.path);
        let waits = kind.waits || caller.is_some_and(|frame| frame.waits);
        let shown = match caller {
            Some(frame) if frame.in_own && !kind.is_own => frame.shown,
            _ => method,
        };
        let in_own = kind.is_own || caller.is_some_and(|frame| frame.in_own);
        let path = if self.open.len() < FRAMES {
            self.of_thread.child(parent, method)
        } else {
            self.of_thread.count(parent, |counts| counts.more_calls += 1);
            parent
        };
        let first = self.timeline.as_ref().map_or(0, Timeline::len);
        let calls = self.calls;
        self.open.push(Frame {
            method,
            path,
            at,
            weight_at: weight,
            calls,
            inside: 0,
            first,
            shown,
            in_own,
            has_own: kind.is_own,
            waits,
        });
        self.of_thread.fit(self.open.iter_mut().map(|frame| &mut frame.path));
        self.calls += 1;
        self.most_frames = self.most_frames.max(self.open.len());
    }

    /// Frames end, perhaps by an exception. Fewer may be open: the others were entered before recording began.
    #[inline]
    pub(in crate::html) fn exit(
        &mut self,
        count: NonZeroU64,
        end: u64,
        weight: u64,
        unwound: Option<&Unwound>,
    ) {
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        for _ in 0..count.min(self.open.len()) {
            self.keep_details(end, unwound);
            self.leave_at(end, weight);
        }
    }

    /// The topmost frame ends: keeps its values, and the exception that ended it.
    #[inline]
    fn keep_details(&mut self, end: u64, unwound: Option<&Unwound>) {
        let values = self.values.leave(self.open.len());
        if values.is_empty() && unwound.is_none() {
            return;
        }
        let Some(&Frame { method, at, calls: number, .. }) = self.open.last() else { return };
        let Some(method) = self.method(method) else { return };
        let unwound = unwound.map(|unwound| unwound.class.clone());
        let width = end.saturating_sub(at);
        let calls = self.calls - number;
        self.details.add(EndedCall { number, method, width, calls, values, unwound });
    }

    /// Values of the topmost frame were recorded.
    pub(in crate::html) fn add_values(&mut self, values: &[CallValue]) {
        if self.details.keeps_values() {
            self.values.add(self.open.len(), values);
        }
    }

    /// The topmost frame ran until now. A moment much shorter than the lane can show is left for the next time, and then
    /// counts for the frame that is on top: this is called for each event.
    #[inline]
    fn pass_time(&mut self, now: u64) {
        if now.saturating_sub(self.since) > self.lane.least_time() {
            self.pass_all_time(now);
        }
    }

    /// The same for any moment: a wait begins or ends, or the thread runs nothing else.
    fn pass_all_time(&mut self, now: u64) {
        if let Some(frame) = self.open.last().filter(|frame| !frame.waits && self.since < now) {
            self.lane.add(frame.shown, self.since, now);
        }
        self.since = now;
    }

    /// The topmost frame ends.
    fn leave_at(&mut self, end: u64, weight: u64) {
        if self.open.len() == 1 || self.open.last().is_some_and(|frame| frame.waits) {
            self.pass_all_time(end);
        } else {
            self.pass_time(end);
        }
        let Some(frame) = self.open.pop() else { return };
        let duration = end.saturating_sub(frame.at);
        let total = weight.saturating_sub(frame.weight_at);
        let self_weight = total.saturating_sub(frame.inside);
        let (mut active, mut is_own) = (0, false);
        if let Some(sums) = sums_mut(&mut self.sums, frame.method) {
            sums.open -= 1;
            sums.self_weight += self_weight;
            is_own = sums.kind.is_own;
            if is_own && !frame.waits {
                active = self_weight;
            }
            // Recursive calls lie within the outermost one.
            if sums.open == 0 {
                sums.total += total;
                sums.duration += duration;
            }
        }
        if let Some(caller) = self.open.last_mut() {
            caller.inside += total;
            caller.has_own |= frame.has_own;
        }
        let depth = self.open.len();
        self.active += active;
        if depth == 0 {
            self.longest = self.longest.max((duration, active));
        }
        if depth > FRAMES {
            return;
        }
        self.of_thread.count(frame.path, |counts| {
            if depth < FRAMES {
                (counts.calls, counts.total) = (counts.calls + 1, counts.total + total);
                counts.is_own |= is_own;
            } else {
                counts.more_total += total;
            }
        });
        if let Some(timeline) = &mut self.timeline {
            let Frame { method, at, first, .. } = frame;
            let calls = self.calls - frame.calls;
            let cell = ChartBox { depth, kind: Kind::Call, method, at, end, calls };
            let contents = if frame.has_own { Contents::Own } else { Contents::Library };
            let firsts = self.open.iter_mut().map(|frame| &mut frame.first);
            timeline.leave(cell, contents, first, firsts);
        }
    }
}

fn sums_mut(sums: &mut [MethodSums], method: u32) -> Option<&mut MethodSums> {
    sums.get_mut(usize::try_from(method).ok()?)
}

#[cfg(test)]
mod tests {
    use flow_codec::format::flow::Record;
    use flow_codec::read::{FlowReader, ReadRecords};
    use flow_query::analysis::Report;

    use super::*;

    /// No values.
    const NONE: DetailBudget = DetailBudget { values: 0, exceptions: 0 };

    #[test]
    fn methods_add_up_as_in_a_report() {
        let mut state: u64 = 5;
        let (mut gather, mut report) = (Gather::default(), Report::default());
        for thread in 0..20 {
            let mut bytes = Vec::new();
            for _ in 0..2000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let random = u8::try_from(state >> 56).unwrap();
                // Few methods, so that there is recursion; and sometimes many exits at once.
                bytes.push(if random < 120 { random % 5 } else { 0x80 | (random % 7) });
            }
            gather.begin_thread(
                (thread % 2 == 0).then_some(Budget { timeline: 50, flame: 50, instants: 0 }),
                NONE,
            );
            let (mut reader, mut now) = (FlowReader::new(&bytes[..]), 0);
            while let Some((_, record)) = reader.next_record().unwrap() {
                match record {
                    Record::Enter(method) => {
                        gather.enter(method, now, now);
                        now += 1;
                    }
                    Record::Exit(count) => gather.exit(count, now, now, None),
                }
            }
            FlowReader::new(&bytes[..]).visit_all(&mut report).unwrap();
            report.end_thread();
            let sums = gather.end_thread(now, now);
            let charts = sums.charts.into_iter().flat_map(|charts| [charts.timeline, charts.flame]);
            for boxes in charts {
                let outermost = boxes.iter().filter(|cell| cell.depth == 0);
                let width: u64 = outermost.map(|cell| cell.end - cell.at).sum();
                assert!(boxes.len() <= 50 && width == sums.calls);
            }
        }
        let (methods, flame) = gather.finish();
        assert_eq!(flame.finish(1000).iter().map(|cell| cell.end).max(), Some(report.calls()));
        for row in report.rows() {
            let (_, sums) = methods.iter().find(|(method, _)| *method == row.method).unwrap();
            assert_eq!(
                (sums.calls, sums.total, sums.self_weight),
                (row.calls, row.total, row.self_weight)
            );
        }
    }

    /// The timeline and the flame graph of one thread.
    fn boxes(budget: usize, program: &str) -> [Vec<ChartBox>; 2] {
        let mut gather = Gather::default();
        gather.begin_thread(Some(Budget { timeline: budget, flame: budget, instants: 0 }), NONE);
        let charts = run(&mut gather, program).charts.unwrap();
        [charts.timeline, charts.flame]
    }

    /// `(` enters, `)` leaves, letters are calls without callees; the time is the number of calls so far. Methods have
    /// the numbers of their characters.
    fn run(gather: &mut Gather, program: &str) -> ThreadSums {
        for id in 0..128 {
            let id = MethodId::new(id).unwrap();
            gather.numbers.get(id);
            gather.sums.push(MethodSums { kind: gather.kinds.get(id), ..MethodSums::default() });
        }
        let mut now = 0;
        for c in program.bytes() {
            if c != b')' {
                gather.enter(MethodId::new(c.into()).unwrap(), now, now);
                now += 1;
            }
            if c != b'(' {
                gather.exit(NonZeroU64::MIN, now, now, None);
            }
        }
        gather.end_thread(now, now)
    }

    fn lines(boxes: &[ChartBox]) -> Vec<String> {
        let line = |cell: &ChartBox| {
            let kind = if cell.kind == Kind::More { "…" } else { "" };
            let name = char::from_u32(cell.method).map_or("?".to_owned(), String::from);
            format!("{}{kind}{name} {}..{} {}", cell.depth, cell.at, cell.end, cell.calls)
        };
        boxes.iter().map(line).collect()
    }

    /// The number of calls in the outermost boxes.
    fn outermost_calls(boxes: &[ChartBox]) -> u64 {
        boxes.iter().filter(|cell| cell.depth == 0).map(|cell| cell.calls).sum()
    }

    /// A random program of these steps. It leaves no more frames than it entered.
    fn random(state: &mut u64, steps: &[u8; 8], length: usize) -> String {
        let mut depth = 0;
        let step = |_| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(steps[usize::try_from(*state >> 61).unwrap()])
        };
        let is_possible = |c: &char| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            let is_possible = depth >= 0;
            depth = depth.max(0);
            is_possible
        };
        (0..length).map(step).filter(is_possible).collect()
    }

    fn calls(program: &str) -> u64 {
        program.bytes().filter(|c| *c != b')').count() as u64
    }

    #[test]
    fn a_small_thread_is_kept_whole_and_in_order() {
        let [timeline, _] = boxes(10, "(a(b)c)d");
        assert_eq!(
            lines(&timeline),
            ["0( 0..5 5", "1a 1..2 1", "1( 2..4 2", "2b 3..4 1", "1c 4..5 1", "0d 5..6 1"]
        );
    }

    #[test]
    fn narrow_boxes_are_merged_into_one_with_the_method_of_the_widest() {
        let program = format!("({})", "a(bb)c(dddddddd(e)dddddddd)");
        assert_eq!(
            lines(&boxes(5, &program)[0]),
            ["0( 0..25 25", "1…( 1..6 5", "1( 6..25 19", "2…( 7..25 18"]
        );
    }

    #[test]
    fn no_budget_is_exceeded_and_every_call_is_counted() {
        let mut state: u64 = 7;
        for budget in [8, 64, 500] {
            let program = random(&mut state, b"(()abc))", 60_000);
            let [boxes, _] = boxes(budget, &program);
            assert!(boxes.len() <= budget, "{} of {budget}", boxes.len());
            assert_eq!(outermost_calls(&boxes), calls(&program));
            for (place, cell) in boxes.iter().enumerate() {
                let inside: Vec<_> = boxes[place + 1..]
                    .iter()
                    .take_while(|inner| inner.depth > cell.depth)
                    .collect();
                assert!(inside.iter().all(|inner| inner.at > cell.at && inner.end <= cell.end));
                let callees = inside.iter().filter(|inner| inner.depth == cell.depth + 1);
                let callees: u64 = callees.map(|inner| inner.calls).sum();
                let is_call = cell.kind == Kind::Call;
                assert!(callees == cell.calls - 1 || !is_call || inside.is_empty());
            }
        }
    }

    #[test]
    fn endless_recursion_keeps_its_first_frames() {
        for boxes in boxes(100, &"(".repeat(3 * FRAMES)) {
            assert!((50..=100).contains(&boxes.len()), "{}", boxes.len());
            assert!(boxes.iter().enumerate().all(|(place, cell)| cell.depth == place));
            assert_eq!(boxes.last().unwrap().kind, Kind::More);
            assert_eq!(boxes[0].end - boxes[0].at, 3 * FRAMES as u64);
        }
    }

    #[test]
    fn calls_that_take_no_time_are_merged_too() {
        let mut gather = Gather::default();
        gather.begin_thread(Some(Budget { timeline: 10, flame: 10, instants: 0 }), NONE);
        for at in 0..100_000 {
            gather.enter(MethodId::new(1).unwrap(), at / 1000, at / 1000);
            gather.exit(NonZeroU64::MIN, at / 1000, at / 1000, None);
        }
        let boxes = gather.end_thread(100, 100).charts.unwrap().timeline;
        assert!(boxes.len() <= 10);
        assert_eq!(outermost_calls(&boxes), 100_000);
    }

    #[test]
    fn calls_of_the_application_are_kept_before_those_of_libraries() {
        const OWN: u64 = 3;
        let method = |id| MethodId::new(id).unwrap();
        let own_boxes = |kinds| {
            let mut gather = Gather::new(kinds);
            gather.begin_thread(Some(Budget { timeline: 1000, flame: 1000, instants: 0 }), NONE);
            let mut now = 0;
            // Ten wide calls of a library for each narrow one of the application, which a library calls.
            for _ in 0..150 {
                gather.enter(method(1), now, now);
                for (id, width) in [(2, 8); 10].into_iter().chain([(OWN, 2)]) {
                    gather.enter(method(id), now, now);
                    now += width;
                    gather.exit(NonZeroU64::MIN, now, now, None);
                }
                gather.exit(NonZeroU64::MIN, now, now, None);
            }
            let boxes = gather.end_thread(now, now).charts.unwrap().timeline;
            assert!(boxes.len() <= 1000);
            let is_own = |cell: &&ChartBox| {
                cell.kind == Kind::Call
                    && gather.numbers.methods()[cell.method as usize] == method(OWN)
            };
            boxes.iter().filter(is_own).count()
        };
        let kind = MethodKind { is_own: true, waits: false };
        assert_eq!(own_boxes(MethodKinds::of([(method(OWN), kind)], true)), 150);
        assert_eq!(own_boxes(MethodKinds::default()), 0);
    }

    #[test]
    fn a_thread_is_active_in_the_code_of_the_application_while_it_does_not_wait() {
        let kind = |id, is_own, waits| (MethodId::new(id).unwrap(), MethodKind { is_own, waits });
        // main, order, get of a library, and park.
        let kinds = [kind(1, true, false), kind(2, true, false), kind(4, false, true)];
        let mut gather = Gather::new(MethodKinds::of(kinds, true));
        gather.begin_thread(None, NONE);
        let exit = |gather: &mut Gather, at| gather.exit(NonZeroU64::MIN, at, at, None);
        let enter = |gather: &mut Gather, id, at| gather.enter(MethodId::new(id).unwrap(), at, at);
        enter(&mut gather, 1, 0);
        enter(&mut gather, 2, 100);
        enter(&mut gather, 3, 200);
        exit(&mut gather, 300);
        enter(&mut gather, 4, 300);
        enter(&mut gather, 1, 400);
        exit(&mut gather, 450);
        exit(&mut gather, 500);
        exit(&mut gather, 510);
        exit(&mut gather, 1000);
        let sums = gather.end_thread(1000, 1000);
        assert_eq!(sums.active, 100 + 10, "only order, and main is there all the time");
        let mut lane = sums.lane;
        lane.shrink(1);
        // The library runs for order. What is called while waiting waits too.
        assert_eq!(lane.bins().map(|bin| bin.0).sum::<u64>(), 800);
        let called: Vec<_> = sums.called.iter().map(|c| (c.method, c.calls, c.first)).collect();
        assert_eq!(called, [(0, 2, 0), (1, 1, 100), (2, 1, 200), (3, 1, 300)]);
    }

    #[test]
    fn the_same_path_is_one_box_and_the_largest_comes_first() {
        let mut gather = Gather::default();
        gather.begin_thread(None, NONE);
        run(&mut gather, "(ab(c))(ab)a");
        let flame = gather.finish().1;
        assert_eq!(flame.edges()[&(u32::from(b'('), u32::from(b'b'))], 2);
        assert_eq!(
            lines(&flame.finish(100)),
            ["0( 0..8 2", "1a 0..2 2", "1b 2..4 2", "1( 4..6 1", "2c 4..5 1", "0a 8..9 1"]
        );
    }

    #[test]
    fn dropped_paths_leave_all_calls_in_some_box() {
        let program = random(&mut 11, b"((abc))d", 40_000);
        for (limit, budget) in [(50, 30), (1000, 30), (1 << 19, 500), (1 << 19, 1 << 19)] {
            let (flame, of_thread) = (Flame::with_limit(limit), Flame::with_limit(limit));
            let mut gather = Gather { flame, of_thread, ..Gather::default() };
            gather.begin_thread(None, NONE);
            run(&mut gather, &program);
            let boxes = gather.finish().1.finish(budget);
            assert!(boxes.len() <= budget);
            let outermost = boxes.iter().filter(|cell| cell.depth == 0);
            assert_eq!(outermost.map(|cell| cell.end - cell.at).sum::<u64>(), calls(&program));
            for (place, cell) in boxes.iter().enumerate().filter(|(_, c)| c.kind == Kind::Call) {
                let inside = boxes[place + 1..].iter().take_while(|inner| inner.depth > cell.depth);
                let inside = inside.filter(|inner| inner.depth == cell.depth + 1);
                let inside: u64 = inside.map(|inner| inner.end - inner.at).sum();
                assert_eq!(cell.end - cell.at, cell.calls + inside);
            }
        }
    }
}
