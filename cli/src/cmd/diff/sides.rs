//! What `flow diff --exact` compares, and what its sides are called.

use std::path::{Path, PathBuf};

use flow_codec::read::CallTimes;
use flow_query::open::SelectedCall;

use crate::args::DiffArgs;
use crate::failure::Failure;
use crate::input::flags::DEFAULT_DIR;
use crate::output::message;

/// What is compared, for people.
pub(super) struct Sides {
    pub(super) titles: [String; 2],
    /// What the sides are called.
    pub(super) words: [&'static str; 2],
    /// The times of two calls.
    pub(super) times: [Option<CallTimes>; 2],
    /// The numbers of the first calls, if two calls are compared.
    pub(super) calls: Option<[u64; 2]>,
    /// Whether only what names of behaviours have is compared.
    pub(super) are_behaviours: bool,
    /// Whether attempts of one test are compared: their helper threads have different names.
    pub(super) are_attempts: bool,
}

impl Sides {
    /// Two runs, or two tests or threads.
    pub(super) fn of(args: &DiffArgs) -> Self {
        let after = args.after.as_ref().unwrap_or(&args.before);
        let titles = [(0, &args.before), (1, after)].map(|(index, dir)| {
            let part = &args.part;
            let test = part.tests.patterns.get(index).map(|test| format!(", test {test}"));
            let thread =
                part.threads.patterns.get(index).map(|thread| format!(", thread {thread}"));
            let compared = match args.compares_parts() {
                true if args.compares_threads() => thread,
                true => test,
                false => None,
            };
            dir.display().to_string() + &compared.unwrap_or_default()
        });
        Self::titled(titles)
    }

    fn titled(titles: [String; 2]) -> Self {
        let (words, times) = (["before", "after"], [None, None]);
        Self { titles, words, times, calls: None, are_behaviours: false, are_attempts: false }
    }

    /// Two attempts of a test: one that passed, and one that failed.
    pub(super) fn of_attempts(titles: [String; 2]) -> Self {
        Self { words: ["passed", "failed"], are_attempts: true, ..Self::titled(titles) }
    }

    /// Two calls with these titles.
    pub(super) fn of_calls(titles: [String; 2], calls: [&SelectedCall; 2]) -> Self {
        let is_known = |times: &CallTimes| times.start.estimate_ns.is_some();
        let times = calls.map(|call| Some(call.times.clone()).filter(is_known));
        let calls = Some(calls.map(|call| call.number));
        Self { times, calls, ..Self::titled(titles) }
    }

    /// Compares only what names of behaviours have.
    pub(super) fn of_behaviours(self) -> Self {
        Self { are_behaviours: true, ..self }
    }

    /// What is counted: threads, which may be ranges of threads, or calls.
    pub(super) fn noun(&self) -> &'static str {
        if self.calls.is_some() { "call" } else { "thread" }
    }
}

/// Takes the traces from the names of two tests or threads, `TRACE::NAME`; one without a trace is of BEFORE.
pub(super) fn with_traces(args: &DiffArgs) -> Result<DiffArgs, Failure> {
    let mut args = args.clone();
    let part = &mut args.part;
    let (flag, names) = match part.tests.patterns.is_empty() {
        true => ("--thread", &mut part.threads.patterns),
        false => ("--test", &mut part.tests.patterns),
    };
    let split: Vec<_> = names.iter().map(|name| trace_of(name)).collect();
    if split.iter().all(|(trace, _)| trace.is_none()) {
        if let ([one, other], Some(after)) = (&names[..], &args.after) {
            let (before, after) = (args.before.display(), after.display());
            message(&format!(
                "both are compared in both traces; one of each: {flag} {before}::{one} {flag} {after}::{other}"
            ));
        }
        return Ok(args);
    }
    let usage = |text: String| Err(Failure::Usage(text));
    let [(before, one), (after, other)] = &split[..] else {
        return usage(format!(
            "{flag} TRACE::NAME: a second {flag} names what it is compared with"
        ));
    };
    let is_named = args.before != Path::new(DEFAULT_DIR);
    if args.after.is_some() || is_named && before.is_some() && after.is_some() {
        return usage(format!("{flag} names the trace already: leave out BEFORE and AFTER"));
    }
    let [before, after] = [before, after].map(|trace| trace.clone().unwrap_or(args.before.clone()));
    *names = [one, other].map(|name| (*name).to_owned()).to_vec();
    args.after = Some(after).filter(|after| *after != before);
    (args.before, args.has_named_sides) = (before, true);
    Ok(args)
}

/// The trace and the rest of `TRACE::NAME`. What is before the colons is a trace if there is such a file.
fn trace_of(name: &str) -> (Option<PathBuf>, &str) {
    let parts = name
        .match_indices("::")
        .filter_map(|(at, colons)| Some((name.get(..at)?, name.get(at + colons.len()..)?)));
    let mut parts = parts.filter(|(trace, _)| Path::new(trace).exists());
    parts.next().map_or((None, name), |(trace, rest)| (Some(PathBuf::from(trace)), rest))
}
