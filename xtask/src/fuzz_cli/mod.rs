//! `xtask fuzz-cli`: changes real traces and runs every verb that reads them.

mod blocks;
mod judge;
mod mutate;
mod random;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::{Parser, value_parser};

use self::judge::Judge;
use self::random::Random;
use crate::base::failure::{Context, Outcome, Result};
use crate::base::process::{clean, run as run_process};
use crate::base::project::{Project, absolute, build};
use crate::base::report;
use crate::compare_output::commands::{self, Command, RECORDED, Words};
use crate::traces::{self, KINDS, Kind};

pub(crate) const NAME: &str = "fuzz-cli";

/// Changes real traces of every kind, and runs every verb that reads them.
///
/// Records a small program as a directory, as one file, as parts, as a snapshot, killed, with values, lines, instructions and
/// samples. Each case is one of these traces with a few changes: bytes, numbers, texts, blocks that are swapped, cut or
/// those of other traces, with checksums that are right. Then some verbs read it.
///
/// A case fails if a verb panics, is ended by a signal, needs more than 10 s of processor time, 60 s in all, 512 MiB of
/// memory or files of 256 MiB, prints a control character, or something that is not JSON where it should be. What failed, with
/// the command, is kept in target/fuzz-cli/failed. With the same traces, a seed always makes the same cases.
///
/// Exit status: 0 nothing found, 1 something failed, 2 something is missing or misspelt.
#[derive(Debug, Parser)]
pub(crate) struct FuzzCliArgs {
    /// How long
    #[arg(default_value_t = 60, value_parser = value_parser!(u32).range(1..))]
    seconds: u32,
    /// Begin with this case, to repeat what failed (otherwise another one each time)
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Take the traces in DIR, which an earlier run recorded; without it, they are recorded anew
    #[arg(long, value_name = "DIR", value_parser = absolute)]
    traces: Option<PathBuf>,
    /// Try this program, with the agent beside it (those of this source, in target/debug)
    #[arg(long, value_name = "PROGRAM", value_parser = absolute)]
    flow: Option<PathBuf>,
}

/// How many commands read a changed trace.
const COMMANDS_PER_CASE: usize = 4;
/// Cases with the same fault that are kept.
const KEPT_OF_ONE_FAULT: usize = 3;

pub(crate) fn run(args: FuzzCliArgs) -> Result<Outcome> {
    let project = Project::enter()?;
    let root = std::env::current_dir().context("the source tree")?;
    let flow = match args.flow {
        Some(flow) => flow,
        None => {
            build(["--workspace", "--lib", "--bin", "flow"])?;
            project.target.join("debug/flow")
        }
    };
    let work = project.work_dir(NAME)?;
    let (case, failed) = (work.join("case"), work.join("failed"));
    let traces = match args.traces {
        Some(traces) => traces,
        None => {
            let traces = work.join("traces");
            remove(&traces)?;
            report::say(NAME, &format!("recording into {}", traces.display()));
            let api = root.join("cli/java/flow-api.jar");
            traces::record(&traces, &flow, &flow.with_file_name("libflowagent.so"), &api)?;
            // What readers store beside a trace that does not grow.
            for kind in KINDS.iter().filter(|kind| kind.is_ended()) {
                let mut index = clean(&flow);
                index.args(["check", "--index", kind.main]).current_dir(traces.join(kind.name));
                run_process(index.stdout(Stdio::null()))?;
            }
            traces
        }
    };
    // What is exported of a large trace is larger than what a verb may write here.
    let kinds = KINDS.iter().filter(|kind| !kind.is_large());
    let kinds = kinds.map(|kind| Trace::read(kind, &traces)).collect::<Result<Vec<_>>>()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let first = args.seed.unwrap_or_else(|| u64::from(now.subsec_nanos()) * 1_000_000);
    report::say(NAME, &format!("seed {first}, {} s", args.seconds));
    let clean = traces.join("file").join("t.flowtrace").display().to_string();
    let mut commands = commands::all();
    // Colours are control characters.
    commands.retain(|command| command.needs_trace && !command.line.contains("--color always"));
    let (judge, found) = (Judge { flow }, BTreeMap::new());
    let mut fuzzer = Fuzzer { judge, commands, clean, case, failed, found };
    let (began, limit) = (Instant::now(), Duration::from_secs(args.seconds.into()));
    let (mut cases, mut count) = (0, 0);
    let mut seed = first;
    while began.elapsed() < limit {
        count += fuzzer.try_case(seed, &kinds)?;
        (cases, seed) = (cases + 1, seed.wrapping_add(1));
    }
    remove(&fuzzer.case)?;
    let faults = fuzzer.found.len();
    let text = format!("{cases} cases, {count} commands, faults of {faults} kinds");
    report::say(NAME, &text);
    for (fault, (count, seed)) in &fuzzer.found {
        report::say(NAME, &format!("{count} times, first with --seed {seed}: {fault}"));
    }
    Ok(Outcome::passed_if(fuzzer.found.is_empty()))
}

/// A trace in memory.
struct Trace<'a> {
    kind: &'a Kind,
    /// Files of the trace, with those of journals and stored data.
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl<'a> Trace<'a> {
    fn read(kind: &'a Kind, traces: &Path) -> Result<Self> {
        let directory = traces.join(kind.name);
        let read = |path: PathBuf| {
            let bytes = fs::read(directory.join(&path)).context(path.display())?;
            Ok((path, bytes))
        };
        let files = traces::files_in(&directory)?.into_iter().map(read);
        Ok(Self { kind, files: files.collect::<Result<_>>()? })
    }
}

struct Fuzzer {
    judge: Judge,
    /// What reads a trace: the list of `compare-output`.
    commands: Vec<Command>,
    /// A trace without changes.
    clean: String,
    /// Where the changed trace is.
    case: PathBuf,
    failed: PathBuf,
    /// For each fault, how often it was found, and the first seed.
    found: BTreeMap<String, (usize, u64)>,
}

impl Fuzzer {
    /// Makes the case of a seed and runs some commands on it. Returns how many.
    fn try_case(&mut self, seed: u64, traces: &[Trace<'_>]) -> Result<usize> {
        let mut random = Random::new(seed);
        let trace = random.one_of(traces);
        let changed = changed(trace, traces, &mut random);
        for _ in 0..COMMANDS_PER_CASE {
            // Some verbs write beside the trace.
            self.write(trace, &changed)?;
            let command = random.one_of(&self.commands).clone();
            for words in self.words(trace.kind.main).arguments(&command) {
                for fault in self.judge.judge(&words, &self.case)? {
                    self.keep(seed, &words, &fault)?;
                }
            }
        }
        Ok(COMMANDS_PER_CASE)
    }

    fn write(&self, trace: &Trace<'_>, changed: &BTreeMap<&Path, Vec<u8>>) -> Result<()> {
        remove(&self.case)?;
        fs::create_dir_all(&self.case).context(self.case.display())?;
        for (path, bytes) in &trace.files {
            let place = self.case.join(path);
            if let Some(parent) = place.parent() {
                fs::create_dir_all(parent).context(parent.display())?;
            }
            let bytes = changed.get(&**path).unwrap_or(bytes);
            fs::write(&place, bytes).context(place.display())?;
        }
        Ok(())
    }

    fn words(&self, main: &str) -> Words {
        let [method, thread, range] = RECORDED;
        Words { trace: main.to_owned(), other: self.clean.clone(), method, thread, range }
    }

    /// Keeps a case, unless there are others with this fault.
    fn keep(&mut self, seed: u64, words: &[String], fault: &str) -> Result<()> {
        let verb = words.first().map_or("", String::as_str);
        let known = self.found.entry(format!("flow {verb}: {fault}")).or_insert((0, seed));
        known.0 += 1;
        if known.0 > KEPT_OF_ONE_FAULT {
            return Ok(());
        }
        let line = words.join(" ");
        report::say(NAME, &format!("--seed {seed}: flow {line}: {fault}"));
        let place = self.failed.join(seed.to_string());
        remove(&place)?;
        fs::create_dir_all(&place).context(place.display())?;
        traces::copy(&self.case, &place)?;
        let note = format!("flow {line}\n{fault}\n");
        fs::write(place.join("command.txt"), note).context(place.display())
    }
}

/// Changes some files of a trace.
fn changed<'a>(
    trace: &'a Trace<'_>,
    traces: &[Trace<'_>],
    random: &mut Random,
) -> BTreeMap<&'a Path, Vec<u8>> {
    let mut changed = BTreeMap::new();
    let other = random.one_of(traces);
    let others: Vec<&[u8]> = other.files.iter().map(|(_, bytes)| &bytes[..]).collect();
    for _ in 0..=random.below(2) {
        let (path, bytes) = random.one_of(&trace.files);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        changed.insert(&**path, mutate::mutate(&name, bytes, &others, random));
    }
    changed
}

/// Removes a directory, in which a command may have created others that cannot be entered.
fn remove(directory: &Path) -> Result<()> {
    if !directory.exists() {
        return Ok(());
    }
    let all = fs::Permissions::from_mode(0o700);
    fs::set_permissions(directory, all).context(directory.display())?;
    fs::remove_dir_all(directory).context(directory.display())
}
