//! Positions in a thread by time.

use crate::format::marks::Mark;
use crate::read::ThreadFile;
use crate::{Error, Offset, Result};

impl ThreadFile {
    /// Returns the offset of the last time mark that was not later than an instant, in nanoseconds since the
    /// start of the trace. `None` if all of the thread was before, as far as its marks show, or if it has no
    /// marks. Reads marks, and no events.
    ///
    /// # Errors
    /// The marks cannot be read.
    #[doc(hidden)]
    pub fn offset_at(&self, at_ns: u64) -> Result<Option<Offset>> {
        let Some(mut marks) = self.marks()? else { return Ok(None) };
        let mut last = Offset::default();
        loop {
            let (position, by_ns, from_ns) = match marks.next_mark() {
                Ok(Some((position, Mark::Time { by_ns, from_ns, .. }))) => {
                    (position, by_ns, from_ns)
                }
                Ok(Some((position, Mark::Instant { at_ns }))) => (position, at_ns, at_ns),
                Ok(Some(_)) => continue,
                Ok(None) => return Ok(None),
                Err(error @ Error::Io { .. }) => return Err(error),
                // Marks from the journal, if any follow, are in order.
                Err(_) => continue,
            };
            if by_ns > at_ns {
                return Ok(Some(last));
            }
            last = position.offset;
            if from_ns > at_ns {
                return Ok(Some(last));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::format::marks::{HEADER, MarkEncoder, Position};
    use crate::read::Trace;

    #[test]
    fn a_time_is_found_at_the_last_mark_before_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("ids.properties"), "a.B#m()V=0\n").unwrap();
        let (mut encoder, mut marks) = (MarkEncoder::default(), HEADER.to_vec());
        for (offset, mark) in [
            (2, Mark::Time { by_ns: 100, from_ns: 200, ran_us: None }),
            (3, Mark::Note("of no time".to_owned())),
            (4, Mark::Instant { at_ns: 300 }),
            (6, Mark::Time { by_ns: 400, from_ns: 400, ran_us: None }),
        ] {
            encoder.encode(Position::before(Offset::new(offset)), &mark, &mut marks);
        }
        fs::write(dir.path().join("thread-1.flow"), [0x80; 8]).unwrap();
        let file = Trace::open(dir.path()).unwrap().files.remove(0);
        assert_eq!(file.offset_at(0).unwrap(), None, "without marks");
        fs::write(dir.path().join("thread-1.marks"), marks).unwrap();
        let find = |at_ns| file.offset_at(at_ns).unwrap().map(Offset::get);
        for (at_ns, offset) in [(0, 0), (99, 0), (100, 2), (199, 2), (299, 2), (300, 4), (399, 4)] {
            assert_eq!(find(at_ns), Some(offset), "{at_ns}");
        }
        assert_eq!(find(400), None);
        // That is known without the events.
        fs::remove_file(file.path()).unwrap();
        assert_eq!(find(300), Some(4));
    }
}
