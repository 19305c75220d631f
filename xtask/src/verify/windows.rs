//! `xtask verify-windows`: whether flow prints on Windows what it prints on Linux.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use clap::Parser;

use crate::base::failure::{Context, Outcome, Result};
use crate::base::process::{cannot_run, clean, install, run as run_command};
use crate::base::project::{self, Project};
use crate::compare_output::compare_made;

pub(crate) const NAME: &str = "verify-windows";

/// Runs the flow of Windows under Wine, and compares what it prints and writes with that of Linux.
///
/// Reads ten traces that are made here: whole ones, ones of killed JVMs and damaged ones, as directories, as files and on standard
/// input, with and without stored indexes and shapes. The flow of Windows stores and converts what it reads.
///
/// Needs wine, x86_64-w64-mingw32-gcc, and the target x86_64-pc-windows-gnu of Rust. Takes 2 minutes and a half on two cores once everything is
/// built, which takes 5 minutes; --only . takes hours.
///
/// Exit status: 0 no differences, 1 differences, 2 something is missing.
#[derive(Debug, Parser)]
pub(crate) struct VerifyWindowsArgs {
    /// Only commands of xtask/src/compare_output/commands.txt that match this regular expression, as `TRACE: VERB FLAGS`
    #[arg(long = "only", value_name = "PATTERN", default_value = PATTERN)]
    pattern: String,
}

/// What each reading verb prints, draws and writes.
const PATTERN: &str = r"^made[a-z-]*: (report --by wall --sort self --format text|replay --max 3000 --format text|view --once|report --html O.html|diff T C --format text|check --format text|export --to perfetto --force -o O)$";

const TARGET: &str = "x86_64-pc-windows-gnu";

pub(crate) fn run(args: VerifyWindowsArgs) -> Result<Outcome> {
    let project = Project::enter()?;
    let work = project.work_dir(NAME)?;
    project::build(["--workspace", "--bin", "flow"])?;
    project::build(["--package", "flow-cli", "--target", TARGET])?;
    let programs = project.target.join(TARGET).join("debug");
    let mut compile = Command::new("x86_64-w64-mingw32-gcc");
    compile.args(["-shared", "-O2", "-o"]).arg(programs.join("bcryptprimitives.dll"));
    run_command(compile.args(["scripts/windows/bcryptprimitives.c", "-ladvapi32"]))?;

    let prefix = work.join("wine");
    let flow = wrapper(&work, &prefix, &programs.join("flow.exe"))?;
    let server = Server::start(&prefix)?;
    let outcome = compare_made(&project.target.join("debug/flow"), &flow, &args.pattern, &work);
    drop(server);
    outcome
}

/// Makes a program that runs another one under Wine.
///
/// Wine may kill a program that ends while threads still run. Its exit status is then unknown, so it runs again, and only what the
/// last run prints counts. After five kills the status is 137, which is a difference.
fn wrapper(work: &Path, prefix: &Path, program: &Path) -> Result<PathBuf> {
    let [work_dir, prefix, program] =
        [work, prefix, program].map(|path| path.display().to_string());
    let script = work.join("flow.sh");
    // The inner shell becomes Wine; the outer one reports on its own stderr that it was killed. Each run opens the input anew.
    let text = format!(
        "#!/bin/sh\nexport WINEPREFIX='{prefix}' WINEDEBUG=-all\nexec 2>/dev/null\nprinted='{work_dir}/printed'-$$\n\
         for run in 1 2 3 4 5; do\n    (exec wine '{program}' \"$@\") </dev/stdin >\"$printed\" 2>&1\n    status=$?\n    \
         [ $status = 137 ] || break\ndone\ncat \"$printed\"\nrm \"$printed\"\nexit $status\n"
    );
    fs::write(&script, text).context(script.display())?;
    let wrapper = work.join("flow");
    install(&script, &wrapper)?;
    Ok(wrapper)
}

/// A program that waits for its input. As long as it runs, the server of Wine does, which takes seconds to start.
struct Server(Child);

impl Server {
    fn start(prefix: &Path) -> Result<Self> {
        let wine = || {
            let mut wine = clean("wine");
            wine.env("WINEPREFIX", prefix).env("WINEDEBUG", "-all");
            wine.stdout(Stdio::null()).stderr(Stdio::null());
            wine
        };
        run_command(wine().args(["wineboot", "--init"]))?;
        let mut waiting = wine();
        let started = waiting.args(["cmd"]).stdin(Stdio::piped()).spawn();
        started.map(Self).map_err(|error| cannot_run(&waiting, &error))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use regex_lite::Regex;

    use super::*;
    use crate::base::process;
    use crate::compare_output::commands;

    /// Returns what the wrapper prints with a shell script in place of Wine, and its exit status.
    fn wrapped(wine: &str) -> (String, Option<i32>) {
        let dir = tempfile::tempdir().unwrap();
        let programs = dir.path().join("programs");
        fs::create_dir(&programs).unwrap();
        fs::rename(process::script(dir.path(), wine), programs.join("wine")).unwrap();
        fs::write(dir.path().join("input"), "input\n").unwrap();
        let wrapper = wrapper(dir.path(), dir.path(), Path::new("flow.exe")).unwrap();
        let mut command = Command::new(wrapper);
        command.arg("report").current_dir(dir.path());
        command.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
        let input = fs::File::open(dir.path().join("input")).unwrap();
        let output = command.stdin(input).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        (String::from_utf8(output.stdout).unwrap(), output.status.code())
    }

    #[test]
    fn a_program_that_wine_kills_runs_again_with_all_its_input() {
        let killed_once =
            "echo $*; cat; [ -e ran ] || { touch ran; kill -9 $$; }; echo end >&2; exit 3";
        assert_eq!(wrapped(killed_once), ("flow.exe report\ninput\nend\n".to_owned(), Some(3)));
    }

    #[test]
    fn a_program_that_wine_kills_each_time_does_not_pass() {
        let killed = "echo run >> runs; echo $(wc -l < runs); kill -9 $$";
        assert_eq!(wrapped(killed), ("5\n".to_owned(), Some(137)));
    }

    #[test]
    fn each_verb_of_the_pattern_selects_one_command() {
        let (traces, verbs) = PATTERN.split_once('(').unwrap();
        for verb in verbs.trim_end_matches(")$").split('|') {
            let expression = Regex::new(&format!("{traces}{verb}$")).unwrap();
            let is_selected = |line: &str| expression.is_match(&format!("made: {line}"));
            let commands = commands::all();
            let count = commands.iter().filter(|command| is_selected(&command.line)).count();
            assert_eq!(count, 1, "{verb}");
        }
    }
}
