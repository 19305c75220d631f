//! Which calls are exported.

use std::num::NonZeroU64;

use flow_codec::MethodId;
use flow_codec::read::{Selection, ShownFrames};

/// Calls of these methods, of them the outermost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Which<'a> {
    /// The methods.
    pub(crate) selection: &'a Selection,
    /// So many on top of one another.
    pub(crate) depth: u64,
}

/// The open frames of a thread, as far as they matter for what is shown. Memory: a bit each, unless all
/// methods are selected.
pub(super) struct Shown<'a> {
    which: Which<'a>,
    /// Whether all methods are selected; then nothing else need be known of frames.
    is_all: bool,
    frames: ShownFrames,
    /// Open frames of selected methods, those that are too deep included.
    selected: u64,
}

impl<'a> Shown<'a> {
    pub(super) fn new(which: Which<'a>) -> Self {
        let is_all = which.selection.is_all();
        Self { which, is_all, frames: ShownFrames::default(), selected: 0 }
    }

    /// A method is entered. Answers how deep among the shown it is, if it is shown.
    #[inline]
    pub(super) fn enter(&mut self, method: MethodId) -> Option<u64> {
        if !self.is_all {
            let is_selected = self.which.selection.contains(method);
            self.frames.enter(is_selected);
            if !is_selected {
                return None;
            }
        }
        let depth = self.selected;
        self.selected += 1;
        (depth < self.which.depth).then_some(depth)
    }

    /// So many frames are left. Answers how many of them were shown.
    #[inline]
    pub(super) fn exit(&mut self, count: NonZeroU64) -> u64 {
        let before = self.open();
        let left = if self.is_all { Some(count) } else { self.frames.exit(count) };
        let left = left.map_or(0, NonZeroU64::get);
        self.selected = self.selected.saturating_sub(left);
        before - self.open()
    }

    /// How many frames are shown now.
    pub(super) fn open(&self) -> u64 {
        self.selected.min(self.which.depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> MethodId {
        MethodId::new(number).unwrap()
    }

    fn count(number: u64) -> NonZeroU64 {
        NonZeroU64::new(number).unwrap()
    }

    #[test]
    fn frames_too_deep_are_left_without_a_trace() {
        let selection = Selection::all();
        let mut shown = Shown::new(Which { selection: &selection, depth: 2 });
        let depths: Vec<_> = (0..4).map(|number| shown.enter(id(number))).collect();
        assert_eq!(depths, [Some(0), Some(1), None, None]);
        assert_eq!((shown.exit(count(1)), shown.open()), (0, 2));
        assert_eq!((shown.exit(count(2)), shown.open()), (1, 1));
        assert_eq!(shown.enter(id(7)), Some(1));
        assert_eq!((shown.exit(count(1 << 62)), shown.open()), (2, 0), "the rest was never seen");
    }
}
