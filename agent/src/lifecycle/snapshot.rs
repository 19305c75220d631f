//! Snapshots: what was recorded until now, in a file of its own. Recording continues.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use flow_codec::format::manifest::{self, Manifest};
use parking_lot::{Condvar, Mutex};

use super::Agent;
use super::manifest::manifest_text;
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

    /// Waits until all are taken, but not long.
    fn finish(&self) {
        let deadline = Instant::now() + LAST_TIMEOUT;
        let mut state = self.state.lock();
        while (state.wanted.is_some() || state.is_taking)
            && !self.changed.wait_until(&mut state, deadline).timed_out()
        {}
    }
}

impl Agent {
    /// Snapshots that the options ask for.
    #[must_use]
    pub fn snapshots(&self) -> &Snapshots {
        &self.snapshots
    }

    /// Takes the snapshots that are asked for, until the recording has ended.
    pub(super) fn run_snapshots(&self) {
        let Snapshots { state, changed, .. } = &self.snapshots;
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
                Some(name) => self.take(&name),
                None if !self.recorder.is_on() => return,
                None => {}
            }
            state.lock().is_taking = false;
            changed.notify_all();
        }
    }

    /// Before the recording ends.
    pub(super) fn take_last_snapshots(&self) {
        if self.snapshots.on.is_wanted() {
            self.snapshots.finish();
        }
        if self.snapshots.on.exit {
            self.take("exit");
        }
    }

    fn take(&self, name: &str) {
        match self.snapshot(name) {
            Ok(path) => log::info!("snapshot: {}", path.display()),
            Err(why) => log::warn!("no snapshot: {why}"),
        }
    }

    /// Takes a snapshot, and returns where it is. Only the caller waits for it.
    ///
    /// # Errors
    /// Nothing is being recorded, or not into one file, or the snapshot cannot be written.
    pub fn snapshot(&self, name: &str) -> Result<PathBuf, String> {
        if self.is_abandoned() || !self.recorder.is_on() {
            return Err("nothing is being recorded in this process".to_owned());
        }
        let Some(blocks) = &self.blocks else {
            let out = self.directory.path().display();
            return Err(format!(
                "only a trace in one file has snapshots, and this one is in the directory {out}; use a name such as \
                 out=app.flowtrace"
            ));
        };
        let known = self.manifest.lock().as_ref().map(|(manifest, _)| manifest.clone());
        let manifest = known.ok_or("the recording has ended")?;
        let snapshot =
            manifest::Snapshot { name: name.to_owned(), at_ns: self.recorder.elapsed_ns() };
        // Only the trace itself was found in place of another one, and only it has a journal.
        let (earlier, journal, snapshot) = (None, None, Some(snapshot));
        let manifest = Manifest { earlier, journal, snapshot, ..manifest };
        let written = manifest_text(&manifest).and_then(|manifest| {
            blocks.snapshot(name, &manifest, |put| self.recorder.copy_open_slots(put))
        });
        written.map_err(|error| format!("the snapshot cannot be written: {error}"))
    }
}
