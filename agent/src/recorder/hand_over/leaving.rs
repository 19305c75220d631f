//! Slots of threads that have ended.

use std::sync::Arc;

use super::base::HandOver;
use crate::recorder::ThreadRecorder;
use crate::sys::allocator;

impl HandOver {
    /// Gives back the slot of a thread that has ended here. If another thread is reading it, that follows later, unless the
    /// recording ends: then the slot is not used again.
    pub(in crate::recorder) fn give_up_slot(&self, thread: Arc<ThreadRecorder>, position: u64) {
        if let Some(held) = self.try_to_give_up(thread, position)
            && self.shared.is_on()
        {
            // Those before it are mostly free by now, so they never are many.
            self.give_up_left_slots();
            let mut leaving = self.leaving.lock();
            if allocator::try_reserve(&mut leaving, 1).is_ok() {
                leaving.push(held);
            }
        }
    }

    /// Closes the slot of a thread that has ended, because a file has its content, and [gives it back](Self::give_up_slot).
    pub(super) fn close_slot(&self, thread: Arc<ThreadRecorder>, position: u64) {
        thread.lock_out().slot().close();
        self.give_up_slot(thread, position);
    }

    /// Returns the thread if another one is reading it.
    fn try_to_give_up(
        &self,
        thread: Arc<ThreadRecorder>,
        position: u64,
    ) -> Option<(Arc<ThreadRecorder>, u64)> {
        let thread = match Arc::try_unwrap(thread) {
            Ok(thread) => thread,
            Err(held) => return Some((held, position)),
        };
        if let Some(slot) = thread.into_slot(position) {
            self.shared.journal.give_back(slot);
        }
        None
    }

    /// Gives back the slots of threads that were held when they ended.
    pub(in crate::recorder) fn give_up_left_slots(&self) {
        let mut leaving = self.leaving.lock();
        // From the last one on, so that those which are put back are not tried again.
        for place in (0..leaving.len()).rev() {
            let (thread, position) = leaving.swap_remove(place);
            if let Some(held) = self.try_to_give_up(thread, position) {
                leaving.push(held);
            }
        }
    }
}
