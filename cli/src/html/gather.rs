//! One pass over the calls of all threads: what the page shows of them.
//!
//! Times are in units of the caller. Memory: the open frames, what [`Timeline`] and [`Paths`] are allowed, and
//! some bytes a method.

use std::num::NonZeroU64;

use flow_codec::MethodId;

use super::chart::ChartBox;
use super::paths::Paths;
use super::timeline::Timeline;
use crate::export::Numbers;

/// What is told of one method.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Sums {
    pub(super) calls: u64,
    /// What its outermost frames took, with all they called.
    pub(super) total: u64,
    /// What all of its frames took, without what they called.
    pub(super) own: u64,
    /// Frames that are open.
    open: u64,
}

/// A frame that is open.
#[derive(Clone, Copy, Debug)]
struct Frame {
    method: u32,
    at: u64,
    /// Calls before it.
    calls: u64,
    /// What the calls it made took.
    inside: u64,
}

/// What is told of one thread.
#[derive(Debug)]
pub(super) struct ThreadSums {
    pub(super) calls: u64,
    pub(super) most_frames: u64,
    /// When it began and ended.
    pub(super) begin: u64,
    pub(super) end: u64,
    /// Its timeline and its flame graph, if it has them.
    pub(super) charts: Option<Charts>,
}

/// So many boxes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) timeline: usize,
    pub(super) flame: usize,
}

/// What is drawn of a thread.
#[derive(Debug)]
pub(super) struct Charts {
    pub(super) timeline: Vec<ChartBox>,
    pub(super) flame: Vec<ChartBox>,
}

/// Adds up the calls of any number of threads, one after the other.
#[derive(Default, Debug)]
pub(super) struct Gather {
    numbers: Numbers,
    sums: Vec<Sums>,
    /// Of all threads before.
    paths: Paths,
    of_thread: Paths,
    timeline: Option<Timeline>,
    budget: Option<Budget>,
    open: Vec<Frame>,
    /// When the thread's first call began, and its calls.
    begin: Option<u64>,
    calls: u64,
    most_frames: usize,
}

impl Gather {
    /// A thread begins; its charts are to have so many boxes, or there are to be none.
    pub(super) fn begin_thread(&mut self, budget: Option<Budget>) {
        self.budget = budget;
        self.timeline = budget.map(|budget| Timeline::new(budget.timeline));
        self.begin = None;
        (self.calls, self.most_frames) = (0, 0);
    }

    /// The thread has ended: frames that are still open last up to here.
    pub(super) fn end_thread(&mut self, end: u64) -> ThreadSums {
        while !self.open.is_empty() {
            self.leave_at(end);
        }
        let paths = std::mem::take(&mut self.of_thread);
        self.paths.merge(&paths);
        let timeline = self.timeline.take().map(Timeline::finish);
        let charts = timeline.zip(self.budget);
        ThreadSums {
            calls: self.calls,
            most_frames: self.most_frames as u64,
            begin: self.begin.unwrap_or(end),
            end,
            charts: charts.map(|(timeline, budget)| {
                let flame = paths.finish(budget.flame);
                Charts { timeline, flame }
            }),
        }
    }

    /// The methods in the order of their numbers, what is told of each, and the paths.
    pub(super) fn finish(self) -> (Vec<(MethodId, Sums)>, Paths) {
        let methods = self.numbers.methods().iter().copied();
        (methods.zip(self.sums).collect(), self.paths)
    }

    /// How many frames are open.
    pub(super) fn open_frames(&self) -> usize {
        self.open.len()
    }

    /// A method is entered. Times never go back.
    #[inline]
    pub(super) fn enter(&mut self, method: MethodId, at: u64) {
        self.begin.get_or_insert(at);
        let (method, is_new) = self.numbers.get(method);
        if is_new {
            self.sums.push(Sums::default());
        }
        if let Some(sums) = sums_mut(&mut self.sums, method) {
            sums.calls += 1;
            sums.open += 1;
        }
        self.of_thread.enter(method);
        if let Some(timeline) = &mut self.timeline {
            timeline.enter();
        }
        self.open.push(Frame { method, at, calls: self.calls, inside: 0 });
        self.calls += 1;
        self.most_frames = self.most_frames.max(self.open.len());
    }

    /// Frames are left. There may be fewer: the others were entered before recording began.
    #[inline]
    pub(super) fn exit(&mut self, count: NonZeroU64, end: u64) {
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        for _ in 0..count.min(self.open.len()) {
            self.leave_at(end);
        }
    }

    /// The topmost frame is left.
    fn leave_at(&mut self, end: u64) {
        let Some(frame) = self.open.pop() else { return };
        let took = end.saturating_sub(frame.at);
        if let Some(sums) = sums_mut(&mut self.sums, frame.method) {
            sums.open -= 1;
            sums.own += took.saturating_sub(frame.inside);
            // Recursive calls lie within the outermost one.
            if sums.open == 0 {
                sums.total += took;
            }
        }
        if let Some(caller) = self.open.last_mut() {
            caller.inside += took;
        }
        self.of_thread.leave(took);
        if let Some(timeline) = &mut self.timeline {
            timeline.leave(frame.method, frame.at, end, self.calls - frame.calls);
        }
    }
}

fn sums_mut(sums: &mut [Sums], method: u32) -> Option<&mut Sums> {
    sums.get_mut(usize::try_from(method).ok()?)
}

#[cfg(test)]
mod tests {
    use flow_codec::analysis::Report;
    use flow_codec::format::flow::Record;
    use flow_codec::read::{FlowReader, ReadRecords};

    use super::*;

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
            gather.begin_thread((thread % 2 == 0).then_some(Budget { timeline: 50, flame: 50 }));
            let (mut reader, mut now) = (FlowReader::new(&bytes[..]), 0);
            while let Some((_, record)) = reader.next_record().unwrap() {
                match record {
                    Record::Enter(method) => {
                        gather.enter(method, now);
                        now += 1;
                    }
                    Record::Exit(count) => gather.exit(count, now),
                }
            }
            FlowReader::new(&bytes[..]).visit_all(&mut report).unwrap();
            report.end_thread();
            let sums = gather.end_thread(now);
            let charts = sums.charts.into_iter().flat_map(|charts| [charts.timeline, charts.flame]);
            for boxes in charts {
                let outermost = boxes.iter().filter(|cell| cell.depth == 0);
                let width: u64 = outermost.map(|cell| cell.end - cell.at).sum();
                assert!(boxes.len() <= 50 && width == sums.calls);
            }
        }
        let (methods, paths) = gather.finish();
        assert_eq!(paths.finish(1000).iter().map(|cell| cell.end).max(), Some(report.calls()));
        for row in report.rows() {
            let (_, sums) = methods.iter().find(|(method, _)| *method == row.method).unwrap();
            assert_eq!((sums.calls, sums.total, sums.own), (row.calls, row.total, row.own));
        }
    }
}
