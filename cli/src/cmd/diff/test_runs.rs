//! Compares the tests of two runs, by name.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::Write;

use flow_codec::KeptOrigin;
use flow_codec::format::test_marks::Outcome;
use flow_query::analysis::{MethodName, Run};
use flow_query::rows::{Cell, Members, TestChange};

use crate::args::{DiffArgs, Format, TestArgs};
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::output::{Out, Progress, Records, Table, grouped, left_out, plural};
use flow_query::ask::{RanTest, RanTests};

/// Tests shown in text by default.
const DEFAULT_MAX: u64 = 40;

/// A test in one run.
#[derive(Default)]
struct Attempt {
    /// The result of its last attempt.
    outcome: Option<Outcome>,
    calls: u64,
    /// The methods that it called, by numbers that are the same in both runs.
    methods: BTreeSet<usize>,
}

/// A test of both runs, or of one.
#[derive(Default)]
struct Pair {
    before: Option<Attempt>,
    after: Option<Attempt>,
}

/// The tests of two runs.
#[derive(Default)]
pub(super) struct TestPairs {
    pairs: BTreeMap<String, Pair>,
    numbers: HashMap<String, usize>,
    names: Vec<String>,
}

impl TestPairs {
    /// Adds the selected tests of a run, from traces with all their threads.
    pub(super) fn add(
        &mut self,
        run: Run,
        source: &mut Source,
        args: &DiffArgs,
        progress: &mut Progress,
    ) -> Result<Status, Failure> {
        let runs = source.ask(|traces| Ok(traces.read_tests()))?;
        let asked = RanTests::all().select(args.part.select()).with_all_methods();
        let mut status = source.status;
        for (trace, runs) in source.traces.iter().zip(runs) {
            let (tests, soundness) = asked.read(trace, runs, progress);
            status = status.and(soundness);
            for RanTest { run: test, calls, methods, .. } in tests {
                let numbers: Vec<_> = methods
                    .iter()
                    .map(|method| self.number(trace.methods().display(*method)))
                    .collect();
                let pair = self.pairs.entry(test.name).or_default();
                let attempt = match run {
                    Run::Before => &mut pair.before,
                    Run::After => &mut pair.after,
                };
                // A test that is run again after it failed has the same name.
                let attempt = attempt.get_or_insert_default();
                attempt.outcome = test.outcome;
                attempt.calls += calls;
                attempt.methods.extend(numbers);
            }
        }
        Ok(status)
    }

    fn number(&mut self, name: String) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        })
    }

    /// Prints the tests that differ.
    pub(super) fn print(&self, args: &DiffArgs, out: &mut Out) -> Result<(), Failure> {
        if self.pairs.is_empty() {
            return Ok(());
        }
        let differing: Vec<_> = self.pairs.iter().filter(|(_, pair)| pair.differs()).collect();
        if args.format.of_rows() == Format::Csv {
            if !differing.is_empty() {
                let tests = plural(differing.len() as u64, "test");
                let text = format!("{tests} that differ are left out; text and json show them");
                out.remark(args.format.of_rows(), None, &text)?;
            }
            return Ok(());
        }
        let is_text = args.format.of_rows() == Format::Text;
        let max = line_limit(args.max, args.format.of_rows(), DEFAULT_MAX);
        let rows: Vec<_> =
            differing.iter().take(max).map(|(name, pair)| self.row(name, pair)).collect();
        let left_out = (differing.len() > max).then(|| {
            let more = plural((differing.len() - max) as u64, "more test");
            left_out(&more, max)
        });
        if !is_text {
            let mut records = Records::new::<TestChange<'_>>(args.format.of_rows(), false, out)?;
            records.sort_keys();
            rows.iter().try_for_each(|row| records.row(row, out))?;
            if let Some(text) = left_out {
                out.remark(args.format.of_rows(), None, &text)?;
            }
            return Ok(());
        }
        let count = |which: fn(&Pair) -> &Option<Attempt>| {
            self.pairs.values().filter(|pair| which(pair).is_some()).count() as u64
        };
        writeln!(
            out,
            "{} before, {} after: {} differ in calls or result\n",
            plural(count(|pair| &pair.before), "test"),
            grouped(count(|pair| &pair.after)),
            grouped(differing.len() as u64),
        )?;
        if differing.is_empty() {
            return Ok(());
        }
        let calls = |calls: Option<u64>| calls.map_or(Cell::number(""), Cell::Count);
        let members = |methods: &Members<&str>| Cell::Count(methods.0.len() as u64);
        let mut table = Table::default();
        table.column("before", rows.iter().map(|row| Cell::text(row.result_before)));
        table.column("after", rows.iter().map(|row| Cell::text(row.result_after)));
        table.column("calls", rows.iter().map(|row| calls(row.calls_before)));
        table.column("after", rows.iter().map(|row| calls(row.calls_after)));
        table.column("methods gone", rows.iter().map(|row| members(&row.methods_gone)));
        table.column("new", rows.iter().map(|row| members(&row.methods_new)));
        table.column("test", rows.iter().map(|row| Cell::text(row.test)));
        table.print(out)?;
        if let Some(text) = left_out {
            out.remark(args.format.of_rows(), None, &text)?;
        }
        writeln!(out)?;
        Ok(())
    }

    fn row<'a>(&'a self, test: &'a str, pair: &Pair) -> TestChange<'a> {
        let only = |run| {
            let numbers = pair.only(run).into_iter();
            Members(numbers.filter_map(|number| Some(&**self.names.get(number)?)).collect())
        };
        let calls = |attempt: &Option<Attempt>| attempt.as_ref().map(|attempt| attempt.calls);
        TestChange {
            change: "test",
            test,
            result_before: word(&pair.before),
            result_after: word(&pair.after),
            calls_before: calls(&pair.before),
            calls_after: calls(&pair.after),
            methods_gone: only(Run::Before),
            methods_new: only(Run::After),
        }
    }
}

impl Pair {
    fn differs(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                before.outcome != after.outcome
                    || before.calls != after.calls
                    || before.methods != after.methods
            }
            _ => true,
        }
    }

    /// The methods that the test called in this run only.
    fn only(&self, run: Run) -> Vec<usize> {
        let (Some(before), Some(after)) = (&self.before, &self.after) else { return Vec::new() };
        let (these, those) = match run {
            Run::Before => (&before.methods, &after.methods),
            Run::After => (&after.methods, &before.methods),
        };
        these.difference(those).copied().collect()
    }
}

fn word(attempt: &Option<Attempt>) -> &'static str {
    match attempt {
        None => "",
        Some(attempt) => attempt.outcome.map_or("unfinished", Outcome::word),
    }
}

/// The methods of two different tests, which are compared as if they were one method: else their calls would have
/// no path in common.
#[derive(Default)]
pub(super) struct ComparedTests {
    /// Class and name.
    methods: HashSet<(String, String)>,
}

impl ComparedTests {
    /// Adds the methods of the tests that a pattern selects.
    pub(super) fn add(&mut self, source: &mut Source, pattern: &TestArgs) -> Result<(), Failure> {
        let runs = source.ask(|traces| Ok(traces.read_tests()))?;
        let names = runs.iter().flatten().filter(|run| pattern.include(&run.name));
        self.methods.extend(names.filter_map(|run| {
            let method = run.name.split(['(', '[']).next()?;
            let (class, name) = method.rsplit_once('.')?;
            Some((class.to_owned(), name.to_owned()))
        }));
        Ok(())
    }

    /// Returns the name under which a method is compared.
    pub(super) fn rename(&self, method: MethodName) -> MethodName {
        let common = |name: &str| MethodName::Known {
            class: String::new(),
            name: name.to_owned(),
            descriptor: String::new(),
            origin: KeptOrigin::default(),
        };
        let MethodName::Known { class, name, .. } = &method else { return method };
        let is_test = |name: &str| self.methods.contains(&(class.clone(), name.to_owned()));
        if self.methods.is_empty() {
            return method;
        }
        if is_test(name) {
            return common("the test");
        }
        // `lambda$total$0`: what javac makes of a lambda in the method `total`.
        let lambda = name.strip_prefix("lambda$").and_then(|rest| rest.rsplit_once('$'));
        match lambda {
            Some((of, _)) if is_test(of) => common("lambda of the test"),
            _ => method,
        }
    }
}

impl TestArgs {
    /// Selects the tests that match one pattern.
    pub(super) fn one(pattern: &str) -> Self {
        Self { patterns: vec![pattern.to_owned()] }
    }
}
