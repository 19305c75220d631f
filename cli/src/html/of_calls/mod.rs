//! What the page knows about calls beside their boxes and shapes: when they began and ended, their values, and the exceptions
//! that ended them.

pub(super) mod details;
pub(super) mod instants;
