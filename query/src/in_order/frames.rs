//! The open frames of a thread: which of them are shown.

use std::num::NonZeroU64;

use flow_codec::MethodId;
use flow_codec::read::ShownFrames;

use super::shown::Shown;

/// The open frames of a thread.
#[derive(Debug)]
pub(super) struct Frames {
    /// The open frames, without those that are left out.
    pub(super) stack: Vec<MethodId>,
    /// Open calls of methods with several versions: how many calls are in the stack up to them, and the version if it is not 0.
    pub(super) versions: Vec<(usize, u16)>,
    /// Which of the open frames are in the stack.
    selected: ShownFrames,
    /// The depth of the call that is being shown with all its callees. If no calls are wanted, everything is inside such a
    /// call.
    pub(super) root: Option<usize>,
    /// The depth of the outermost open call that is too short to be shown, as all are that it makes.
    short: usize,
    /// The number of calls so far, shown or not.
    pub(super) calls: u64,
}

impl Frames {
    pub(super) fn new(is_inside: bool) -> Self {
        let (stack, versions, selected) = (Vec::new(), Vec::new(), ShownFrames::default());
        Self {
            stack,
            versions,
            selected,
            root: is_inside.then_some(0),
            short: usize::MAX,
            calls: 0,
        }
    }

    /// Adds a frame that is open where reading begins.
    pub(super) fn begin_in(&mut self, method: MethodId, version: u16, shown: &Shown<'_>) {
        let is_selected = shown.selection.contains(method);
        self.selected.enter(is_selected);
        if !is_selected {
            return;
        }
        let is_wanted = shown.wanted.is_some_and(|wanted| wanted.contains(method));
        self.root = self.root.or(is_wanted.then_some(self.stack.len()));
        self.stack.push(method);
        if version != 0 {
            self.versions.push((self.stack.len(), version));
        }
    }

    /// Enters a frame. Returns whether it is not left out; if so, the caller [adds](Self::push) it to the stack.
    #[inline]
    pub(super) fn select(&mut self, method: MethodId, shown: &Shown<'_>) -> bool {
        if shown.selection.is_all() {
            return true;
        }
        let is_selected = shown.selection.contains(method);
        self.selected.enter(is_selected);
        is_selected
    }

    #[inline]
    pub(super) fn push(&mut self, method: MethodId) {
        let top = self.stack.len();
        while self.versions.last().is_some_and(|(depth, _)| *depth > top) {
            self.versions.pop();
        }
        self.stack.push(method);
    }

    /// The call that is added next is too short to be shown.
    #[inline]
    pub(super) fn begin_short(&mut self) {
        self.short = self.short.min(self.stack.len());
    }

    /// How many calls are in the stack from the one on that is shown with all its callees.
    #[inline]
    pub(super) fn above_root(&self) -> usize {
        self.root.map_or(0, |root| self.stack.len().saturating_sub(root))
    }

    /// Exits this many frames. Returns how many calls of the stack are left then, and how many frames were left that are not in
    /// it; `None` if nothing changes.
    #[inline]
    pub(super) fn leaving(&mut self, count: NonZeroU64, shown: &Shown<'_>) -> Option<(usize, u64)> {
        let count = match shown.selection.is_all() {
            true => count,
            false => self.selected.exit(count)?,
        };
        let open = self.stack.len();
        let left = open - usize::try_from(count.get()).unwrap_or(usize::MAX).min(open);
        Some((left, count.get() - (open - left) as u64))
    }

    #[inline]
    pub(super) fn leave(&mut self, left: usize, shown: &Shown<'_>) {
        self.stack.truncate(left);
        if left <= self.short {
            self.short = usize::MAX;
        }
        if shown.wanted.is_some() && self.root.is_some_and(|root| root >= left) {
            self.root = None;
        }
    }

    /// How many calls are shown around what happens now; `None` if that is outside of wanted calls.
    pub(super) fn shown_depth(&self, shown: &Shown<'_>) -> Option<usize> {
        let deepest = self.root?.saturating_add(shown.max_depth).min(self.short);
        Some(self.stack.len().min(deepest))
    }

    /// How many calls are shown around what the topmost frame does; `None` if that is not shown.
    pub(super) fn topmost_shown(&self, shown: &Shown<'_>) -> Option<usize> {
        let is_shown = shown.selection.is_all() || self.selected.shows_topmost();
        self.shown_depth(shown).filter(|depth| is_shown && *depth == self.stack.len())
    }

    /// Returns the method of the innermost of this many calls, and its version.
    pub(super) fn method_at(&self, depth: usize) -> (Option<MethodId>, u16) {
        let method = depth.checked_sub(1).and_then(|top| self.stack.get(top)).copied();
        let mut from_there = self.versions.iter().rev().skip_while(|(of, _)| *of > depth);
        let known = from_there.next().filter(|(of, _)| *of == depth);
        (method, known.map_or(0, |(_, version)| *version))
    }
}
