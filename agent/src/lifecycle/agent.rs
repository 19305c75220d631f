//! The recording of this process, from its start to its end.

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use flow_codec::format::manifest::{End, FilterChange, Manifest, Snapshot, Unmatched};
use flow_codec::format::names;
use flow_codec::format::stream::Command;
use once_cell::sync::OnceCell;
use parking_lot::Mutex;

use super::manifest::{manifest_text, shorten};
use super::notice::{Notice, notify};
use super::snapshot::Snapshots;
use crate::filter::FilterSpec;
use crate::options::{EngineKind, parse_filter};
use crate::recorder::{OpenChunks, Recorder, Stacks, Timeout};
use crate::sink::{
    BlockFile, JournalPlace, ManifestPlace, Streamed, Streamer, Syncer, TraceDirectory,
};
use crate::sys::ending::is_jvm_ending;

/// How long a second caller waits for the first one to complete the manifest.
const FINISH_TIMEOUT: Duration = Duration::from_secs(2);

/// The recording of this process.
#[derive(Debug)]
pub struct Agent {
    pub(super) recorder: Recorder,
    pub(super) engine: EngineKind,
    pub(super) directory: TraceDirectory,
    pub(super) journal_place: Mutex<Option<JournalPlace>>,
    pub(super) syncer: Option<Arc<Syncer>>,
    /// What sends the trace, if it is sent.
    pub(super) streamer: Option<Arc<Streamer>>,
    /// The trace, if it is in one file.
    pub(super) blocks: Option<Arc<BlockFile>>,
    pub(super) snapshots: Snapshots,
    /// The sampled stacks, if stacks are sampled.
    pub(super) stacks: Option<Stacks>,
    /// The changes of the filter, for the manifest.
    pub(super) filters: Mutex<Vec<FilterChange>>,
    /// Taken by the caller that ends the recording, with its place.
    pub(super) manifest: Mutex<Option<(Manifest, ManifestPlace)>>,
    pub(super) abandoned: AtomicBool,
    pub(super) unsubscribed: AtomicBool,
    pub(super) cleaned_up: AtomicBool,
    /// The jar for JVMs that run tests.
    pub(super) api: Option<PathBuf>,
}

impl Agent {
    /// Closes all files and releases the directory, for a recording that is never freed. Its memory stays.
    pub(super) fn close(&self) {
        self.stacks.iter().for_each(Stacks::close);
        self.recorder.close();
        self.directory.close();
        self.journal_place.lock().take();
    }

    /// Starts a thread of the agent, which holds a reference until it ends.
    pub(super) fn spawn(
        self: &Arc<Self>,
        name: &'static CStr,
        body: impl FnOnce(&Self) + Send + 'static,
    ) -> std::io::Result<()> {
        let agent = Arc::clone(self);
        crate::sys::spawn(name, move || body(&agent))
    }

    /// The same, with a stack of this size.
    pub(super) fn spawn_with_stack(
        self: &Arc<Self>,
        name: &'static CStr,
        stack_bytes: usize,
        body: impl FnOnce(&Self) + Send + 'static,
    ) -> std::io::Result<()> {
        let agent = Arc::clone(self);
        crate::sys::helper::spawn_with_stack(name, stack_bytes, move || body(&agent))
    }

    /// Whether the trace is sent to a collector, which may hold up the program's threads.
    #[must_use]
    pub fn is_streamed(&self) -> bool {
        self.streamer.is_some()
    }

    /// Sends the trace to a collector, until it has ended.
    pub(super) fn run_streamer(&self) {
        if let Some(streamer) = &self.streamer {
            streamer.run(self);
        }
    }

    /// Waits until the collector has the trace, if there is one.
    fn end_stream(&self) {
        let Some(streamer) = &self.streamer else { return };
        match streamer.end() {
            Ok(()) if !self.recorder.journal().is_needed() => streamer.remove_file(),
            Ok(()) => {}
            Err(why) => {
                let (address, path) = (streamer.address(), self.directory.path().display());
                log::warn!(
                    "stream={address}: {why}; the collector has not got everything, the rest is in {path}"
                );
            }
        }
    }

    /// Forces the trace to disk again and again, until the recording has ended.
    pub(super) fn run_syncer(&self) {
        let recorder = &self.recorder;
        if let Some(syncer) = &self.syncer {
            syncer.run(
                |put| recorder.copy_open_slots(put),
                |error| recorder.note_loss(&format!("durability=system: {error}")),
            );
        }
    }

    /// Returns the patterns of the user that have matched nothing. `own` is the selection that `flow record` made itself.
    fn unmatched(&self, own: &[String]) -> Vec<Unmatched> {
        if self.engine == EngineKind::None {
            // With `engine=none`, no method is checked.
            return Vec::new();
        }
        let all = self.recorder.methods().filter().unmatched(own).into_iter();
        all.map(|(option, patterns)| Unmatched { option: option.to_owned(), patterns }).collect()
    }

    /// Snapshots that the options ask for.
    #[must_use]
    pub fn snapshots(&self) -> &Snapshots {
        &self.snapshots
    }

    /// Takes the snapshots that are asked for, until the recording has ended.
    pub(super) fn run_snapshots(&self) {
        self.snapshots.run(|| self.recorder.is_on(), |name| self.take(name));
    }

    /// Before the recording ends.
    fn take_last_snapshots(&self) {
        if self.snapshots.on().is_wanted() {
            self.snapshots.finish();
        }
        if self.snapshots.on().exit {
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
        let snapshot = Snapshot { name: name.to_owned(), at_ns: self.recorder.elapsed_ns() };
        // Only the trace itself was found in place of another one, and only it has a journal.
        let (earlier, journal, snapshot) = (None, None, Some(snapshot));
        let manifest = Manifest { earlier, journal, snapshot, ..manifest };
        let written = manifest_text(&manifest).and_then(|manifest| {
            blocks.snapshot(name, &manifest, |put| self.recorder.copy_open_slots(put))
        });
        written.map_err(|error| format!("the snapshot cannot be written: {error}"))
    }

    /// How calls are seen.
    #[must_use]
    pub fn engine(&self) -> EngineKind {
        self.engine
    }

    /// Returns `true` to the first caller only.
    pub fn first_to_unsubscribe(&self) -> bool {
        !self.unsubscribed.swap(true, Ordering::Relaxed)
    }

    /// Returns `true` to the first caller only.
    pub fn first_to_clean_up(&self) -> bool {
        !self.cleaned_up.swap(true, Ordering::Relaxed)
    }

    /// The jar of the Java API, to be added to the class path of a JVM that runs tests.
    #[must_use]
    pub fn api(&self) -> Option<&Path> {
        self.api.as_deref()
    }

    /// The trace directory.
    #[must_use]
    pub fn out(&self) -> &Path {
        self.directory.path()
    }

    /// The sampled stacks, if stacks are sampled.
    #[must_use]
    pub fn stacks(&self) -> Option<&Stacks> {
        self.stacks.as_ref()
    }

    /// The recorder.
    #[must_use]
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Ends the recording of a process that is a fork of the recorded one, without touching the files they
    /// share. Only stores to atomics, and system calls: called right after a fork.
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
        crate::sys::abandon_blocks();
        self.recorder.abandon();
    }

    /// Returns whether this process is a fork of the recorded one.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    /// Ends the recording and completes the manifest. Later calls only wait until that is done.
    pub fn finish(&self, timeout: Timeout) {
        self.finish_by(None, timeout);
    }

    /// Ends the recording as `finish` does, where the handler of this signal ends the JVM.
    pub fn finish_by(&self, signal: Option<String>, timeout: Timeout) {
        if self.is_abandoned() {
            return;
        }
        if self.recorder.is_on() {
            self.take_last_snapshots();
        }
        if let Some(streamer) = &self.streamer {
            streamer.begin_end();
        }
        // Held to the end: the JVM must not end before the manifest is complete.
        let Some(mut held) = self.manifest.try_lock_for(FINISH_TIMEOUT) else { return };
        let Some((mut manifest, place)) = held.take() else { return };
        if let Some(stacks) = &self.stacks
            && !stacks.end(FINISH_TIMEOUT)
        {
            self.recorder.note_loss("the last samples were not written in time");
        }
        let end = self.recorder.finish(timeout);
        let samples = self.stacks.as_ref().map_or(0, Stacks::count);
        let end = End {
            signal,
            samples,
            filters: std::mem::take(&mut self.filters.lock()),
            unmatched: self.unmatched(&manifest.own),
            ..end
        };
        log::info!(
            "recorded {} calls in {} threads into {}",
            end.totals.enters,
            end.totals.threads,
            self.directory.path().display()
        );
        manifest.end = Some(end.clone());
        let has_losses = self.recorder.has_losses();
        if has_losses {
            shorten(&mut manifest);
        }
        let journal = self.recorder.journal();
        let written = manifest_text(&manifest)
            .and_then(|text| place.end(&text, !journal.is_needed(), self.syncer.is_some()));
        if written.is_err() && self.directory.is_container() {
            // Only a file with an end is whole without it.
            self.recorder.keep_journal();
        }
        if written.is_ok()
            && let Some(place) = &*self.journal_place.lock()
        {
            place.remove_memory();
        }
        let is_in_memory = self.blocks.as_ref().is_some_and(|blocks| blocks.is_in_memory());
        if let Err(error) = written
            && (!has_losses || is_in_memory)
        {
            log::error!("{}: {error}; the trace has no end", names::MANIFEST);
        }
        if !journal.is_needed() {
            // There is none if it could not be mapped.
            let _ = self.journal_place.lock().as_ref().map(JournalPlace::remove);
        }
        self.end_stream();
        if let Some(syncer) = &self.syncer
            && !syncer.end()
        {
            log::warn!("the disk is busy: a power failure now may cost the end of the trace");
        }
        if !journal.is_needed() {
            // Otherwise the program would hold its space on disk as long as it runs.
            journal.leave_file();
            if self.directory.settle_earlier(&end) {
                let text = self.directory.path().display().to_string();
                notify(Notice::NoCalls, &text);
                let unmatched = serde_json::to_string(&end.unmatched).unwrap_or_default();
                notify(Notice::Unmatched, &unmatched);
            }
        }
    }
}

/// Replaces the filter of a recording. Returns what that has changed, or why it has not.
type ChangeFilter = fn(&Agent, FilterSpec) -> Result<String, String>;

/// How it is replaced in the JVM.
static CHANGE_FILTER: OnceCell<ChangeFilter> = OnceCell::new();

/// Sets how the filter of a recording is replaced in the JVM.
pub fn change_filters_by(change: ChangeFilter) {
    let _ = CHANGE_FILTER.set(change);
}

impl Streamed for Agent {
    fn change_filter(&self, text: &str) -> Result<String, String> {
        let change = CHANGE_FILTER.get().ok_or("the JVM is starting; try again")?;
        let filter = parse_filter(text).map_err(|error| error.to_string())?;
        let changed = change(self, filter)?;
        let at_ns = self.recorder.elapsed_ns();
        self.filters.lock().push(FilterChange { at_ns, filter: text.to_owned() });
        Ok(changed)
    }

    fn flush(&self) {
        self.recorder.flush();
    }

    fn write_idle(&self) {
        self.recorder.write_open_chunks(OpenChunks::Idle);
    }

    fn release_if_ending(&self) -> bool {
        self.recorder.is_held() && is_jvm_ending() && self.recorder.set_held(false)
    }

    fn release(&self) -> bool {
        self.recorder.set_held(false)
    }

    fn control(&self, control: Command) {
        match control {
            Command::Suspend => self.recorder.set_paused(true),
            Command::Pause => {
                self.recorder.set_held(true);
            }
            Command::Resume => {
                self.recorder.set_held(false);
                self.recorder.set_paused(false);
            }
            Command::Flush => {
                self.recorder.flush();
                self.recorder.write_open_chunks(OpenChunks::All);
            }
            Command::Stop => self.recorder.stop_by_user("the collector has ended the recording"),
        }
    }
}
