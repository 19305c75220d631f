//! A sample of the commands on traces that code makes, and the digests of their answers, which are stored.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::build::Build;
use super::commands;
use super::states::State;
use super::tasks::{Task, made_traces, pairs, selected};
use crate::base::failure::{Context, Outcome, Result};
use crate::base::parallel::{cores, in_parallel};
use crate::base::report;
use crate::traces::made;

/// Where the digests are, below the source tree.
const DIGESTS: &str = "xtask/src/compare_output/digests.txt";

/// Of the commands for large traces, which take long, one in this many runs.
const OF_LARGE: usize = 5;
/// Of the commands for other traces than the first one.
const OF_OTHERS: usize = 7;
/// A trace that is left out, because reading its times takes too long.
const LEFT_OUT: &str = "made-large-exact";

pub(super) fn run(flow: &Path, work: &Path, pattern: &str, accepts: bool) -> Result<Outcome> {
    let folder = work.join("made");
    let _ = fs::remove_dir_all(&folder);
    made::write_all(&folder)?;
    let traces = made_traces(&folder).into_iter().filter(|trace| trace.name != LEFT_OUT);
    let traces: Vec<_> = traces.collect();
    let build = Build::open(flow, &work.join("new"))?;
    let commands = commands::all();
    // Each trace has other ones.
    let pairs = pairs(&traces, &commands, |trace, at| {
        let number = traces.iter().position(|other| other.name == trace.name).unwrap_or_default();
        let every = match trace.is_large {
            true => OF_LARGE,
            false if number > 0 => OF_OTHERS,
            false => 1,
        };
        at % every == number % every
    });
    let pairs = selected(pairs, if accepts { "." } else { pattern })?;
    let mut places = HashMap::new();
    for (trace, _) in &pairs {
        if !places.contains_key(&trace.name) {
            places.insert(&trace.name, trace.places(flow, &work.join("states-sample"))?);
        }
    }
    let tasks = pairs.into_iter().map(|(trace, command)| {
        let places = &places[&trace.name];
        Task { trace, command, places }
    });
    let tasks: Vec<_> = tasks.collect();

    let found = in_parallel(&tasks, cores(), |task, worker| {
        let digest = |(state, place): &(State, _)| {
            build.digest(task.command, place, worker).map(|digest| (*state, digest))
        };
        task.places.iter().map(digest).collect::<Result<Vec<_>>>()
    })?;
    let text = fs::read_to_string(DIGESTS).unwrap_or_default();
    let stored = parse(&text);
    let (digests, differences) = compared(&tasks, found, (!accepts).then_some(&stored));
    if accepts {
        let mut text = String::new();
        for (title, digest) in &digests {
            let _ = writeln!(text, "{digest:08x} {title}");
        }
        fs::write(DIGESTS, text).context(DIGESTS)?;
    }
    report::print(&format!("{} commands, {differences} differ\n", tasks.len()));
    if differences > 0 && !accepts {
        report::say(
            "compare-output",
            "to see what changed: scripts/compare-output.sh HEAD --only '^made: report'; if it is right: \
             scripts/compare-output.sh --accept, and commit xtask/src/compare_output/digests.txt",
        );
    }
    Ok(Outcome::passed_if(differences == 0))
}

/// Returns the digests that were found, and how many differ from those without stored data or, if there are some, from those
/// that are stored.
fn compared(
    tasks: &[Task<'_>],
    found: Vec<Vec<(State, u32)>>,
    stored: Option<&HashMap<&str, u32>>,
) -> (BTreeMap<String, u32>, usize) {
    let mut differences = 0;
    let mut digests = BTreeMap::new();
    for (task, found) in tasks.iter().zip(found) {
        let title = task.title();
        let first = found.first().map_or(0, |(_, digest)| *digest);
        for (state, digest) in &found {
            let differs = task.command.differs_in(*state);
            let title = match differs {
                true => format!("{title}  # with {}", state.name()),
                false => title.clone(),
            };
            if !differs && *digest != first {
                differences += 1;
                let with = state.name();
                let text =
                    format!("{title}: {first:08x} with nothing stored, {digest:08x} with {with}\n");
                report::print(&text);
            }
            if digests.contains_key(&title) {
                continue;
            }
            if let Some(before) = stored.map(|stored| stored.get(&*title))
                && before != Some(digest)
            {
                differences += 1;
                let before = before.map_or("none".to_owned(), |digest| format!("{digest:08x}"));
                report::print(&format!("{title}: {before} is stored, found {digest:08x}\n"));
            }
            digests.insert(title, *digest);
        }
    }
    (digests, differences)
}

/// Returns the digests in a file: lines with a digest and a command.
fn parse(text: &str) -> HashMap<&str, u32> {
    let parsed = text.lines().filter_map(|line| {
        let (digest, command) = line.split_once(' ')?;
        Some((command, u32::from_str_radix(digest, 16).ok()?))
    });
    parsed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_digests_are_read_back() {
        let known = parse("000000ff made: info --max 1\nnot one\n");
        assert_eq!(known, HashMap::from([("made: info --max 1", 255)]));
    }
}
