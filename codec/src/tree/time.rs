//! Places in a thread by the time.

use super::LazyTree;
use crate::Result;
use crate::index::Place;

impl LazyTree {
    /// Where the last time mark stands that was not later than an instant, in nanoseconds since the start of the
    /// trace: what happened then is behind it, and before the next one. `None` where all of the thread was
    /// before, as far as its marks tell, or it has none.
    ///
    /// # Errors
    /// As those of [`call`](Self::call), or the marks cannot be read.
    pub fn time(&mut self, at_ns: u64) -> Result<Option<Place>> {
        match self.file().offset_at(at_ns)? {
            Some(offset) => self.offset(offset),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::Offset;
    use crate::format::marks::{HEADER, Mark, MarkEncoder, Position};
    use crate::read::Trace;

    #[test]
    fn a_time_is_found_behind_the_last_mark_before_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("ids.properties"), "a.B#m()V=0\n").unwrap();
        let (mut encoder, mut marks) = (MarkEncoder::default(), HEADER.to_vec());
        for (offset, mark) in [
            (2, Mark::Time { by_ns: 100, from_ns: 200 }),
            (3, Mark::Note("of no time".to_owned())),
            (4, Mark::Instant { at_ns: 300 }),
            (6, Mark::Time { by_ns: 400, from_ns: 400 }),
        ] {
            encoder.encode(Position::before(Offset::new(offset)), &mark, &mut marks);
        }
        fs::write(dir.path().join("thread-1.flow"), [0x80; 8]).unwrap();
        let open = |dir| {
            let trace = Trace::open(dir).unwrap();
            LazyTree::open(&trace.files[0], &AtomicU64::new(0)).unwrap()
        };
        assert_eq!(open(dir.path()).time(0).unwrap(), None, "without marks");
        fs::write(dir.path().join("thread-1.marks"), marks).unwrap();
        let mut tree = open(dir.path());
        let mut find = |at_ns| tree.time(at_ns).unwrap().map(|place| place.offset.get());
        for (at_ns, offset) in [(0, 0), (99, 0), (100, 2), (199, 2), (299, 2), (300, 4), (399, 4)] {
            assert_eq!(find(at_ns), Some(offset), "{at_ns}");
        }
        assert_eq!(find(400), None);
        // That is known without the events.
        let file = Trace::open(dir.path()).unwrap().files.remove(0);
        fs::remove_file(&file.path).unwrap();
        assert_eq!(file.offset_at(300).unwrap(), Some(Offset::new(4)));
        assert_eq!(file.offset_at(400).unwrap(), None);
    }
}
