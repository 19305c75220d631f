//! HOT: restricts events to those in chosen methods.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;

use crate::analysis::Graph;
use crate::analysis::nodes::{AddShapes, Nodes};
use crate::dag::Dag;
use flow_codec::read::{Selection, Visit};
use flow_codec::{MethodId, MethodMap};

/// Passes on the calls of chosen methods, and all calls made in them, as if they were outermost calls. If
/// chosen methods are nested, only the outer one begins a new tree. One for each thread.
///
/// ```
/// use flow_query::analysis::{Graph, Rooted};
/// use flow_codec::read::{FlowReader, ReadRecords};
///
/// // 1 calls 2, which calls 3; then 1 calls 3.
/// let bytes: &[u8] = &[0x81, 0x82, 0x83, 0x01, 0x83, 0x01];
/// let mut graph = Graph::default();
/// let mut rooted = Rooted::new(|method| method.get() == 2, &mut graph);
/// FlowReader::new(bytes).visit_all(&mut rooted)?;
/// graph.end_thread();
/// let tree = graph.into_tree();
/// let methods: Vec<_> = tree.rows().map(|(_, row)| row.method.get()).collect();
/// assert_eq!(methods, [2, 3]);
/// # Ok::<(), flow_codec::Error>(())
/// ```
#[derive(Debug)]
pub struct Rooted<'a, F, V> {
    chosen: F,
    /// What `chosen` returned for each method.
    known: MethodMap<bool>,
    inner: &'a mut V,
    /// Open frames from the outermost chosen method up.
    inside: u64,
}

impl<F: FnMut(MethodId) -> bool, V: Visit> Visit for Rooted<'_, F, V> {
    #[inline]
    fn enter(&mut self, method: MethodId) {
        if self.inside > 0 || self.is_chosen(method) {
            self.inside += 1;
            self.inner.enter(method);
        }
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64) {
        // Frames outside are below: nothing about them is needed.
        if let Some(left) = NonZeroU64::new(self.inside.min(count.get())) {
            self.inside -= left.get();
            self.inner.exit(left);
        }
    }
}

impl<F: FnMut(MethodId) -> bool> AddShapes for Rooted<'_, F, Graph> {
    fn add_shapes(&mut self, dag: &Dag, selection: &Selection) -> bool {
        let nodes = Nodes::new(dag, selection);
        let methods = nodes.numbering.methods();
        let chosen: Vec<bool> = methods.iter().map(|method| self.is_chosen(*method)).collect();
        let is_root = |method: u32| {
            let place = usize::try_from(method).ok().and_then(|number| number.checked_sub(1));
            place.is_some_and(|place| chosen.get(place).copied().unwrap_or_default())
        };
        self.inner.add_nodes(&nodes, Some(&is_root))
    }
}

impl<'a, F: FnMut(MethodId) -> bool, V> Rooted<'a, F, V> {
    /// Passes on to `inner` what happens in the methods that `chosen` selects. `chosen` is called once for
    /// each method.
    pub fn new(chosen: F, inner: &'a mut V) -> Self {
        Self { chosen, known: MethodMap::default(), inner, inside: 0 }
    }

    #[inline]
    fn is_chosen(&mut self, method: MethodId) -> bool {
        match self.known.get(method) {
            Some(is_chosen) => *is_chosen,
            None => {
                let is_chosen = (self.chosen)(method);
                self.known.insert(method, is_chosen);
                is_chosen
            }
        }
    }
}
