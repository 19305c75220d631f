//! Where exceptions were thrown, passed through, and caught.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::Arc;

use flow_codec::MethodId;
use flow_codec::format::values::Value;
use flow_codec::read::{HandledException, Stamp, TimelineEvent, Unwound, VisitTimeline};

use crate::text::message_text;

/// The exceptions of a class in a method, or in one of its handlers.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ExceptionRow {
    /// The class, if it is known.
    pub class: Option<Arc<str>>,
    /// The method; `None` for what called the outermost recorded methods.
    pub method: Option<MethodId>,
    /// The handler, and where the exceptions were created, if that was recorded.
    pub handler: Option<Arc<Handler>>,
    /// The first message, as text, if it was recorded.
    pub message: Option<String>,
    /// How many of its calls were the first that such an exception ended or that had a handler for it. The method, or something
    /// that is not recorded and that it called, threw the exception.
    pub thrown: u64,
    /// How many of its calls one ended after it had ended one that the method made, or had reached a handler of the method: it
    /// passed through, or was caught and thrown again, as by `finally`.
    pub passed: u64,
    /// How often one ended a call that the method made, or reached a handler of the method, and did not end the method.
    pub caught: u64,
}

/// A handler that exceptions reached.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Handler {
    /// The line in which it begins, if it is known.
    pub line: Option<u16>,
    /// The class and method that created the exceptions, if it is known.
    pub created_in: Option<String>,
    /// The line there, if it is known.
    pub created_at: Option<u32>,
}

/// Adds up the exits by exception of any number of threads, and the exceptions that reached handlers, from their timelines.
/// Memory: 16 bytes for each open frame, some for each exception that has reached a handler of an open frame, up to a limit, and
/// the result.
///
/// An exception that is thrown and caught in one call, and one of code that is not recorded, counts only if the timeline has
/// [handlers](flow_codec::read::Timeline::with_handlers). If a method catches an exception and then throws another one of the
/// same class, that counts as passed.
#[derive(Debug, Default)]
pub struct Exceptions {
    classes: HashMap<Option<Arc<str>>, u32>,
    names: Vec<Option<Arc<str>>>,
    counts: HashMap<Key, Counts>,
    open: Vec<Frame>,
    /// Exceptions that have reached a handler of an open frame, those of outer frames first.
    handled: Vec<Handled>,
    /// Of calls that an exception has just ended, those that reached handlers of them and may be this one. Its next handler
    /// shows which one it is.
    undecided: Vec<(MethodId, Vec<Handled>)>,
    /// How many calls an exception ended.
    ended: u64,
    /// The class of the last exit by exception.
    last: Option<(Unwound, u32)>,
}

/// Of what a row has the counts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Key {
    class: u32,
    method: Option<MethodId>,
    handler: Option<Arc<Handler>>,
}

#[derive(Clone, Default, Debug)]
struct Counts {
    thrown: u64,
    passed: u64,
    caught: u64,
    message: Option<String>,
}

/// An open frame.
#[derive(Debug)]
struct Frame {
    method: MethodId,
    /// The class of the last exception that ended a call that it made, and has reached no handler since.
    reached: Option<u32>,
    /// Whether it has made another call since.
    has_continued: bool,
}

/// An exception that has reached a handler.
#[derive(Debug)]
struct Handled {
    /// How many frames are open.
    frames: usize,
    class: u32,
    hash: u32,
    handler: Arc<Handler>,
}

/// The most exceptions that a frame has caught and may still throw again. A frame that catches more has most likely done with the
/// first of them.
const MAX_HANDLED: usize = 8;

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
        self.decide(None);
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
        use flow_codec::read::EventKind::{self, Gap, Pause, Resume};
        match event.kind {
            Gap { .. } | Pause | Resume => {
                // What came next is unknown.
                self.open.iter_mut().for_each(|frame| frame.reached = None);
                self.handled.clear();
                self.decide(None);
            }
            EventKind::Handled(handled) => self.reached_handler(handled),
            _ => {}
        }
        true
    }
}

impl Exceptions {
    fn returned(&mut self, count: u64) {
        self.decide(None);
        for _ in 0..count {
            let Some(Frame { method, reached, .. }) = self.open.pop() else { return };
            reached.into_iter().for_each(|class| self.count(class, Some(method), Fate::Caught));
            self.end_handled(method, None);
        }
    }

    fn unwound(&mut self, class: u32) {
        // Otherwise, it was entered before recording began.
        let Some(Frame { method, reached, .. }) = self.open.pop() else { return };
        self.ended += 1;
        if reached == Some(class) {
            self.count(class, Some(method), Fate::Passed);
            self.end_handled(method, None);
        } else {
            // It has caught the other one.
            reached.into_iter().for_each(|class| self.count(class, Some(method), Fate::Caught));
            if !self.end_handled(method, Some(class)) {
                self.count(class, Some(method), Fate::Thrown);
            }
        }
        let Some(below) = self.open.last_mut() else {
            return self.count(class, None, Fate::Caught);
        };
        below.has_continued = false;
        let (method, earlier) = (below.method, below.reached.replace(class));
        earlier.into_iter().for_each(|class| self.count(class, Some(method), Fate::Caught));
    }

    /// An exception has reached a handler of the topmost frame.
    #[cold]
    fn reached_handler(&mut self, handled: HandledException) {
        let HandledException { class, hash, line, created_in, created_at, message } = handled;
        self.decide(Some(hash));
        let class = self.class_of(&Unwound { class });
        let handler = Arc::new(Handler { line, created_in, created_at });
        let frames = self.open.len();
        let Some(Frame { method, reached, .. }) = self.open.last_mut() else { return };
        let (method, reached) = (*method, reached.take_if(|reached| *reached == class));
        let key = Key { class, method: Some(method), handler: Some(Arc::clone(&handler)) };
        let counts = self.counts.entry(key).or_default();
        if counts.message.is_none() && message != Value::Null {
            counts.message = Some(message_text(&message));
        }
        let is_same = |one: &Handled| (one.frames, one.hash, one.class) == (frames, hash, class);
        if let Some(earlier) = self.handled.iter().position(is_same) {
            // As when a handler of `finally` throws it again.
            let earlier = self.handled.remove(earlier);
            self.count_handled(&earlier, method, Fate::Passed);
        } else if reached.is_none() {
            counts.thrown += 1;
        }
        self.handled.push(Handled { frames, class, hash, handler });
        let first = self.handled.partition_point(|one| one.frames < frames);
        if self.handled.len() - first > MAX_HANDLED {
            let earlier = self.handled.remove(first);
            self.count_handled(&earlier, method, Fate::Caught);
        }
    }

    /// The frame that was left last had handlers for some exceptions. One of this class ended it, if any: returns whether that was
    /// one of these.
    fn end_handled(&mut self, method: MethodId, class: Option<u32>) -> bool {
        let frames = self.open.len();
        let mut candidates = Vec::new();
        while let Some(handled) = self.handled.pop_if(|handled| handled.frames > frames) {
            match Some(handled.class) == class {
                true => candidates.push(handled),
                false => self.count_handled(&handled, method, Fate::Caught),
            }
        }
        let is_one = !candidates.is_empty();
        match &candidates[..] {
            [] => {}
            [handled] => self.count_handled(handled, method, Fate::Passed),
            _ => self.undecided.push((method, candidates)),
        }
        is_one
    }

    /// The exception that ended the last calls has this identity, if it is known. Without, it is the one that reached its handler
    /// last.
    #[inline]
    fn decide(&mut self, hash: Option<u32>) {
        if !self.undecided.is_empty() {
            self.decide_now(hash);
        }
    }

    #[cold]
    fn decide_now(&mut self, hash: Option<u32>) {
        for (method, candidates) in std::mem::take(&mut self.undecided) {
            let passed = candidates.iter().position(|handled| Some(handled.hash) == hash);
            for (number, handled) in candidates.iter().enumerate() {
                let is_passed = number == passed.unwrap_or(0);
                let fate = if is_passed { Fate::Passed } else { Fate::Caught };
                self.count_handled(handled, method, fate);
            }
        }
    }

    fn count_handled(&mut self, handled: &Handled, method: MethodId, fate: Fate) {
        let handler = Some(Arc::clone(&handled.handler));
        self.add(Key { class: handled.class, method: Some(method), handler }, fate);
    }

    #[cold]
    fn count(&mut self, class: u32, method: Option<MethodId>, fate: Fate) {
        self.add(Key { class, method, handler: None }, fate);
    }

    fn add(&mut self, key: Key, fate: Fate) {
        let counts = self.counts.entry(key).or_default();
        *match fate {
            Fate::Thrown => &mut counts.thrown,
            Fate::Passed => &mut counts.passed,
            Fate::Caught => &mut counts.caught,
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
        self.decide(None);
        let open = std::mem::take(&mut self.open);
        for handled in std::mem::take(&mut self.handled) {
            if let Some(Frame { method, .. }) = open.get(handled.frames.saturating_sub(1)) {
                self.count_handled(&handled, *method, Fate::Caught);
            }
        }
        for Frame { method, reached, has_continued } in open {
            let caught = reached.filter(|_| has_continued);
            caught.into_iter().for_each(|class| self.count(class, Some(method), Fate::Caught));
        }
    }

    /// How many calls an exception ended.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.ended
    }

    /// The classes in methods, those that were thrown most often first.
    #[must_use]
    pub fn rows(&self) -> Vec<ExceptionRow> {
        let row = |(key, counts): (&Key, &Counts)| {
            let Key { class, method, handler } = key.clone();
            let Counts { thrown, passed, caught, message } = counts.clone();
            let class = usize::try_from(class).ok().and_then(|class| self.names.get(class));
            let class = class.cloned().flatten();
            ExceptionRow { class, method, handler, message, thrown, passed, caught }
        };
        let mut rows: Vec<_> = self.counts.iter().map(row).collect();
        rows.sort_by(|a, b| {
            let key = |row: &ExceptionRow| (row.thrown, row.passed, row.caught);
            let by_name =
                || (&a.class, a.method, &a.handler).cmp(&(&b.class, b.method, &b.handler));
            key(b).cmp(&key(a)).then_with(by_name)
        });
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow_codec::read::{EventKind, When};

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
        // Those of the handlers of a method are one here.
        rows.dedup_by(|one, all| {
            let is_same = (&one.0, one.1) == (&all.0, all.1);
            if is_same {
                all.2.iter_mut().zip(one.2).for_each(|(all, one)| *all += one);
            }
            is_same
        });
        rows
    }

    /// Numbers are methods that are entered, `)` is a return, and other letters are classes of exceptions that end a call. After
    /// `=`, an exception of a class and an identity reaches a handler.
    fn visited(programs: &[&str]) -> Vec<(String, u64, [u64; 3])> {
        let mut exceptions = Exceptions::default();
        for program in programs {
            feed(&mut exceptions, program);
            exceptions.end_thread();
        }
        rows(&exceptions)
    }

    fn feed(exceptions: &mut Exceptions, program: &str) {
        let mut events = program.chars();
        while let Some(event) = events.next() {
            let class = Unwound { class: Some(event.to_string().into()) };
            match event.to_digit(10) {
                Some(method) => exceptions.enter(MethodId::new(method.into()).unwrap(), AT),
                None if event == ')' => exceptions.exit(NonZeroU64::MIN, AT, None),
                None if event == '=' => {
                    let class = events.next().map(|class| class.to_string().into());
                    let hash = events.next().and_then(|hash| hash.to_digit(10)).unwrap();
                    exceptions.other(handled(class, hash))
                }
                None => exceptions.exit(NonZeroU64::MIN, AT, Some(&class)),
            };
        }
    }

    fn handled(class: Option<Arc<str>>, hash: u32) -> TimelineEvent {
        let line = u16::try_from(hash).ok();
        let (created_in, created_at, message) = (None, None, Value::Null);
        let handled = HandledException { class, hash, line, created_in, created_at, message };
        let Stamp { position, time, calls } = AT;
        TimelineEvent { position, time, calls, number: None, kind: EventKind::Handled(handled) }
    }

    #[test]
    fn what_is_thrown_and_caught_in_one_call_counts_if_a_handler_shows_it() {
        let row = |class: &str, method, counts| (class.to_owned(), method, counts);
        assert_eq!(visited(&["12=A5))"]), [row("A", 2, [1, 0, 1])]);
        // Three in a loop, and one that a method threw that is recorded.
        assert_eq!(
            visited(&["12=A5=A6=A73A=A8))"]),
            [row("A", 2, [3, 0, 4]), row("A", 3, [1, 0, 0])]
        );
        // Thrown, and passed by `finally`; the caller catches it.
        assert_eq!(visited(&["12=A5A=A5)"]), [row("A", 1, [0, 0, 1]), row("A", 2, [1, 1, 0])]);
        // A handler of `finally`, then another one of the same call.
        assert_eq!(visited(&["12=A53)=A5))"]), [row("A", 2, [1, 1, 1])]);
        // Another exception continues in place of the first one.
        let wrapped = [row("A", 2, [1, 0, 1]), row("B", 1, [0, 0, 1]), row("B", 2, [1, 0, 0])];
        assert_eq!(visited(&["12=A5B=B6)"]), wrapped);
        // Recorded code threw another one than the handler gets: code in between wrapped it.
        let in_between = [row("A", 2, [0, 0, 1]), row("A", 3, [1, 0, 0]), row("B", 2, [1, 0, 1])];
        assert_eq!(visited(&["123A=B6))"]), in_between);
        // The thread ends, or the recording, in the handler.
        assert_eq!(visited(&["12=A5"]), [row("A", 2, [1, 0, 1])]);
    }

    #[test]
    fn of_two_exceptions_of_a_class_the_next_handler_shows_which_one_went_on() {
        let row = |line: u32, method: u64, counts| (line, method, counts);
        let lines = |program: &str| {
            let mut exceptions = Exceptions::default();
            feed(&mut exceptions, program);
            exceptions.end_thread();
            let of = |row: &ExceptionRow| {
                let line = row.handler.as_ref().and_then(|handler| handler.line);
                let method = row.method.map_or(99, MethodId::get);
                (line.map_or(0, u32::from), method, [row.thrown, row.passed, row.caught])
            };
            let mut rows: Vec<_> = exceptions.rows().iter().map(of).collect();
            rows.sort_unstable();
            rows
        };
        // As in `try` with a resource whose `close` throws.
        let body = [
            row(0, 3, [1, 0, 0]),
            row(5, 1, [0, 0, 1]),
            row(5, 2, [1, 1, 0]),
            row(6, 2, [0, 0, 1]),
        ];
        assert_eq!(lines("12=A53A=A6A=A5)"), body);
        let last = [
            row(0, 3, [1, 0, 0]),
            row(5, 2, [1, 0, 1]),
            row(6, 1, [0, 0, 1]),
            row(6, 2, [0, 1, 0]),
        ];
        assert_eq!(lines("12=A53A=A6A=A6)"), last);
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
