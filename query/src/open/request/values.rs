//! Where the keys of a context have which values.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::rc::Rc;

use flow_codec::ThreadId;
use flow_codec::format::marks::Position;

use crate::analysis::ContextSpan;

/// The spans of all keys.
pub(crate) struct ContextSpans {
    /// Of each key in each thread, in order: they do not overlap.
    of_keys: HashMap<Rc<str>, HashMap<ThreadId, Vec<ContextSpan>>>,
}

/// The spans in which a key has another value than one, which ends what is handed to a thread.
#[derive(Clone, Copy)]
pub(crate) struct OtherValues<'a> {
    spans: Option<&'a HashMap<ThreadId, Vec<ContextSpan>>>,
    value: &'a str,
}

impl ContextSpans {
    pub(crate) fn of(spans: Vec<ContextSpan>) -> Self {
        let mut of_keys: HashMap<Rc<str>, HashMap<ThreadId, Vec<ContextSpan>>> = HashMap::new();
        for span in spans {
            let of_key = of_keys.entry(span.key.clone()).or_default();
            of_key.entry(span.thread).or_default().push(span);
        }
        let of_threads = of_keys.values_mut().flat_map(HashMap::values_mut);
        of_threads.for_each(|spans| spans.sort_by_key(|span| span.range.start));
        Self { of_keys }
    }

    /// The spans of each value, by key and value: those of a value in the order in which they began.
    pub(super) fn by_value(&self) -> BTreeMap<(&str, &str), Vec<&ContextSpan>> {
        let mut of_values: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for span in self.of_keys.values().flat_map(HashMap::values).flatten() {
            of_values.entry((&*span.key, &*span.value)).or_default().push(span);
        }
        for spans in of_values.values_mut() {
            spans.sort_by_key(|span| (span.begun.estimate_ns, span.thread, span.range.start));
        }
        of_values
    }

    /// Where a key has another value than this.
    pub(super) fn others<'a>(&'a self, key: &str, value: &'a str) -> OtherValues<'a> {
        OtherValues { spans: self.of_keys.get(key), value }
    }
}

impl<'a> OtherValues<'a> {
    /// Without a key.
    pub(super) const NONE: OtherValues<'static> = OtherValues { spans: None, value: "" };

    /// The spans in a range of a thread.
    pub(super) fn in_range(
        self,
        thread: ThreadId,
        range: &Range<Position>,
    ) -> impl Iterator<Item = &'a ContextSpan> {
        let of_thread = self.spans.and_then(|spans| spans.get(&thread));
        let of_thread = of_thread.map_or(&[][..], Vec::as_slice);
        let first = of_thread.partition_point(|span| span.range.end <= range.start);
        let (end, value) = (range.end, self.value);
        let rest = of_thread.get(first..).unwrap_or_default();
        let inside = rest.iter().take_while(move |span| span.range.start < end);
        inside.filter(move |span| &*span.value != value)
    }

    /// Returns whether a position is in one of them.
    pub(super) fn contain(self, thread: ThreadId, at: Position) -> bool {
        let next = Position { exits: at.exits.saturating_add(1), ..at };
        self.in_range(thread, &(at..next)).next().is_some()
    }
}
