//! The boxes of charts.

/// What a box represents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::html) enum Kind {
    /// In a timeline one call; in a flame graph the calls of one path.
    Call,
    /// Several calls with all their callees, of which only the number is shown: a *more* box.
    More,
}

/// One box of a chart. Times are in the unit of the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::html) struct ChartBox {
    /// The number of boxes around it.
    pub(in crate::html) depth: usize,
    pub(in crate::html) kind: Kind,
    /// The number of its method; for [`Kind::More`] that of the widest call in it, or [`NO_METHOD`].
    pub(in crate::html) method: u32,
    pub(in crate::html) at: u64,
    pub(in crate::html) end: u64,
    /// In a timeline the calls in it, itself included; in a flame graph how often the path was entered; for
    /// [`Kind::More`] always all calls in it.
    pub(in crate::html) calls: u64,
}

/// Calls deeper than this have no boxes: they are part of the *more* box at this depth.
pub(in crate::html) const FRAMES: usize = 10_000;

/// The number of no method.
pub(in crate::html) const NO_METHOD: u32 = u32::MAX;

/// The minimum width of a box grows with its depth, and is doubled at this depth. So an endless recursion, whose
/// calls are all about equally wide, keeps its first frames when it does not fit.
const DEPTH_SCALE: f64 = 64.0;
/// The factor by which the minimum width grows.
const GROWTH: f64 = 1.25;

/// The minimum width at a depth, if it is `min` at depth 0.
pub(in crate::html) fn width_at(depth: usize, min: f64) -> f64 {
    // Depths are at most `FRAMES`, so none is rounded.
    min * (1.0 + f64::from(u32::try_from(depth).unwrap_or(u32::MAX)) / DEPTH_SCALE)
}

/// The next larger minimum width.
pub(in crate::html) fn wider(min: f64) -> f64 {
    (min * GROWTH).max(1.0)
}

/// The width from one time to another, to be compared with a minimum width.
#[expect(clippy::cast_precision_loss, reason = "a pixel is rounded more than that")]
pub(in crate::html) fn width(at: u64, end: u64) -> f64 {
    end.saturating_sub(at) as f64
}
