//! The call tree of a thread, all of it in memory.

use crate::format::flow::Record;
use crate::read::ReadRecords;
use crate::{Depth, MethodId, NodeId, Offset, Result};

/// One call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeNode {
    /// The method.
    pub method: MethodId,
    /// Where it is entered.
    pub offset: Offset,
    /// How many frames it stands on.
    pub depth: Depth,
    /// Calls in it, its own included.
    pub calls: u64,
    /// The call it was made from.
    pub parent: Option<NodeId>,
}

/// All calls of one thread, in order: for traces that fit in memory, at 48 bytes a call. Others are for
/// [`LazyTree`](super::LazyTree).
///
/// ```
/// use flow_codec::read::FlowReader;
/// use flow_codec::tree::Tree;
///
/// // 1 calls 2 twice.
/// let bytes: &[u8] = &[0x81, 0x82, 0x00, 0x82, 0x01];
/// let tree = Tree::read(&mut FlowReader::new(bytes))?;
/// let root = tree.roots().next().unwrap();
/// let children: Vec<_> = tree.children(root).collect();
/// assert_eq!((tree.get(root).unwrap().calls, children.len()), (3, 2));
/// assert_eq!(tree.next_sibling(children[0]), Some(children[1]));
/// # Ok::<(), flow_codec::Error>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct Tree {
    /// In the order they are entered in: behind a call stand all that it made.
    nodes: Vec<TreeNode>,
}

impl Tree {
    /// Reads all records, up to the end or the first error. Frames that are open then reach up to there.
    ///
    /// # Errors
    /// As those of the records.
    pub fn read(records: &mut impl ReadRecords) -> Result<Self> {
        let mut tree = Self::default();
        let mut open: Vec<NodeId> = Vec::new();
        while let Some((offset, record)) = records.next_record()? {
            match record {
                Record::Enter(method) => {
                    let depth = Depth::new(open.len() as u64);
                    let parent = open.last().copied();
                    open.push(NodeId::new(tree.nodes.len()));
                    tree.nodes.push(TreeNode { method, offset, depth, calls: 1, parent });
                }
                Record::Exit(count) => {
                    let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
                    for left in open.drain(open.len().saturating_sub(count)..) {
                        tree.leave(left);
                    }
                }
            }
        }
        open.into_iter().for_each(|left| tree.leave(left));
        Ok(tree)
    }

    /// All calls so far that come behind this one were made in it.
    fn leave(&mut self, id: NodeId) {
        let calls = self.nodes.len() - id.as_usize();
        if let Some(node) = self.nodes.get_mut(id.as_usize()) {
            node.calls = calls as u64;
        }
    }

    /// How many calls there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A call.
    #[must_use]
    pub fn get(&self, id: NodeId) -> Option<&TreeNode> {
        self.nodes.get(id.as_usize())
    }

    /// The calls that nobody made.
    pub fn roots(&self) -> impl Iterator<Item = NodeId> {
        self.siblings(0, self.nodes.len())
    }

    /// The calls that a call made itself, in order.
    pub fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        let first = id.as_usize().saturating_add(1);
        self.siblings(first, self.end(id))
    }

    /// The next call made from where a call was made.
    #[must_use]
    pub fn next_sibling(&self, id: NodeId) -> Option<NodeId> {
        let next = NodeId::new(self.end(id));
        let parent = self.get(id)?.parent;
        (self.get(next)?.parent == parent).then_some(next)
    }

    /// The calls from one on, each behind all that the one before made.
    fn siblings(&self, first: usize, end: usize) -> impl Iterator<Item = NodeId> {
        let first = Some(first).filter(|first| *first < end);
        let next = move |at: &usize| Some(self.end(NodeId::new(*at))).filter(|next| *next < end);
        std::iter::successors(first, next).map(NodeId::new)
    }

    /// Behind the last call made in a call.
    fn end(&self, id: NodeId) -> usize {
        let calls = self.get(id).map_or(1, |node| node.calls);
        id.as_usize().saturating_add(usize::try_from(calls).unwrap_or(usize::MAX))
    }
}
