//! Where exceptions were thrown, passed through, and caught.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::Arc;

use flow_codec::MethodId;
use flow_codec::read::{Stamp, TimelineEvent, Unwound, VisitTimeline};

/// The exceptions of a class in a method.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ExceptionRow {
    /// The class, if it is known.
    pub class: Option<Arc<str>>,
    /// The method; `None` for what called the outermost recorded methods.
    pub method: Option<MethodId>,
    /// How many of its calls were the first that such an exception ended. The method, or something that is not recorded
    /// and that it called, threw the exception.
    pub thrown: u64,
    /// How many of its calls one ended after it had ended one that the method made: it passed through, or was caught and
    /// thrown again, as by `finally`.
    pub passed: u64,
    /// How often one ended a call that the method made, and not the method.
    pub caught: u64,
}

/// Adds up the exits by exception of any number of threads, from their timelines. Memory: 16 bytes for each open frame,
/// and the result.
///
/// An exception that is thrown and caught in one call ends no call, so it does not count. If a method catches one and then
/// throws another one of the same class, that counts as passed.
#[derive(Debug, Default)]
pub struct Exceptions {
    classes: HashMap<Option<Arc<str>>, u32>,
    names: Vec<Option<Arc<str>>>,
    counts: HashMap<(u32, Option<MethodId>), [u64; 3]>,
    open: Vec<Frame>,
    /// The class of the last exit by exception.
    last: Option<(Unwound, u32)>,
}

/// An open frame.
#[derive(Debug)]
struct Frame {
    method: MethodId,
    /// The class of the last exception that ended a call that it made.
    reached: Option<u32>,
    /// Whether it has made another call since.
    has_continued: bool,
}

/// What happened to an exception in a method.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Thrown,
    Passed,
    Caught,
}

impl VisitTimeline for Exceptions {
    #[inline]
    fn enter(&mut self, method: MethodId, _at: Stamp) -> bool {
        self.open.iter_mut().next_back().into_iter().for_each(|frame| frame.has_continued = true);
        self.open.push(Frame { method, reached: None, has_continued: false });
        true
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64, _at: Stamp, unwound: Option<&Unwound>) -> bool {
        match unwound {
            None => self.returned(count.get()),
            Some(unwound) => {
                let class = self.class_of(unwound);
                (0..count.get()).for_each(|_| self.unwound(class));
            }
        }
        true
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        use flow_codec::read::EventKind::{Gap, Pause, Resume};
        if matches!(event.kind, Gap { .. } | Pause | Resume) {
            // What came next is unknown.
            self.open.iter_mut().for_each(|frame| frame.reached = None);
        }
        true
    }
}

impl Exceptions {
    fn returned(&mut self, count: u64) {
        for _ in 0..count {
            let Some(Frame { method, reached, .. }) = self.open.pop() else { return };
            reached.into_iter().for_each(|class| self.count(class, Some(method), Fate::Caught));
        }
    }

    fn unwound(&mut self, class: u32) {
        // Otherwise, it was entered before recording began.
        let Some(Frame { method, reached, .. }) = self.open.pop() else { return };
        let method = Some(method);
        match reached {
            Some(reached) if reached == class => self.count(class, method, Fate::Passed),
            reached => {
                // It has caught the other one.
                reached.into_iter().for_each(|class| self.count(class, method, Fate::Caught));
                self.count(class, method, Fate::Thrown);
            }
        }
        let Some(below) = self.open.last_mut() else {
            return self.count(class, None, Fate::Caught);
        };
        below.has_continued = false;
        let (method, earlier) = (below.method, below.reached.replace(class));
        earlier.into_iter().for_each(|class| self.count(class, Some(method), Fate::Caught));
    }

    #[cold]
    fn count(&mut self, class: u32, method: Option<MethodId>, fate: Fate) {
        let [thrown, passed, caught] = self.counts.entry((class, method)).or_default();
        *match fate {
            Fate::Thrown => thrown,
            Fate::Passed => passed,
            Fate::Caught => caught,
        } += 1;
    }

    fn class_of(&mut self, unwound: &Unwound) -> u32 {
        if let Some((last, class)) = &self.last
            && last == unwound
        {
            return *class;
        }
        let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let class = *self.classes.entry(unwound.class.clone()).or_insert(next);
        if class == next {
            self.names.push(unwound.class.clone());
        }
        self.last = Some((unwound.clone(), class));
        class
    }

    /// Ends a thread, after all its events.
    pub fn end_thread(&mut self) {
        for Frame { method, reached, has_continued } in std::mem::take(&mut self.open) {
            let caught = reached.filter(|_| has_continued);
            caught.into_iter().for_each(|class| self.count(class, Some(method), Fate::Caught));
        }
    }

    /// The classes in methods, those that were thrown most often first.
    #[must_use]
    pub fn rows(&self) -> Vec<ExceptionRow> {
        let row = |(&(class, method), &[thrown, passed, caught]): (&_, &[u64; 3])| {
            let class = usize::try_from(class).ok().and_then(|class| self.names.get(class));
            let class = class.cloned().flatten();
            ExceptionRow { class, method, thrown, passed, caught }
        };
        let mut rows: Vec<_> = self.counts.iter().map(row).collect();
        rows.sort_by(|a, b| {
            let key = |row: &ExceptionRow| (row.thrown, row.passed, row.caught);
            let by_name = || (&a.class, a.method).cmp(&(&b.class, b.method));
            key(b).cmp(&key(a)).then_with(by_name)
        });
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow_codec::read::When;

    const AT: Stamp = Stamp {
        position: flow_codec::format::marks::Position {
            offset: flow_codec::Offset::new(0),
            exits: 0,
        },
        time: When::UNKNOWN,
        calls: 0,
    };

    fn rows(exceptions: &Exceptions) -> Vec<(String, u64, [u64; 3])> {
        let row = |row: &ExceptionRow| {
            let class = row.class.as_deref().unwrap_or("?").to_owned();
            let method = row.method.map_or(99, MethodId::get);
            (class, method, [row.thrown, row.passed, row.caught])
        };
        let mut rows: Vec<_> = exceptions.rows().iter().map(row).collect();
        rows.sort();
        rows
    }

    /// Numbers are methods that are entered, `)` is a return, and other letters are classes of exceptions that end a call.
    fn visited(programs: &[&str]) -> Vec<(String, u64, [u64; 3])> {
        let mut exceptions = Exceptions::default();
        for program in programs {
            for event in program.chars() {
                let class = Unwound { class: Some(event.to_string().into()) };
                match event.to_digit(10) {
                    Some(method) => exceptions.enter(MethodId::new(method.into()).unwrap(), AT),
                    None if event == ')' => exceptions.exit(NonZeroU64::MIN, AT, None),
                    None => exceptions.exit(NonZeroU64::MIN, AT, Some(&class)),
                };
            }
            exceptions.end_thread();
        }
        rows(&exceptions)
    }

    #[test]
    fn an_exception_is_thrown_passed_and_caught() {
        let row = |class: &str, method, counts| (class.to_owned(), method, counts);
        let expected = [row("A", 1, [0, 0, 1]), row("A", 2, [0, 1, 0]), row("A", 3, [1, 0, 0])];
        assert_eq!(visited(&["123AA)"]), expected);
        // It calls something else before it returns.
        assert_eq!(visited(&["123AA4))"]), expected);
        // Caught where another one is thrown.
        let expected = [
            row("A", 2, [0, 0, 1]),
            row("A", 3, [1, 0, 0]),
            row("B", 1, [0, 0, 1]),
            row("B", 2, [1, 0, 0]),
        ];
        assert_eq!(visited(&["123AB)"]), expected);
        // Caught and thrown again.
        let expected = [row("A", 1, [0, 0, 1]), row("A", 2, [0, 1, 0]), row("A", 3, [1, 0, 0])];
        assert_eq!(visited(&["123A4)A5)"]), expected);
        // Caught twice in a loop.
        assert_eq!(visited(&["12A2A)"]), [row("A", 1, [0, 0, 2]), row("A", 2, [2, 0, 0])]);
        // It leaves all of a thread; the other thread has it still.
        let expected = [row("A", 1, [1, 0, 0]), row("A", 2, [1, 0, 0]), row("A", 99, [0, 0, 1])];
        assert_eq!(visited(&["1A", "12A"]), expected);
    }
}
