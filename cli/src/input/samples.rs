//! Samples of stacks: those of a trace, and those of a log.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use flow_codec::format::samples::SampleClock;
use flow_codec::read::{EventKind, HplReader, StackSamples, Tail, TimelineEvent, Trace};
use flow_codec::{Glob, Offset, ThreadId};
use flow_query::analysis::PathTree;
use flow_query::profile::{Collector, Frames, GapRule, LeanPlace, LeanProfile, TraceProfile};

use super::flags::{By, PartArgs, TestArgs};
use super::source::Source;
use crate::failure::{Failure, Status};
use crate::output::{
    Out, Progress, Unit, duration, escaped, flow_command, grouped, message, plural,
};
use flow_query::open::is_log;
use flow_query::reading::{Listener as _, Soundness};
use flow_query::select::is_thread as is_of_trace;
use flow_query::text::is_like;

/// Progress is shown after this many items.
const ITEMS_PER_STEP: u64 = 1 << 12;

/// The selected samples of a trace or a log.
#[derive(Debug)]
pub(crate) struct Samples {
    pub(crate) profile: LeanProfile,
    /// What their time is.
    pub(crate) time: Unit,
    /// The selected threads.
    pub(crate) threads: BTreeSet<i64>,
    /// Of which methods frames are shown.
    part: PartArgs,
    include: Vec<Glob>,
    pub(crate) status: Status,
}

impl Samples {
    /// Reads the samples of a trace of a source, or of the log in its place. `None` if a trace has none.
    pub(crate) fn read(
        source: &Source,
        trace: &Trace,
        part: &PartArgs,
        gaps: GapRule,
        out: &mut Out,
    ) -> Result<Option<Self>, Failure> {
        let part = part.clone();
        if part.is_of_one_call() || part.context.is_some() {
            let text = "--in, --request and --context are for traces with calls: samples do not know single calls";
            return Err(Failure::Usage(text.to_owned()));
        }
        if is_log(trace.dir()) {
            if part.filter.own || !part.tests.patterns.is_empty() {
                return Err(Failure::Usage(
                    "--own and --test are for traces: a log has neither the application's packages nor tests"
                        .to_owned(),
                ));
            }
            let (profile, status) = read_log(trace.dir(), gaps, out)?;
            let include = part.filter.include.iter().map(|pattern| Glob::new(pattern)).collect();
            let samples = Self {
                profile,
                time: Unit::Nanos,
                threads: BTreeSet::new(),
                part,
                include,
                status,
            };
            let is_thread = |id: i64, name: &str, pattern: &str| {
                pattern == id.to_string()
                    || is_like(name, pattern)
                    || is_like(&escaped(name), pattern)
            };
            return samples.selected(trace.dir(), is_thread).map(Some);
        }
        let Some(read) = read_samples(trace, &part.tests)? else { return Ok(None) };
        let status = source.status.and(Soundness::skipping(read.damage(), &Progress::hidden()));
        let time = match read.clock() {
            SampleClock::Cpu => Unit::Cpu,
            SampleClock::Wall => Unit::Nanos,
        };
        let include = part.filter.filter().included(trace);
        let samples = Self {
            profile: read.into_profile(),
            time,
            threads: BTreeSet::new(),
            part,
            include,
            status,
        };
        let is_thread = |id: i64, _: &str, pattern: &str| {
            let id = u64::try_from(id).ok().map(ThreadId::new);
            id.is_some_and(|id| is_of_trace(trace, id, pattern))
        };
        samples.selected(trace.dir(), is_thread).map(Some)
    }

    /// Selects threads.
    fn selected(
        mut self,
        path: &Path,
        is_thread: impl Fn(i64, &str, &str) -> bool,
    ) -> Result<Self, Failure> {
        let patterns = &self.part.threads.patterns;
        let threads = || self.profile.threads().iter();
        for pattern in patterns {
            if !threads().any(|(id, name)| is_thread(*id, name, pattern)) {
                let path = path.display();
                return Err(Failure::Failed(format!(
                    "{path}: no thread '{pattern}'; {} lists them",
                    flow_command("report --samples --per-thread --tree --depth 1")
                )));
            }
        }
        let is_selected = |id: i64, name: &str| {
            patterns.is_empty() || patterns.iter().any(|pattern| is_thread(id, name, pattern))
        };
        let of_samples = self.profile.nodes().filter_map(|node| match node.place {
            LeanPlace::Thread(thread) => Some(thread),
            LeanPlace::Frame(_) => None,
        });
        let name = |id| self.profile.threads().get(&id).map_or("", String::as_str);
        let threads = of_samples.filter(|id| is_selected(*id, name(*id))).collect();
        self.threads = threads;
        Ok(self)
    }

    /// Returns what samples weigh: 1, or their time if that is requested.
    ///
    /// # Errors
    /// They were taken by another time.
    pub(crate) fn weight_of(&self, by: Option<By>, path: &Path) -> Result<Unit, Failure> {
        let (has, other) = match (by, self.time) {
            (Some(By::Wall), Unit::Cpu) => ("CPU time", "cpu"),
            (Some(By::Cpu), Unit::Nanos) => ("wall-clock time", "wall"),
            (Some(By::Wall | By::Cpu), time) => return Ok(time),
            (None | Some(By::Calls), _) => return Ok(Unit::Samples),
        };
        let path = path.display();
        Err(Failure::Failed(format!("{path}: samples were taken by {has}; use --by {other}")))
    }

    /// How many samples of some threads failed.
    pub(crate) fn failed(&self, threads: &BTreeSet<i64>) -> u64 {
        threads.iter().map(|thread| self.profile.failed_in(*thread)).sum()
    }

    /// Adds up the samples of some threads by path.
    pub(crate) fn tree(
        &self,
        frames: &Frames<'_>,
        threads: &BTreeSet<i64>,
        unit: Unit,
    ) -> PathTree {
        let filter = self.part.filter.filter();
        frames.tree(
            |thread| threads.contains(&thread),
            |method| filter.shows(&self.include, method.into()),
            unit.axis(),
        )
    }

    /// `1,234 samples (12 failed) in 5 threads lasted 12.3 s, added up`.
    pub(crate) fn summary(&self, tree: &PathTree, threads: &BTreeSet<i64>) -> String {
        let failed = match self.failed(threads) {
            0 => String::new(),
            failed => format!(" ({} failed)", grouped(failed)),
        };
        let samples = plural(tree.samples(tree.root()), "sample");
        let ([ns, _], waiting_ns) = (tree.times_ns(tree.root()), tree.waiting_ns(tree.root()));
        let lasted = match (ns, self.time) {
            (0, _) => String::new(),
            (ns, Unit::Cpu) => format!(" ran for {}", duration(ns)),
            (ns, _) if waiting_ns == 0 => format!(" lasted {}, added up", duration(ns)),
            (ns, _) => {
                let waiting = duration(waiting_ns);
                format!(" lasted {}, added up, {waiting} of it waiting", duration(ns))
            }
        };
        format!("{samples}{failed} in {}{lasted}", plural(threads.len() as u64, "thread"))
    }
}

/// The samples of a trace, or those that were taken while its selected tests ran, if tests are selected.
pub(crate) fn read_samples(
    trace: &Trace,
    tests: &TestArgs,
) -> Result<Option<TraceProfile>, Failure> {
    if tests.patterns.is_empty() {
        return Ok(TraceProfile::read(trace)?);
    }
    let is_read = |thread| trace.files().iter().any(|file| file.id() == thread);
    let Some(samples) = StackSamples::read(trace, is_read)? else { return Ok(None) };
    let mut inside = HashSet::new();
    for file in trace.files() {
        for event in file.timeline()?.with_samples(&samples, file.id()) {
            if let Ok(TimelineEvent { kind: EventKind::Sample(sample), .. }) = event {
                inside.insert((file.id(), sample.at_ns()));
            }
        }
    }
    let read =
        TraceProfile::read_chosen(trace, |sample| inside.contains(&(sample.thread, sample.at_ns)));
    Ok(read?)
}

/// Reads a log to its end.
pub(crate) fn read_log(
    path: &Path,
    gaps: GapRule,
    out: &mut Out,
) -> Result<(LeanProfile, Status), Failure> {
    let mut reader = HplReader::open(path)?;
    let bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let mut progress = Progress::new(bytes, out);
    let mut collector = Collector::new(gaps);
    let (mut status, mut items) = (Status::Done, 0_u64);
    loop {
        match reader.next_item() {
            Ok(Some(item)) => collector.add(&item),
            Ok(None) => break,
            Err(error) => {
                progress.message(&error.to_string());
                status = Status::Damaged;
                break;
            }
        }
        items += 1;
        if items.is_multiple_of(ITEMS_PER_STEP) {
            progress.at(Offset::new(reader.position()));
        }
    }
    progress.file_done(bytes);
    let samples = collector.finish();
    let path = path.display();
    let mut expected_cut = 0;
    if let Tail::Truncated { offset } = reader.tail() {
        expected_cut = 1;
        progress.message(&format!(
            "{path}: ends inside a sample or a name, at offset {offset}: it was cut, or is still being written"
        ));
        status = status.and(Status::Partial);
    }
    if samples.cut() > expected_cut {
        let cut = plural(samples.cut(), "sample");
        progress.message(&format!("{path}: {cut} without all of their frames left out"));
        status = status.and(Status::Partial);
    }
    drop(progress);
    if samples.samples() == 0 {
        message(&format!("{path}: no samples"));
    }
    Ok((samples, status))
}
