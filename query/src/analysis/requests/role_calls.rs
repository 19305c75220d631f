//! The open calls of a thread that have a role, and their values.

use std::num::NonZeroU64;

use flow_codec::MethodId;
use flow_codec::format::values::CallValue;
use flow_codec::read::{EventKind, Stamp, TimelineEvent};

/// The open calls of a thread that have a role, each with what else is known of it.
#[derive(Debug)]
pub(super) struct RoleCalls<T> {
    /// How many frames are open.
    open: usize,
    /// The innermost last.
    calls: Vec<RoleCall<T>>,
}

/// An open call of a method that has a role.
#[derive(Debug)]
pub(super) struct RoleCall<T> {
    pub(super) method: MethodId,
    /// How many frames are open, its own included.
    pub(super) frames: usize,
    pub(super) begun: Stamp,
    pub(super) values: Vec<CallValue>,
    pub(super) of: T,
}

impl<T> Default for RoleCalls<T> {
    fn default() -> Self {
        Self { open: 0, calls: Vec::new() }
    }
}

impl<T> RoleCalls<T> {
    /// How many frames are open.
    pub(super) fn open(&self) -> usize {
        self.open
    }

    /// Sets how many frames are open, once the calls above them have been [taken](Self::pop_above).
    pub(super) fn set_open(&mut self, frames: usize) {
        self.open = frames;
    }

    /// A method without a role is entered.
    pub(super) fn enter(&mut self) {
        self.open += 1;
    }

    /// A method with a role is entered.
    pub(super) fn enter_role(&mut self, method: MethodId, begun: Stamp, of: T) {
        self.open += 1;
        self.calls.push(RoleCall { method, frames: self.open, begun, values: Vec::new(), of });
    }

    /// How many frames stay open when this many are left.
    pub(super) fn after_exits(&self, count: NonZeroU64) -> usize {
        self.open.saturating_sub(usize::try_from(count.get()).unwrap_or(usize::MAX))
    }

    /// Takes the innermost call, if more frames than these are open in it.
    pub(super) fn pop_above(&mut self, frames: usize) -> Option<RoleCall<T>> {
        self.calls.pop_if(|call| call.frames > frames)
    }

    /// Forgets the open calls, of which the rest is missing.
    pub(super) fn forget(&mut self) {
        self.calls.clear();
    }

    /// The innermost open call.
    pub(super) fn last_mut(&mut self) -> Option<&mut RoleCall<T>> {
        self.calls.last_mut()
    }

    /// The open calls.
    pub(super) fn iter(&self) -> impl Iterator<Item = &RoleCall<T>> {
        self.calls.iter()
    }

    /// Adds the values of an event to the topmost call, if it has a role.
    pub(super) fn add_values(&mut self, event: TimelineEvent) {
        if let EventKind::Values(values) = event.kind
            && let Some(call) = self.calls.last_mut().filter(|call| call.frames == self.open)
        {
            call.values.extend(values.into_iter().filter(|value| !value.role.is_access()));
        }
    }
}
