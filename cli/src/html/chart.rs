//! What charts are drawn from.

/// What a box stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// In a timeline one call; in a flame graph the calls of one path.
    Call,
    /// Several, with all they called, of which only the number is told.
    More,
}

/// One box of a chart. Times are in units of the clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ChartBox {
    /// Boxes around it.
    pub(super) depth: usize,
    pub(super) kind: Kind,
    /// The number of its method; for [`Kind::More`] of the widest call in it, or [`NO_METHOD`].
    pub(super) method: u32,
    pub(super) at: u64,
    pub(super) end: u64,
    /// In a timeline the calls in it, its own included; in a flame graph how often the path was
    /// entered; for [`Kind::More`] always all calls in it.
    pub(super) calls: u64,
}

/// A deeper call has no box of its own: it is part of the *more* box on top of this many.
pub(super) const FRAMES: usize = 10_000;

/// Nobody's number.
pub(super) const NO_METHOD: u32 = u32::MAX;

/// A call must be wider the deeper it is, to be drawn: twice as wide at this depth. So the first
/// frames of an endless recursion are, and not none of them.
const DEPTH_SCALE: f64 = 64.0;
/// What is wide enough grows by this factor.
const GROWTH: f64 = 1.25;

/// What is wide enough at a depth, where it is this much at depth 0.
pub(super) fn width_at(depth: usize, min: f64) -> f64 {
    // No depth here is so large that it would be rounded.
    min * (1.0 + f64::from(u32::try_from(depth).unwrap_or(u32::MAX)) / DEPTH_SCALE)
}

/// The next try of what is wide enough at depth 0.
pub(super) fn wider(min: f64) -> f64 {
    (min * GROWTH).max(1.0)
}

/// A width, to be compared with what is wide enough.
#[expect(clippy::cast_precision_loss, reason = "what can be seen is rounded more than that")]
pub(super) fn between(at: u64, end: u64) -> f64 {
    end.saturating_sub(at) as f64
}
