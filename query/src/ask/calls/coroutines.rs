//! Finds calls of suspend functions and lambdas of Kotlin, each once, however often it was resumed.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use flow_codec::format::roles::MethodRole;
use flow_codec::format::values::Role;
use flow_codec::read::{Bounds, Call, Selection, ThreadFile, Timeline, Trace};
use flow_codec::{MethodId, ThreadId};

use super::with_values::Conditions;
use super::{FoundCall, InTrace, Order, Searched, times_of};
use crate::Error;
use crate::analysis::{COROUTINES, Coroutine, FindCoroutines, recorded_roles};
use crate::reading::{Listener, Soundness, read_all_with_values};
use crate::select::{Selected, start_ns};

/// The parts of a call of a suspend function or lambda.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CoroutineParts {
    /// How often it was resumed.
    pub resumptions: u64,
    /// In how many threads it ran.
    pub threads: u64,
    /// How long its parts lasted together: without the time for which it was suspended.
    pub running_ns: u64,
    /// The bounds of that.
    pub running: Bounds,
    /// Whether it is known where it began; otherwise the first part is a resumption.
    pub has_beginning: bool,
}

/// A coroutine as far as it was read.
#[derive(Debug)]
struct Folded {
    /// The call as a whole: the beginning of the first part, the end of the last one.
    call: Call,
    /// The thread of the first part, by its number.
    file: usize,
    parts: CoroutineParts,
    /// The threads of all parts.
    files: BTreeSet<usize>,
}

impl InTrace<'_> {
    pub(super) fn folded<E: From<Error>>(
        &self,
        listener: &mut impl Listener,
        mut each: impl FnMut(FoundCall) -> Result<(), E>,
    ) -> Result<Searched, E> {
        let (asked, trace) = (self.search.asked, self.trace);
        let roles = recorded_coroutines(trace)?;
        let mut searched = Searched::default();
        let (mut coroutines, soundness) = find(trace, roles, listener);
        searched.reading(soundness);
        let methods = self.search.methods(trace);
        coroutines.retain(|coroutine| methods.contains(coroutine.method));
        let mut folded = read_parts(trace, &coroutines, &self.conditions(), listener);
        folded.retain(|of| {
            asked.has_time(&times_of(&of.call)) && self.holds(&of.call, &mut searched)
        });
        match asked.order {
            Order::Longest => {
                folded.sort_by_key(|of| (Reverse(of.call.duration_ns()), of.file, of.call.number))
            }
            Order::Begun => {
                folded.sort_by_key(|of| (of.call.start.estimate_ns, of.file, of.call.number))
            }
        }
        folded.truncate(asked.most);
        let (calls, parts): (Vec<_>, Vec<_>) =
            folded.into_iter().map(|of| ((of.file, of.call), of.parts)).unzip();
        let mut parts = parts.into_iter();
        self.pass_longest(calls, &Selection::all(), listener, |call| {
            each(FoundCall { parts: parts.next(), ..call })
        })?;
        Ok(searched)
    }
}

/// Returns the methods that say which call a resumption continues, with their roles.
///
/// # Errors
/// That was not recorded.
fn recorded_coroutines(trace: &Trace) -> Result<HashMap<MethodId, MethodRole>, Error> {
    recorded_roles(trace, COROUTINES, "which call a resumption continues", "--coroutines")
}

/// Finds the coroutines of a trace by the roles of its methods.
fn find(
    trace: &Trace,
    roles: HashMap<MethodId, MethodRole>,
    listener: &mut impl Listener,
) -> (Vec<Coroutine>, Soundness) {
    let mut find = FindCoroutines::new(trace.methods(), roles);
    // Empty threads are not read.
    let files = trace.files().iter().filter(|file| file.bytes() > 0);
    let numbers: HashMap<_, _> = files.map(ThreadFile::id).zip(0..).collect();
    let begin = |find: &mut FindCoroutines<'_>, thread: ThreadId| {
        find.begin_thread(numbers.get(&thread).copied().unwrap_or(usize::MAX));
    };
    let soundness =
        read_all_with_values(trace, listener, &mut find, begin, |find, _| find.end_thread());
    (find.end(), soundness)
}

/// How long the calls of a suspend function or lambda lasted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct CoroutineTimes {
    /// All calls together, each from its first entry to its last exit.
    pub total_ns: u64,
    /// All calls together, without the time for which they were suspended.
    pub running_ns: u64,
    /// The longest of them.
    pub longest_ns: u64,
}

/// Adds up how long the calls of each suspend function and lambda lasted that began while the trace was recorded. `None` if it was
/// not recorded which call a resumption continues.
pub(in crate::ask) fn coroutine_times(
    trace: &Trace,
    listener: &mut impl Listener,
) -> Option<HashMap<MethodId, CoroutineTimes>> {
    let roles = recorded_coroutines(trace).ok()?;
    let (coroutines, _) = find(trace, roles, listener);
    let conditions = Conditions { methods: trace.methods(), conditions: &[] };
    let mut times: HashMap<MethodId, CoroutineTimes> = HashMap::new();
    for Folded { call, parts, .. } in read_parts(trace, &coroutines, &conditions, listener) {
        let Some(lasted_ns) = call.duration_ns().filter(|_| parts.has_beginning) else { continue };
        let of_method = times.entry(call.method).or_default();
        of_method.total_ns = of_method.total_ns.saturating_add(lasted_ns);
        of_method.running_ns = of_method.running_ns.saturating_add(parts.running_ns);
        of_method.longest_ns = of_method.longest_ns.max(lasted_ns);
    }
    Some(times)
}

/// Reads the parts of coroutines.
fn read_parts(
    trace: &Trace,
    coroutines: &[Coroutine],
    conditions: &Conditions<'_>,
    listener: &mut impl Listener,
) -> Vec<Folded> {
    let mut places = HashMap::new();
    for (number, coroutine) in coroutines.iter().enumerate() {
        places.extend(coroutine.parts.iter().enumerate().map(|(part, at)| (*at, (number, part))));
    }
    let mut parts: Vec<Vec<Option<(usize, Call)>>> =
        coroutines.iter().map(|coroutine| vec![None; coroutine.parts.len()]).collect();
    let all = Selected::all();
    // Empty threads have no number among those that were read.
    let files = trace.files().iter().enumerate().filter(|(_, file)| file.bytes() > 0);
    for (read, (number, file)) in files.enumerate() {
        // What is damaged was reported by the first reading.
        let timeline = all.timeline(file, start_ns(trace, file)).map(Timeline::with_values);
        let Ok(timeline) = timeline else { continue };
        for call in timeline.calls_with(conditions).flatten() {
            let place = places.get(&(read, call.number));
            let place = place.and_then(|(of, part)| parts.get_mut(*of)?.get_mut(*part));
            place.into_iter().for_each(|place| *place = Some((number, call.clone())));
        }
        listener.file_done(0);
    }
    let known = coroutines.iter().zip(parts);
    known.filter_map(|(of, parts)| Folded::of(of, parts.into_iter().flatten())).collect()
}

impl Folded {
    /// Adds up the parts of a coroutine, which are in order.
    fn of(coroutine: &Coroutine, mut parts: impl Iterator<Item = (usize, Call)>) -> Option<Self> {
        let (file, first) = parts.next()?;
        let mut folded = Self {
            parts: CoroutineParts {
                resumptions: u64::from(!coroutine.has_beginning),
                threads: 1,
                running_ns: first.duration_ns().unwrap_or(0),
                running: first.duration(),
                has_beginning: coroutine.has_beginning,
            },
            call: first,
            file,
            files: BTreeSet::from([file]),
        };
        parts.for_each(|(file, part)| folded.add(file, part));
        folded.parts.threads = folded.files.len() as u64;
        Some(folded)
    }

    /// Adds the next part: it ends the call now, and has its result.
    fn add(&mut self, file: usize, part: Call) {
        let Self { call, parts, files, .. } = self;
        files.insert(file);
        parts.resumptions += 1;
        parts.running_ns = parts.running_ns.saturating_add(part.duration_ns().unwrap_or(0));
        let lasted = part.duration();
        parts.running = Bounds {
            from_ns: parts.running.from_ns.saturating_add(lasted.from_ns),
            by_ns: parts.running.by_ns.saturating_add(lasted.by_ns),
        };
        let is_of_end = |role: Role| matches!(role, Role::Result | Role::Message);
        call.values.retain(|value| !is_of_end(value.role));
        // The arguments of a resumption are not those of the call.
        call.values.extend(part.values.into_iter().filter(|value| is_of_end(value.role)));
        call.calls += part.calls;
        (call.end, call.is_open, call.is_cut) = (part.end, part.is_open, part.is_cut);
        call.unwound = part.unwound;
    }
}
