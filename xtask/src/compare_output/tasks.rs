//! What is compared: the traces, and the commands for each.

use std::path::{Path, PathBuf};

use regex_lite::Regex;

use super::build::Place;
use super::commands::{Command, RECORDED, Words};
use super::states::{self, State};
use crate::base::failure::{Failure, Result};
use crate::traces::{self, made};

/// A trace to compare.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) main: String,
    /// Another run of the program: its folder and the name of the trace.
    other: (PathBuf, String),
    pub(super) is_large: bool,
    pub(super) words: [&'static str; 3],
}

/// Method, thread and range of time of the made traces.
const MADE: [&str; 3] = ["com.app.Orders#total", "main", "500us..1500us"];

pub(super) fn recorded(folder: &Path) -> Vec<Trace> {
    let of = |name: &str, kind: &traces::Kind| Trace {
        name: name.to_owned(),
        folder: folder.join(name),
        main: kind.main.to_owned(),
        other: (folder.join("everything"), "t".to_owned()),
        is_large: kind.is_large(),
        words: RECORDED,
    };
    let kinds = traces::KINDS.iter().map(|kind| of(kind.name, kind));
    let changed = traces::CHANGED.iter().filter_map(|(name, kind, _)| {
        traces::KINDS.iter().find(|of| of.name == *kind).map(|kind| of(name, kind))
    });
    kinds.chain(changed).collect()
}

pub(super) fn made_traces(folder: &Path) -> Vec<Trace> {
    let of = |kind: &made::MadeKind| {
        let other = if kind.name == "made" { "made-later" } else { "made" };
        Trace {
            name: kind.name.to_owned(),
            folder: folder.join(kind.name),
            main: made::MAIN.to_owned(),
            other: (folder.join(other), made::MAIN.to_owned()),
            is_large: kind.is_large(),
            words: MADE,
        }
    };
    made::KINDS.iter().map(of).collect()
}

/// A command to run on a trace, and its answers.
#[derive(Debug)]
pub(super) struct Task<'a> {
    pub(super) trace: &'a Trace,
    pub(super) command: &'a Command,
    pub(super) places: &'a [(State, Place)],
}

impl Task<'_> {
    pub(super) fn title(&self) -> String {
        title(self.trace, self.command)
    }
}

impl Trace {
    /// Makes the states of the trace.
    pub(super) fn places(&self, flow: &Path, work: &Path) -> Result<Vec<(State, Place)>> {
        let states = states::prepare(flow, &self.folder, &self.main, &work.join(&self.name))?;
        let [method, thread, range] = self.words;
        let place = |state: State, folder: PathBuf| {
            let (other, other_name) = self.other.clone();
            let (trace, other_name) = (state.word(&self.main), format!("c/{other_name}"));
            let words = Words { trace, other: other_name, method, thread, range };
            (state, Place { folder, other, name: self.main.clone(), words })
        };
        Ok(states.into_iter().map(|(state, folder)| place(state, folder)).collect())
    }
}

impl Command {
    /// Returns whether the answer may differ in this state from that with nothing stored.
    pub(super) fn differs_in(&self, state: State) -> bool {
        if state.is_form() { self.forms_differ } else { self.states_differ }
    }
}

/// A trace, and a command for it.
pub(super) type Pair<'a> = (&'a Trace, &'a Command);

/// Returns the commands for each trace, of which some are taken by their numbers. Those without a trace run once.
pub(super) fn pairs<'a>(
    traces: &'a [Trace],
    commands: &'a [Command],
    is_taken: impl Fn(&Trace, usize) -> bool,
) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    for (number, trace) in traces.iter().enumerate() {
        let commands = commands.iter().filter(|command| match command.needs_trace {
            true => command.is_for_large || !trace.is_large,
            false => number == 0,
        });
        let taken = commands.enumerate().filter(|(at, _)| is_taken(trace, *at));
        pairs.extend(taken.map(|(_, command)| (trace, command)));
    }
    pairs
}

/// Returns the pairs whose titles match a regular expression.
pub(super) fn selected<'a>(mut pairs: Vec<Pair<'a>>, pattern: &str) -> Result<Vec<Pair<'a>>> {
    let expression = Regex::new(pattern).map_err(|error| Failure::Usage(error.to_string()))?;
    pairs.retain(|(trace, command)| expression.is_match(&title(trace, command)));
    match pairs.is_empty() {
        true => Err(Failure::Usage(format!("no command matches {pattern}"))),
        false => Ok(pairs),
    }
}

/// What a command is called in the output.
pub(super) fn title(trace: &Trace, command: &Command) -> String {
    format!("{}: {}", trace.name, command.line)
}

#[cfg(test)]
mod tests {
    use super::super::commands;
    use super::*;

    #[test]
    fn a_pattern_selects_commands() {
        let traces = made_traces(Path::new("/"));
        let commands = commands::all();
        let count = |pattern: &str| {
            let pairs = pairs(&traces, &commands, |_, _| true);
            selected(pairs, pattern).map(|pairs| pairs.len())
        };
        let all = count(".").unwrap();
        let (made, reports) = (count("^made: ").unwrap(), count("report").unwrap());
        assert!(made > 0 && made < all && reports > 0 && reports < all);
        assert_eq!(count("no such").unwrap_err().status(), 2);
    }
}
