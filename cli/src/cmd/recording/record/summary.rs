//! The summary on stderr after the command has ended.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flow_codec::Glob;
use flow_codec::format::manifest::{Manifest, Totals, Unmatched};
use flow_codec::format::test_marks::Outcome;
use flow_codec::read::{TestRun, Trace};
use flow_options::patterns;

use super::launch::compiler_option;
use super::notices::Notices;
use crate::args::DEFAULT_DIR;
use crate::cmd::recording::agent::{TraceDir, earlier_moved, shown, trace_directories};
use crate::cmd::test_runs::summary as tests_summary;
use crate::input::empty_run;
use crate::output::{
    alarm, bytes, escaped, flow_command, message, plural, report_unmatched, shell_quoted,
};
use flow_query::open::lost;
use flow_query::select::is_in;

/// If there are more directories than this, only the first are named.
const SHOWN_DIRECTORIES: usize = 4;

/// The traces of one run of a command.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// Whether verbs that name no trace show this one.
    is_default: bool,
    /// The directories, quoted for a shell.
    shown: Vec<String>,
    traces: Vec<Recorded>,
    /// Errors in reading the traces.
    problems: Vec<String>,
    /// `the directory holds`, or what else has an earlier trace.
    has_earlier: Option<&'static str>,
    /// Where earlier traces are that were moved away.
    earlier: Vec<PathBuf>,
    /// Patterns that matched nothing in each recording, by option.
    unmatched: Vec<BTreeSet<(String, String)>>,
}

/// One trace of the run.
#[derive(Debug)]
struct Recorded {
    /// Its process id and host.
    jvm: (u32, String),
    /// How many stacks were sampled, if the trace has an end.
    samples: u64,
    /// The size of the trace. Without an end, only `bytes` is known.
    totals: Totals,
    /// The bytes that its events take on disk; of a trace in one file, all of it.
    stored: u64,
    lost: Option<String>,
    end: RunEnd,
    /// The results of the tests that it ran.
    tests: Vec<Option<Outcome>>,
    /// Whether it has lines and no calls.
    is_of_lines: bool,
    /// The verbs for what was recorded beside calls.
    steps: Vec<Step>,
    /// Whether it was such a run as often takes less time with `--quick`.
    is_for_quick: bool,
}

/// A verb that reads a trace, and what it shows.
type Step = (&'static str, &'static str);

/// The verbs for what options record beside calls: the key, one of its values, and the verb.
const STEPS_OF_OPTIONS: [(&str, &str, Step); 3] = [
    ("waits", "on", ("report --waits", "what threads waited for")),
    ("presets", "context", ("calls --by context", "what threads worked for")),
    ("presets", "coroutines", ("calls --coroutines", "calls of suspend functions, each once")),
];

/// The path of a trace in `dir`, or beside it if that is a file, for a user who calls it `shown`.
fn within(shown: &Path, dir: &Path, trace: &Path) -> PathBuf {
    match trace.strip_prefix(dir) {
        Ok(inner) if inner.as_os_str().is_empty() => shown.to_path_buf(),
        Ok(inner) => shown.join(inner),
        Err(_) => shown.with_file_name(trace.file_name().unwrap_or_default()),
    }
}

/// Options with patterns for methods. The trace of a killed JVM shows whether these match.
const PATTERNS: [&str; 4] = ["include", "lines", "values", "instructions"];

/// Returns the patterns that matched nothing in a recording. A killed JVM has not reported them: then patterns are left out if
/// the trace does not show whether they matched.
fn unmatched_in(trace: &Trace, manifest: &Manifest) -> BTreeSet<(String, String)> {
    if let Some(end) = &manifest.end {
        return by_option(&end.unmatched);
    }
    let of_option = |option: &&str| {
        let all = manifest.options.get(*option).into_iter().flat_map(|all| patterns(all));
        let patterns = all.map(|pattern| pattern.trim().to_owned()).filter(|one| !one.is_empty());
        let chosen = patterns.filter(|pattern| !manifest.own.contains(pattern));
        let unmatched = chosen.filter(|pattern| !is_in(trace, &Glob::new(pattern)));
        unmatched.map(|pattern| ((*option).to_owned(), pattern)).collect::<Vec<_>>()
    };
    PATTERNS.iter().flat_map(of_option).collect()
}

fn by_option(all: &[Unmatched]) -> BTreeSet<(String, String)> {
    let of_option = |Unmatched { option, patterns }: &Unmatched| {
        let option = option.clone();
        patterns.clone().into_iter().map(move |pattern| (option.clone(), pattern))
    };
    all.iter().flat_map(of_option).collect()
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RunEnd {
    Clean,
    /// No clean end, and the process is gone.
    Killed,
    /// No clean end; whether the process is alive cannot be determined.
    Unknown,
}

impl Summary {
    /// Searches the directories that the pattern of a place can match for traces recorded since `started`. `child` is the process
    /// that was run.
    pub(super) fn of(place: &TraceDir, started: Duration, child: u32) -> Self {
        let TraceDir { out, pattern, is_default } = place;
        let started_ns = u64::try_from(started.as_nanos()).unwrap_or(u64::MAX);
        let mut summary = Self { is_default: *is_default, ..Self::default() };
        let has_placeholders = pattern.contains('%');
        for dir in trace_directories(pattern) {
            let shown = if has_placeholders { dir.as_path() } else { out.as_path() };
            let (mut own, mut has_others) = (Vec::new(), false);
            for trace_dir in Trace::directories(&dir).unwrap_or_default() {
                let trace = match Trace::open(&trace_dir) {
                    Ok(trace) => trace,
                    Err(error) => {
                        summary.problems.push(error.to_string());
                        continue;
                    }
                };
                match trace.manifest() {
                    Some(manifest) if manifest.start_unix_ns >= started_ns => {
                        own.push(trace_dir);
                        summary.earlier.extend(manifest.earlier.clone());
                        summary.traces.push(Recorded::of(&trace, manifest, child));
                        summary.unmatched.push(unmatched_in(&trace, manifest));
                        summary.problems.extend(trace.damage().iter().map(ToString::to_string));
                    }
                    _ => {
                        has_others = true;
                        // Other directories that match a wildcard are not mentioned.
                        if !has_placeholders {
                            let is_dir = dir.is_dir();
                            let has = if is_dir { "the directory holds" } else { "the file is" };
                            summary.has_earlier = Some(has);
                        }
                    }
                }
            }
            // If another command records to the same place, that place shows its JVMs too.
            let shown: Vec<_> = match own.is_empty() {
                false if has_others => own.iter().map(|own| within(shown, &dir, own)).collect(),
                false => vec![shown.to_path_buf()],
                true => Vec::new(),
            };
            summary.shown.extend(shown.iter().map(|path| shell_quoted(&path.to_string_lossy())));
        }
        summary
    }

    /// Returns whether a JVM was recorded.
    pub(super) fn has_traces(&self) -> bool {
        !self.traces.is_empty()
    }

    /// Returns whether there are any calls, as far as it is known.
    pub(super) fn has_calls(&self) -> bool {
        self.traces.iter().any(|trace| trace.totals.enters > 0 || trace.totals.bytes > 0)
    }

    /// Returns whether there are calls or samples.
    pub(super) fn has_content(&self) -> bool {
        self.has_calls() || self.traces.iter().any(|trace| trace.samples > 0)
    }

    /// Prints the summary, with `why_nothing` if nothing was recorded. `is_timed_out`: the command took too long.
    pub(super) fn print(&self, notices: &Notices, why_nothing: &str, is_timed_out: bool) {
        for problem in &self.problems {
            message(problem);
        }
        for reason in &notices.refused {
            message(&format!("not recorded: {}", escaped(reason)));
        }
        for dir in &notices.without_calls {
            let dir = Path::new(dir);
            empty_run::note(dir);
            alarm(&format!("recorded 0 calls; {} holds the earlier trace", shown(dir)));
        }
        let Some(dir) = self.shown.first() else {
            if notices.refused.is_empty() && notices.without_calls.is_empty() {
                self.print_nothing(why_nothing);
            }
            self.print_unmatched(notices);
            return;
        };
        let mut place =
            self.shown.iter().take(SHOWN_DIRECTORIES).cloned().collect::<Vec<_>>().join(", ");
        if self.shown.len() > SHOWN_DIRECTORIES {
            place.push_str(&format!(" and {} more", self.shown.len() - SHOWN_DIRECTORIES));
        }
        let (clean, unfinished): (Vec<_>, Vec<_>) =
            self.traces.iter().partition(|trace| trace.end == RunEnd::Clean);
        self.print_clean(&clean, &place);
        self.print_unfinished(&unfinished, &place);
        for lost in self.traces.iter().filter_map(|trace| trace.lost.as_ref()) {
            message(lost);
        }
        self.print_unmatched(notices);
        for earlier in &self.earlier {
            message(&earlier_moved(earlier));
        }
        let has_tests = self.traces.iter().any(|trace| !trace.tests.is_empty());
        if has_tests {
            let outcomes = self.traces.iter().flat_map(|trace| trace.tests.iter().copied());
            message(&tests_summary(outcomes));
        }
        if self.has_calls() {
            let dir = (!self.is_default).then_some(dir);
            match self.traces.iter().any(|trace| trace.is_of_lines) {
                true => print_steps(dir, &STEPS_OF_LINES),
                false => self.print_next_steps(dir, has_tests, is_timed_out),
            }
            if self.traces.iter().any(|trace| trace.is_for_quick) {
                message(
                    "a short run with many calls, such as this one, often takes less time with flow record --quick",
                );
            }
        }
    }

    /// Prints the patterns that matched nothing in any of the recordings.
    fn print_unmatched(&self, notices: &Notices) {
        let dropped = notices.unmatched.iter().map(|unmatched| by_option(unmatched));
        let all = self.unmatched.iter().cloned().chain(dropped);
        let in_all = all.reduce(|some, others| some.intersection(&others).cloned().collect());
        for (option, pattern) in in_all.unwrap_or_default() {
            report_unmatched(&option, &pattern);
        }
    }

    fn print_clean(&self, clean: &[&Recorded], place: &str) {
        if clean.is_empty() {
            return;
        }
        let samples = clean.iter().fold(0, |sum: u64, trace| sum.saturating_add(trace.samples));
        if samples > 0 {
            message(&format!("sampled {} in {place}", plural(samples, "stack")));
        }
        if !self.has_calls() {
            if samples == 0 {
                alarm(&format!("recorded 0 calls; the trace in {place} is empty"));
            }
            return;
        }
        let sum = |part: fn(&Totals) -> u64| -> u64 {
            clean.iter().fold(0, |sum, trace| sum.saturating_add(part(&trace.totals)))
        };
        // One JVM that was attached to again has several traces.
        let of = |traces: &mut dyn Iterator<Item = &Recorded>| {
            traces.map(|trace| &trace.jvm).collect::<BTreeSet<_>>().len() as u64
        };
        let jvms = match (of(&mut self.traces.iter()), clean.len()) {
            (1, 1) => String::new(),
            (1, recordings) => format!(" ({recordings} recordings of one JVM)"),
            _ => format!(" of {}", plural(of(&mut clean.iter().copied()), "JVM")),
        };
        let what = match clean.iter().any(|trace| trace.is_of_lines) {
            true => "lines without calls".to_owned(),
            false => plural(sum(|totals| totals.enters), "call"),
        };
        message(&format!(
            "recorded {what} in {}{jvms}, {} known, {} in {place}",
            plural(sum(|totals| totals.threads), "thread"),
            plural(sum(|totals| totals.methods), "method"),
            bytes(clean.iter().fold(0, |sum, trace| sum.saturating_add(trace.stored))),
        ));
    }

    fn print_unfinished(&self, unfinished: &[&Recorded], place: &str) {
        let subject = match (unfinished.len(), self.traces.len()) {
            (0, _) => return,
            (1, 1) => "the JVM".to_owned(),
            (some, all) => format!("{some} of {}", plural(all as u64, "JVM")),
        };
        let what = match unfinished {
            [Recorded { end: RunEnd::Killed, .. }] => "was killed",
            [_] => "has not finished (killed, or still running)",
            _ => "have not finished (killed, or still running)",
        };
        let size = unfinished.iter().fold(0, |sum: u64, t| sum.saturating_add(t.stored));
        let size = bytes(size);
        message(&format!(
            "{subject} {what}; what was written until then, {size} in {place}, can be read"
        ));
    }

    /// Prints commands that read the trace, one below the other. Without its name, they read the newest one.
    fn print_next_steps(&self, dir: Option<&String>, has_tests: bool, is_timed_out: bool) {
        let mut steps = Vec::new();
        if is_timed_out {
            steps.push(("replay --last 20", "what each thread waits for, and its last calls"));
        }
        if has_tests {
            steps.push(("tests", "what each test called"));
        }
        steps.extend([
            ("report", "calls per method"),
            ("report --open", "timeline and flame graph, in the browser"),
            ("replay", "calls in order"),
        ]);
        let of_options = self.traces.iter().flat_map(|trace| &trace.steps);
        let others: BTreeSet<_> = of_options.collect();
        steps.extend(others);
        print_steps(dir, &steps);
    }

    fn print_nothing(&self, why: &str) {
        let is_in_folder = self.is_default && Path::new(DEFAULT_DIR).exists();
        let earlier = match self.has_earlier {
            None if is_in_folder => format!("; {DEFAULT_DIR} has earlier runs"),
            None => String::new(),
            Some(place) => format!("; {place} an older trace"),
        };
        message(&format!(
            "nothing was recorded: the command started no JVM, or none that loaded the agent{why}{earlier}"
        ));
    }
}

/// Verbs that read a trace without calls.
const STEPS_OF_LINES: [(&str, &str); 3] = [
    ("report --lines", "which lines were reached"),
    ("export --to jacoco -o jacoco.xml", "the same for other tools, also cobertura and lcov"),
    ("export --to lcov --test '*' -o tests.info", "by test"),
];

/// Prints commands that read the trace.
fn print_steps(dir: Option<&String>, steps: &[(&str, &str)]) {
    let commands = steps.iter().map(|(verb, what)| match dir {
        Some(dir) => (flow_command(&format!("{verb} {dir}")), what),
        None => (flow_command(verb), what),
    });
    let lines: Vec<_> = commands.collect();
    let width = lines.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    for (command, what) in lines {
        message(&format!("  {command:<width$}  {what}"));
    }
}

/// Runs of this length were measured with `--quick` and without: all that made as many calls a second became cheaper, those with few calls
/// became dearer, and longer ones may profit from the second compiler. See `docs/performance.md`.
const SHORT_NS: RangeInclusive<u64> = 2_000_000_000..=30_000_000_000;
const CALLS_A_SECOND: u64 = 2_000_000;

/// Returns whether a recording was of such a run as often takes less time with `--quick`, with no choice of compilers yet.
fn is_for_quick(manifest: &Manifest) -> bool {
    let Some(end) = &manifest.end else { return false };
    let calls = u128::from(end.totals.enters) * 1_000_000_000;
    let is_chosen = |word: &String| word == "-Xint" || compiler_option(word).is_some();
    SHORT_NS.contains(&end.at_ns)
        && calls >= u128::from(CALLS_A_SECOND) * u128::from(end.at_ns)
        && manifest.engine == "instrument"
        && !manifest.is_set("quick", "true")
        && !manifest.command.iter().any(is_chosen)
}

impl Recorded {
    fn of(trace: &Trace, manifest: &Manifest, child: u32) -> Self {
        let written = Totals {
            bytes: trace.files().iter().fold(0, |sum, file| sum + file.stored_bytes()),
            ..Totals::default()
        };
        let (tests, _) = TestRun::read_all(trace);
        let tests = tests.into_iter().map(|test| test.outcome).collect();
        let jvm = (manifest.pid, manifest.host.clone());
        let (totals, lost, end) = match &manifest.end {
            Some(end) => {
                let lost = lost(&end.lost).map(|lost| format!("lost: {lost}"));
                (end.totals, lost, RunEnd::Clean)
            }
            None if manifest.pid == child => (written, None, RunEnd::Killed),
            None => (written, None, RunEnd::Unknown),
        };
        let stored = trace.file_bytes().unwrap_or(totals.bytes);
        let samples = manifest.end.as_ref().map_or(0, |end| end.samples);
        let is_of_lines = !manifest.has_calls();
        let steps =
            STEPS_OF_OPTIONS.iter().filter(|(option, value, _)| manifest.is_set(option, value));
        let steps = steps.map(|(.., step)| *step).collect();
        let is_for_quick = is_for_quick(manifest);
        Self { jvm, samples, totals, stored, lost, end, tests, is_of_lines, steps, is_for_quick }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow_codec::format::manifest::End;

    fn run(seconds: u64, calls: u64) -> Manifest {
        let totals = Totals { enters: calls, ..Totals::default() };
        let end = End { at_ns: seconds * 1_000_000_000, totals, ..End::default() };
        Manifest { engine: "instrument".to_owned(), end: Some(end), ..Manifest::default() }
    }

    #[test]
    fn quick_is_proposed_for_short_runs_with_many_calls() {
        // The compiler of Java, and the tests of commons-csv.
        assert!(is_for_quick(&run(4, 115_000_000)) && is_for_quick(&run(11, 235_000_000)));
        // A long computation in a few calls, a run of minutes, and one that is over at once.
        assert!(!is_for_quick(&run(10, 600_000)));
        assert!(!is_for_quick(&run(300, 10_000_000_000)));
        assert!(!is_for_quick(&run(1, 100_000_000)));
        let mut chosen = run(4, 115_000_000);
        chosen.command = vec!["java".to_owned(), "-XX:TieredStopAtLevel=1".to_owned()];
        assert!(!is_for_quick(&chosen));
        let mut quick = run(4, 115_000_000);
        quick.options.insert("quick".to_owned(), "true".to_owned());
        assert!(!is_for_quick(&quick));
    }
}
