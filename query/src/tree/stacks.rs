//! The stacks of many calls of a thread, found in one pass.

use std::num::NonZeroU64;

use flow_codec::format::marks::Position;
use flow_codec::parallel::BytesRead;
use flow_codec::read::{Events, ReadRecords, ThreadFile, Visit};
use flow_codec::{Error, MethodId, Offset, Result};

/// Returns the stacks of the calls with these numbers, which must be in order. It reads the thread once,
/// where [`LazyTree`] would read it many times: the methods of the frames below each, the outermost first. For a thread that is read in
/// ranges, they are those entered in the same range. Numbers beyond the thread's last call are left out. `progress` counts the bytes read. Memory: the open frames, and the result.
///
/// # Errors
/// The events cannot be read. Damage is not an error: it is skipped.
///
/// [`LazyTree`]: super::LazyTree
pub(crate) fn call_stacks(
    file: &ThreadFile,
    numbers: &[u64],
    progress: &BytesRead,
) -> Result<Vec<Vec<MethodId>>> {
    let all = Position::before(Offset::default())..Position::before(Offset::new(u64::MAX));
    let ranges = file.parts().map_or(std::slice::from_ref(&all), |parts| parts.ranges());
    let whole = file.whole();
    let mut events = whole.events()?;
    let mut search = Search::new(numbers);
    for range in ranges {
        if !read_until(&mut events, range.start.offset, &mut search, progress)? {
            break;
        }
        search.open.clear();
        if !read_until(&mut events, range.end.offset, &mut search, progress)? {
            break;
        }
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
    /// The numbers of the calls still to be found.
    wanted: &'a [u64],
    /// The first of them; without one a number that no call has.
    next: u64,
    /// Calls of the thread so far.
    calls: u64,
    /// The frames entered since the range began.
    open: Vec<MethodId>,
    found: Vec<Vec<MethodId>>,
}

impl<'a> Search<'a> {
    fn new(wanted: &'a [u64]) -> Self {
        let next = wanted.first().copied().unwrap_or(u64::MAX);
        Self { wanted, next, calls: 0, open: Vec::new(), found: Vec::new() }
    }

    #[cold]
    fn keep(&mut self) {
        self.found.push(self.open.clone());
        self.wanted = self.wanted.get(1..).unwrap_or_default();
        self.next = self.wanted.first().copied().unwrap_or(u64::MAX);
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
            let (mut numbers, mut expected) = (Vec::new(), Vec::new());
            let end = tree.end().enters;
            for number in 0..end {
                let found = match file.parts() {
                    Some(parts) => tree.call_in(parts, number).unwrap(),
                    None => tree.call(number).unwrap().map(|node| (node, tree.frames(node.place).unwrap())),
                };
                let Some((node, frames)) = found else { continue };
                prop_assert_eq!(node.place.enters, number);
                numbers.push(number);
                expected.push(frames.iter().map(|frame| frame.method).collect::<Vec<_>>());
            }
            numbers.extend([end, end + 1]);
            let numbers: Vec<_> = numbers.into_iter().step_by(step).collect();
            let expected: Vec<_> = expected.into_iter().step_by(step).collect();
            prop_assert_eq!(call_stacks(&file, &numbers, &BytesRead::default()).unwrap(), expected);
        }
    }
}
