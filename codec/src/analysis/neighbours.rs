//! HOT: who calls some methods, and whom they call.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::cmp::Reverse;
use std::num::NonZeroU64;

use super::numbering::{Numbering, index};
use crate::MethodId;
use crate::read::Visit;

/// Counts the calls to some methods by caller, and the calls they make by callee, in any number of threads,
/// one after the other. A method that calls itself is its own caller and callee. Memory: some bytes
/// a method and an open frame.
///
/// ```
/// use flow_codec::MethodId;
/// use flow_codec::analysis::Neighbours;
/// use flow_codec::read::{FlowReader, ReadRecords};
///
/// // 1 calls 2, which calls itself.
/// let bytes: &[u8] = &[0x81, 0x82, 0x82, 0x02];
/// let (one, two) = (MethodId::new(1).unwrap(), MethodId::new(2).unwrap());
/// let mut neighbours = Neighbours::new(|method| method == two);
/// FlowReader::new(bytes).visit_all(&mut neighbours)?;
/// neighbours.end_thread();
/// assert_eq!(neighbours.callers(), [(Some(one), 1), (Some(two), 1)]);
/// assert_eq!(neighbours.callees(), [(two, 1)]);
/// # Ok::<(), flow_codec::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Neighbours<F> {
    chosen: F,
    numbering: Numbering,
    /// By number of the method; the first is for calls that nobody makes.
    counts: Vec<Count>,
    /// Numbers of the methods of the open frames.
    stack: Vec<usize>,
}

#[derive(Clone, Copy, Default, Debug)]
struct Count {
    is_chosen: bool,
    calls: u64,
    /// Calls it makes to chosen methods.
    to_chosen: u64,
    /// Calls that chosen methods make to it.
    by_chosen: u64,
}

impl<F: FnMut(MethodId) -> bool> Visit for Neighbours<F> {
    #[inline]
    fn enter(&mut self, method: MethodId) {
        let callee = index(self.numbering.number(method));
        if callee >= self.counts.len() {
            self.meet(method);
        }
        let caller = self.stack.last().copied().unwrap_or_default();
        self.stack.push(callee);
        let is_chosen =
            |number: usize| self.counts.get(number).is_some_and(|count| count.is_chosen);
        let (to_chosen, by_chosen) = (is_chosen(callee), is_chosen(caller));
        if let Some(count) = self.counts.get_mut(caller) {
            count.to_chosen += u64::from(to_chosen);
        }
        if let Some(count) = self.counts.get_mut(callee) {
            count.calls += 1;
            count.by_chosen += u64::from(by_chosen);
        }
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64) {
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        self.stack.truncate(self.stack.len().saturating_sub(count));
    }
}

impl<F: FnMut(MethodId) -> bool> Neighbours<F> {
    /// Counts for the methods that `chosen` says yes to. It is asked once for each method.
    pub fn new(chosen: F) -> Self {
        let (numbering, counts) = (Numbering::default(), vec![Count::default()]);
        Self { chosen, numbering, counts, stack: Vec::new() }
    }

    #[cold]
    fn meet(&mut self, method: MethodId) {
        let is_chosen = (self.chosen)(method);
        self.counts.push(Count { is_chosen, ..Count::default() });
    }

    /// A thread has ended: what is entered next is called by nobody.
    pub fn end_thread(&mut self) {
        self.stack.clear();
    }

    /// The chosen methods that were met, with their calls.
    #[must_use]
    pub fn chosen(&self) -> Vec<(MethodId, u64)> {
        self.rows(|count| count.calls * u64::from(count.is_chosen))
    }

    /// Who called chosen methods, and how often, most first. `None`: called by nobody that was recorded.
    #[must_use]
    pub fn callers(&self) -> Vec<(Option<MethodId>, u64)> {
        let nobody = self.counts.first().map_or(0, |count| count.to_chosen);
        let mut rows: Vec<_> = self
            .rows(|count| count.to_chosen)
            .into_iter()
            .map(|(method, calls)| (Some(method), calls))
            .chain((nobody > 0).then_some((None, nobody)))
            .collect();
        rows.sort_by_key(|&(method, calls)| (Reverse(calls), method));
        rows
    }

    /// Whom chosen methods called, and how often, most first.
    #[must_use]
    pub fn callees(&self) -> Vec<(MethodId, u64)> {
        self.rows(|count| count.by_chosen)
    }

    fn rows(&self, calls: impl Fn(&Count) -> u64) -> Vec<(MethodId, u64)> {
        let counts = self.counts.iter().skip(1).map(calls);
        let methods = self.numbering.methods().iter().copied();
        let mut rows: Vec<_> = methods.zip(counts).filter(|(_, calls)| *calls > 0).collect();
        rows.sort_by_key(|&(method, calls)| (Reverse(calls), method));
        rows
    }
}
