//! Opens what a recording needs: its directory, its files, its journal, its recorder.

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

use super::Agent;
use super::manifest::{END_MANIFEST_BYTES, manifest, manifest_text, new_id};
use super::snapshot::Snapshots;
use crate::options::{Durability, Options, Overflow, Overload, Sampling};
use crate::recorder::{
    Config, IdTable, Journal, MethodTable, Recorder, SideBand, Stacks, StartIds, TooSlow, WhenFull,
};
use crate::sink::{
    BlockFile, Budget, ContainerSink, FileSink, JournalFile, JournalPlace, LineFile, ManifestPlace,
    MemoryFile, Streamer, Syncer, TraceDirectory, expand,
};
use crate::sys::can_settle_stores;

/// Set by `flow record` for all JVMs of its command; see [`Manifest::session`](flow_codec::format::manifest::Manifest::session).
const SESSION: &str = "FLOW_SESSION";

/// At least these bytes of a thread are joined.
const MIN_JOINED_BYTES: usize = 64 << 10;

/// The size of a chunk if a kill loses it.
const UNSAFE_CHUNK_BYTES: usize = 4096;
/// With less room for the trace, chunks stay small: the journal of larger ones takes up to 64 MB of it.
const ROOM_AHEAD: u64 = 1 << 30;

/// When a recording starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// Before the JVM does.
    WithJvm,
    /// In a running JVM.
    Attached,
}

/// The recording cannot start.
#[derive(Debug)]
pub struct StartError(pub(super) String);

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

/// Looks up a variable of the environment.
pub(super) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Agent {
    /// Opens everything that a recording needs.
    pub(super) fn open(options: &Options, when: Start, jvm: Jvm) -> Result<Self, StartError> {
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
        let begun = Self::open_in(&directory, options, start_ids, session, when, jvm);
        begun.inspect_err(|_| {
            directory.give_up();
            if let Some(parent) = out.parent().filter(|_| is_sent_only) {
                let _ = std::fs::remove_dir(parent);
            }
        })
    }

    fn open_in(
        directory: &TraceDirectory,
        options: &Options,
        start_ids: StartIds,
        session: Option<String>,
        when: Start,
        jvm: Jvm,
    ) -> Result<Self, StartError> {
        let (started, zero_ns) = (Instant::now(), crate::sys::clock::nano_time());
        let id = new_id();
        let budget = budget(directory, options)?;
        // Before the manifest, which says where it is.
        let JournalOpened { place: journal_place, file: journal_file, in_memory } =
            JournalOpened::new(directory, options, &budget)?;
        let syncer = syncer(directory, options.durability).map(Arc::new);
        let memory = in_memory.zip(journal_place.memory());
        let blocks = block_file(directory, options, budget.clone(), memory, id)?;
        let mut manifest = manifest(options, jvm, session, id);
        manifest.journal = journal_place.path();
        manifest.earlier = directory.earlier();
        let streamer = options.streaming.clone().map(|streaming| {
            let path = || directory.path().to_path_buf();
            manifest.spill = streaming.is_only.then(path);
            Arc::new(Streamer::new(directory.clone(), streaming, id, &manifest))
        });
        let blocks = Arc::new(blocks.synced_by(syncer.clone()).sent_by(streamer.clone()));
        let lines = |kind| line_file(directory, &blocks, &budget, kind);
        let stacks = options.sampling.as_ref();
        let stacks = stacks.map(|sampling| stacks_of(sampling, zero_ns, lines)).transpose()?;
        let in_manifest = |error| (names::MANIFEST, error);
        let text = manifest_text(&manifest).map_err(in_manifest)?;
        let end = ManifestPlace::begin(directory, &blocks, &text, END_MANIFEST_BYTES)
            .map_err(in_manifest)?;
        let ids = IdTable::new(start_ids, lines(StreamKind::Ids)?, lines(StreamKind::Methods)?)
            .map_err(|e| StartError(e.to_string()))?;
        let journal =
            journal(journal_file, &journal_place, id).map_err(|error| (names::JOURNAL, error))?;
        let journal = journal.with_zero(zero_ns);
        let config = config(options, journal.is_shared(), stacks.is_some(), started);
        let is_ahead = encodes_ahead(options, directory.is_container(), &journal, stacks.is_some());
        let one_file = directory.is_container().then(|| Arc::clone(&blocks));
        let files = || {
            FileSink::new(directory.clone(), options.format, budget.clone(), Arc::clone(&blocks))
        };
        let recorder = Recorder::new(
            MethodTable::new(options.filter.clone(), ids),
            lines(StreamKind::Threads)?,
            journal,
            match one_file.clone() {
                Some(blocks) => Box::new(ContainerSink::new(blocks)),
                None => Box::new(files().synced_by(syncer.clone())),
            },
            config,
        );
        let recorder = as_requested(recorder, options, directory.is_container(), is_ahead);
        let recorder = match when {
            Start::WithJvm => recorder,
            Start::Attached => recorder.attached(),
        };
        let recorder = if stacks.is_some() { recorder.with_samples() } else { recorder };
        let recorder = with_probes(recorder, options);
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

/// Returns what the trace may take, except for its end.
fn budget(directory: &TraceDirectory, options: &Options) -> Result<Budget, StartError> {
    let budget = Budget::new(options.max_bytes)
        .leaving(options.min_free, directory.path())
        .map_err(|error| StartError(error.to_string()))?;
    // No smaller size is allowed. If it is reached, the final manifest is made to fit.
    let _ = budget.take(END_MANIFEST_BYTES);
    Ok(budget)
}

/// The file of the journal, and where it is.
struct JournalOpened {
    place: JournalPlace,
    /// The file, or why there is none.
    file: Result<JournalFile, String>,
    /// How much the trace may take in memory, if it stays there.
    in_memory: Option<Budget>,
}

impl JournalOpened {
    fn new(
        directory: &TraceDirectory,
        options: &Options,
        budget: &Budget,
    ) -> Result<Self, StartError> {
        let mut place = match &options.journal {
            None => JournalPlace::in_trace(directory),
            Some(path) => {
                JournalPlace::elsewhere(path).map_err(|error| no_journal(options, path, error))?
            }
        };
        // The file shrinks what the journal has, and the journal does not stay.
        let memory = options.journal.as_deref().filter(|_| options.in_memory);
        let in_memory = memory.map(|place| budget.clone().leaving(options.min_free, place));
        let in_memory = in_memory.transpose().map_err(|error| StartError(error.to_string()))?;
        let for_journal = match directory.is_container() {
            true => in_memory.as_ref().unwrap_or(budget).without_max(),
            false => budget.clone(),
        };
        let file = match (JournalFile::create_at(&mut place, for_journal), &options.journal) {
            // The user has chosen this place.
            (Err(error), Some(path)) => return Err(no_journal(options, path, error)),
            (file, _) => file.map_err(|error| error.to_string()),
        };
        Ok(Self { place, file, in_memory })
    }
}

/// What forces the trace to disk, if that is wanted.
fn syncer(directory: &TraceDirectory, durability: Durability) -> Option<Syncer> {
    match durability {
        Durability::Process => None,
        Durability::System { period } => Some(Syncer::new(directory.clone(), period)),
    }
}

/// Opens the file of blocks: the one of the trace, or that of threads that share a file.
fn block_file(
    directory: &TraceDirectory,
    options: &Options,
    budget: Budget,
    memory: Option<(Budget, MemoryFile)>,
    id: TraceId,
) -> Result<BlockFile, StartError> {
    // In a directory, only lines of threads are compressed, by these threads.
    let compression = match directory.is_container() {
        true => options.compression,
        false => Some(Compression::Zstd(1)),
    };
    let blocks = BlockFile::new(directory.clone(), budget, compression)
        .and_then(|blocks| blocks.in_parts(options.parts, compression, id))
        .map_err(|error| (names::SHARED, error))?;
    match memory {
        Some((budget, place)) => {
            Ok(blocks.in_memory(place, budget, id).map_err(|error| ("keep=memory", error))?)
        }
        None => Ok(blocks),
    }
}

/// Opens what lines of a kind are appended to.
fn line_file(
    directory: &TraceDirectory,
    blocks: &Arc<BlockFile>,
    budget: &Budget,
    kind: StreamKind,
) -> Result<LineFile, StartError> {
    if directory.is_container() {
        return Ok(LineFile::in_blocks(Arc::clone(blocks), kind));
    }
    let name = names::stream_file(kind, ThreadId::new(0));
    let file = directory.create(&name).map_err(|error| StartError(format!("{name}: {error}")))?;
    Ok(LineFile::new(file, &name, budget.clone()))
}

fn stacks_of(
    sampling: &Sampling,
    zero_ns: u64,
    lines: impl Fn(StreamKind) -> Result<LineFile, StartError>,
) -> Result<Stacks, StartError> {
    let Sampling { interval, clock, max_frames } = *sampling;
    let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
    let sampling = samples::Sampling { clock, interval_ns };
    Ok(Stacks::new(sampling, max_frames, zero_ns, lines(StreamKind::Samples)?))
}

fn config(options: &Options, is_shared: bool, has_stacks: bool, started: Instant) -> Config {
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
    Config { chunk_bytes, side_band, order: options.order, has_stacks, started }
}

/// Returns whether a thread of the agent encodes chunks before they are full: where that is possible, and a core and the disk
/// have room for it.
fn encodes_ahead(
    options: &Options,
    is_container: bool,
    journal: &Journal,
    has_stacks: bool,
) -> bool {
    let has_cores = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
    let is_usual = options.format == EventFormat::Binary && options.overload == Overload::Wait;
    let has_room = is_container || options.max_bytes.is_none_or(|most| most >= ROOM_AHEAD);
    let is_possible = journal.is_shared() && !has_stacks && can_settle_stores();
    is_usual && has_cores && has_room && is_possible
}

/// Sets up how chunks are handed over, and whether recording begins.
fn as_requested(
    recorder: Recorder,
    options: &Options,
    is_container: bool,
    is_ahead: bool,
) -> Recorder {
    let recorder = match options.overload {
        Overload::Wait if is_container => recorder.queueing(WhenFull::Wait),
        Overload::Wait => recorder,
        Overload::Drop => {
            let streaming = options.streaming.as_ref();
            let is_streamed = streaming.is_some_and(|to| to.overflow == Overflow::Drop);
            let too_slow = if is_streamed { TooSlow::Collector } else { TooSlow::Disk };
            recorder.queueing(WhenFull::Drop(too_slow))
        }
    };
    let recorder = if is_ahead { recorder.encoding_ahead() } else { recorder };
    // Fewer, if a part would have no room for other threads.
    let part = usize::try_from(options.parts.part_bytes()).unwrap_or(usize::MAX);
    let joined = part.clamp(MIN_JOINED_BYTES, PIECE_BYTES);
    let recorder = if is_container { recorder.gathering(joined) } else { recorder };
    if options.starts_paused { recorder.paused() } else { recorder }
}

/// Prepares the memory that probes use.
fn with_probes(recorder: Recorder, options: &Options) -> Recorder {
    // The ids of classes are those of an earlier recording, of which no thread adds any more.
    crate::sys::classes::clear();
    let filter = &options.filter;
    let shows_texts = !filter.may_redact("java.lang.String");
    let text = shows_texts.then_some(filter.max_text());
    let shows_objects = filter.redact.is_empty() && filter.values_depth == 0;
    crate::sys::classes::set_shown(shows_objects, text);
    match crate::sys::shared_block() {
        Some(shared) => recorder.with_off_switch(shared.off_switch()),
        None => recorder,
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
