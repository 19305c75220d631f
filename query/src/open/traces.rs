//! The traces of one run, and the selected threads of them.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use flow_codec::format::names;
use flow_codec::read::{Selection, TestRun, ThreadFile, TimeLimits, Trace};

use super::call::{SelectedCall, is_none};
use super::locate::{Chosen, Located, locate};
use super::logs::{is_log, trace_of_log, with_calls, without_calls};
use super::missing::Missing;
use super::paths::without_dot;
use super::request::Request;
use crate::reading::{Listener, open_selected};
use crate::select::{
    CallPlace, ContextPattern, Select, Tests, bytes_read, check, expect_times, thread_name,
    threads_of_test,
};
use crate::{Error, Remark};

/// The traces of one run: more than one if several JVMs were recorded. A slice of those that could be opened, the directory's
/// own first.
///
/// ```no_run
/// use flow_query::open::Traces;
/// use flow_query::select::Select;
///
/// let mut traces = Traces::open("flow-trace")?;
/// traces.select(&Select::all().thread("main"))?;
/// # Ok::<(), flow_query::Error>(())
/// ```
#[derive(Debug)]
pub struct Traces {
    traces: Vec<Trace>,
    path: PathBuf,
    chosen: Option<Chosen>,
    is_several: bool,
    unreadable: Vec<(PathBuf, flow_codec::Error)>,
    missing: BTreeMap<PathBuf, Missing>,
    remarks: Vec<Remark>,
}

impl Traces {
    /// Opens the traces of a run: a directory, a file, the newest run in a folder of recordings, or a log of samples, which becomes
    /// a trace of guessed calls. One of several traces may be [unreadable](Self::take_unreadable).
    ///
    /// # Errors
    /// There is none, or the only one cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_again(path, None)
    }

    /// Opens the traces of a run that grow and were opened before: names that are known are not read again.
    ///
    /// # Errors
    /// There is none, or the only one cannot be opened.
    pub fn open_again(path: impl AsRef<Path>, before: Option<Self>) -> Result<Self, Error> {
        let path = path.as_ref();
        if is_log(path) {
            let (trace, damage) = trace_of_log(path)?;
            let mut opened = Self::of(trace, path);
            opened.missing.clear();
            opened.unreadable.extend(damage.map(|error| (path.to_path_buf(), error)));
            return Ok(opened);
        }
        let Located { path, traces: directories, chosen } = locate(path)?;
        let mut opened = Self::nothing(&path);
        opened.chosen = chosen;
        let mut before = before.map_or_else(Vec::new, |before| before.traces);
        opened.is_several = directories.len() > 1;
        for directory in directories {
            let known = before.extract_if(.., |trace| trace.dir() == directory).next();
            match known.map_or_else(|| Trace::open(&directory), Trace::open_again) {
                Ok(trace) => opened.push(trace),
                Err(error) if opened.is_several => opened.unreadable.push((directory, error)),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(opened)
    }

    /// A log of samples, as a trace without calls: its samples are read from the log.
    ///
    /// # Errors
    /// A temporary file cannot be written.
    #[doc(hidden)]
    pub fn of_log(log: &Path) -> Result<Self, Error> {
        let mut opened = Self::of(without_calls(log)?, log);
        opened.missing.clear();
        Ok(opened)
    }

    /// Leaves out traces without samples.
    #[doc(hidden)]
    pub fn keep_sampled(&mut self) {
        self.traces.retain(has_samples);
    }

    /// Sorts threads by their names, so that those with the same name follow each other.
    #[doc(hidden)]
    pub fn sort_threads(&mut self) {
        for trace in &mut self.traces {
            let mut files = trace.take_files();
            files.sort_by(|a, b| thread_name(trace, a.id()).cmp(thread_name(trace, b.id())));
            trace.set_files(files);
        }
    }

    /// The only trace of a run that is open already.
    #[must_use]
    pub fn of(trace: Trace, path: &Path) -> Self {
        let mut opened = Self::nothing(path);
        opened.push(trace);
        opened
    }

    fn nothing(path: &Path) -> Self {
        Self {
            traces: Vec::new(),
            path: without_dot(path),
            chosen: None,
            is_several: false,
            unreadable: Vec::new(),
            missing: BTreeMap::new(),
            remarks: Vec::new(),
        }
    }

    fn push(&mut self, trace: Trace) {
        self.missing
            .extend(Missing::of(&trace).map(|missing| (trace.dir().to_path_buf(), missing)));
        self.traces.push(trace);
    }

    /// Names methods as class files do, instead of as their sources do.
    pub fn show_raw_names(&mut self) {
        self.traces.iter_mut().for_each(|trace| trace.show_raw_names());
    }

    /// The path that was opened; of a folder of recordings, that of its newest run.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of recordings from which the run was taken, if it was.
    #[doc(hidden)]
    #[must_use]
    pub fn chosen(&self) -> Option<&Chosen> {
        self.chosen.as_ref()
    }

    /// Returns whether the run has more than one trace, readable or not.
    #[must_use]
    pub fn is_several(&self) -> bool {
        self.is_several
    }

    /// Takes the traces that cannot be opened, and why.
    pub fn take_unreadable(&mut self) -> Vec<(PathBuf, flow_codec::Error)> {
        std::mem::take(&mut self.unreadable)
    }

    /// What is missing from the files of each trace.
    #[must_use]
    pub fn missing(&self) -> &BTreeMap<PathBuf, Missing> {
        &self.missing
    }

    /// Takes the remarks about what was selected so far.
    pub fn take_remarks(&mut self) -> Vec<Remark> {
        std::mem::take(&mut self.remarks)
    }

    /// Keeps the selected threads, and of these only the ranges of the selected tests. Checks that each pattern matches
    /// something, because a misspelt one would look like a method that is never called.
    ///
    /// # Errors
    /// A pattern matches nothing, or nothing was recorded in the selected time.
    pub fn select(&mut self, select: &Select) -> Result<(), Error> {
        self.guess_calls()?;
        self.leave_out_empty();
        select.filter.expect_in(&self.traces)?;
        for glob in select.filter.exclude() {
            // Nothing is wrong with the result, but it is not what was meant.
            self.remarks.extend(check(glob, &self.traces).err().map(Remark::Unmatched));
        }
        // Read before threads are selected: the thread that ran a test records which threads helped it, even if it is not
        // selected.
        self.select_tests(&select.tests)?;
        if let Some(call) = select.request {
            self.select_request(call, &mut ())?;
        }
        if let Some(context) = &select.context {
            self.select_context(context, &mut ())?;
        }
        select.threads.keep_in(&mut [&mut self.traces])?;
        if let Some(call) = select.call {
            self.select_call(call, &mut ())?;
        }
        self.expect_times(select.limits)
    }

    /// Finds out how many calls began before each range that is selected, so that calls have the numbers of their threads.
    ///
    /// # Errors
    /// The events cannot be read.
    #[doc(hidden)]
    pub fn number_calls(&mut self, listener: &mut impl Listener) -> Result<(), Error> {
        for trace in &mut self.traces {
            let mut files = trace.take_files();
            let numbered = number_parts(&mut files, listener);
            trace.set_files(files);
            numbered?;
        }
        Ok(())
    }

    /// Keeps only a call of the only trace, with all that it called. There is no other thread then.
    ///
    /// # Errors
    /// There are several traces, or there is no such thread or call.
    #[doc(hidden)]
    pub fn select_call(
        &mut self,
        call: CallPlace,
        listener: &mut impl Listener,
    ) -> Result<SelectedCall, Error> {
        let only = self.only()?.dir().to_path_buf();
        self.traces.retain(|trace| trace.dir() == only);
        match self.traces.first_mut() {
            Some(trace) => SelectedCall::keep(call, trace, listener),
            None => Err(is_none(call, 0)),
        }
    }

    /// Keeps only a call of the only trace, with all that it called and what it handed to other threads.
    ///
    /// # Errors
    /// There are several traces, there is no such thread or call, or it was not recorded what threads hand to each other.
    pub fn select_request(
        &mut self,
        call: CallPlace,
        listener: &mut impl Listener,
    ) -> Result<Request, Error> {
        let only = self.only()?.dir().to_path_buf();
        self.traces.retain(|trace| trace.dir() == only);
        let Some(trace) = self.traces.first_mut() else { return Err(is_none(call, 0)) };
        let request = Request::of_call(call, trace, listener)?;
        trace.set_files(request.threads(&format!("request {call}")));
        Ok(request)
    }

    /// Keeps only what happened while a key of a context had a value, with what was handed to other threads then.
    ///
    /// # Errors
    /// There are several traces, no contexts were recorded, or no key had the value.
    pub fn select_context(
        &mut self,
        context: &ContextPattern,
        listener: &mut impl Listener,
    ) -> Result<Request, Error> {
        let only = self.only()?.dir().to_path_buf();
        self.traces.retain(|trace| trace.dir() == only);
        let none = || Error::NoContext { pattern: context.to_string() };
        let trace = self.traces.first_mut().ok_or_else(none)?;
        let request = Request::of_context(context, trace, listener)?;
        if request.parts().is_empty() {
            return Err(none());
        }
        trace.set_files(request.threads(&context.to_string()));
        Ok(request)
    }

    /// Checks that something was recorded in the selected time.
    pub(crate) fn expect_times(&mut self, limits: TimeLimits) -> Result<(), Error> {
        expect_times(limits, &self.traces, &mut self.remarks)
    }

    /// Replaces the threads by the ranges of the selected tests, as one thread for each test and thread.
    ///
    /// # Errors
    /// A pattern matches no test.
    pub fn select_tests(&mut self, tests: &Tests) -> Result<(), Error> {
        tests.keep_in(&mut self.traces, &mut self.remarks)
    }

    /// Keeps only the ranges of threads in which a test ran, of one of the traces. There is nothing else then.
    #[doc(hidden)]
    pub fn keep_test(&mut self, trace: &Path, run: &TestRun) {
        self.traces.retain(|other| other.dir() == trace);
        for trace in &mut self.traces {
            trace.set_files(threads_of_test(trace, run));
        }
    }

    /// Reads the tests of each trace, in the order in which they began. Errors in their marks become remarks.
    pub fn read_tests(&mut self) -> Vec<Vec<TestRun>> {
        let remarks = &mut self.remarks;
        let read = |trace| {
            let (runs, errors) = TestRun::read_all(trace);
            remarks.extend(errors.into_iter().map(Remark::Damage));
            runs
        };
        self.traces.iter().map(read).collect()
    }

    /// Takes guessed calls where only samples were recorded.
    fn guess_calls(&mut self) -> Result<(), Error> {
        if is_log(&self.path) {
            self.remarks.push(Remark::Guessed { path: self.path.clone() });
        }
        for trace in &mut self.traces {
            if let Some((guessed, damage)) = with_calls(trace)? {
                self.remarks.push(Remark::Guessed { path: trace.dir().to_path_buf() });
                self.remarks.extend(damage.into_iter().map(Remark::Damage));
                *trace = guessed;
            }
        }
        Ok(())
    }

    /// Leaves out the traces without calls, such as that of a launcher, if others have any.
    fn leave_out_empty(&mut self) {
        if !self.traces.iter().any(has_calls) {
            return;
        }
        let is_empty = |trace: &mut Trace| !has_calls(trace) && trace.damage().is_empty();
        let empty = self.traces.extract_if(.., is_empty);
        self.remarks.extend(empty.map(|trace| Remark::NoCalls { path: trace.dir().to_path_buf() }));
    }

    /// The size of all threads, or of their selected ranges.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let files = self.traces.iter().flat_map(|trace| trace.files());
        files.fold(0, |sum: u64, file| sum.saturating_add(bytes_read(file, file.bytes())))
    }

    /// The name of a trace within the run: `.` or `jvm-…`.
    #[must_use]
    pub fn name(&self, trace_dir: &Path) -> String {
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        if let (Some(first), Some(file)) = (name(&self.path), name(trace_dir))
            && let Some(jvm) = names::further_jvm(&first, &file)
        {
            return jvm.to_owned();
        }
        match trace_dir.strip_prefix(&self.path) {
            Ok(relative) if !relative.as_os_str().is_empty() => relative.display().to_string(),
            _ => ".".to_owned(),
        }
    }

    /// The only trace. Traces without calls, such as that of a launcher, do not count beside others.
    ///
    /// # Errors
    /// There are several.
    pub fn only(&self) -> Result<&Trace, Error> {
        let mut traces: Vec<&Trace> = self.traces.iter().filter(|trace| has_calls(trace)).collect();
        if traces.is_empty() {
            traces = self.traces.iter().collect();
        }
        let [trace] = traces[..] else {
            let alone = |trace: &&Trace| match trace.dir() == self.path {
                true => PathBuf::from(format!("{}/.", trace.dir().display())),
                false => trace.dir().to_path_buf(),
            };
            let traces = traces.iter().map(alone).collect();
            return Err(Error::SeveralTraces { path: self.path.clone(), traces });
        };
        Ok(trace)
    }

    /// Checks that calls were recorded, in all traces.
    ///
    /// # Errors
    /// Only lines were recorded in one of them.
    pub fn expect_calls(&self) -> Result<(), Error> {
        let is_without =
            |trace: &&Trace| trace.manifest().is_some_and(|manifest| !manifest.has_calls());
        match self.traces.iter().find(is_without) {
            Some(trace) => Err(Error::NoCallsRecorded { path: trace.dir().to_path_buf() }),
            None => Ok(()),
        }
    }

    /// Checks that which lines each test reached was recorded, in all traces.
    ///
    /// # Errors
    /// Each line was recorded once in one of them, whichever test reached it first.
    pub fn expect_lines_of_tests(&self) -> Result<(), Error> {
        let is_without = |trace: &&Trace| {
            trace.manifest().is_some_and(|manifest| manifest.is_set("lines-once", "run"))
        };
        match self.traces.iter().find(is_without) {
            Some(trace) => Err(Error::LinesOfRun { path: trace.dir().to_path_buf() }),
            None => Ok(()),
        }
    }

    /// Returns whether there are samples and no calls.
    #[must_use]
    pub fn has_only_samples(&self) -> bool {
        !self.traces.iter().any(has_calls) && self.has_samples()
    }

    /// Returns whether a trace has samples.
    #[must_use]
    pub fn has_samples(&self) -> bool {
        self.traces.iter().any(has_samples)
    }

    /// Returns whether a trace has methods whose lines are recorded.
    #[must_use]
    pub fn has_lines(&self) -> bool {
        let mut methods = self.traces.iter().flat_map(|trace| trace.methods().iter());
        methods.any(|(_, method)| method.versions().any(|info| !info.lines.is_empty()))
    }
}

fn has_samples(trace: &Trace) -> bool {
    trace.samples().is_ok_and(|samples| samples.is_some())
}

/// Finds out how many calls of their threads began before the ranges.
fn number_parts(files: &mut [ThreadFile], listener: &mut impl Listener) -> Result<(), Error> {
    let mut of_thread = None;
    for file in files {
        let Some(parts) = file.parts().filter(|parts| !parts.is_numbered()) else { continue };
        let (_, tree) = match of_thread.take().filter(|(id, _)| *id == file.id()) {
            Some(known) => of_thread.insert(known),
            None => {
                let tree = open_selected(&file.whole(), &Selection::all(), listener)?;
                of_thread.insert((file.id(), tree))
            }
        };
        let tree = tree.whole();
        let begun = parts.ranges().iter().map(|range| tree.enters_before(range.start.offset));
        *file = file.numbered(&begun.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(())
}

fn has_calls(trace: &Trace) -> bool {
    trace.files().iter().any(|file| file.bytes() > 0)
}

impl Deref for Traces {
    type Target = [Trace];

    fn deref(&self) -> &[Trace] {
        &self.traces
    }
}

impl DerefMut for Traces {
    fn deref_mut(&mut self) -> &mut [Trace] {
        &mut self.traces
    }
}

impl<'a> IntoIterator for &'a Traces {
    type Item = &'a Trace;
    type IntoIter = std::slice::Iter<'a, Trace>;

    fn into_iter(self) -> Self::IntoIter {
        self.traces.iter()
    }
}

impl<'a> IntoIterator for &'a mut Traces {
    type Item = &'a mut Trace;
    type IntoIter = std::slice::IterMut<'a, Trace>;

    fn into_iter(self) -> Self::IntoIter {
        self.traces.iter_mut()
    }
}
