//! Shapes, what follows from them, and the calls of a thread that consist of them.

pub(super) mod kinds;
pub(super) mod loops;
pub(super) mod names;
pub(super) mod of_thread;
pub(super) mod shapes;
pub(super) mod strides;
pub(super) mod sums;
pub(super) mod table;
pub(super) mod word;
