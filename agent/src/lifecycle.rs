//! Start and end of the recording; owns the one [`Recorder`] of the process.
//!
//! ```text
//!             Agent_OnLoad            VMStart                VMDeath
//!   nothing ──────────────▶ loaded ───────────▶ recording ───────────▶ ended
//!      │  bad options,        │                     │ write error,        ▲
//!      │  directory           │                     │ panic of ours       │
//!      └─▶ JVM does not start └─────────────────────┴─────────────────────┘
//!
//!             Agent_OnAttach                            Agent_OnAttach
//!   nothing ─────────────────────────────▶ recording ──────────────────▶ ended ─▶ released: nothing
//! ```
//!
//! - Every callback first checks [`Recorder::is_on`] and returns if the recording has ended: the JVM still
//!   delivers some events after VMDeath.
//! - After a detach the recording is [released](release): its files, its lock and its memory are freed when
//!   the last thread that is still in it leaves it. Each callback, and each thread of the agent, holds a
//!   reference.
//! - VMDeath switches recording off, writes every live thread's open chunk without waiting for the thread,
//!   and replaces the manifest. What the thread records after that goes into a chunk that is no longer read,
//!   until its next entry finds that recording is off and parks it.
//! - A fault of ours ends the recording, never the JVM, and is reported once.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use flow_codec::format::manifest::{
    self, AskedLoader, End, Jvm, Manifest, Timing, VERSION, boot_id,
};
use flow_codec::format::names::{self, EventFormat};
use once_cell::sync::OnceCell;
use parking_lot::Mutex;

use crate::options::{CommandLine, Durability, EngineKind, OnError, Options, Overload};
use crate::recorder::{
    Config, IdTable, Journal, MethodTable, Recorder, SideBand, StartIds, Timeout, sampler,
};
use crate::sink::{
    Budget, FileSink, JournalFile, JournalPlace, LineFile, Replacement, Syncer, TraceDirectory,
    expand, host,
};
use crate::sys::Shared;
use crate::sys::allocator::{self, OutOfMemory};

/// The recording of this process, until it is [released](release).
static CURRENT: Shared<Agent> = Shared::empty();

/// The recording with `engine=events`, if there has been one: it can only start with the JVM. It is never
/// freed, so its callbacks, one for each event, find it without counting references.
static OF_EVENTS: OnceCell<Arc<Agent>> = OnceCell::new();

/// Held while a recording starts, and while one is released.
static STARTING: Mutex<()> = Mutex::new(());

/// How long the end of a recording waits for threads that are still in it. After that, the last of them frees
/// it.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a second caller waits for the first one to complete the manifest.
const FINISH_TIMEOUT: Duration = Duration::from_secs(2);

/// Set by `flow record` for all JVMs of its command; see [`Manifest::session`].
const SESSION: &str = "FLOW_SESSION";

/// The recording of this process.
#[derive(Debug)]
pub struct Agent {
    recorder: Recorder,
    engine: EngineKind,
    directory: TraceDirectory,
    journal_place: Mutex<Option<JournalPlace>>,
    syncer: Option<Arc<Syncer>>,
    /// Taken by the caller that ends the recording, with the file reserved for it.
    manifest: Mutex<Option<(Manifest, Replacement)>>,
    abandoned: AtomicBool,
    unsubscribed: AtomicBool,
    cleaned_up: AtomicBool,
    /// The jar for JVMs that run tests.
    api: Option<PathBuf>,
}

/// When a recording starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// Before the JVM does.
    WithJvm,
    /// In a running JVM.
    Attached,
}

/// The size reserved on disk for the final manifest, which is needed most when the disk is full.
const END_MANIFEST_BYTES: usize = 16 * 1024;

/// The size of a chunk if a kill loses it.
const UNSAFE_CHUNK_BYTES: usize = 4096;

/// The recording cannot start.
#[derive(Debug)]
pub struct StartError(String);

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StartError {}

impl<E: fmt::Display> From<(&'static str, E)> for StartError {
    fn from((what, error): (&'static str, E)) -> Self {
        Self(format!("{what}: {error}"))
    }
}

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
fn wait_for_clean_up() {
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
fn release_alone(agent: Arc<Agent>) {
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

/// Returns what a failure to start means for the JVM.
#[must_use]
pub fn on_error(option_text: &str) -> OnError {
    Options::on_error(option_text, environment)
}

/// Starts a recording: parses options, prepares the JVM, takes the trace directory, writes the manifest.
/// Returns `None` if the options exclude a JVM that runs `command`: one that is started this way, not one
/// that is attached to.
///
/// # Errors
/// A recording is running already, an option is wrong, the JVM cannot be prepared, or the directory or a file
/// that it names cannot be used.
pub fn start(
    option_text: &str,
    when: Start,
    command: Option<&str>,
    prepare: impl FnOnce(&Options) -> Result<Jvm, String>,
) -> Result<Option<Arc<Agent>>, StartError> {
    wait_for_clean_up();
    let _one_at_a_time = STARTING.lock();
    if let Some(earlier) = agent() {
        if earlier.recorder.is_on() {
            let path = earlier.directory.path().display();
            return Err(StartError(format!("this process is already being recorded, into {path}")));
        }
        // A fault has ended it.
        earlier.finish(Timeout::Long);
        release_alone(earlier);
    }
    let options =
        Options::parse(option_text, environment).map_err(|e| StartError(e.to_string()))?;
    if when == Start::Attached && options.engine == EngineKind::Events {
        let why = "engine=events cannot record a running JVM, because method events must be requested when \
                   it starts; use engine=instrument, or start the JVM with -agentpath";
        return Err(StartError(why.to_owned()));
    }
    crate::logging::init(options.log);
    if when == Start::WithJvm && !options.mains.select(command) {
        // The main class; arguments may hold secrets.
        let main = command.unwrap_or_default().split(' ').next().unwrap_or_default();
        log::info!("not recorded (only-main): {main}");
        return Ok(None);
    }
    let no_memory = |error: OutOfMemory| StartError(error.to_string());
    allocator::start().map_err(no_memory)?;
    let jvm = prepare(&options).map_err(StartError)?;
    let agent = Arc::new(Agent::new(&options, when, jvm)?);
    if allocator::is_short() {
        return Err(no_memory(OutOfMemory));
    }
    log::info!("recording into {}", agent.directory.path().display());
    if agent.engine == EngineKind::Events {
        let _ = OF_EVENTS.set(Arc::clone(&agent));
    }
    CURRENT.put(Arc::clone(&agent));
    if options.overload == Overload::Drop
        && let Err(error) = agent.spawn("flow-writer", |agent| agent.recorder.run_writer())
    {
        agent.recorder.stop(&format!("cannot start the thread that writes chunks: {error}"));
    }
    if agent.syncer.is_some()
        && let Err(error) = agent.spawn("flow-sync", |agent| agent.run_syncer())
    {
        agent.recorder.stop(&format!("cannot start the thread for durability=system: {error}"));
    }
    if let Timing::Sampled { period } = options.clock
        && let Err(error) =
            agent.spawn("flow-sampler", move |agent| sampler::run(&agent.recorder, period))
    {
        log::warn!("cannot start the thread that samples times: {error}; the trace has few times");
    }
    Ok(Some(agent))
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Agent {
    fn new(options: &Options, when: Start, jvm: Jvm) -> Result<Self, StartError> {
        let (started, zero_ns) = (Instant::now(), crate::sys::clock::nano_time());
        let start_ids = StartIds::read(&options.ids).map_err(|e| StartError(e.to_string()))?;
        let session = environment(SESSION);
        let directory = TraceDirectory::open(Path::new(&expand(&options.out)), session.as_deref())
            .map_err(|e| StartError(e.to_string()))?;
        let budget = Budget::new(options.max_bytes);
        // No smaller size is allowed. If it is reached, the final manifest is made to fit.
        let _ = budget.take(END_MANIFEST_BYTES);
        let line_file = |name: &'static str| -> Result<LineFile, StartError> {
            let file = directory.create(name).map_err(|error| (name, error))?;
            Ok(LineFile::new(file, name, budget.clone()))
        };
        let mut journal_place = match &options.journal {
            None => JournalPlace::in_trace(&directory),
            Some(path) => JournalPlace::elsewhere(path).map_err(|error| no_journal(path, error))?,
        };
        // Before the manifest, which says where it is.
        let journal_file = JournalFile::create_at(&mut journal_place, budget.clone());
        let journal_file = match (journal_file, &options.journal) {
            // The user has chosen this place.
            (Err(error), Some(path)) => return Err(no_journal(path, error)),
            (file, _) => file.map_err(|error| error.to_string()),
        };
        let syncer = match options.durability {
            Durability::Process => None,
            Durability::System { period } => Some(Arc::new(Syncer::new(directory.clone(), period))),
        };
        let mut manifest = manifest(options, jvm, session);
        manifest.journal = journal_place.path();
        let in_manifest = |error| (names::MANIFEST, error);
        directory
            .replace(names::MANIFEST, &manifest_text(&manifest).map_err(in_manifest)?)
            .map_err(in_manifest)?;
        let end =
            directory.reserve(names::MANIFEST, END_MANIFEST_BYTES as u64).map_err(in_manifest)?;
        let ids = IdTable::new(start_ids, line_file(names::IDS)?, line_file(names::METHODS)?)
            .map_err(|e| StartError(e.to_string()))?;
        let journal =
            journal(journal_file, &journal_place).map_err(|error| (names::JOURNAL, error))?;
        let journal = journal.with_zero(zero_ns);
        let chunk_bytes = match journal.is_shared() {
            true => options.chunk_bytes,
            false => options.chunk_bytes.min(UNSAFE_CHUNK_BYTES),
        };
        let side_band = match (options.format, options.clock) {
            (EventFormat::Jsonl, _) => SideBand::None,
            (EventFormat::Binary, Timing::Off) => SideBand::Marks,
            (EventFormat::Binary, Timing::Sampled { .. }) => SideBand::SampledTimes,
            (EventFormat::Binary, Timing::Exact) => SideBand::ExactTimes,
        };
        let recorder = Recorder::new(
            MethodTable::new(options.filter.clone(), ids),
            line_file(names::THREADS)?,
            journal,
            Box::new(
                FileSink::new(directory.clone(), options.format, budget).synced_by(syncer.clone()),
            ),
            Config { chunk_bytes, side_band, started },
        );
        let recorder = match when {
            Start::WithJvm => recorder,
            Start::Attached => recorder.attached(),
        };
        let recorder = match options.overload {
            Overload::Wait => recorder,
            Overload::Drop => recorder.dropping(),
        };
        let recorder = if options.starts_paused { recorder.paused() } else { recorder };
        let recorder = match crate::sys::shared_block() {
            Some(shared) => recorder.with_off_switch(shared.off_switch()),
            None => recorder,
        };
        Ok(Self {
            recorder,
            engine: options.engine,
            directory,
            journal_place: Mutex::new(Some(journal_place.used())),
            syncer,
            manifest: Mutex::new(Some((manifest, end))),
            abandoned: AtomicBool::new(false),
            unsubscribed: AtomicBool::new(false),
            cleaned_up: AtomicBool::new(false),
            api: options.api.clone(),
        })
    }

    /// Closes all files and releases the directory, for a recording that is never freed. Its memory stays.
    fn close(&self) {
        self.recorder.close();
        self.directory.close();
        self.journal_place.lock().take();
    }

    /// Starts a thread of the agent, which holds a reference until it ends.
    fn spawn(
        self: &Arc<Self>,
        name: &str,
        body: impl FnOnce(&Self) + Send + 'static,
    ) -> std::io::Result<()> {
        let agent = Arc::clone(self);
        crate::sys::spawn(name, move || body(&agent))
    }

    /// Forces the trace to disk again and again, until the recording has ended.
    fn run_syncer(&self) {
        let recorder = &self.recorder;
        if let Some(syncer) = &self.syncer {
            syncer.run(
                |put| recorder.journal().copy_open_slots(put),
                |error| recorder.note_loss(&format!("durability=system: {error}")),
            );
        }
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
        if self.is_abandoned() {
            return;
        }
        // Held to the end: the JVM must not end before the manifest is complete.
        let Some(mut held) = self.manifest.try_lock_for(FINISH_TIMEOUT) else { return };
        let Some((mut manifest, place)) = held.take() else { return };
        let end = self.recorder.finish(timeout);
        log::info!(
            "recorded {} calls in {} threads into {}",
            end.totals.enters,
            end.totals.threads,
            self.directory.path().display()
        );
        manifest.end = Some(end);
        let has_losses = self.recorder.has_losses();
        if has_losses {
            shorten(&mut manifest);
        }
        // The disk must have a trace's end before the name of that file.
        let written = manifest_text(&manifest).and_then(|text| match self.syncer {
            Some(_) => place.finish_synced(&text),
            None => place.finish(&text),
        });
        if let Err(error) = written
            && !has_losses
        {
            log::error!("{}: {error}; the trace has no end", names::MANIFEST);
        }
        let journal = self.recorder.journal();
        if !journal.is_needed() {
            // There is none if it could not be mapped.
            let _ = self.journal_place.lock().as_ref().map(JournalPlace::remove);
        }
        if let Some(syncer) = &self.syncer
            && !syncer.end()
        {
            log::warn!("the disk is busy: a power failure now may cost the end of the trace");
        }
        if !journal.is_needed() {
            // Otherwise the program would hold its space on disk as long as it runs.
            journal.leave_file();
        }
    }
}

fn no_journal(path: &Path, error: impl fmt::Display) -> StartError {
    StartError(format!("journal={}: {error}", path.display()))
}

/// The memory of chunks: in a file, if one can be mapped.
fn journal(file: Result<JournalFile, String>, place: &JournalPlace) -> Result<Journal, String> {
    let in_file = file.and_then(|file| {
        Journal::in_file(file).inspect_err(|_| {
            let _ = place.remove();
        })
    });
    in_file.or_else(|why| {
        log::warn!(
            "no journal ({why}); a kill may lose the last {UNSAFE_CHUNK_BYTES} bytes of each thread"
        );
        Journal::private()
    })
}

/// Makes the manifest fit into the reserved file: there may be no other space. Counts stay.
fn shorten(manifest: &mut Manifest) {
    let Some(end) = &mut manifest.end else { return };
    let too_long =
        |end: &End| serde_json::to_vec(end).map_or(0, |text| text.len()) > END_MANIFEST_BYTES / 2;
    if too_long(end) {
        end.not_recorded.iter_mut().for_each(|entry| entry.methods.clear());
        let requests = end.asked_loaders.iter().map(|asked| asked.requests).sum();
        end.asked_loaders.truncate(1);
        end.asked_loaders
            .iter_mut()
            .for_each(|asked| *asked = AskedLoader { class: "*".to_owned(), requests });
    }
}

fn manifest(options: &Options, jvm: Jvm, session: Option<String>) -> Manifest {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Manifest {
        format_version: VERSION,
        tool: format!("flow-agent {}", env!("CARGO_PKG_VERSION")),
        engine: options.engine.name().to_owned(),
        event_format: options.format.name().to_owned(),
        timing: options.clock,
        options: options.set.clone().into_iter().collect::<BTreeMap<_, _>>(),
        pid: std::process::id(),
        host: host(),
        command: match options.command {
            CommandLine::Full => command_line(),
            CommandLine::Masked => crate::secrets::mask_all(&command_line()),
            CommandLine::None => Vec::new(),
        },
        jvm,
        session,
        journal: None,
        durability: match options.durability {
            Durability::Process => None,
            Durability::System { period } => {
                Some(manifest::Durability { period, boot: boot_id().unwrap_or_default() })
            }
        },
        start_unix_ns: u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX),
        end: None,
    }
}

/// The command line of this process, if the system knows it.
fn command_line() -> Vec<String> {
    let Ok(bytes) = std::fs::read("/proc/self/cmdline") else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&bytes);
    text.split_terminator('\0').map(str::to_owned).collect()
}

fn manifest_text(manifest: &Manifest) -> std::io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(manifest)?;
    text.push(b'\n');
    Ok(text)
}
