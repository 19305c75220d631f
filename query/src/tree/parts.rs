//! Calls of ranges of a thread, found in the whole thread.

use std::ops::Range;

use super::{LazyTree, Node};
use flow_codec::format::marks::Position;
use flow_codec::read::Parts;
use flow_codec::{Offset, Result};

impl LazyTree {
    /// Returns the call with this number, and the frames below it that were entered in the same one of some ranges, the outermost
    /// first; `None` if there is no such call in them.
    ///
    /// # Errors
    /// As those of [`call`](Self::call).
    pub fn call_in(&mut self, parts: &Parts, number: u64) -> Result<Option<(Node, Vec<Node>)>> {
        let Some(node) = self.call(number)? else { return Ok(None) };
        let at = node.place.offset;
        let has = |range: &&Range<Position>| (range.start.offset..range.end.offset).contains(&at);
        let Some(range) = parts.ranges().iter().find(has) else { return Ok(None) };
        let mut frames = self.frames(node.place)?;
        frames.retain(|frame| frame.place.offset >= range.start.offset);
        Ok(Some((node, frames)))
    }

    /// The numbers of the calls in each range that has calls.
    pub(super) fn numbers_in(&mut self, parts: &Parts) -> Result<Vec<Range<u64>>> {
        let mut numbers = Vec::new();
        for range in parts.ranges().iter() {
            let first = self.enters_before(range.start.offset)?;
            let end = self.enters_before(range.end.offset)?;
            if first < end {
                numbers.push(first..end);
            }
        }
        Ok(numbers)
    }

    /// How many calls begin before an offset.
    ///
    /// # Errors
    /// As those of [`call`](Self::call).
    pub(crate) fn enters_before(&mut self, offset: Offset) -> Result<u64> {
        Ok(self.offset(offset)?.unwrap_or(self.end()).enters)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use flow_codec::parallel::BytesRead;
    use flow_codec::read::Trace;

    #[test]
    fn calls_of_ranges_have_the_frames_of_their_range() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("ids.properties"), "a.B#m()V=0\n").unwrap();
        // 0 > (1 > 2, 3), 4 > 5: parts are 1 > 2 but for its exit, and all from 3 on.
        let bytes = [0x80, 0x81, 0x82, 0x01, 0x83, 0x01, 0x84, 0x85, 0x01];
        fs::write(dir.path().join("thread-1.flow"), bytes).unwrap();
        let trace = Trace::open(dir.path()).unwrap();
        let at = |offset, exits| Position { offset: Offset::new(offset), exits };
        let parts = Parts::new("", &[at(1, 0)..at(3, 1), at(4, 0)..at(u64::MAX, 0)]);
        let mut tree = LazyTree::open(&trace.files()[0], &BytesRead::default()).unwrap();
        let mut found = Vec::new();
        for number in 0..7 {
            let Some((node, frames)) = tree.call_in(&parts, number).unwrap() else { continue };
            let frames: Vec<_> = frames.iter().map(|frame| frame.method.get()).collect();
            assert_eq!(node.method.get(), node.place.enters);
            found.push((node.method.get(), frames));
        }
        assert_eq!(found, [(1, vec![]), (2, vec![1]), (3, vec![]), (4, vec![]), (5, vec![4])]);
    }
}
