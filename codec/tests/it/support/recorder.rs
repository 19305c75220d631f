//! A plain recorder that follows the specification of the journal. It may be killed between any two of its
//! stores.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flow_codec::ThreadId;
use flow_codec::format::flow::decode;
use flow_codec::format::names::{EventFormat, thread_file};
use flow_codec::format::{journal, jsonl, names};
use flow_codec::write::Canonicalizer;
use flow_model::{RawEvent, canonicalize, encode};

/// An action of a thread.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Record(RawEvent),
    HandOver,
    End,
}

/// The process was killed.
#[derive(Debug)]
pub(crate) struct Killed;

/// A recording process, or what it left.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) format: EventFormat,
    chunk_bytes: usize,
    pub(crate) journal: Vec<u8>,
    pub(crate) files: BTreeMap<u64, Vec<u8>>,
    threads: BTreeMap<u64, Thread>,
    /// Steps until it is killed.
    steps: usize,
    /// A directory that shows each step at once.
    live: Option<Live>,
}

/// A directory in which a recorder can be watched.
#[derive(Debug)]
struct Live {
    dir: PathBuf,
    journal: Vec<u8>,
}

impl Live {
    /// Writes the changes, in order.
    fn follow(&mut self, journal: &[u8], files: impl Iterator<Item = (String, Vec<u8>)>) {
        let append = |name: &str| {
            File::options().append(true).create(true).open(self.dir.join(name)).expect("a folder")
        };
        for (name, bytes) in files {
            let mut file = append(&name);
            let written = file.metadata().expect("a file").len();
            file.write_all(&bytes[usize::try_from(written).expect("small")..]).expect("room");
        }
        let mut file = append(names::JOURNAL);
        file.write_all(&vec![0; journal.len() - self.journal.len()]).expect("room");
        self.journal.resize(journal.len(), 0);
        let mut file =
            File::options().write(true).open(self.dir.join(names::JOURNAL)).expect("made");
        // A step changes adjacent bytes, with one store.
        let differs = |at: &usize| self.journal[*at] != journal[*at];
        let (first, last) = ((0..journal.len()).find(differs), (0..journal.len()).rfind(differs));
        if let (Some(first), Some(last)) = (first, last) {
            file.seek(SeekFrom::Start(first as u64)).expect("a file");
            file.write_all(&journal[first..=last]).expect("room");
            self.journal.copy_from_slice(journal);
        }
    }
}

#[derive(Default, Debug)]
struct Thread {
    /// The offset of its slot, and that of its next event.
    slot: Option<usize>,
    position: usize,
    fold: Canonicalizer,
    /// Everything that it recorded, and the event that it is recording.
    recorded: Vec<RawEvent>,
    recording: Option<RawEvent>,
    has_ended: bool,
}

impl Recorder {
    pub(crate) fn new(format: EventFormat, chunk_bytes: usize, steps: usize) -> Self {
        let (journal, files, threads) = Default::default();
        Self { format, chunk_bytes, journal, files, threads, steps, live: None }
    }

    /// Writes each step to `dir`.
    pub(crate) fn watched(mut self, dir: &Path) -> Self {
        self.live = Some(Live { dir: dir.to_path_buf(), journal: Vec::new() });
        self
    }

    /// Runs until it is killed. Returns the number of steps that were left.
    pub(crate) fn run(&mut self, actions: &[(u64, Action)]) -> Result<usize, Killed> {
        self.step()?;
        self.journal.resize(journal::HEADER_BYTES, 0);
        self.step()?;
        self.journal[..8].copy_from_slice(&journal::MAGIC);
        self.step()?;
        self.store(8, journal::VERSION)?;
        for (id, action) in actions {
            if self.threads.entry(*id).or_default().has_ended {
                continue;
            }
            match action {
                Action::Record(event) => self.record(*id, *event)?,
                Action::HandOver => self.hand_over(*id)?,
                Action::End => self.end(*id)?,
            }
        }
        Ok(self.steps)
    }

    fn step(&mut self) -> Result<(), Killed> {
        self.steps = self.steps.checked_sub(1).ok_or(Killed)?;
        if let Some(live) = &mut self.live {
            let name = |id| thread_file(ThreadId::new(id), self.format);
            let files = self.files.iter().map(|(id, bytes)| (name(*id), bytes.clone()));
            live.follow(&self.journal, files);
        }
        Ok(())
    }

    fn thread(&mut self, id: u64) -> &mut Thread {
        self.threads.get_mut(&id).expect("it was begun")
    }

    fn store(&mut self, at: usize, word: u64) -> Result<(), Killed> {
        self.journal[at..at + 8].copy_from_slice(&word.to_le_bytes());
        self.step()
    }

    fn load(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.journal[at..at + 8].try_into().expect("eight bytes"))
    }

    fn record(&mut self, id: u64, event: RawEvent) -> Result<(), Killed> {
        let bytes = event.bytes();
        if self.thread(id).slot.is_none() {
            self.open_slot(id)?;
        }
        let fits = |recorder: &mut Self| {
            let (slot, position) = (recorder.slot(id), recorder.thread(id).position);
            position + bytes.len() <= slot + usize::try_from(recorder.load(slot)).expect("small")
        };
        if !fits(self) {
            self.hand_over(id)?;
        }
        self.thread(id).recording = Some(event);
        for byte in bytes {
            let at = self.thread(id).position;
            self.journal[at] = !byte;
            self.thread(id).position += 1;
            self.step()?;
        }
        self.thread(id).recording = None;
        self.thread(id).recorded.push(event);
        Ok(())
    }

    fn slot(&mut self, id: u64) -> usize {
        self.thread(id).slot.expect("it has one")
    }

    /// Canonicalizes the chunk and writes it, in two parts: a process may be killed within a write.
    fn write_chunk(&mut self, id: u64, is_last: bool) -> Result<(), Killed> {
        let slot = self.slot(id);
        let start =
            slot + journal::chunk_start(usize::try_from(self.load(slot + 32)).expect("small"));
        let end = self.thread(id).position;
        let raw: Vec<u8> = self.journal[start..end].iter().map(|byte| !byte).collect();
        let mut folded = Vec::new();
        self.thread(id).fold.push(&raw, &mut folded);
        if is_last {
            self.thread(id).fold.finish(&mut folded);
        }
        let bytes = in_format(&folded, self.format);
        self.step()?;
        for part in [&bytes[..bytes.len() / 2], &bytes[bytes.len() / 2..]] {
            if !part.is_empty() {
                self.files.entry(id).or_default().extend(part);
            }
            self.step()?;
        }
        Ok(())
    }

    fn hand_over(&mut self, id: u64) -> Result<(), Killed> {
        if self.thread(id).slot.is_none() {
            return Ok(());
        }
        self.write_chunk(id, false)?;
        let first = self.slot(id);
        self.open_slot(id)?;
        self.store(first + 8, journal::closed(self.load(first + 8)))
    }

    fn end(&mut self, id: u64) -> Result<(), Killed> {
        self.thread(id).has_ended = true;
        if self.thread(id).slot.is_none() {
            return Ok(());
        }
        self.write_chunk(id, true)?;
        let slot = self.slot(id);
        self.store(slot + 8, journal::closed(self.load(slot + 8)))
    }

    /// Returns the first slot that is not open and large enough, or else a new one.
    fn free_slot(&mut self, bytes: usize) -> Result<usize, Killed> {
        let mut at = journal::HEADER_BYTES;
        while at < self.journal.len() {
            let size = usize::try_from(self.load(at)).expect("small");
            if size == 0 {
                break;
            }
            if !journal::is_open(self.load(at + 8)) && size >= bytes {
                return Ok(at);
            }
            at += size;
        }
        self.journal.resize(at + bytes, 0);
        self.step()?;
        self.store(at, bytes as u64)?;
        Ok(at)
    }

    fn open_slot(&mut self, id: u64) -> Result<(), Killed> {
        let state = self.thread(id).fold.state();
        let start = journal::chunk_start(state.len());
        let slot = self.free_slot((start + self.chunk_bytes).next_multiple_of(8))?;
        let size = usize::try_from(self.load(slot)).expect("small");
        self.journal[slot + 16..slot + size].fill(0);
        self.step()?;
        self.store(slot + 16, id)?;
        let offset = self.files.get(&id).map_or(0, Vec::len);
        self.store(slot + 24, offset as u64)?;
        self.store(slot + 32, state.len() as u64)?;
        self.journal[slot + 40..slot + 40 + state.len()].copy_from_slice(&state);
        self.step()?;
        let thread = self.thread(id);
        (thread.slot, thread.position) = (Some(slot), slot + start);
        self.store(slot + 8, journal::opened(self.load(slot + 8)))
    }

    /// Writes its files.
    pub(crate) fn save(&self, dir: &Path) {
        let manifest = format!(
            "{{\"format_version\":1,\"tool\":\"t\",\"engine\":\"e\",\"event_format\":\"{}\",\"options\":{{}},\
             \"pid\":1,\"host\":\"h\",\"command\":[],\
             \"jvm\":{{\"name\":\"\",\"version\":\"\",\"home\":\"\"}},\"start_unix_ns\":0}}",
            self.format.name()
        );
        fs::write(dir.join(names::MANIFEST), manifest).expect("a folder");
        fs::write(dir.join(names::JOURNAL), &self.journal).expect("a folder");
        for (id, bytes) in &self.files {
            fs::write(dir.join(thread_file(ThreadId::new(*id), self.format)), bytes)
                .expect("a folder");
        }
    }

    /// The events of each thread as if it had ended: without and with the event that was being recorded.
    pub(crate) fn expected(&self) -> BTreeMap<u64, [Vec<u8>; 2]> {
        let content = |events: &[RawEvent]| {
            let raw: Vec<u8> = events.iter().copied().flat_map(RawEvent::bytes).collect();
            encode(&canonicalize([&raw[..]]))
        };
        let of = |(id, thread): (&u64, &Thread)| {
            let mut with = thread.recorded.clone();
            with.extend(thread.recording);
            (*id, [content(&thread.recorded), content(&with)])
        };
        self.threads.iter().map(of).collect()
    }
}

fn in_format(mut folded: &[u8], format: EventFormat) -> Vec<u8> {
    if format == EventFormat::Binary {
        return folded.to_vec();
    }
    let mut lines = Vec::new();
    while let Ok((record, len)) = decode(folded) {
        jsonl::encode(record, &mut lines);
        folded = &folded[len..];
    }
    lines
}
