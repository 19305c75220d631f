//! Makes an index from the events: one pass, by as many threads as there are cores.

use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::Index;
use crate::Offset;
use crate::format::flow::is_boundary;
use crate::read::Content;
use crate::scan::{Stop, Summary, scan};

/// About how many bytes of events an interval has. Reading one takes some ten microseconds.
pub const INTERVAL_BYTES: usize = 32 * 1024;
/// How many bytes are read at a time: what a core has near.
const BUFFER_BYTES: usize = 8 * INTERVAL_BYTES;
/// Fewer bytes are not worth a thread.
const BYTES_A_THREAD: u64 = 4 << 20;
/// So far a place is looked for where the work can be cut.
const CUT_BYTES: usize = 64 * 1024;

impl Index {
    /// Adds all records behind those it has. `progress` counts the bytes, for others to see.
    ///
    /// # Errors
    /// The events cannot be read; those before are added.
    pub fn extend(&mut self, content: &Content, progress: &AtomicU64) -> io::Result<()> {
        self.forget_short_end();
        let parts = parts(content, self.end().offset.get()..content.len())?;
        let size = self.interval_bytes;
        let outcomes: Vec<_> = thread::scope(|scope| {
            let others: Vec<_> = parts
                .iter()
                .skip(1)
                .map(|part| scope.spawn(|| intervals(content, part.clone(), size, progress)))
                .collect();
            let first = parts.first().map(|part| intervals(content, part.clone(), size, progress));
            let others = others.into_iter().map(|other| {
                other.join().unwrap_or_else(|_| Err(io::Error::other("a thread has failed")))
            });
            first.into_iter().chain(others).collect()
        });
        for outcome in outcomes {
            outcome?.into_iter().for_each(|records| self.push(records));
        }
        Ok(())
    }
}

/// Cuts a range at boundaries, for as many threads as it is worth.
fn parts(content: &Content, range: Range<u64>) -> io::Result<Vec<Range<u64>>> {
    let len = range.end.saturating_sub(range.start);
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get) as u64;
    let count = cores.min(len / BYTES_A_THREAD).max(1);
    let mut parts = Vec::new();
    let mut start = range.start;
    let mut bytes = vec![0; if count > 1 { CUT_BYTES } else { 0 }];
    for part in 1..count {
        let from = Offset::new(range.start + len / count * part);
        let read = content.fill_at(from, &mut bytes)?;
        // Where there is none, as in a recursion without end, one thread does both parts.
        let boundary = bytes.iter().take(read).position(|&byte| is_boundary(byte));
        if let Some(at) = boundary {
            let end = from.plus(at + 1).get();
            parts.push(start..end);
            start = end;
        }
    }
    parts.push(start..range.end);
    Ok(parts)
}

/// The intervals of a range that begins with a record, up to one that is cut off by its end.
fn intervals(
    content: &Content,
    range: Range<u64>,
    size: usize,
    progress: &AtomicU64,
) -> io::Result<Vec<Summary>> {
    let mut intervals = Vec::new();
    let mut interval = Summary::default();
    let mut buffer = vec![0; BUFFER_BYTES];
    // What has been read of the range, and of that what stands in the buffer and is not yet scanned.
    let mut position = range.start;
    let mut unread = 0..0;
    // Whether damage goes on.
    let mut damaged = false;
    loop {
        buffer.copy_within(unread.clone(), 0);
        unread = 0..unread.len();
        let left = usize::try_from(range.end - position).unwrap_or(usize::MAX);
        let end = buffer.len().min(left.saturating_add(unread.end));
        let space = buffer.get_mut(unread.end..end).unwrap_or_default();
        let read = content.fill_at(Offset::new(position), space)?;
        position += read as u64;
        unread.end += read;
        progress.fetch_add(read as u64, Ordering::Relaxed);
        while !unread.is_empty() {
            let bytes = buffer.get(unread.clone()).unwrap_or_default();
            if damaged {
                let boundary = bytes.iter().position(|&byte| is_boundary(byte));
                let skipped = boundary.map_or(bytes.len(), |at| at + 1);
                damaged = boundary.is_none();
                interval.bytes += skipped as u64;
                unread.start += skipped;
            } else {
                let so_far = usize::try_from(interval.bytes).unwrap_or(usize::MAX);
                let scanned = scan(bytes, size.saturating_sub(so_far).max(1), &mut interval);
                unread.start += scanned.len;
                match scanned.stop {
                    Stop::Enough => {}
                    Stop::Incomplete => break,
                    Stop::Damage => damaged = true,
                }
            }
            if interval.bytes >= size as u64 && !damaged {
                intervals.push(std::mem::take(&mut interval));
            }
        }
        if position == range.end || read == 0 {
            intervals.push(interval);
            return Ok(intervals);
        }
    }
}
