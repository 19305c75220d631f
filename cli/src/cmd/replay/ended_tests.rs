//! `flow replay --follow --test`: each selected test when it has ended, as it is shown without `--follow`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use flow_codec::format::marks::Position;
use flow_codec::read::{TestRun, ThreadFile, Trace};
use flow_codec::{Error, ThreadId};
use flow_query::reading::Ending;
use flow_query::select::{Tests, file_title, threads_of_test};

use super::lines::{Lines, Printed, shown};
use super::merged::{MergedReplay, Replayed, Shared};
use super::read::{expect_clock, selections, whole_thread};
use super::thread::ThreadReplay;
use crate::args::ReplayArgs;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::growing::{Follow, Pass};
use crate::output::{Out, Progress};

/// The tests that have been shown: the traces, the threads, and where they begin there.
type ShownTests = BTreeSet<(PathBuf, ThreadId, Position)>;

/// Shows tests as they end.
#[derive(Debug)]
pub(super) struct EndedTests {
    /// Without `--follow`.
    args: ReplayArgs,
    printed: Printed,
    tests: Tests,
    shown: ShownTests,
    /// How many threads of tests were shown.
    threads: u64,
    /// The sizes of all threads in the last pass.
    sizes: Vec<(u64, u64, u64)>,
    status: Status,
}

impl EndedTests {
    pub(super) fn new(args: &ReplayArgs) -> Self {
        Self {
            args: ReplayArgs { follow: false, ..args.clone() },
            printed: Printed::new(args),
            tests: Tests::of(&args.part.tests.patterns),
            shown: ShownTests::new(),
            threads: 0,
            sizes: Vec::new(),
            status: Status::Done,
        }
    }

    /// Shows the calls of a test. Returns whether a limit has been reached.
    fn show(
        &mut self,
        name: &str,
        trace: &mut Trace,
        run: &TestRun,
        out: &mut Out,
    ) -> Result<bool, Failure> {
        let args = &self.args;
        expect_clock(args, trace)?;
        let (selection, wanted) = selections(args, trace);
        let is_selected = |file: &ThreadFile| args.part.threads.include(trace, file.id());
        let files: Vec<_> = threads_of_test(trace, run).into_iter().filter(is_selected).collect();
        let mut progress = Progress::hidden();
        if args.merged {
            let all = trace.take_files();
            trace.set_files(files);
            let selections = (&selection, wanted.as_ref());
            let replayed = Replayed { trace, name, place: "", selections, samples: None };
            let (printed, progress) = (&mut self.printed, &mut progress);
            let shared = Shared { args, printed, progress, out };
            let done = MergedReplay::new(args).pass(shared, replayed, false);
            trace.set_files(all);
            let done = done?;
            self.status = self.status.and(done.status);
            return Ok(done.is_full);
        }
        let shown = shown(args, trace, (&selection, wanted.as_ref()), None);
        let mut lines = Lines::new(args, &shown, &mut self.printed, out);
        for file in files {
            let title = format!("thread {}", file_title(trace, &file));
            let prefix = Lines::prefix(args, name, file.id());
            self.threads += 1;
            let mut replay = ThreadReplay::new(&shown, self.threads, title, prefix);
            let reading = whole_thread(args, trace, &file, &mut replay, &mut lines, &mut progress)?;
            self.status = self.status.and(reading.report(&file, &progress));
            if reading.ending() == Ending::Stopped {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Follow for EndedTests {
    fn pass(
        &mut self,
        source: &mut Source,
        is_growing: bool,
        out: &mut Out,
    ) -> Result<Pass, Failure> {
        self.args.part.filter.filter().expect_own(source.traces.iter())?;
        let files = source.traces.iter().flat_map(|trace| trace.files());
        let sizes: Vec<_> = files.map(ThreadFile::size).collect();
        if is_growing && self.sizes == sizes {
            return Ok(Pass::Nothing);
        }
        self.sizes = sizes;
        let runs = source.traces.read_tests();
        let mut pass = Pass::Nothing;
        let names: Vec<_> = source.traces.iter().map(|of| source.name(of.dir())).collect();
        for ((trace, runs), name) in source.traces.iter_mut().zip(&runs).zip(&names) {
            let selected = runs.iter().filter(|run| self.tests.include(&run.name));
            let due: Vec<_> = selected.filter(|run| !is_growing || has_ended(trace, run)).collect();
            for run in due {
                let Some(begin) = run.ranges.first().map(|range| range.start) else { continue };
                if !self.shown.insert((trace.dir().to_path_buf(), run.thread, begin)) {
                    continue;
                }
                pass = Pass::Events;
                if self.show(name, trace, run, out)? {
                    return Ok(Pass::Enough);
                }
            }
        }
        Ok(pass)
    }

    fn end(
        &mut self,
        source: &mut Source,
        unreadable: &[(PathBuf, Error)],
        out: &mut Out,
    ) -> Result<Status, Failure> {
        let status = source.report_damage(unreadable).and(self.status);
        source.expect_calls()?;
        self.printed.report_left_out(&self.args, out)?;
        if self.shown.is_empty() {
            self.tests.expect_in(&source.traces.read_tests())?;
        }
        Ok(status)
    }
}

/// Returns whether a test has ended, and all its events are there: of a trace that is received, marks may arrive first.
fn has_ended(trace: &Trace, run: &TestRun) -> bool {
    let bytes =
        trace.files().iter().find(|file| file.id() == run.thread).map_or(0, |of| of.bytes());
    let is_there =
        |end: Position| end.offset.get() < bytes || (end.offset.get() == bytes && end.exits == 0);
    run.outcome.is_some() && run.ranges.last().is_none_or(|range| is_there(range.end))
}
