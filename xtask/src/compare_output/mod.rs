//! `xtask compare-output`: whether two builds of flow print the same, or one does for each form of a trace.
//!
//! `commands` lists what is run, `build` runs it, `forms` makes the forms.

mod build;
mod commands;
mod forms;

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use self::build::Build;
use self::commands::commands_of;
use crate::arguments::{Argument, Arguments};
use crate::failure::{Context, Failure, Result};
use crate::process::{cannot_run, is_executable};
use crate::project::{Project, absolute};
use crate::{Outcome, report};

pub(crate) const NAME: &str = "compare-output";

pub(crate) const USAGE: &str = "\
Compares what two builds of flow print: every verb, in every format and with its main flags, for each trace
in a directory. Or what one build prints for each form of these traces: a directory, one file, and one file on
standard input.

usage: scripts/compare-output.sh OLD NEW DIR [PATTERN]
       scripts/compare-output.sh --forms FLOW DIR [PATTERN]

  OLD, NEW   two `flow` programs
  FLOW       one; `flow convert` makes the forms that are not in DIR
  DIR        a directory of traces, which are not changed: with OLD and NEW trace directories, one of them
             called `clean`, with which the others are compared by `flow diff`; with --forms also files
  PATTERN    only commands that match this regular expression, as `TRACE: VERB FLAGS`

Checksums of what OLD prints are kept in DIR/.outputs, so that it runs once. Of each difference the first
lines are shown. A flag that was renamed is used by its older name where a build does not know the newer.

Exit status: 0 no differences, 1 differences, 2 something is missing.
";

/// The differences that are shown; all are counted.
const SHOWN: usize = 40;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    old: PathBuf,
    /// `None` if forms of traces are compared.
    new: Option<PathBuf>,
    traces: PathBuf,
    pattern: String,
}

fn parse(mut arguments: Arguments) -> Result<Request> {
    let (mut operands, mut compares_forms) = (Vec::new(), false);
    while let Some(argument) = arguments.next() {
        match argument {
            Argument::Operand(word) => operands.push(word),
            Argument::Option(option) if option == "--forms" => compares_forms = true,
            Argument::Option(option) => return Arguments::unknown(&option),
        }
    }
    let needed = if compares_forms { 2 } else { 3 };
    let pattern = if operands.len() == needed + 1 { operands.pop() } else { None };
    let (old, new, traces) = match operands.as_slice() {
        [flow, traces] if compares_forms => (flow, None, traces),
        [old, new, traces] if !compares_forms => (old, Some(new), traces),
        _ => {
            return Err(Failure::Usage(
                "usage: compare-output OLD NEW DIR [PATTERN], or compare-output --forms FLOW DIR [PATTERN]; see \
                 --help"
                    .to_owned(),
            ));
        }
    };
    Ok(Request {
        old: absolute(old)?,
        new: new.map(|new| absolute(new)).transpose()?,
        traces: absolute(traces)?,
        pattern: pattern.unwrap_or_else(|| ".".to_owned()),
    })
}

pub(crate) fn run(arguments: Arguments) -> Result<Outcome> {
    let request = parse(arguments)?;
    for program in [&request.old].into_iter().chain(&request.new) {
        if !is_executable(program) {
            return Err(Failure::Usage(format!("no such program: {}", program.display())));
        }
    }
    let Some(new) = &request.new else {
        return forms::compare(&request.old, &request.traces, &request.pattern);
    };
    let traces = traces_in(&request.traces)?;
    let commands: Vec<String> = traces.iter().flat_map(|trace| commands_of(trace)).collect();
    let commands = matching(&commands, &request.pattern)?;

    let work = Project::enter()?.work_dir(NAME)?;
    let old = Build::open(&request.old, &request.traces, &work)?;
    let new = Build::open(new, &request.traces, &work)?;
    let before = known_checksums(&old, &commands, &request.traces)?;
    let after = checksums(&new, &commands)?;

    let mut differences = 0;
    for (command, checksum) in commands.iter().zip(&after) {
        if before.get(command) == Some(checksum) {
            continue;
        }
        differences += 1;
        if differences <= SHOWN {
            report::print(&format!(
                "== {command}\n{}",
                first_differences(&old, &new, command, &work)?
            ));
        }
    }
    report::print(&format!("{} commands, {differences} differ\n", commands.len()));
    Ok(Outcome::passed_if(differences == 0))
}

/// Returns the names of the traces in a directory, sorted.
fn traces_in(dir: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(dir)
        .map_err(|error| Failure::Usage(format!("{}: {error}", dir.display())))?
        .flatten();
    let mut traces: Vec<String> = entries
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    traces.sort();
    if traces.is_empty() {
        return Err(Failure::Usage(format!("no traces in {}", dir.display())));
    }
    Ok(traces)
}

/// Returns the commands that match a regular expression, as `grep -E` understands it.
fn matching(commands: &[String], pattern: &str) -> Result<Vec<String>> {
    let mut grep = Command::new("grep");
    grep.args(["-E", "--", pattern]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = grep.spawn().map_err(|error| cannot_run(&grep, &error))?;
    let mut stdin = child.stdin.take().expect("it is piped");
    let text = commands.join("\n");
    // It reads all before it ends, and what it prints must be read meanwhile.
    let writer = thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().context("grep")?;
    let _ = writer.join();
    let matching: Vec<String> =
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    if matching.is_empty() {
        return Err(Failure::Usage(format!("no command matches {pattern}")));
    }
    Ok(matching)
}

/// Returns the checksum of what each command prints. Commands run in parallel.
fn checksums(build: &Build, commands: &[String]) -> Result<Vec<u64>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(vec![Ok(0); commands.len()]);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for worker in 0..workers {
            let (next, results) = (&next, &results);
            scope.spawn(move || {
                loop {
                    // Pairs with the same in other workers: each index is taken once.
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(command) = commands.get(index) else { break };
                    let result =
                        build.checksum(command, worker).map_err(|failure| failure.to_string());
                    results.lock().expect("no worker panics with the lock")[index] = result;
                }
            });
        }
    });
    let results = results.into_inner().expect("no worker panics with the lock");
    results.into_iter().collect::<std::result::Result<_, _>>().map_err(Failure::Failed)
}

/// Returns checksums by command, of a build that may have run before: what it has printed then is kept in
/// `.outputs` next to the traces.
fn known_checksums(
    build: &Build,
    commands: &[String],
    traces: &Path,
) -> Result<HashMap<String, u64>> {
    let dir = traces.join(".outputs");
    fs::create_dir_all(&dir).context(dir.display())?;
    let file = dir.join(&build.id);
    let mut known = parse_checksums(&fs::read_to_string(&file).unwrap_or_default());
    let unknown: Vec<String> =
        commands.iter().filter(|command| !known.contains_key(*command)).cloned().collect();
    let added = checksums(build, &unknown)?;
    let mut kept =
        fs::File::options().create(true).append(true).open(&file).context(file.display())?;
    for (command, checksum) in unknown.into_iter().zip(added) {
        writeln!(kept, "{checksum:016x} {command}").context(file.display())?;
        known.insert(command, checksum);
    }
    Ok(known)
}

/// Returns the checksums in a file of `.outputs`: lines with a checksum and a command.
fn parse_checksums(text: &str) -> HashMap<String, u64> {
    let parsed = text.lines().filter_map(|line| {
        let (checksum, command) = line.split_once(' ')?;
        Some((command.to_owned(), u64::from_str_radix(checksum, 16).ok()?))
    });
    parsed.collect()
}

/// Runs a command with both builds and returns the first differences.
fn first_differences(old: &Build, new: &Build, command: &str, work: &Path) -> Result<String> {
    let files = [work.join("old"), work.join("new")];
    for (build, file) in [old, new].into_iter().zip(&files) {
        let mut output = std::io::BufWriter::new(fs::File::create(file).context(file.display())?);
        build.run(command, 0, &mut |bytes| output.write_all(bytes))?;
    }
    let mut diff = Command::new("diff");
    let output =
        diff.arg("--text").args(&files).output().map_err(|error| cannot_run(&diff, &error))?;
    let mut text = String::new();
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).take(8) {
        text += &String::from_utf8_lossy(&line[..line.len().min(300)]);
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Request> {
        parse(Arguments::new(words.iter().map(|&word| word.to_owned()).collect()))
    }

    #[test]
    fn two_programs_and_a_directory_are_needed() {
        let request = parsed(&["/a/flow", "/b/flow", "/traces"]).unwrap();
        assert_eq!((request.new, request.pattern), (Some("/b/flow".into()), ".".to_owned()));
        let request = parsed(&["--forms", "/a/flow", "/traces", "report"]).unwrap();
        assert_eq!((request.new, request.pattern), (None, "report".to_owned()));
        assert_eq!(parsed(&["/a", "/b", "/c", "report"]).unwrap().pattern, "report");
        for words in [
            &["/a", "/b"][..],
            &["/a", "/b", "/c", "d", "e"],
            &["/a", "/b", "--all"],
            &["--forms", "/a", "/b", "c", "d"],
        ] {
            assert_eq!(parsed(words).unwrap_err().status(), 2);
        }
    }

    #[test]
    fn a_pattern_selects_commands() {
        let commands = commands_of("clean");
        let reports = matching(&commands, "^clean: report --by calls").unwrap();
        assert_eq!(reports.len(), 3, "{reports:?}");
        assert_eq!(matching(&commands, ".").unwrap(), commands);
        assert_eq!(matching(&commands, "no such").unwrap_err().status(), 2);
    }

    #[test]
    fn kept_checksums_are_read_back() {
        let known = parse_checksums("00000000000000ff a: info --max 1\nnot one\n");
        assert_eq!(known, HashMap::from([("a: info --max 1".to_owned(), 255)]));
    }

    #[test]
    fn traces_are_directories_that_are_not_hidden() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(traces_in(dir.path()).unwrap_err().status(), 2);
        for name in ["b", "a", ".outputs"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        fs::write(dir.path().join("file"), "").unwrap();
        assert_eq!(traces_in(dir.path()).unwrap(), ["a", "b"]);
    }
}
