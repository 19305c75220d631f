//! The data of the page, which its script reads as JSON.
//!
//! [`shapes`](super::shapes) describes the calls that can be unfolded.
//!
//! Long lists are flat arrays of numbers. `method` is an index into `methods`; the length of `methods` means a method
//! that is not on the page.
//!
//! | array | numbers of each entry |
//! |---|---|
//! | `boxes`, `flame` | `up`, `method`, `gap`, `width`, `calls`: each box after the one it is in |
//! | `edges` | `caller`, `callee`, `calls`; -1 for no recorded caller, and for all further callees |
//!
//! | number | meaning |
//! |---|---|
//! | `up` | 0 for the first box inside the previous one, 1 for the next one at the same depth, 2 for one at the depth of the box around that, … |
//! | `gap` | the distance from the end of the box before it at its depth, or from the start of the box around it |
//! | `method` | of a *more* box -2 - `method`, or -1 without a method |
//! | `calls` | 0 if equal to `width` |

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::charts::chart::NO_METHOD;
use super::facts::Head;
use super::names::PageMethods;
use super::numbers::exact;
use super::panels::Panels;
use super::threads::{More, PageThread};

/// The most pairs of a caller and a callee.
const EDGES: usize = 24_000;

/// Everything that is on the page.
#[derive(Serialize)]
pub(super) struct Data<'a> {
    pub(super) unit: &'static str,
    /// Whether totals and flame graphs show CPU time, and waiting beside it.
    pub(super) has_cpu: bool,
    /// Whether calls were left out, so that the numbers of calls differ from those of `flow replay`.
    pub(super) is_filtered: bool,
    /// Whether the application's methods are known. If not, all methods count as its own.
    pub(super) knows_own: bool,
    pub(super) facts: Head,
    /// The end of the last thread.
    pub(super) end: u64,
    pub(super) threads: Vec<PageThread>,
    pub(super) more_threads: More,
    /// What calls have as values and exceptions.
    pub(super) texts: Vec<String>,
    #[serde(flatten)]
    pub(super) panels: Panels,
    #[serde(flatten)]
    pub(super) names: &'a PageMethods,
    pub(super) flame: Vec<i64>,
    /// The width of the flame graph: all threads, one after another.
    pub(super) flame_end: u64,
    pub(super) edges: Vec<i64>,
}

/// Encodes the edges of the call graph as numbers. Only the most frequent ones are kept.
pub(super) fn flat_edges(edges: &HashMap<(u32, u32), u64>, names: &PageMethods) -> Vec<i64> {
    let mut order: Vec<_> = edges.iter().map(|(&(from, to), &calls)| (calls, from, to)).collect();
    order.sort_by_key(|&(calls, from, to)| (Reverse(calls), from, to));
    let mut flat = Vec::new();
    let mut further: BTreeMap<i64, u64> = BTreeMap::new();
    for (calls, from, to) in order {
        let caller = if from == NO_METHOD { Some(-1) } else { names.place(from).map(i64::from) };
        let Some(caller) = caller else { continue };
        match names.place(to) {
            Some(callee) if flat.len() < 3 * EDGES => {
                flat.extend([caller, callee.into(), exact(calls)]);
            }
            _ if caller >= 0 => *further.entry(caller).or_default() += calls,
            _ => {}
        }
    }
    for (caller, calls) in further {
        flat.extend([caller, -1, exact(calls)]);
    }
    flat
}
