//! `flow tests --affected-by`: which tests to run after a change, as a list and as arguments of build tools.

use std::io::Write;

use flow_query::ask::{Affected, AffectedTests, FileEffect, SelectedClass};
use flow_query::reading::Soundness;
use flow_query::rows::{AffectedRow, Cell};

use super::lock::no_tests;
use crate::args::{TestsArgs, TestsFormat};
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::git::{self, Changes};
use crate::input::source::Source;
use crate::output::{
    Format, Out, Progress, Records, Table, escaped, grouped, left_out, message, plural,
};

/// Lines shown in text by default.
const DEFAULT_MAX: u64 = 100;
/// Files and classes that a message names.
const NAMED: usize = 3;
/// Linux accepts no longer argument than 128 KiB. A list that would be longer has only classes.
const MAX_ARGUMENT: usize = 100_000;

/// Shows the affected tests.
pub(super) fn run(args: &TestsArgs, range: &str, out: &mut Out) -> Result<Status, Failure> {
    args.expect_affected()?;
    let Changes { title, files, sources } = git::changes(range)?;
    let mut source = Source::open(&args.source())?;
    source.expect_calls()?;
    let ignored = args.ignore_files.clone();
    let asked = AffectedTests { changed: files, sources, ignored, tests: args.tests.tests() };
    let mut progress = Progress::without_results(source.bytes());
    let (found, soundness) = source.ask(|traces| asked.find(traces, &mut progress))?;
    drop(progress);
    if found.all().is_empty() {
        return Err(no_tests(&source));
    }
    if soundness != Soundness::Whole || source.status != Status::Done {
        return Err(Failure::Failed(format!(
            "{}: damaged or incomplete, so which tests are affected is not certain; run all tests, and record them again",
            source.traces.path().display()
        )));
    }
    let print = Print { args, found: &found };
    match args.format {
        TestsFormat::Text => print.text(&title, out)?,
        TestsFormat::Json | TestsFormat::Csv => print.rows(out)?,
        TestsFormat::Surefire => print.surefire(out)?,
        TestsFormat::Gradle => print.gradle(out)?,
        TestsFormat::Plain => print.plain(out)?,
    }
    print.messages();
    Ok(source.status)
}

struct Print<'a> {
    args: &'a TestsArgs,
    found: &'a Affected,
}

impl Print<'_> {
    /// `12 of 968 tests, and 1 new class`.
    fn text(&self, title: &str, out: &mut Out) -> Result<(), Failure> {
        let files = self.found.files();
        let changed = plural(files.len() as u64, "file");
        writeln!(out, "{changed} changed {title}")?;
        let effect = |effect: &FileEffect| match effect {
            FileEffect::Classes { known, further_files: 0 } => {
                plural_of(*known, "class", "classes")
            }
            FileEffect::Classes { known, further_files } => {
                let further = plural(*further_files as u64, "file");
                format!(
                    "{}, and those of {further} that depend on it",
                    plural_of(*known, "class", "classes")
                )
            }
            FileEffect::SameCode => "nothing: only comments and white space differ".to_owned(),
            FileEffect::Nothing => "nothing: no part of the build".to_owned(),
            FileEffect::Everything => "may affect everything".to_owned(),
        };
        let mut table = Table::default();
        table.column("change", files.iter().map(|(file, _)| Cell::text(file.change())));
        table.column("file", files.iter().map(|(file, _)| Cell::text(&*file.path)));
        table.column("affects", files.iter().map(|(_, of)| Cell::text(effect(of))));
        if !files.is_empty() {
            out.write_all(b"\n")?;
            table.print(out)?;
        }
        let (count, all) = (self.found.count() as u64, self.found.all().len() as u64);
        let are = if count == 1 { "is" } else { "are" };
        writeln!(out, "\n{} of {} {are} affected", grouped(count), plural(all, "test"))?;
        let max = line_limit(self.args.max, Format::Text, DEFAULT_MAX);
        let rows: Vec<_> = self.found.rows().collect();
        let shown = rows.get(..max).unwrap_or(&rows);
        if shown.is_empty() {
            return Ok(());
        }
        out.write_all(b"\n")?;
        let mut table = Table::default();
        table.column("why", shown.iter().map(|row| Cell::text(row.why)));
        table.column("through", shown.iter().map(|row| Cell::text(through(row))));
        table.column("test", shown.iter().map(|row| Cell::text(name(row))));
        table.print(out)?;
        match rows.len() - shown.len() {
            0 => Ok(()),
            more => {
                let more = left_out(&plural(more as u64, "more test"), max);
                Ok(out.remark(Format::Text, None, &more)?)
            }
        }
    }

    fn rows(&self, out: &mut Out) -> Result<(), Failure> {
        let format = self.args.format.of_rows();
        let max = line_limit(self.args.max, format, DEFAULT_MAX);
        let mut records = Records::new::<AffectedRow<'_>>(format, false, out)?;
        self.found.rows().take(max).try_for_each(|row| records.row(&row, out))?;
        Ok(())
    }

    /// Arguments of Maven: none if everything is affected, and no tests if none are.
    fn surefire(&self, out: &mut Out) -> Result<(), Failure> {
        if self.runs_all() {
            return Ok(());
        }
        let classes = self.found.by_class();
        if classes.is_empty() {
            return Ok(writeln!(out, "-DskipTests")?);
        }
        let joined = |part: &dyn Fn(&SelectedClass) -> String| {
            let parts: Vec<_> = classes.iter().map(part).collect();
            parts.join(",")
        };
        let mut list = joined(&|of| match of.methods.is_empty() {
            true => whole(&of.class, "$*", ","),
            false => {
                let methods: Vec<_> = of.methods.iter().map(|method| pattern(method)).collect();
                format!("{}#{}", of.class, methods.join("+"))
            }
        });
        if list.len() > MAX_ARGUMENT {
            list = joined(&|of| of.class.clone());
        }
        // In a build of several modules, most have none of the tests.
        Ok(writeln!(out, "-Dtest={list} -Dsurefire.failIfNoSpecifiedTests=false")?)
    }

    /// Arguments of Gradle, likewise.
    fn gradle(&self, out: &mut Out) -> Result<(), Failure> {
        if self.runs_all() {
            return Ok(());
        }
        let classes = self.found.by_class();
        let mut words = Vec::new();
        for SelectedClass { class, methods } in &classes {
            if methods.is_empty() {
                words.push(format!("--tests {class}"));
                words.push(format!("--tests {class}$*"));
            }
            words.extend(
                methods.iter().map(|method| format!("--tests {class}.{}", pattern(method))),
            );
        }
        let line = if words.is_empty() { "-x test".to_owned() } else { words.join(" ") };
        Ok(writeln!(out, "{line}")?)
    }

    /// A line for each class and test.
    fn plain(&self, out: &mut Out) -> Result<(), Failure> {
        for row in self.found.rows() {
            writeln!(out, "{}", row.test)?;
        }
        Ok(())
    }

    /// Whether no test can be left out: a file affects everything, or a test has a name that build tools do not know.
    fn runs_all(&self) -> bool {
        self.found.is_everything() || self.found.without_class().next().is_some()
    }

    /// What a person should know beside the list.
    fn messages(&self) {
        let everything = self.found.files().iter().filter(|(_, of)| *of == FileEffect::Everything);
        let everything: Vec<_> = everything.map(|(file, _)| &*file.path).collect();
        if !everything.is_empty() {
            message(&format!(
                "run all tests: {} may affect each of them; --ignore-files names files that affect none",
                listed(&everything)
            ));
        } else if let Some(test) = self.found.without_class().next() {
            message(&format!(
                "run all tests: '{test}' is not named like a method, so build tools cannot select it"
            ));
        }
        let unknown: Vec<_> = self.found.unknown().iter().map(|class| &**class).collect();
        if !unknown.is_empty() {
            let classes = plural_of(unknown.len(), "class", "classes");
            message(&format!(
                "{classes} in files with tests have no test in this recording, and are not selected: {}",
                listed(&unknown)
            ));
        }
    }
}

/// Where a test depends on the change.
fn through<'a>(row: &AffectedRow<'a>) -> &'a str {
    if row.through.is_empty() { row.file } else { row.through }
}

fn name(row: &AffectedRow<'_>) -> String {
    if row.kind == "class" { format!("{} (all tests)", row.test) } else { row.test.to_owned() }
}

/// A class and those in it, which some versions of build tools do not run with it.
fn whole(class: &str, inner: &str, separator: &str) -> String {
    format!("{class}{separator}{class}{inner}")
}

/// The name of a method without what a shell or a build tool would take for something else.
fn pattern(method: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    method.chars().map(|c| if is_plain(c) { c } else { '*' }).collect()
}

fn plural_of(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count as u64), if count == 1 { one } else { many })
}

fn listed(names: &[&str]) -> String {
    let shown: Vec<_> = names.iter().take(NAMED).map(|name| escaped(name).to_string()).collect();
    match names.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {} more", shown.join(", "), grouped(more as u64)),
    }
}
