//! The traces of a directory, or of a file and those beside it, and their selected threads: opened and selected by
//! [`flow_query::open`], with messages for people.

pub(crate) mod answer;
pub(crate) mod growing;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use flow_codec::Error;
use flow_codec::format::names;
use flow_codec::read::Trace;
use flow_query::Remark;
use flow_query::open::{
    Located, Request, Traces, foreign_files, is_log, locate, lost, missing_text, without_names,
};
use flow_query::reading::{Listener, Soundness};
use flow_query::select::{Tests, Threads};

use super::flags::{PartArgs, SourceArgs, TestArgs, ThreadArgs};
use super::sources;
use super::stdin::{self, STDIN, is_stdin};
use super::unanswered::not_opened;
use super::{empty_run, newest};
use crate::failure::{Failure, Status};
use crate::output::{Format, Out, Progress, flow_command, message, plural, remark, shell_quoted};

/// The traces of one run. More than one if several JVMs were recorded.
#[derive(Debug)]
pub(crate) struct Source {
    /// The traces that could be opened, the directory's own first.
    pub(crate) traces: Traces,
    /// The worst of what was reported so far.
    pub(crate) status: Status,
    /// Whether the directory has more than one trace, readable or not.
    pub(crate) several: bool,
    /// For the directory of a trace, what is missing from its files.
    pub(crate) missing: BTreeMap<PathBuf, String>,
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
        match may_be_samples && is_log(dir) {
            true => Self::of_log(dir),
            false => Self::open_in(dir),
        }
    }

    /// Opens a log of samples, as a trace without calls.
    pub(crate) fn of_log(log: &Path) -> Result<Self, Failure> {
        Ok(Self::of(Traces::of_log(log)?).0)
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
        let damage = self.traces.iter().flat_map(|trace| trace.damage());
        let damage = unreadable.iter().map(|(_, error)| error).chain(damage);
        let mut status = Status::from(Soundness::skipping(damage, &Progress::hidden()));
        let is_restless =
            |trace: &&Trace| trace.journal().is_some_and(|journal| journal.is_restless);
        for trace in self.traces.iter().filter(is_restless) {
            let dir = trace.dir().display();
            message(&format!("{dir}: changed while it was read; the newest calls may be missing"));
        }
        for trace in &self.traces {
            if let Some(text) = foreign_files(trace) {
                message(&format!("{}: {text}", trace.dir().display()));
            }
        }
        self.traces.iter().filter_map(empty_run::warning).for_each(|warning| message(&warning));
        if let Some(chosen) = self.traces.chosen() {
            newest::report(chosen, self.traces.path());
        }
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
        let traces = if is_stdin(dir) {
            Traces::of(stdin::trace()?, dir)
        } else {
            let before = before.map(|before| before.traces);
            Traces::open_again(dir, before).map_err(|error| not_opened(dir, error))?
        };
        Ok(Self::of(traces))
    }

    fn of(mut traces: Traces) -> (Self, Vec<(PathBuf, Error)>) {
        if has_raw_names() {
            traces.show_raw_names();
        }
        let missing = traces.missing().iter();
        let missing = missing.map(|(dir, missing)| (dir.clone(), missing_text(dir, missing)));
        let (missing, several) = (missing.collect(), traces.is_several());
        let unreadable = traces.take_unreadable();
        (Self { traces, status: Status::Done, several, missing }, unreadable)
    }

    /// Keeps the selected threads, and of these only the ranges of the selected tests.
    pub(crate) fn choose_part(&mut self, part: &PartArgs) -> Result<(), Failure> {
        let selected = self.traces.select(&part.select());
        self.report_remarks();
        Ok(selected?)
    }

    /// Keeps the selected threads and tests, of which the recorded lines are asked for.
    pub(crate) fn choose_lines(&mut self, part: &PartArgs) -> Result<(), Failure> {
        if !part.tests.patterns.is_empty() {
            self.traces.expect_lines_of_tests()?;
        }
        self.choose_part(part)
    }

    /// Keeps what is selected. Returns the request, or the value of a context, that is to be shown as one tree, and how it is named.
    pub(crate) fn choose_part_as_tree(
        &mut self,
        part: &PartArgs,
    ) -> Result<Option<(Request, String)>, Failure> {
        // Of some threads of a request, each is a tree of its own.
        if !part.threads.patterns.is_empty() {
            self.choose_part(part)?;
            return Ok(None);
        }
        let mut without = part.clone();
        (without.request, without.context) = (None, None);
        self.choose_part(&without)?;
        self.choose_request(part, &mut ())
    }

    /// Keeps what belongs to the selected request, or value of a context, of the only trace. Returns the request and how it is
    /// named; `None` if nothing of this kind is selected.
    pub(crate) fn choose_request(
        &mut self,
        part: &PartArgs,
        listener: &mut impl Listener,
    ) -> Result<Option<(Request, String)>, Failure> {
        Ok(match (part.request, &part.context) {
            (Some(call), _) => {
                Some((self.traces.select_request(call, listener)?, format!("request {call}")))
            }
            (None, Some(context)) => {
                Some((self.traces.select_context(context, listener)?, context.to_string()))
            }
            (None, None) => None,
        })
    }

    /// Asks a question about the traces, and reports what was noticed meanwhile.
    pub(crate) fn ask<T>(
        &mut self,
        question: impl FnOnce(&mut Traces) -> Result<T, flow_query::Error>,
    ) -> Result<T, Failure> {
        let answer = question(&mut self.traces);
        self.report_remarks();
        Ok(answer?)
    }

    /// Reports what was noticed while calls were selected.
    fn report_remarks(&mut self) {
        for noticed in self.traces.take_remarks() {
            if let Remark::Damage(_) = noticed {
                self.status = Status::Damaged;
            }
            message(&remark(&noticed));
        }
    }

    /// Replaces the threads by the ranges of the selected tests, as one thread for each test and thread.
    pub(crate) fn choose_tests(&mut self, args: &TestArgs) -> Result<(), Failure> {
        let selected = self.traces.select_tests(&Tests::of(&args.patterns));
        self.report_remarks();
        Ok(selected?)
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
        let mut runs = sources.map(|source| &mut *source.traces);
        Ok(Threads::of(&threads.patterns).keep_in(&mut runs)?)
    }

    /// Sorts threads by their names, so that those with the same name follow each other.
    pub(crate) fn sort_threads(&mut self) {
        self.traces.sort_threads();
    }

    /// Reports what [`report_losses`](Self::report_losses) does, for an answer that needs calls.
    pub(crate) fn expect_calls(&self) -> Result<(), Failure> {
        self.report_losses();
        Ok(self.traces.expect_calls()?)
    }

    /// Reports that events were lost while recording, and that names are missing: the results cannot show it.
    pub(crate) fn report_losses(&self) {
        for trace in &self.traces {
            if let Some(text) = without_names(trace) {
                message(&format!("{}: {text}", trace.file(names::IDS).display()));
            }
            let Some(end) = trace.manifest().and_then(|manifest| manifest.end.as_ref()) else {
                continue;
            };
            if let Some(lost) = lost(&end.lost) {
                message(&format!("{}: lost while recording: {lost}", trace.dir().display()));
            }
            if end.left_out_tests > 0 {
                let tests = plural(end.left_out_tests, "test");
                let calls = plural(end.given_up.enters, "call");
                message(&format!(
                    "{}: {calls} of {tests} that passed are left out (record --keep-tests failed)",
                    trace.dir().display()
                ));
            }
        }
    }

    /// The size of all threads, or of their selected ranges.
    pub(crate) fn bytes(&self) -> u64 {
        self.traces.bytes()
    }

    /// The name of a trace within the run: `.` or `jvm-…`.
    pub(crate) fn name(&self, trace_dir: &Path) -> String {
        self.traces.name(trace_dir)
    }

    /// The place that a remark names if there are several traces.
    pub(crate) fn place(&self, trace_dir: &Path) -> Option<String> {
        self.several.then(|| format!("trace {}", trace_dir.display()))
    }

    /// The only trace, for a verb that `takes` one. Traces without calls, such as that of a launcher, do not count
    /// beside others.
    pub(crate) fn only(&self, takes: &str) -> Result<&Trace, Failure> {
        self.traces.only().map_err(|error| match error {
            flow_query::Error::SeveralTraces { traces, .. } => {
                let name = |trace: &PathBuf| shell_quoted(&trace.to_string_lossy()).to_string();
                let names: Vec<_> = traces.iter().map(name).collect();
                let what = match self.traces.path().is_dir() {
                    true => "the directory holds several traces",
                    false => "several JVMs were recorded",
                };
                Failure::Usage(format!("{what}; {takes} one of: {}", names.join(", ")))
            }
            error => error.into(),
        })
    }

    /// Returns whether there are samples and no calls.
    pub(crate) fn has_only_samples(&self) -> bool {
        self.traces.has_only_samples()
    }

    /// Returns whether a trace has samples.
    pub(crate) fn has_samples(&self) -> bool {
        self.traces.has_samples()
    }

    /// Returns whether a trace has methods whose lines are recorded.
    pub(crate) fn has_lines(&self) -> bool {
        self.traces.has_lines()
    }

    /// Begins the output of a trace: links its methods to their sources, and prints its name in text, if there are several.
    pub(crate) fn begin(
        &self,
        trace: &Trace,
        format: Format,
        out: &mut Out,
    ) -> Result<(), Failure> {
        sources::link(trace.methods(), &[], out);
        if self.several && format == Format::Text {
            let first = self.traces.first().is_some_and(|first| first.dir() == trace.dir());
            if !first {
                out.write_all(b"\n")?;
            }
            out.heading(&format!("trace {}", trace.dir().display()))?;
        }
        Ok(())
    }
}

/// Where the traces of a run are. `DIR/.` names the trace in DIR itself, without those inside, and `FILE/.` that of the
/// first JVM.
pub(crate) fn directories(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    if is_stdin(dir) {
        return Err(Failure::Usage(format!(
            "{STDIN}: standard input can only be read once; name the file"
        )));
    }
    locate(dir).map(|located| located.traces).map_err(|error| not_opened(dir, error))
}

/// The path of the run that a path names: of a folder of recordings, that of its newest run as of now, which is reported. For
/// verbs that open it again and again.
pub(crate) fn run_of(path: &Path) -> PathBuf {
    // What is wrong is reported when it is opened.
    let Ok(Located { path, chosen, .. }) = locate(path) else { return path.to_path_buf() };
    chosen.iter().for_each(|chosen| newest::report(chosen, &path));
    path
}

/// Refuses to write over a trace in one file.
pub(crate) fn refuse_trace(path: &Path) -> Result<(), Failure> {
    if Trace::is_container(path) {
        let path = path.display();
        return Err(Failure::Failed(format!("{path}: is a trace; name another file to write")));
    }
    Ok(())
}
