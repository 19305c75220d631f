//! What a recording counts: events, losses, requests to class loaders.

pub(super) mod asked;
pub(super) mod counts;
pub(super) mod losses;
