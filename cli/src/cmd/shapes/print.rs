//! Prints the shapes of methods.

use std::io::Write;

use flow_codec::format::shape_name::ShapeName;
use flow_codec::read::Trace;
use flow_codec::{MethodId, NameForm};
use flow_query::dag::{Comparison, Difference, Kind, Outcome, Shapes};

use super::Way;
use crate::args::{Format, ShapesArgs};
use crate::failure::Failure;
use crate::input::shapes::{JoinedMethods, JoinedNames, JoinedThread};
use crate::input::source::Source;
use crate::output::{
    Align, Labels, Out, ROUGH_NOTE, Table, csv_fields, duration, grouped, is_rough, left_out,
    percent, plural, rough_duration,
};

/// The column before which times are, counted without the name of the shape.
const FIRST_CALL: usize = 4;

/// Prints the shapes of a trace.
pub(super) struct Print<'a> {
    pub(super) args: &'a ShapesArgs,
    pub(super) source: &'a Source,
    pub(super) trace: &'a Trace,
    pub(super) shapes: &'a Shapes,
    pub(super) names: &'a JoinedNames<'a>,
    pub(super) methods: &'a JoinedMethods,
    /// The names of all shapes, unless calls are left out.
    pub(super) names_of_shapes: Option<Vec<ShapeName>>,
}

impl Print<'_> {
    /// The heading of CSV.
    pub(super) const COLUMNS: &'static str = "trace,method,class,name,descriptor,readable,shape,outcome,count,\
                                              calls,frames,thread,first_call,differences,difference,\
                                              duration_ns,duration_from_ns,duration_by_ns,\
                                              slowest_ns,slowest_thread,slowest_call";

    /// Prints the shapes of a method, each with what distinguishes it from the most frequent one.
    pub(super) fn method(
        &self,
        (number, method): (usize, MethodId),
        calls: u64,
        all: usize,
        ways: &[(Way, Comparison)],
        threads: &[JoinedThread],
        out: &mut Out,
    ) -> Result<(), Failure> {
        let title = |at: usize| threads.get(at).map_or("", |thread| thread.title.as_str());
        let thread = |way: &Way| title(way.first.0);
        if self.args.source.format != Format::Text {
            let mut labels = Labels::new(&self.trace.methods, self.args.source.format, false);
            for (way, comparison) in ways {
                let slowest = way.times.map_or("", |times| title(times.slowest.1));
                self.row(method, &mut labels, way, comparison, [thread(way), slowest], out)?;
            }
        } else {
            if number > 0 {
                out.write_all(b"\n")?;
            }
            let form = if self.args.verbose { NameForm::Full } else { NameForm::Readable };
            let counts = [plural(calls, "call"), plural(all as u64, "shape")].join(", ");
            out.heading(&format!("{}: {counts}", self.names.get(method, form)))?;
            let right = |title| (title, Align::Right);
            let [count, share, calls_in, frames] = ["count", "%", "calls", "frames"].map(right);
            let left = |title| (title, Align::Left);
            let columns =
                [count, share, calls_in, frames, left("first call"), left("what differs")];
            // Names of shapes of which calls are left out cannot be found.
            let named = self.names_of_shapes.is_some().then(|| left("shape"));
            let is_timed = ways.iter().any(|(way, _)| way.times.is_some());
            let timed = is_timed.then(|| [right("time"), left("slowest call")]);
            let (before, after) = columns.split_at(FIRST_CALL);
            let columns: Vec<_> = named
                .into_iter()
                .chain(before.iter().copied())
                .chain(timed.into_iter().flatten())
                .chain(after.iter().copied())
                .collect();
            let mut table = Table::new(&columns);
            for (way, comparison) in ways {
                let cells = [
                    grouped(way.count),
                    percent(way.count, calls),
                    grouped(self.shapes.calls(way.shape)),
                    grouped(self.shapes.levels(way.shape)),
                    self.first(way, thread(way), threads.len() > 1),
                    self.what(way, comparison),
                ];
                let name = self.name(way).map(|name| name.to_string());
                let timed = is_timed.then(|| self.times(way, title, threads.len() > 1));
                let (before, after) = cells.split_at(FIRST_CALL);
                let cells = before.iter().cloned().chain(timed.into_iter().flatten());
                table.row(name.into_iter().chain(cells).chain(after.iter().cloned()));
            }
            table.print(out)?;
            if ways
                .iter()
                .any(|(way, _)| way.times.is_some_and(|times| is_rough(times.ns, times.bounds)))
            {
                writeln!(out, "{ROUGH_NOTE}")?;
            }
        }
        if ways.len() < all {
            let more = plural((all - ways.len()) as u64, "more shape");
            let place = self.source.place(&self.trace.dir);
            out.remark(self.args.source.format, place.as_deref(), &left_out(&more, ways.len()))?;
        }
        Ok(())
    }

    /// Where the first call of a shape is. With calls left out, numbers are not those of the trace.
    fn first(&self, way: &Way, thread: &str, several: bool) -> String {
        let number = self.number(way).map(grouped);
        match (number, several) {
            (Some(number), true) => format!("{number} in {thread}"),
            (Some(number), false) => number,
            (None, _) => format!("in {thread}"),
        }
    }

    /// How long the calls of a shape lasted together, and which lasted longest.
    fn times<'t>(&self, way: &Way, title: impl Fn(usize) -> &'t str, several: bool) -> [String; 2] {
        let Some(times) = way.times else { return [const { String::new() }; 2] };
        let (slowest_ns, thread, call) = times.slowest;
        let place = if several { format!(" in {}", title(thread)) } else { String::new() };
        let slowest = format!("{} at {}{place}", duration(slowest_ns), grouped(call));
        [rough_duration(times.ns, times.bounds), slowest]
    }

    fn name(&self, way: &Way) -> Option<ShapeName> {
        self.names_of_shapes.as_ref()?.get(way.shape.index()).copied()
    }

    fn number(&self, way: &Way) -> Option<u64> {
        let part = &self.args.part;
        let filter = &part.filter;
        let is_all = part.tests.patterns.is_empty() && filter.is_all();
        is_all.then_some(way.first.1)
    }

    /// What a call of this shape did differently.
    fn what(&self, way: &Way, comparison: &Comparison) -> String {
        let left = match way.outcome {
            Outcome::Returned => "",
            Outcome::Unwound => "left by an exception",
            Outcome::Cut => "not left before recording paused",
        };
        if comparison.is_same() {
            let most = "the most frequent";
            return if left.is_empty() { most.to_owned() } else { format!("{most}; {left}") };
        }
        if comparison.differences().is_empty() {
            return "differs in calls too deep to be compared".to_owned();
        }
        let of_callees = self.difference(comparison);
        let more = match (comparison.differences().len() as u64 - 1, comparison.is_cut()) {
            (0, _) => String::new(),
            (more, is_cut) => {
                let least = if is_cut { "at least " } else { "" };
                format!("; {least}{}", plural(more, "more difference"))
            }
        };
        let parts: Vec<_> =
            [left.to_owned(), of_callees].into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("; ") + &more
    }

    /// The first difference: `+ Cache.miss in Repo.find`.
    fn difference(&self, comparison: &Comparison) -> String {
        let Some(first) = comparison.differences().first() else { return String::new() };
        let name = |method| self.names.get(method, NameForm::Short);
        let stack = comparison.stack(first);
        let inner = match stack.as_slice() {
            [] | [_] => String::new(),
            [.., last] => format!(" in {}", name(*last)),
        };
        let Some(shift) = first.shifts.first() else {
            return self.outcome_of_callee(first, &inner);
        };
        let called = match self.shapes.kind(shift.shape) {
            Kind::Call(method, _) => name(method),
            _ => "(events are missing)".to_owned(),
        };
        let sign = if shift.is_added { '+' } else { '-' };
        let count = match shift.count {
            1 => String::new(),
            count => format!(" ×{}", grouped(count)),
        };
        format!("{sign} {called}{count}{inner}")
    }

    /// How a callee was left, if that alone differs.
    fn outcome_of_callee(&self, difference: &Difference, inner: &str) -> String {
        match difference.outcomes {
            Some([_, Outcome::Unwound]) if !inner.is_empty() => format!("exception{inner}"),
            Some([Outcome::Unwound, _]) if !inner.is_empty() => format!("no exception{inner}"),
            _ => String::new(),
        }
    }

    fn row(
        &self,
        method: MethodId,
        labels: &mut Labels<'_>,
        way: &Way,
        comparison: &Comparison,
        [thread, slowest_thread]: [&str; 2],
        out: &mut Out,
    ) -> Result<(), Failure> {
        let Some((_, id)) = self.methods.place(method) else { return Ok(()) };
        let trace = self.source.name(&self.trace.dir);
        let outcome = match way.outcome {
            Outcome::Returned => "returned",
            Outcome::Unwound => "unwound",
            Outcome::Cut => "cut",
        };
        let (calls, frames) = (self.shapes.calls(way.shape), self.shapes.levels(way.shape));
        let (differences, difference) =
            (comparison.differences().len(), self.difference(comparison));
        let first = self.number(way);
        let times = way.times.as_ref();
        let known = |ns: u64| (ns != u64::MAX).then_some(ns);
        let durations = [
            times.map(|times| times.ns),
            times.map(|times| times.bounds.0),
            times.and_then(|times| known(times.bounds.1)),
            times.map(|times| times.slowest.0),
        ];
        let slowest_call = times.map(|times| times.slowest.2);
        let label = labels.get(id);
        let shape = self.name(way).map(|name| name.to_string());
        if self.args.source.format == Format::Json {
            let text = |text: &str| serde_json::Value::from(text);
            let number = |number: Option<u64>| {
                number.map_or(serde_json::Value::Null, serde_json::Value::from)
            };
            let (first, [sum, from, by, slowest]) = (number(first), durations.map(number));
            writeln!(
                out,
                "{{\"trace\":{},{label},\"shape\":{},\"outcome\":\"{outcome}\",\"count\":{},\"calls\":{calls},\"frames\":{frames},\
                 \"thread\":{},\"first_call\":{first},\"differences\":{differences},\"difference\":{},\
                 \"duration_ns\":{sum},\"duration_from_ns\":{from},\"duration_by_ns\":{by},\
                 \"slowest_ns\":{slowest},\"slowest_thread\":{},\"slowest_call\":{}}}",
                text(&trace),
                serde_json::Value::from(shape),
                way.count,
                text(thread),
                text(&difference),
                times.map_or(serde_json::Value::Null, |_| text(slowest_thread)),
                number(slowest_call),
            )?;
        } else {
            let number =
                |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
            let (first, [sum, from, by, slowest]) = (number(first), durations.map(number));
            let count = way.count;
            writeln!(
                out,
                "{},{label},{},{outcome},{count},{calls},{frames},{},{first},{differences},{},\
                 {sum},{from},{by},{slowest},{},{}",
                csv_fields([trace.as_str()]),
                shape.unwrap_or_default(),
                csv_fields([thread]),
                csv_fields([difference.as_str()]),
                csv_fields([slowest_thread]),
                number(slowest_call),
            )?;
        }
        Ok(())
    }
}
