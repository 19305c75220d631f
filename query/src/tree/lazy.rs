//! The call tree of a thread, of which only the requested places are read.

use std::ops::{ControlFlow, Range};

use super::node::{Node, Subtree};
use super::shaped::Shaped;
use crate::dag::{Dag, REPEATS, REPEATS_OF_SUMS};
use flow_codec::derived::Origin;
use flow_codec::format::flow::Record;
use flow_codec::index::{Index, Place, SMALLEST_INDEXED_BYTES};
use flow_codec::parallel::BytesRead;
use flow_codec::read::{Content, ReadRecords, ThreadFile};
use flow_codec::{Error, MethodId, Offset, Result};

/// The calls of one thread. It holds an [`Index`], and reads only the intervals that a question needs: for a
/// call that contains a billion others, those in which the call, or the requested part of it, begins and
/// ends. Without a stored index it holds the stored [shapes](crate::dag) of the thread, if there are any, and reads
/// no events. Nothing else is kept; a [`Node`] holds no resources.
///
/// ```no_run
/// use flow_codec::parallel::BytesRead;
/// use flow_codec::read::Trace;
/// use flow_query::tree::LazyTree;
///
/// let trace = Trace::open("flow-trace")?;
/// let mut tree = LazyTree::open(&trace.files()[0], &BytesRead::default())?;
/// for root in tree.children(None, 0, 10)? {
///     println!("{}: {} calls", trace.methods().display(root.method), tree.subtree(&root)?.calls);
/// }
/// # Ok::<(), flow_codec::Error>(())
/// ```
#[derive(Debug)]
pub struct LazyTree {
    file: ThreadFile,
    content: Content,
    pub(super) index: Index,
    origin: Origin,
    /// If the answers come from shapes; then the index is empty.
    pub(super) shapes: Option<Shaped>,
}

/// Why a question has no answer.
pub(super) enum Fault {
    Read(Error),
    /// The index differs from the events.
    Index,
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Read(error)
    }
}

pub(super) type Found<T> = std::result::Result<T, Fault>;

impl LazyTree {
    /// Opens a thread with its index: the stored one if it is usable. Without one, with its stored shapes, or with an
    /// index built now. `progress` counts the bytes read for that.
    ///
    /// # Errors
    /// The events cannot be read. Damage is not an error: it is skipped.
    pub fn open(file: &ThreadFile, progress: &BytesRead) -> Result<Self> {
        let content = Content::open(file)?;
        if Index::stored_bytes(file) == 0
            && let Some(dag) = Dag::open_small(file, file.bytes(), REPEATS)
        {
            return Ok(Self::of_shapes(file, content, dag));
        }
        let (index, origin) = Index::open(file, &content, progress)?;
        Ok(Self::new(file, content, index, origin))
    }

    /// Opens the calls of a thread that were made before `until`. Events after it are not read, unless a
    /// stored index has them.
    ///
    /// # Errors
    /// The events cannot be read.
    pub(crate) fn open_until(
        file: &ThreadFile,
        content: Content,
        until: Offset,
        progress: &BytesRead,
    ) -> Result<Self> {
        let (index, origin) = Index::open_until(file, &content, until, progress)?;
        Ok(Self::new(file, content, index, origin))
    }

    /// Opens a thread for many questions: with its stored shapes, with new ones if the thread is small, or else as
    /// [`open`](Self::open) does. From shapes, calls that repeat are passed without reading them.
    ///
    /// # Errors
    /// The events cannot be read. Damage is not an error: it is skipped.
    pub fn open_shapes_first(file: &ThreadFile, progress: &BytesRead) -> Result<Self> {
        // With an index the first answer comes at once, so shapes that take longer to decode must be worth it.
        let repeats = if Index::stored_bytes(file) > 0 { REPEATS_OF_SUMS } else { REPEATS };
        if let Some(dag) = Dag::open_small(file, file.bytes(), repeats) {
            return Ok(Self::of_shapes(file, Content::open(file)?, dag));
        }
        if file.bytes() < SMALLEST_INDEXED_BYTES {
            let content = Content::open(file)?;
            let built = Dag::build(file, &content, progress)?;
            if let Some(dag) = built.into_whole(&content) {
                return Ok(Self::of_shapes(file, content, dag));
            }
        }
        Self::open(file, progress)
    }

    fn new(file: &ThreadFile, content: Content, index: Index, origin: Origin) -> Self {
        Self { file: file.clone(), content, index, origin, shapes: None }
    }

    fn of_shapes(file: &ThreadFile, content: Content, dag: Dag) -> Self {
        let mut tree = Self::new(file, content, Index::default(), Origin::Stored);
        tree.shapes = Some(Shaped::new(dag));
        tree
    }

    /// The source of the index, or of the shapes.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The index; `None` if the answers come from shapes.
    #[must_use]
    pub fn index(&self) -> Option<&Index> {
        self.shapes.is_none().then_some(&self.index)
    }

    /// The shapes; `None` if the answers come from events.
    #[must_use]
    pub fn shapes(&self) -> Option<&Dag> {
        self.shapes.as_ref().map(|shapes| &shapes.dag)
    }

    /// The bytes to which offsets refer.
    #[must_use]
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// The place after the last record.
    #[must_use]
    pub fn end(&self) -> Place {
        self.shapes.as_ref().map_or(self.index.end(), |shapes| shapes.end)
    }

    /// Returns the call with this number; `None` if there are fewer calls.
    ///
    /// # Errors
    /// The events cannot be read. Damage is not an error: it is skipped.
    pub fn call(&mut self, number: u64) -> Result<Option<Node>> {
        if let Some(shapes) = &self.shapes {
            return Ok(shapes.call(number));
        }
        let is_it = |place: Place, record| match record {
            Record::Enter(method) if place.enters == number => Some(Node { place, method }),
            _ => None,
        };
        self.ask(Place::default(), |tree, _| {
            tree.find(tree.index.interval_at(|place| place.enters, number), is_it)
        })
    }

    /// Returns where the record of event `number` begins; entries and exits both count.
    ///
    /// # Errors
    /// As those of [`call`](Self::call).
    pub fn event(&mut self, number: u64) -> Result<Option<Place>> {
        if let Some(shapes) = &self.shapes {
            return Ok(shapes.event(number));
        }
        let is_it = |place: Place, record| {
            let events = match record {
                Record::Enter(_) => 1,
                Record::Exit(count) => count.get(),
            };
            (number < place.events().saturating_add(events)).then_some(place)
        };
        self.ask(Place::default(), |tree, _| {
            tree.find(tree.index.interval_at(Place::events, number), is_it)
        })
    }

    /// Returns where the first record at or after `offset` begins.
    ///
    /// # Errors
    /// As those of [`call`](Self::call).
    pub fn offset(&mut self, offset: Offset) -> Result<Option<Place>> {
        if let Some(shapes) = &self.shapes {
            return Ok(shapes.offset(offset));
        }
        self.ask(Place::default(), |tree, _| tree.record_at(offset))
    }

    /// The frames open at a place, the outermost first, without those that were entered before recording
    /// began.
    ///
    /// # Errors
    /// As those of [`call`](Self::call).
    pub fn frames(&mut self, place: Place) -> Result<Vec<Node>> {
        if let Some(shapes) = &self.shapes {
            return Ok(shapes.frames(place));
        }
        self.ask(place, |tree, place| tree.frames_in(place, 0..place.frames, |frame| frame))
    }

    /// Only their methods, which suits stacks of millions of frames.
    ///
    /// # Errors
    /// As those of [`call`](Self::call).
    pub fn open_methods(&mut self, place: Place) -> Result<Vec<MethodId>> {
        if let Some(shapes) = &self.shapes {
            return Ok(shapes.open_methods(place));
        }
        self.ask(place, |tree, place| tree.frames_in(place, 0..place.frames, |frame| frame.method))
    }

    /// The caller of a call.
    ///
    /// # Errors
    /// As those of [`call`](Self::call).
    pub fn parent(&mut self, node: &Node) -> Result<Option<Node>> {
        if let Some(shapes) = &self.shapes {
            return Ok(shapes.parent(node));
        }
        self.ask(node.place, |tree, place| {
            let Some(depth) = place.frames.checked_sub(1) else { return Ok(None) };
            tree.frame_in(place, depth)
        })
    }

    /// How many calls a call made, directly and indirectly, and where it was left.
    ///
    /// # Errors
    /// As those of [`call`](Self::call).
    pub fn subtree(&mut self, node: &Node) -> Result<Subtree> {
        if let Some(shapes) = &self.shapes {
            return Ok(shapes.subtree(node));
        }
        self.ask(node.place, |tree, place| {
            let left = tree.left(place)?;
            let end = left.unwrap_or(tree.end());
            Ok(Subtree { calls: end.enters.saturating_sub(place.enters), left })
        })
    }

    /// The calls that a call made directly, in order: at most `max` of them, after the first `skip`. Without
    /// a call, the outermost calls.
    ///
    /// # Errors
    /// As those of [`call`](Self::call).
    pub fn children(&mut self, of: Option<&Node>, skip: u64, max: usize) -> Result<Vec<Node>> {
        if let Some(shapes) = &self.shapes {
            return Ok(shapes.children(of, skip, max));
        }
        let Some(node) = of else {
            return self
                .ask(Place::default(), |tree, _| tree.calls_at(0, Place::default(), skip, max));
        };
        // Its own entry comes first, one level above.
        self.ask(node.place, |tree, place| {
            tree.calls_at(place.frames.saturating_add(1), place, skip, max)
        })
    }

    /// The next call made by the same caller.
    ///
    /// # Errors
    /// As those of [`call`](Self::call).
    pub fn next_sibling(&mut self, node: &Node) -> Result<Option<Node>> {
        Ok(self.siblings_after(node, 0, 1)?.first().copied())
    }

    /// The next calls made by the same caller, in order: at most `max` of them, after the first `skip`.
    ///
    /// # Errors
    /// As those of [`call`](Self::call).
    pub fn siblings_after(&mut self, node: &Node, skip: u64, max: usize) -> Result<Vec<Node>> {
        if let Some(shapes) = &self.shapes {
            return Ok(shapes.siblings_after(node, skip, max));
        }
        self.ask(node.place, |tree, place| match tree.left(place)? {
            Some(left) => tree.calls_at(place.frames, left, skip, max),
            None => Ok(Vec::new()),
        })
    }

    /// Searches from a place. If the index turns out to be wrong, searches again with a new
    /// index. After that some places may still have the counts of the wrong index; only their offsets are
    /// used.
    pub(super) fn ask<T>(
        &mut self,
        place: Place,
        question: impl Fn(&Self, Place) -> Found<T>,
    ) -> Result<T> {
        let found_out = Origin::Rebuilt("it does not agree with the events");
        let ask_there = |tree: &Self| {
            let there = tree.record_at(place.offset)?.unwrap_or(tree.end());
            question(tree, there)
        };
        let mut answer =
            if self.origin == found_out { ask_there(self) } else { question(self, place) };
        if let Err(Fault::Index) = answer {
            self.index = Index::build(&self.file, &self.content, &BytesRead::default())?;
            self.origin = found_out;
            answer = ask_there(self);
        }
        answer.map_err(|fault| match fault {
            Fault::Read(error) => error,
            Fault::Index => Error::Changed { path: self.file.path() },
        })
    }

    /// Where the first record at or after `offset` begins.
    fn record_at(&self, offset: Offset) -> Found<Option<Place>> {
        let is_it = |place: Place, _| (place.offset >= offset).then_some(place);
        self.find(self.index.interval_at(|place| place.offset.get(), offset.get()), is_it)
    }

    /// The first answer of `each` from the start of an interval on.
    fn find<T>(
        &self,
        interval: usize,
        each: impl Fn(Place, Record) -> Option<T>,
    ) -> Found<Option<T>> {
        for interval in interval..self.index.intervals().len() {
            let found =
                self.each_in(interval, None, |place, record| match each(place, record) {
                    Some(answer) => ControlFlow::Break(answer),
                    None => ControlFlow::Continue(()),
                })?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Of the frames open at a place, the one at a depth.
    pub(super) fn frame_in(&self, place: Place, depth: u64) -> Found<Option<Node>> {
        let depths = depth..depth.saturating_add(1).min(place.frames);
        Ok(self.frames_in(place, depths, |frame| frame)?.first().copied())
    }

    /// Of the frames open at a place, those at some depths, converted by `keep`.
    fn frames_in<T>(
        &self,
        place: Place,
        depths: Range<u64>,
        keep: impl Fn(Node) -> T,
    ) -> Found<Vec<T>> {
        // Innermost first.
        let mut frames = Vec::new();
        // Frames below this depth are still needed.
        let Range { start: lowest, end: mut wanted } = depths;
        let last = self.interval_of(place);
        for interval in (0..=last).rev() {
            let Some(entry) = self.index.intervals().get(interval) else { break };
            if wanted <= lowest {
                break;
            }
            if interval < last && entry.fewest_frames() >= wanted {
                continue;
            }
            let until = if interval == last { Some(place) } else { None };
            let (mut open, fewest) = self.open_in(interval, until)?;
            while let Some(frame) = open.pop() {
                if (lowest..wanted).contains(&frame.place.frames) {
                    frames.push(keep(frame));
                }
            }
            wanted = wanted.min(fewest);
        }
        frames.reverse();
        Ok(frames)
    }

    /// The calls that are entered in an interval and are open at its end, or at a place in it; and the fewest
    /// frames that are open until then.
    fn open_in(&self, interval: usize, until: Option<Place>) -> Found<(Vec<Node>, u64)> {
        let mut open: Vec<Node> = Vec::new();
        let start = self.index.intervals().get(interval).map_or(0, |entry| entry.start.frames);
        let mut fewest = start;
        self.each_in(interval, None, |place, record| {
            if until.is_some_and(|until| place.offset >= until.offset) {
                return ControlFlow::Break(());
            }
            match record {
                Record::Enter(method) => open.push(Node { place, method }),
                Record::Exit(count) => {
                    let left = place.frames.saturating_sub(count.get());
                    fewest = fewest.min(left);
                    while open.last().is_some_and(|frame| frame.place.frames >= left) {
                        open.pop();
                    }
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok((open, fewest))
    }

    /// Where the record begins that leaves the call entered at a place.
    fn left(&self, entered: Place) -> Found<Option<Place>> {
        let depth = entered.frames;
        let first = self.interval_of(entered);
        for interval in first..self.index.intervals().len() {
            if self.is_above(interval, first, depth.saturating_add(1)) {
                continue;
            }
            let start = (interval == first).then_some(entered);
            let left = self.each_in(interval, start, |place, record| match record {
                Record::Exit(count) if place.frames.saturating_sub(count.get()) <= depth => {
                    ControlFlow::Break(place)
                }
                _ => ControlFlow::Continue(()),
            })?;
            if left.is_some() {
                return Ok(left);
            }
        }
        Ok(None)
    }

    /// Calls entered where `level` frames are open, after a place, up to where fewer are open.
    fn calls_at(&self, level: u64, place: Place, skip: u64, max: usize) -> Found<Vec<Node>> {
        let mut calls = Vec::new();
        let mut skipped = 0;
        let first = self.interval_of(place);
        for interval in first..self.index.intervals().len() {
            if calls.len() == max {
                break;
            }
            if self.is_above(interval, first, level.saturating_add(1)) {
                continue;
            }
            let start = (interval == first).then_some(place);
            let end = self.each_in(interval, start, |place, record| {
                match record {
                    Record::Enter(method) if place.frames == level => {
                        if skipped < skip {
                            skipped += 1;
                        } else {
                            calls.push(Node { place, method });
                        }
                        if calls.len() == max {
                            return ControlFlow::Break(());
                        }
                    }
                    Record::Enter(_) => {}
                    Record::Exit(count) => {
                        if place.frames.saturating_sub(count.get()) < level {
                            return ControlFlow::Break(());
                        }
                    }
                }
                ControlFlow::Continue(())
            })?;
            if end.is_some() {
                break;
            }
        }
        Ok(calls)
    }

    /// Returns whether at least `frames` frames are open in all of an interval that is not the first one of a
    /// search.
    fn is_above(&self, interval: usize, first: usize, frames: u64) -> bool {
        let entry = self.index.intervals().get(interval);
        interval > first && entry.is_some_and(|entry| entry.fewest_frames() >= frames)
    }

    fn interval_of(&self, place: Place) -> usize {
        self.index.interval_at(|start| start.offset.get(), place.offset.get())
    }

    /// Passes the records of an interval, or those from a place in it on, to `each` until that returns an
    /// answer. If it returns none, the index is compared with the records.
    pub(super) fn each_in<T>(
        &self,
        interval: usize,
        from: Option<Place>,
        mut each: impl FnMut(Place, Record) -> ControlFlow<T>,
    ) -> Found<Option<T>> {
        let Some(entry) = self.index.intervals().get(interval) else { return Ok(None) };
        let end = self.index.end_of(interval);
        let mut place = from.unwrap_or(entry.start);
        let mut fewest = place.frames;
        let expected = end.offset.get().saturating_sub(place.offset.get());
        let mut records = self.content.some_records_at(place.offset, expected);
        while records.position() < end.offset {
            let (offset, record) = match records.next_record() {
                Ok(Some(next)) => next,
                Ok(None) => break,
                Err(error @ Error::Io { .. }) => {
                    return Err(Fault::Read(error.in_file(&self.file.path())));
                }
                // Damage.
                Err(_) => continue,
            };
            place.offset = offset;
            if let ControlFlow::Break(answer) = each(place, record) {
                return Ok(Some(answer));
            }
            match record {
                // A wrong index may begin with the largest numbers.
                Record::Enter(_) => {
                    place.enters = place.enters.saturating_add(1);
                    place.frames = place.frames.saturating_add(1);
                }
                Record::Exit(count) => {
                    place.exits = place.exits.saturating_add(count.get());
                    place.frames = place.frames.saturating_sub(count.get());
                    fewest = fewest.min(place.frames);
                }
            }
        }
        place.offset = records.position();
        let agrees = place == end && (from.is_some() || fewest == entry.fewest_frames());
        if agrees { Ok(None) } else { Err(Fault::Index) }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;
    use std::num::NonZeroU64;

    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;
    use crate::tree::{Direction, SearchStep};
    use flow_codec::ThreadId;
    use flow_codec::format::flow::{Encoded, Record};
    use flow_codec::format::names::EventFormat;
    use flow_codec::read::{FlowReader, ReadRecords};
    use flow_codec::{Depth, MethodId};

    /// A thread file on disk, read through short intervals.
    pub(in crate::tree) struct Thread {
        _dir: TempDir,
        pub(in crate::tree) file: ThreadFile,
    }

    impl Thread {
        pub(in crate::tree) fn new(bytes: &[u8]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("thread-1.flow");
            fs::write(&path, bytes).unwrap();
            let (id, len) = (ThreadId::new(1), bytes.len() as u64);
            let file = ThreadFile::new(id, EventFormat::Binary, dir.path(), len);
            Self { _dir: dir, file }
        }

        pub(in crate::tree) fn tree(&self, interval_bytes: usize) -> LazyTree {
            self.tree_until(u64::MAX, interval_bytes)
        }

        fn tree_until(&self, until: u64, interval_bytes: usize) -> LazyTree {
            let content = Content::open(&self.file).unwrap();
            let mut index = Index::with_intervals_of(interval_bytes);
            index.extend(&content, Offset::new(until), &BytesRead::default()).unwrap();
            LazyTree::new(&self.file, content, index, Origin::Built)
        }

        pub(in crate::tree) fn tree_of_shapes(&self) -> LazyTree {
            let content = Content::open(&self.file).unwrap();
            let built = Dag::build(&self.file, &content, &BytesRead::default()).unwrap();
            assert_eq!(built.not_stored(&self.file, &content), None);
            LazyTree::of_shapes(&self.file, content, built.dag.unwrap())
        }
    }

    fn record() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            8 => (0x80_u8..0x90).prop_map(|enter| vec![enter]),
            2 => Just(vec![0xC5, 0x03]),
            6 => (0_u8..3).prop_map(|exits| vec![exits]),
            1 => Just(vec![0x45, 0x01]),
        ]
    }

    pub(in crate::tree) fn events() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(record(), 0..120).prop_map(|records| records.concat())
    }

    /// The same events as flow writes them: exits in a row are one record.
    pub(in crate::tree) fn canonical(bytes: &[u8]) -> Vec<u8> {
        let (mut canonical, mut exits) = (Vec::new(), 0);
        let mut reader = FlowReader::new(bytes);
        let leave = |exits: u64, canonical: &mut Vec<u8>| {
            let exits = NonZeroU64::new(exits);
            exits.iter().for_each(|exits| canonical.extend(Encoded::exits(*exits).as_bytes()));
        };
        while let Some((_, record)) = reader.next_record().unwrap() {
            match record {
                Record::Exit(count) => exits += count.get(),
                Record::Enter(method) => {
                    leave(std::mem::take(&mut exits), &mut canonical);
                    canonical.extend(Encoded::enter(method).as_bytes());
                }
            }
        }
        leave(exits, &mut canonical);
        canonical
    }

    /// Where each call is entered, by the call's number.
    fn offsets(nodes: &[Node]) -> Vec<u64> {
        nodes.iter().map(|node| node.place.offset.get()).collect()
    }

    /// A call of a thread that is read whole.
    #[derive(Clone, Copy)]
    struct Call {
        method: MethodId,
        offset: Offset,
        depth: usize,
        /// Calls in it, including itself.
        calls: u64,
        parent: Option<usize>,
    }

    fn calls(bytes: &[u8]) -> Vec<Call> {
        let (mut calls, mut open) = (Vec::<Call>::new(), Vec::<usize>::new());
        let mut reader = FlowReader::new(bytes);
        while let Some((offset, record)) = reader.next_record().unwrap() {
            match record {
                Record::Enter(method) => {
                    open.iter().for_each(|caller| calls[*caller].calls += 1);
                    let (depth, parent) = (open.len(), open.last().copied());
                    open.push(calls.len());
                    calls.push(Call { method, offset, depth, calls: 1, parent });
                }
                Record::Exit(count) => {
                    let count = usize::try_from(count.get()).unwrap();
                    open.truncate(open.len().saturating_sub(count));
                }
            }
        }
        calls
    }

    proptest! {
        #[test]
        fn a_tree_until_an_offset_is_the_beginning_of_the_whole(
            bytes in events(),
            until in 0_u64..160,
            interval in 1_usize..40,
        ) {
            let thread = Thread::new(&bytes);
            let mut whole = thread.tree(interval);
            let mut some = thread.tree_until(until, interval);
            let end = some.end();
            prop_assert!(end.offset.get() <= until && end.offset <= whole.end().offset);
            // At most a record is left out before `until`.
            prop_assert!(end.offset == whole.end().offset || end.offset.get() + 2 > until);
            for interval in some.index.intervals().to_vec() {
                let open = some.open_methods(interval.start).unwrap();
                prop_assert_eq!(open, whole.open_methods(interval.start).unwrap());
            }
            prop_assert_eq!(some.open_methods(end).unwrap(), whole.open_methods(end).unwrap());
        }

        #[test]
        fn results_are_those_of_the_whole_tree(bytes in events(), interval in 1_usize..40) {
            let whole = calls(&bytes);
            let made_from = |parent: Option<usize>| -> Vec<u64> {
                let calls = whole.iter().filter(|call| call.parent == parent);
                calls.map(|call| call.offset.get()).collect()
            };
            let thread = Thread::new(&bytes);
            let mut tree = thread.tree(interval);
            prop_assert_eq!(tree.end().enters, whole.len() as u64);
            prop_assert_eq!(offsets(&tree.children(None, 0, usize::MAX).unwrap()), made_from(None));
            for (number, expected) in whole.iter().enumerate() {
                let node = tree.call(number as u64).unwrap().unwrap();
                prop_assert_eq!((node.place.offset, node.method, node.depth()),
                    (expected.offset, expected.method, Depth::new(expected.depth as u64)));
                prop_assert_eq!(tree.offset(expected.offset).unwrap(), Some(node.place));
                prop_assert_eq!(tree.event(node.place.events()).unwrap(), Some(node.place));
                prop_assert_eq!(tree.subtree(&node).unwrap().calls, expected.calls);
                let parent = tree.parent(&node).unwrap();
                let offset = |node: Node| node.place.offset.get();
                let caller = expected.parent.map(|parent| whole[parent].offset.get());
                prop_assert_eq!(parent.map(offset), caller);
                let sibling = tree.next_sibling(&node).unwrap();
                let siblings = made_from(expected.parent);
                let next = siblings.into_iter().find(|at| *at > expected.offset.get());
                prop_assert_eq!(sibling.map(offset), next);
                let before = tree.previous_sibling(&node).unwrap().map(offset);
                let siblings = made_from(expected.parent);
                let last = siblings.into_iter().rfind(|at| *at < expected.offset.get());
                prop_assert_eq!(before, last);
                let last = tree.last_child(Some(&node)).unwrap().map(offset);
                prop_assert_eq!(last, made_from(Some(number)).pop());
                for frame in tree.frames(node.place).unwrap() {
                    let found = tree.frame_at(node.place, frame.depth()).unwrap();
                    prop_assert_eq!(found, Some(frame));
                }
                prop_assert_eq!(tree.frame_at(node.place, node.depth()).unwrap(), None);
                let children = made_from(Some(number));
                let found = tree.children(Some(&node), 0, usize::MAX).unwrap();
                prop_assert_eq!(offsets(&found), children.clone());
                let some = tree.children(Some(&node), 1, 2).unwrap();
                let expected: Vec<_> = children.into_iter().skip(1).take(2).collect();
                prop_assert_eq!(offsets(&some), expected);
            }
            let last = tree.last_child(None).unwrap().map(|last| last.place.offset.get());
            prop_assert_eq!(last, made_from(None).pop());
            prop_assert_eq!(tree.call(whole.len() as u64).unwrap(), None);
            prop_assert_eq!(tree.origin(), Origin::Built, "the index agrees throughout");
        }

        #[test]
        fn a_search_finds_the_next_and_the_last_call(
            bytes in events(),
            interval in 1_usize..40,
            most in 1_usize..4,
        ) {
            let whole = calls(&bytes);
            let thread = Thread::new(&bytes);
            let mut tree = thread.tree(interval);
            let is_wanted = |method: MethodId| method.get() % 5 == 1;
            let numbers = (0_u64..).zip(&whole).filter(|(_, call)| is_wanted(call.method));
            let numbers: Vec<u64> = numbers.map(|(number, _)| number).collect();
            let mut search = |mut number: u64, direction| loop {
                match tree.search(number, direction, is_wanted, most).unwrap() {
                    SearchStep::Found(node) => break Some(node.place.enters),
                    SearchStep::Reached(next) => {
                        assert!(direction == Direction::Forwards || next < number);
                        number = next;
                    }
                    SearchStep::End => break None,
                }
            };
            for number in 0..=whole.len() as u64 {
                let after = numbers.iter().copied().find(|found| *found >= number);
                prop_assert_eq!(search(number, Direction::Forwards), after);
                let before = numbers.iter().copied().rfind(|found| *found < number);
                prop_assert_eq!(search(number, Direction::Backwards), before);
            }
        }

        #[test]
        fn shapes_give_the_results_of_an_index(bytes in events(), interval in 1_usize..40) {
            let bytes = canonical(&bytes);
            let thread = Thread::new(&bytes);
            let (mut indexed, mut shaped) = (thread.tree(interval), thread.tree_of_shapes());
            prop_assert_eq!(shaped.end(), indexed.end());
            let places: Vec<_> = (0..=bytes.len() as u64 + 1)
                .map(|offset| (shaped.offset(Offset::new(offset)).unwrap(), offset))
                .collect();
            for (place, offset) in places {
                prop_assert_eq!(place, indexed.offset(Offset::new(offset)).unwrap(), "{}", offset);
                let place = place.unwrap_or(indexed.end());
                prop_assert_eq!(shaped.frames(place).unwrap(), indexed.frames(place).unwrap());
                let methods = shaped.open_methods(place).unwrap();
                prop_assert_eq!(methods, indexed.open_methods(place).unwrap());
            }
            for number in 0..=indexed.end().events() {
                let event = shaped.event(number).unwrap();
                prop_assert_eq!(event, indexed.event(number).unwrap(), "event {}", number);
            }
            let some = [(0, usize::MAX), (1, 2)];
            for (skip, max) in some {
                let roots = shaped.children(None, skip, max).unwrap();
                prop_assert_eq!(roots, indexed.children(None, skip, max).unwrap());
            }
            for number in 0..=indexed.end().enters {
                let node = shaped.call(number).unwrap();
                prop_assert_eq!(node, indexed.call(number).unwrap(), "call {}", number);
                let Some(node) = node else { continue };
                prop_assert_eq!(shaped.parent(&node).unwrap(), indexed.parent(&node).unwrap());
                prop_assert_eq!(shaped.subtree(&node).unwrap(), indexed.subtree(&node).unwrap());
                for (skip, max) in some {
                    let children = shaped.children(Some(&node), skip, max).unwrap();
                    prop_assert_eq!(children, indexed.children(Some(&node), skip, max).unwrap());
                    let siblings = shaped.siblings_after(&node, skip, max).unwrap();
                    prop_assert_eq!(siblings, indexed.siblings_after(&node, skip, max).unwrap());
                }
                let before = shaped.previous_sibling(&node).unwrap();
                prop_assert_eq!(before, indexed.previous_sibling(&node).unwrap());
                let last = shaped.last_child(Some(&node)).unwrap();
                prop_assert_eq!(last, indexed.last_child(Some(&node)).unwrap());
                for depth in (0..=node.place.frames).map(Depth::new) {
                    let frame = shaped.frame_at(node.place, depth).unwrap();
                    prop_assert_eq!(frame, indexed.frame_at(node.place, depth).unwrap());
                }
                // A run has the calls that follow its first one.
                let run = shaped.equal_calls(&node).unwrap();
                let number = run.number_of(&node).unwrap();
                let after = number.checked_sub(1).map(|skip| {
                    shaped.siblings_after(&run.first, skip, 1).unwrap()
                });
                prop_assert_eq!(after.unwrap_or(vec![run.first]), vec![node]);
                prop_assert_eq!(run.calls, shaped.subtree(&node).unwrap().calls);
            }
        }

        #[test]
        fn the_index_of_other_events_is_detected(
            bytes in events(),
            others in events(),
            interval in 1_usize..40,
        ) {
            let thread = Thread::new(&bytes);
            let mut right = thread.tree(interval);
            let mut wrong = Thread::new(&others).tree(interval);
            wrong.content = right.content.clone();
            wrong.file = thread.file.clone();
            for number in 0..right.end().enters {
                let node = right.call(number).unwrap();
                let found = wrong.call(number).unwrap();
                // An index that is wrong in an interval that no question reads cannot be found to be wrong.
                if wrong.origin() != Origin::Built {
                    prop_assert_eq!(found, node);
                }
            }
        }
    }

    #[test]
    fn calls_after_damage_are_numbered_and_found() {
        let mut bytes = vec![0x81, 0x82];
        bytes.extend([0xFF; 100]);
        bytes.extend([0x00, 0x83, 0x84]);
        for interval in [1, 7, 1000] {
            let mut tree = Thread::new(&bytes).tree(interval);
            assert_eq!(tree.call(3).unwrap().unwrap().method.get(), 4);
            assert_eq!(tree.call(2).unwrap().unwrap().place.offset.get(), 103);
            assert_eq!((tree.end().enters, tree.origin()), (4, Origin::Built));
        }
    }

    #[test]
    fn damage_longer_than_any_buffer_is_skipped() {
        let mut bytes = vec![0x81];
        bytes.extend(std::iter::repeat_n(0xFF, 1_000_000));
        bytes.extend([0x3F, 0x82]);
        let mut tree = Thread::new(&bytes).tree(flow_codec::index::INTERVAL_BYTES);
        assert_eq!(tree.call(1).unwrap().unwrap().place.offset.get(), 1_000_002);
    }
}
