//! The tests that a thread ran, by the test marks of its timeline.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use crate::format::marks::{Mark, Position};
use crate::format::test_marks::{LeftOut, Outcome, TestMark};
use crate::read::{EventKind, Parts, ThreadFile, TimelineEvent, Trace, When};
use crate::{Error, ThreadId};

/// One run of one test.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TestRun {
    /// The name, the same in every run; see [`test_marks`](crate::format::test_marks).
    pub name: String,
    /// The name in reports; empty if not known.
    pub title: String,
    /// The thread that ran it.
    pub thread: ThreadId,
    /// Its outcome; `None` while it runs, and forever if the thread ended in it.
    pub outcome: Option<Outcome>,
    /// The reason of the result.
    pub detail: String,
    /// The ranges with its calls: several, if the thread ran other tests in between; none, if it was skipped.
    pub ranges: Vec<Range<Position>>,
    /// When it began, in nanoseconds since the start of the trace.
    pub start_ns: Option<u64>,
    /// When it ended.
    pub end_ns: Option<u64>,
    /// What is left of it, if its calls were left out.
    pub left_out: Option<LeftOut>,
    /// Threads that began while this test, and no other, was running, did nothing after it and ran no test of their own: their
    /// work counts as the test's.
    /// Whether a thread has ended does not matter, because that is up to the scheduler: a pool may be shut down, or not.
    #[doc(hidden)]
    pub helpers: Vec<ThreadId>,
}

impl TestRun {
    /// Reads the tests of all threads, in the order in which they began, and the errors in marks. Memory:
    /// that of the result.
    #[must_use]
    pub fn read_all(trace: &Trace) -> (Vec<Self>, Vec<Error>) {
        let (mut runs, mut errors) = (Vec::new(), Vec::new());
        for file in &trace.files {
            let (of_thread, error) = Self::read(file);
            runs.extend(of_thread);
            errors.extend(error);
        }
        runs.sort_by_key(|run| run.start_ns);
        join_ends(&mut runs);
        let alone = alone(&runs);
        let files: HashMap<_, _> = trace.files.iter().map(|file| (file.id, file)).collect();
        let run_tests: HashSet<_> = runs.iter().map(|run| run.thread).collect();
        for (id, thread) in trace.threads.iter().filter(|(id, _)| !run_tests.contains(id)) {
            let Some(start) = thread.start_ns else { continue };
            let place = alone.partition_point(|(from, ..)| *from <= start);
            let around = place.checked_sub(1).and_then(|place| alone.get(place));
            let Some((_, to, run)) = around else { continue };
            let has_ended = thread.end_ns.is_some_and(|end| end <= *to);
            if !has_ended && !files.get(&id).is_some_and(|file| is_idle_after(file, *to)) {
                continue;
            }
            if let Some(run) = runs.get_mut(*run) {
                run.helpers.push(id);
            }
        }
        (runs, errors)
    }

    /// Reads the tests of a thread, in the order in which they began, and the error in its marks, if any.
    /// Memory: that of the result.
    pub(crate) fn read(file: &ThreadFile) -> (Vec<Self>, Option<Error>) {
        if !may_run_tests(file) {
            return (Vec::new(), None);
        }
        let mut tests = Tests::new(file.id);
        let mut timeline = file.timeline_of_marks();
        for TimelineEvent { position, time, kind, .. } in timeline.by_ref().flatten() {
            if let EventKind::Test(mark) = kind {
                tests.add(position, not_before(time), mark);
            }
        }
        (tests.finish(), timeline.into_damage())
    }

    /// The duration, if known.
    #[must_use]
    pub fn elapsed_ns(&self) -> Option<u64> {
        // A test that was not run has a duration of 0, which differs from an unknown one.
        let was_run = self.outcome != Some(Outcome::Skipped) || !self.ranges.is_empty();
        Some(self.end_ns.filter(|_| was_run)?.saturating_sub(self.start_ns?))
    }

    /// Whether its thread had only the mark of its end.
    fn is_end_alone(&self) -> bool {
        let has_run = self.outcome.is_some_and(|outcome| outcome != Outcome::Skipped);
        let is_empty = self.ranges.is_empty() && self.title.is_empty();
        has_run && is_empty && self.left_out.is_none() && self.start_ns == self.end_ns
    }
}

/// The tests to which the calls of a thread belong: those that it ran, and the test whose helper it is.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TestsOfThread {
    /// The ranges of its tests in order, each with the index of its test.
    ranges: Vec<(Range<Position>, usize)>,
    helped: Option<usize>,
}

impl TestsOfThread {
    /// Returns the tests of a thread, from all [`TestRun`]s of its trace.
    #[must_use]
    pub fn new(runs: &[TestRun], thread: ThreadId) -> Self {
        let of_thread = runs.iter().enumerate().filter(|(_, run)| run.thread == thread);
        let mut ranges: Vec<_> = of_thread
            .flat_map(|(index, run)| run.ranges.iter().map(move |range| (range.clone(), index)))
            .collect();
        ranges.sort_by_key(|(range, _)| range.start);
        let helped = runs.iter().position(|run| run.helpers.contains(&thread));
        Self { ranges, helped }
    }

    /// Returns the index of the test that a position belongs to.
    #[must_use]
    pub fn at(&self, position: Position) -> Option<usize> {
        let after = self.ranges.partition_point(|(range, _)| range.start <= position);
        let before = after.checked_sub(1).and_then(|before| self.ranges.get(before));
        let found = before.filter(|(range, _)| position < range.end).map(|(_, index)| *index);
        found.or(self.helped)
    }
}

/// Returns whether a thread may have run tests: `false` if all its marks can be read and none is a test mark.
/// Most threads run no test, and finding that out requires no times.
fn may_run_tests(file: &ThreadFile) -> bool {
    let mut marks = match file.marks() {
        Ok(Some(marks)) => marks,
        Ok(None) => return false,
        Err(_) => return true,
    };
    loop {
        match marks.next_mark() {
            Ok(None) => return false,
            Ok(Some((_, Mark::Test(_)))) => return true,
            Ok(Some(_)) => {}
            Err(_) => return true,
        }
    }
}

/// Returns whether a thread did nothing after an instant, as far as its marks show.
fn is_idle_after(file: &ThreadFile, at_ns: u64) -> bool {
    let Ok(Some(mut marks)) = file.marks() else { return false };
    // What follows this position happened later. The last time of a thread is at its end.
    let mut rest: Option<Position> = None;
    loop {
        match marks.next_mark() {
            Ok(None) => return true,
            Ok(Some((position, Mark::Time { from_ns, .. }))) => match rest {
                Some(rest) if rest < position => return false,
                None if from_ns > at_ns => rest = Some(position),
                _ => {}
            },
            Ok(Some((_, Mark::Instant { at_ns: later }))) if later > at_ns => return false,
            Ok(Some(_)) => {}
            Err(_) => return false,
        }
    }
}

/// The instant before which something did not happen, if one is known.
fn not_before(time: When) -> Option<u64> {
    time.estimate_ns.map(|_| time.bounds.from_ns).filter(|from_ns| *from_ns > 0)
}

/// The intervals in which exactly one test was running, in order, each with the index of its run.
fn alone(runs: &[TestRun]) -> Vec<(u64, u64, usize)> {
    let mut changes: Vec<(u64, bool, usize)> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        if let Some(start) = run.start_ns.filter(|start| Some(*start) != run.end_ns) {
            changes.push((start, true, index));
            changes.push((run.end_ns.unwrap_or(u64::MAX), false, index));
        }
    }
    // If several things happen at the same time, the ends come first.
    changes.sort_unstable();
    let mut alone = Vec::new();
    let mut running = BTreeSet::new();
    let mut since = 0;
    for (at, begins, index) in changes {
        if let (1, Some(only)) = (running.len(), running.first())
            && since < at
        {
            alone.push((since, at, *only));
        }
        if begins {
            running.insert(index)
        } else {
            running.remove(&index)
        };
        since = at;
    }
    alone
}

/// Gives tests that did not end on their thread the result that another thread reports later: Kotest 5 does so.
/// Such a test is over when its thread begins the next one. `runs` are in the order in which they began.
fn join_ends(runs: &mut Vec<TestRun>) {
    if runs.iter().all(|run| run.outcome.is_some()) {
        return;
    }
    let mut ends: HashMap<String, Vec<usize>> = HashMap::new();
    let mut following: HashMap<ThreadId, Option<u64>> = HashMap::new();
    let mut joined = HashSet::new();
    // From the last one back, so that an end comes before the test that it ends.
    for index in (0..runs.len()).rev() {
        let Some(run) = runs.get(index) else { continue };
        if run.is_end_alone() {
            ends.entry(run.name.clone()).or_default().push(index);
            continue;
        }
        let next_ns = following.insert(run.thread, run.start_ns).flatten();
        if run.outcome.is_some() {
            continue;
        }
        // Of several, the first one after the start.
        let is_elsewhere = |end: &usize| runs.get(*end).is_some_and(|end| end.thread != run.thread);
        let of_name = ends.get_mut(&run.name);
        let end = of_name.and_then(|of_name| {
            of_name.iter().rposition(is_elsewhere).map(|at| of_name.remove(at))
        });
        let Some((end, of_end)) = end.and_then(|end| Some((end, runs.get(end)?.clone()))) else {
            continue;
        };
        joined.insert(end);
        if let Some(run) = runs.get_mut(index) {
            run.end_ns = next_ns.or(of_end.end_ns);
            (run.outcome, run.detail) = (of_end.outcome, of_end.detail);
        }
    }
    let mut index = 0..;
    runs.retain(|_| index.next().is_none_or(|index| !joined.contains(&index)));
}

struct Tests {
    thread: ThreadId,
    runs: Vec<TestRun>,
    /// Those that have not ended, each around the next, and the position where the innermost continues.
    open: Vec<usize>,
    since: Position,
}

impl Tests {
    fn new(thread: ThreadId) -> Self {
        Self { thread, runs: Vec::new(), open: Vec::new(), since: Position::default() }
    }

    fn add(&mut self, position: Position, now_ns: Option<u64>, mark: TestMark) {
        let Some(outcome) = mark.outcome else {
            self.leave(position);
            self.open.push(self.runs.len());
            self.runs.push(TestRun { title: mark.detail, start_ns: now_ns, ..self.run(mark.name) });
            return;
        };
        let is_it = |run: &usize| self.runs.get(*run).is_some_and(|run| run.name == mark.name);
        let Some(place) = self.open.iter().rposition(is_it) else {
            // It was skipped, or began before recording did.
            let (start_ns, end_ns) = (now_ns, now_ns);
            let (outcome, detail) = (Some(outcome), mark.detail);
            let run = TestRun { outcome, detail, start_ns, end_ns, ..self.run(mark.name) };
            self.runs.push(run);
            return;
        };
        self.leave(position);
        for run in self.open.drain(place..).enumerate() {
            let (depth, index) = run;
            let Some(run) = self.runs.get_mut(index) else { continue };
            run.end_ns = now_ns;
            // The outcome of those inside is unknown.
            if depth == 0 {
                run.outcome = Some(outcome);
                run.left_out = LeftOut::parse(&mark.detail).filter(|_| outcome == Outcome::Passed);
                match run.left_out {
                    Some(left) => (run.start_ns, run.end_ns) = (left.start_ns, left.end_ns),
                    None => run.detail.clone_from(&mark.detail),
                }
            }
        }
    }

    /// Assigns the calls made up to here to the innermost test.
    fn leave(&mut self, position: Position) {
        let innermost = self.open.last().and_then(|run| self.runs.get_mut(*run));
        if let Some(run) = innermost.filter(|_| self.since < position) {
            run.ranges.push(self.since..position);
        }
        self.since = position;
    }

    fn run(&self, name: String) -> TestRun {
        TestRun {
            name,
            title: String::new(),
            thread: self.thread,
            outcome: None,
            detail: String::new(),
            ranges: Vec::new(),
            start_ns: None,
            end_ns: None,
            left_out: None,
            helpers: Vec::new(),
        }
    }

    fn finish(mut self) -> Vec<TestRun> {
        self.leave(Parts::ALL.end);
        self.runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Offset;
    use crate::format::marks::{HEADER, MarkEncoder};

    /// A run as `name outcome ranges`.
    fn runs(marks: &[(u64, u64, &str)]) -> Vec<String> {
        let mut tests = Tests::new(ThreadId::new(1));
        for (number, (offset, exits, mark)) in (0..).zip(marks) {
            let position = Position { offset: Offset::new(*offset), exits: *exits };
            let words: Vec<_> = mark.splitn(3, ' ').collect();
            let outcome = (1..=4).find_map(|number| {
                Outcome::from_number(number).filter(|outcome| outcome.word() == words[0])
            });
            let (name, detail) = (words[1].to_owned(), words.get(2).unwrap_or(&"").to_string());
            tests.add(position, Some(number * 10), TestMark { outcome, name, detail });
        }
        let show = |at: &Position| match at.offset.get() {
            u64::MAX => String::new(),
            offset => format!("{offset}+{}", at.exits),
        };
        let line = |run: TestRun| {
            let ranges = run.ranges.iter();
            let ranges: Vec<_> = ranges
                .map(|range| format!("{}-{}", show(&range.start), show(&range.end)))
                .collect();
            let outcome = run.outcome.map_or("?", Outcome::word);
            let ns = run.elapsed_ns().map_or("?".to_owned(), |ns| ns.to_string());
            format!("{} {outcome} {} {ns}", run.name, ranges.join(","))
        };
        tests.finish().into_iter().map(line).collect()
    }

    #[test]
    fn a_test_is_the_range_between_its_marks() {
        assert_eq!(
            runs(&[
                (3, 1, "started a"),
                (9, 0, "passed a"),
                (9, 0, "skipped b no"),
                (12, 2, "started a"),
                (12, 2, "failed a why"),
                (20, 0, "started c"),
            ]),
            ["a passed 3+1-9+0 10", "b skipped  ?", "a failed  10", "c ? 20+0- ?"]
        );
    }

    #[test]
    fn a_position_belongs_to_the_innermost_test_of_its_thread_or_to_the_one_it_helps() {
        let at = |offset| Position { offset: Offset::new(offset), exits: 0 };
        let run = |thread, ranges: &[(u64, u64)], helpers: &[u64]| TestRun {
            ranges: ranges.iter().map(|(from, to)| at(*from)..at(*to)).collect(),
            helpers: helpers.iter().copied().map(ThreadId::new).collect(),
            ..Tests::new(ThreadId::new(thread)).run("test".to_owned())
        };
        let runs =
            [run(1, &[(10, 20), (30, 40)], &[3]), run(1, &[(20, 30)], &[]), run(2, &[], &[])];
        let found = |thread, offsets: &[u64]| -> Vec<_> {
            let tests = TestsOfThread::new(&runs, ThreadId::new(thread));
            offsets.iter().map(|offset| tests.at(at(*offset))).collect()
        };
        let expected = [None, Some(0), Some(0), Some(1), Some(0), None];
        assert_eq!(found(1, &[9, 10, 19, 20, 30, 40]), expected);
        assert_eq!(found(2, &[0]), [None]);
        assert_eq!(found(3, &[0, 99]), [Some(0), Some(0)]);
    }

    /// Writes a thread that makes a call between any two of its marks, which have the offsets 2, 4, 6 and so on.
    fn write_thread(dir: &std::path::Path, thread: u64, marks: &[Mark]) {
        let events = [0x80, 0x00].repeat(marks.len());
        std::fs::write(dir.join(format!("thread-{thread}.flow")), events).unwrap();
        let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
        for (offset, mark) in (2..).step_by(2).zip(marks) {
            encoder.encode(Position::before(Offset::new(offset)), mark, &mut bytes);
        }
        encoder.finish(&mut bytes);
        std::fs::write(dir.join(format!("thread-{thread}.marks")), bytes).unwrap();
    }

    fn time(by_ns: u64, from_ns: u64) -> Mark {
        Mark::Time { by_ns, from_ns, ran_us: None }
    }

    #[test]
    fn a_thread_that_does_nothing_after_a_test_helped_it() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("ids.properties"), "a.B#m()V=0\n").unwrap();
        // Calls until 30, then nothing; the same, and a call between 90 and 95.
        let times = [time(20, 20), time(30, 90), time(95, 95)];
        write_thread(dir.path(), 1, &times[..2]);
        write_thread(dir.path(), 2, &times);
        let trace = Trace::open(dir.path()).unwrap();
        let is_idle = |thread: u64, at_ns| {
            let file = trace.files().iter().find(|file| file.id() == ThreadId::new(thread));
            file.is_some_and(|file| is_idle_after(file, at_ns))
        };
        assert!(is_idle(1, 50) && is_idle(1, 30) && !is_idle(1, 19));
        assert!(!is_idle(2, 50) && is_idle(2, 90) && !is_idle(3, 50));
    }

    #[test]
    fn a_thread_that_runs_tests_helps_no_other_test() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("ids.properties"), "a.B#m()V=0\n").unwrap();
        let mark = |outcome, name: &str| {
            let (name, detail) = (name.to_owned(), String::new());
            Mark::Test(TestMark { outcome, name, detail })
        };
        let (begun, passed) = (None, Some(Outcome::Passed));
        let one = [time(10, 10), mark(begun, "a"), time(90, 90), mark(passed, "a"), time(95, 95)];
        write_thread(dir.path(), 1, &one);
        // Both begin during the test and make their calls at 50; the second one runs a test.
        let two = [time(50, 50), time(50, 80), time(80, 80), time(80, 80)];
        write_thread(dir.path(), 2, &two);
        write_thread(dir.path(), 3, &[time(50, 50), mark(begun, "b"), mark(passed, "b")]);
        let started = |id, at_ns| {
            format!(
                r#"{{"event":"start","id":{id},"name":"","daemon":false,"virtual":false,"at_ns":{at_ns}}}"#
            )
        };
        let threads = [started(1, 1), started(2, 20), started(3, 20)].join("\n") + "\n";
        std::fs::write(dir.path().join("threads.jsonl"), threads).unwrap();
        let (runs, errors) = TestRun::read_all(&Trace::open(dir.path()).unwrap());
        assert!(errors.is_empty(), "{errors:?}");
        let helpers: Vec<_> =
            runs.iter().map(|run| (run.name.as_str(), &run.helpers[..])).collect();
        assert_eq!(helpers, [("a", &[ThreadId::new(2)][..]), ("b", &[])]);
    }

    #[test]
    fn a_test_inside_another_has_its_own_calls() {
        assert_eq!(
            runs(&[
                (1, 0, "started a"),
                (2, 0, "started b"),
                (3, 0, "passed b"),
                (4, 0, "passed a"),
            ]),
            ["a passed 1+0-2+0,3+0-4+0 30", "b passed 2+0-3+0 10"]
        );
        assert_eq!(
            runs(&[
                (1, 0, "started a"),
                (2, 0, "started b"),
                (3, 0, "failed a"),
                (4, 0, "passed b"),
            ]),
            ["a failed 1+0-2+0 20", "b ? 2+0-3+0 10", "b passed  0"]
        );
    }

    #[test]
    fn a_test_ends_with_the_result_that_another_thread_reports() {
        let run = |thread, name: &str, at_ns, outcome: Option<Outcome>, detail: &str| TestRun {
            start_ns: Some(at_ns),
            end_ns: outcome.map(|_| at_ns),
            outcome,
            detail: detail.to_owned(),
            ..Tests::new(ThreadId::new(thread)).run(name.to_owned())
        };
        let mut runs = vec![
            run(2, "one", 10, None, ""),
            run(2, "two", 20, None, ""),
            run(1, "one", 30, Some(Outcome::Passed), ""),
            run(1, "two", 31, Some(Outcome::Failed), "why"),
            // Nothing begins after it, its own thread's end is another run's, and a skipped one is none.
            run(2, "one", 40, None, ""),
            run(2, "one", 50, Some(Outcome::Passed), ""),
            run(1, "one", 60, Some(Outcome::Skipped), ""),
        ];
        join_ends(&mut runs);
        let show = |run: &TestRun| {
            let outcome = run.outcome.map_or("?", Outcome::word);
            format!("{} {outcome} {} {:?}", run.name, run.detail, run.elapsed_ns())
        };
        assert_eq!(
            runs.iter().map(show).collect::<Vec<_>>(),
            [
                "one passed  Some(10)",
                "two failed why Some(20)",
                "one ?  None",
                "one passed  Some(0)",
                "one skipped  None"
            ]
        );
    }

    #[test]
    fn a_test_runs_alone_while_no_other_does() {
        let run = |start, end| {
            let tests = Tests::new(ThreadId::new(1));
            TestRun { start_ns: Some(start), end_ns: end, ..tests.run("a".to_owned()) }
        };
        let runs = [run(10, Some(20)), run(20, Some(50)), run(30, Some(40)), run(60, None)];
        assert_eq!(alone(&runs), [(10, 20, 0), (20, 30, 1), (40, 50, 1), (60, u64::MAX, 3)]);
    }
}
