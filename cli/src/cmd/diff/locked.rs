//! `flow diff flow.lock RUN`: compares the tests of a run with a lock.

use std::io::Write;
use std::path::{Path, PathBuf};

use flow_codec::format::shape_name::CallOrder;
use flow_query::analysis::Run;
use flow_query::ask::{LockDifference, LockedTests, run_with};
use flow_query::rows::{Cell, LockRow};

use super::exact;
use super::sides::Sides;
use crate::args::{DiffArgs, DiffFormat, Gone, TestArgs};
use crate::cmd::line_limit;
use crate::cmd::test_runs::lock;
use crate::failure::{Failure, Status};
use crate::input::flags::{DEFAULT_DIR, SourceArgs};
use crate::input::source::Source;
use crate::output::{
    Annotation, Case, Format, Level, Out, Progress, Records, Table, escaped, flow_command, grouped,
    left_out, markdown, message, plural, shell_quoted, suite,
};

/// Tests shown in text by default, in a table of Markdown, and as annotations, of which GitHub shows ten of a kind.
const DEFAULT_MAX: u64 = 40;
const MARKDOWN_MAX: u64 = 20;
const GITHUB_MAX: u64 = 9;

/// Compares a run with the lock.
pub(super) fn run(args: &DiffArgs, out: &mut Out) -> Result<Status, Failure> {
    args.expect_lock()?;
    let before = lock::read(&args.before)?;
    let asked = LockedTests::of(args.part.tests.tests()).in_order(before.order);
    let dir = args.after.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_DIR));
    let mut source = Source::open(&SourceArgs { dir, format: Format::Text })?;
    let (after, status) = lock::of_run(&asked, &mut source)?;
    let gone = args.gone.map(Gone::tests);
    let compared = asked.only(before.clone(), &after.lock, gone);
    let found = LockDifference::of_run(compared, &after, args.max_calls);
    let run = source.traces.path().to_path_buf();
    drop(source);
    report_recorded(&found);
    if let Some(classes) = asked.classes_not_run(&before, &after.lock).filter(|_| gone.is_none()) {
        message(&format!("{classes}; if only some tests ran, --gone keep compares these"));
    }
    let print = Print { args, found: &found, order: before.order, run: &run };
    match args.format {
        DiffFormat::Text => print.text(out)?,
        DiffFormat::Markdown => print.markdown(out)?,
        DiffFormat::Github => print.github(out)?,
        DiffFormat::Junit => print.junit(out)?,
        // Diagrams are refused.
        DiffFormat::Json | DiffFormat::Csv | DiffFormat::Mermaid | DiffFormat::PlantUml => {
            print.rows(out)?;
        }
    }
    if args.accept {
        let new = asked.accept(before.clone(), after.lock, gone)?;
        lock::write(&args.before, &new)?;
        lock::report(&args.before, Some(before), new);
        return Ok(status);
    }
    let fails = found.failures() > 0 && (args.exit_code || args.max_calls.is_some());
    Ok(if fails { status.and(Status::Differs) } else { status })
}

/// Reports that other calls were recorded, which is why most tests differ.
fn report_recorded(found: &LockDifference) {
    let Some(sides) = found.recorded() else { return };
    let [lock, run] = sides.each_ref().map(|side| {
        let options = side.iter().map(|(key, value)| format!("{key}={value}"));
        let options = options.collect::<Vec<_>>().join(" ");
        if options.is_empty() { "no filter".to_owned() } else { options }
    });
    message(&format!(
        "tests of the lock were recorded with {lock}, those of the run with {run}: they differ where other calls were recorded"
    ));
}

struct Print<'a> {
    args: &'a DiffArgs,
    found: &'a LockDifference,
    order: CallOrder,
    run: &'a Path,
}

impl Print<'_> {
    /// `3 of 47 tests differ: 2 with more calls, 1 new`.
    fn summary(&self) -> String {
        let all = self.found.rows().count() as u64;
        let count = self.found.changes().count() as u64;
        if count == 0 {
            return format!("no difference: {} did the same", plural(all, "test"));
        }
        let differ = if count == 1 { "differs" } else { "differ" };
        let tests = plural(all, "test");
        format!("{} of {tests} {differ}: {}", grouped(count), lock::changes(self.found))
    }

    /// How many tests make too many calls or too few, if that is asked for.
    fn gate(&self) -> Option<String> {
        self.args.max_calls?;
        let failures = self.found.failures();
        let exceed = if failures == 1 { "exceeds" } else { "exceed" };
        Some(match failures {
            0 => "no test exceeds --max-calls".to_owned(),
            _ => format!("{} {exceed} --max-calls", plural(failures, "test")),
        })
    }

    fn table<'r>(&self, rows: &'r [LockRow<'r>]) -> Table<'r> {
        let calls = |calls: Option<u64>| calls.map_or(Cell::number(""), Cell::Count);
        let mut table = Table::default();
        table.column("calls", rows.iter().map(|row| Cell::text(row.change)));
        table.column("before", rows.iter().map(|row| calls(row.calls_before)));
        table.column("after", rows.iter().map(|row| calls(row.calls_after)));
        if self.args.max_calls.is_some() {
            let fails = |row: &LockRow<'_>| Cell::text(if row.fails { "exceeded" } else { "" });
            table.column("limit", rows.iter().map(fails));
        }
        table.column("result", rows.iter().map(|row| Cell::text(row.result_after.unwrap_or(""))));
        table.column("test", rows.iter().map(|row| Cell::text(row.test)));
        table
    }

    /// The tests that changed, and how many are left out.
    fn shown(&self, default: u64) -> (Vec<LockRow<'_>>, Option<String>) {
        let max = match (self.args.max, self.args.format) {
            (None, DiffFormat::Markdown | DiffFormat::Github) => {
                usize::try_from(default).unwrap_or(usize::MAX)
            }
            (max, format) => line_limit(max, format.of_rows(), default),
        };
        let mut rows: Vec<_> = self.found.changes().collect();
        // Those that fail are not left out for others.
        rows.sort_by_key(|row| !row.fails);
        let more = rows.len().saturating_sub(max);
        rows.truncate(max);
        (rows, (more > 0).then(|| left_out(&plural(more as u64, "more test"), max)))
    }

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        let tests = self.found.tests().map(|count| plural(count, "test"));
        let width = tests.iter().map(String::len).max().unwrap_or_default();
        let places = [&*self.args.before, self.run].map(|path| path.display().to_string());
        for ((what, tests), place) in ["before", "after"].iter().zip(&tests).zip(&places) {
            writeln!(out, "{what:<6}  {tests:>width$}  {}", escaped(place))?;
        }
        writeln!(out, "{}", self.summary())?;
        if let Some(gate) = self.gate() {
            writeln!(out, "{gate}")?;
        }
        let (rows, more) = self.shown(DEFAULT_MAX);
        if rows.is_empty() {
            return Ok(());
        }
        out.write_all(b"\n")?;
        self.table(&rows).print(out)?;
        if let Some(more) = more {
            out.remark(Format::Text, None, &more)?;
        }
        self.first_difference(out)
    }

    /// Shows the first call that differs in the first test that does something else, if a recording of the earlier behaviour is kept.
    fn first_difference(&self, out: &mut Out) -> Result<(), Failure> {
        let Some(test) = self.found.changed().next() else { return Ok(()) };
        let parent = self.run.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = parent.unwrap_or_else(|| Path::new("."));
        let folders = [folder, Path::new(DEFAULT_DIR)];
        let mut before = folders.into_iter();
        let before = before.find_map(|folder| run_with(test, self.order, folder, self.run));
        let name = shell_quoted(&test.name).to_string();
        let run = shell_quoted(&self.run.to_string_lossy()).to_string();
        let order = if self.order == CallOrder::Ignored { " --unordered" } else { "" };
        let command = |before: &str| {
            flow_command(&format!("diff --exact{order} --test {name} {before} {run}"))
        };
        let Some(before) = before else {
            let command = command("RECORDING");
            writeln!(
                out,
                "\nNo recording is kept in which {} did what the lock has. With one, this shows the first call that differs: {command}",
                escaped(&test.name)
            )?;
            return Ok(());
        };
        writeln!(out)?;
        out.heading(&format!(
            "{}: the first difference to a recording of the earlier behaviour",
            test.name
        ))?;
        let args = DiffArgs {
            before: before.clone(),
            after: Some(self.run.to_path_buf()),
            exact: true,
            max: Some(1),
            unordered: self.order == CallOrder::Ignored,
            ..self.args.clone()
        };
        let only = TestArgs { patterns: vec![test.name.clone()] };
        let (before_run, _) = Source::open_silently(&before)?;
        let (after_run, _) = Source::open_silently(self.run)?;
        let mut sources = [(Run::Before, before_run), (Run::After, after_run)];
        for (_, source) in &mut sources {
            source.choose_tests(&only)?;
        }
        let sides = Sides::of(&args).of_behaviours();
        exact::run(&sources, |name| name, &sides, &args, &mut Progress::hidden(), out)?;
        let command = command(&shell_quoted(&before.to_string_lossy()));
        writeln!(out, "\n{command} shows more")?;
        Ok(())
    }

    fn rows(&self, out: &mut Out) -> Result<(), Failure> {
        let (rows, more) = self.shown(DEFAULT_MAX);
        let format = self.args.format.of_rows();
        let mut records = Records::new::<LockRow<'_>>(format, false, out)?;
        records.sort_keys();
        rows.iter().try_for_each(|row| records.row(row, out))?;
        if let Some(text) = more {
            out.remark(format, None, &text)?;
        }
        Ok(())
    }

    fn markdown(&self, out: &mut Out) -> Result<(), Failure> {
        let lock = markdown(&self.args.before.to_string_lossy());
        writeln!(out, "**{lock}**: {}", markdown(&self.summary()))?;
        if let Some(gate) = self.gate() {
            writeln!(out, "\n{}", markdown(&gate))?;
        }
        let (rows, more) = self.shown(MARKDOWN_MAX);
        if !rows.is_empty() {
            write!(out, "\n{}", self.table(&rows).markdown())?;
        }
        if let Some(more) = more {
            writeln!(out, "\n{}", markdown(&more))?;
        }
        Ok(())
    }

    fn github(&self, out: &mut Out) -> Result<(), Failure> {
        let (rows, more) = self.shown(GITHUB_MAX);
        let file = self.args.before.to_string_lossy();
        let level = |fails| if fails { Level::Error } else { Level::Notice };
        for row in &rows {
            let text = described(row);
            let (level, title) = (level(row.fails), row.test);
            writeln!(out, "{}", Annotation { level, file: &file, title, text: &text })?;
        }
        // The last one has the sums, also of those that are left out.
        let text = [Some(self.summary()), self.gate(), more];
        let text = text.into_iter().flatten().collect::<Vec<_>>().join("\n");
        let level = level(self.found.failures() > 0);
        writeln!(out, "{}", Annotation { level, file: &file, title: "flow", text: &text })?;
        Ok(())
    }

    fn junit(&self, out: &mut Out) -> Result<(), Failure> {
        let rows: Vec<_> = self.found.rows().collect();
        let cases: Vec<_> = rows
            .iter()
            .map(|row| {
                let (class, name) = class_and_method(row.test);
                let text = (row.change != "same").then(|| described(row));
                let (failure, note) = if row.fails { (text, None) } else { (None, text) };
                Case { class, name, failure, note }
            })
            .collect();
        Ok(suite(&self.args.before.to_string_lossy(), &cases, out)?)
    }
}

/// What happened to a test, in words.
fn described(row: &LockRow<'_>) -> String {
    let calls = |calls: Option<u64>| plural(calls.unwrap_or_default(), "call");
    let (before, after) = (calls(row.calls_before), calls(row.calls_after));
    let test = row.test;
    match row.change {
        "new" => format!("{test} is new, and makes {after}"),
        "gone" => format!("{test} is gone; it made {before}"),
        "other" => format!("{test} makes other calls than before, or in another order: {after}"),
        change => format!("{test} makes {change} calls: {before} before, {after} now"),
    }
}

/// The class of a test, and the rest of its name.
fn class_and_method(test: &str) -> (&str, &str) {
    let end = test.find(['(', '[']).unwrap_or(test.len());
    match test.get(..end).and_then(|method| method.rfind('.')) {
        Some(dot) => (test.get(..dot).unwrap_or_default(), test.get(dot + 1..).unwrap_or_default()),
        None => ("", test),
    }
}

#[cfg(test)]
mod tests {
    use super::class_and_method;

    #[test]
    fn tests_have_a_class_and_a_method() {
        for (test, class, method) in [
            ("a.B.m(java.lang.String)[2]", "a.B", "m(java.lang.String)[2]"),
            ("a.B.m", "a.B", "m"),
            ("shop.CartSuite > adds all", "shop", "CartSuite > adds all"),
            ("adds", "", "adds"),
        ] {
            assert_eq!(class_and_method(test), (class, method), "{test}");
        }
    }
}
