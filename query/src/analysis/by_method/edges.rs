//! HOT: the callers or the callees of chosen methods, with the sums of these calls.
//!
//! A report receives each call between a chosen method and its caller or callee as if it were a call of that
//! caller or callee, and all other calls as if they were calls of one more method. So the total and self
//! weight of a row follow the rules of a report on methods: recursion counts once.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::{NonZeroU32, NonZeroU64};

use super::labels::{NO_LABEL, Side, label_sums};
use crate::analysis::nodes::{AddShapes, Nodes};
use crate::analysis::numbering::{Numbering, index};
use crate::analysis::{Report, ReportRow, SumsOf};
use crate::dag::Dag;
use flow_codec::MethodId;
use flow_codec::read::{Selection, Visit};

/// The calls between one method and the chosen ones. `None`: the calls of which no caller was recorded.
pub type EdgeRow = SumsOf<Option<MethodId>>;

/// Adds up the calls between chosen methods and their callers or callees, in any number of threads, one after
/// the other. A method that calls itself is its own caller and callee. Memory: a few bytes for each method
/// and each open frame.
///
/// ```
/// use flow_codec::MethodId;
/// use flow_query::analysis::{Edges, Side};
/// use flow_codec::read::{FlowReader, ReadRecords};
///
/// // 1 calls 2, which calls itself.
/// let bytes: &[u8] = &[0x81, 0x82, 0x82, 0x02];
/// let (one, two) = (MethodId::new(1).unwrap(), MethodId::new(2).unwrap());
/// let mut callers = Edges::new(Side::Callers, |method| method == two);
/// FlowReader::new(bytes).visit_all(&mut callers)?;
/// callers.end_thread();
/// let rows: Vec<_> = callers.rows().iter().map(|row| (row.method, row.calls, row.total)).collect();
/// assert_eq!(rows, [(Some(one), 1, 2), (Some(two), 1, 1)]);
/// # Ok::<(), flow_codec::Error>(())
/// ```
#[derive(Debug)]
pub struct Edges<F> {
    side: Side,
    chosen: F,
    numbering: Numbering,
    /// By number of the method: how often it was called, if it is chosen.
    calls: Vec<Option<u64>>,
    /// The methods of the open frames.
    stack: Vec<NonZeroU32>,
    report: Report,
}

/// The report counts calls under labels: this one for calls without a recorded caller, [`OTHERS`] for calls
/// between other methods, and for a caller or callee the number of its method plus one.
const NOBODY: u64 = 0;
const OTHERS: u64 = 1;

impl<F: FnMut(MethodId) -> bool> Visit for Edges<F> {
    #[inline]
    fn enter(&mut self, method: MethodId) {
        let callee = self.meet(method);
        let caller = self.stack.last().copied();
        let other = match self.side {
            Side::Callers if self.is_chosen(callee) => {
                caller.map_or(NOBODY, |caller| u64::from(caller.get()) + 1)
            }
            Side::Callees if caller.is_some_and(|caller| self.is_chosen(caller)) => {
                u64::from(callee.get()) + 1
            }
            _ => OTHERS,
        };
        if let Some(Some(calls)) = self.calls.get_mut(index(callee)) {
            *calls += 1;
        }
        self.stack.push(callee);
        if let Some(label) = MethodId::new(other) {
            self.report.enter(label);
        }
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64) {
        self.report.exit(count);
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        self.stack.truncate(self.stack.len().saturating_sub(count));
    }
}

impl<F: FnMut(MethodId) -> bool> AddShapes for Edges<F> {
    fn add_shapes(&mut self, dag: &Dag, selection: &Selection) -> bool {
        // The caller of a shape could be any of those around callers that are left out.
        if !selection.is_all() {
            return false;
        }
        let nodes = Nodes::new(dag, selection);
        // By number of the method in the thread: its number here, and whether it is chosen.
        let mut numbers = vec![(NOBODY, false)];
        for method in nodes.numbering.methods() {
            let number = self.meet(*method);
            numbers.push((u64::from(number.get()) + 1, self.is_chosen(number)));
        }
        let known = |method: u32| {
            let known = usize::try_from(method).ok().and_then(|at| numbers.get(at));
            known.copied().unwrap_or((NOBODY, false))
        };
        let label = |caller, callee| match self.side {
            Side::Callers if known(callee).1 => caller,
            Side::Callees if known(caller).1 && nodes.is_shown_method(callee) => callee,
            _ => NO_LABEL,
        };
        let Some(sums) = label_sums(&nodes, self.side, label) else { return false };
        for (sum, (label, _)) in sums.iter().zip(&numbers) {
            if let Some(label) = MethodId::new(*label) {
                self.report.add_calls(label, sum.calls, sum.total);
            }
        }
        self.report.add_to_all(nodes.all_calls());
        let calls = nodes.calls_of_methods();
        for (method, calls) in nodes.numbering.methods().iter().zip(calls.iter().skip(1)) {
            let number = self.numbering.number(*method);
            if let Some(Some(sum)) = self.calls.get_mut(index(number)) {
                *sum = sum.saturating_add(*calls);
            }
        }
        true
    }
}

impl<F: FnMut(MethodId) -> bool> Edges<F> {
    /// The number of a method, for which is known whether it is chosen.
    #[inline]
    fn meet(&mut self, method: MethodId) -> NonZeroU32 {
        let number = self.numbering.number(method);
        if index(number) >= self.calls.len() {
            let is_chosen = (self.chosen)(method);
            self.calls.push(is_chosen.then_some(0));
        }
        number
    }

    /// Adds up the edges of the methods that `chosen` selects, which is called once for each method.
    pub fn new(side: Side, chosen: F) -> Self {
        Self {
            side,
            chosen,
            numbering: Numbering::default(),
            calls: vec![None],
            stack: Vec::new(),
            report: Report::default(),
        }
    }

    #[inline]
    fn is_chosen(&self, method: NonZeroU32) -> bool {
        debug_assert!(index(method) < self.calls.len(), "a method that was met");
        matches!(self.calls.get(index(method)), Some(Some(_)))
    }

    /// Ends a thread. Frames that are still open count up to its last known instant.
    pub fn end_thread(&mut self) {
        self.exit(NonZeroU64::MAX);
        self.report.end_thread();
    }

    /// The chosen methods that were called, with their calls.
    #[must_use]
    pub fn chosen(&self) -> Vec<(MethodId, u64)> {
        let calls = self.calls.iter().skip(1);
        let methods = self.numbering.methods().iter().copied();
        methods.zip(calls).filter_map(|(method, calls)| Some((method, (*calls)?))).collect()
    }

    /// The callers or callees, the largest total first.
    #[must_use]
    pub fn rows(&self) -> Vec<EdgeRow> {
        let rows = self.report.rows().into_iter().filter_map(|row| {
            let method = match row.method.get() {
                NOBODY => None,
                OTHERS => return None,
                label => Some(self.numbering.method(u32::try_from(label - 1).ok()?)?),
            };
            let ReportRow { calls, total, self_weight, precision, waiting_ns, .. } = row;
            Some(SumsOf { method, calls, total, self_weight, precision, waiting_ns })
        });
        rows.collect()
    }
}
