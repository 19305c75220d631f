//! The names of shapes, which are the same in every run.

use std::collections::HashMap;

use super::kinds::{Break, Kind, Outcome};
use super::shapes::Shapes;
use flow_codec::MethodId;
use flow_codec::format::shape_name::{MethodKey, Named, Namer, ShapeName};

impl Shapes {
    /// The name of each shape. `key` returns the key of a method, and is called once for each.
    #[must_use]
    pub fn names(&self, mut key: impl FnMut(MethodId) -> MethodKey) -> Vec<ShapeName> {
        let mut keys: HashMap<MethodId, MethodKey> = HashMap::new();
        let mut names: Vec<ShapeName> = Vec::with_capacity(self.len());
        let mut namer = Namer::default();
        for shape in self.iter() {
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
