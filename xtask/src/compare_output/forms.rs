//! Whether flow prints the same for a trace whatever form it has.

use std::fs;
use std::path::{Path, PathBuf};

use super::build::{Build, ENDING, Form};
use super::commands::{Values, commands_of};
use super::{NAME, SHOWN, checksums, first_differences, matching};
use crate::failure::{Context, Failure, Result};
use crate::process::{clean, output_of, run};
use crate::project::Project;
use crate::{Outcome, report};

/// What shows that events are in a journal, which a converted trace does not have.
const SHOWS_JOURNAL: [&str; 2] = ["check", "dump --marks"];

/// A trace in all forms.
#[derive(Debug)]
struct Trace {
    name: String,
    /// Where the directory, the file and the file for standard input are.
    places: [PathBuf; 3],
    /// Which of them has a journal.
    killed: Option<Form>,
}

pub(super) fn compare(flow: &Path, traces: &Path, pattern: &str) -> Result<Outcome> {
    let work = Project::enter()?.work_dir(NAME)?;
    let build = Build::open(flow, traces, &work)?;
    let (mut compared, mut differences) = (0, 0);
    for (name, is_file) in traces_in(traces)? {
        let trace = Trace::prepare(flow, traces, &work.join("forms"), name, is_file)?;
        let values = values_of(flow, &trace)?;
        let forms = [Form::Directory, Form::File, Form::Stdin];
        let builds: Vec<Build> = forms
            .iter()
            .zip(&trace.places)
            .map(|(form, place)| build.with_form(*form, place, &values))
            .collect();
        let commands: Vec<String> = commands_of(&trace.name)
            .iter()
            .map(|command| command.replace("diff clean", &format!("diff {}", trace.name)))
            .collect();
        let Ok(commands) = matching(&commands, pattern) else { continue };
        let outputs =
            builds.iter().map(|build| checksums(build, &commands)).collect::<Result<Vec<_>>>()?;
        // Standard input never has a journal.
        let Some((expected, others)) = outputs.split_last() else { continue };
        for (form, found) in others.iter().enumerate() {
            for (index, command) in commands.iter().enumerate() {
                if trace.killed == forms.get(form).copied() && shows_journal(command) {
                    continue;
                }
                compared += 1;
                if found.get(index) == expected.get(index) {
                    continue;
                }
                differences += 1;
                if differences <= SHOWN {
                    let last = builds.len() - 1;
                    let text = first_differences(&builds[form], &builds[last], command, &work)?;
                    report::print(&format!(
                        "== {command}, {:?} and standard input\n{text}",
                        forms[form]
                    ));
                }
            }
        }
    }
    report::print(&format!("{compared} outputs compared, {differences} differ\n"));
    Ok(Outcome::passed_if(differences == 0))
}

fn shows_journal(command: &str) -> bool {
    let verb = command.split_once(": ").map_or("", |(_, verb)| verb);
    SHOWS_JOURNAL.iter().any(|shows| verb.starts_with(shows))
}

/// Returns the names of the traces in a directory, and which are files. Files of further JVMs and parts belong to another.
fn traces_in(dir: &Path) -> Result<Vec<(String, bool)>> {
    let mut traces = Vec::new();
    for entry in fs::read_dir(dir).context(dir.display())?.flatten() {
        let (path, Ok(name)) = (entry.path(), entry.file_name().into_string()) else { continue };
        let is_other = |name: &str| name.contains("-part-") || name.contains("-jvm-");
        match name.strip_suffix(ENDING) {
            Some(name) if path.is_file() && !is_other(name) => traces.push((name.to_owned(), true)),
            None if path.is_dir() && !name.starts_with('.') => traces.push((name, false)),
            _ => {}
        }
    }
    traces.sort();
    if traces.is_empty() {
        return Err(Failure::Usage(format!("no traces in {}", dir.display())));
    }
    Ok(traces)
}

impl Trace {
    /// Makes the forms that are not there.
    fn prepare(flow: &Path, dir: &Path, forms: &Path, name: String, is_file: bool) -> Result<Self> {
        // A directory and a file may have the same name.
        let forms = forms.join(if is_file { format!("{name}{ENDING}") } else { name.clone() });
        let _ = fs::remove_dir_all(&forms);
        fs::create_dir_all(&forms).context(forms.display())?;
        let file = format!("{name}{ENDING}");
        let convert =
            |from: PathBuf, to: &str| run(clean(flow).arg("convert").arg(from).arg(forms.join(to)));
        let (recorded, form) = match is_file {
            true => (dir.join(format!("{file}.journal")), Form::File),
            false => (dir.join(&name).join("journal"), Form::Directory),
        };
        let killed = recorded.exists().then_some(form);
        let places = if is_file {
            convert(dir.join(&file), &name)?;
            convert(forms.join(&name), &file)?;
            [forms.clone(), dir.to_owned(), forms]
        } else {
            convert(dir.join(&name), &file)?;
            [dir.to_owned(), forms.clone(), forms]
        };
        Ok(Self { name, places, killed })
    }
}

/// A method and a thread that a trace has: those with the most calls.
fn values_of(flow: &Path, trace: &Trace) -> Result<Values> {
    let file = trace.places[2].join(format!("{}{ENDING}", trace.name));
    let first = |verb: &str, columns: &[&str]| -> Result<Option<String>> {
        let mut command = clean(flow);
        command.args(verb.split(' ')).args(["--format", "csv", "--max", "1"]).arg(&file);
        let output = output_of(&mut command)?;
        let mut rows = output.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let (Some(titles), Some(row)) = (rows.next(), rows.next()) else { return Ok(None) };
        let place = |column: &&str| titles.iter().position(|title| title == column);
        let words = columns.iter().map(|column| place(column).and_then(|at| row.get(at)).copied());
        Ok(words.collect::<Option<Vec<_>>>().map(|words| words.join("#")))
    };
    let thread = first("info --sort calls", &["thread"])?;
    let method = first("report --by calls --sort self", &["class", "name"])?;
    let Values { method: any, thread: all } = Values::default();
    Ok(Values { method: method.unwrap_or(any), thread: thread.unwrap_or(all) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_directories_and_files_but_not_their_parts() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(traces_in(dir.path()).unwrap_err().status(), 2);
        fs::create_dir(dir.path().join("d")).unwrap();
        for name in [
            "f.flowtrace",
            "f-part-0001.flowtrace",
            "f-jvm-7-1.flowtrace",
            "f.flowtrace.journal",
            "x",
        ] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let expected = [("d".to_owned(), false), ("f".to_owned(), true)];
        assert_eq!(traces_in(dir.path()).unwrap(), expected);
    }

    #[test]
    fn what_shows_a_journal_is_left_out() {
        assert!(
            shows_journal("a: check --format csv") && shows_journal("a: dump --marks --max 3000")
        );
        assert!(!shows_journal("a: dump --max 2000") && !shows_journal("check: report"));
    }
}
