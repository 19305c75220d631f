//! The names of shapes, which are the same in every run, and those of behaviours.

use std::collections::HashMap;

use super::kinds::{Break, Kind, Outcome, ShapeId};
use super::shapes::Shapes;
use flow_codec::MethodId;
use flow_codec::format::shape_name::{CallOrder, MethodKey, Named, Namer, ShapeName};

/// What a call, a thread or a test did, without the calls that are not part of behaviours.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
#[non_exhaustive]
pub struct Behaviour {
    /// The name of the behaviour.
    pub name: ShapeName,
    /// The number of calls.
    pub calls: u64,
}

/// A call that was left.
pub(in crate::dag) fn left(outcome: Outcome, key: MethodKey) -> Named {
    match outcome {
        Outcome::Returned => Named::Returned(key),
        Outcome::Unwound => Named::Unwound(key),
        Outcome::Cut => Named::Cut(key),
    }
}

impl Shapes {
    /// The name of each shape. `key` returns the key of a method, and is called once for each.
    #[doc(hidden)]
    #[must_use]
    pub fn names(&self, key: impl FnMut(MethodId) -> MethodKey) -> Vec<ShapeName> {
        self.names_of(vec![true; self.len()], key)
    }

    /// The name of each shape that is needed; those of others are of no use. A name depends on those of all shapes that are
    /// called, so these are computed, too. `needed` is by shape; for further shapes, it is false.
    #[doc(hidden)]
    #[must_use]
    pub fn names_of(
        &self,
        needed: Vec<bool>,
        mut key: impl FnMut(MethodId) -> MethodKey,
    ) -> Vec<ShapeName> {
        let names = self.name_all(needed, CallOrder::Counts, |method| Some(key(method)));
        names.into_iter().map(Option::unwrap_or_default).collect()
    }

    /// What each shape did, in this order or in any. `key` returns the key of a method, or `None` for one whose calls are left out; so are then their
    /// shapes.
    #[must_use]
    pub(crate) fn behaviours(
        &self,
        order: CallOrder,
        key: impl FnMut(MethodId) -> Option<MethodKey>,
    ) -> Vec<Option<Behaviour>> {
        let names = self.name_all(vec![true; self.len()], order, key);
        let mut found: Vec<Option<Behaviour>> = Vec::with_capacity(names.len());
        for (shape, name) in self.iter().zip(names) {
            let own = u64::from(matches!(self.kind(shape), Kind::Call(..)));
            let calls = self.totals(shape).fold(own, |sum, (callee, count)| {
                let of_callee = found.get(callee.index()).copied().flatten();
                let calls = of_callee.map_or(0, |behaviour: Behaviour| behaviour.calls);
                sum.saturating_add(calls.saturating_mul(count))
            });
            found.push(name.map(|name| Behaviour { name, calls }));
        }
        found
    }

    /// The name of each shape that is needed, and of those that it needs. A method without a key is in no name.
    fn name_all(
        &self,
        mut needed: Vec<bool>,
        order: CallOrder,
        mut key: impl FnMut(MethodId) -> Option<MethodKey>,
    ) -> Vec<Option<ShapeName>> {
        needed.resize(self.len(), false);
        for shape in self.iter().rev() {
            if needed.get(shape.index()) == Some(&true) {
                for (callee, _) in self.totals(shape) {
                    needed.iter_mut().skip(callee.index()).take(1).for_each(|is| *is = true);
                }
            }
        }
        let mut keys: HashMap<MethodId, Option<MethodKey>> = HashMap::new();
        let mut names: Vec<Option<ShapeName>> = Vec::with_capacity(self.len());
        let mut namer = Namer::with(order);
        for shape in self.iter() {
            let what = match self.kind(shape) {
                _ if needed.get(shape.index()) != Some(&true) => None,
                Kind::Call(method, outcome) => {
                    let key = *keys.entry(method).or_insert_with(|| key(method));
                    key.map(|key| left(outcome, key))
                }
                Kind::Break(Break::Gap) => Some(Named::Gap),
                Kind::Break(Break::Pause) => Some(Named::Pause),
                Kind::Thread => Some(Named::Thread),
            };
            let Some(what) = what else {
                names.push(None);
                continue;
            };
            namer.begin(what);
            let mut add = |(callee, count): (ShapeId, u64)| {
                if let Some(name) = names.get(callee.index()).copied().flatten() {
                    namer.add(name, count);
                }
            };
            match order {
                CallOrder::Counts => self.runs(shape).for_each(&mut add),
                // Calls that are repeated together are added once.
                CallOrder::Ignored => self.totals(shape).for_each(&mut add),
            }
            names.push(Some(namer.finish()));
        }
        names
    }
}
