//! Formats that show calls one by one, in order.

pub(super) mod calls;
pub(super) mod chrome;
pub(super) mod firefox;
pub(super) mod hpl;
pub(super) mod perfetto;
pub(super) mod speedscope;
