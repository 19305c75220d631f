//! HOT: scans blocks where possible, otherwise record by record.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::Summary;
use super::block::{BEFORE, BLOCK, Block, BlockEvents};
use crate::Undecoded;
use crate::format::flow::{Record, decode};

/// The result of a scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Scanned {
    /// Bytes that were scanned, from the first one on.
    pub len: usize,
    /// Why the scan stopped there.
    pub stop: Stop,
}

/// Why a scan stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// It has read as much as requested, or everything.
    Enough,
    /// The bytes end inside a record.
    Incomplete,
    /// What follows is not a record.
    Damage,
}

/// Adds records to `summary`. `bytes` begins with a record; the scan ends at the first end of a record that
/// is at least `enough` bytes away, or at damage.
///
/// ```
/// use flow_codec::scan::{Summary, scan};
///
/// // enter 1, enter 2, two exits, enter 1.
/// let mut summary = Summary::default();
/// let scanned = scan(&[0x81, 0x82, 0x01, 0x81], usize::MAX, &mut summary);
/// assert_eq!((scanned.len, summary.enters, summary.exits), (4, 3, 2));
/// assert_eq!((summary.most_frames(0), summary.frames_after(0)), (2, 1));
/// ```
pub fn scan(bytes: &[u8], enough: usize, summary: &mut Summary) -> Scanned {
    scan_depths::<true>(bytes, enough, summary)
}

/// The same; computes how high the depth rises only if `IF_HIGH` is set. In short ranges most blocks reach a
/// new height.
pub(super) fn scan_depths<const IF_HIGH: bool>(
    bytes: &[u8],
    enough: usize,
    summary: &mut Summary,
) -> Scanned {
    let enough = enough.min(bytes.len());
    let mut events = BlockEvents::NONE;
    let mut at = 0;
    while at < enough {
        let block = at
            .checked_sub(BEFORE)
            .filter(|_| at + BLOCK <= enough)
            .and_then(|from| bytes.get(from..)?.first_chunk::<{ BEFORE + BLOCK }>())
            .and_then(|bytes| events.read(bytes));
        if let Some(block) = block
            && add::<IF_HIGH>(block, &events, summary)
        {
            at += block.len;
            continue;
        }
        debug_assert!(at <= bytes.len(), "blocks end in the bytes");
        let (len, stop) = one_by_one(bytes.get(at..).unwrap_or_default(), enough - at, summary);
        at += len;
        if stop != Stop::Enough {
            return Scanned { len: at, stop };
        }
    }
    Scanned { len: at, stop: Stop::Enough }
}

/// Adds a block, if its effect on the depth can be computed.
#[inline(always)]
fn add<const IF_HIGH: bool>(block: Block, events: &BlockEvents, summary: &mut Summary) -> bool {
    let (enters, exits) = (i64::from(block.enters), i64::from(block.exits));
    let Summary { end, lowest, highest, rise, .. } = *summary;
    // Far from the limits of the type: a run of exits can be longer than any real trace.
    if end < i64::MIN / 2 {
        return false;
    }
    let may_climb = IF_HIGH && (end + enters > highest || end + enters - lowest > rise);
    let may_fall = end - exits < lowest;
    if may_climb || may_fall {
        let Some(depths) = events.depths(block) else { return false };
        if may_climb {
            let high = end + depths.highest();
            summary.highest = highest.max(high);
            summary.rise = rise.max(high - lowest);
        }
        let low = if may_fall { end + depths.lowest() } else { lowest };
        if low < lowest {
            summary.lowest = low;
            if IF_HIGH && enters > summary.rise {
                summary.rise = summary.rise.max(depths.rise());
            }
        }
    }
    summary.bytes += block.len as u64;
    summary.enters = summary.enters.saturating_add(block.enters.into());
    summary.exits = summary.exits.saturating_add(block.exits.into());
    summary.end = end + enters - exits;
    true
}

/// The records of about a block.
#[inline(never)]
fn one_by_one(bytes: &[u8], enough: usize, summary: &mut Summary) -> (usize, Stop) {
    let enough = enough.min(BLOCK);
    let mut at = 0;
    while at < enough {
        debug_assert!(at <= bytes.len(), "records end in the bytes");
        match decode(bytes.get(at..).unwrap_or_default()) {
            Ok((record, len)) => {
                match record {
                    Record::Enter(_) => summary.add_enter(),
                    Record::Exit(count) => summary.add_exits(count.get()),
                }
                summary.bytes += len as u64;
                at += len;
            }
            Err(Undecoded::Incomplete) => return (at, Stop::Incomplete),
            Err(Undecoded::Invalid(_)) => return (at, Stop::Damage),
        }
    }
    (at, Stop::Enough)
}
