//! A trace directory as the verbs see it: its traces, the threads that were asked for, and how the
//! reading of each went.

use std::io::Write;
use std::path::{Path, PathBuf};

use flow_codec::read::{
    Events, Filtered, ReadRecords, Selection, Tail, ThreadFile, Trace, TraceSet, Visit,
};
use flow_codec::tree::{Step, Walk};
use flow_codec::{Error, Offset, ThreadId};

use crate::args::{FilterArgs, Format, SourceArgs, ThreadArgs};
use crate::failure::{Failure, Status};
use crate::output::{Out, Progress, lost, message, plural};

/// The traces of a directory. More than one where several JVMs wrote into it.
#[derive(Debug)]
pub(crate) struct Source {
    /// The traces that could be opened, the directory's own first.
    pub(crate) traces: Vec<Trace>,
    /// What is wrong with them so far.
    pub(crate) status: Status,
    /// Whether the directory holds more than one.
    pub(crate) several: bool,
    dir: PathBuf,
}

impl Source {
    /// Opens all traces of a directory, and says of damaged ones what is wrong.
    pub(crate) fn open(args: &SourceArgs) -> Result<Self, Failure> {
        let (mut source, unreadable) = Self::open_silently(&args.dir)?;
        let damage = source.traces.iter().flat_map(|trace| &trace.damage);
        for error in unreadable.iter().map(|(_, error)| error).chain(damage) {
            source.status = Status::Damaged;
            message(&error.to_string());
        }
        let is_restless = |trace: &&Trace| trace.journal.is_some_and(|journal| journal.is_restless);
        for trace in source.traces.iter().filter(is_restless) {
            let dir = trace.dir.display();
            message(&format!("{dir}: changed while it was read; the newest calls may be missing"));
        }
        Ok(source)
    }

    /// The same, without a word: what cannot be opened comes back, other damage stands in the traces.
    pub(crate) fn open_silently(dir: &Path) -> Result<(Self, Vec<(PathBuf, Error)>), Failure> {
        let directories = TraceSet::directories(dir)?;
        let mut source = Self {
            traces: Vec::new(),
            status: Status::Done,
            dir: dir.to_path_buf(),
            several: directories.len() > 1,
        };
        let mut unreadable = Vec::new();
        for directory in directories {
            match Trace::open(&directory) {
                Ok(trace) => source.traces.push(trace),
                Err(error) if source.several => unreadable.push((directory, error)),
                Err(error) => return Err(error.into()),
            }
        }
        Ok((source, unreadable))
    }

    /// Keeps the threads that were asked for.
    pub(crate) fn choose(&mut self, threads: &ThreadArgs) -> Result<(), Failure> {
        if threads.patterns.is_empty() {
            return Ok(());
        }
        for pattern in &threads.patterns {
            let found = |trace: &Trace| trace.files.iter().any(|f| matches(trace, f.id, pattern));
            if !self.traces.iter().any(found) {
                return Err(Failure::Failed(format!(
                    "no thread '{pattern}' with events; there are: {}",
                    self.thread_names()
                )));
            }
        }
        for trace in &mut self.traces {
            let mut files = std::mem::take(&mut trace.files);
            files.retain(|file| threads.include(trace, file.id));
            trace.files = files;
        }
        Ok(())
    }

    fn thread_names(&self) -> String {
        const SHOWN: usize = 12;
        let files =
            self.traces.iter().flat_map(|trace| trace.files.iter().map(move |f| (trace, f)));
        let count = files.clone().count();
        let mut names: Vec<_> =
            files.take(SHOWN).map(|(trace, file)| thread_title(trace, file.id)).collect();
        if count > SHOWN {
            names.push(format!("… {} more (flow info lists them)", count - SHOWN));
        }
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }

    /// Says what was lost while recording: the results cannot show it.
    pub(crate) fn tell_losses(&self) {
        for trace in &self.traces {
            let Some(end) = trace.manifest.as_ref().and_then(|manifest| manifest.end.as_ref())
            else {
                continue;
            };
            if let Some(lost) = lost(&end.lost) {
                message(&format!("{}: lost while recording: {lost}", trace.dir.display()));
            }
        }
    }

    /// The size of all thread files.
    pub(crate) fn bytes(&self) -> u64 {
        let files = self.traces.iter().flat_map(|trace| &trace.files);
        files.fold(0, |sum: u64, file| sum.saturating_add(file.bytes))
    }

    /// A trace's directory relative to the one that was asked for: `.` or `jvm-…`.
    pub(crate) fn name(&self, trace_dir: &Path) -> String {
        match trace_dir.strip_prefix(&self.dir) {
            Ok(relative) if !relative.as_os_str().is_empty() => relative.display().to_string(),
            _ => ".".to_owned(),
        }
    }

    /// Begins a trace: where there are several, text names each.
    pub(crate) fn begin(
        &self,
        trace: &Trace,
        format: Format,
        out: &mut Out,
    ) -> Result<(), Failure> {
        if self.several && format == Format::Text {
            let first = self.traces.first().is_some_and(|first| first.dir == trace.dir);
            if !first {
                out.write_all(b"\n")?;
            }
            out.heading(&format!("trace {}", trace.dir.display()))?;
        }
        Ok(())
    }
}

/// `1 main`; the id alone where the name is empty or not known.
pub(crate) fn thread_title(trace: &Trace, id: ThreadId) -> String {
    match trace.threads.get(id) {
        Some(thread) if !thread.name.is_empty() => format!("{id} {}", thread.name),
        _ => id.to_string(),
    }
}

/// Whether a thread is the one meant: by its id, or by a name it has or had.
fn matches(trace: &Trace, id: ThreadId, pattern: &str) -> bool {
    pattern == id.to_string()
        || trace.threads.get(id).is_some_and(|thread| {
            let earlier = thread.earlier_names.iter();
            earlier.chain([&thread.name]).any(|name| is_like(name, pattern))
        })
}

/// Whether `*` in the pattern can stand for something that makes it the text.
pub(crate) fn is_like(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// How the reading of a thread file ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// At its end, after a whole record.
    Whole,
    /// At its end, inside a record that begins here.
    Truncated(Offset),
    /// Where the system refused to read on.
    Failed,
    /// Before its end: enough was seen.
    Stopped,
}

impl From<Tail> for Ending {
    fn from(tail: Tail) -> Self {
        match tail {
            Tail::Complete => Self::Whole,
            Tail::Truncated { offset } => Self::Truncated(offset),
        }
    }
}

/// Of more places of damage than this in a file, the others are counted.
const NAMED_DAMAGE: usize = 8;

/// What reading a thread file has come to.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) ending: Ending,
    /// What is wrong with it, from its beginning on. What stands between was read.
    pub(crate) damage: Vec<Error>,
    /// How many further places of damage there are.
    pub(crate) more_damage: u64,
}

impl Reading {
    pub(crate) fn new() -> Self {
        Self { ending: Ending::Whole, damage: Vec::new(), more_damage: 0 }
    }

    /// Nothing can be read of it.
    fn failed(error: Error) -> Self {
        Self { ending: Ending::Failed, damage: vec![error], more_damage: 0 }
    }

    /// Keeps what is wrong; answers whether there may be more to read.
    pub(crate) fn note(&mut self, error: Error) -> Flow {
        let flow = match error {
            Error::Io { .. } => {
                self.ending = Ending::Failed;
                Flow::Stop
            }
            _ => Flow::Continue,
        };
        if self.damage.len() < NAMED_DAMAGE || flow == Flow::Stop {
            self.damage.push(error);
        } else {
            self.more_damage += 1;
        }
        flow
    }

    /// Whether all of the file was read, damage or not.
    pub(crate) fn is_sound(&self) -> bool {
        self.damage.is_empty()
    }

    /// `… and 7 more places of damage`, if there are more than are named.
    pub(crate) fn more(&self) -> Option<String> {
        (self.more_damage > 0)
            .then(|| format!("… and {} of damage", plural(self.more_damage, "more place")))
    }

    /// Says what is wrong, if anything is.
    pub(crate) fn tell(&self, file: &ThreadFile, progress: &Progress) -> Status {
        for error in &self.damage {
            progress.message(&error.to_string());
        }
        let path = file.path.display();
        if let Some(more) = self.more() {
            progress.message(&format!("{path}: {more}"));
        }
        match self.ending {
            _ if !self.is_sound() => Status::Damaged,
            Ending::Truncated(offset) => {
                progress.message(&format!(
                    "{path}: ends inside a record at offset {offset}; everything before it was read",
                ));
                Status::Partial
            }
            Ending::Whole | Ending::Stopped | Ending::Failed => Status::Done,
        }
    }
}

/// Whether to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    Continue,
    Stop,
}

impl ThreadArgs {
    /// Whether a thread was asked for.
    pub(crate) fn include(&self, trace: &Trace, id: ThreadId) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|p| matches(trace, id, p))
    }
}

impl FilterArgs {
    /// The methods of a trace that are shown.
    pub(crate) fn selection(&self, trace: &Trace) -> Selection {
        Selection::new(&trace.methods, &self.include, &self.exclude)
    }
}

/// Hands on every record of a thread, but for calls that are not selected.
pub(crate) fn visit_thread(
    file: &ThreadFile,
    selection: &Selection,
    progress: &mut Progress,
    visitor: &mut impl Visit,
) -> Reading {
    if selection.is_all() {
        visit_all(file, progress, visitor)
    } else {
        visit_all(file, progress, &mut Filtered::new(visitor, selection))
    }
}

fn visit_all(file: &ThreadFile, progress: &mut Progress, visitor: &mut impl Visit) -> Reading {
    let mut events = match file.events() {
        Ok(events) => events,
        Err(error) => return Reading::failed(error),
    };
    let mut reading = Reading::new();
    loop {
        progress.at(events.position());
        match events.visit_some(visitor) {
            Ok(true) => {}
            Ok(false) => {
                reading.ending = events.tail().into();
                break;
            }
            Err(error) => {
                if reading.note(error) == Flow::Stop {
                    break;
                }
            }
        }
    }
    progress.file_done(file.bytes);
    reading
}

/// Hands every step of a thread to `each`, until it has seen enough. The walk comes back as it is
/// then, unless the file could not be opened.
pub(crate) fn walk_thread(
    file: &ThreadFile,
    progress: &mut Progress,
    mut each: impl FnMut(Step) -> Result<Flow, Failure>,
) -> Result<(Reading, Option<Walk<Events>>), Failure> {
    let mut walk = match file.events() {
        Ok(events) => Walk::new(events),
        Err(error) => return Ok((Reading::failed(error), None)),
    };
    let mut reading = Reading::new();
    loop {
        progress.step(|| walk.position());
        match walk.next_step() {
            Ok(Some(step)) => {
                if each(step)? == Flow::Stop {
                    reading.ending = Ending::Stopped;
                    break;
                }
            }
            Ok(None) => {
                reading.ending = walk.tail().into();
                break;
            }
            Err(error) => {
                if reading.note(error) == Flow::Stop {
                    break;
                }
            }
        }
    }
    progress.file_done(file.bytes);
    Ok((reading, Some(walk)))
}

/// The same for records as they stand, which come with their end.
pub(crate) fn read_records(
    file: &ThreadFile,
    progress: &mut Progress,
    mut each: impl FnMut(
        std::ops::Range<u64>,
        flow_codec::format::flow::Record,
    ) -> Result<Flow, Failure>,
) -> Result<Reading, Failure> {
    let mut events = match file.events() {
        Ok(events) => events,
        Err(error) => return Ok(Reading::failed(error)),
    };
    let mut reading = Reading::new();
    loop {
        progress.step(|| events.position());
        match events.next_record() {
            Ok(Some((offset, record))) => {
                if each(offset.get()..events.position().get(), record)? == Flow::Stop {
                    reading.ending = Ending::Stopped;
                    break;
                }
            }
            Ok(None) => {
                reading.ending = events.tail().into();
                break;
            }
            Err(error) => {
                if reading.note(error) == Flow::Stop {
                    break;
                }
            }
        }
    }
    progress.file_done(file.bytes);
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        for (text, pattern) in [
            ("main", "main"),
            ("main", "*"),
            ("pool-1-thread-7", "pool-*-thread-*"),
            ("ab", "a*b"),
            ("aXbXb", "a*b"),
            ("x", "**x**"),
            ("", ""),
        ] {
            assert!(is_like(text, pattern), "{text} {pattern}");
        }
        for (text, pattern) in
            [("main", "mai"), ("main", "*x"), ("ab", "ab*b"), ("aba", "ab*ba"), ("x", "")]
        {
            assert!(!is_like(text, pattern), "{text} {pattern}");
        }
    }
}
