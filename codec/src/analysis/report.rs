//! Per method: how often it was called, and how much happened in it.
//!
//! The weight of a call is 1, so *self* is the number of calls of the method, and *total* the number
//! of calls made while it was on the stack, its own included. A recursive call lies within the outer
//! one: its calls count once. Traces with a clock will weigh by time.

use std::num::NonZeroU64;

use super::numbering::{Numbering, index};
use crate::MethodId;
use crate::read::Visit;

/// What a report says of one method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReportRow {
    /// The method.
    pub method: MethodId,
    /// How often it was entered.
    pub calls: u64,
    /// Calls made while it was on the stack, its own included.
    pub total: u64,
    /// Calls of its own.
    pub own: u64,
}

/// What the frames of one method come to, either its outermost ones or those within them.
#[derive(Clone, Copy, Default, Debug)]
struct Sum {
    calls: u64,
    total: u64,
    /// Of outermost frames: 1 while one is open.
    open: usize,
}

/// A frame that is open.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Where its sum stands.
    sum: usize,
    /// Calls seen before it.
    entered_at: u64,
}

/// Adds up the calls of any number of threads, one after the other.
///
/// ```
/// use flow_codec::analysis::Report;
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
    numbering: Numbering,
    /// Of each method two, by twice its number: outermost frames, and behind them recursive ones. So
    /// an exit need not ask which one it is: the total of recursive frames is counted, and never used.
    sums: Vec<Sum>,
    calls: u64,
    /// The frames open in the thread that is being added.
    stack: Vec<Frame>,
}

impl Visit for Report {
    // Always: all of it is one loop with the decoder, or half as fast.
    #[inline(always)]
    fn enter(&mut self, method: MethodId) {
        let outermost = 2 * index(self.numbering.number(method));
        if outermost >= self.sums.len() {
            self.make_room(outermost);
        }
        let Some(sum) = self.sums.get_mut(outermost) else { return };
        let frame = Frame { sum: outermost + sum.open, entered_at: self.calls };
        sum.open = 1;
        self.stack.push(frame);
        self.calls += 1;
    }

    #[inline(always)]
    fn exit(&mut self, count: NonZeroU64) {
        for _ in 0..count.get() {
            if !self.leave() {
                break;
            }
        }
    }
}

impl Report {
    /// A thread has ended: frames that are still open count up to here.
    pub fn end_thread(&mut self) {
        while self.leave() {}
    }

    /// Closes the topmost frame. A frame entered before the first record seen here is none of ours.
    #[inline]
    fn leave(&mut self) -> bool {
        let Some(frame) = self.stack.pop() else { return false };
        if let Some(sum) = self.sums.get_mut(frame.sum) {
            sum.calls += 1;
            sum.total = sum.total.wrapping_add(self.calls - frame.entered_at);
            sum.open = 0;
        }
        true
    }

    #[cold]
    fn make_room(&mut self, outermost: usize) {
        self.sums.resize((outermost + 2).next_power_of_two(), Sum::default());
    }

    /// All calls so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// The rows, the largest total first. Threads that have not ended count up to their last exit.
    #[must_use]
    pub fn rows(&self) -> Vec<ReportRow> {
        let sums = self.sums.chunks_exact(2).skip(1);
        let mut rows: Vec<_> = self
            .numbering
            .methods()
            .iter()
            .zip(sums)
            .filter_map(|(&method, sums)| {
                let [outermost, recursive] = sums else { return None };
                let calls = outermost.calls + recursive.calls;
                Some(ReportRow { method, calls, total: outermost.total, own: calls })
            })
            .collect();
        rows.sort_by(|a, b| (b.total, b.calls, a.method).cmp(&(a.total, a.calls, b.method)));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{FlowReader, ReadRecords};

    fn report(threads: &[&[u8]]) -> Vec<(u64, u64, u64)> {
        let mut report = Report::default();
        for bytes in threads {
            FlowReader::new(*bytes).visit_all(&mut report).unwrap();
            report.end_thread();
        }
        report.rows().iter().map(|row| (row.method.get(), row.calls, row.total)).collect()
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
