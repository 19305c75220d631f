//! The commands that read.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::base::process::clean;

/// A command that reads a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ReadCommand {
    /// Name in options.
    pub(super) name: &'static str,
    /// What is run: `T` is the trace, and `90%` the event at which nine tenths of its calls are read. After `||`, the command
    /// of an older flow.
    line: &'static str,
    /// Whether what `flow check --index` stores can change how long it takes.
    pub(super) uses_stored: bool,
}

const fn plain(name: &'static str, line: &'static str) -> ReadCommand {
    ReadCommand { name, line, uses_stored: false }
}

const fn stored(name: &'static str, line: &'static str) -> ReadCommand {
    ReadCommand { name, line, uses_stored: true }
}

/// Name of the command that stores indexes and shapes.
pub(super) const INDEX: &str = "index";

const COMMANDS: [ReadCommand; 18] = [
    // The floor: as fast as the files can be read at all.
    plain("cat", "cat T/thread-*"),
    stored("info", "flow info T"),
    plain("check", "flow check T"),
    stored("report", "flow report T"),
    // Needs no times.
    stored("calls", "flow report --by calls T"),
    stored("graph", "flow report --tree T || flow graph T"),
    stored("diff", "flow diff T T"),
    stored("tests", "flow tests T"),
    plain(INDEX, "flow check --index T || flow index T"),
    // One screen of calls, far into the trace, and the first screen.
    stored("from", "flow replay --from 90% --max 50 T"),
    stored("first", "flow replay --max 50 T"),
    stored("view", "flow view --once T"),
    stored("replay", "flow replay T"),
    stored("depth", "flow replay --depth 12 --collapse T || flow replay --depth 12 --fold T"),
    stored("html", "flow report --html - T"),
    stored("collapsed", "flow export --force --to collapsed -o /dev/null T"),
    stored("perfetto", "flow export --force --to perfetto -o /dev/null T"),
    plain("dump", "flow check --records T | tail -n 1 || flow dump T | tail -n 1"),
];

/// Returns the command of a name.
///
/// # Errors
///
/// If there is none. The message lists the names.
pub(super) fn named(name: &str) -> Result<ReadCommand, String> {
    let found = COMMANDS.into_iter().find(|command| command.name == name);
    found.ok_or_else(|| format!("there are: {}", COMMANDS.map(|command| command.name).join(" ")))
}

/// The program that is measured.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) program: PathBuf,
}

impl Flow {
    /// Returns the commands that it has, each with its line.
    pub(super) fn commands(&self, only: &[ReadCommand]) -> Vec<(ReadCommand, &'static str)> {
        let wanted = if only.is_empty() { &COMMANDS } else { only };
        wanted.iter().filter_map(|command| Some((*command, self.known(*command)?))).collect()
    }

    /// Returns the first line of a command whose verb and flags are in the help of this flow.
    fn known(&self, command: ReadCommand) -> Option<&'static str> {
        command.line.split(" || ").find(|line| {
            let mut words = line.split(' ');
            if words.next() != Some("flow") {
                return true;
            }
            let mut help = clean(&self.program);
            help.args([words.next().unwrap_or_default(), "--help"]).stderr(Stdio::null());
            let Ok(help) = help.output() else { return false };
            let text = String::from_utf8_lossy(&help.stdout);
            let has = |word: &str| !word.starts_with("--") || text.contains(word);
            help.status.success() && words.all(has)
        })
    }

    /// Returns what stores indexes and shapes of a trace.
    pub(super) fn index(&self, dir: &Path) -> Option<Command> {
        let index = COMMANDS.into_iter().find(|command| command.name == INDEX)?;
        Some(self.process(self.known(index)?, dir, 0))
    }

    /// Returns what runs a line for a trace with this number of calls.
    pub(super) fn process(&self, line: &str, dir: &Path, calls: u64) -> Command {
        let place = (calls / 10 * 9).to_string();
        if line.contains(['|', '*']) {
            let words = line.split(' ').map(|word| match word {
                "flow" => "\"$0\"".to_owned(),
                word => word.replace('T', "\"$1\""),
            });
            let mut shell = clean("sh");
            shell.arg("-c").arg(words.collect::<Vec<_>>().join(" "));
            shell.arg(&self.program).arg(dir);
            return shell;
        }
        let mut command = clean(&self.program);
        for word in line.split(' ').skip(1) {
            match word {
                "T" => command.arg(dir),
                "90%" => command.arg(&place),
                word => command.arg(word),
            };
        }
        command
    }
}

/// Returns what the table calls a line.
pub(super) fn title(line: &str) -> &str {
    let line = line.split(" | ").next().unwrap_or(line);
    let line = line.strip_prefix("flow ").unwrap_or(line);
    line.strip_suffix(" T").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::process::script;

    #[test]
    fn words_become_the_trace_and_a_place() {
        let flow = Flow { program: "/flow".into() };
        let words = |name: &str| {
            let line = named(name).unwrap().line.split(" || ").last().unwrap();
            let process = flow.process(line, Path::new("/t"), 1005);
            let words = process.get_args().map(|word| word.to_str().unwrap().to_owned());
            (title(line), words.collect::<Vec<_>>().join(" "))
        };
        let from = "replay --from 900 --max 50 /t".to_owned();
        assert_eq!(words("from"), ("replay --from 90% --max 50", from));
        assert_eq!(words("diff"), ("diff T", "diff /t /t".to_owned()));
        let dump = "-c \"$0\" dump \"$1\" | tail -n 1 /flow /t".to_owned();
        assert_eq!(words("dump"), ("dump", dump));
        assert_eq!(words("cat").1, "-c cat \"$1\"/thread-* /flow /t");
        assert!(named("replays").is_err());
    }

    #[test]
    fn an_older_flow_has_other_flags_and_fewer_verbs() {
        let dir = tempfile::tempdir().unwrap();
        let program = script(
            dir.path(),
            "[ $1 = replay ] && echo --fold --depth || [ $1 = check -o $1 = index ]",
        );
        let lines: Vec<_> =
            Flow { program }.commands(&[]).into_iter().map(|(_, line)| title(line)).collect();
        let expected = ["cat T/thread-*", "check", "index", "replay", "replay --depth 12 --fold"];
        assert_eq!(lines, expected);
    }
}
