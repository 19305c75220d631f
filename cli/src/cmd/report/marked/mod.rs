//! Tables of what marks beside the calls have: exceptions and waits.

pub(super) mod exceptions;
pub(super) mod waits;
