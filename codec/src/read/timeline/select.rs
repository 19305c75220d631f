//! Leaves out calls by their method or depth.

use std::num::NonZeroU64;

use super::event::{EventKind, TimelineEvent};
use crate::read::{Selection, ShownFrames};

/// The open frames of a thread, as far as the selection needs them. Memory: a bit each, unless all methods
/// are selected.
#[derive(Debug)]
pub(super) struct Select<'a> {
    selection: &'a Selection,
    depth: u64,
    frames: ShownFrames,
    /// Open frames of selected methods, including those that are too deep.
    selected: u64,
    /// An exception that has not left a selected frame yet.
    throw: Option<TimelineEvent>,
}

impl<'a> Select<'a> {
    pub(super) fn new(selection: &'a Selection, depth: u64) -> Self {
        Self { selection, depth, frames: ShownFrames::default(), selected: 0, throw: None }
    }

    /// Passes on an event if it is selected.
    #[inline]
    pub(super) fn pass(&mut self, event: TimelineEvent, mut to: impl FnMut(TimelineEvent)) {
        match event.kind {
            EventKind::Enter(method) => {
                self.throw = None;
                if !self.selection.is_all() {
                    let is_selected = self.selection.contains(method);
                    self.frames.enter(is_selected);
                    if !is_selected {
                        return;
                    }
                }
                self.selected += 1;
                if self.selected <= self.depth {
                    to(event);
                }
            }
            EventKind::Exit { count, ref unwound } => {
                let throw = self.throw.take().filter(|_| unwound.is_some());
                match (self.exit(count), event) {
                    (None, _) => self.throw = throw,
                    (Some(count), TimelineEvent { position, time, calls, number, kind }) => {
                        throw
                            .into_iter()
                            .for_each(|throw| to(TimelineEvent { position, time, ..throw }));
                        let EventKind::Exit { unwound, .. } = kind else { return };
                        let kind = EventKind::Exit { count, unwound };
                        to(TimelineEvent { position, time, calls, number, kind });
                    }
                }
            }
            EventKind::RangeEnd { frames } => {
                self.throw = None;
                if let Some(frames) = self.exit(frames) {
                    to(TimelineEvent { kind: EventKind::RangeEnd { frames }, ..event });
                }
            }
            EventKind::Throw(_) => self.throw = Some(event),
            EventKind::Line(_)
            | EventKind::Values(_)
            | EventKind::Handled(_)
            | EventKind::Wait(_)
            | EventKind::Version(_)
            | EventKind::Step(_)
                if !self.shows_topmost() => {}
            _ => to(event),
        }
    }

    /// Returns whether the topmost frame is passed on.
    fn shows_topmost(&self) -> bool {
        self.selected <= self.depth && (self.selection.is_all() || self.frames.shows_topmost())
    }

    /// Leaves frames. Returns how many of them were selected.
    #[inline]
    fn exit(&mut self, count: NonZeroU64) -> Option<NonZeroU64> {
        let before = self.selected.min(self.depth);
        let left = if self.selection.is_all() { Some(count) } else { self.frames.exit(count) };
        self.selected = self.selected.saturating_sub(left.map_or(0, NonZeroU64::get));
        NonZeroU64::new(before - self.selected.min(self.depth))
    }
}
