//! How many calls were made, and which methods were called for the first time.

use std::num::NonZeroU64;
use std::ops::Range;

use crate::dag::{Dag, Kind, Ranges, Root, ShapeId};
use flow_codec::format::marks::Position;
use flow_codec::read::{Selection, Visit};
use flow_codec::{MethodId, MethodMap};

/// Counts calls, and collects the methods that were not called before, in the order of their first calls.
#[derive(Clone, Default, Debug)]
pub struct Called {
    calls: u64,
    new: Vec<MethodId>,
    known: MethodMap<bool>,
}

impl Called {
    /// Returns the number of calls since the last time, and the methods that were not called before.
    pub fn take(&mut self) -> (u64, Vec<MethodId>) {
        (std::mem::take(&mut self.calls), std::mem::take(&mut self.new))
    }

    fn meet(&mut self, method: MethodId) {
        if !std::mem::replace(self.known.or_default(method), true) {
            self.new.push(method);
        }
    }
}

impl Visit for Called {
    #[inline(always)]
    fn enter(&mut self, method: MethodId) {
        self.calls += 1;
        self.meet(method);
    }

    #[inline(always)]
    fn exit(&mut self, _count: NonZeroU64) {}
}

/// The shapes of a thread, of which many ranges are added to [`Called`]: tests, for example. Each shape is looked into
/// once, in whichever range it is first.
#[derive(Debug)]
pub struct CalledShapes {
    dag: Dag,
    selection: Selection,
    /// By shape: the selected calls, and whether its methods are known.
    calls: Vec<u64>,
    is_known: Vec<bool>,
    ranges: Ranges,
    to_do: Vec<ShapeId>,
}

impl CalledShapes {
    /// Of the selected calls of a thread, whose [bytes](Dag::bytes) are those of its events.
    #[must_use]
    pub fn new(dag: Dag, selection: &Selection) -> Self {
        let shapes = dag.shapes();
        let mut calls: Vec<u64> = Vec::with_capacity(shapes.len());
        for shape in shapes.iter() {
            let own = match shapes.kind(shape) {
                Kind::Call(method, _) => u64::from(selection.contains(method)),
                _ => 0,
            };
            let inner = shapes.totals(shape).fold(own, |sum, (callee, count)| {
                let of_callee = calls.get(callee.index()).copied().unwrap_or_default();
                sum.saturating_add(of_callee.saturating_mul(count))
            });
            calls.push(inner);
        }
        let is_known = vec![false; calls.len()];
        let (selection, ranges) = (selection.clone(), Ranges::default());
        Self { dag, selection, calls, is_known, ranges, to_do: Vec::new() }
    }

    /// Begins other sums, in which no method is known.
    pub(crate) fn forget(&mut self) {
        self.is_known.fill(false);
    }

    /// Adds the calls of some ranges to the sums to which all earlier ones were added.
    pub fn add(&mut self, ranges: &[Range<Position>], sums: &mut Called) {
        for range in ranges {
            for root in self.ranges.calls(&self.dag, range) {
                match root {
                    Root::Calls(shape, count) => {
                        let of_shape = self.calls.get(shape.index()).copied().unwrap_or_default();
                        sums.calls = sums.calls.saturating_add(of_shape.saturating_mul(count));
                        self.meet(shape, sums);
                    }
                    Root::Open(method) if self.selection.contains(method) => sums.enter(method),
                    Root::Open(_) | Root::UnseenExits(_) => {}
                }
            }
        }
    }

    /// Collects the methods of a shape, in the order of their first calls.
    fn meet(&mut self, shape: ShapeId, sums: &mut Called) {
        let shapes = self.dag.shapes();
        self.to_do.push(shape);
        while let Some(shape) = self.to_do.pop() {
            match self.is_known.get_mut(shape.index()) {
                Some(is_known) if !*is_known => *is_known = true,
                _ => continue,
            }
            let Kind::Call(method, _) = shapes.kind(shape) else { continue };
            if self.selection.contains(method) {
                sums.meet(method);
            }
            let callees = shapes.totals(shape).map(|(callee, _)| callee);
            let unknown = callees.filter(|shape| self.is_known.get(shape.index()) == Some(&false));
            let first = self.to_do.len();
            self.to_do.extend(unknown);
            self.to_do.get_mut(first..).unwrap_or_default().reverse();
        }
    }
}
