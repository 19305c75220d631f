//! Snapshots: what was recorded until now, in a file of its own. Recording continues.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::options::SnapshotOn;

/// Snapshots that the options ask for. A thread of the agent takes them.
#[derive(Debug)]
pub struct Snapshots {
    on: SnapshotOn,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The name of the next one.
    wanted: Option<String>,
    is_taking: bool,
    last: Option<Instant>,
    taken: usize,
}

/// After one begins, no other one does for this time.
const APART: Duration = Duration::from_secs(10);
/// The most in one recording: what calls a method again and again must not fill the disk.
const MAX_TAKEN: usize = 100;
/// How long the end of the recording waits for one that is being taken.
const LAST_TIMEOUT: Duration = Duration::from_secs(10);
/// How often the thread looks whether the recording has ended.
const PERIOD: Duration = Duration::from_millis(200);

impl Snapshots {
    pub(super) fn new(on: SnapshotOn) -> Self {
        Self { on, state: Mutex::default(), changed: Condvar::new() }
    }

    /// What they are taken on.
    #[must_use]
    pub const fn on(&self) -> &SnapshotOn {
        &self.on
    }

    /// Lets one be taken soon, unless another one was taken a moment ago.
    pub fn ask(&self, name: &str) {
        let mut state = self.state.lock();
        let is_late = state.last.is_none_or(|last| last.elapsed() >= APART);
        if state.wanted.is_none() && is_late && state.taken < MAX_TAKEN {
            state.wanted = Some(name.to_owned());
            state.last = Some(Instant::now());
            state.taken += 1;
            self.changed.notify_all();
        }
    }

    /// Passes the names of those that are asked for to `take`, until the recording has ended.
    pub(super) fn run(&self, is_on: impl Fn() -> bool, take: impl Fn(&str)) {
        let Self { state, changed, .. } = self;
        loop {
            let name = {
                let mut state = state.lock();
                if state.wanted.is_none() {
                    changed.wait_for(&mut state, PERIOD);
                }
                let name = state.wanted.take();
                state.is_taking = name.is_some();
                name
            };
            match name {
                Some(name) => take(&name),
                None if !is_on() => return,
                None => {}
            }
            state.lock().is_taking = false;
            changed.notify_all();
        }
    }

    /// Waits until all are taken, but not long.
    pub(super) fn finish(&self) {
        let deadline = Instant::now() + LAST_TIMEOUT;
        let mut state = self.state.lock();
        while (state.wanted.is_some() || state.is_taking)
            && !self.changed.wait_until(&mut state, deadline).timed_out()
        {}
    }
}
