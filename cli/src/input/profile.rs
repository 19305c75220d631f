//! Reads profiles: from logs of samples, and from traces, whose calls are counted exactly.

use std::collections::HashSet;
use std::path::Path;

use flow_codec::format::samples::SampleClock;
use flow_codec::read::{EventKind, HplReader, Selection, StackSamples, Tail, TimelineEvent, Trace};
use flow_codec::{Glob, Offset, ThreadId};
use flow_query::analysis::Run;
use flow_query::profile::{Collector, GapRule, LeanProfile, Profile, TraceProfile};

use super::flags::{By, PartArgs, SourceArgs, TestArgs};
use super::logs::is_log;
use super::own;
use super::source::{Source, has_raw_names, is_like, matches};
use super::times::{no_samples, weight_of};
use crate::failure::{Failure, Status};
use crate::output::{Format, Out, Progress, Unit, escaped, flow_command, message, plural};
use flow_query::reading::{ContextTree, Listener as _, Selected};

/// Progress is shown after this many items.
const ITEMS_PER_STEP: u64 = 1 << 12;

/// What a profile was made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// Samples: how many of them failed, and what their time is.
    Samples { failed: u64, unit: Unit },
    /// Calls, and the time that was added up.
    Calls(Unit),
}

/// What was added to a profile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Added {
    pub(crate) origin: Origin,
    /// The number of threads with samples or calls.
    pub(crate) threads: u64,
    pub(crate) status: Status,
}

/// What to add to a profile.
pub(crate) struct Input<'a> {
    pub(crate) path: &'a Path,
    pub(crate) part: &'a PartArgs,
    pub(crate) gaps: GapRule,
    pub(crate) takes: Takes,
    /// The weight that is requested.
    pub(crate) by: Option<By>,
}

/// What is taken from a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Takes {
    Samples,
    Calls,
    /// Samples if there are some, else calls.
    Any,
}

impl Input<'_> {
    /// Adds a log or a trace, which may be opened already, to a run of a profile. Returns what it was, and how that went.
    pub(crate) fn add_to(
        &self,
        profile: &mut Profile,
        run: Run,
        opened: Option<Source>,
        out: &mut Out,
    ) -> Result<Added, Failure> {
        if has_raw_names() {
            profile.show_raw_names();
        }
        if is_log(self.path) && self.takes != Takes::Calls {
            self.expect_weight(Unit::Nanos)?;
            let (samples, status) = read_log(self.path, self.gaps, out)?;
            let is_thread = |id: i64, name: &str, pattern: &str| {
                pattern == id.to_string()
                    || is_like(name, pattern)
                    || is_like(&escaped(name), pattern)
            };
            if self.part.filter.own || !self.part.tests.patterns.is_empty() {
                return Err(Failure::Usage(
                    "--own and --test are for traces: a log has neither the application's packages nor tests"
                        .to_owned(),
                ));
            }
            let include: Vec<_> =
                self.part.filter.include.iter().map(|pattern| Glob::new(pattern)).collect();
            let (threads, failed) =
                self.add_samples(profile, run, &samples, &include, is_thread)?;
            let origin = Origin::Samples { failed, unit: Unit::Nanos };
            return Ok(Added { origin, threads, status });
        }
        let dir = self.path.to_path_buf();
        let open = || Source::open(&SourceArgs { dir, format: Format::Text });
        let mut source = opened.map_or_else(open, Ok)?;
        if self.takes != Takes::Calls
            && let Some(added) = self.add_sampled(profile, run, &mut source)?
        {
            return Ok(added);
        }
        if self.takes == Takes::Samples {
            let trace = source.only("name")?;
            return Err(no_samples(trace));
        }
        source.choose_part(self.part)?;
        source.report_losses();
        let mut progress = Progress::new(source.bytes(), out);
        // Several traces of a run were recorded alike.
        let mut added =
            Added { origin: Origin::Calls(Unit::Calls), threads: 0, status: source.status };
        for trace in &source.traces {
            let unit = weight_of(self.by, trace)?;
            added.origin = Origin::Calls(unit);
            let chosen = Selected::of(self.part.filter.selection(trace));
            add_calls(profile, run, trace, &chosen, unit, &mut added, &mut progress);
        }
        Ok(added)
    }

    /// Refuses a time that samples do not have: they were taken by CPU time or by wall-clock time.
    fn expect_weight(&self, unit: Unit) -> Result<(), Failure> {
        let (has, by) = match (self.by, unit) {
            (Some(By::Wall), Unit::Cpu) => ("CPU time", "cpu"),
            (Some(By::Cpu), Unit::Nanos) => ("wall-clock time", "wall"),
            _ => return Ok(()),
        };
        let path = self.path.display();
        Err(Failure::Failed(format!("{path}: samples were taken by {has}; use --by {by}")))
    }

    /// Adds the samples of traces; `None` if they have none.
    fn add_sampled(
        &self,
        profile: &mut Profile,
        run: Run,
        source: &mut Source,
    ) -> Result<Option<Added>, Failure> {
        let mut added: Option<Added> = None;
        let mut is_sampled = |trace: &Trace| trace.samples().is_ok_and(|samples| samples.is_some());
        if !source.traces.iter().any(&mut is_sampled) {
            return Ok(None);
        }
        own::check(&self.part.filter, &source.traces)?;
        source.choose_tests(&self.part.tests)?;
        for trace in &source.traces {
            let Some(read) = read_samples(trace, &self.part.tests)? else { continue };
            let mut status = source.status;
            for error in &read.damage {
                status = Status::Damaged;
                message(&error.to_string());
            }
            let is_thread = |id: i64, _: &str, pattern: &str| {
                let id = u64::try_from(id).ok().map(ThreadId::new);
                id.is_some_and(|id| matches(trace, id, pattern))
            };
            let include = self.part.filter.included(trace);
            let (threads, failed) =
                self.add_samples(profile, run, &read.profile, &include, is_thread)?;
            let unit = match read.clock {
                SampleClock::Cpu => Unit::Cpu,
                SampleClock::Wall => Unit::Nanos,
            };
            self.expect_weight(unit)?;
            let before = match added {
                Some(Added { origin: Origin::Samples { failed, .. }, threads, .. }) => {
                    (threads, failed)
                }
                _ => (0, 0),
            };
            let origin = Origin::Samples { failed: before.1 + failed, unit };
            added = Some(Added { origin, threads: before.0 + threads, status });
        }
        Ok(added)
    }

    /// Adds the samples of the selected threads. Returns how many these are, and how many of their samples failed.
    fn add_samples(
        &self,
        profile: &mut Profile,
        run: Run,
        samples: &LeanProfile,
        include: &[Glob],
        is_thread: impl Fn(i64, &str, &str) -> bool,
    ) -> Result<(u64, u64), Failure> {
        let patterns = &self.part.threads.patterns;
        for pattern in patterns {
            let mut threads = samples.threads().iter();
            if !threads.any(|(id, name)| is_thread(*id, name, pattern)) {
                let path = self.path.display();
                return Err(Failure::Failed(format!(
                    "{path}: no thread '{pattern}'; {} lists them",
                    flow_command("report --samples --per-thread --tree --depth 1")
                )));
            }
        }
        let (mut threads, mut failed) = (0, 0);
        let chosen = |id: i64, name: &str| {
            let is_chosen =
                patterns.is_empty() || patterns.iter().any(|pattern| is_thread(id, name, pattern));
            if is_chosen {
                threads += 1;
                failed += samples.failed_in(id);
            }
            is_chosen
        };
        let filter = &self.part.filter;
        profile
            .add_samples(run, samples, chosen, |method| filter.shows(include, method.full_name()));
        Ok((threads, failed))
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
    let is_read = |thread| trace.files.iter().any(|file| file.id == thread);
    let Some(samples) = StackSamples::read(trace, is_read)? else { return Ok(None) };
    let mut inside = HashSet::new();
    for file in &trace.files {
        for event in file.timeline()?.with_samples(&samples, file.id) {
            if let Ok(TimelineEvent { kind: EventKind::Sample(sample), .. }) = event {
                inside.insert((file.id, sample.at_ns));
            }
        }
    }
    let read =
        TraceProfile::read_chosen(trace, |sample| inside.contains(&(sample.thread, sample.at_ns)));
    Ok(read?)
}

/// Reads a log to its end.
fn read_log(path: &Path, gaps: GapRule, out: &mut Out) -> Result<(LeanProfile, Status), Failure> {
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

/// Adds the calls of a trace, thread by thread.
fn add_calls(
    profile: &mut Profile,
    run: Run,
    trace: &Trace,
    chosen: &Selected,
    unit: Unit,
    added: &mut Added,
    progress: &mut Progress,
) {
    let all = Selection::all();
    for file in &trace.files {
        let read =
            ContextTree::read(std::slice::from_ref(file), chosen, &all, unit.axis(), progress);
        added.status = added.status.and(read.status);
        let name = trace.threads.get(file.id).map_or("", |thread| thread.name.as_str());
        if !read.tree.is_empty() {
            profile.add_calls(run, file.id, name, &read.tree, &trace.methods);
            added.threads += 1;
        }
    }
}
