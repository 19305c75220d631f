//! The names that values of methods have.

use std::collections::BTreeSet;

use flow_codec::argument_count;

use super::CallSearch;
use crate::open::Traces;
use crate::select::{THROWN, ValueCondition};

/// The names by which conditions may call the values of some methods.
#[derive(Clone, Default, Debug)]
pub struct ValueNames {
    parameters: BTreeSet<String>,
    fields: BTreeSet<String>,
    /// The most arguments that a method takes, and whether names of parameters were recorded, as values are.
    arguments: usize,
    have_parameters: bool,
}

impl CallSearch<'_> {
    /// The names of the values of the methods whose calls are asked for.
    #[must_use]
    pub fn value_names(&self, traces: &Traces) -> ValueNames {
        let mut names = ValueNames::default();
        for trace in traces {
            let selection = self.methods(trace);
            for (_, method) in trace.methods().iter().filter(|(id, _)| selection.contains(*id)) {
                names.arguments = names.arguments.max(argument_count(&method.info().descriptor));
                for info in method.versions() {
                    names.have_parameters |= !info.parameters.is_empty();
                    let named = info.parameters.iter().filter(|name| !name.is_empty());
                    names.parameters.extend(named.cloned());
                }
            }
            let fields = trace.methods().fields().map(|field| format!("field({})", field.name));
            names.fields.extend(fields);
            // Accesses to elements of arrays.
            names.fields.extend(trace.methods().have_fields().then(|| "access".to_owned()));
        }
        names
    }
}

impl ValueNames {
    /// Returns whether values were recorded for certain. All names are known then: methods whose arguments are recorded have the
    /// names of their parameters.
    #[must_use]
    pub fn are_recorded(&self) -> bool {
        self.have_parameters || !self.fields.is_empty()
    }

    /// Returns the first name in conditions that no value can have, and all that values have: those that may be meant come first.
    #[must_use]
    pub fn unknown<'c>(&self, conditions: &'c [ValueCondition]) -> Option<(&'c str, Vec<String>)> {
        let arguments = (0..self.arguments).map(|number| format!("arg{number}"));
        let others = ["this", "result", "message", THROWN, "any"].map(str::to_owned);
        let names = self.parameters.iter().cloned().chain(arguments).chain(others);
        let mut names: Vec<_> = names.chain(self.fields.iter().cloned()).collect();
        let mut asked = conditions.iter().filter_map(ValueCondition::name);
        // What is in an object has a name after a dot.
        let is_named = |asked: &&str| {
            names.iter().any(|name| {
                asked
                    .strip_prefix(name.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        };
        let unknown = asked.find(|asked| !is_named(asked))?;
        names.sort_by_key(|name| !name.contains(unknown));
        Some((unknown, names))
    }
}
