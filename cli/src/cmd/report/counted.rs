//! What the rows of a report are sums of: the calls of a trace, or samples of it or of a log; of all threads together, or of
//! some.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use flow_codec::format::hpl::NATIVE_BCI;
use flow_codec::read::{Methods, Selection, ThreadFile, Trace};
use flow_codec::{Glob, MethodId, ThreadId};
use flow_query::analysis::{PathId, PathLimits, PathRow, PathTree};
use flow_query::profile::{Frame, FrameGrouping, Frames, GapRule};
use flow_query::rows::{GroupColumns, PlaceColumns};

use super::sums::{ReportSums, sums};
use crate::args::{By, ReportArgs, RowArgs, ThreadsBy};
use crate::failure::{Failure, Status};
use crate::input::flags::PartArgs;
use crate::input::samples::Samples;
use crate::input::source::{Source, has_raw_names};
use crate::input::times::{no_samples, scale_of, selected, times_note, weight_of};
use crate::output::{Labels, Out, Progress, Scale, Unit, Weight};
use flow_query::open::is_log;
use flow_query::reading::{ContextTree, Selected};
use flow_query::select::{file_title, methods_of, thread_name};

/// What is added up.
pub(crate) struct Counted<'a> {
    trace: &'a Trace,
    source: Counts<'a>,
    pub(crate) unit: Unit,
}

enum Counts<'a> {
    Calls(Selected),
    Samples(&'a Samples, Frames<'a>),
}

/// Threads that are one in a table.
pub(crate) struct Group<'a> {
    part: Part<'a>,
    unit: Unit,
    id: Option<ThreadId>,
    name: Option<String>,
    /// `7 main`; `None` for all threads.
    pub(crate) title: Option<String>,
}

enum Part<'a> {
    Calls(&'a Selected, &'a [ThreadFile]),
    Samples(&'a Samples, &'a Frames<'a>, BTreeSet<i64>),
}

/// The tree of a group.
pub(crate) struct GroupTree {
    pub(crate) tree: PathTree,
    /// The number of threads with calls or samples.
    pub(crate) threads: u64,
    pub(crate) status: Status,
}

impl<'a> Counted<'a> {
    /// The selected calls of a trace.
    pub(crate) fn of_calls(
        trace: &'a Trace,
        chosen: Selected,
        by: Option<By>,
    ) -> Result<Self, Failure> {
        Ok(Self { trace, source: Counts::Calls(chosen), unit: weight_of(by, trace)? })
    }

    /// The samples of a trace.
    pub(crate) fn of_samples(
        trace: &'a Trace,
        samples: &'a Samples,
        by: Option<By>,
        grouping: FrameGrouping,
    ) -> Result<Self, Failure> {
        let mut frames = Frames::new(&samples.profile, grouping);
        if has_raw_names() {
            frames.show_raw_names();
        }
        let unit = samples.weight_of(by, trace.dir())?;
        Ok(Self { trace, source: Counts::Samples(samples, frames), unit })
    }

    /// The methods of the rows.
    pub(crate) fn methods(&self) -> &Methods {
        match &self.source {
            Counts::Calls(_) => self.trace.methods(),
            Counts::Samples(_, frames) => frames.methods(),
        }
    }

    /// The method of a row, and where in it that is.
    pub(crate) fn frame(&self, row: MethodId) -> Frame {
        let known = match &self.source {
            Counts::Calls(_) => None,
            Counts::Samples(_, frames) => frames.get(row),
        };
        known.unwrap_or(Frame::of(row))
    }

    /// The name of a row, and where in the method that is.
    pub(crate) fn name(&self, row: MethodId, labels: &Labels<'_>) -> String {
        let PlaceColumns { source, line, bci } = self.place(row);
        labels.name(self.frame(row).method) + &place_text(source, line, bci)
    }

    /// Where in its method a row is.
    pub(crate) fn place(&self, row: MethodId) -> PlaceColumns<'_> {
        let Frame { method, line, bci } = self.frame(row);
        let known = self.methods().get(method);
        let (source, line) = known.map_or((None, line), |method| method.info().named_place(line));
        PlaceColumns { source, line, bci }
    }

    /// The groups of threads. Those of one name must follow each other in the trace.
    pub(crate) fn groups(&self, by: ThreadsBy) -> Vec<Group<'_>> {
        let unit = self.unit;
        match &self.source {
            Counts::Calls(chosen) => {
                let groups = groups_of_calls(self.trace, by).into_iter();
                let group = |(files, id, name, title)| Group {
                    part: Part::Calls(chosen, files),
                    unit,
                    id,
                    name,
                    title,
                };
                groups.map(group).collect()
            }
            Counts::Samples(samples, frames) => {
                let groups = groups_of_samples(samples, by).into_iter();
                let group = |(threads, id, name): (_, _, Option<&str>)| Group {
                    part: Part::Samples(samples, frames, threads),
                    unit,
                    id,
                    name: name.map(str::to_owned),
                    title: name.map(|name| title_of(id, name)),
                };
                groups.map(group).collect()
            }
        }
    }

    /// The weight of a path.
    pub(crate) fn weight(&self, tree: &PathTree, path: PathId) -> Option<Weight> {
        let weight = Weight::from(tree.row(path)?);
        let Counts::Samples(samples, _) = &self.source else { return Some(weight) };
        let has_time = tree.times_ns(tree.root())[0] > 0;
        let knows_waiting = samples.time == Unit::Nanos && tree.waiting_ns(tree.root()) > 0;
        let is_counted = self.unit == Unit::Samples;
        let times_ns = (has_time && is_counted).then(|| tree.times_ns(path));
        let waiting_ns = weight.waiting_ns.filter(|_| knows_waiting);
        Some(Weight { calls: None, times_ns, waiting_ns, ..weight })
    }

    /// Returns whether samples are added up.
    pub(crate) fn is_of_samples(&self) -> bool {
        matches!(self.source, Counts::Samples(..))
    }

    /// What weights are shown as parts of.
    pub(crate) fn scale(&self, all: u64) -> Scale {
        match &self.source {
            Counts::Calls(_) => scale_of(self.trace, self.unit, all),
            Counts::Samples(samples, _) => Scale::of_samples(self.unit, all, samples.time),
        }
    }

    /// Describes the precision of times.
    pub(crate) fn note(&self, is_rough: bool) -> Option<String> {
        (!self.is_of_samples() && self.unit.is_time())
            .then(|| times_note(self.trace, self.unit, is_rough))
    }

    /// Parses patterns that name some of the methods.
    pub(crate) fn globs(&self, patterns: &[String]) -> Result<Vec<Glob>, Failure> {
        let methods = || std::iter::once(self.methods());
        patterns.iter().map(|pattern| Ok(methods_of(pattern, methods)?)).collect()
    }

    /// Returns the callers or callees of the methods that match in a tree; the tree itself if none are requested.
    pub(crate) fn sides(&self, tree: PathTree, rows: &RowArgs, globs: &[Glob]) -> PathTree {
        let matches = |row| self.matches(row, globs);
        match (rows.callers.is_empty(), rows.callees.is_empty()) {
            (false, _) => tree.callers(matches),
            (_, false) => tree.callees(matches),
            _ => tree,
        }
    }

    /// Returns whether a row is of a method that matches.
    fn matches(&self, row: MethodId, globs: &[Glob]) -> bool {
        let info = self.methods().get(self.frame(row).method).map(|method| method.info());
        info.is_some_and(|info| globs.iter().any(|glob| glob.matches_name(info.into())))
    }
}

impl Group<'_> {
    /// The columns of the group, if threads are distinguished.
    pub(crate) fn columns(&self) -> Option<GroupColumns<'_>> {
        let thread_name = self.name.as_deref();
        self.title.as_ref().map(|_| GroupColumns { thread: self.id, thread_name })
    }

    /// The name of the threads; empty if they are not distinguished.
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// Adds up calls or samples by method.
    pub(super) fn sums(&self, counted: &Counted<'_>, progress: &mut Progress) -> ReportSums {
        if let Part::Calls(chosen, files) = &self.part {
            return sums(files, chosen, self.unit, progress);
        }
        let GroupTree { tree, threads, status } = self.tree(&Selection::all(), None, progress);
        let flat = tree.flat();
        let weight = |(path, row): (_, PathRow)| Some((row.method, counted.weight(&flat, path)?));
        let mut rows: Vec<_> = flat.rows().filter_map(weight).collect();
        rows.sort_by_key(|(_, weight)| Reverse(weight.total));
        let calls = tree.samples(tree.root());
        let (total, waiting) = (tree.weight(), tree.waiting_ns(tree.root()));
        ReportSums { rows, calls, total, waiting, threads, status, summary: self.summary(&tree) }
    }

    /// Adds up calls or samples by path. If `limits` is given, calls on paths that it does not allow may be left out.
    pub(crate) fn tree(
        &self,
        roots: &Selection,
        limits: Option<&dyn Fn(u64) -> PathLimits>,
        progress: &mut Progress,
    ) -> GroupTree {
        match &self.part {
            Part::Calls(chosen, files) => {
                let largest = limits.and_then(|limits| {
                    ContextTree::largest(files, chosen, roots, limits, progress)
                });
                let read = largest.unwrap_or_else(|| {
                    ContextTree::read(files, chosen, roots, self.unit.axis(), progress)
                });
                let (threads, status) = (read.threads(), read.soundness().into());
                GroupTree { tree: read.into_tree(), threads, status }
            }
            Part::Samples(samples, frames, threads) => GroupTree {
                tree: samples.tree(frames, threads, self.unit),
                threads: threads.len() as u64,
                status: samples.status,
            },
        }
    }

    /// Describes all samples; `None` of calls.
    pub(crate) fn summary_of_all(&self) -> Option<String> {
        match &self.part {
            Part::Calls(..) => None,
            Part::Samples(samples, frames, threads) => {
                Some(samples.summary(&samples.tree(frames, threads, self.unit), threads))
            }
        }
    }

    /// Describes the samples; `None` of calls.
    pub(crate) fn summary(&self, tree: &PathTree) -> Option<String> {
        match &self.part {
            Part::Calls(..) => None,
            Part::Samples(samples, _, threads) => Some(samples.summary(tree, threads)),
        }
    }
}

/// Files of threads, the id and the name of these, and their title.
type FilesOfGroup<'a> = (&'a [ThreadFile], Option<ThreadId>, Option<String>, Option<String>);

fn groups_of_calls(trace: &Trace, by: ThreadsBy) -> Vec<FilesOfGroup<'_>> {
    let name = |file: &ThreadFile| thread_name(trace, file.id()).to_owned();
    match by {
        ThreadsBy::Merged => vec![(trace.files(), None, None, None)],
        ThreadsBy::Name => {
            let groups = trace.files().chunk_by(|one, other| name(one) == name(other));
            let named = groups.map(|files| {
                let name = files.first().map(name).unwrap_or_default();
                let title = title_of(None, &name);
                (files, None, Some(name), Some(title))
            });
            named.collect()
        }
        ThreadsBy::Id => {
            let one = |files: &'_ [ThreadFile]| files.first().map(|file| file.id());
            let of_thread = |files| {
                let title = |file| file_title(trace, file);
                let file = <[ThreadFile]>::first(files);
                (files, one(files), file.map(name), file.map(title))
            };
            trace.files().chunks(1).map(of_thread).collect()
        }
    }
}

/// Threads, their id and their name.
type ThreadsOfGroup<'a> = (BTreeSet<i64>, Option<ThreadId>, Option<&'a str>);

fn groups_of_samples(samples: &Samples, by: ThreadsBy) -> Vec<ThreadsOfGroup<'_>> {
    let name = |thread| samples.profile.threads().get(&thread).map_or("", String::as_str);
    let threads = samples.threads.iter().copied();
    match by {
        ThreadsBy::Merged => vec![(samples.threads.clone(), None, None)],
        ThreadsBy::Name => {
            let mut by_name: BTreeMap<&str, BTreeSet<i64>> = BTreeMap::new();
            threads.for_each(|thread| {
                by_name.entry(name(thread)).or_default().insert(thread);
            });
            by_name.into_iter().map(|(name, threads)| (threads, None, Some(name))).collect()
        }
        ThreadsBy::Id => {
            let id = |thread: i64| ThreadId::new(thread.cast_unsigned());
            threads.map(|thread| ([thread].into(), Some(id(thread)), Some(name(thread)))).collect()
        }
    }
}

/// Selects the calls or samples of a source, whose threads may be one by name.
pub(crate) fn choose(
    source: &mut Source,
    part: &PartArgs,
    threads: ThreadsBy,
    of_samples: bool,
) -> Result<(), Failure> {
    if !of_samples {
        source.choose_part(part)?;
    } else if !source.traces.iter().all(|trace| is_log(trace.dir())) {
        if !source.has_samples() {
            let path = source.traces.path().display();
            return Err(match &source.traces[..] {
                [trace] => no_samples(trace),
                _ => Failure::Failed(format!(
                    "{path}: none of these traces has samples; flow record --sample 10ms takes them"
                )),
            });
        }
        source.traces.keep_sampled();
        part.filter.filter().expect_own(source.traces.iter())?;
        source.choose_tests(&part.tests)?;
    }
    if threads == ThreadsBy::Name {
        source.sort_threads();
    }
    Ok(())
}

/// The samples of a trace, if these are added up.
pub(crate) fn samples_of(
    source: &Source,
    trace: &Trace,
    of_samples: bool,
    part: &PartArgs,
    gaps: GapRule,
    out: &mut Out,
) -> Result<Option<Samples>, Failure> {
    if !of_samples {
        return Ok(None);
    }
    let samples = Samples::read(source, trace, part, gaps, out)?;
    samples.map(Some).ok_or_else(|| no_samples(trace))
}

/// What is added up: the samples, or if there are none the selected calls of a trace.
pub(super) fn counted<'a>(
    trace: &'a Trace,
    samples: Option<&'a Samples>,
    args: &ReportArgs,
) -> Result<Counted<'a>, Failure> {
    match samples {
        Some(samples) => Counted::of_samples(trace, samples, args.weight.by, args.frame_grouping()),
        None => {
            let chosen = selected(trace, &args.part.filter, &args.when)?;
            Counted::of_calls(trace, chosen, args.weight.by)
        }
    }
}

/// The groups of columns that no flag requests.
pub(crate) fn without(threads: ThreadsBy, has_places: bool) -> Vec<&'static str> {
    let groups = [("threads", threads != ThreadsBy::Merged), ("place", has_places)];
    groups.into_iter().filter(|(_, is_shown)| !is_shown).map(|(group, _)| group).collect()
}

/// `  Db.java:7 @8`: where in a method something is, after its name.
pub(crate) fn place_text(source: Option<&str>, line: Option<u32>, bci: Option<i32>) -> String {
    let line = line.map(|line| format!("  {}:{line}", source.unwrap_or("line")));
    let bci = bci.map(|bci| match bci {
        NATIVE_BCI => "  native".to_owned(),
        bci => format!(" @{bci}"),
    });
    line.unwrap_or_default() + &bci.unwrap_or_default()
}

/// `7 main`; only the name of threads that are one.
pub(crate) fn title_of(id: Option<ThreadId>, name: &str) -> String {
    match id {
        Some(id) if name.is_empty() => id.to_string(),
        Some(id) => format!("{id} {name}"),
        None if name.is_empty() => "without a name".to_owned(),
        None => name.to_owned(),
    }
}
