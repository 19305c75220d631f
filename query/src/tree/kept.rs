//! Calls of a thread that are read when they are needed, and kept until they are forgotten.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::{LazyTree, Node};
use flow_codec::Result;
use flow_codec::parallel::BytesRead;
use flow_codec::read::ThreadFile;

/// A part of a thread's call tree in memory, for a view in which calls are opened and closed. A call is known by
/// its number in the thread. Any number of threads and traces can be open at a time.
///
/// ```no_run
/// use flow_codec::read::Trace;
/// use flow_query::tree::KeptTree;
///
/// let trace = Trace::open("flow-trace")?;
/// let mut tree = KeptTree::open(&trace.files[0])?;
/// if let Some(root) = tree.children(None, 0..1)?.first() {
///     let root = root.place.enters;
///     println!("{:?}", tree.children(Some(root), 1000..1010)?);
///     tree.forget(Some(root));
/// }
/// # Ok::<(), flow_codec::Error>(())
/// ```
#[derive(Debug)]
pub struct KeptTree {
    tree: LazyTree,
    /// The calls that are kept, by the number of their caller, and by their place among its calls.
    children: HashMap<Option<u64>, BTreeMap<u64, Node>>,
    /// The same calls by number.
    nodes: HashMap<u64, Node>,
}

impl KeptTree {
    /// Opens a thread; nothing is kept of it but its index.
    ///
    /// # Errors
    /// The events cannot be read. Damage is not an error: it is skipped.
    pub fn open(file: &ThreadFile) -> Result<Self> {
        let tree = LazyTree::open(file, &BytesRead::default())?;
        Ok(Self { tree, children: HashMap::new(), nodes: HashMap::new() })
    }

    /// The tree from which calls are read.
    pub fn lazy(&mut self) -> &mut LazyTree {
        &mut self.tree
    }

    /// How many calls are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether no calls are kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The calls in a range of those that a call made directly, in order; of the outermost calls without a call.
    /// Those that are not kept yet are read, and kept.
    ///
    /// # Errors
    /// As those of [`LazyTree::call`].
    pub fn children(&mut self, of: Option<u64>, range: Range<u64>) -> Result<Vec<Node>> {
        let caller = match of {
            None => None,
            Some(number) => match self.call(number)? {
                Some(node) => Some(node),
                None => return Ok(Vec::new()),
            },
        };
        let mut at = range.start;
        while at < range.end {
            let kept = self.children.entry(of).or_default();
            if kept.contains_key(&at) {
                at += 1;
                continue;
            }
            // Up to the next one that is kept; from the last one before it, if there is one.
            let end = kept.range(at..range.end).next().map_or(range.end, |(next, _)| *next);
            let max = usize::try_from(end - at).unwrap_or(usize::MAX);
            let before = kept.range(..at).next_back().map(|(place, node)| (*place, *node));
            let found = match before {
                Some((place, node)) => self.tree.siblings_after(&node, at - place - 1, max)?,
                None => self.tree.children(caller.as_ref(), at, max)?,
            };
            let is_last = found.len() < max;
            let kept = self.children.entry(of).or_default();
            for node in found {
                self.nodes.insert(node.place.enters, node);
                kept.insert(at, node);
                at += 1;
            }
            if is_last {
                break;
            }
        }
        let kept = self.children.get(&of);
        Ok(kept.map_or(Vec::new(), |kept| kept.range(range).map(|(_, node)| *node).collect()))
    }

    /// Forgets the calls that a call made directly, the calls that those made, and so on, but not the call; all
    /// calls without a call.
    pub fn forget(&mut self, of: Option<u64>) {
        if of.is_none() {
            (self.children, self.nodes) = (HashMap::new(), HashMap::new());
        }
        let mut below = vec![of];
        while let Some(caller) = below.pop() {
            for node in self.children.remove(&caller).into_iter().flatten().map(|(_, node)| node) {
                self.nodes.remove(&node.place.enters);
                below.push(Some(node.place.enters));
            }
        }
    }

    /// Opens the thread again, which may have grown, and reads the calls that a call made directly and that were
    /// kept; those below are forgotten. Numbers of calls stay.
    ///
    /// # Errors
    /// Like those of [`open`](Self::open). Then nothing has changed.
    pub fn reload(&mut self, file: &ThreadFile, of: Option<u64>) -> Result<Vec<Node>> {
        let tree = LazyTree::open(file, &BytesRead::default())?;
        let kept = self.children.get(&of);
        let first = kept.and_then(|kept| kept.keys().next()).copied().unwrap_or(0);
        let last = kept.and_then(|kept| kept.keys().next_back()).map_or(0, |last| last + 1);
        self.forget(of);
        self.tree = tree;
        self.children(of, first..last)
    }

    /// The call with this number, kept or not.
    fn call(&mut self, number: u64) -> Result<Option<Node>> {
        match self.nodes.get(&number) {
            Some(node) => Ok(Some(*node)),
            None => self.tree.call(number),
        }
    }
}
