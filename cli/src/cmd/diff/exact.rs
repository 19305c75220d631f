//! `flow diff --exact`: compares call by call, in order.

use std::io::Write;

use flow_codec::NameForm;
use flow_codec::read::Trace;
use flow_query::analysis::Run;
use flow_query::dag::{Comparison, Difference, Kind, Outcome, ShapeId, Shapes, Shift};
use flow_query::rows::{Chain, ExactRow, NameColumns};

use super::test_runs::ComparedTests;
use crate::args::{DiffArgs, Format};
use crate::cmd::line_limit;
use crate::cmd::page_file::PageFile;
use crate::failure::{Failure, Status};
use crate::html::{Compared, ComparedThread, diff_page};
use crate::input::memory::most_words;
use crate::input::source::Source;
use crate::output::not_compared;
use crate::output::{Out, Progress, Records, chain, escaped, grouped, left_out, plural};
use flow_query::reading::Soundness;
use flow_query::select::globs;
use flow_query::shapes::{JoinedNames, JoinedThread, Joiner, Joins, LeftOut};

/// Differences shown in text by default.
const DEFAULT_MAX: u64 = 20;
/// The same of a page.
const PAGE_MAX: u64 = 1000;
/// The frames that are named at each end of a stack.
const CHAIN_ENDS: usize = 3;
/// The calls that are shown of one difference in text.
const SHOWN_SHIFTS: usize = 12;

/// Compares the threads of two runs. Returns the status, and whether they differ.
pub(super) fn run(
    sources: &[(Run, Source); 2],
    tests: &ComparedTests,
    args: &DiffArgs,
    progress: &mut Progress,
    out: &mut Out,
) -> Result<(Status, bool), Failure> {
    let all_traces = || sources.iter().flat_map(|(_, source)| &source.traces);
    let ignored = globs(&args.ignore, all_traces())?;
    let mut joiner = Joiner::within(most_words());
    let rename = |name| tests.rename(name);
    let filter = args.part.filter.filter();
    let joins = Joins { filter: &filter, ignored: &ignored, rename: &rename };
    let both = sources.each_ref().map(|(_, source)| &source.traces);
    joiner.read_stored(both, joins);
    // A page has the calls of both.
    let same = joiner.same(both, joins).filter(|_| args.html.is_none());
    let (runs, status) = match same {
        Some(_) => (Default::default(), Soundness::Whole),
        None => joiner.add_all(both, joins, progress),
    };
    let nothing = joiner.nothing();
    let missing = std::mem::take(&mut joiner.left_out);
    let (shapes, methods) = joiner.finish();
    let traces: Vec<&Trace> = all_traces().collect();
    let names = JoinedNames::new(&methods, traces.into_iter());
    let mut pairs = pairs(&runs, args.compares_threads());
    // Two threads, or two tests, of one directory have different names.
    let have_names = args.after.is_some();
    pairs.retain(|pair| !lacks_one(pair, &missing, have_names));
    let default = if args.html.is_some() { PAGE_MAX } else { DEFAULT_MAX };
    let most = line_limit(args.max, args.format, default);
    let skipped = usize::try_from(args.next).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    // One more than are shown, to know whether there are more.
    let mut left = most.saturating_add(skipped).saturating_add(1);
    for pair in &pairs {
        let [before, after] =
            pair.map(|thread| thread.map(|thread| thread.joined.thread).or(nothing));
        let (Some(before), Some(after)) = (before, after) else { continue };
        let comparison = Comparison::of(&shapes, before, after, left);
        left -= comparison.differences().len().min(left);
        if !comparison.is_same() {
            found.push((*pair, comparison));
        }
    }
    let print = Print { shapes: &shapes, names: &names, args, most, skipped };
    let counted = |threads: &[JoinedThread]| threads.iter().map(|thread| thread.dag.calls()).sum();
    let (threads, calls) = match same {
        Some((threads, calls)) => (threads, [calls; 2]),
        None => (pairs.len(), runs.each_ref().map(|run| counted(run))),
    };
    if let Some(path) = &args.html {
        let page = diff_page(&print.compared(&found, &pairs, calls, nothing))?;
        PageFile::find(path)?.write(&page, out)?;
        return Ok((status.into(), !found.is_empty()));
    }
    match args.format {
        Format::Text => {
            let missing = missing.len() as u64;
            print.text(&found, (threads, missing), calls, out)?;
        }
        _ => {
            let mut records = Records::new::<ExactRow<'_>>(args.format, false, out)?;
            records.sort_keys();
            print.rows(&found, &mut records, out)?;
        }
    }
    let more = found.iter().any(|(_, comparison)| comparison.is_cut());
    if more || left == 0 {
        let text = left_out("further differences", most);
        let text = format!("{}; --next {} continues)", text.trim_end_matches(')'), skipped + most);
        out.remark(args.format, None, &text)?;
    }
    Ok((status.into(), !found.is_empty()))
}

/// The threads of both runs, one beside the other; `None` where one has no other.
type Pair<'a> = [Option<&'a JoinedThread>; 2];

/// Whether two threads may be paired.
type Rule = fn(&JoinedThread, &JoinedThread) -> bool;

/// Pairs threads: those of the same name, and of these first those that did the same; then others that did the same.
/// If two threads are compared, whatever their names are, those that are left are paired in order.
fn pairs([before, after]: &[Vec<JoinedThread>; 2], are_chosen: bool) -> Vec<Pair<'_>> {
    let mut others: Vec<Option<&JoinedThread>> = after.iter().map(Some).collect();
    let mut partners: Vec<Option<&JoinedThread>> = vec![None; before.len()];
    let rules: [Rule; 4] = [
        |one, other| one.name == other.name && one.joined.thread == other.joined.thread,
        |one, other| one.name == other.name,
        |one, other| one.joined.thread == other.joined.thread,
        |_, _| true,
    ];
    for rule in rules.into_iter().take(if are_chosen { 4 } else { 3 }) {
        for (one, partner) in before.iter().zip(&mut partners) {
            if partner.is_none() {
                let is_it = |other: &&mut Option<&JoinedThread>| {
                    other.is_some_and(|other| rule(one, other))
                };
                *partner = others.iter_mut().find(is_it).and_then(Option::take);
            }
        }
    }
    let known = before.iter().zip(partners).map(|(one, other)| [Some(one), other]);
    known.chain(others.into_iter().flatten().map(|other| [None, Some(other)])).collect()
}

/// Returns whether the other side of a pair may be a thread that was left out: one of the same name, if `have_names`.
fn lacks_one(pair: &Pair<'_>, left_out: &[LeftOut], have_names: bool) -> bool {
    let (there, missing) = match pair {
        [Some(before), None] => (before, 1),
        [None, Some(after)] => (after, 0),
        _ => return false,
    };
    let mut of_source = left_out.iter().filter(|left| left.source == missing);
    of_source.any(|left| !have_names || left.unit == there.unit())
}

/// What the threads of a pair are called.
fn title(pair: &Pair<'_>) -> String {
    match pair.map(|thread| thread.map(|thread| thread.title.as_str())) {
        [Some(before), Some(after)] if before == after => format!("thread {before}"),
        [Some(before), Some(after)] => format!("thread {before}, after: {after}"),
        [Some(before), None] => format!("thread {before}, only before"),
        [None, after] => format!("thread {}, only after", after.unwrap_or_default()),
    }
}

struct Print<'a> {
    shapes: &'a Shapes,
    names: &'a JoinedNames<'a>,
    args: &'a DiffArgs,
    most: usize,
    /// How many differences come before the first that is shown.
    skipped: usize,
}

/// What differs between two threads.
type Found<'a> = (Pair<'a>, Comparison);

impl<'p> Print<'p> {
    /// What the page shows.
    fn compared(
        &self,
        found: &'p [Found<'p>],
        pairs: &[Pair<'_>],
        calls: [u64; 2],
        nothing: Option<ShapeId>,
    ) -> Compared<'p> {
        let thread = |(pair, comparison): &'p Found<'p>| {
            let side = |thread: Option<&JoinedThread>| {
                thread.map(|thread| thread.joined.thread).or(nothing)
            };
            let [before, after] = pair.map(side);
            Some(ComparedThread { title: title(pair), sides: [before?, after?], comparison })
        };
        Compared {
            shapes: self.shapes,
            names: self.names,
            sides: self
                .sides()
                .map(|(index, _, side)| (side, calls.get(index).copied().unwrap_or_default())),
            threads: found.iter().filter_map(thread).collect(),
            same: pairs.len() - found.len(),
            has_numbers: self.has_numbers(),
            most: self.most,
        }
    }

    /// What is compared: before and after.
    fn sides(&self) -> [(usize, &'static str, String); 2] {
        let after = self.args.after.as_ref().unwrap_or(&self.args.before);
        [(0, "before", &self.args.before), (1, "after", after)].map(|(index, what, dir)| {
            let part = &self.args.part;
            let test = part.tests.patterns.get(index).map(|test| format!(", test {test}"));
            let thread =
                part.threads.patterns.get(index).map(|thread| format!(", thread {thread}"));
            let compared = match self.args.after {
                None if self.args.compares_threads() => thread,
                None => test,
                Some(_) => None,
            };
            (index, what, dir.display().to_string() + &compared.unwrap_or_default())
        })
    }

    fn text(
        &self,
        found: &[Found<'_>],
        (threads, left_out): (usize, u64),
        calls: [u64; 2],
        out: &mut Out,
    ) -> Result<(), Failure> {
        let counts = calls.map(|calls| plural(calls, "call"));
        let width = counts.iter().map(|text| text.chars().count()).max().unwrap_or_default();
        for (index, what, dir) in self.sides() {
            let count = counts.get(index).map_or("", String::as_str);
            writeln!(out, "{what:<6}  {count:>width$}  {}", escaped(&dir))?;
        }
        if left_out > 0 {
            writeln!(out, "{}", not_compared(left_out, "thread"))?;
        }
        if threads == 0 {
            writeln!(out, "\nno threads were compared")?;
            return Ok(());
        }
        let threads = plural(threads as u64, "thread");
        if found.is_empty() {
            writeln!(out, "\nno difference: the same calls in the same order, in {threads}")?;
            return Ok(());
        }
        let differ = found.len() as u64;
        writeln!(
            out,
            "{} of {threads} {}",
            grouped(differ),
            if differ == 1 { "differs" } else { "differ" }
        )?;
        let (mut skip, mut left) = (self.skipped, self.most);
        for (pair, comparison) in found {
            let differences = comparison.differences();
            let shown = differences.get(skip..).unwrap_or_default();
            skip -= skip.min(differences.len());
            if left == 0 {
                break;
            }
            // Too deep to be compared, it has none.
            if shown.is_empty() && !differences.is_empty() {
                continue;
            }
            out.write_all(b"\n")?;
            let title = title(pair);
            out.heading(&title)?;
            for difference in shown.iter().take(left) {
                self.difference(comparison, difference, out)?;
                left -= 1;
            }
        }
        Ok(())
    }

    /// Prints a call that differs, its callers, and what it called.
    fn difference(
        &self,
        comparison: &Comparison,
        difference: &Difference,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let mut stack = comparison.stack(difference);
        let own = stack.pop();
        let name = own.map_or("outermost calls".to_owned(), |own| self.names.get(own, self.form()));
        let times = match difference.times {
            1 => String::new(),
            times => format!("  {} times", grouped(times)),
        };
        // With calls left out, numbers are not those of the trace.
        let numbers = match (self.has_numbers() && own.is_some(), difference.numbers) {
            (false, _) => String::new(),
            (true, [before, after]) if before == after => format!("call {}: ", grouped(before)),
            (true, [before, after]) => {
                format!("call {}, after: {}: ", grouped(before), grouped(after))
            }
        };
        writeln!(out, "{numbers}{}{times}", escaped(&name))?;
        if !stack.is_empty() {
            let short = if self.args.verbose { NameForm::Full } else { NameForm::Short };
            let callers = chain(&stack, CHAIN_ENDS, |method| self.names.get(*method, short));
            writeln!(out, "  in {}", escaped(&callers))?;
        }
        for shift in difference.shifts.iter().take(SHOWN_SHIFTS) {
            writeln!(out, "  {}", escaped(&self.shift(comparison, shift)))?;
        }
        if difference.shifts.len() > SHOWN_SHIFTS {
            let more = plural((difference.shifts.len() - SHOWN_SHIFTS) as u64, "more call");
            writeln!(out, "  … {more}")?;
        }
        if let Some([before, after]) = difference.outcomes {
            writeln!(out, "  {}; after: {}", outcome(before), outcome(after))?;
        }
        Ok(())
    }

    /// `+ com.app.Cache.miss() ×2  12 calls`.
    fn shift(&self, comparison: &Comparison, shift: &Shift) -> String {
        let sign = if shift.is_added { '+' } else { '-' };
        let (name, calls) = match self.shapes.kind(shift.shape) {
            Kind::Call(method, _) => {
                let calls = self.shapes.calls(shift.shape).saturating_mul(shift.count);
                (self.names.get(method, self.form()), calls)
            }
            _ => ("(events are missing)".to_owned(), 0),
        };
        let count = match shift.count {
            1 => String::new(),
            count => format!(" ×{}", grouped(count)),
        };
        let inner = if calls > shift.count {
            format!("  {}", plural(calls, "call"))
        } else {
            String::new()
        };
        let moved = if comparison.is_moved(shift.shape) { "  moved" } else { "" };
        format!("{sign} {name}{count}{inner}{moved}")
    }

    fn form(&self) -> NameForm {
        if self.args.verbose { NameForm::Full } else { NameForm::Readable }
    }

    fn has_numbers(&self) -> bool {
        let filter = &self.args.part.filter;
        self.args.ignore.is_empty()
            && self.args.part.tests.patterns.is_empty()
            && filter.include.is_empty()
            && filter.exclude.is_empty()
            && !filter.own
    }

    fn rows(
        &self,
        found: &[Found<'_>],
        records: &mut Records,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let all = found.iter().flat_map(|(pair, comparison)| {
            comparison.differences().iter().map(move |difference| (pair, comparison, difference))
        });
        for (pair, comparison, difference) in all.skip(self.skipped).take(self.most) {
            let stack = comparison.stack(difference);
            let path: Vec<_> =
                stack.iter().map(|method| self.names.get(*method, NameForm::Full)).collect();
            let [thread, thread_after] =
                pair.map(|thread| thread.map(|thread| thread.title.as_str()));
            let [call_before, call_after] =
                difference.numbers.map(|number| self.has_numbers().then_some(number));
            let row = |change, shape: ShapeId, count, moved| ExactRow {
                thread,
                thread_after,
                call_before,
                call_after,
                times: difference.times,
                change,
                names: match self.shapes.kind(shape) {
                    Kind::Call(method, _) => self.names.columns(method),
                    _ => NameColumns::NOTHING,
                },
                count,
                calls: self.shapes.calls(shape).saturating_mul(count),
                moved,
                path: Chain(path.clone()),
            };
            for shift in &difference.shifts {
                let change = if shift.is_added { "added" } else { "removed" };
                let moved = comparison.is_moved(shift.shape);
                records.row(&row(change, shift.shape, shift.count, moved), out)?;
            }
            if let Some([_, after]) = difference.outcomes {
                records.row(&row(after.word(), difference.shapes[0], 1, false), out)?;
            }
        }
        Ok(())
    }
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Returned => "returned",
        Outcome::Unwound => "left by an exception",
        Outcome::Cut => "not left before recording ended or paused",
    }
}
