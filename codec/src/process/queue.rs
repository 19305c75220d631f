//! Puts numbered messages of several threads into one order.
//!
//! Each message has a number from one counter of the recorded program. On the wire it has 32 bits and wraps around. Messages
//! of one thread arrive in order, those of different threads anyhow.
//!
//! # Wrap
//!
//! Messages also have a time, and in one unit of time less than half of all numbers, 2³¹, are used up. Times of different
//! threads may be read in another order than numbers, but not by a whole unit. So the time says what a number is that would be
//! ambiguous alone:
//!
//! | messages that are known | the number |
//! |---|---|
//! | of the same unit, or of one beside it | is the one nearest to theirs |
//! | of earlier units only | is the first one after theirs |
//! | of later units only | is the last one before theirs |
//! | none | is the one nearest to the number that is expected next |
//!
//! A message that contradicts the known ones even so is [reported](QueueError) instead of put in a wrong place.
//!
//! # Silent threads
//!
//! A message is released when all messages before it were. If one does not arrive, because its thread fills its buffer
//! slowly, those after it wait. When more wait than the queue may hold, it no longer waits: it [reports](Missing) how many
//! numbers are missing, and releases the rest. A message that arrives after that is [late](QueueError::Late), and not
//! released: the order of those that were is right.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

/// Half of all numbers.
const HALF: u64 = 1 << 31;
/// What the first number has in addition to its 32 bits.
const FIRST_WRAP: u64 = 1 << 48;

/// A queue of messages with numbers of 32 bits.
#[derive(Debug)]
pub struct OrderQueue<T> {
    /// The number of the next message to be released, without wraps.
    next: u64,
    waiting: BTreeMap<u64, (u64, T)>,
    /// Breaks that come before these numbers.
    breaks: BTreeMap<u64, Vec<T>>,
    capacity: usize,
    unit_ns: u64,
    /// The first and the last number that was seen in each unit of time that is still of interest.
    units: BTreeMap<u64, (u64, u64)>,
    late: u64,
}

/// What a queue releases.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Released<T> {
    /// The next message.
    Message(T),
    /// A break, before the next message.
    Break(T),
    /// Messages that did not arrive, before the next one.
    Missing(Missing),
}

/// Messages that did not arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Missing {
    /// How many.
    pub count: u64,
}

/// A message cannot be put into the order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueError {
    /// A later one was released, because this one had not arrived.
    Late {
        /// Its number.
        number: u32,
    },
    /// There are two messages with this number.
    Twice {
        /// The number.
        number: u32,
    },
    /// More than half of all numbers were used up in one unit of time: the order is not known.
    Ambiguous {
        /// The number.
        number: u32,
        /// When that was.
        time_ns: u64,
    },
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late { number } => write!(f, "message {number} arrived too late"),
            Self::Twice { number } => write!(f, "there are two messages with number {number}"),
            Self::Ambiguous { number, time_ns } => write!(
                f,
                "message {number} at {time_ns} ns: more than half of all numbers were used at once, so the order is not known"
            ),
        }
    }
}

impl std::error::Error for QueueError {}

impl<T> OrderQueue<T> {
    /// A queue whose first message has the number `first`. At most `capacity` messages wait; in a unit of `unit_ns`
    /// nanoseconds no more than half of all numbers are used.
    #[must_use]
    pub fn new(first: u32, capacity: usize, unit_ns: u64) -> Self {
        Self {
            // So that there are numbers before it.
            next: FIRST_WRAP | u64::from(first),
            waiting: BTreeMap::new(),
            breaks: BTreeMap::new(),
            capacity: capacity.max(1),
            unit_ns: unit_ns.max(1),
            units: BTreeMap::new(),
            late: 0,
        }
    }

    /// How many messages wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many messages came too late.
    #[must_use]
    pub const fn late(&self) -> u64 {
        self.late
    }

    /// Adds a message.
    ///
    /// # Errors
    /// It has no place in the order. The queue is as it was, except that a message that is too late is [counted](Self::late).
    pub fn push(&mut self, number: u32, time_ns: u64, message: T) -> Result<(), QueueError> {
        let unit = time_ns / self.unit_ns;
        let ambiguous = QueueError::Ambiguous { number, time_ns };
        let (extended, range) = self.extend_at(number, unit).ok_or(ambiguous)?;
        if extended < self.next {
            self.late += 1;
            return Err(QueueError::Late { number });
        }
        if self.waiting.contains_key(&extended) {
            return Err(QueueError::Twice { number });
        }
        self.units.insert(unit, range);
        self.waiting.insert(extended, (time_ns, message));
        Ok(())
    }

    /// Adds a break, exactly before the message with this number.
    ///
    /// # Errors
    /// That message was released already.
    pub fn push_break(&mut self, before: u32, message: T) -> Result<(), QueueError> {
        let extended = nearest(before, self.next);
        if extended < self.next {
            self.late += 1;
            return Err(QueueError::Late { number: before });
        }
        self.breaks.entry(extended).or_default().push(message);
        Ok(())
    }

    /// The number without wraps in a unit of time, and the first and the last number of that unit then. `None` if it
    /// contradicts the messages that are known.
    fn extend_at(&self, number: u32, unit: u64) -> Option<(u64, (u64, u64))> {
        let units = |range: RangeInclusive<u64>| self.units.range(range).map(|(_, range)| *range);
        let beside = units(unit.saturating_sub(1)..=unit.saturating_add(1)).reduce(joined);
        // Units before and after these.
        let before =
            unit.checked_sub(2).and_then(|last| units(0..=last).map(|(_, last)| last).max());
        let after = unit.checked_add(2);
        let after = after.and_then(|first| units(first..=u64::MAX).map(|(first, _)| first).min());
        let extended = match (beside, before, after) {
            (Some((first, last)), ..) => nearest(number, first.midpoint(last)),
            (None, Some(before), _) => before + u64::from(number.wrapping_sub(low(before + 1))) + 1,
            (None, None, Some(after)) => after - u64::from(low(after - 1).wrapping_sub(number)) - 1,
            (None, None, None) => nearest(number, self.next),
        };
        let range = match self.units.get(&unit) {
            Some(known) => joined(*known, (extended, extended)),
            None => (extended, extended),
        };
        let is_known = range.1 - range.0 < HALF
            && before.is_none_or(|before| before < extended)
            && after.is_none_or(|after| extended < after);
        is_known.then_some((extended, range))
    }

    /// Releases what comes next, if it has arrived.
    pub fn pop(&mut self) -> Option<Released<T>> {
        if let Some(mut breaks) = self.breaks.first_entry()
            && *breaks.key() == self.next
        {
            let message = (!breaks.get().is_empty()).then(|| breaks.get_mut().remove(0));
            if breaks.get().is_empty() {
                breaks.remove();
            }
            return message.map(Released::Break);
        }
        let (&first, _) = self.waiting.first_key_value()?;
        if first == self.next {
            let (_, (time_ns, message)) = self.waiting.pop_first()?;
            self.next += 1;
            self.forget_before(time_ns);
            return Some(Released::Message(message));
        }
        (self.waiting.len() > self.capacity).then(|| self.skip_to(first))
    }

    /// Releases what is left, when nothing arrives any more.
    pub fn pop_last(&mut self) -> Option<Released<T>> {
        self.pop().or_else(|| {
            let first = self.waiting.first_key_value().map(|(first, _)| *first);
            let first = first.or_else(|| self.breaks.first_key_value().map(|(first, _)| *first))?;
            Some(self.skip_to(first))
        })
    }

    /// No longer waits for the messages before this one.
    fn skip_to(&mut self, first: u64) -> Released<T> {
        // Breaks between them are before it now.
        let after = self.breaks.split_off(&first);
        let mut breaks: Vec<T> =
            std::mem::replace(&mut self.breaks, after).into_values().flatten().collect();
        if !breaks.is_empty() {
            breaks.append(self.breaks.entry(first).or_default());
            self.breaks.insert(first, breaks);
        }
        let count = first - self.next;
        self.next = first;
        Released::Missing(Missing { count })
    }

    /// Forgets units of time long before this time.
    fn forget_before(&mut self, time_ns: u64) {
        const KEPT_UNITS: u64 = 4;
        let from = (time_ns / self.unit_ns).saturating_sub(KEPT_UNITS);
        if self.units.first_key_value().is_some_and(|(first, _)| *first < from) {
            self.units = self.units.split_off(&from);
        }
    }
}

/// The number without wraps that is nearest to another one.
fn nearest(number: u32, to: u64) -> u64 {
    to.wrapping_add_signed(number.wrapping_sub(low(to)).cast_signed().into())
}

/// A number as it is on the wire.
#[expect(clippy::cast_possible_truncation, reason = "the low half")]
const fn low(extended: u64) -> u32 {
    extended as u32
}

/// The first and the last of two ranges.
fn joined(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    (one.0.min(other.0), one.1.max(other.1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UNIT_NS: u64 = 1_000_000;

    /// Everything that is released, with `!` before breaks and `?` before numbers of missing messages.
    fn all(queue: &mut OrderQueue<u64>) -> Vec<String> {
        std::iter::from_fn(|| queue.pop()).map(shown).collect()
    }

    fn shown(released: Released<u64>) -> String {
        match released {
            Released::Message(message) => message.to_string(),
            Released::Break(message) => format!("!{message}"),
            Released::Missing(missing) => format!("?{}", missing.count),
        }
    }

    #[test]
    fn messages_are_released_in_order_without_gaps() {
        let mut queue = OrderQueue::new(5, 100, UNIT_NS);
        queue.push(7, 0, 7).unwrap();
        queue.push(6, 0, 6).unwrap();
        assert_eq!(queue.pop(), None);
        queue.push(5, 0, 5).unwrap();
        assert_eq!(all(&mut queue), ["5", "6", "7"]);
        assert_eq!(queue.push(6, 0, 6), Err(QueueError::Late { number: 6 }));
        queue.push(9, 0, 9).unwrap();
        assert_eq!(queue.push(9, 0, 9), Err(QueueError::Twice { number: 9 }));
    }

    #[test]
    fn numbers_wrap_around() {
        // 1000 below the end, by several threads whose messages arrive in pieces.
        let first = u32::MAX - 999;
        let mut queue = OrderQueue::new(first, 10_000, UNIT_NS);
        let mut released = Vec::new();
        for piece in (0..4000_u32).collect::<Vec<_>>().chunks(100) {
            for thread in [2, 0, 1] {
                for at in piece.iter().filter(|at| **at % 3 == thread) {
                    queue
                        .push(first.wrapping_add(*at), u64::from(*at) * 100, u64::from(*at))
                        .unwrap();
                }
            }
            released.extend(std::iter::from_fn(|| queue.pop()));
        }
        assert_eq!(released, (0..4000).map(Released::Message).collect::<Vec<_>>());
        assert!(queue.is_empty());
    }

    #[test]
    fn half_of_all_numbers_in_one_unit_is_detected() {
        let half = 1_u32 << 31;
        for (first, number, is_known) in [
            (0, half - 1, true),
            (0, half, false),
            (u32::MAX - 5, half - 7, true),
            (u32::MAX, half, false),
        ] {
            let mut queue = OrderQueue::new(first, 10, UNIT_NS);
            queue.push(first, 10, 1).unwrap();
            let pushed = queue.push(number, 20, 2);
            let expected = QueueError::Ambiguous { number, time_ns: 20 };
            assert!(
                pushed == Ok(())
                    || pushed == Err(expected)
                    || pushed == Err(QueueError::Late { number })
            );
            assert_eq!(pushed.is_ok(), is_known, "{first} {number}");
        }
    }

    #[test]
    fn a_time_says_how_often_numbers_have_wrapped() {
        let half = 1_u32 << 31;
        for (second, third) in [(half + 10, 3), (u32::MAX, 7), (half - 1, half + 5)] {
            let mut queue = OrderQueue::new(1, 1, UNIT_NS);
            queue.push(1, 0, 1).unwrap();
            // Five units later, and five again: more numbers than half of all may be between them.
            queue.push(second, 5 * UNIT_NS, 2).unwrap();
            queue.push(third, 10 * UNIT_NS, 3).unwrap();
            let count = |from: u32, to: u32| u64::from(to.wrapping_sub(from)) - 1;
            let released: Vec<_> = std::iter::from_fn(|| queue.pop_last()).map(shown).collect();
            let missing = [count(1, second), count(second, third)].map(|count| format!("?{count}"));
            assert_eq!(released, ["1", &missing[0], "2", &missing[1], "3"], "{second} {third}");
        }
    }

    #[test]
    fn a_time_that_contradicts_a_number_is_detected() {
        let mut queue = OrderQueue::new(0, 1000, UNIT_NS);
        queue.push(0, 0, 0).unwrap();
        queue.push(10, 10 * UNIT_NS, 10).unwrap();
        let number = 11;
        let pushed = queue.push(number, 0, 11);
        assert_eq!(pushed, Err(QueueError::Ambiguous { number, time_ns: 0 }));
        queue.push(11, 9 * UNIT_NS + 1, 11).unwrap();
    }

    #[test]
    fn a_message_that_is_refused_changes_nothing() {
        let mut queue = OrderQueue::new(0, 100, UNIT_NS);
        for number in [1 << 31, u32::MAX] {
            assert_eq!(queue.push(number, 5, 1), Err(QueueError::Late { number }));
        }
        assert_eq!(queue.late(), 2);
        queue.push(5, 5, 5).unwrap();
        assert_eq!(queue.push(5, 6, 6), Err(QueueError::Twice { number: 5 }));
        queue.push(0, 5, 0).unwrap();
        assert_eq!(all(&mut queue), ["0"]);
    }

    #[test]
    fn a_break_is_exactly_before_its_message() {
        let mut queue = OrderQueue::new(u32::MAX, 100, UNIT_NS);
        queue.push_break(0, 100).unwrap();
        queue.push_break(0, 101).unwrap();
        queue.push(0, 0, 1).unwrap();
        assert_eq!(queue.pop(), None, "the message before it has not arrived");
        queue.push(u32::MAX, 0, 0).unwrap();
        assert_eq!(all(&mut queue), ["0", "!100", "!101", "1"]);
        assert_eq!(queue.push_break(0, 102), Err(QueueError::Late { number: 0 }));
        queue.push_break(1, 103).unwrap();
        assert_eq!(all(&mut queue), ["!103"]);
    }

    #[test]
    fn a_silent_thread_holds_up_only_as_much_as_fits() {
        let mut queue = OrderQueue::new(0, 3, UNIT_NS);
        for number in [2, 3, 5] {
            queue.push(number, 0, u64::from(number)).unwrap();
        }
        queue.push_break(1, 100).unwrap();
        assert_eq!(queue.pop(), None);
        queue.push(6, 0, 6).unwrap();
        assert_eq!(all(&mut queue), ["?2", "!100", "2", "3"]);
        assert_eq!(queue.push(1, 0, 1), Err(QueueError::Late { number: 1 }));
        assert_eq!((queue.late(), queue.len()), (1, 2));
        let rest: Vec<_> = std::iter::from_fn(|| queue.pop_last()).map(shown).collect();
        assert_eq!(rest, ["?1", "5", "6"]);
    }

    /// What a queue has, without the count of late messages.
    fn content(queue: &OrderQueue<u64>) -> String {
        format!("{:?}", (queue.next, &queue.waiting, &queue.breaks, &queue.units))
    }

    proptest! {
        #[test]
        fn wild_messages_are_refused_without_effect_or_leave_the_rest_in_order(
            first: u32,
            wild in proptest::collection::vec((any::<u32>(), 0..4_u64), 1..40),
        ) {
            // Each good message is in a unit of its own, so that time decides what a number means.
            let mut queue = OrderQueue::new(first, usize::MAX, UNIT_NS);
            let mut released = Vec::new();
            for (good, (number, units)) in (0..).zip(wild) {
                let now = (good + 8) * UNIT_NS;
                let good_number = first.wrapping_add(u32::try_from(good).unwrap());
                let before = content(&queue);
                if queue.push(number, now - units * UNIT_NS, u64::MAX).is_err() {
                    prop_assert_eq!(content(&queue), before);
                } else {
                    // It is somewhere later, and what is to come may contradict it: not of interest here.
                    break;
                }
                queue.push(good_number, now, good).unwrap();
                released.extend(std::iter::from_fn(|| queue.pop()));
            }
            let expected: Vec<_> = (0..released.len() as u64).map(Released::Message).collect();
            prop_assert_eq!(released, expected);
        }

        #[test]
        fn numbers_are_ordered_however_fast_they_are_used_up(
            first: u32,
            steps in proptest::collection::vec(1..(1_u32 << 31), 1..60),
            swaps in proptest::collection::vec(any::<bool>(), 60),
        ) {
            // One message a unit, up to half of all numbers after the one before; some arrive before their predecessor.
            let mut number = first;
            let mut messages = vec![(first, 0, 0)];
            for (at, step) in (1..).zip(&steps) {
                number = number.wrapping_add(*step);
                messages.push((number, at * UNIT_NS, at));
            }
            for (at, swaps) in (1..messages.len() - 1).zip(swaps) {
                if swaps {
                    messages.swap(at, at + 1);
                }
            }
            let mut queue = OrderQueue::new(first, usize::MAX, UNIT_NS);
            for (number, time_ns, at) in messages {
                queue.push(number, time_ns, at).unwrap();
            }
            let released = std::iter::from_fn(|| queue.pop_last());
            let order: Vec<_> = released
                .filter_map(|released| match released {
                    Released::Message(at) => Some(at),
                    _ => None,
                })
                .collect();
            prop_assert_eq!(order, (0..=steps.len() as u64).collect::<Vec<_>>());
        }

        #[test]
        fn any_interleaving_is_put_in_order(first: u32, threads in 1..6_u32, order: Vec<u8>) {
            let count = 200_u32;
            let mut of_threads: Vec<Vec<u32>> = (0..threads)
                .map(|thread| (0..count).rev().filter(|n| n % threads == thread).collect())
                .collect();
            let mut queue = OrderQueue::new(first, count as usize, UNIT_NS);
            let mut released = Vec::new();
            let mut order = order.into_iter().map(usize::from).chain(0..);
            while of_threads.iter().any(|left| !left.is_empty()) {
                let at = order.next().unwrap() % of_threads.len();
                if let Some(number) = of_threads[at].pop() {
                    queue.push(first.wrapping_add(number), u64::from(number), number).unwrap();
                }
                released.extend(std::iter::from_fn(|| queue.pop()));
            }
            prop_assert_eq!(released, (0..count).map(Released::Message).collect::<Vec<_>>());
        }
    }
}
