//! Marks in the timelines of the page: notes, tests, gaps and pauses, and the samples of calls.

use flow_codec::MethodId;
use flow_codec::format::test_marks::TestMark;
use flow_codec::read::{EventKind, StackSample, StackSamples};
use serde::Serialize;

use super::numbers::cut;
use crate::output::{Labels, text_of_samples};
use flow_query::in_order::LineSamples;
use flow_query::text::MarkWords;

/// The most marks of the page.
const MARKS: usize = 2000;
/// The most rows of samples.
const SAMPLES: usize = 2000;
/// The most characters of a text.
const TEXT_CHARS: usize = 200;
/// The kind of a test that has not ended.
const UNFINISHED: &str = "unfinished";
const PAUSE: &str = "pause";

/// A mark, which lasts from one time to another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct PageMark {
    /// `note`, `gap`, `pause`, `samples`, or for a test its result.
    kind: &'static str,
    at: u64,
    end: u64,
    text: String,
}

/// Collects the marks of threads, one after another.
#[derive(Default, Debug)]
pub(super) struct Marks {
    of_thread: Vec<PageMark>,
    /// The marks of `of_thread` that have not ended.
    open: Vec<usize>,
    /// The marks of the threads that have ended, and those that were too many.
    kept: usize,
    more: u64,
    /// Samples of the innermost call that are to be added, and when the first and the last one were taken.
    samples: Option<(LineSamples, u64, u64)>,
    samples_kept: usize,
    more_samples: u64,
}

impl Marks {
    /// Adds a sample that was taken at this time in a call.
    pub(super) fn sample(
        &mut self,
        (sample, samples): (&StackSample, &StackSamples),
        call: Option<MethodId>,
        at: u64,
        labels: &Labels<'_>,
    ) {
        let next = LineSamples::new(sample, samples, call);
        if let Some((before, _, last)) = &mut self.samples
            && before.add(&next)
        {
            *last = at;
            return;
        }
        self.end_samples(labels);
        self.samples = Some((next, at, at));
    }

    /// The innermost call changes.
    #[inline]
    pub(super) fn end_samples(&mut self, labels: &Labels<'_>) {
        let Some((samples, at, end)) = self.samples.take() else { return };
        if self.samples_kept == SAMPLES {
            self.more_samples += samples.count;
            return;
        }
        self.samples_kept += 1;
        let text = cut(&text_of_samples(&samples, labels), TEXT_CHARS);
        self.of_thread.push(PageMark { kind: "samples", at, end, text });
    }

    /// The number of samples that are not on the page.
    pub(super) fn more_samples(&self) -> u64 {
        self.more_samples
    }

    /// Adds what happened in the thread, if it is a mark.
    pub(super) fn add(&mut self, kind: &EventKind, at: u64) {
        match kind {
            EventKind::Pause => self.open(PAUSE, at, "recording paused".to_owned()),
            EventKind::Resume => self.close(at, |mark| mark.kind == PAUSE, "pause"),
            EventKind::Test(TestMark { outcome: None, name, .. }) => {
                self.open(UNFINISHED, at, cut(name, TEXT_CHARS));
            }
            EventKind::Test(TestMark { outcome: Some(outcome), name, .. }) => {
                let name = cut(name, TEXT_CHARS);
                let is_it = |mark: &PageMark| mark.kind == UNFINISHED && mark.text == name;
                if self.open.iter().filter_map(|place| self.of_thread.get(*place)).any(is_it) {
                    self.close(at, is_it, outcome.word());
                } else {
                    // Skipped: it has no start.
                    self.push(outcome.word(), at, name);
                }
            }
            kind => {
                let Some(MarkWords { kind, text }) = MarkWords::of(kind) else { return };
                // The page has a colour for gaps, and one for all that the program or its surroundings say.
                let kind = if kind == "gap" { kind } else { "note" };
                self.push(kind, at, cut(&text, TEXT_CHARS));
            }
        }
    }

    fn push(&mut self, kind: &'static str, at: u64, text: String) {
        if self.kept + self.of_thread.len() - self.samples_kept < MARKS {
            self.of_thread.push(PageMark { kind, at, end: at, text });
        } else {
            self.more += 1;
        }
    }

    fn open(&mut self, kind: &'static str, at: u64, text: String) {
        let place = self.of_thread.len();
        self.push(kind, at, text);
        if place < self.of_thread.len() {
            self.open.push(place);
        }
    }

    /// Ends the last open mark of this kind.
    fn close(&mut self, at: u64, is_it: impl Fn(&PageMark) -> bool, kind: &'static str) {
        let marks = &mut self.of_thread;
        let found = self.open.iter().rposition(|place| marks.get(*place).is_some_and(&is_it));
        let Some(place) = found.map(|found| self.open.remove(found)) else { return };
        if let Some(mark) = marks.get_mut(place) {
            (mark.kind, mark.end) = (kind, at);
        }
    }

    /// Ends the thread, and all that is open. Returns its marks.
    pub(super) fn end_thread(&mut self, end: u64) -> Vec<PageMark> {
        for place in self.open.drain(..) {
            if let Some(mark) = self.of_thread.get_mut(place) {
                mark.end = end.max(mark.at);
            }
        }
        self.kept += self.of_thread.len();
        std::mem::take(&mut self.of_thread)
    }

    /// The number of marks that are not on the page.
    pub(super) fn more(&self) -> u64 {
        self.more
    }
}

#[cfg(test)]
mod tests {
    use flow_codec::format::test_marks::Outcome;

    use super::*;

    fn test(name: &str, outcome: Option<Outcome>) -> EventKind {
        let (name, detail) = (name.to_owned(), String::new());
        EventKind::Test(TestMark { outcome, name, detail })
    }

    #[test]
    fn tests_and_pauses_last_until_they_end() {
        let mut marks = Marks::default();
        marks.add(&test("a", None), 10);
        marks.add(&EventKind::Note("x\u{1b}".to_owned()), 15);
        marks.add(&test("a", Some(Outcome::Failed)), 20);
        marks.add(&test("b", Some(Outcome::Skipped)), 25);
        marks.add(&EventKind::Pause, 30);
        marks.add(&EventKind::Resume, 40);
        marks.add(&test("c", None), 50);
        let of = |mark: PageMark| format!("{} {}..{} {}", mark.kind, mark.at, mark.end, mark.text);
        assert_eq!(
            marks.end_thread(60).into_iter().map(of).collect::<Vec<_>>(),
            [
                "failed 10..20 a",
                r"note 15..15 x\u{1b}",
                "skipped 25..25 b",
                "pause 30..40 recording paused",
                "unfinished 50..60 c"
            ]
        );
    }

    #[test]
    fn marks_are_limited_and_those_left_out_are_counted() {
        let mut marks = Marks::default();
        for at in 0..3000 {
            marks.add(&test("a", None), at);
            marks.add(&test("a", Some(Outcome::Passed)), at);
        }
        assert_eq!((marks.end_thread(3000).len(), marks.more() > 0), (MARKS, true));
        marks.add(&EventKind::Pause, 1);
        assert!(marks.end_thread(1).is_empty());
    }
}
