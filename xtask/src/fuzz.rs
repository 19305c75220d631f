//! `xtask fuzz`: runs fuzz targets in parallel, and keeps the best inputs that the fuzzer found.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use clap::{Parser, value_parser};

use crate::base::failure::{Context, Failure, Outcome, Result};
use crate::base::parallel::in_parallel;
use crate::base::process::{cannot_run, clean, on_path, run as run_command};
use crate::base::project::Project;
use crate::base::report;

pub(crate) const NAME: &str = "fuzz";

/// Fuzzes every reader, the encoder and the rewriter.
///
/// What must hold for any bytes is in query/tests/it/checks. The corpus in query/fuzz/corpus is part of the repository, and
/// `cargo test` runs it too. Inputs that the fuzzer finds go to query/fuzz/learned, inputs that fail to query/fuzz/artifacts;
/// neither is committed. For the rewriter all of these are in agent/fuzz, and its first inputs are classes of java-harness.
///
/// Exit status: 0 nothing found, 1 a target failed, 2 something is missing or misspelt.
#[derive(Debug, Parser)]
pub(crate) struct FuzzArgs {
    /// How long each target runs
    #[arg(default_value_t = 60, value_parser = value_parser!(u32).range(1..))]
    seconds: u32,
    /// A file of query/fuzz/fuzz_targets, or `rewrite` (all)
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// How many targets run at a time
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = value_parser!(u8).range(1..))]
    jobs: u8,
    /// Put the best of what the fuzzer found into the corpus, of these targets (all)
    #[arg(long, value_name = "TARGET", num_args = 0.., conflicts_with = "seconds")]
    keep: Option<Vec<String>>,
}

/// The target of the rewriter, in `agent/fuzz`. All others are in `query/fuzz`.
const REWRITE: &str = "rewrite";

/// What is kept of a target is small enough for a repository; `query/tests/it/corpus.rs` checks that.
const KEPT_FILES: usize = 99;
const KEPT_BYTES: u64 = 180_000;

/// A first class file of the rewriter is at most this long.
const SEED_BYTES: u64 = 4096;

pub(crate) fn run(args: FuzzArgs) -> Result<Outcome> {
    let project = Project::enter()?;
    let targets = chosen(args.keep.as_ref().unwrap_or(&args.targets), all_targets()?)?;
    need_tools()?;
    for target in targets.iter().filter(|target| *target != REWRITE) {
        for part in ["learned", "corpus"] {
            let dir = format!("query/fuzz/{part}/{target}");
            fs::create_dir_all(&dir).context(dir)?;
        }
    }
    let work = project.work_dir(NAME)?;
    if args.keep.is_some() {
        for target in targets.iter().filter(|target| *target != REWRITE) {
            keep_learned(target, &work)?;
        }
        return Ok(Outcome::Passed);
    }

    build(&targets)?;
    let (count, seconds) = (targets.len(), args.seconds);
    let jobs = usize::from(args.jobs);
    report::say(NAME, &format!("{count} targets, {seconds} s each, {jobs} at a time"));
    let passed = in_parallel(&targets, jobs, |target, _| fuzz(target, seconds, &work))?;
    Ok(Outcome::passed_if(passed.into_iter().all(|passed| passed)))
}

/// Builds before the clock runs: targets that build at the same time would wait for each other. Only the rewriter
/// does not, which has a target directory of its own.
fn build(targets: &[String]) -> Result<()> {
    let rewriter = || {
        if targets.iter().all(|target| target != REWRITE) {
            return Ok(());
        }
        write_seed_classes()?;
        run_command(&mut cargo_fuzz("build", REWRITE))
    };
    thread::scope(|scope| {
        let rewriter = scope.spawn(rewriter);
        let of_codec = if targets.iter().all(|target| target == REWRITE) {
            Ok(())
        } else {
            run_command(&mut cargo_fuzz_of_codec("build"))
        };
        of_codec.and(rewriter.join().expect("no thread panics"))
    })
}

/// Returns the names of all targets.
fn all_targets() -> Result<Vec<String>> {
    let dir = Path::new("query/fuzz/fuzz_targets");
    let entries = fs::read_dir(dir).context(dir.display())?.flatten();
    let mut targets: Vec<String> = entries
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".rs").map(str::to_owned))
        .collect();
    targets.sort();
    targets.push(REWRITE.to_owned());
    Ok(targets)
}

/// Returns the targets that were named, and all of them if none was.
fn chosen(named: &[String], all: Vec<String>) -> Result<Vec<String>> {
    if let Some(unknown) = named.iter().find(|target| !all.contains(target)) {
        let message = format!("no target {unknown}; there are: {}", all.join(" "));
        return Err(Failure::Usage(message));
    }
    Ok(if named.is_empty() { all } else { named.to_vec() })
}

fn need_tools() -> Result<()> {
    let works = |arguments: [&str; 2]| {
        let mut cargo = clean("cargo");
        cargo.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        cargo.status().is_ok_and(|status| status.success())
    };
    let missing = if !works(["+nightly", "--version"]) {
        "the nightly compiler is missing; install it: rustup toolchain install nightly --profile minimal"
    } else if !works(["fuzz", "--version"]) {
        "cargo-fuzz is missing; install it: cargo install cargo-fuzz --locked"
    } else if on_path("c++").is_none() {
        "a C++ compiler is missing, which builds libFuzzer; install it: apt-get install g++"
    } else {
        return Ok(());
    };
    Err(Failure::Usage(missing.to_owned()))
}

/// Returns `cargo fuzz VERB TARGET`.
fn cargo_fuzz(verb: &str, target: &str) -> Command {
    let mut cargo = if target == REWRITE {
        let mut cargo = clean("cargo");
        cargo.args(["+nightly", "fuzz", verb, "--fuzz-dir", "agent/fuzz"]);
        cargo
    } else {
        cargo_fuzz_of_codec(verb)
    };
    cargo.arg(target);
    cargo
}

/// Returns `cargo fuzz VERB` for all targets of the codec. It has no unsafe code: without a sanitizer its
/// targets run twice as often.
fn cargo_fuzz_of_codec(verb: &str) -> Command {
    let mut cargo = clean("cargo");
    cargo.args(["+nightly", "fuzz", verb, "--fuzz-dir", "query/fuzz", "--sanitizer", "none"]);
    cargo
}

/// Runs a target. Its output goes to a file, because others run at the same time. Returns whether it passed.
fn fuzz(target: &str, seconds: u32, work: &Path) -> Result<bool> {
    let mut cargo = cargo_fuzz("run", target);
    if target != REWRITE {
        cargo.args(["learned", "corpus"].map(|part| format!("query/fuzz/{part}/{target}")));
    }
    cargo.args(["--", &format!("-max_total_time={seconds}"), "-max_len=4096", "-timeout=10"]);
    cargo.args(["-rss_limit_mb=1024", "-print_final_stats=1"]);
    let file = work.join(format!("{target}.log"));
    let log = fs::File::create(&file).context(file.display())?;
    cargo.stdout(log.try_clone().context(file.display())?).stderr(log);
    let status = cargo.status().map_err(|error| cannot_run(&cargo, &error))?;
    let log = fs::read(&file).context(file.display())?;
    let log = String::from_utf8_lossy(&log);
    if status.success() {
        let runs = runs_in(&log).unwrap_or_default();
        report::say(NAME, &format!("{target}: nothing found in {runs} runs"));
    } else {
        report::say(NAME, &format!("{target} failed:\n{}", last_lines(&log, 60)));
    }
    Ok(status.success())
}

/// Returns how often a target ran, by the statistics that libFuzzer prints.
fn runs_in(log: &str) -> Option<u64> {
    let name = "stat::number_of_executed_units:";
    log.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// Puts the best inputs of a target into the corpus: few files that together reach all code that was reached,
/// and for small decoders also as often.
fn keep_learned(target: &str, work: &Path) -> Result<()> {
    let best = work.join(format!("best-{target}"));
    let corpus = PathBuf::from(format!("query/fuzz/corpus/{target}"));
    let _ = fs::remove_dir_all(&best);
    fs::create_dir_all(&best).context(best.display())?;
    for counters in ["0", "1"] {
        let mut cargo = cargo_fuzz("run", target);
        cargo.arg(&best).arg(&corpus).arg(format!("query/fuzz/learned/{target}"));
        cargo.args(["--", "-merge=1", "-set_cover_merge=1", "-max_len=4096", "-rss_limit_mb=1024"]);
        run_command(cargo.arg(format!("-use_counters={counters}")))?;
        if files_in(&best)?.len() >= 30 {
            break;
        }
    }
    for (_, file) in files_in(&corpus)? {
        fs::remove_file(&file).context(file.display())?;
    }
    let kept = worth_keeping(files_in(&best)?);
    for file in &kept {
        let name = file.file_name().unwrap_or_default();
        fs::copy(file, corpus.join(name)).context(file.display())?;
    }
    let _ = fs::remove_dir_all(&best);
    report::say(NAME, &format!("{target}: {} files", kept.len()));
    Ok(())
}

/// Returns the largest files, which reach most, as long as they are not too many and not too large.
fn worth_keeping(mut files: Vec<(u64, PathBuf)>) -> Vec<PathBuf> {
    files.sort_by(|a, b| b.cmp(a));
    let mut bytes = 0;
    let fits = |(size, _): &(u64, PathBuf)| {
        bytes += size;
        bytes < KEPT_BYTES
    };
    files.into_iter().take(KEPT_FILES).take_while(fits).map(|(_, file)| file).collect()
}

/// Returns the files of a directory with their sizes.
fn files_in(dir: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let entries = fs::read_dir(dir).context(dir.display())?.flatten();
    let file = |entry: fs::DirEntry| {
        let data = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some((data.len(), entry.path()))
    };
    Ok(entries.filter_map(file).collect())
}

/// Compiles small classes with constructors, handlers and all kinds of methods: the rewriter's first inputs.
fn write_seed_classes() -> Result<()> {
    if on_path("javac").is_none() {
        let message = "javac is missing, which compiles the first inputs; install it: apt-get install \
                       openjdk-17-jdk-headless";
        return Err(Failure::Usage(message.to_owned()));
    }
    let corpus = Path::new("agent/fuzz/corpus/rewrite");
    fs::create_dir_all(corpus).context(corpus.display())?;
    let sources = ["Constructors", "Exceptions", "Shapes"];
    let sources = sources.map(|name| format!("java-harness/src/main/java/harness/{name}.java"));
    run_command(clean("javac").arg("-nowarn").arg("-d").arg(corpus).args(sources))?;
    let classes = corpus.join("harness");
    for (size, file) in files_in(&classes)? {
        if size <= SEED_BYTES {
            let name = file.file_name().unwrap_or_default();
            fs::rename(&file, corpus.join(name)).context(file.display())?;
        }
    }
    fs::remove_dir_all(&classes).context(classes.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::arguments::parsed;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn seconds_come_before_targets_and_keeping_takes_targets_only() {
        let args: FuzzArgs = parsed(&["--jobs", "3", "10", "ids", "marks"]).unwrap();
        assert_eq!((args.jobs, args.seconds, args.keep), (3, 10, None));
        assert_eq!(args.targets, ["ids", "marks"]);
        let keep = |words: &[&str]| parsed::<FuzzArgs>(words).unwrap().keep;
        assert_eq!(keep(&["--keep", "ids"]), Some(names(&["ids"])));
        assert_eq!(keep(&["--keep"]), Some(Vec::new()));
        assert!(parsed::<FuzzArgs>(&["ids"]).is_err());
    }

    #[test]
    fn unknown_targets_are_refused_and_all_are_taken_if_none_is_named() {
        let all = || names(&["ids", "marks", REWRITE]);
        assert_eq!(chosen(&[], all()).unwrap(), all());
        assert_eq!(chosen(&names(&["marks"]), all()).unwrap(), ["marks"]);
        let message = chosen(&names(&["mark"]), all()).unwrap_err().to_string();
        assert_eq!(message, "no target mark; there are: ids marks rewrite");
    }

    #[test]
    fn the_largest_files_that_fit_are_kept() {
        let files = [(10, "a"), (100_000, "b"), (70_000, "c"), (20_000, "d")];
        let files = files.map(|(size, name)| (size, PathBuf::from(name))).to_vec();
        assert_eq!(worth_keeping(files), ["b", "c"].map(PathBuf::from));
        let many = (0..200).map(|number| (1, PathBuf::from(number.to_string()))).collect();
        assert_eq!(worth_keeping(many).len(), KEPT_FILES);
    }

    #[test]
    fn the_number_of_runs_is_read_from_the_statistics() {
        assert_eq!(runs_in("x\nstat::number_of_executed_units: 1234\n"), Some(1234));
        assert_eq!(runs_in(""), None);
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
    }
}
