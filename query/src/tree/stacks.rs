//! The stacks of many calls of a thread, found in one pass.

use std::num::NonZeroU64;

use flow_codec::format::marks::Position;
use flow_codec::parallel::BytesRead;
use flow_codec::read::{Events, ReadRecords, ThreadFile, Visit};
use flow_codec::{Error, MethodId, Offset, Result};

/// A call with its callers.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub(crate) struct CallStack {
    /// Its number in the whole thread.
    pub call: u64,
    /// The methods of the frames below it, the outermost first.
    pub frames: Vec<MethodId>,
}

/// Returns the stacks of the calls with these numbers, which must be in order. It reads the thread once,
/// where [`LazyTree`] would read it many times. For a thread that is read in ranges, the numbers count the
/// calls of these ranges, and the frames are those entered in the same range. Numbers beyond the thread's
/// last call are left out. `progress` counts the bytes read. Memory: the open frames, and the result.
///
/// # Errors
/// The events cannot be read. Damage is not an error: it is skipped.
///
/// [`LazyTree`]: super::LazyTree
pub(crate) fn call_stacks(
    file: &ThreadFile,
    numbers: &[u64],
    progress: &BytesRead,
) -> Result<Vec<CallStack>> {
    let all = Position::before(Offset::default())..Position::before(Offset::new(u64::MAX));
    let ranges = file.parts().map_or(std::slice::from_ref(&all), |parts| parts.ranges());
    let whole = file.whole();
    let mut events = whole.events()?;
    let mut search = Search::new(numbers);
    for range in ranges {
        if !read_until(&mut events, range.start.offset, &mut search, progress)? {
            break;
        }
        search.begin_part();
        if !read_until(&mut events, range.end.offset, &mut search, progress)? {
            break;
        }
        search.end_part();
    }
    Ok(search.found)
}

/// Passes on the records before an offset. Returns whether more calls may be found.
fn read_until(
    events: &mut Events,
    end: Offset,
    search: &mut Search<'_>,
    progress: &BytesRead,
) -> Result<bool> {
    while events.position() < end && !search.wanted.is_empty() {
        let before = events.position().get();
        match events.visit_until(end, search) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error @ Error::Io { .. }) => return Err(error),
            Err(_) => {}
        }
        progress.add(events.position().get().saturating_sub(before));
    }
    Ok(!search.wanted.is_empty())
}

struct Search<'a> {
    /// The calls still to be found, by their numbers among the calls of the ranges.
    wanted: &'a [u64],
    /// The first of them by its number in the thread; outside of ranges a number that no call has.
    next: u64,
    /// Calls of the thread so far.
    calls: u64,
    /// Calls of the ranges that have ended.
    inside: u64,
    /// Calls outside of ranges so far.
    outside: u64,
    /// The frames entered since the range began.
    open: Vec<MethodId>,
    found: Vec<CallStack>,
}

impl<'a> Search<'a> {
    fn new(wanted: &'a [u64]) -> Self {
        let (open, found) = (Vec::new(), Vec::new());
        Self { wanted, next: u64::MAX, calls: 0, inside: 0, outside: 0, open, found }
    }

    fn begin_part(&mut self) {
        self.outside = self.calls - self.inside;
        self.open.clear();
        self.find_next();
    }

    fn end_part(&mut self) {
        self.inside = self.calls - self.outside;
        self.next = u64::MAX;
    }

    fn find_next(&mut self) {
        let next = self.wanted.first().map(|number| number.saturating_add(self.outside));
        self.next = next.unwrap_or(u64::MAX);
    }

    #[cold]
    fn keep(&mut self) {
        self.found.push(CallStack { call: self.calls, frames: self.open.clone() });
        self.wanted = self.wanted.get(1..).unwrap_or_default();
        self.find_next();
    }
}

impl Visit for Search<'_> {
    #[inline]
    fn enter(&mut self, method: MethodId) {
        if self.calls == self.next {
            self.keep();
        }
        self.calls += 1;
        self.open.push(method);
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64) {
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        self.open.truncate(self.open.len().saturating_sub(count));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;
    use crate::tree::LazyTree;
    use flow_codec::ThreadId;
    use flow_codec::format::names::EventFormat;

    proptest! {
        /// Compares with the tree, which searches for one call after the other, for any records, damage and
        /// ranges.
        #[test]
        fn stacks_are_those_that_the_tree_finds(
            bytes in prop::collection::vec(
                prop_oneof![5 => 0x80_u8..0x84, 4 => 0_u8..4, 1 => any::<u8>()], 0..60),
            cuts in prop::collection::btree_set((0_u64..60, 0_u64..2), 0..7),
            is_in_parts in any::<bool>(),
            step in 1_usize..4,
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("thread-1.flow");
            fs::write(&path, &bytes).unwrap();
            let (id, len) = (ThreadId::new(1), bytes.len() as u64);
            let whole = ThreadFile::new(id, EventFormat::Binary, dir.path(), len);
            let cuts: Vec<_> = cuts.into_iter()
                .map(|(offset, exits)| Position { offset: Offset::new(offset), exits }).collect();
            let ranges: Vec<_> = cuts.chunks_exact(2).map(|pair| pair[0]..pair[1]).collect();
            let file = if is_in_parts { whole.only("x", &ranges) } else { whole };
            let mut tree = LazyTree::open(&file, &BytesRead::default()).unwrap();
            let mut expected = Vec::new();
            for number in 0.. {
                let found = match file.parts() {
                    Some(parts) => tree.call_in(parts, number).unwrap(),
                    None => tree.call(number).unwrap().map(|node| (node, tree.frames(node.place).unwrap())),
                };
                let Some((node, frames)) = found else { break };
                let frames = frames.iter().map(|frame| frame.method).collect();
                expected.push(CallStack { call: node.place.enters, frames });
            }
            let numbers: Vec<_> = (0..expected.len() as u64 + 2).step_by(step).collect();
            let expected: Vec<_> = expected.into_iter().step_by(step).collect();
            prop_assert_eq!(call_stacks(&file, &numbers, &BytesRead::default()).unwrap(), expected);
        }
    }
}
