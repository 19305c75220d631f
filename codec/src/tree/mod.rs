//! Call trees: from records to nested calls. Walks have no recursion, so depth is bounded only by
//! memory.

mod walk;

pub use walk::{Step, Walk, WalkTotals};
