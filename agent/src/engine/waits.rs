//! Waits of threads, with `waits=on`, for both engines that see calls. A wait is a value of the topmost call of its thread.

use flow_codec::ThreadId;
use flow_codec::format::raw::words_of;

use super::Jvm;
use crate::options::EngineKind;
use crate::recorder::Recorder;

/// The current thread begins to wait, or has waited. `describe` returns what is known of it, in bytes of a value, and is called
/// if the thread has recorded a call. Returns whether it has.
pub fn on_wait<'a>(
    recorder: &Recorder,
    engine: EngineKind,
    vm: &impl Jvm<'a>,
    id: ThreadId,
    describe: impl FnOnce() -> Vec<u8>,
) -> bool {
    if !recorder.is_recording() {
        return false;
    }
    let append = |thread: &_| {
        words_of(&describe()).for_each(|word| recorder.append(thread, &word));
    };
    match engine {
        EngineKind::Instrument => recorder.thread(id).map(|thread| append(&thread)),
        EngineKind::Events => vm.thread_recorder().ok().flatten().map(append),
        EngineKind::None => None,
    }
    .is_some()
}
