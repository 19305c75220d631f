//! Leaves out the calls of methods that are not selected. Their callees move up to the nearest caller that is
//! shown.
//!
//! A method is checked once, and the result kept as a bit for each open frame, because an exit contains only
//! the number of frames that are left.

use std::num::NonZeroU64;

use crate::read::{Methods, Visit};
use crate::{Glob, MethodId, MethodMap, Name};

/// The methods of a trace that are shown.
#[derive(Clone, Debug)]
pub struct Selection {
    named: MethodMap<bool>,
    /// Whether ids without a name are shown.
    nameless: bool,
    is_all: bool,
}

impl Selection {
    /// Selects all methods.
    #[must_use]
    pub fn all() -> Self {
        Self { named: MethodMap::default(), nameless: true, is_all: true }
    }

    /// Selects methods whose names [are selected](Self::is_selected). An id without a name has an empty name,
    /// and is also selected by `?#7`.
    #[must_use]
    pub fn new(methods: &Methods, include: &[Glob], exclude: &[Glob]) -> Self {
        if include.is_empty() && exclude.is_empty() {
            return Self::all();
        }
        let verdict = |name| Self::is_selected(include, exclude, name);
        let mut named = MethodMap::default();
        for (globs, verdict) in [(include, true), (exclude, false)] {
            for id in globs.iter().filter_map(Glob::nameless_id) {
                *named.or_default(id) = verdict;
            }
        }
        for (id, method) in methods.iter() {
            *named.or_default(id) = verdict(Name::from(&method.info));
        }
        Self { named, nameless: verdict(Name::parse("")), is_all: false }
    }

    /// Returns whether a pattern of `include` matches, if there are any, and none of `exclude`.
    #[must_use]
    pub fn is_selected(include: &[Glob], exclude: &[Glob], name: Name<'_>) -> bool {
        let matches = |glob: &Glob| glob.matches_name(name);
        (include.is_empty() || include.iter().any(matches)) && !exclude.iter().any(matches)
    }

    /// Returns whether all methods are selected.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.is_all
    }

    /// Returns whether calls of this method are shown.
    #[must_use]
    #[inline]
    pub fn contains(&self, method: MethodId) -> bool {
        self.named.get(method).copied().unwrap_or(self.nameless)
    }
}

const WORD_BITS: u64 = u64::BITS as u64;

/// For each open frame of a thread, whether it is shown. Memory: one bit a frame.
#[derive(Clone, Debug, Default)]
pub struct ShownFrames {
    /// The topmost frame is the lowest bit of the last word; that word holds 1 to 64 frames, all others
    /// 64.
    words: Vec<u64>,
    /// How many frames the last word holds.
    in_last: u64,
}

impl ShownFrames {
    /// Enters a frame.
    #[inline]
    pub fn enter(&mut self, is_shown: bool) {
        match self.words.last_mut() {
            Some(word) if self.in_last < WORD_BITS => {
                *word = *word << 1 | u64::from(is_shown);
                self.in_last += 1;
            }
            _ => {
                self.words.push(u64::from(is_shown));
                self.in_last = 1;
            }
        }
    }

    /// Returns whether the topmost frame is shown, or was entered before the first one here.
    #[must_use]
    pub fn shows_topmost(&self) -> bool {
        self.words.last().is_none_or(|word| word & 1 == 1)
    }

    /// Leaves this many frames. Returns how many of them were shown, including those entered before the first
    /// one here, about which nothing is known.
    #[inline]
    pub fn exit(&mut self, count: NonZeroU64) -> Option<NonZeroU64> {
        let mut left = count.get();
        let mut shown = 0;
        while let Some(word) = self.words.last_mut() {
            if left < self.in_last {
                shown += u64::from((*word & ((1 << left) - 1)).count_ones());
                *word >>= left;
                self.in_last -= left;
                return NonZeroU64::new(shown);
            }
            shown += u64::from(word.count_ones());
            left -= self.in_last;
            self.words.pop();
            self.in_last = WORD_BITS;
        }
        NonZeroU64::new(shown + left)
    }
}

/// Leaves out the calls that are not selected, for a visitor.
#[derive(Debug)]
pub struct Filtered<'a, T> {
    inner: T,
    selection: &'a Selection,
    frames: ShownFrames,
}

impl<'a, T> Filtered<'a, T> {
    /// Begins where no frame is open that was entered here.
    pub fn new(inner: T, selection: &'a Selection) -> Self {
        Self { inner, selection, frames: ShownFrames::default() }
    }

    /// The visitor.
    pub(crate) fn inner(&self) -> &T {
        &self.inner
    }

    /// Returns the visitor, after everything was read.
    pub(crate) fn into_inner(self) -> T {
        self.inner
    }
}

impl<V: Visit> Visit for Filtered<'_, V> {
    #[inline]
    fn enter(&mut self, method: MethodId) {
        let is_shown = self.selection.contains(method);
        self.frames.enter(is_shown);
        if is_shown {
            self.inner.enter(method);
        }
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64) {
        if let Some(shown) = self.frames.exit(count) {
            self.inner.exit(shown);
        }
    }
}

impl<V: Visit> Visit for &mut V {
    #[inline]
    fn enter(&mut self, method: MethodId) {
        (**self).enter(method);
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64) {
        (**self).exit(count);
    }

    #[inline]
    fn call(&mut self, method: MethodId, exits: NonZeroU64) {
        (**self).call(method, exits);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::flow::{Encoded, Record};
    use crate::read::{FlowReader, ReadRecords, Trace};

    /// Shows methods with an even id below 8, and other ids if `nameless`: they have no name.
    fn even(nameless: bool) -> Selection {
        let mut named = MethodMap::default();
        for number in 0..8 {
            *named.or_default(MethodId::new(number).unwrap()) = number % 2 == 0;
        }
        Selection { named, nameless, is_all: false }
    }

    #[derive(Clone, PartialEq, Eq, Debug)]
    enum Event {
        Enter(u64),
        Exit,
    }

    /// One event at a time, with a complete stack.
    fn naive(events: &[Event], shows: impl Fn(u64) -> bool) -> Vec<Event> {
        let mut stack = Vec::new();
        let is_shown = |event: &&Event| match event {
            Event::Enter(method) => {
                stack.push(*method);
                shows(*method)
            }
            Event::Exit => stack.pop().is_none_or(&shows),
        };
        events.iter().filter(is_shown).cloned().collect()
    }

    #[derive(Default)]
    struct Collect(Vec<Event>);

    impl Visit for Collect {
        fn enter(&mut self, method: MethodId) {
            self.0.push(Event::Enter(method.get()));
        }

        fn exit(&mut self, count: NonZeroU64) {
            self.0.extend((0..count.get()).map(|_| Event::Exit));
        }
    }

    impl Collect {
        fn add(&mut self, record: Record) {
            match record {
                Record::Enter(method) => self.enter(method),
                Record::Exit(count) => self.exit(count),
            }
        }
    }

    /// Calls of a few methods, often in long runs that cross the words of the stack.
    fn records() -> impl Strategy<Value = Vec<Record>> {
        let enter = (0..10_u64).prop_map(|id| Record::Enter(MethodId::new(id).unwrap()));
        let exits = prop_oneof![3 => 1..3_u64, 1 => 1..200_u64]
            .prop_map(|count| Record::Exit(NonZeroU64::new(count).unwrap()));
        let several = prop::collection::vec(enter, 1..100);
        let step = prop_oneof![several, exits.prop_map(|exit| vec![exit])];
        prop::collection::vec(step, 0..40).prop_map(|steps| steps.concat())
    }

    proptest! {
        #[test]
        fn filtered_calls_are_those_of_a_whole_stack(records in records(), nameless: bool) {
            let mut bytes = Vec::new();
            let mut all = Collect::default();
            for record in &records {
                let encoded = match record {
                    Record::Enter(method) => Encoded::enter(*method),
                    Record::Exit(count) => Encoded::exits(*count),
                };
                bytes.extend(encoded.as_bytes());
                all.add(*record);
            }
            let expected = naive(&all.0, |id| if id < 8 { id % 2 == 0 } else { nameless });
            let selection = even(nameless);

            let mut pushed = Filtered::new(Collect::default(), &selection);
            FlowReader::new(&bytes[..]).visit_all(&mut pushed).unwrap();
            prop_assert_eq!(pushed.into_inner().0, expected);
        }
    }

    #[test]
    fn ten_million_frames_take_a_bit_each() {
        let mut frames = ShownFrames::default();
        for number in 0..10_000_000 {
            frames.enter(number % 3 == 0);
        }
        assert!(frames.words.len() <= 10_000_000 / 64 + 1);
        let most = NonZeroU64::new(9_999_999).unwrap();
        assert_eq!(frames.exit(most).unwrap().get(), 3_333_333);
        // The outermost frame, and as many frames from before as a run can leave.
        assert_eq!(frames.exit(NonZeroU64::MAX), Some(NonZeroU64::MAX));
    }

    #[test]
    fn include_and_exclude_match_names() {
        let dir = tempfile::tempdir().unwrap();
        let ids = "a.B#m()V=0\na.B#n()V=1\na.c.D#m()V=2\n";
        std::fs::write(dir.path().join("ids.properties"), ids).unwrap();
        let methods = Trace::open(dir.path()).unwrap().methods;
        let shown = |include: &[&str], exclude: &[&str]| {
            let globs =
                |patterns: &[&str]| patterns.iter().map(|p| Glob::new(p)).collect::<Vec<_>>();
            let selection = Selection::new(&methods, &globs(include), &globs(exclude));
            (0..4).filter(|id| selection.contains(MethodId::new(*id).unwrap())).collect::<Vec<_>>()
        };
        assert_eq!(shown(&[], &[]), [0, 1, 2, 3]);
        assert_eq!(shown(&["a.*", "**.D"], &["**#n"]), [0, 2]);
        assert_eq!(shown(&[], &["a.B"]), [2, 3], "what has no name is not what was excluded");
        assert_eq!(shown(&["**"], &[]), [0, 1, 2, 3]);
        assert!(Selection::new(&methods, &[], &[]).is_all());
    }
}
