//! What all threads did, as rows in one order: entries, exits, and details of calls.
//!
//! There may be very many rows. What a thread did while no other did anything can be reduced to where it begins and ends, so
//! that the rows that are kept are those where threads alternate.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;

use flow_codec::read::{
    EventKind, MergedItem, StackSamples, TimeLimits, TimelineEvent, Trace, Unwound, When,
};
use flow_codec::{Error, MethodId, Offset};

use super::{Beside, Detail, Feed, InOrder, OrderedCall, Rows, Shown};
use crate::reading::start_ns;
use crate::select::Selected;

/// A question: what did all threads do, in one order?
#[derive(Clone, Copy, Debug)]
pub struct Interleaved<'a> {
    /// Which calls.
    pub selected: &'a Selected,
    /// The samples of the trace, if they are shown.
    pub samples: Option<&'a StackSamples>,
    /// The most rows.
    pub max_rows: usize,
    /// The most events that are read.
    pub max_events: u64,
    /// The rows that are kept at each end of what a thread did while no other did anything.
    pub alone: usize,
}

/// The answer.
#[derive(Clone, Default, Debug)]
pub struct Interleaving {
    /// The rows, in order.
    pub rows: Vec<MergedRow>,
    /// When the first event happened that was not read, if one was not.
    pub unread: Option<When>,
    /// Whether events could not be read.
    pub is_damaged: bool,
}

/// Something that a thread did.
#[derive(Clone, Debug)]
pub struct MergedRow {
    /// The thread: its place among [`Trace::files`].
    pub thread: usize,
    /// How many selected calls of the thread are around it.
    pub depth: usize,
    /// When it happened.
    pub time: When,
    /// Whether everything that other threads did in the rows before certainly happened before.
    pub is_certain: bool,
    /// The number of the call in its thread: that which began or was left, or in which something happened. `None` outside all calls.
    pub call: Option<u64>,
    /// What it did.
    pub kind: MergedKind,
    /// How many calls were left directly after it.
    pub exits: u64,
    /// The class of the exception that left these calls, empty if it is unknown; `None` if they returned.
    pub thrown: Option<String>,
}

/// What a thread did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum MergedKind {
    /// The thread entered a method.
    Enter(MethodId),
    /// The thread left a call of this method after another thread did something, or frames that were entered before recording began.
    Leave(Option<MethodId>),
    /// Something happened in a call, or between calls.
    Detail(Detail),
    /// The thread did this many more things while no other thread did anything.
    Alone(u64),
}

/// Keeps rows, of each thread that is alone only the first and the last.
struct Keeper {
    rows: Vec<MergedRow>,
    alone: usize,
    /// How many of the newest `rows` are of the thread that is alone.
    begun: usize,
    /// The last of these, after `left_out` ones that are not kept.
    last: VecDeque<MergedRow>,
    left_out: u64,
    /// Whether rows are kept now.
    is_open: bool,
}

impl Keeper {
    fn len(&self) -> usize {
        self.rows.len().saturating_add(self.last.len())
    }

    fn newest(&mut self) -> Option<&mut MergedRow> {
        self.last.back_mut().or(self.rows.last_mut())
    }

    fn push(&mut self, row: MergedRow) {
        if !self.is_open {
            return;
        }
        if self.newest().is_some_and(|newest| newest.thread != row.thread) {
            self.end_alone();
        }
        if self.begun < self.alone {
            self.begun += 1;
            return self.rows.push(row);
        }
        self.last.push_back(row);
        if self.last.len() > self.alone.max(1) {
            self.last.pop_front();
            self.left_out += 1;
        }
    }

    /// Another thread continues, or none.
    fn end_alone(&mut self) {
        if let Some(first) = self.last.front().filter(|_| self.left_out > 0) {
            let kind = MergedKind::Alone(self.left_out);
            let row = MergedRow { kind, exits: 0, thrown: None, call: None, ..first.clone() };
            self.rows.push(row);
        }
        self.rows.extend(self.last.drain(..));
        (self.begun, self.left_out) = (0, 0);
    }
}

/// A thread that has begun.
struct OfThread {
    calls: InOrder,
    open: Vec<Open>,
}

/// A call that has begun.
#[derive(Clone, Copy)]
struct Open {
    number: u64,
    method: MethodId,
    /// Whether it has a row.
    is_shown: bool,
}

/// Receives the rows of a thread.
struct Face<'k> {
    keeper: &'k mut Keeper,
    thread: usize,
    /// The number of the call that is entered, or in which something happens.
    call: Option<u64>,
    time: When,
    has_entered: bool,
}

impl Face<'_> {
    fn row(&mut self, depth: usize, time: When, is_certain: bool, kind: MergedKind) {
        let (thread, call, exits, thrown) = (self.thread, self.call, 0, None);
        self.keeper.push(MergedRow { thread, depth, time, is_certain, call, kind, exits, thrown });
    }
}

impl Rows for Face<'_> {
    type Error = Error;

    fn admits_call(&mut self) -> bool {
        true
    }

    fn begin(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn root(&mut self, _: u64, _: Offset, _: &[MethodId]) -> Result<(), Error> {
        Ok(())
    }

    fn call(&mut self, call: &OrderedCall, indent: usize) -> Result<(), Error> {
        self.has_entered = true;
        self.row(indent, self.time, call.is_certain, MergedKind::Enter(call.method));
        Ok(())
    }

    fn detail(&mut self, detail: &Detail, indent: usize) -> Result<(), Error> {
        self.row(indent, detail.time, detail.is_certain, MergedKind::Detail(detail.clone()));
        Ok(())
    }

    fn unwound(&mut self, _: &Unwound, _: usize) -> Result<(), Error> {
        Ok(())
    }

    fn unseen(&mut self, _: u64) -> Result<bool, Error> {
        Ok(false)
    }
}

impl Interleaved<'_> {
    /// Reads a trace until a limit is reached.
    #[must_use]
    pub fn read(&self, trace: &Trace) -> Interleaving {
        let limits = self.selected.limits();
        // A timeline that leaves out events has no sequence numbers.
        let has_numbers = trace.has_numbers();
        let min_ns = if has_numbers { limits.min_ns } else { 0 };
        let shown = Shown {
            methods: trace.methods(),
            selection: self.selected.selection(),
            wanted: None,
            samples: self.samples,
            max_depth: usize::MAX,
            min_ns,
            collapses: false,
            counts_below: false,
            joins_lines: true,
            beside: Beside::Details,
        };
        let (alone, last) = (self.alone, VecDeque::new());
        let mut keeper =
            Keeper { rows: Vec::new(), alone, begun: 0, last, left_out: 0, is_open: true };
        let mut threads: BTreeMap<usize, OfThread> = BTreeMap::new();
        let mut answer = Interleaving::default();
        let (mut latest, mut read) = (None, 0);
        let merged = trace.merged().with_timelines(|file, _| {
            let timeline = match has_numbers {
                true => file.timeline()?,
                false => file.timeline()?.limit(limits, start_ns(trace, file)),
            };
            let timeline = timeline
                .with_lines()
                .with_values()
                .with_handlers()
                .with_waits()
                .with_instructions();
            Ok(match self.samples {
                Some(samples) => timeline.with_samples(samples, file.id()),
                None => timeline,
            })
        });
        for item in merged {
            let (thread, event, is_certain) = match item {
                MergedItem::Event { thread, event, is_certain } => (thread, event, is_certain),
                MergedItem::Damage { .. } => {
                    answer.is_damaged = true;
                    continue;
                }
                MergedItem::End { thread, marks, .. } => {
                    answer.is_damaged |= marks.is_some();
                    if let Some(of) = threads.get_mut(&thread) {
                        of.pause(thread, &shown, &mut keeper);
                    }
                    continue;
                }
            };
            // What waits has its row where it happened, whatever comes next.
            if let Some(before) = latest.replace(thread).filter(|before| *before != thread)
                && let Some(of) = threads.get_mut(&before)
            {
                of.pause(before, &shown, &mut keeper);
            }
            if has_numbers {
                keeper.is_open = within(event.time, limits);
            }
            if keeper.len() >= self.max_rows || read >= self.max_events {
                answer.unread = Some(event.time);
                break;
            }
            read += u64::from(keeper.is_open);
            let of = threads.entry(thread).or_insert_with(|| OfThread {
                calls: self.in_order(trace, thread, &shown),
                open: Vec::new(),
            });
            if of.pass(thread, (event, is_certain), &shown, &mut keeper).is_break() {
                answer.is_damaged = true;
            }
        }
        if let Some((thread, of)) = latest.and_then(|of| Some((of, threads.get_mut(&of)?))) {
            of.pause(thread, &shown, &mut keeper);
        }
        keeper.end_alone();
        answer.rows = keeper.rows;
        answer
    }

    fn in_order(&self, trace: &Trace, thread: usize, shown: &Shown<'_>) -> InOrder {
        let mut calls = InOrder::new(shown);
        if let Some(file) = trace.files().get(thread).filter(|_| shown.min_ns > 0) {
            calls.keep_time(file, Offset::default());
        }
        calls
    }
}

/// Returns whether something happened within limits, as far as is known.
fn within(time: When, limits: TimeLimits) -> bool {
    time.estimate_ns.is_none_or(|at| (limits.from_ns..=limits.to_ns).contains(&at))
}

impl OfThread {
    /// Passes an event on. Breaks if the thread cannot be read.
    fn pass(
        &mut self,
        thread: usize,
        (event, is_certain): (TimelineEvent, bool),
        shown: &Shown<'_>,
        keeper: &mut Keeper,
    ) -> ControlFlow<()> {
        self.calls.set_certain(is_certain);
        let time = event.time;
        match &event.kind {
            EventKind::Enter(method) => {
                let (number, method) = (event.calls, *method);
                self.pause(thread, shown, keeper);
                let (flow, is_shown) =
                    self.feed((thread, Some(number)), time, shown, keeper, |feed| {
                        event.visit(feed)
                    });
                self.open.push(Open { number, method, is_shown });
                flow
            }
            EventKind::Exit { count, unwound } => {
                let class = unwound.as_ref().map(|of| of.class.as_deref().unwrap_or_default());
                let (count, class) = (count.get(), class.map(str::to_owned));
                // The class of an exception belongs to its message, which waits.
                let call = self.innermost();
                let (flow, _) =
                    self.feed((thread, call), time, shown, keeper, |feed| event.visit(feed));
                self.pause(thread, shown, keeper);
                self.leave(thread, count, class, (time, is_certain), keeper);
                flow
            }
            _ => {
                let call = self.innermost();
                self.feed((thread, call), time, shown, keeper, |feed| event.visit(feed)).0
            }
        }
    }

    /// The number of the innermost open call that is shown.
    fn innermost(&self) -> Option<u64> {
        self.open.iter().rfind(|open| open.is_shown).map(|open| open.number)
    }

    /// Adds exits to the row before, if that is of the thread; else as a row.
    fn leave(
        &mut self,
        thread: usize,
        count: u64,
        thrown: Option<String>,
        (time, is_certain): (When, bool),
        keeper: &mut Keeper,
    ) {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let left = self.open.split_off(self.open.len().saturating_sub(count));
        let shown: Vec<_> = left.iter().filter(|open| open.is_shown).collect();
        // The others were entered before recording began.
        let exits = (shown.len() + (count - left.len())) as u64;
        if exits == 0 || !keeper.is_open {
            return;
        }
        match keeper.newest().filter(|row| row.thread == thread && row.exits == 0) {
            Some(row) => (row.exits, row.thrown) = (exits, thrown),
            None => {
                let kind = MergedKind::Leave(shown.last().map(|open| open.method));
                let call = shown.last().map(|open| open.number);
                let around = self.open.iter().filter(|open| open.is_shown).count();
                let depth = around + shown.len().saturating_sub(1);
                keeper.push(MergedRow {
                    thread,
                    depth,
                    time,
                    is_certain,
                    call,
                    kind,
                    exits,
                    thrown,
                });
            }
        }
    }

    /// Passes something on to the rows. Returns also whether a call was entered that is shown.
    fn feed<'k>(
        &mut self,
        (thread, call): (usize, Option<u64>),
        time: When,
        shown: &Shown<'_>,
        keeper: &'k mut Keeper,
        pass: impl FnOnce(&mut Feed<'_, '_, Face<'k>>) -> bool,
    ) -> (ControlFlow<()>, bool) {
        let mut face = Face { keeper, thread, call, time, has_entered: false };
        let (calls, to) = (&mut self.calls, &mut face);
        let (walk, is_alone, stopped) = (None, false, Ok(()));
        let mut feed = Feed { thread: calls, shown, to, walk, is_alone, stopped };
        let continues = pass(&mut feed) && feed.stopped.is_ok();
        let flow = if continues { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        (flow, face.has_entered)
    }

    /// Shows the detail that waits.
    fn pause(&mut self, thread: usize, shown: &Shown<'_>, keeper: &mut Keeper) {
        let call = self.innermost();
        // Keeping a row cannot fail.
        let _ =
            self.feed((thread, call), When::UNKNOWN, shown, keeper, |feed| feed.pause().is_ok());
    }
}
