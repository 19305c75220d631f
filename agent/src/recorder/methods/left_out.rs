//! Methods that the filter names and the engine leaves out: all are counted, the first ones are named.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{BuildHasher, RandomState};

use flow_codec::format::manifest::NotRecorded;

use crate::sys::allocator;

/// A program may generate classes without end. This many methods are named for each reason: more than the JDK
/// has native methods, so that a recording of the JDK still names them all.
const MAX_NAMES: usize = 10_000;

/// This many methods for each reason are recognised when they are met again, so that each counts once.
/// Methods beyond that may count more than once.
const MAX_KNOWN: usize = 1 << 16;

#[derive(Debug, Default)]
pub(in crate::recorder) struct LeftOut {
    by_reason: BTreeMap<&'static str, Group>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Group {
    count: u64,
    names: BTreeSet<String>,
    /// Hashes of the names.
    known: HashSet<u64>,
}

impl LeftOut {
    pub(in crate::recorder) fn add(&mut self, reason: &'static str, name: String) {
        let hash = self.hasher.hash_one(&name);
        let group = self.by_reason.entry(reason).or_default();
        if group.known.contains(&hash) {
            return;
        }
        group.count += 1;
        if group.known.len() < MAX_KNOWN && allocator::try_to(|| group.known.try_reserve(1)).is_ok()
        {
            group.known.insert(hash);
        }
        if group.names.len() < MAX_NAMES {
            group.names.insert(name);
        }
    }

    pub(in crate::recorder) fn groups(&self) -> Vec<NotRecorded> {
        let group = |(reason, group): (&&str, &Group)| NotRecorded {
            reason: (*reason).to_owned(),
            count: group.count,
            methods: group.names.iter().cloned().collect(),
        };
        self.by_reason.iter().map(group).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_counted_once_and_the_first_ones_are_named() {
        let mut left_out = LeftOut::default();
        for _ in 0..2 {
            (0..15_000)
                .for_each(|number| left_out.add("hidden-class", format!("a.L{number:05}#*")));
            left_out.add("native", "a.A#n()V".to_owned());
        }
        let groups = left_out.groups();
        let counts: Vec<_> =
            groups.iter().map(|group| (group.count, group.methods.len())).collect();
        assert_eq!(counts, [(15_000, MAX_NAMES), (1, 1)]);
        assert_eq!(groups[0].methods.last().unwrap(), "a.L09999#*");
    }

    #[test]
    fn memory_has_a_bound() {
        let mut left_out = LeftOut::default();
        (0..100_000).for_each(|number| left_out.add("native", number.to_string()));
        assert_eq!(left_out.by_reason["native"].known.len(), MAX_KNOWN);
        assert_eq!(left_out.groups()[0].count, 100_000);
    }
}
