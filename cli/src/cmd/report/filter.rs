//! Which rows of a report are shown, by what they are about and by their figures.

use flow_codec::{MethodId, MethodNames, NameForm};

use super::counted::Counted;
use crate::input::conditions::{Condition, Facts};
use crate::output::Weight;

/// What text has instead of rows if conditions leave none.
pub(crate) const NONE_MEETS: &str = "no method meets the conditions of --where";

/// Conditions on rows.
pub(super) struct Filter<'a> {
    pub(super) conditions: &'a [Condition],
    counted: &'a Counted<'a>,
    names: MethodNames<'a>,
}

impl<'a> Filter<'a> {
    pub(super) fn new(conditions: &'a [Condition], counted: &'a Counted<'a>) -> Self {
        Self { conditions, counted, names: MethodNames::new(counted.methods()) }
    }

    /// Returns whether a row of some threads meets all conditions.
    pub(super) fn holds(&self, row: MethodId, thread: &str, weight: Weight, whole: u64) -> bool {
        if self.conditions.is_empty() {
            return true;
        }
        let method = self.counted.frame(row).method;
        let info = self.counted.methods().get(method).map(|method| method.info());
        let name = self.names.get(method, NameForm::Readable);
        let facts = Facts {
            name: &name,
            class: info.map_or("", |info| &info.class),
            method: info.map_or("", |info| &info.name),
            source: info.and_then(|info| info.source.as_deref()).unwrap_or_default(),
            thread,
            runs: &[(weight, weight.percents(whole))],
            is_timed: self.counted.unit.is_time(),
        };
        self.conditions.iter().all(|condition| condition.holds(&facts))
    }
}
