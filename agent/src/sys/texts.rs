//! How texts are stored without the recorder: straight into the chunk of the current thread, as probes do.

#![expect(unsafe_code, reason = "stores to chunks, which the probes find by their addresses")]

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use flow_codec::ThreadId;
use flow_codec::format::raw::{VALUE_BYTES, words_of};

use super::blocks;

/// One more than the most code units of a text that are recorded; 0 if texts may have to be left out.
static LIMIT: AtomicUsize = AtomicUsize::new(0);

/// Sets how many code units of a text are recorded; `None` if texts may have to be left out. Before the recording begins.
pub(crate) fn set_limit(limit: Option<usize>) {
    LIMIT.store(limit.map_or(0, |limit| limit.saturating_add(1)), Ordering::SeqCst);
}

/// How many code units of a text are recorded; `None` if that is to be asked of the recorder.
pub(crate) fn limit() -> Option<usize> {
    LIMIT.load(Ordering::SeqCst).checked_sub(1)
}

/// Appends the bytes of a value to the chunk of the current thread, as long as there is room. Returns the rest.
pub(crate) fn append(thread: ThreadId, value: &[u8]) -> &[u8] {
    let Some(control) = blocks::of_current(thread) else { return value };
    let mut rest = value;
    for word in words_of(value) {
        if !control.has_room() {
            break;
        }
        let position = control.position(Ordering::Relaxed);
        let at = ptr::with_exposed_provenance_mut::<[u8; VALUE_BYTES]>(position as usize);
        // SAFETY: there is room for an event at a position below the limit. The chunk is kept as long as the thread has its
        // position in it, and no other thread writes to it.
        unsafe { at.write_unaligned(word.map(|byte| !byte)) };
        // Pairs with the loads of readers: who sees the position sees the event.
        control.set_position(position + VALUE_BYTES as u64, Ordering::Release);
        rest = rest.get(usize::from(word[VALUE_BYTES - 1])..).unwrap_or_default();
    }
    rest
}
