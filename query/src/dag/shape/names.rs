//! The names of shapes, which are the same in every run.

use std::collections::HashMap;

use super::kinds::{Break, Kind, Outcome};
use super::shapes::Shapes;
use flow_codec::MethodId;
use flow_codec::format::shape_name::{MethodKey, Named, Namer, ShapeName};

impl Shapes {
    /// The name of each shape. `key` returns the key of a method, and is called once for each.
    #[must_use]
    pub fn names(&self, key: impl FnMut(MethodId) -> MethodKey) -> Vec<ShapeName> {
        self.names_of(vec![true; self.len()], key)
    }

    /// The name of each shape that is needed; those of others are of no use. A name depends on those of all shapes that are
    /// called, so these are computed, too. `needed` is by shape; for further shapes, it is false.
    #[must_use]
    pub fn names_of(
        &self,
        mut needed: Vec<bool>,
        mut key: impl FnMut(MethodId) -> MethodKey,
    ) -> Vec<ShapeName> {
        needed.resize(self.len(), false);
        for shape in self.iter().rev() {
            if needed.get(shape.index()) == Some(&true) {
                for (callee, _) in self.totals(shape) {
                    needed.iter_mut().skip(callee.index()).take(1).for_each(|is| *is = true);
                }
            }
        }
        let mut keys: HashMap<MethodId, MethodKey> = HashMap::new();
        let mut names: Vec<ShapeName> = Vec::with_capacity(self.len());
        let mut namer = Namer::default();
        for shape in self.iter() {
            if needed.get(shape.index()) != Some(&true) {
                names.push(ShapeName::default());
                continue;
            }
            namer.begin(match self.kind(shape) {
                Kind::Call(method, outcome) => {
                    let key = *keys.entry(method).or_insert_with(|| key(method));
                    match outcome {
                        Outcome::Returned => Named::Returned(key),
                        Outcome::Unwound => Named::Unwound(key),
                        Outcome::Cut => Named::Cut(key),
                    }
                }
                Kind::Break(Break::Gap) => Named::Gap,
                Kind::Break(Break::Pause) => Named::Pause,
                Kind::Thread => Named::Thread,
            });
            for (callee, count) in self.runs(shape) {
                if let Some(name) = names.get(callee.index()) {
                    namer.add(*name, count);
                }
            }
            names.push(namer.finish());
        }
        names
    }
}
