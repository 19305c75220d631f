//! Places in a thread by the time.

use crate::format::marks::Mark;
use crate::read::ThreadFile;
use crate::{Error, Offset, Result};

impl ThreadFile {
    /// Where the last time mark stands that was not later than an instant, in nanoseconds since the start of the
    /// trace. `None` where all of the thread was before, as far as its marks tell, or it has none. Reads marks,
    /// and no events.
    ///
    /// # Errors
    /// The marks cannot be read.
    pub fn offset_at(&self, at_ns: u64) -> Result<Option<Offset>> {
        let Some(mut marks) = self.marks()? else { return Ok(None) };
        let mut last = Offset::default();
        loop {
            let (position, by_ns, from_ns) = match marks.next_mark() {
                Ok(Some((position, Mark::Time { by_ns, from_ns }))) => (position, by_ns, from_ns),
                Ok(Some((position, Mark::Instant { at_ns }))) => (position, at_ns, at_ns),
                Ok(Some(_)) => continue,
                Ok(None) => return Ok(None),
                Err(error @ Error::Io { .. }) => return Err(error),
                // What follows from the journal, if anything, is in order.
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
