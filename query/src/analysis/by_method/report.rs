//! Sums by method: how often it was called, and how many calls it made.
//!
//! Each call weighs 1. So *self* is the number of calls of the method, and *total* the number of calls made
//! while it was on the stack, including itself. A recursive call is within the outer one: its calls count
//! once. [`TimedReport`](crate::analysis::TimedReport) weighs by time.

use std::num::NonZeroU64;

use super::labels::method_sums;
use crate::analysis::nodes::{AddShapes, Nodes};
use crate::analysis::numbering::{Numbering, index};
use crate::dag::Dag;
use flow_codec::MethodId;
use flow_codec::read::{Elapsed, Selection, Visit};

/// How precise the times of a row are. All is 0 for calls, and the errors also for times that were not sampled.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Precision {
    /// How many samples the total has.
    pub total_samples: u64,
    /// The standard error of the total, in nanoseconds.
    pub total_error: u64,
    /// How many samples the self time has.
    pub self_samples: u64,
    /// The standard error of the self time, in nanoseconds.
    pub self_error: u64,
}

impl Precision {
    pub(in crate::analysis) fn of(total: Elapsed, own: Elapsed) -> Self {
        Self {
            total_samples: total.samples,
            total_error: total.error_ns(),
            self_samples: own.samples,
            self_error: own.error_ns(),
        }
    }
}

/// The sums of what `M` names, in calls or in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SumsOf<M> {
    /// The method.
    pub method: M,
    /// How often it was entered.
    pub calls: u64,
    /// Calls made while it was on the stack, including itself; or the time of the samples in which it was.
    pub total: u64,
    /// The number of calls of the method; or the time of the samples in which it was the innermost frame.
    pub self_weight: u64,
    /// Calls are exact.
    pub precision: Precision,
    /// If the total is CPU time: how long the thread did not run while the method was on the stack.
    pub waiting_ns: u64,
}

/// The sums of one method.
pub type ReportRow = SumsOf<MethodId>;

/// The sums over the frames of one method, either its outermost ones or the recursive ones.
#[derive(Clone, Copy, Default, Debug)]
struct Sum {
    /// Of calls that made others.
    calls: u64,
    total: u64,
    /// Of calls that made none: each is its own total.
    leaves: u64,
    /// For outermost frames: 1 while one is open.
    open: usize,
}

impl Sum {
    /// Enters a frame, if these are the sums of outermost frames. Returns 1 if the frame is recursive.
    #[inline(always)]
    fn enter(&mut self) -> usize {
        std::mem::replace(&mut self.open, 1)
    }

    /// Leaves a frame in which this many calls were made.
    #[inline(always)]
    fn leave(&mut self, calls: u64) {
        self.calls = self.calls.wrapping_add(1);
        // For recursive frames it counts calls repeatedly, and is not used.
        self.total = self.total.wrapping_add(calls);
        self.open = 0;
    }

    /// Adds sums of frames that were counted elsewhere.
    fn add(&mut self, other: &Self) {
        self.calls = self.calls.wrapping_add(other.calls);
        self.total = self.total.wrapping_add(other.total);
        self.leaves += other.leaves;
    }
}

/// A frame that is open.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The index of its sum; the complement of the index for a sum in `far`.
    sum: usize,
    /// Calls seen before it.
    entered_at: u64,
}

/// Adds up the calls of any number of threads, one after the other.
///
/// ```
/// use flow_query::analysis::Report;
/// use flow_codec::read::{FlowReader, ReadRecords};
///
/// // 1 calls 2 twice.
/// let bytes: &[u8] = &[0x81, 0x82, 0x00, 0x82, 0x01];
/// let mut report = Report::default();
/// FlowReader::new(bytes).visit_all(&mut report)?;
/// report.end_thread();
/// let rows = report.rows();
/// assert_eq!((rows[0].method.get(), rows[0].calls, rows[0].total), (1, 1, 3));
/// assert_eq!((rows[1].method.get(), rows[1].calls, rows[1].total), (2, 2, 2));
/// # Ok::<(), flow_codec::Error>(())
/// ```
#[derive(Default, Debug)]
pub struct Report {
    /// Two sums for each method, at twice its id: outermost frames, then recursive ones. So an exit need not
    /// find out which one it is: the total of recursive frames is counted, and never used.
    sums: Vec<Sum>,
    /// The same for ids that are too large for that, by number.
    far: Vec<Sum>,
    numbering: Numbering,
    calls: u64,
    /// The frames open in the thread that is being added.
    stack: Vec<Frame>,
}

/// Ids below this are indexes in an array, which takes 16 MiB at most. Only traces that are damaged or not
/// written by flow have larger ones.
const NEAR_IDS: usize = 1 << 18;

impl Visit for Report {
    // Always inlined: otherwise it does not become one loop with the decoder, and is half as fast.
    #[inline(always)]
    fn enter(&mut self, method: MethodId) {
        let outermost = usize::try_from(2 * method.get()).unwrap_or(usize::MAX);
        match self.sums.get_mut(outermost) {
            Some(sum) => {
                let sum = outermost + sum.enter();
                self.stack.push(Frame { sum, entered_at: self.calls });
                self.calls += 1;
            }
            None => self.enter_new(method),
        }
    }

    #[inline(always)]
    fn call(&mut self, method: MethodId, exits: NonZeroU64) {
        let outermost = usize::try_from(2 * method.get()).unwrap_or(usize::MAX);
        let sum = self.sums.get(outermost).map(|sum| outermost + sum.open);
        if let Some(sum) = sum.and_then(|sum| self.sums.get_mut(sum)) {
            sum.leaves += 1;
            self.calls += 1;
            if let Some(further) = NonZeroU64::new(exits.get() - 1) {
                self.exit(further);
            }
        } else {
            self.enter_new(method);
            self.exit(exits);
        }
    }

    #[inline(always)]
    fn exit(&mut self, count: NonZeroU64) {
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        self.leave(self.stack.len().saturating_sub(count));
    }
}

impl AddShapes for Report {
    fn add_shapes(&mut self, dag: &Dag, selection: &Selection) -> bool {
        let nodes = Nodes::new(dag, selection);
        let Some(sums) = method_sums(&nodes) else { return false };
        for (method, sum) in nodes.numbering.methods().iter().zip(sums.iter().skip(1)) {
            self.add_calls(*method, sum.calls, sum.total);
        }
        self.add_to_all(nodes.all_calls());
        true
    }
}

impl Report {
    /// Adds calls of a method that were counted elsewhere, and their total. Not among all calls.
    pub(in crate::analysis) fn add_calls(&mut self, method: MethodId, calls: u64, total: u64) {
        if calls == 0 {
            return;
        }
        let (sums, number) = match usize::try_from(method.get()) {
            Ok(id) if id < NEAR_IDS => (&mut self.sums, id),
            _ => (&mut self.far, index(self.numbering.number(method))),
        };
        make_room(sums, number);
        if let Some(outermost) = sums.get_mut(2 * number) {
            outermost.add(&Sum { calls, total, ..Sum::default() });
        }
    }

    /// Adds to the number of all calls.
    pub(in crate::analysis) fn add_to_all(&mut self, calls: u64) {
        self.calls = self.calls.saturating_add(calls);
    }

    /// Creates a report on calls that are made while these frames are open, the outermost first. The frames
    /// themselves count in another report, to which [`add`](Self::add) adds this one; this one counts the
    /// calls made in them from now on. So a thread can be cut into parts that are read at the same time.
    #[must_use]
    pub(crate) fn continuing(open: &[MethodId]) -> Self {
        let mut report = Self::default();
        for &method in open {
            report.enter(method);
        }
        report.calls = 0;
        for frame in &mut report.stack {
            frame.entered_at = 0;
            // Its end will count it.
            if let Some(sum) = sum_at(&mut report.sums, &mut report.far, frame.sum) {
                sum.calls = sum.calls.wrapping_sub(1);
            }
        }
        report
    }

    /// The methods of the frames that are open, the outermost first.
    #[must_use]
    pub(crate) fn open_methods(&self) -> Vec<MethodId> {
        let method = |frame: &Frame| match frame.sum.checked_div(2) {
            Some(id) if frame.sum < self.sums.len() => MethodId::new(id as u64),
            _ => self.numbering.methods().get((!frame.sum / 2).wrapping_sub(1)).copied(),
        };
        self.stack.iter().filter_map(method).collect()
    }

    /// Adds the calls of another report. Frames that are open there count up to here.
    #[doc(hidden)]
    pub fn add(&mut self, mut other: Self) {
        other.end_thread();
        if self.sums.len() < other.sums.len() {
            self.sums.resize(other.sums.len(), Sum::default());
        }
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| sum.add(other));
        for (method, sums) in
            other.numbering.methods().iter().zip(other.far.chunks_exact(2).skip(1))
        {
            let number = index(self.numbering.number(*method));
            make_room(&mut self.far, number);
            debug_assert!(2 * number + 1 < self.far.len(), "there is room for both sums");
            let sums_of_method = self.far.get_mut(2 * number..).unwrap_or_default();
            sums_of_method.iter_mut().zip(sums).for_each(|(sum, other)| sum.add(other));
        }
        self.calls += other.calls;
    }

    /// Ends a thread. Frames that are still open count up to here.
    pub fn end_thread(&mut self) {
        self.leave(0);
    }

    /// Closes all frames but this many.
    #[inline(always)]
    fn leave(&mut self, rest: usize) {
        for frame in self.stack.get(rest..).unwrap_or_default() {
            let calls = self.calls - frame.entered_at;
            match self.sums.get_mut(frame.sum) {
                Some(sum) => sum.leave(calls),
                None => leave_far(&mut self.far, frame.sum, calls),
            }
        }
        self.stack.truncate(rest);
    }

    /// Enters a method that has no sums yet, or whose sums are in `far`.
    #[cold]
    fn enter_new(&mut self, method: MethodId) {
        let sum = match usize::try_from(method.get()) {
            Ok(id) if id < NEAR_IDS => enter_at(&mut self.sums, id),
            _ => !enter_at(&mut self.far, index(self.numbering.number(method))),
        };
        self.stack.push(Frame { sum, entered_at: self.calls });
        self.calls += 1;
    }

    /// All calls so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// The rows, the largest total first. A call counts when it is left, or when its thread ends.
    #[must_use]
    pub fn rows(&self) -> Vec<ReportRow> {
        let near = (0..).filter_map(MethodId::new).zip(self.sums.chunks_exact(2));
        let far = self.numbering.methods().iter().copied();
        let far = far.zip(self.far.chunks_exact(2).skip(1));
        let row = |(method, sums): (MethodId, &[Sum])| {
            let [outermost, recursive] = sums else { return None };
            let calls = outermost.calls + outermost.leaves + recursive.calls + recursive.leaves;
            let total = outermost.total + outermost.leaves;
            let (self_weight, precision) = (calls, Precision::default());
            let row = ReportRow { method, calls, total, self_weight, precision, waiting_ns: 0 };
            (calls > 0).then_some(row)
        };
        let mut rows: Vec<_> = near.chain(far).filter_map(row).collect();
        rows.sort_by(|a, b| (b.total, b.calls, a.method).cmp(&(a.total, a.calls, b.method)));
        rows
    }
}

/// Makes room for the sums of a method, and enters a frame of it. Returns the index of its sum.
fn enter_at(sums: &mut Vec<Sum>, number: usize) -> usize {
    make_room(sums, number);
    let outermost = 2 * number;
    debug_assert!(outermost + 1 < sums.len(), "there is room for both sums");
    outermost + sums.get_mut(outermost).map_or(0, Sum::enter)
}

fn make_room(sums: &mut Vec<Sum>, number: usize) {
    if 2 * number >= sums.len() {
        sums.resize(2 * (number + 1).next_power_of_two(), Sum::default());
    }
}

/// The sum of a frame, in either array.
fn sum_at<'a>(near: &'a mut [Sum], far: &'a mut [Sum], place: usize) -> Option<&'a mut Sum> {
    near.get_mut(place).or_else(|| far.get_mut(!place))
}

/// Leaves a frame whose sum is in `far`, at the complement of `place`.
#[cold]
fn leave_far(far: &mut [Sum], place: usize, calls: u64) {
    debug_assert!(!place < far.len(), "an open frame has a sum");
    if let Some(sum) = far.get_mut(!place) {
        sum.leave(calls);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use flow_codec::format::flow::Record;
    use flow_codec::read::{FlowReader, ReadRecords};

    fn exits(count: u64) -> Record {
        Record::Exit(NonZeroU64::new(count).unwrap())
    }

    fn enter(method: u64) -> Record {
        Record::Enter(MethodId::new(method).unwrap())
    }

    fn report(threads: &[&[u8]]) -> Vec<(u64, u64, u64)> {
        let mut report = Report::default();
        for bytes in threads {
            FlowReader::new(*bytes).visit_all(&mut report).unwrap();
            report.end_thread();
        }
        report.rows().iter().map(|row| (row.method.get(), row.calls, row.total)).collect()
    }

    proptest! {
        #[test]
        fn parts_of_a_thread_add_up_to_the_whole(
            records in prop::collection::vec(prop_oneof![
                5 => (0_u64..4).prop_map(enter),
                1 => (NEAR_IDS as u64..NEAR_IDS as u64 + 3).prop_map(enter),
                4 => (1_u64..4).prop_map(exits),
            ], 0..60),
            cuts in prop::collection::vec(0_usize..60, 1..4),
        ) {
            let take = |report: &mut Report, records: &[Record]| for record in records {
                match record {
                    Record::Enter(method) => report.enter(*method),
                    Record::Exit(count) => report.exit(*count),
                }
            };
            let mut whole = Report::default();
            take(&mut whole, &records);
            let mut cuts: Vec<_> = cuts.iter().map(|cut| *cut.min(&records.len())).collect();
            cuts.extend([0, records.len()]);
            cuts.sort_unstable();
            let (mut sum, mut open) = (Report::default(), Vec::new());
            for cut in cuts.windows(2) {
                let mut part = Report::continuing(&open);
                take(&mut part, &records[cut[0]..cut[1]]);
                open = part.open_methods();
                sum.add(part);
            }
            prop_assert_eq!(open, whole.open_methods());
            whole.end_thread();
            prop_assert_eq!((sum.rows(), sum.calls()), (whole.rows(), whole.calls()));
        }
    }

    #[test]
    fn recursion_counts_once_in_the_total() {
        // 1 > 1 > 2, all left.
        assert_eq!(report(&[&[0x81, 0x81, 0x82, 0x02]]), [(1, 2, 3), (2, 1, 1)]);
    }

    #[test]
    fn open_frames_count_up_to_the_end_of_their_thread() {
        assert_eq!(report(&[&[0x81, 0x82], &[0x81]]), [(1, 2, 3), (2, 1, 1)]);
    }
}
