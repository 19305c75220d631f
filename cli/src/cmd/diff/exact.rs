//! `flow diff --exact`: compares call by call, in order.

use std::io::Write;

use flow_codec::NameForm;
use flow_query::analysis::Run;
use flow_query::ask::{Differences, DifferingThread, RunDifferences};
use flow_query::dag::{Comparison, Difference, Kind, Outcome, ShapeId, Shift};
use flow_query::rows::{Chain, ExactRow, NameColumns};
use flow_query::shapes::{JoinedNames, JoinedThread};

use super::test_runs::ComparedTests;
use crate::args::{DiffArgs, Format};
use crate::cmd::line_limit;
use crate::cmd::page_file::PageFile;
use crate::failure::{Failure, Status};
use crate::html::{Compared, ComparedThread, diff_page};
use crate::input::memory::most_words;
use crate::input::source::Source;
use crate::output::{
    Out, Progress, Records, chain, escaped, grouped, left_out, not_compared, plural,
};

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
    let default = if args.html.is_some() { PAGE_MAX } else { DEFAULT_MAX };
    let most = line_limit(args.max, args.format, default);
    let skipped = usize::try_from(args.next).unwrap_or(usize::MAX);
    // One more than are shown, to know whether there are more.
    let mut asked = Differences::default()
        .of_methods(args.part.filter.filter())
        .ignoring(&args.ignore)
        .renaming(|name| tests.rename(name))
        .at_most(most.saturating_add(skipped).saturating_add(1))
        .within_words(most_words());
    // A page has the calls of both.
    asked = if args.html.is_some() { asked.with_shapes() } else { asked };
    asked = if args.compares_threads() { asked.pairing_all() } else { asked };
    asked = if args.after.is_none() { asked.of_one_run() } else { asked };
    let both = sources.each_ref().map(|(_, source)| &source.traces);
    let found = asked.find(both, progress)?;
    let status = Status::from(found.soundness);
    let names = found.names(both);
    let print = Print { found: &found, names: &names, args, most, skipped };
    let differs = !found.differing.is_empty();
    if let Some(path) = &args.html {
        let page = diff_page(&print.compared())?;
        PageFile::find(path)?.write(&page, out)?;
        return Ok((status, differs));
    }
    match args.format {
        Format::Text => print.text(out)?,
        _ => {
            let mut records = Records::new::<ExactRow<'_>>(args.format, false, out)?;
            records.sort_keys();
            print.rows(&mut records, out)?;
        }
    }
    let more = found.differing.iter().any(|thread| thread.comparison.is_cut());
    if more || found.room == 0 {
        let text = left_out("further differences", most);
        let text = format!("{}; --next {} continues)", text.trim_end_matches(')'), skipped + most);
        out.remark(args.format, None, &text)?;
    }
    Ok((status, differs))
}

struct Print<'a> {
    found: &'a RunDifferences,
    names: &'a JoinedNames<'a>,
    args: &'a DiffArgs,
    most: usize,
    /// How many differences come before the first that is shown.
    skipped: usize,
}

impl<'p> Print<'p> {
    /// What the page shows.
    fn compared(&self) -> Compared<'p> {
        let RunDifferences { differing, calls, nothing, .. } = self.found;
        let thread = |thread: &'p DifferingThread| {
            let side = |thread: Option<&JoinedThread>| {
                thread.map(|thread| thread.joined.thread).or(*nothing)
            };
            let [before, after] = self.found.threads(thread).map(side);
            let (title, comparison) = (self.found.title(thread), &thread.comparison);
            Some(ComparedThread { title, sides: [before?, after?], comparison })
        };
        Compared {
            shapes: &self.found.shapes,
            names: self.names,
            sides: self
                .sides()
                .map(|(index, _, side)| (side, calls.get(index).copied().unwrap_or_default())),
            threads: differing.iter().filter_map(thread).collect(),
            same: self.found.compared - differing.len(),
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

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        let RunDifferences { differing, compared, calls, left_out, .. } = self.found;
        let counts = calls.map(|calls| plural(calls, "call"));
        let width = counts.iter().map(|text| text.chars().count()).max().unwrap_or_default();
        for (index, what, dir) in self.sides() {
            let count = counts.get(index).map_or("", String::as_str);
            writeln!(out, "{what:<6}  {count:>width$}  {}", escaped(&dir))?;
        }
        if !left_out.is_empty() {
            writeln!(out, "{}", not_compared(left_out.len() as u64, "thread"))?;
        }
        if *compared == 0 {
            writeln!(out, "\nno threads were compared")?;
            return Ok(());
        }
        let threads = plural(*compared as u64, "thread");
        if differing.is_empty() {
            writeln!(out, "\nno difference: the same calls in the same order, in {threads}")?;
            return Ok(());
        }
        let differ = differing.len() as u64;
        writeln!(
            out,
            "{} of {threads} {}",
            grouped(differ),
            if differ == 1 { "differs" } else { "differ" }
        )?;
        let (mut skip, mut left) = (self.skipped, self.most);
        for thread in differing {
            let comparison = &thread.comparison;
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
            let title = self.found.title(thread);
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
        let (name, calls) = match self.found.shapes.kind(shift.shape) {
            Kind::Call(method, _) => {
                let calls = self.found.shapes.calls(shift.shape).saturating_mul(shift.count);
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

    fn rows(&self, records: &mut Records, out: &mut Out) -> Result<(), Failure> {
        let all = self.found.differing.iter().flat_map(|thread| {
            thread.comparison.differences().iter().map(move |difference| (thread, difference))
        });
        for (thread, difference) in all.skip(self.skipped).take(self.most) {
            let (pair, comparison) = (self.found.threads(thread), &thread.comparison);
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
                names: match self.found.shapes.kind(shape) {
                    Kind::Call(method, _) => self.names.columns(method),
                    _ => NameColumns::NOTHING,
                },
                count,
                calls: self.found.shapes.calls(shape).saturating_mul(count),
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
