//! Starts a recording.

use std::fmt;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use flow_codec::format::container::StreamKind;
use flow_codec::format::manifest::{Jvm, Timing};
use flow_codec::format::names::{self, EventFormat};
use flow_codec::format::samples;
use flow_codec::write::{Compression, PIECE_BYTES};
use flow_codec::{ThreadId, TraceId};
use parking_lot::Mutex;

use super::current::{CURRENT, OF_EVENTS, STARTING, release_alone, wait_for_clean_up};
use super::manifest::{END_MANIFEST_BYTES, manifest, manifest_text, new_id};
use super::snapshot::Snapshots;
use super::{Agent, agent};
use crate::options::{Durability, EngineKind, OnError, Options, Overflow, Overload, Sampling};
use crate::recorder::{
    Config, IdTable, Journal, MethodTable, Recorder, SideBand, Stacks, StartIds, Timeout, TooSlow,
    WhenFull, sampler,
};
use crate::sink::{
    BlockFile, Budget, ContainerSink, FileSink, JournalFile, JournalPlace, LineFile, ManifestPlace,
    Streamer, Syncer, TraceDirectory, expand,
};
use crate::sys::allocator::{self, OutOfMemory};
use crate::sys::can_settle_stores;

/// Set by `flow record` for all JVMs of its command; see [`Manifest::session`](flow_codec::format::manifest::Manifest::session).
const SESSION: &str = "FLOW_SESSION";

/// When a recording starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// Before the JVM does.
    WithJvm,
    /// In a running JVM.
    Attached,
}

/// At least these bytes of a thread are joined.
const MIN_JOINED_BYTES: usize = 64 << 10;

/// Names of machines are looked up with this stack.
const STREAM_STACK_BYTES: usize = 1 << 20;

/// The size of a chunk if a kill loses it.
const UNSAFE_CHUNK_BYTES: usize = 4096;
/// With less room for the trace, chunks stay small: the journal of larger ones takes up to 64 MB of it.
const ROOM_AHEAD: u64 = 1 << 30;

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
    if agent.recorder.has_queue()
        && let Err(error) = agent.spawn(c"flow-writer", |agent| agent.recorder.run_writer())
    {
        agent.recorder.stop(&format!("cannot start the thread that writes chunks: {error}"));
    }
    if agent.recorder.encodes_ahead()
        && let Err(error) = agent.spawn(c"flow-encoder", |agent| agent.recorder.run_encoder())
    {
        log::warn!("no thread that encodes chunks ahead ({error}); the program does it");
    }
    if agent.syncer.is_some()
        && let Err(error) = agent.spawn(c"flow-sync", |agent| agent.run_syncer())
    {
        agent.recorder.stop(&format!("cannot start the thread for durability=system: {error}"));
    }
    if agent.streamer.is_some()
        && let Err(error) =
            agent.spawn_with_stack(c"flow-stream", STREAM_STACK_BYTES, Agent::run_streamer)
    {
        agent.recorder.stop(&format!("cannot start the thread that sends the trace: {error}"));
    }
    if options.snapshot_on.is_wanted()
        && let Err(error) = agent.spawn(c"flow-snapshot", Agent::run_snapshots)
    {
        log::warn!("cannot start the thread for snapshot-on: {error}; it has no effect");
    }
    if let Timing::Sampled { period } = options.clock
        && let Err(error) =
            agent.spawn(c"flow-sampler", move |agent| sampler::run(&agent.recorder, period))
    {
        log::warn!("no thread that samples times ({error}); the trace has few times");
    }
    Ok(Some(agent))
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Agent {
    fn new(options: &Options, when: Start, jvm: Jvm) -> Result<Self, StartError> {
        let start_ids = StartIds::read(&options.ids).map_err(|e| StartError(e.to_string()))?;
        let session = environment(SESSION);
        let out = expand(&options.out);
        let is_sent_only = options.streaming.as_ref().is_some_and(|streaming| streaming.is_only);
        let out = match is_sent_only {
            true => for_one_trace(Path::new(&out))
                .map_err(|error| StartError(format!("the place of the trace, {out}: {error}")))?,
            false => out.into(),
        };
        let directory = TraceDirectory::open_keeping(&out, session.as_deref(), options.earlier)
            .map_err(|e| StartError(e.to_string()))?;
        let begun = Self::in_directory(&directory, options, start_ids, session, when, jvm);
        begun.inspect_err(|_| {
            directory.give_up();
            if let Some(parent) = out.parent().filter(|_| is_sent_only) {
                let _ = std::fs::remove_dir(parent);
            }
        })
    }

    fn in_directory(
        directory: &TraceDirectory,
        options: &Options,
        start_ids: StartIds,
        session: Option<String>,
        when: Start,
        jvm: Jvm,
    ) -> Result<Self, StartError> {
        let (started, zero_ns) = (Instant::now(), crate::sys::clock::nano_time());
        let id = new_id();
        let budget = Budget::new(options.max_bytes)
            .leaving(options.min_free, directory.path())
            .map_err(|error| StartError(error.to_string()))?;
        // No smaller size is allowed. If it is reached, the final manifest is made to fit.
        let _ = budget.take(END_MANIFEST_BYTES);
        let mut journal_place = match &options.journal {
            None => JournalPlace::in_trace(directory),
            Some(path) => {
                JournalPlace::elsewhere(path).map_err(|error| no_journal(options, path, error))?
            }
        };
        // Before the manifest, which says where it is.
        // The file shrinks what the journal has, and the journal does not stay.
        let memory = options.journal.as_deref().filter(|_| options.in_memory);
        let in_memory = memory.map(|place| budget.clone().leaving(options.min_free, place));
        let in_memory = in_memory.transpose().map_err(|error| StartError(error.to_string()))?;
        let for_journal = match directory.is_container() {
            true => in_memory.as_ref().unwrap_or(&budget).without_max(),
            false => budget.clone(),
        };
        let journal_file = JournalFile::create_at(&mut journal_place, for_journal);
        let journal_file = match (journal_file, &options.journal) {
            // The user has chosen this place.
            (Err(error), Some(path)) => return Err(no_journal(options, path, error)),
            (file, _) => file.map_err(|error| error.to_string()),
        };
        let syncer = match options.durability {
            Durability::Process => None,
            Durability::System { period } => Some(Arc::new(Syncer::new(directory.clone(), period))),
        };
        // In a directory, only lines of threads are compressed, by these threads.
        let compression = match directory.is_container() {
            true => options.compression,
            false => Some(Compression::Zstd(1)),
        };
        let blocks = BlockFile::new(directory.clone(), budget.clone(), compression)
            .and_then(|blocks| blocks.in_parts(options.parts, compression, id))
            .map_err(|error| (names::SHARED, error))?;
        let blocks = match in_memory.zip(journal_place.memory()) {
            Some((budget, place)) => {
                blocks.in_memory(place, budget, id).map_err(|error| ("keep=memory", error))?
            }
            None => blocks,
        };
        let mut manifest = manifest(options, jvm, session, id);
        manifest.journal = journal_place.path();
        manifest.earlier = directory.earlier();
        let streamer = options.streaming.clone().map(|streaming| {
            let path = || directory.path().to_path_buf();
            manifest.spill = streaming.is_only.then(path);
            Arc::new(Streamer::new(directory.clone(), streaming, id, &manifest))
        });
        let blocks = Arc::new(blocks.synced_by(syncer.clone()).sent_by(streamer.clone()));
        let lines = |kind: StreamKind| -> Result<LineFile, StartError> {
            if directory.is_container() {
                return Ok(LineFile::in_blocks(Arc::clone(&blocks), kind));
            }
            let name = names::stream_file(kind, ThreadId::new(0));
            let file =
                directory.create(&name).map_err(|error| StartError(format!("{name}: {error}")))?;
            Ok(LineFile::new(file, &name, budget.clone()))
        };
        let stacks = match options.sampling {
            None => None,
            Some(Sampling { interval, clock, max_frames }) => {
                let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
                let sampling = samples::Sampling { clock, interval_ns };
                let file = lines(StreamKind::Samples)?;
                Some(Stacks::new(sampling, max_frames, zero_ns, file))
            }
        };
        let in_manifest = |error| (names::MANIFEST, error);
        let text = manifest_text(&manifest).map_err(in_manifest)?;
        let end = ManifestPlace::begin(directory, &blocks, &text, END_MANIFEST_BYTES)
            .map_err(in_manifest)?;
        let ids = IdTable::new(start_ids, lines(StreamKind::Ids)?, lines(StreamKind::Methods)?)
            .map_err(|e| StartError(e.to_string()))?;
        let journal =
            journal(journal_file, &journal_place, id).map_err(|error| (names::JOURNAL, error))?;
        let journal = journal.with_zero(zero_ns);
        let is_shared = journal.is_shared();
        let chunk_bytes = match is_shared {
            true => options.chunk_bytes,
            false => options.chunk_bytes.min(UNSAFE_CHUNK_BYTES),
        };
        let side_band = match (options.format, options.clock) {
            (EventFormat::Jsonl, _) => SideBand::None,
            (EventFormat::Binary, Timing::Off) => SideBand::Marks,
            (EventFormat::Binary, Timing::Sampled { .. }) => SideBand::SampledTimes,
            (EventFormat::Binary, Timing::Exact) => SideBand::ExactTimes,
        };
        let one_file = directory.is_container().then(|| Arc::clone(&blocks));
        let recorder = Recorder::new(
            MethodTable::new(options.filter.clone(), ids),
            lines(StreamKind::Threads)?,
            journal,
            match &one_file {
                Some(blocks) => Box::new(ContainerSink::new(Arc::clone(blocks))),
                None => Box::new(
                    FileSink::new(directory.clone(), options.format, budget, blocks)
                        .synced_by(syncer.clone()),
                ),
            },
            Config {
                chunk_bytes,
                side_band,
                order: options.order,
                has_stacks: stacks.is_some(),
                started,
            },
        );
        let recorder = match when {
            Start::WithJvm => recorder,
            Start::Attached => recorder.attached(),
        };
        let gathers = directory.is_container();
        let recorder = match options.overload {
            Overload::Wait if gathers => recorder.queueing(WhenFull::Wait),
            Overload::Wait => recorder,
            Overload::Drop => {
                let streaming = options.streaming.as_ref();
                let is_streamed = streaming.is_some_and(|to| to.overflow == Overflow::Drop);
                let too_slow = if is_streamed { TooSlow::Collector } else { TooSlow::Disk };
                recorder.queueing(WhenFull::Drop(too_slow))
            }
        };
        let has_cores = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        let is_usual = options.format == EventFormat::Binary && options.overload == Overload::Wait;
        let has_room = gathers || options.max_bytes.is_none_or(|most| most >= ROOM_AHEAD);
        let is_possible = is_shared && stacks.is_none() && can_settle_stores();
        let recorder = match is_usual && has_cores && has_room && is_possible {
            true => recorder.encoding_ahead(),
            false => recorder,
        };
        // Fewer, if a part would have no room for other threads.
        let part = usize::try_from(options.parts.part_bytes()).unwrap_or(usize::MAX);
        let joined = part.clamp(MIN_JOINED_BYTES, PIECE_BYTES);
        let recorder = if gathers { recorder.gathering(joined) } else { recorder };
        let recorder = if stacks.is_some() { recorder.with_samples() } else { recorder };
        let recorder = if options.starts_paused { recorder.paused() } else { recorder };
        // The ids of classes are those of an earlier recording, of which no thread adds any more.
        crate::sys::classes::clear();
        let filter = &options.filter;
        let shows_texts = !filter.may_redact("java.lang.String");
        let text = shows_texts.then_some(filter.max_value);
        crate::sys::classes::set_shown(filter.redact.is_empty(), text);
        let recorder = match crate::sys::shared_block() {
            Some(shared) => recorder.with_off_switch(shared.off_switch()),
            None => recorder,
        };
        Ok(Self {
            recorder,
            engine: options.engine,
            directory: directory.clone(),
            journal_place: Mutex::new(Some(journal_place.used())),
            syncer,
            streamer,
            blocks: one_file,
            snapshots: Snapshots::new(options.snapshot_on.clone()),
            stacks,
            filters: Mutex::default(),
            manifest: Mutex::new(Some((manifest, end))),
            abandoned: AtomicBool::new(false),
            unsubscribed: AtomicBool::new(false),
            cleaned_up: AtomicBool::new(false),
            api: options.api.clone(),
        })
    }
}

/// Creates a directory that is only for this trace and that nobody else can read. Returns the path of the file in it.
fn for_one_trace(out: &Path) -> std::io::Result<PathBuf> {
    let (directory, file) = (out.parent().unwrap_or(out), out.file_name().unwrap_or_default());
    for number in 1_u32.. {
        let directory = match number {
            1 => directory.to_path_buf(),
            _ => format!("{}-{number}", directory.display()).into(),
        };
        match DirBuilder::new().mode(0o700).create(&directory) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => return created.map(|()| directory.join(file)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

fn no_journal(options: &Options, path: &Path, error: impl fmt::Display) -> StartError {
    let path = path.display();
    StartError(match options.in_memory {
        true => format!("keep=memory: {path}: {error}; name another directory with journal=DIR"),
        false => format!("journal={path}: {error}"),
    })
}

/// The memory of chunks: in a file, if one can be mapped.
fn journal(
    file: Result<JournalFile, String>,
    place: &JournalPlace,
    id: TraceId,
) -> Result<Journal, String> {
    let in_file = file.and_then(|file| {
        Journal::in_file(file, Some(id)).inspect_err(|_| {
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
