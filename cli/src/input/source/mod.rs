//! The traces of a directory, or of a file and those beside it, and their selected threads.

pub(crate) mod answer;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use flow_codec::format::container::StreamKind;
use flow_codec::format::names;
use flow_codec::read::{OpenFrames, Selection, ThreadFile, Trace, TraceSet};
use flow_codec::{Error, Glob, Name, ThreadId};

use super::empty_run;
use super::flags::{FilterArgs, PartArgs, SourceArgs, ThreadArgs};
use super::lock;
use super::logs;
use super::own;
use super::pattern::{check, globs};
use super::sources;
use super::state::is_received;
use super::stdin::{self, STDIN, is_stdin};
use crate::failure::{Failure, Status};
use crate::output::{Format, Out, escaped, flow_command, lost, message, plural, shell_quoted};
use flow_query::reading::bytes_read;

/// The traces of one run. More than one if several JVMs were recorded.
#[derive(Debug)]
pub(crate) struct Source {
    /// The traces that could be opened, the directory's own first.
    pub(crate) traces: Vec<Trace>,
    /// The worst of what was reported so far.
    pub(crate) status: Status,
    /// Whether the directory has more than one trace, readable or not.
    pub(crate) several: bool,
    /// For the directory of a trace, what is missing from its files.
    pub(crate) missing: BTreeMap<PathBuf, String>,
    dir: PathBuf,
}

/// Whether methods have the names of the class files.
static RAW_NAMES: AtomicBool = AtomicBool::new(false);

/// Lets methods have the names of the class files, in all traces that are opened from now on.
pub(crate) fn show_raw_names() {
    RAW_NAMES.store(true, Ordering::Relaxed);
}

/// Whether they are shown like this.
pub(crate) fn has_raw_names() -> bool {
    RAW_NAMES.load(Ordering::Relaxed)
}

fn named(mut trace: Trace) -> Trace {
    if has_raw_names() {
        trace.methods.show_raw_names();
    }
    trace
}

impl Source {
    /// Opens all traces of a directory, and reports what is wrong with damaged ones.
    pub(crate) fn open(args: &SourceArgs) -> Result<Self, Failure> {
        Self::open_in(&args.dir)
    }

    /// The same for two directories at the same time.
    pub(crate) fn open_two(dirs: [&Path; 2]) -> Result<[Self; 2], Failure> {
        let [before, after] = dirs;
        if dirs.into_iter().any(is_stdin) {
            return Ok([Self::open_in(before)?, Self::open_in(after)?]);
        }
        let opened = std::thread::scope(|scope| {
            let after = scope.spawn(|| Self::open_silently(after));
            let before = Self::open_silently(before);
            [before, after.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))]
        });
        let [before, after] = opened.map(|opened| opened.map(Self::reported));
        Ok([before?, after?])
    }

    /// Opens a directory, or a log for its samples if these may be shown.
    pub(crate) fn open_for(dir: &Path, may_be_samples: bool) -> Result<Self, Failure> {
        match may_be_samples && logs::is_log(dir) {
            true => Self::of_log(dir),
            false => Self::open_in(dir),
        }
    }

    /// Opens a log of samples, as a trace without calls.
    pub(crate) fn of_log(log: &Path) -> Result<Self, Failure> {
        Ok(Self {
            traces: vec![named(logs::without_calls(log)?)],
            status: Status::Done,
            missing: BTreeMap::new(),
            dir: log.to_owned(),
            several: false,
        })
    }

    fn open_in(dir: &Path) -> Result<Self, Failure> {
        Self::open_silently(dir).map(Self::reported)
    }

    /// Reports what is wrong.
    fn reported((mut source, unreadable): (Self, Vec<(PathBuf, Error)>)) -> Self {
        source.status = source.report_damage(&unreadable);
        source
    }

    /// Reports what is wrong with the traces, before their threads are selected, and with those that could
    /// not be opened.
    pub(crate) fn report_damage(&self, unreadable: &[(PathBuf, Error)]) -> Status {
        let mut status = Status::Done;
        let damage = self.traces.iter().flat_map(|trace| &trace.damage);
        for error in unreadable.iter().map(|(_, error)| error).chain(damage) {
            status = Status::Damaged;
            message(&error.to_string());
        }
        let is_restless = |trace: &&Trace| trace.journal.is_some_and(|journal| journal.is_restless);
        for trace in self.traces.iter().filter(is_restless) {
            let dir = trace.dir.display();
            message(&format!("{dir}: changed while it was read; the newest calls may be missing"));
        }
        for trace in &self.traces {
            if let Some(text) = foreign_files(trace) {
                message(&format!("{}: {text}", trace.dir.display()));
            }
        }
        self.traces.iter().filter_map(empty_run::warning).for_each(|warning| message(&warning));
        for (dir, missing) in &self.missing {
            status = status.and(Status::Partial);
            let dir = dir.display();
            message(&format!("{dir}: {missing} ({} shows more)", flow_command("check")));
        }
        status
    }

    /// The same without messages. Returns the traces that cannot be opened; other damage is in the traces.
    pub(crate) fn open_silently(dir: &Path) -> Result<(Self, Vec<(PathBuf, Error)>), Failure> {
        Self::open_again(dir, None)
    }

    /// The same of traces that grow, and were opened before: names that are known are not read again.
    pub(crate) fn open_again(
        dir: &Path,
        before: Option<Self>,
    ) -> Result<(Self, Vec<(PathBuf, Error)>), Failure> {
        let mut source = Self {
            traces: Vec::new(),
            status: Status::Done,
            missing: BTreeMap::new(),
            dir: without_dot(dir),
            several: false,
        };
        if is_stdin(dir) {
            let trace = named(stdin::trace()?);
            source.missing.extend(missing(&trace).map(|text| (trace.dir.clone(), text)));
            source.traces.push(trace);
            return Ok((source, Vec::new()));
        }
        if logs::is_log(dir) {
            let (trace, damage) = logs::trace(dir)?;
            source.traces.push(named(trace));
            return Ok((
                source,
                damage.map(|error| (dir.to_path_buf(), error)).into_iter().collect(),
            ));
        }
        let directories = directories(dir)?;
        let mut before = before.map_or_else(Vec::new, |before| before.traces);
        source.several = directories.len() > 1;
        let mut unreadable = Vec::new();
        for directory in directories {
            let known = before.extract_if(.., |trace| trace.dir == directory).next();
            match known.map_or_else(|| Trace::open(&directory), Trace::open_again) {
                Ok(trace) => {
                    source.missing.extend(missing(&trace).map(|text| (directory, text)));
                    source.traces.push(named(trace));
                }
                Err(error) if source.several => unreadable.push((directory, error)),
                Err(error) => return Err(error.into()),
            }
        }
        Ok((source, unreadable))
    }

    /// Keeps the selected threads, and of these only the ranges of the selected tests.
    pub(crate) fn choose_part(&mut self, part: &PartArgs) -> Result<(), Failure> {
        if logs::is_log(&self.dir) {
            logs::guessed(&self.dir);
        }
        for trace in &mut self.traces {
            if let Some(with_calls) = logs::with_calls(trace)? {
                *trace = with_calls;
            }
        }
        self.leave_out_empty();
        globs(&part.filter.include, &self.traces)?;
        for glob in &part.filter.exclude {
            // Nothing is wrong with the result, but it is not what was meant.
            if let Err(unmatched) = check(glob, &self.traces) {
                message(&format!("--exclude: {unmatched}"));
            }
        }
        own::check(&part.filter, &self.traces)?;
        // Read before threads are selected: the thread that ran a test records which threads helped it, even if it is not
        // selected.
        self.choose_tests(&part.tests)?;
        self.choose(&part.threads)
    }

    /// Leaves out the traces without calls, such as that of a launcher, if others have any.
    fn leave_out_empty(&mut self) {
        if !self.traces.iter().any(has_calls) {
            return;
        }
        let is_empty = |trace: &mut Trace| !has_calls(trace) && trace.damage.is_empty();
        for trace in self.traces.extract_if(.., is_empty) {
            message(&format!("trace {}: no calls", trace.dir.display()));
        }
    }

    /// Keeps the selected threads.
    pub(crate) fn choose(&mut self, threads: &ThreadArgs) -> Result<(), Failure> {
        Self::choose_in([self], threads)
    }

    /// Keeps the selected threads; each must be in at least one of the sources.
    pub(crate) fn choose_in<const N: usize>(
        sources: [&mut Self; N],
        threads: &ThreadArgs,
    ) -> Result<(), Failure> {
        if threads.patterns.is_empty() {
            return Ok(());
        }
        for pattern in &threads.patterns {
            let found = |trace: &Trace| trace.files.iter().any(|f| matches(trace, f.id, pattern));
            if !sources.iter().any(|source| source.traces.iter().any(found)) {
                let names: Vec<_> = sources.iter().map(|source| source.thread_names()).collect();
                let names = names.join("; ");
                return Err(Failure::Failed(format!(
                    "no thread '{pattern}' with events; there are: {names}"
                )));
            }
        }
        for trace in sources.into_iter().flat_map(|source| &mut source.traces) {
            let mut files = std::mem::take(&mut trace.files);
            files.retain(|file| threads.include(trace, file.id));
            trace.files = files;
        }
        Ok(())
    }

    /// Sorts threads by their names, so that those with the same name follow each other.
    pub(crate) fn sort_threads(&mut self) {
        for trace in &mut self.traces {
            let mut files = std::mem::take(&mut trace.files);
            files.sort_by(|one, other| name_of(trace, one.id).cmp(name_of(trace, other.id)));
            trace.files = files;
        }
    }

    fn thread_names(&self) -> String {
        const SHOWN: usize = 12;
        let files =
            self.traces.iter().flat_map(|trace| trace.files.iter().map(move |f| (trace, f)));
        let count = files.clone().count();
        let mut names: Vec<_> =
            files.take(SHOWN).map(|(trace, file)| thread_title(trace, file.id)).collect();
        if count > SHOWN {
            names.push(format!("… {} more ({} lists them)", count - SHOWN, flow_command("info")));
        }
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }

    /// Reports that events were lost while recording, and that names are missing: the results cannot show it.
    pub(crate) fn report_losses(&self) {
        for trace in &self.traces {
            if let Some(text) = without_names(trace) {
                message(&format!("{}: {text}", trace.file(names::IDS).display()));
            }
            let Some(end) = trace.manifest.as_ref().and_then(|manifest| manifest.end.as_ref())
            else {
                continue;
            };
            if let Some(lost) = lost(&end.lost) {
                message(&format!("{}: lost while recording: {lost}", trace.dir.display()));
            }
        }
    }

    /// The size of all threads, or of their selected ranges.
    pub(crate) fn bytes(&self) -> u64 {
        let files = self.traces.iter().flat_map(|trace| &trace.files);
        files.fold(0, |sum: u64, file| sum.saturating_add(bytes_read(file, file.bytes)))
    }

    /// The name of a trace within the run: `.` or `jvm-…`.
    pub(crate) fn name(&self, trace_dir: &Path) -> String {
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        if let (Some(first), Some(file)) = (name(&self.dir), name(trace_dir))
            && let Some(jvm) = names::further_jvm(&first, &file)
        {
            return jvm.to_owned();
        }
        match trace_dir.strip_prefix(&self.dir) {
            Ok(relative) if !relative.as_os_str().is_empty() => relative.display().to_string(),
            _ => ".".to_owned(),
        }
    }

    /// The place that a remark names if there are several traces.
    pub(crate) fn place(&self, trace_dir: &Path) -> Option<String> {
        self.several.then(|| format!("trace {}", trace_dir.display()))
    }

    /// The only trace, for a verb that `takes` one. Traces without calls, such as that of a launcher, do not count
    /// beside others.
    pub(crate) fn only(&self, takes: &str) -> Result<&Trace, Failure> {
        let mut traces: Vec<&Trace> = self.traces.iter().filter(|trace| has_calls(trace)).collect();
        if traces.is_empty() {
            traces = self.traces.iter().collect();
        }
        let [trace] = traces[..] else {
            let name = |trace: &&Trace| {
                let inner = if trace.dir == self.dir { "/." } else { "" };
                shell_quoted(&format!("{}{inner}", trace.dir.display()))
            };
            let names: Vec<_> = traces.iter().map(name).collect();
            let what = match self.dir.is_dir() {
                true => "the directory holds several traces",
                false => "several JVMs were recorded",
            };
            return Err(Failure::Usage(format!("{what}; {takes} one of: {}", names.join(", "))));
        };
        Ok(trace)
    }

    /// Returns whether there are samples and no calls.
    pub(crate) fn has_only_samples(&self) -> bool {
        !self.traces.iter().any(has_calls) && self.has_samples()
    }

    /// Returns whether a trace has samples.
    pub(crate) fn has_samples(&self) -> bool {
        self.traces.iter().any(|trace| trace.samples().is_ok_and(|samples| samples.is_some()))
    }

    /// Returns whether a trace has methods whose lines are recorded.
    pub(crate) fn has_lines(&self) -> bool {
        let mut methods = self.traces.iter().flat_map(|trace| trace.methods.iter());
        methods.any(|(_, method)| method.versions().any(|info| !info.lines.is_empty()))
    }

    /// Begins the output of a trace: links its methods to their sources, and prints its name in text, if there are several.
    pub(crate) fn begin(
        &self,
        trace: &Trace,
        format: Format,
        out: &mut Out,
    ) -> Result<(), Failure> {
        sources::link(&trace.methods, &[], out);
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

fn has_calls(trace: &Trace) -> bool {
    trace.files.iter().any(|file| file.bytes > 0)
}

/// Where the traces of a run are. `DIR/.` names the trace in DIR itself, without those inside, and `FILE/.` that of the
/// first JVM.
pub(crate) fn directories(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    if is_stdin(dir) {
        return Err(Failure::Usage(format!(
            "{STDIN}: standard input can only be read once; name the file"
        )));
    }
    let is_alone = dir.as_os_str().as_encoded_bytes().ends_with(b"/.");
    let file = without_dot(dir);
    let found = TraceSet::directories(if file.is_file() { &file } else { dir });
    let found = found.map(|mut found| {
        // Its own is the first, if it has one.
        if is_alone && found.first().is_some_and(|first| *first == file) {
            found.truncate(1);
        }
        found
    });
    found.map_err(|error| match error {
        Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
            let what = if is_container_name(dir) { "file" } else { "directory" };
            Failure::Failed(format!(
                "{}: no such {what}; name a trace {what}, or record a program with {}",
                dir.display(),
                flow_command("record")
            ))
        }
        Error::Io { source, .. } if source.kind() == ErrorKind::NotADirectory => {
            let of_trace = dir.parent().filter(|parent| TraceSet::directories(parent).is_ok());
            let instead = match of_trace {
                Some(parent) if parent.as_os_str().is_empty() => ", which is .".to_owned(),
                Some(parent) => format!(", {}", shell_quoted(&parent.to_string_lossy())),
                None => String::new(),
            };
            Failure::Usage(format!(
                "{}: not a trace; name a trace directory{instead}, or a file that ends in .flowtrace or .hpl",
                dir.display()
            ))
        }
        Error::Io { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
            Failure::Failed(format!(
                "{}: permission denied; run flow as the user who recorded it",
                dir.display()
            ))
        }
        Error::NoTrace { .. } => {
            let inside = traces_inside(dir);
            if inside.is_empty() { error.into() } else { Failure::Usage(elsewhere(dir, &inside)) }
        }
        error => error.into(),
    })
}

/// A path without `/.` at its end.
fn without_dot(path: &Path) -> PathBuf {
    let parts: PathBuf = path.components().collect();
    if parts.is_file() { parts } else { path.to_path_buf() }
}

/// The directories and files with traces that are directly in a directory without one, in order.
fn traces_inside(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let has_trace = |path: &PathBuf| match path.is_dir() {
        true => TraceSet::directories(path).is_ok(),
        false => is_container_name(path) && Trace::is_container(path),
    };
    let mut found: Vec<_> = entries.map(|entry| entry.path()).filter(has_trace).collect();
    let with_first: Vec<_> = found.iter().flat_map(|first| further_among(first, &found)).collect();
    found.retain(|path| !with_first.contains(path));
    found.sort();
    found
}

/// The files that belong to the run of the first one.
pub(crate) fn further_among(first: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let first = name(first).unwrap_or_default();
    let is_further = |path: &&PathBuf| {
        name(path).is_some_and(|name| names::further_jvm(&first, &name).is_some())
    };
    files.iter().filter(is_further).cloned().collect()
}

/// Returns whether a path names a trace in one file.
pub(crate) fn is_container_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == names::CONTAINER_EXTENSION)
}

fn elsewhere(dir: &Path, traces: &[PathBuf]) -> String {
    const SHOWN: usize = 8;
    let name = |path: &PathBuf| shell_quoted(&path.to_string_lossy()).to_string();
    let mut names: Vec<_> = traces.iter().take(SHOWN).map(name).collect();
    if traces.len() > SHOWN {
        names.push(format!("and {} more", traces.len() - SHOWN));
    }
    format!("{}: no trace here; name one of those inside: {}", dir.display(), names.join(", "))
}

/// Refuses to write over a trace in one file.
pub(crate) fn refuse_trace(path: &Path) -> Result<(), Failure> {
    if Trace::is_container(path) {
        let path = path.display();
        return Err(Failure::Failed(format!("{path}: is a trace; name another file to write")));
    }
    Ok(())
}

/// Names the files that look like parts or journals of a trace and are not read, if there are any.
pub(crate) fn foreign_files(trace: &Trace) -> Option<String> {
    let files = trace.foreign_files();
    let (first, further) = files.split_first()?;
    let name = first.file_name().unwrap_or_default().to_string_lossy();
    let is_part = |path: &&PathBuf| {
        path.file_name()
            .and_then(OsStr::to_str)
            .is_some_and(|name| names::main_of_part(name).is_some())
    };
    let kind = match files.iter().filter(is_part).count() {
        0 => "journal",
        count if count == files.len() => "part",
        _ => "file",
    };
    let what = format!("of another recording, named like a {kind} of this one:");
    Some(match further.len() as u64 {
        0 => format!("left out a {kind} {what} {name}"),
        count => format!("left out {} {what} {name} …", plural(count + 1, kind)),
    })
}

/// Explains what is missing because the journal of a trace cannot be used, if it cannot.
pub(crate) fn missing_journal(trace: &Trace) -> Option<String> {
    if trace.journal.is_some_and(|journal| journal.is_checkpoint) {
        let durability = trace.manifest.as_ref().and_then(|manifest| manifest.durability.as_ref());
        let period = durability
            .map(|durability| humantime::format_duration(durability.period).to_string())
            .unwrap_or_default();
        return Some(format!(
            "read up to its last checkpoint, because the machine has restarted or this is another one: what was \
             recorded later, for up to {period} and the time that the disk took, is missing"
        ));
    }
    let path = trace.missing_journal.as_ref()?;
    if is_stdin(&trace.dir) {
        let text = "the trace has no end: what threads had not yet written to the file is in the journal beside it, \
                    which is not read";
        return Some(text.to_owned());
    }
    if is_received(trace) {
        // What threads record arrives a moment later.
        let is_open = lock::is_recording(&trace.dir) == Some(true);
        return (!is_open).then(|| {
            "the trace has no end, and nobody receives it: what its JVM recorded later is missing (a collector that is \
             started again receives the rest if the JVM still runs)"
                .to_owned()
        });
    }
    if *path == names::beside(&trace.dir, names::JOURNAL) {
        return Some(format!(
            "{} is missing, the journal of this trace: what threads had not yet written to the file is lost",
            path.display()
        ));
    }
    let path = path.display();
    Some(format!(
        "the journal {path} is missing (memory file systems lose it when the machine restarts): what \
         threads had not yet written to their files is lost"
    ))
}

/// Explains what is missing from the thread files, except for what was lost while recording.
fn missing(trace: &Trace) -> Option<String> {
    if let Some(text) = missing_journal(trace) {
        return Some(text);
    }
    let end = trace.manifest.as_ref()?.end.as_ref().filter(|end| lost(&end.lost).is_none())?;
    let there = trace.files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.stored_bytes()));
    let missing = end.totals.bytes.checked_sub(there).filter(|missing| *missing > 0)?;
    let threads = end.totals.threads.saturating_sub(trace.files.len() as u64);
    let files = if threads > 0 {
        format!(", {} among them", plural(threads, "thread file"))
    } else {
        String::new()
    };
    Some(format!("{} of events are missing{files}", plural(missing, "byte")))
}

/// The name of a thread; empty if it is unknown.
pub(crate) fn name_of(trace: &Trace, id: ThreadId) -> &str {
    trace.threads.get(id).map_or("", |thread| &thread.name)
}

/// `1 main`; only the id if the name is empty or unknown.
pub(crate) fn thread_title(trace: &Trace, id: ThreadId) -> String {
    match trace.threads.get(id) {
        Some(thread) if !thread.name.is_empty() => format!("{id} {}", thread.name),
        _ => id.to_string(),
    }
}

/// The title of a thread, with the test whose ranges are read, if not the whole thread.
pub(crate) fn file_title(trace: &Trace, file: &ThreadFile) -> String {
    let thread = thread_title(trace, file.id);
    match &file.parts {
        Some(parts) => format!("{thread}, {}", parts.title),
        None => thread,
    }
}

/// Returns whether a thread matches: by its id, or by a name that it has or had. A number that is an id never
/// matches a name.
pub(super) fn matches(trace: &Trace, id: ThreadId, pattern: &str) -> bool {
    let number = pattern.parse().ok().map(ThreadId::new);
    if number.is_some_and(|number| number == id || trace.threads.get(number).is_some()) {
        return number == Some(id);
    }
    trace.threads.get(id).is_some_and(|thread| {
        let mut names = thread.earlier_names.iter().chain([&thread.name]);
        // Also as it is shown, with escapes.
        names.any(|name| is_like(name, pattern) || is_like(&escaped(name), pattern))
    })
}

/// Returns whether a text matches a pattern, in which `*` matches any text.
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

impl ThreadArgs {
    /// Returns whether a thread is selected.
    pub(crate) fn include(&self, trace: &Trace, id: ThreadId) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|p| matches(trace, id, p))
    }
}

impl FilterArgs {
    /// Returns whether nothing is left out.
    pub(crate) fn is_all(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty() && !self.own
    }

    /// The flags that leave something out; `None` if there are none.
    pub(crate) fn flags(&self) -> Option<&'static str> {
        Some(match (self.own, self.include.is_empty(), self.exclude.is_empty()) {
            (false, true, true) => return None,
            (true, true, true) => "--own",
            (_, false, true) => "--include",
            (false, true, false) => "--exclude",
            _ => "one of --own, --include and --exclude",
        })
    }

    /// The methods of a trace that are shown.
    pub(crate) fn selection(&self, trace: &Trace) -> Selection {
        Selection::new(&trace.methods, &self.included(trace), &self.exclude)
    }

    /// The frames of a thread that were entered before recording, without those that are left out. Only their
    /// names are known, `pkg.Class.method(descriptor)`.
    pub(crate) fn open_frames(&self, trace: &Trace, thread: ThreadId) -> OpenFrames {
        let open = trace.threads.get(thread).map(|thread| thread.open.clone());
        let mut open = open.unwrap_or_default();
        let included = self.included(trace);
        open.frames
            .retain(|frame| Selection::is_selected(&included, &self.exclude, Name::parse(frame)));
        open
    }

    /// Returns whether a method is shown that only samples have.
    pub(crate) fn shows(&self, included: &[Glob], name: Name<'_>) -> bool {
        self.is_all() || Selection::is_selected(included, &self.exclude, name)
    }

    /// The patterns of `--include` and `--own`.
    pub(crate) fn included(&self, trace: &Trace) -> Vec<Glob> {
        let own = if self.own { own::patterns(trace) } else { &[] };
        self.include.iter().chain(own).map(|pattern| Glob::new(pattern)).collect()
    }
}

/// Returns why no method of a trace has a name, if another program wrote the trace without names.
pub(crate) fn without_names(trace: &Trace) -> Option<String> {
    let has_none = trace.manifest.is_none() && !trace.has_text(StreamKind::Ids);
    (has_none && trace.methods.is_empty() && has_calls(trace)).then(|| {
        "the file is missing, so methods have no names. With ids=, Java-Flow-Agent does not write it: copy the file that \
         ids= named here"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_match_anything() {
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
