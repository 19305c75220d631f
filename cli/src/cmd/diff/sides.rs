//! What `flow diff --exact` compares, and what its sides are called.

use flow_codec::read::CallTimes;
use flow_query::open::SelectedCall;

use crate::args::DiffArgs;

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
    /// Two runs, or two tests or threads of one.
    pub(super) fn of(args: &DiffArgs) -> Self {
        let after = args.after.as_ref().unwrap_or(&args.before);
        let titles = [(0, &args.before), (1, after)].map(|(index, dir)| {
            let part = &args.part;
            let test = part.tests.patterns.get(index).map(|test| format!(", test {test}"));
            let thread =
                part.threads.patterns.get(index).map(|thread| format!(", thread {thread}"));
            let compared = match args.after {
                None if args.compares_threads() => thread,
                None => test,
                Some(_) => None,
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
