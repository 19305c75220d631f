//! Finds the recording of the process, and releases it after its end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use once_cell::sync::OnceCell;
use parking_lot::Mutex;

use super::Agent;
use crate::options::EngineKind;
use crate::sys::Shared;

/// The recording of this process, until it is [released](release).
pub(super) static CURRENT: Shared<Agent> = Shared::empty();

/// The recording with `engine=events`, if there has been one: it can only start with the JVM. It is never
/// freed, so its callbacks, one for each event, find it without counting references.
pub(super) static OF_EVENTS: OnceCell<Arc<Agent>> = OnceCell::new();

/// Held while a recording starts, and while one is released.
pub(super) static STARTING: Mutex<()> = Mutex::new(());

/// How long the end of a recording waits for threads that are still in it. After that, the last of them frees
/// it.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);

/// The recording, which continues or has just ended.
#[must_use]
pub fn agent() -> Option<Arc<Agent>> {
    CURRENT.get()
}

/// The recording with `engine=events`, which continues or has ended.
#[inline]
#[must_use]
pub fn agent_of_events() -> Option<&'static Agent> {
    OF_EVENTS.get().map(|agent| &**agent)
}

/// Releases a recording that has ended and whose probes have been taken out: callbacks no longer find it. Its
/// files, its lock and its memory are freed when this returns, or else by the thread that leaves it last.
/// `before` runs before another recording can start, unless one has already.
pub fn release(agent: Arc<Agent>, before: impl FnOnce(&Agent)) {
    let _one_at_a_time = STARTING.lock();
    if is_current(&agent) {
        before(&agent);
        release_alone(agent);
    }
}

/// Waits while a thread of the agent takes out the probes of a recording that a fault has ended.
pub(super) fn wait_for_clean_up() {
    let deadline = Instant::now() + RELEASE_TIMEOUT;
    let is_cleaned_up = |agent: Arc<Agent>| {
        agent.recorder.has_stopped() && agent.cleaned_up.load(Ordering::Relaxed)
    };
    while agent().is_some_and(is_cleaned_up) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
}

fn is_current(agent: &Arc<Agent>) -> bool {
    CURRENT.get().is_some_and(|current| Arc::ptr_eq(&current, agent))
}

/// Like [`release`], for the owner of [`STARTING`].
pub(super) fn release_alone(agent: Arc<Agent>) {
    drop(CURRENT.remove());
    if agent.engine == EngineKind::Events {
        return agent.close();
    }
    let deadline = Instant::now() + RELEASE_TIMEOUT;
    // From here on the number of references only falls: those of running callbacks, and of threads of the
    // agent.
    while Arc::strong_count(&agent) > 1 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
}
