//! A profile as paths of methods, which exports take.

use super::by_name::{Profile, ThreadGrouping, at};
use crate::analysis::{PathTree, ROOT};
use flow_codec::MethodId;
use flow_codec::format::methods::MethodInfo;
use flow_codec::read::Methods;

/// A profile as paths of methods.
#[derive(Debug)]
pub struct ProfilePaths {
    /// The paths. Their self weight is a number of samples, or nanoseconds.
    pub tree: PathTree,
    /// The methods of the paths: one for each line of a method, if the profile distinguishes lines.
    pub methods: Methods,
}

impl Profile {
    /// Returns the first run as paths of methods, which weigh their time, or the number of their samples. Threads are the
    /// outermost methods, if the profile distinguishes them.
    #[must_use]
    pub fn paths(&self, by_time: bool) -> ProfilePaths {
        let mut methods = Methods::default();
        let mut next = 0;
        let mut add = |info: MethodInfo| {
            let id = MethodId::new(next)?;
            next += 1;
            methods.insert(id, info);
            Some(id)
        };
        let frames = self.frames.all().iter().map(|frame| {
            let info = self.methods().get(frame.method).map(|method| method.info.clone());
            let info = info.unwrap_or_default();
            let (source, line) = info.named_place(frame.line);
            let source = source.map(str::to_owned);
            add(MethodInfo { source, line, inlined: Box::default(), ..info })
        });
        let frames: Vec<_> = frames.collect();
        let threads = self.threads.all().iter().map(|thread| {
            add(MethodInfo {
                name: thread.name.clone().unwrap_or_default(),
                ..MethodInfo::default()
            })
        });
        let threads: Vec<_> = threads.collect();
        let has_threads = self.thread_grouping() != ThreadGrouping::Merged;
        // The new place of each node: threads that are all one are the root.
        let (mut places, mut len) = (Vec::new(), 1);
        let mut paths = vec![(ROOT, None, 0, 0)];
        for (number, node) in self.nodes.nodes().iter().enumerate() {
            if number == 0 || (node.parent == ROOT && !has_threads) {
                places.push(ROOT);
                continue;
            }
            let parent = places.get(at(node.parent)).copied().unwrap_or(ROOT);
            let of = if node.parent == ROOT { &threads } else { &frames };
            let method = at(node.method).checked_sub(1).and_then(|place| of.get(place)).copied();
            let [numbers, _] = node.counts;
            let self_ns = u64::try_from(numbers.self_ns).unwrap_or(0);
            paths.push((parent, method.flatten(), numbers.self_count, self_ns));
            places.push(len);
            len += 1;
        }
        ProfilePaths { tree: PathTree::from_paths(paths.into_iter(), by_time), methods }
    }
}
