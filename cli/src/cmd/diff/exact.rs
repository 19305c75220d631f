//! `flow diff --exact`: compares call by call, in order.

use std::io::Write;

use flow_codec::NameForm;
use flow_query::analysis::{MethodName, Run};
use flow_query::ask::{
    Differences, DifferingThread, DifferingValue, DifferingValues, RunDifferences, ThreadTurn,
};
use flow_query::dag::{Comparison, Difference, Kind, Shift};
use flow_query::open::Traces;
use flow_query::rows::{Cell, ExactRow};
use flow_query::shapes::{JoinedNames, JoinedThread};

use super::sides::Sides;
use crate::args::{DiffArgs, DiffFormat, Format};
use crate::cmd::line_limit;
use crate::cmd::page_file::PageFile;
use crate::export::{DifferenceDiagram, DrawnThread, MAX_MESSAGES};
use crate::failure::{Failure, Status};
use crate::html::{Compared, ComparedThread, diff_page};
use crate::input::source::Source;
use crate::output::{
    Out, Progress, Records, Table, bounded_duration, chain, escaped, grouped, left_out,
    not_compared, plural, shortened,
};

/// Differences shown in text by default.
const DEFAULT_MAX: u64 = 20;
/// The same of a page.
const PAGE_MAX: u64 = 1000;
/// The frames that are named at each end of a stack.
const CHAIN_ENDS: usize = 3;
/// The calls that are shown of one difference in text, and those before it that both sides made.
const SHOWN_SHIFTS: usize = 12;
const SHOWN_BEFORE: usize = 2;
/// The calls of all threads that are shown before the first difference.
const SHOWN_TURNS: usize = 12;
/// The columns of a value in a table.
const SHOWN_VALUE: usize = 32;

/// How many differences are shown, and how many come before the first of them.
fn limits(args: &DiffArgs) -> (usize, usize) {
    let default = if args.html.is_some() { PAGE_MAX } else { DEFAULT_MAX };
    let most = match args.format.is_diagram() {
        true => line_limit(args.max, Format::Text, default).min(MAX_MESSAGES),
        false => line_limit(args.max, args.format.of_rows(), default),
    };
    (most, usize::try_from(args.next).unwrap_or(usize::MAX))
}

/// Compares the threads of two runs.
fn find(
    sources: &[(Run, Source); 2],
    rename: impl Fn(MethodName) -> MethodName,
    sides: &Sides,
    args: &DiffArgs,
    progress: &mut Progress,
) -> Result<RunDifferences, Failure> {
    let (most, skipped) = limits(args);
    // One more than are shown, to know whether there are more.
    let mut asked = Differences::default()
        .of_methods(args.part.filter.filter())
        .ignoring(&args.ignore)
        .expecting(&args.expect)
        .renamed(&args.renamed)
        .renaming(rename)
        .at_most(most.saturating_add(skipped).saturating_add(1));
    // A page has the calls of both.
    asked = if args.html.is_some() { asked.with_shapes() } else { asked };
    let are_parts = sides.calls.is_some()
        || !args.part.tests.patterns.is_empty()
        || !args.part.threads.patterns.is_empty();
    asked = match (args.ignore_values, are_parts) {
        (true, _) => asked,
        (false, true) => asked.with_exceptions(),
        (false, false) => asked.with_values(),
    };
    asked = match sides.calls {
        Some(numbers) => asked.pairing_all().of_one_run().numbered_from(numbers),
        None if sides.are_attempts => asked.pairing_all().of_one_run(),
        None if args.compares_threads() => asked.pairing_all(),
        None => asked,
    };
    asked = if args.compares_parts() { asked.of_one_run() } else { asked };
    asked = if sides.are_behaviours { asked.as_behaviours() } else { asked };
    asked = if args.unordered { asked.in_any_order() } else { asked };
    Ok(asked.find(sources.each_ref().map(|(_, source)| &source.traces), progress)?)
}

/// Compares the threads of two runs, and passes the first difference on as a row: a value, if one differs before the calls do; `None`
/// if there is none.
pub(super) fn first<T>(
    sources: &[(Run, Source); 2],
    sides: &Sides,
    args: &DiffArgs,
    to: impl FnOnce(Option<ExactRow<'_>>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let found = find(sources, |name| name, sides, args, &mut Progress::hidden())?;
    let both = sources.each_ref().map(|(_, source)| &source.traces);
    let names = found.names(both);
    to(found.first_row(&names, has_numbers(args)))
}

/// Compares the threads of two runs. Returns the status, and whether they differ.
pub(super) fn run(
    sources: &[(Run, Source); 2],
    rename: impl Fn(MethodName) -> MethodName,
    sides: &Sides,
    args: &DiffArgs,
    progress: &mut Progress,
    out: &mut Out,
) -> Result<(Status, bool), Failure> {
    let (most, skipped) = limits(args);
    let found = find(sources, rename, sides, args, progress)?;
    let both = sources.each_ref().map(|(_, source)| &source.traces);
    let status = Status::from(found.soundness);
    let names = found.names(both);
    let print = Print { found: &found, names: &names, both, sides, args, most, skipped };
    let differs = !found.differing.is_empty();
    if let Some(path) = &args.html {
        let page = diff_page(&print.compared())?;
        PageFile::find(path)?.write(&page, out)?;
        return Ok((status, differs));
    }
    match args.format {
        DiffFormat::Mermaid => out.write_all(print.diagram().mermaid().as_bytes())?,
        DiffFormat::PlantUml => out.write_all(print.diagram().plantuml().as_bytes())?,
        format if format.of_rows() == Format::Text => print.text(out)?,
        _ => {
            let mut records = Records::new::<ExactRow<'_>>(args.format.of_rows(), false, out)?;
            records.sort_keys();
            print.rows(&mut records, out)?;
        }
    }
    let more = found.differing.iter().any(|thread| thread.comparison.is_cut());
    print.note_more_values(out)?;
    if more || found.room == 0 {
        let text = print.left_out("further differences");
        let text = match sides.are_attempts {
            true => text,
            false => {
                format!("{}; --next {} continues)", text.trim_end_matches(')'), skipped + most)
            }
        };
        out.remark(args.format.of_rows(), None, &text)?;
    }
    Ok((status, differs))
}

struct Print<'a> {
    found: &'a RunDifferences,
    names: &'a JoinedNames<'a>,
    both: [&'a Traces; 2],
    sides: &'a Sides,
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
            let DifferingThread { comparison, values, .. } = thread;
            let title = self.title(thread);
            Some(ComparedThread { title, sides: [before?, after?], comparison, values })
        };
        Compared {
            shapes: &self.found.shapes,
            names: self.names,
            sides: [(0, calls[0]), (1, calls[1])]
                .map(|(side, calls)| (self.sides.titles[side].clone(), calls)),
            threads: differing.iter().filter_map(thread).collect(),
            same: self.found.compared - differing.len(),
            first_calls: self.sides.calls.unwrap_or_default(),
            values: self.found.values,
            most: self.most,
        }
    }

    /// What a sequence diagram shows.
    fn diagram(&self) -> DifferenceDiagram<'_> {
        let (mut skip, mut left) = (self.skipped, self.most);
        let mut threads = Vec::new();
        for thread in &self.found.differing {
            let all = thread.comparison.differences();
            let shown = all.get(skip..).unwrap_or_default();
            skip -= skip.min(all.len());
            let shown = shown.get(..left).unwrap_or(shown);
            left -= shown.len();
            let value = thread.values.first().filter(|_| self.skipped == 0);
            if !shown.is_empty() || value.is_some() || all.is_empty() {
                threads.push(DrawnThread {
                    name: self.title(thread),
                    comparison: &thread.comparison,
                    shown,
                    value: value.map(|value| (value, thread.values.is_before_calls)),
                });
            }
        }
        let (shapes, words) = (&self.found.shapes, self.sides.words);
        DifferenceDiagram { shapes, names: self.names, words, threads }
    }

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        let RunDifferences { differing, compared, calls, left_out, .. } = self.found;
        let counts = calls.map(|calls| plural(calls, "call"));
        let width = counts.iter().map(|text| text.chars().count()).max().unwrap_or_default();
        let times = self.sides.times.each_ref().map(|times| {
            times.as_ref().map(|times| format!("  {}", bounded_duration(times.duration)))
        });
        for (side, what) in self.sides.words.into_iter().enumerate() {
            let (count, title) = (&counts[side], escaped(&self.sides.titles[side]));
            let time = times[side].as_deref().unwrap_or_default();
            writeln!(out, "{what:<6}  {count:>width$}{time}  {title}")?;
        }
        let noun = self.sides.noun();
        if !left_out.is_empty() {
            writeln!(out, "{}", not_compared(left_out.len() as u64, noun))?;
        }
        if *compared == 0 {
            writeln!(out, "\nno {noun}s were compared")?;
            return Ok(());
        }
        let are_calls = self.sides.calls.is_some();
        let threads = plural(*compared as u64, noun);
        if differing.is_empty() {
            let values = match self.found.values {
                Some(count) => format!(", with the same {}", plural(count, "value")),
                None => String::new(),
            };
            let within = if are_calls { String::new() } else { format!(", in {threads}") };
            let what = self.same_calls();
            writeln!(out, "\nno difference: {what}{values}{within}")?;
            self.note_expected(out)?;
            return Ok(());
        }
        let differ = differing.len() as u64;
        if !are_calls {
            writeln!(
                out,
                "{} of {threads} {}",
                grouped(differ),
                if differ == 1 { "differs" } else { "differ" }
            )?;
        }
        self.note_expected(out)?;
        self.threads(out)?;
        if self.args.part.tests.patterns.is_empty() { Ok(()) } else { self.turns(out) }
    }

    /// Prints what was not compared.
    fn note_expected(&self, out: &mut Out) -> Result<(), Failure> {
        if !self.args.expect.is_empty() {
            let text = self.args.expect.join(" or ");
            writeln!(out, "what methods do that match {} was not compared", escaped(&text))?;
        }
        Ok(())
    }

    /// Prints in which order the threads of a test ran before the first difference, if that is known.
    fn turns(&self, out: &mut Out) -> Result<(), Failure> {
        let Some(turns) = self.found.turns(self.both, SHOWN_TURNS) else { return Ok(()) };
        writeln!(out, "\ncalls of all threads before the first difference, in their order:")?;
        let rows = turns.iter().map(Vec::len).max().unwrap_or_default();
        let text = |side: usize, text: fn(&ThreadTurn) -> String| {
            // The last calls are beside each other.
            let of_side = turns.get(side).map_or(&[][..], Vec::as_slice);
            let missing = std::iter::repeat_n(String::new(), rows - of_side.len());
            missing.chain(of_side.iter().map(text)).map(Cell::text).collect::<Vec<_>>()
        };
        let mut table = Table::default();
        for (side, word) in self.sides.words.into_iter().enumerate() {
            let thread = |turn: &ThreadTurn| match turn.is_certain {
                true => turn.thread.clone(),
                false => format!("~{}", turn.thread),
            };
            table.column(word, text(side, thread));
            table.column("", text(side, |turn| turn.method.clone()));
        }
        Ok(table.print(out)?)
    }

    /// What the threads of a pair are called. Of attempts, it is known in which test they ran.
    fn title(&self, of: &DifferingThread) -> String {
        match self.found.threads(of) {
            [Some(before), Some(after)] if self.sides.are_attempts && before.name == after.name => {
                format!("thread {}", before.name)
            }
            _ => self.found.title(of, self.sides.words),
        }
    }

    /// `call 3, after: 5: `, or nothing if numbers are not those of the trace because calls were left out.
    fn numbers(&self, [before, after]: [u64; 2]) -> String {
        match has_numbers(self.args) {
            false => String::new(),
            true if before == after => format!("call {}: ", grouped(before)),
            true => {
                let word = self.sides.words[1];
                format!("call {}, {word}: {}: ", grouped(before), grouped(after))
            }
        }
    }

    /// Prints the threads that differ.
    fn threads(&self, out: &mut Out) -> Result<(), Failure> {
        let (mut skip, mut left) = (self.skipped, self.most);
        let differing = &self.found.differing;
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
            if self.sides.calls.is_none() {
                out.heading(&self.title(thread))?;
            }
            // What comes first may be why the rest differs.
            if thread.values.is_before_calls {
                self.values(&thread.values, out)?;
            } else if differences.is_empty() && !thread.comparison.is_cut() {
                writeln!(out, "{}", self.same_calls())?;
            }
            if thread.values.is_before_calls && !shown.is_empty() {
                out.write_all(b"\n")?;
            }
            for difference in shown.iter().take(left) {
                self.difference(comparison, difference, out)?;
                left -= 1;
            }
            if !thread.values.is_before_calls && !thread.values.values.is_empty() {
                out.write_all(if shown.is_empty() { b"" } else { b"\n" })?;
                self.values(&thread.values, out)?;
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
        let numbers = own.map_or(String::new(), |_| self.numbers(difference.numbers));
        writeln!(out, "{numbers}{}{times}", escaped(&name))?;
        if !stack.is_empty() {
            let short = if self.args.verbose { NameForm::Full } else { NameForm::Short };
            let callers = chain(&stack, CHAIN_ENDS, |method| self.names.get(*method, short));
            writeln!(out, "  in {}", escaped(&callers))?;
        }
        let shapes = &self.found.shapes;
        for (shape, count) in Comparison::calls_before(shapes, difference, SHOWN_BEFORE) {
            if let Kind::Call(method, _) = shapes.kind(shape) {
                let name = self.names.get(method, self.form());
                writeln!(out, "    {}{}", escaped(&name), times_text(count))?;
            }
        }
        for shift in difference.shifts.iter().take(SHOWN_SHIFTS) {
            writeln!(out, "  {}", escaped(&self.shift(comparison, shift)))?;
        }
        if difference.shifts.len() > SHOWN_SHIFTS {
            let more = plural((difference.shifts.len() - SHOWN_SHIFTS) as u64, "more call");
            writeln!(out, "  … {more}")?;
        }
        if let Some([before, after]) = difference.outcomes {
            let word = self.sides.words[1];
            writeln!(out, "  {}; {word}: {}", before.text(), after.text())?;
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
        let count = times_text(shift.count);
        let inner = if calls > shift.count {
            format!("  {}", plural(calls, "call"))
        } else {
            String::new()
        };
        let moved = if comparison.is_moved(shift.shape) { "  moved" } else { "" };
        format!("{sign} {name}{count}{inner}{moved}")
    }

    /// Prints where a value first differs, and how many do.
    fn values(&self, values: &DifferingValues, out: &mut Out) -> Result<(), Failure> {
        let Some(DifferingValue { method, first, .. }) = values.first() else { return Ok(()) };
        if self.skipped > 0 {
            return Ok(());
        }
        let numbers = self.numbers(first.numbers);
        let name = self.names.get(*method, self.form());
        writeln!(out, "{numbers}{}", escaped(&name))?;
        if let Some((_, callers @ [_, ..])) = first.stack.split_last() {
            let short = if self.args.verbose { NameForm::Full } else { NameForm::Short };
            let callers = chain(callers, CHAIN_ENDS, |method| self.names.get(*method, short));
            writeln!(out, "  in {}", escaped(&callers))?;
        }
        if !first.arguments.is_empty() {
            writeln!(out, "  {}", escaped(&first.arguments))?;
        }
        let [before, after] = first.texts.each_ref().map(|text| escaped(text));
        let [word, other] = self.sides.words;
        writeln!(out, "  {}: {before}; {other}: {after}", escaped(&first.name))?;
        if values.count() == 1 {
            return Ok(());
        }
        let calls = plural(values.calls, "call");
        let (count, compared) = (grouped(values.count()), plural(values.compared, "value"));
        writeln!(out, "{count} of {compared} differ in {calls} that both made:")?;
        let rows = || values.values.iter().take(self.most);
        let text = |row: &DifferingValue, side: usize| {
            Cell::text(shortened(&row.first.texts[side], SHOWN_VALUE).into_owned())
        };
        let mut table = Table::default();
        table.column("times", rows().map(|row| Cell::Count(row.count)));
        table.column("of", rows().map(|row| Cell::Count(row.compared)));
        table.column("value", rows().map(|row| Cell::text(&*row.name)));
        table.column(word, rows().map(|row| text(row, 0)));
        table.column(other, rows().map(|row| text(row, 1)));
        let names = rows().map(|row| Cell::method(self.names.get(row.method, self.form())));
        table.column("method", names);
        Ok(table.print(out)?)
    }

    /// Prints how many kinds of values that differ are left out.
    fn note_more_values(&self, out: &mut Out) -> Result<(), Failure> {
        let more = self.found.differing.iter().map(|thread| thread.values.values.len());
        let more: usize = more.map(|values| values.saturating_sub(self.most)).sum();
        if more == 0 || self.skipped > 0 {
            return Ok(());
        }
        let text = self.left_out(&plural(more as u64, "more value"));
        Ok(out.remark(self.args.format.of_rows(), None, &text)?)
    }

    /// Of attempts, there is no flag to see more.
    fn left_out(&self, what: &str) -> String {
        match self.sides.are_attempts {
            true => format!("… {what} left out"),
            false => left_out(what, self.most),
        }
    }

    fn form(&self) -> NameForm {
        if self.args.verbose { NameForm::Full } else { NameForm::Readable }
    }

    fn same_calls(&self) -> &'static str {
        match self.args.unordered {
            true => "the same calls in any order",
            false => "the same calls in the same order",
        }
    }

    fn rows(&self, records: &mut Records, out: &mut Out) -> Result<(), Failure> {
        let (found, names, has_numbers) = (self.found, self.names, has_numbers(self.args));
        let mut calls = found.call_rows(names, has_numbers, self.skipped, self.most);
        calls.try_for_each(|row| records.row(&row, out))?;
        let most = if self.skipped > 0 { 0 } else { self.most };
        let mut values = found.value_rows(names, has_numbers, most);
        Ok(values.try_for_each(|row| records.row(&row, out))?)
    }
}

/// Whether calls have the numbers that they have in their traces.
fn has_numbers(args: &DiffArgs) -> bool {
    let filter = &args.part.filter;
    // Those of a test begin anew.
    !args.unordered
        && args.ignore.is_empty()
        && args.expect.is_empty()
        && args.part.tests.patterns.is_empty()
        && filter.include.is_empty()
        && filter.exclude.is_empty()
        && !filter.own
}

/// ` ×2`, if it is more than one.
fn times_text(count: u64) -> String {
    match count {
        1 => String::new(),
        count => format!(" ×{}", grouped(count)),
    }
}
