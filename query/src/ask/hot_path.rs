//! Where the time of a call was spent: the path of its longest callees.

use flow_codec::Result;
use flow_codec::read::ThreadFile;

use crate::reading::{CallClock, Extent};
use crate::tree::{Node, SelectedTree};

/// Of a call with more callees, the longest one is not searched for.
const MOST_CALLEES: usize = 20_000;

/// Why a path ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathEnd {
    /// The last call made no calls that are selected.
    Leaf,
    /// No callee took half as long as its last call, or, without times, has half of the calls in it.
    Spread,
    /// The last call has more callees than are compared.
    TooMany,
}

/// A path from a call to one in which its time was spent, by estimated durations; without times, by the number of calls.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct HotPath {
    /// The calls, each made by the one before, without the first.
    pub calls: Vec<Node>,
    /// Why it ends.
    pub end: PathEnd,
}

impl HotPath {
    /// Follows the longest callee of each call, of those that are selected, from a call of a thread on. Of equal ones, it is
    /// the first.
    ///
    /// # Errors
    /// The events cannot be read.
    pub fn of(tree: &mut SelectedTree, file: &ThreadFile, from: Node) -> Result<Self> {
        let mut calls = Vec::new();
        let mut of = (from, weight(tree, file, &[from])?.first().copied().unwrap_or(0));
        let end = loop {
            let callees = tree.children(Some(&of.0), MOST_CALLEES + 1)?;
            match callees.len() {
                0 => break PathEnd::Leaf,
                count if count > MOST_CALLEES => break PathEnd::TooMany,
                _ => {}
            }
            let weights = weight(tree, file, &callees)?;
            let mut heaviest = (from, 0);
            for (callee, weight) in callees.into_iter().zip(weights) {
                if weight > heaviest.1 {
                    heaviest = (callee, weight);
                }
            }
            if heaviest.1 == 0 || heaviest.1 < of.1 / 2 {
                break PathEnd::Spread;
            }
            calls.push(heaviest.0);
            of = heaviest;
        };
        Ok(Self { calls, end })
    }
}

/// The durations of calls, or the numbers of calls in them if the thread has no times.
fn weight(tree: &mut SelectedTree, file: &ThreadFile, calls: &[Node]) -> Result<Vec<u64>> {
    let end = tree.whole().end();
    let (mut extents, mut counts) = (Vec::new(), Vec::new());
    for call in calls {
        extents.push(Extent::of(call, tree.whole().subtree(call)?.left, end));
        counts.push(tree.subtree(call)?.calls);
    }
    let times = CallClock::new(file).times(extents);
    let is_timed = times.iter().any(|times| times.start.estimate_ns.is_some());
    Ok(if is_timed { times.iter().map(|times| times.duration_ns).collect() } else { counts })
}
