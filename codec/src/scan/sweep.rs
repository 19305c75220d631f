//! Scans all events of a thread in one pass, on as many cores as are worth it.

use std::io;
use std::ops::Range;
use std::thread;

use super::scanner::scan_depths;
use super::{Damage, Scanned, Stop, Summary};
use crate::Offset;
use crate::format::flow::is_boundary;
use crate::parallel::{BytesRead, cores};
use crate::read::{Content, Tail};

/// How many bytes are read at a time, so that they fit in a core's cache.
const BUFFER_BYTES: usize = 256 * 1024;
/// Fewer bytes than this are not worth a thread.
const BYTES_A_THREAD: u64 = 4 << 20;
/// How far to search for a place where the work can be divided.
const CUT_BYTES: usize = 64 * 1024;

/// Which depths of a range a sweep computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depths {
    /// The highest and the lowest.
    Both,
    /// The lowest, but not how high it rises. For short ranges that is 25 % faster.
    Lowest,
}

/// The result of a sweep.
#[derive(Clone, Default, Debug)]
pub struct Swept {
    pub(crate) summaries: Vec<Summary>,
    pub(crate) damage: Damage,
}

impl Swept {
    /// Returns the places that were skipped.
    #[must_use]
    pub fn damage(&self) -> &Damage {
        &self.damage
    }

    /// The summary of all ranges together.
    #[must_use]
    pub fn total(&self) -> Summary {
        self.summaries.iter().fold(Summary::default(), |total, next| total.then(*next))
    }

    /// How the events end, given their length in bytes.
    #[must_use]
    pub fn tail(&self, bytes: u64) -> Tail {
        let read = self.total().bytes;
        if read < bytes { Tail::Truncated { offset: Offset::new(read) } } else { Tail::Complete }
    }

    fn append(&mut self, mut next: Self) {
        self.summaries.append(&mut next.summaries);
        self.damage.append(next.damage);
    }
}

/// Adds up the whole records of `range`, at whose start one begins, in ranges of `range_bytes` or slightly
/// more. `progress` counts the bytes that have been read, for other threads to see.
///
/// # Errors
/// The events cannot be read.
pub fn sweep(
    content: &Content,
    range: Range<Offset>,
    range_bytes: usize,
    depths: Depths,
    progress: &BytesRead,
) -> io::Result<Swept> {
    let scan = match depths {
        Depths::Both => scan_depths::<true>,
        Depths::Lowest => scan_depths::<false>,
    };
    let end = range.end.get().min(content.len());
    let all = range.start.get().min(end)..end;
    if content.len() < BYTES_A_THREAD {
        return sweep_part(content, all, range_bytes, scan, progress);
    }
    let parts = parts(content, all)?;
    let sweep = |part: &Range<u64>| sweep_part(content, part.clone(), range_bytes, scan, progress);
    let Some((first, others)) = parts.split_first() else { return Ok(Swept::default()) };
    if others.is_empty() {
        return sweep(first);
    }
    let mut swept = Swept::default();
    thread::scope(|scope| {
        let others: Vec<_> = others.iter().map(|part| scope.spawn(move || sweep(part))).collect();
        swept.append(sweep(first)?);
        for other in others {
            let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            swept.append(other?);
        }
        Ok(swept)
    })
}

/// Divides a range at boundaries, for as many threads as are worth it.
///
/// # Errors
/// The events cannot be read.
pub fn parts(content: &Content, range: Range<u64>) -> io::Result<Vec<Range<u64>>> {
    let len = range.end.saturating_sub(range.start);
    let most = len / BYTES_A_THREAD;
    // To ask for the number of cores takes longer than to read a small thread.
    let count = if most < 2 { 1 } else { most.min(cores() as u64) };
    let mut parts = Vec::new();
    let mut start = range.start;
    let mut bytes = vec![0; if count > 1 { CUT_BYTES } else { 0 }];
    for part in 1..count {
        let from = Offset::new(range.start + len / count * part);
        let read = content.fill_at(from, &mut bytes)?;
        // If there is none, as in an endless recursion, one thread does both parts.
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

/// The ranges of a range that begins with a record.
fn sweep_part(
    content: &Content,
    range: Range<u64>,
    range_bytes: usize,
    scan: impl Fn(&[u8], usize, &mut Summary) -> Scanned,
    progress: &BytesRead,
) -> io::Result<Swept> {
    let mut swept = Swept::default();
    let mut summary = Summary::default();
    let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    let mut buffer = vec![0; BUFFER_BYTES.min(len)];
    // `position` is how far the range has been read, and `unread` the part of the buffer that has not been
    // scanned yet.
    let mut position = range.start;
    let mut unread = 0..0;
    // The start of damage whose end has not been found.
    let mut damage = None;
    loop {
        buffer.copy_within(unread.clone(), 0);
        unread = 0..unread.len();
        let left = usize::try_from(range.end - position).unwrap_or(usize::MAX);
        let end = buffer.len().min(left.saturating_add(unread.end));
        let space = buffer.get_mut(unread.end..end).unwrap_or_default();
        let read = content.fill_at(Offset::new(position), space)?;
        position += read as u64;
        unread.end += read;
        progress.add(read as u64);
        while !unread.is_empty() {
            let bytes = buffer.get(unread.clone()).unwrap_or_default();
            let here = position - unread.len() as u64;
            if let Some(from) = damage {
                let boundary = bytes.iter().position(|&byte| is_boundary(byte));
                let skipped = boundary.map_or(bytes.len(), |at| at + 1);
                summary.bytes += skipped as u64;
                unread.start += skipped;
                if boundary.is_some() || position == range.end {
                    swept.damage.add(Offset::new(from)..Offset::new(here + skipped as u64));
                    damage = None;
                }
            } else {
                let so_far = usize::try_from(summary.bytes).unwrap_or(usize::MAX);
                let enough = range_bytes.saturating_sub(so_far).max(1);
                let scanned = scan(bytes, enough, &mut summary);
                unread.start += scanned.len;
                match scanned.stop {
                    Stop::Enough => {}
                    Stop::Incomplete => break,
                    Stop::Damage => damage = Some(here + scanned.len as u64),
                }
            }
            if summary.bytes >= range_bytes as u64 && damage.is_none() {
                swept.summaries.push(std::mem::take(&mut summary));
            }
        }
        if position == range.end || read == 0 {
            if summary.bytes > 0 {
                swept.summaries.push(summary);
            }
            return Ok(swept);
        }
    }
}
