//! Reads a trace and builds its page.

use std::num::NonZeroU64;

use flow_codec::read::{
    EventKind, StackSamples, Stamp, ThreadFile, TimeLimits, TimelineEvent, Trace, Unwound,
    VisitTimeline,
};
use flow_codec::{MethodId, ThreadId};
use flow_query::dag::MAX_SIZE;

use super::charts::gather::{Gather, ThreadSums};
use super::charts::kinds::MethodKinds;
use super::charts::lane::Lane;
use super::data::{Data, flat_edges};
use super::facts::{Head, LeftOut, Note};
use super::marks::Marks;
use super::names::PageMethods;
use super::of_calls::instants::Instants;
use super::page::{REPORT, assemble};
use super::panels::Panels;
use super::panels::handed::HandedParts;
use super::panels::ran_tests::TestCalls;
use super::rough::{Rough, rough};
use super::shapes::{JoinedThreads, PageShapes};
use super::threads::{PageThread, Threads, flat_boxes};
use crate::failure::{Failure, Status};
use crate::input::flags::By;
use crate::input::times::timing;
use crate::output::{Format, Labels, Progress, Unit};
use flow_query::open::Request;
use flow_query::reading::{Ending, Listener as _, Reading, Selected, read_timeline, start_ns};
use flow_query::select::Select;
use flow_query::shapes::read_shapes;

/// The most boxes of the flame graph of all threads.
const FLAME_BOXES: usize = 15_000;

/// Reads a trace, whose calls and tests are those that are selected. Returns its page. `request` is what the trace was reduced to, if that is a
/// request, and how it is named.
///
/// # Errors
/// The data cannot be written as JSON.
pub(crate) fn page(
    trace: &Trace,
    (chosen, select): (&Selected, Select),
    request: Option<(Request, String)>,
    by: Option<By>,
    notes: Vec<Note>,
) -> Result<(Vec<u8>, Status), Failure> {
    let bytes = trace.files().iter().map(|file| file.bytes()).sum();
    let mut progress = Progress::without_results(bytes);
    let mut status = Status::Done;
    let timing = timing(trace);
    let scale = if timing.is_off() { Unit::Calls } else { Unit::Nanos };
    // A range of time has no CPU time: where it begins and ends is not known on that axis.
    let has_cpu =
        by != Some(By::Wall) && chosen.limits() == TimeLimits::NONE && trace.has_cpu_time();
    let kinds = MethodKinds::new(trace);
    let knows_own = kinds.knows_own();
    let mut gather = Gather::new(kinds);
    let (mut marks, mut of_tests) = (Marks::default(), TestCalls::default());
    let mut handed = handed_parts(trace, request, &mut progress);
    let is_shown = |thread| trace.files().iter().any(|file| file.id() == thread);
    let samples = StackSamples::read(trace, is_shown)?;
    let labels = Labels::new(trace.methods(), Format::Text, false);
    let sampled = samples.as_ref().map(|samples| (samples, &labels));
    let mut threads = Threads::new(trace, scale == Unit::Nanos);
    let rough = std::thread::scope(|scope| {
        let rough = scope.spawn(|| rough_sums(trace, chosen, scale, has_cpu));
        for file in trace.files() {
            let budget = threads.next_budget();
            gather.begin_thread(budget, threads.next_details());
            handed.begin_thread(file.id(), threads.lists_next());
            let of_instants = budget.filter(|_| scale == Unit::Nanos).map(|budget| budget.instants);
            let mut instants = Instants::with_budget(of_instants.unwrap_or(0));
            let (reading, sums) = read(
                trace,
                file,
                chosen,
                (scale, has_cpu),
                &mut progress,
                (&mut gather, &mut marks, &mut instants, &mut of_tests, &mut handed),
                sampled,
            );
            marks.end_samples(&labels);
            let of_thread = marks.end_thread(sums.end);
            threads.add(file, sums, instants.finish(), of_thread, &reading);
            status = status.and(reading.report(file, &progress));
        }
        rough.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let (methods, flame) = gather.finish();
    let (edges, more_calls) = (flame.edges(), flame.more_calls());
    let flame = flame.finish(FLAME_BOXES);
    let shown = threads.shown().chain(flame.iter().map(|cell| cell.method));
    let names = PageMethods::new(trace.methods(), &methods, &rough, shown);
    let joined = join_shapes(trace, chosen, &mut threads, &names, &mut progress);
    let mut rows = threads.rows(&names);
    let shapes = page_shapes(joined, &mut rows, &names.further()?);
    let mut facts = Head::new(trace, notes);
    facts.timing(trace, timing, has_cpu, rough.values().flatten().any(|rough| *rough));
    facts.left_out(LeftOut {
        calls_by_path: more_calls,
        marks: marks.more(),
        samples: marks.more_samples(),
        valued_calls: threads.more_details().values,
        thrown: threads.more_details().exceptions,
        parts: handed.more(),
    });
    let is_filtered = !chosen.is_all() || trace.files().iter().any(|file| file.parts().is_some());
    let shown = ((chosen, select), (&names, &labels), samples.as_ref());
    let panels = Panels::read(trace, shown, (of_tests, handed), is_filtered, &mut progress)?;
    let data = Data {
        unit: scale.word(),
        has_cpu,
        is_filtered,
        knows_own,
        flame: flat_boxes(&flame, &names),
        flame_end: flame.iter().map(|cell| cell.end).max().unwrap_or(0),
        edges: flat_edges(&edges, &names),
        threads: rows,
        more_threads: threads.more(&names),
        texts: threads.texts(),
        panels,
        end: threads.end(),
        names: &names,
        facts,
    };
    Ok((assemble(&REPORT, &data, &shapes.text)?, status))
}

/// The parts of the request, or if nothing is selected, of all that threads did.
fn handed_parts(
    trace: &Trace,
    request: Option<(Request, String)>,
    progress: &mut Progress,
) -> HandedParts {
    match request {
        Some((request, title)) => HandedParts::new(&request, Some(title)),
        None if trace.files().iter().any(|file| file.parts().is_some()) => HandedParts::default(),
        None => HandedParts::new(&Request::of_all(trace, progress), None),
    }
}

/// Finds which sums are known only roughly, if there are times.
fn rough_sums(trace: &Trace, chosen: &Selected, scale: Unit, has_cpu: bool) -> Rough {
    match scale {
        Unit::Nanos if has_cpu => rough::<true>(trace, chosen),
        Unit::Nanos => rough::<false>(trace, chosen),
        _ => Rough::default(),
    }
}

/// Reads the shapes of the listed threads.
fn join_shapes(
    trace: &Trace,
    chosen: &Selected,
    threads: &mut Threads<'_>,
    names: &PageMethods,
    progress: &mut Progress,
) -> JoinedThreads {
    let mut joined = JoinedThreads::default();
    threads.set_shapes(|file, calls| {
        progress.expect_more(file.bytes());
        let (dag, _) = read_shapes(file, chosen, start_ns(trace, file), MAX_SIZE, progress);
        joined.add(dag.as_ref(), calls, |id| names.in_shapes(id))
    });
    joined
}

/// The place of a method among joined shapes, which are numbered by places.
fn method_place(method: MethodId) -> u32 {
    u32::try_from(method.get()).unwrap_or(u32::MAX)
}

/// The shapes of the calls of these threads.
fn page_shapes(joined: JoinedThreads, rows: &mut [PageThread], names: &str) -> PageShapes {
    let all = joined.finish();
    let with_shapes = rows.iter().filter_map(|row| Some((row.joined()?, row.instants())));
    let (roots, instants): (Vec<_>, Vec<_>) = with_shapes.unzip();
    let shapes = PageShapes::new(&all, &roots, method_place, names, |root| {
        instants.get(root).copied().unwrap_or_default()
    });
    rows.iter_mut().for_each(|row| row.set_shape(&shapes));
    shapes
}

/// What each thread is read for.
type Visited<'a> =
    (&'a mut Gather, &'a mut Marks, &'a mut Instants, &'a mut TestCalls, &'a mut HandedParts);

/// Reads a thread.
fn read(
    trace: &Trace,
    file: &ThreadFile,
    chosen: &Selected,
    (scale, has_cpu): (Unit, bool),
    progress: &mut Progress,
    (gather, marks, instants, of_tests, handed): Visited<'_>,
    sampled: Option<(&StackSamples, &Labels<'_>)>,
) -> (Reading, ThreadSums) {
    let start_ns = start_ns(trace, file);
    let opened = chosen.timeline(file, start_ns);
    let mut timeline = match opened {
        Ok(timeline) => match sampled {
            Some((samples, _)) => timeline.with_samples(samples, file.id()),
            None => timeline,
        }
        .with_values()
        .with_handlers()
        .with_waits(),
        Err(error) => return (Reading::failed(error), gather.end_thread(0, 0)),
    };
    let thread = file.id();
    let mut scaled = Scaled {
        gather,
        marks,
        instants,
        of_tests,
        handed,
        thread,
        sampled,
        scale,
        start_ns,
        has_cpu,
    };
    let mut reading = read_timeline(file, &mut timeline, progress, &mut scaled);
    scaled.handed.end_thread(scaled.gather);
    let (mut end, weight) = scaled.at(timeline.now());
    reading.add_marks(timeline.into_damage());
    if scale == Unit::Nanos && reading.ending() != Ending::Stopped && gather.open_frames() > 0 {
        // Open calls last until the thread ends.
        let end_ns = trace.threads().get(file.id()).and_then(|thread| thread.end_ns);
        let trace_end = || Some(trace.manifest()?.end.as_ref()?.at_ns);
        end = end.max(end_ns.or_else(trace_end).unwrap_or(0)).min(chosen.limits().to_ns);
    }
    let mut sums = gather.end_thread(end, if has_cpu { weight } else { end });
    if scale == Unit::Nanos
        && let Some(cpu) = Lane::of_cpu(file)
    {
        sums.active = sums.active.min(cpu.active());
        sums.lane.limit(cpu);
    }
    (reading, sums)
}

/// Passes calls on, with times in the unit of the page.
struct Scaled<'a> {
    gather: &'a mut Gather,
    marks: &'a mut Marks,
    instants: &'a mut Instants,
    of_tests: &'a mut TestCalls,
    handed: &'a mut HandedParts,
    thread: ThreadId,
    sampled: Option<(&'a StackSamples, &'a Labels<'a>)>,
    scale: Unit,
    start_ns: u64,
    /// Whether weights are CPU time, not the time of the timeline.
    has_cpu: bool,
}

impl Scaled<'_> {
    #[inline(always)]
    /// The time in the unit of the page, and the weight that has passed by then.
    fn at(&self, at: Stamp) -> (u64, u64) {
        let time = self.scale.at(at.time, at.calls, self.start_ns);
        (time, if self.has_cpu { at.time.cpu_ns.unwrap_or(0) } else { time })
    }
}

impl Scaled<'_> {
    #[inline]
    fn end_samples(&mut self) {
        if let Some((_, labels)) = self.sampled {
            self.marks.end_samples(labels);
        }
    }
}

impl VisitTimeline for Scaled<'_> {
    #[inline]
    fn enter(&mut self, method: MethodId, at: Stamp) -> bool {
        self.end_samples();
        self.handed.pass(at.position, self.gather);
        self.instants.pass(1, at.time);
        let (at, weight) = self.at(at);
        self.gather.enter(method, at, weight);
        true
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64, at: Stamp, unwound: Option<&Unwound>) -> bool {
        self.end_samples();
        self.handed.pass(at.position, self.gather);
        // Frames that were entered before recording began are not among the shapes.
        self.instants.pass(count.get().min(self.gather.open_frames() as u64), at.time);
        let (at, weight) = self.at(at);
        self.gather.exit(count, at, weight, unwound);
        true
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        let at = self.scale.at(event.time, event.calls, self.start_ns);
        match (&event.kind, self.sampled) {
            (EventKind::Sample(sample), Some((samples, labels))) => {
                self.marks.sample((sample, samples), self.gather.innermost(), at, labels);
            }
            (EventKind::Values(values), _) => self.gather.add_values(values),
            (kind, _) => {
                self.of_tests.add(self.thread, kind, self.gather.calls());
                self.marks.add(kind, at);
            }
        }
        true
    }
}
