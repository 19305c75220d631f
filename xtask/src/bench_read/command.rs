//! The commands that read.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::ValueEnum;

use crate::name_of;
use crate::process::clean;

/// The program that is measured.
#[derive(Debug)]
pub(super) struct Flow {
    program: PathBuf,
    replay_help: String,
}

impl Flow {
    pub(super) fn new(program: PathBuf) -> Self {
        let help = clean(&program).args(["replay", "--help"]).stderr(Stdio::null()).output();
        let help = help.map(|output| output.stdout).unwrap_or_default();
        Self { program, replay_help: String::from_utf8_lossy(&help).into_owned() }
    }

    pub(super) fn command(&self) -> Command {
        clean(&self.program)
    }

    fn has_verb(&self, verb: &str) -> bool {
        let mut command = self.command();
        command.args([verb, "--help"]).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// Returns the flag that shows repeated calls as one line. It had another name before.
    fn collapse(&self) -> &'static str {
        if self.replay_help.contains("--collapse") { "--collapse" } else { "--fold" }
    }
}

/// A command that reads a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub(super) enum ReadCommand {
    /// The floor: as fast as the files can be read at all.
    Cat,
    Info,
    Check,
    Report,
    /// The report by calls, which needs no times.
    Calls,
    Graph,
    Diff,
    Tests,
    Index,
    /// One screen of calls, far into the trace.
    From,
    /// The first screen of calls.
    First,
    /// The first screen of the terminal program.
    View,
    /// All calls.
    Replay,
    /// All calls that are not deep.
    Depth,
    Html,
    Collapsed,
    Perfetto,
    Dump,
}

impl ReadCommand {
    /// Returns its name in the table.
    pub(super) fn title(self, flow: &Flow) -> String {
        match self {
            Self::Calls => "report --by calls".to_owned(),
            Self::From => "replay from 90 % on, first screen".to_owned(),
            Self::First => "replay, first screen".to_owned(),
            Self::View => "view, first screen".to_owned(),
            Self::Replay => "replay, all".to_owned(),
            Self::Depth => format!("replay --depth 12 {}", flow.collapse()),
            Self::Html => "report --html".to_owned(),
            Self::Collapsed | Self::Perfetto => format!("export --to {}", name_of(self)),
            Self::Dump => "dump, to a pipe".to_owned(),
            _ => name_of(self),
        }
    }

    /// Returns whether what `flow index` stores can change how long it takes.
    pub(super) fn uses_stored(self) -> bool {
        !matches!(self, Self::Cat | Self::Check | Self::Index | Self::Dump)
    }

    /// Returns whether a flow has it: older ones lack some verbs and flags.
    pub(super) fn is_in(self, flow: &Flow) -> bool {
        match self {
            Self::Cat => true,
            Self::From => flow.replay_help.contains("--from "),
            Self::First | Self::Replay | Self::Depth => !flow.replay_help.is_empty(),
            Self::Calls | Self::Html => flow.has_verb("report"),
            Self::Collapsed | Self::Perfetto => flow.has_verb("export"),
            verb => flow.has_verb(&name_of(verb)),
        }
    }

    /// Returns the command for a trace with this number of calls.
    pub(super) fn process(self, flow: &Flow, dir: &Path, calls: u64) -> Command {
        let run = |words: &[&str]| {
            let mut command = flow.command();
            command.args(words).arg(dir);
            command
        };
        match self {
            Self::Cat => {
                let mut shell = clean("sh");
                shell.args(["-c", "cat \"$0\"/thread-*"]).arg(dir);
                shell
            }
            Self::Dump => {
                let mut shell = clean("sh");
                shell.args(["-c", "\"$0\" dump \"$1\" | tail -n 1"]).arg(&flow.program).arg(dir);
                shell
            }
            Self::Diff => {
                let mut command = flow.command();
                command.arg("diff").arg(dir).arg(dir);
                command
            }
            Self::From => run(&["replay", "--from", &(calls / 10 * 9).to_string(), "--max", "50"]),
            Self::First => run(&["replay", "--max", "50"]),
            Self::View => run(&["view", "--once"]),
            Self::Depth => run(&["replay", "--depth", "12", flow.collapse()]),
            Self::Calls => run(&["report", "--by", "calls"]),
            Self::Html => run(&["report", "--html", "-"]),
            Self::Collapsed | Self::Perfetto => {
                run(&["export", "--force", "--to", &name_of(self), "-o", "/dev/null"])
            }
            verb => run(&[&name_of(verb)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(help: &str) -> Flow {
        Flow { program: "/flow".into(), replay_help: help.to_owned() }
    }

    fn words(command: ReadCommand, flow: &Flow) -> Vec<String> {
        let process = command.process(flow, Path::new("/t"), 1005);
        process.get_args().map(|word| word.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn commands_read_far_into_the_trace_or_its_beginning() {
        let flow = flow("--collapse --from <PLACE>");
        let late = ["replay", "--from", "900", "--max", "50", "/t"];
        assert_eq!(words(ReadCommand::From, &flow), late);
        assert_eq!(words(ReadCommand::First, &flow), ["replay", "--max", "50", "/t"]);
        assert_eq!(
            words(ReadCommand::Depth, &flow),
            ["replay", "--depth", "12", "--collapse", "/t"]
        );
        assert_eq!(words(ReadCommand::Diff, &flow), ["diff", "/t", "/t"]);
        assert_eq!(words(ReadCommand::Graph, &flow), ["graph", "/t"]);
    }

    #[test]
    fn flags_of_an_older_flow_are_used_where_it_lacks_newer_ones() {
        let old = flow("--fold");
        assert_eq!(ReadCommand::Depth.title(&old), "replay --depth 12 --fold");
        assert!(!ReadCommand::From.is_in(&old));
        assert!(ReadCommand::First.is_in(&old) && ReadCommand::Cat.is_in(&old));
    }
}
