//! Calls from a plain stack, for comparison: slow and obvious. The fuzz targets use it too.

use std::collections::BTreeMap;

use flow_model::{Record, Stream};
use flow_query::analysis::Report;

/// Calls and total of each method: every call searches the whole stack.
pub(crate) fn naive_report(stream: &Stream) -> BTreeMap<u64, (u64, u64)> {
    let mut open: Vec<u64> = Vec::new();
    let mut rows: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for &(_, seen) in &stream.records {
        match seen {
            Record::Enter(method) => {
                open.push(method);
                rows.entry(method).or_default().0 += 1;
                let mut below = open.clone();
                below.sort_unstable();
                below.dedup();
                for method in below {
                    rows.entry(method).or_default().1 += 1;
                }
            }
            Record::Exits(count) => {
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                open.truncate(open.len().saturating_sub(count));
            }
        }
    }
    rows
}

/// The same of a report.
pub(crate) fn rows(report: &Report) -> BTreeMap<u64, (u64, u64)> {
    let rows = report.rows();
    rows.iter().map(|row| (row.method.get(), (row.calls, row.total))).collect()
}

/// One call, with everything that can be asked about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NaiveCall {
    pub(crate) offset: u64,
    pub(crate) method: u64,
    pub(crate) depth: u64,
    pub(crate) parent: Option<usize>,
    /// Calls in it, including itself.
    pub(crate) calls: u64,
    /// The offset of the record that leaves it.
    pub(crate) left: Option<u64>,
}

/// All calls in order.
pub(crate) fn naive_calls(stream: &Stream) -> Vec<NaiveCall> {
    let mut calls: Vec<NaiveCall> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for &(offset, seen) in &stream.records {
        match seen {
            Record::Enter(method) => {
                let (depth, parent) = (open.len() as u64, open.last().copied());
                open.iter().for_each(|&caller| calls[caller].calls += 1);
                open.push(calls.len());
                calls.push(NaiveCall { offset, method, depth, parent, calls: 1, left: None });
            }
            Record::Exits(count) => {
                for _ in 0..count {
                    let Some(last) = open.pop() else { break };
                    calls[last].left = Some(offset);
                }
            }
        }
    }
    calls
}

/// The methods on the stack at each call, the outermost first, with the number of calls.
pub(crate) fn naive_paths(stream: &Stream) -> BTreeMap<Vec<u64>, u64> {
    let mut open: Vec<u64> = Vec::new();
    let mut paths = BTreeMap::new();
    for &(_, seen) in &stream.records {
        match seen {
            Record::Enter(method) => {
                open.push(method);
                *paths.entry(open.clone()).or_default() += 1;
            }
            Record::Exits(count) => {
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                open.truncate(open.len().saturating_sub(count));
            }
        }
    }
    paths
}
