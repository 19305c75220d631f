//! What a log of samples has.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::profile::{FrameGrouping, Frames, LeanPlace, LeanProfile};

/// What a log of samples has, of some threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogInfo {
    /// The number of samples.
    pub samples: u64,
    /// How many of them have no stack.
    pub failed: u64,
    /// The time of all samples, added up.
    pub ns: u64,
    /// The number of methods in the whole log.
    pub methods: u64,
    /// The threads, the one with the most samples first.
    pub threads: Vec<SampledThread>,
}

/// A thread of a log of samples.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SampledThread {
    /// The number of the thread in the log.
    pub id: i64,
    /// The name of the thread, or `thread 7` if it has none.
    pub name: String,
    /// The number of its samples.
    pub samples: u64,
    /// The time of its samples, added up.
    pub ns: u64,
}

impl LogInfo {
    /// Adds up the samples of some threads of a log.
    #[must_use]
    pub fn of(profile: &LeanProfile, threads: &BTreeSet<i64>) -> Self {
        let of_thread = profile.nodes().filter_map(|node| match node.place {
            LeanPlace::Thread(id) if threads.contains(&id) => {
                let name = match profile.threads().get(&id) {
                    Some(name) if !name.is_empty() => name.clone(),
                    _ => format!("thread {id}"),
                };
                let numbers = node.numbers;
                let (samples, ns) = (numbers.self_count, numbers.self_ns.unsigned_abs());
                Some(SampledThread { id, name, samples, ns })
            }
            _ => None,
        });
        let mut of_threads: Vec<_> = of_thread.collect();
        of_threads.sort_by_key(|thread| Reverse(thread.samples));
        let methods = Frames::new(profile, FrameGrouping::Method).methods().iter().count() as u64;
        Self {
            samples: of_threads.iter().map(|thread| thread.samples).sum(),
            failed: threads.iter().map(|thread| profile.failed_in(*thread)).sum(),
            ns: of_threads.iter().map(|thread| thread.ns).sum(),
            methods,
            threads: of_threads,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{LeanFrame, SampleWeight};
    use flow_codec::format::methods::MethodInfo;

    #[test]
    fn samples_of_the_chosen_threads_are_added_up() {
        let mut profile = LeanProfile::default();
        let frame = |method| LeanFrame { method, line: 1, bci: 0 };
        for method in [1, 2] {
            profile.describe_method(method, || MethodInfo {
                name: format!("m{method}"),
                ..MethodInfo::default()
            });
        }
        profile.name_thread(7, "main");
        for (thread, methods, count) in [(7, &[1][..], 2), (8, &[1, 2], 3), (9, &[2], 50)] {
            let weight =
                SampleWeight { count, ns: i64::try_from(count).unwrap() * 10, waiting_ns: 0 };
            profile.add(thread, methods.iter().map(|method| frame(*method)), weight);
        }
        profile.count_failed(8, 1);
        let info = LogInfo::of(&profile, &BTreeSet::from([7, 8]));
        assert_eq!((info.samples, info.failed, info.ns, info.methods), (5, 1, 50, 2));
        let threads: Vec<_> =
            info.threads.iter().map(|of| (of.id, of.name.as_str(), of.samples, of.ns)).collect();
        assert_eq!(threads, [(8, "thread 8", 3, 30), (7, "main", 2, 20)]);
    }
}
