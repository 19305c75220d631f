//! The command line as plain data: a struct for each verb, in files by purpose. Doc comments are the help
//! texts.

mod analyse;
mod calls;
mod export;
mod given;
mod help;
mod live;
mod moved;
mod read;
mod record;
mod report;
mod rows;
mod shell;
mod tips;
mod top;
mod view;

use std::ffi::OsString;

use clap::{Command, CommandFactory, Error, FromArgMatches, Parser, Subcommand};

pub(crate) use self::analyse::{DiffArgs, DiffFormat, Gone, TestKey, TestsArgs, TestsFormat};
pub(crate) use self::calls::{
    AroundArgs, CallsArgs, CallsQuestion, ContextsArgs, FindArgs, FollowArgs, GrepArgs, PresetArgs,
    ShapesArgs, SlowestArgs,
};
pub(crate) use self::export::{
    BaselineArgs, ConvertArgs, CoverageArgs, ExportArgs, ShapeTablesArgs, To,
};
pub(crate) use self::help::VIEW_KEYS;
use self::help::{
    ATTACH_EXAMPLES, CALLS_HELP, CHECK_HELP, DETACH_HELP, DIFF_HELP, EXAMPLES, EXPORT_HELP,
    HELP_HELP, INFO_HELP, LISTEN_HELP, MCP_HELP, REPLAY_HELP, REPORT_HELP, SNAPSHOT_HELP,
    TESTS_HELP, TOP_HELP, VIEW_HELP, by_purpose,
};
pub(crate) use self::live::{ListenArgs, McpArgs, ReportKind};
pub(crate) use self::read::{CheckArgs, DumpArgs, IndexArgs, InfoArgs, ReplayArgs};
pub(crate) use self::record::{
    AgentArgs, AttachArgs, DetachArgs, OnceIn, RecordArgs, SnapshotArgs,
};
pub(crate) use self::report::{LinesArgs, PathsKind, ReportArgs, WaitsKind};
pub(crate) use self::rows::{PercentOf, RowArgs, SortKey, ThreadsBy};
pub(crate) use self::shell::{CompletionsArgs, HelpArgs, HelpTopic, ManArgs};
pub(crate) use self::top::{TopArgs, TopKey};
pub(crate) use self::view::ViewArgs;
pub(crate) use crate::input::flags::{By, DEFAULT_DIR, SourceArgs, TestArgs};
use crate::input::flags::{FilterArgs, PartArgs};
use crate::input::values::size;
pub(crate) use crate::output::{ColorWhen, Format};
use crate::output::{LinkTo, started_as};

/// The heading of flags that all verbs have.
const FOR_ALL: &str = "Of all verbs";

/// Records every method call of a JVM program and shows what happened.
#[derive(Parser, Debug)]
#[command(name = "flow", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Args {
    /// Whether to use colours; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, help_heading = FOR_ALL, display_order = 100, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorWhen,
    /// Shorten lines of text to N columns [default: the width of the terminal]
    #[arg(long, global = true, help_heading = FOR_ALL, display_order = 101, value_name = "N")]
    #[arg(value_parser = columns)]
    pub(crate) width: Option<usize>,
    /// What links to source files open: file, vscode, idea, kitty, off, or a URL
    ///
    /// On a terminal with colours, names of methods and places such as Orders.java:12 are links to source files that are in
    /// this directory, in src/main/java and the like, also of modules. The default suits the terminal. docs/editors.md has
    /// the details.
    #[arg(long, global = true, help_heading = FOR_ALL, display_order = 102, value_name = "EDITOR")]
    #[arg(env = "FLOW_LINKS", hide_env_values = true)]
    pub(crate) links: Option<LinkTo>,
    /// Name methods as in class files, not as in the language of the source
    #[arg(long, global = true, help_heading = FOR_ALL, display_order = 103)]
    pub(crate) raw_names: bool,
    /// The most memory for the shapes of threads, such as 2g [default: an eighth of what is available]
    ///
    /// calls, diff --exact and replay --collapse build shapes to recognise calls that did the same. calls --by shape and diff
    /// hold those of all selected threads. The default is at least 64 MB. Open frames, and the joined shapes of several threads, may
    /// take as much again.
    #[arg(long, global = true, help_heading = FOR_ALL, display_order = 104, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The widest help. Longer lines are hard to read.
const WIDEST_HELP: usize = 100;

impl Args {
    /// Parses the command line of this process. Help is wrapped to these columns.
    ///
    /// # Errors
    /// The command line is wrong, or asks for help, which the error contains.
    pub(crate) fn read(columns: Option<usize>) -> Result<Self, Error> {
        let words: Vec<_> = std::env::args_os().collect();
        let matches = Self::for_people(columns).try_get_matches_from(&words);
        let with_tips = |error| tips::with_tips(error, &Self::command(), &words);
        Self::from_arg_matches(&matches.map_err(with_tips)?)
    }

    /// Returns the help of a verb, as an error that prints it, or the error if there is no such verb.
    pub(crate) fn help(of: &[String], columns: Option<usize>) -> Error {
        let words: Vec<OsString> = ["flow"]
            .into_iter()
            .map(OsString::from)
            .chain(of.iter().map(OsString::from))
            .chain([OsString::from("--help")])
            .collect();
        match Self::for_people(columns).try_get_matches_from(&words) {
            Err(error) => {
                let words = words.split_last().map_or(&[][..], |(_, words)| words);
                tips::with_tips(error, &Self::command(), words)
            }
            Ok(_) => unreachable!("--help ends the parser"),
        }
    }

    /// The command line with help of these columns.
    fn for_people(columns: Option<usize>) -> Command {
        // The parser by itself does not know the width of terminals that have no height.
        let width = columns.map_or(WIDEST_HELP, |columns| columns.min(WIDEST_HELP));
        // The agent refuses it in a JVM that runs already.
        let without_waits = |verb: Command| verb.mut_arg("waits", |flag| flag.hide(true));
        // They are for one trace; what diff says of them names the way.
        let without_requests = |verb: Command| {
            let hidden = ["request", "context"];
            hidden.iter().fold(verb, |verb, flag| verb.mut_arg(flag, |flag| flag.hide(true)))
        };
        let command = Self::command().mut_subcommand("attach", without_waits);
        let command = command.mut_subcommand("diff", without_requests);
        by_purpose(named_as_started(command.term_width(width), started_as()))
    }
}

/// Names flow in usage lines as this user starts it. Examples keep the short name, and a line below them explains it.
fn named_as_started(command: Command, started_as: Option<&'static str>) -> Command {
    let Some(started_as) = started_as else { return command };
    let note = format!("Here, flow is: {started_as}");
    let explained = |verb: Command| match verb.get_after_long_help().cloned() {
        Some(help) => verb.after_long_help(format!("{help}\n\n{note}")),
        None => verb,
    };
    command
        .bin_name(started_as)
        .after_help(format!("{EXAMPLES}\n\n{note}"))
        .mut_subcommands(explained)
        .mut_subcommand("record", |verb| {
            verb.override_usage(format!("{started_as} record {RECORD_USAGE}"))
        })
}

/// Parses a width that has room for a table.
fn columns(text: &str) -> Result<usize, String> {
    let columns = text.parse().ok().filter(|columns| *columns >= 20);
    columns.ok_or_else(|| "expected a number of columns from 20 on".to_owned())
}

/// What follows the name of the verb.
const RECORD_USAGE: &str = "[OPTIONS] -- <CMD>...";

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Run a command and record the JVMs it starts
    #[command(after_long_help = help::record(), override_usage = format!("flow record {RECORD_USAGE}"))]
    Record(Box<RecordArgs>),
    /// Record a JVM that is already running
    #[command(after_long_help = ATTACH_EXAMPLES)]
    Attach(Box<AttachArgs>),
    /// End the recording of a running JVM
    #[command(after_long_help = DETACH_HELP)]
    Detach(DetachArgs),
    /// Write what a running JVM has recorded until now to a file of its own
    #[command(after_long_help = SNAPSHOT_HELP)]
    Snapshot(SnapshotArgs),
    /// Receive the traces that JVMs send while they are recorded
    #[command(after_long_help = LISTEN_HELP)]
    Listen(ListenArgs),
    /// Show what a program does now, as long as it is recorded
    #[command(after_long_help = TOP_HELP)]
    Top(TopArgs),
    /// Show the calls of a trace on the terminal, to unfold and search
    #[command(after_long_help = VIEW_HELP)]
    View(ViewArgs),
    /// Show what was run, how it ended, and its threads
    #[command(after_long_help = INFO_HELP)]
    Info(InfoArgs),
    /// Show calls in order, indented by depth
    #[command(after_long_help = REPLAY_HELP)]
    Replay(ReplayArgs),
    /// Show where calls and time went: by method, path or line, from calls or samples
    #[command(after_long_help = REPORT_HELP)]
    Report(Box<ReportArgs>),
    /// Show calls of a method one by one: their times, values, tests, and in how many ways they ran
    #[command(after_long_help = CALLS_HELP)]
    Calls(Box<CallsArgs>),
    /// Show tests, their results, and how much they called
    #[command(after_long_help = TESTS_HELP)]
    Tests(Box<TestsArgs>),
    /// Show what changed between two traces, or two tests
    #[command(after_long_help = DIFF_HELP)]
    Diff(Box<DiffArgs>),
    /// Write a trace for another tool, or as one small file
    #[command(after_long_help = EXPORT_HELP)]
    Export(Box<ExportArgs>),
    /// Verify that a trace is whole, repair it, or show its records
    #[command(after_long_help = CHECK_HELP)]
    Check(CheckArgs),
    /// Answer questions of coding agents and other programs, by the Model Context Protocol
    #[command(after_long_help = MCP_HELP)]
    Mcp(McpArgs),
    /// Explain a verb, or print the manual or completions for a shell
    #[command(after_long_help = HELP_HELP)]
    Help(HelpArgs),
}

impl Verb {
    /// The format of what is printed, if it is one of these.
    pub(crate) fn format(&self) -> Option<Format> {
        Some(match self {
            Self::Info(args) => args.source.format,
            Self::Replay(args) => args.source.format,
            Self::Report(args) => return args.format(),
            Self::Calls(args) => args.source.format,
            Self::Top(args) if args.is_json() => Format::Json,
            Self::Top(args) if args.once => Format::Text,
            Self::View(args) if args.once => Format::Text,
            Self::Tests(args) => return args.format.of_screen(),
            Self::Diff(args) => return args.format.of_screen(),
            Self::Check(args) => args.source.format,
            Self::Export(args) if matches!(args.to, To::Tool(target) if target.is_json()) => {
                Format::Json
            }
            Self::Listen(args) if args.is_json() => Format::Json,
            _ => return None,
        })
    }
}

impl ReplayArgs {
    /// What follows a source and prints every selected call as JSON.
    pub(crate) fn following(source: SourceArgs, filter: FilterArgs) -> Self {
        let words = ["flow", "replay", "--follow", "--format", "json"];
        match Args::try_parse_from(words).map(|args| args.verb) {
            Ok(Verb::Replay(args)) => {
                Self { source, part: PartArgs { filter, ..args.part }, ..args }
            }
            // A test parses it.
            _ => unreachable!("a line that is always right"),
        }
    }
}

#[cfg(test)]
mod tests {
    use flow_codec::Glob;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn usage_and_help_name_the_command_that_was_typed() {
        let text = |words: &[&str]| {
            let words = [&["flow"], words].concat();
            let command = named_as_started(Args::command(), Some("java -jar f.jar"));
            command.try_get_matches_from(words).unwrap_err().to_string()
        };
        for (words, usage) in [
            (&["record"][..], "Usage: java -jar f.jar record [OPTIONS] -- <CMD>...\n"),
            (&["report", "--quux"], "Usage: java -jar f.jar report [OPTIONS] "),
            (&["report", "--help"], "\nHere, flow is: java -jar f.jar\n"),
            (&["--help"], "\nHere, flow is: java -jar f.jar\n"),
        ] {
            let shown = text(words);
            assert!(shown.contains(usage), "{words:?}: {shown}");
        }
    }

    #[test]
    fn what_follows_a_source_has_no_limit() {
        let source = SourceArgs { dir: "x".into(), format: Format::Json };
        let filter = FilterArgs { exclude: vec![Glob::new("a.B")], ..FilterArgs::default() };
        let args = ReplayArgs::following(source, filter);
        assert_eq!(args.part.filter.exclude.len(), 1);
        assert!(args.follow && args.max.is_none() && args.source.dir.ends_with("x"));
    }

    /// The words of an example, without its description and what a shell does with it.
    fn words(line: &str) -> Vec<String> {
        let line = line.split(" && ").next().unwrap_or(line);
        let line = line.split(" | ").next().unwrap_or(line).split(" > ").next().unwrap_or(line);
        let mut words = vec![String::new()];
        let mut is_quoted = false;
        for (at, c) in line.char_indices() {
            match c {
                '\'' => is_quoted = !is_quoted,
                ' ' if is_quoted => words.last_mut().unwrap().push(c),
                ' ' if line[at..].starts_with("  ") => break,
                ' ' => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        words
    }

    #[test]
    fn examples_in_the_help_are_valid_and_fit() {
        let command = Args::command();
        let of_verbs = command.get_subcommands().map(|verb| verb.get_after_long_help());
        let help = of_verbs.map(|help| help.expect("every verb has examples").to_string());
        let help: Vec<_> = help.chain([EXAMPLES.to_owned()]).collect();
        let lines = help.iter().flat_map(|help| help.lines()).filter(|line| line.starts_with("  "));
        let mut count = 0;
        for line in lines {
            assert!(line.chars().count() <= 80, "{line}");
            if let Some(example) = line.trim_start().strip_prefix("flow ") {
                let words = [vec!["flow".to_owned()], words(example)].concat();
                assert!(Args::try_parse_from(&words).is_ok(), "{words:?}");
                count += 1;
            }
        }
        assert!(count > 40, "{count}");
    }

    /// A verb and the words that follow it, in a command of which the output is compared.
    type Compared<'a> = (&'a str, Vec<&'a str>);

    /// The commands in the list of `scripts/compare-output.sh`. Of verbs in its last section, everything counts as compared
    /// if the section names no flags.
    fn compared(list: &str) -> (Vec<Compared<'_>>, Vec<Compared<'_>>) {
        let (mut commands, mut left_out, mut section) = (Vec::new(), Vec::new(), "");
        for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(title) = line.strip_prefix("== ") {
                section = title;
                continue;
            }
            let line = line.split("  #").next().unwrap_or(line);
            for command in line.split(" && ") {
                let mut words =
                    command.split([' ', '=', '{', '|', '}']).filter(|word| !word.is_empty());
                let verb = words.next().unwrap();
                match section.strip_prefix("text ") {
                    Some(formats) => {
                        let formats = ["--format", "text"].into_iter().chain(formats.split(' '));
                        commands.push((verb, words.chain(formats).collect()));
                    }
                    None if section.starts_with("not compared") => {
                        left_out.push((verb, words.collect()));
                    }
                    None => commands.push((verb, words.collect())),
                }
            }
        }
        (commands, left_out)
    }

    #[test]
    fn the_output_of_every_verb_flag_and_value_is_compared() {
        let list = concat!(env!("CARGO_MANIFEST_DIR"), "/../xtask/src/compare_output/commands.txt");
        let list = std::fs::read_to_string(list).unwrap();
        let (commands, left_out) = compared(&list);
        let mut command = Args::command();
        command.build();
        let mut missing = Vec::new();
        for verb in command.get_subcommands() {
            let name = verb.get_name();
            if name != "help"
                && !commands.iter().any(|(with, words)| *with == "help" && words.contains(&name))
            {
                missing.push(format!("help {name}"));
            }
            let of_verb: Vec<_> = commands.iter().filter(|(verb, _)| *verb == name).collect();
            if name == "help"
                || left_out.iter().any(|(verb, words)| *verb == name && words.is_empty())
            {
                continue;
            }
            let mut known = Vec::new();
            for flag in verb.get_arguments().filter(|flag| !flag.is_positional()) {
                let long = format!("--{}", flag.get_long().unwrap());
                let short = flag.get_short().map(|short| format!("-{short}"));
                let is_named = |words: &[&str]| {
                    words.iter().any(|word| *word == long || Some(*word) == short.as_deref())
                };
                known.extend([long.clone()].into_iter().chain(short.clone()));
                let is_left_out =
                    left_out.iter().any(|(verb, words)| *verb == name && is_named(words));
                if flag.get_id() == "help" || is_left_out {
                    continue;
                }
                // A flag of all verbs is compared with one.
                let with_flag = commands.iter().filter(|(verb, words)| {
                    (*verb == name || flag.is_global_set()) && is_named(words)
                });
                let with_flag: Vec<_> = with_flag.collect();
                if with_flag.is_empty() {
                    missing.push(format!("{name} {long}"));
                }
                for value in flag.get_possible_values() {
                    let value = value.get_name().to_owned();
                    let is_compared = with_flag.iter().any(|(_, words)| words.contains(&&*value));
                    if flag.get_action().takes_values() && !is_compared {
                        missing.push(format!("{name} {long} {value}"));
                    }
                }
            }
            for value in verb.get_positionals().flat_map(|word| word.get_possible_values()) {
                if !of_verb.iter().any(|(_, words)| words.contains(&value.get_name())) {
                    missing.push(format!("{name} {}", value.get_name()));
                }
            }
            for word in of_verb.iter().flat_map(|(_, words)| words) {
                let is_flag = word.starts_with('-') && word.len() > 1;
                assert!(!is_flag || known.iter().any(|flag| flag == word), "{name} has no {word}");
            }
        }
        assert!(missing.is_empty(), "commands.txt lacks {missing:#?}");
    }

    #[test]
    fn arguments_after_the_command_belong_to_the_command() {
        let parse = |args: &[&str]| match Args::try_parse_from(args).unwrap().verb {
            Verb::Record(record) => (record.agent.all, record.command.join(" ".as_ref())),
            _ => unreachable!("record was asked for"),
        };
        for line in [
            &["flow", "record", "--all", "--", "java", "--help", "-o", "x"][..],
            &["flow", "record", "--all", "java", "--help", "-o", "x"],
        ] {
            assert_eq!(parse(line), (true, "java --help -o x".into()));
        }
    }
}
