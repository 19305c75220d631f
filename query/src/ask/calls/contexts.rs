//! What threads worked for: the values of their contexts, and what was called for each.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use flow_codec::format::shape_name::ShapeName;
use flow_codec::read::{Trace, When};
use flow_codec::{MethodId, ThreadId};

use crate::Error;
use crate::analysis::{
    CONTEXT, ContextSpan, HANDOVERS, NameParts, NamedPart, ThreadPart, roles_in,
};
use crate::dag::Behaviour;
use crate::open::{
    ContextSpans, LinkedPart, LinkedValue, Links, PartOf, hand_overs_if_recorded, read_contexts,
};
use crate::reading::{Listener, Soundness, read_thread};
use crate::select::{Selected, start_ns};

/// Which values of contexts are asked for.
///
/// ```no_run
/// use flow_query::ask::Contexts;
/// use flow_query::open::Traces;
///
/// let traces = Traces::open("flow-trace")?;
/// for trace in traces.iter() {
///     let (sums, _) = Contexts::of_key("order").find(trace, &mut ())?;
///     for sum in sums.iter().filter(|sum| sum.is_odd) {
///         println!("{}={} made {} calls", sum.key, sum.value, sum.calls);
///     }
/// }
/// # Ok::<(), flow_query::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Contexts {
    pub(super) key: Option<String>,
    odd_first: bool,
}

/// A value that a context had.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ContextSum {
    /// The key.
    pub key: Rc<str>,
    /// The value.
    pub value: Rc<str>,
    /// The thread in which a key had the value first.
    pub thread: ThreadId,
    /// The number of the first call then.
    pub call: u64,
    /// When it had the value first.
    pub begun: When,
    /// When what belongs to the value ended.
    pub ended: When,
    /// In how many threads something belongs to it.
    pub threads: usize,
    /// How many calls belong to it.
    pub calls: u64,
    /// How many calls exceptions ended while a thread had the value.
    pub thrown: u64,
    /// The name of what was called, without the calls that hand over and those that set the context.
    pub shape: ShapeName,
    /// How many values of the key have this shape.
    pub alike: u64,
    /// Whether more than half of the values of the key whose first call is of the same method share a shape that this one does not have.
    pub is_odd: bool,
}

impl Contexts {
    /// Asks for the values of all keys.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Asks for the values of a key.
    #[must_use]
    pub fn of_key(key: &str) -> Self {
        Self { key: Some(key.to_owned()), ..Self::default() }
    }

    /// Asks for the odd ones first.
    #[must_use]
    pub fn odd_first(self) -> Self {
        Self { odd_first: true, ..self }
    }

    /// Finds the values in a trace, in the order in which they began, with what threads handed to others meanwhile, if that was
    /// recorded.
    ///
    /// # Errors
    /// No contexts were recorded, or none has this key.
    pub fn find(
        &self,
        trace: &Trace,
        listener: &mut impl Listener,
    ) -> Result<(Vec<ContextSum>, Soundness), Error> {
        let (spans, of_contexts) = read_contexts(trace, listener)?;
        let spans = self.select(spans)?;
        let (hand_overs, of_hand_overs) = hand_overs_if_recorded(trace, listener)?;
        let links = Links::of(&hand_overs);
        let (all, mut parts) = (ContextSpans::of(spans), Parts::default());
        let sum = |value| sum(value, &links, &mut parts);
        let (mut sums, first_parts): (Vec<_>, Vec<_>) =
            links.of_values(&all, |_, _| true).filter_map(sum).unzip();
        let (named, of_parts) = parts.name(trace, listener);
        mark_odd(&mut sums, &first_parts, &named);
        sums.sort_by_key(|sum| (sum.begun.estimate_ns, sum.thread, sum.call));
        if self.odd_first {
            sums.sort_by_key(|sum| !sum.is_odd);
        }
        Ok((sums, of_contexts.and(of_hand_overs).and(of_parts)))
    }

    /// Checks that there is a key of this name among those that have values, if any have.
    pub(super) fn expect_key(&self, keys: &BTreeSet<Rc<str>>) -> Result<(), Error> {
        match &self.key {
            Some(key) if !keys.is_empty() && !keys.contains(key.as_str()) => {
                let keys = keys.iter().map(|key| &**key).collect::<Vec<_>>().join(", ");
                Err(Error::Text(format!("there is no key '{key}'; there are: {keys}")))
            }
            _ => Ok(()),
        }
    }

    /// The spans of the key, if there are any.
    fn select(&self, mut spans: Vec<ContextSpan>) -> Result<Vec<ContextSpan>, Error> {
        let Some(key) = &self.key else { return Ok(spans) };
        self.expect_key(&spans.iter().map(|span| span.key.clone()).collect())?;
        spans.retain(|span| &*span.key == key);
        Ok(spans)
    }
}

/// The parts of threads that belong to values, to be named.
#[derive(Default)]
struct Parts {
    of_threads: HashMap<ThreadId, Vec<ThreadPart>>,
    /// How many there are.
    count: usize,
}

/// The numbers of the parts of a value.
type PartNumbers = std::ops::Range<usize>;

impl Parts {
    fn add(&mut self, part: LinkedPart<'_>) {
        let ranges = part.ranges.into();
        let of_thread = self.of_threads.entry(part.thread).or_default();
        of_thread.push(ThreadPart { number: self.count, ranges });
        self.count += 1;
    }

    /// Names what happened in each.
    fn name(mut self, trace: &Trace, listener: &mut impl Listener) -> (Vec<NamedPart>, Soundness) {
        let presets = [HANDOVERS, CONTEXT].map(|preset| roles_in(trace, preset).into_keys());
        let left_out: HashSet<_> = presets.into_iter().flatten().collect();
        let mut visitor = NameParts::without(trace.methods(), left_out);
        let mut named = vec![NamedPart::default(); self.count];
        let mut soundness = Soundness::Whole;
        let all = Selected::all();
        for file in trace.files() {
            let Some(parts) = self.of_threads.remove(&file.id()) else { continue };
            visitor.begin_thread(parts);
            let timeline = all.timeline(file, start_ns(trace, file));
            let reading = read_thread(file, timeline, listener, &mut visitor, |visitor, _| {
                visitor.end_thread(&mut named);
            });
            soundness = soundness.and(reading.report(file, listener));
        }
        (named, soundness)
    }
}

/// Adds up the spans of a value, and takes its parts to be named.
fn sum(
    LinkedValue { spans, events, parts: linked, .. }: LinkedValue<'_, '_>,
    links: &Links<'_>,
    parts: &mut Parts,
) -> Option<(ContextSum, PartNumbers)> {
    let first = spans.first()?;
    let mut threads: BTreeSet<ThreadId> = spans.iter().map(|span| span.thread).collect();
    let mut ended = spans.iter().map(|span| span.ended).max_by_key(|at| at.estimate_ns)?;
    let (mut calls, first_part) = (0, parts.count);
    // A task that sets the value again is a part of what was handed over.
    for part in linked {
        calls += match part.of {
            PartOf::Events(number) => {
                let (events, span) = events.get(number).zip(spans.get(number))?;
                links.calls_without_others(events, &span.calls)
            }
            PartOf::Section(section, calls) => {
                threads.insert(section.thread);
                if section.ended.estimate_ns > ended.estimate_ns {
                    ended = section.ended;
                }
                calls
            }
        };
        parts.add(part);
    }
    let sum = ContextSum {
        key: first.key.clone(),
        value: first.value.clone(),
        thread: first.thread,
        call: first.calls.start,
        begun: first.begun,
        ended,
        threads: threads.len(),
        calls,
        thrown: spans.iter().map(|span| span.thrown).sum(),
        shape: ShapeName::default(),
        alike: 0,
        is_odd: false,
    };
    Some((sum, first_part..parts.count))
}

/// Names what happened in parts, whichever of them was first.
fn together(parts: &[NamedPart]) -> ShapeName {
    let mut did: Vec<_> = parts.iter().map(|part| part.did).collect();
    did.sort_unstable();
    did.pop().unwrap_or_else(Behaviour::default).together(did).name
}

/// Gives values their shapes, and marks those that differ from what is usual.
fn mark_odd(sums: &mut [ContextSum], parts: &[PartNumbers], named: &[NamedPart]) {
    let mut shapes: HashMap<(Rc<str>, ShapeName), u64> = HashMap::new();
    let mut alike: HashMap<(Rc<str>, Option<MethodId>), HashMap<ShapeName, u64>> = HashMap::new();
    let mut firsts = Vec::with_capacity(sums.len());
    for (sum, parts) in sums.iter_mut().zip(parts) {
        let parts = named.get(parts.clone()).unwrap_or_default();
        let first = parts.iter().find_map(|part| part.first);
        sum.shape = together(parts);
        *shapes.entry((sum.key.clone(), sum.shape)).or_default() += 1;
        let of_first = alike.entry((sum.key.clone(), first)).or_default();
        *of_first.entry(sum.shape).or_default() += 1;
        firsts.push(first);
    }
    for (sum, first) in sums.iter_mut().zip(firsts) {
        sum.alike = shapes.get(&(sum.key.clone(), sum.shape)).copied().unwrap_or_default();
        let Some(of_first) = alike.get(&(sum.key.clone(), first)) else { continue };
        let all: u64 = of_first.values().sum();
        let mut others = of_first.iter().filter(|(shape, _)| **shape != sum.shape);
        sum.is_odd = others.any(|(_, count)| *count * 2 > all);
    }
}
