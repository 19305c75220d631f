//! The rows of paths: methods on a stack, the outermost first.

use flow_codec::ThreadId;

use super::{Chain, MethodColumns, PlaceColumns, ThreadNameColumns, WeightColumns};

crate::rows! {
    /// A method of a path.
    pub struct StepRow<'a> {
        depth: usize,
        /// a method of the path, from the outermost on
        #[serde(flatten)]
        method: MethodColumns<'a>,
        /// as for `report`, on this path
        #[serde(flatten)]
        weight: WeightColumns,
    }

    /// A frame of a stack.
    pub struct FrameRow<'a> {
        /// where the stack is
        thread: ThreadId,
        /// the number of the event that completed it
        event: Option<u64>,
        depth: usize,
        /// a frame of it
        #[serde(flatten)]
        method: MethodColumns<'a>,
    }

    /// A path.
    pub struct PathColumns<'a> {
        depth: usize,
        /// the end of a path
        #[serde(flatten)]
        method: MethodColumns<'a>,
        /// as for `report`, on this path
        #[serde(flatten)]
        weight: WeightColumns,
        /// all methods of it; in CSV separated by ` > `
        path: Chain,
    }

    /// A path of a tree.
    pub struct GraphRow<'a> {
        /// with `--per-thread`
        thread: Option<ThreadId>,
        #[serde(flatten)]
        threads: Option<ThreadNameColumns<'a>>,
        path: u32,
        /// the number of the path, and of the one that it continues
        parent: Option<u32>,
        depth: usize,
        /// its last method
        #[serde(flatten)]
        method: MethodColumns<'a>,
        #[serde(flatten)]
        place: Option<PlaceColumns<'a>>,
        /// as for `report`, on this path
        #[serde(flatten)]
        weight: WeightColumns,
    }
}
