//! Whether a trace has times, and whether something is known of the selected ones.

use flow_codec::Offset;
use flow_codec::read::{ThreadFile, TimeLimits, Trace};

use crate::{Error, Remark};

/// Returns whether a trace has times.
#[must_use]
pub fn has_clock(trace: &Trace) -> bool {
    !trace.timing().0.is_off()
}

/// Checks that a trace has times.
///
/// # Errors
/// The trace has no times.
pub(crate) fn expect_clock(trace: &Trace) -> Result<(), Error> {
    match has_clock(trace) {
        true => Ok(()),
        false => Err(Error::NoTimes { path: trace.dir().to_path_buf() }),
    }
}

/// Checks that something may have happened in a range of time: an empty result would hide that nothing was recorded then.
/// Appends a remark if no time is known before its end, or after its start.
///
/// # Errors
/// The range begins after the end of the recording.
pub fn expect_times(
    limits: TimeLimits,
    traces: &[Trace],
    remarks: &mut Vec<Remark>,
) -> Result<(), Error> {
    let TimeLimits { from_ns: start, to_ns: end, .. } = limits;
    if start == 0 && end == u64::MAX {
        return Ok(());
    }
    let timed: Vec<_> = traces.iter().filter(|trace| has_clock(trace)).collect();
    let files = || timed.iter().flat_map(|trace| trace.files());
    // Damage is reported where it is read.
    let is_after =
        |file: &ThreadFile| file.offset_at(end).is_ok_and(|at| at == Some(Offset::default()));
    if end < u64::MAX && files().next().is_some() && files().all(is_after) {
        remarks.push(Remark::NoTimeBefore { at_ns: end });
    }
    let is_before = |file: &ThreadFile| matches!(file.offset_at(start), Ok(None));
    if start == 0 || timed.is_empty() || !files().all(is_before) {
        return Ok(());
    }
    let end = |trace: &Trace| Some(trace.manifest()?.end.as_ref()?.at_ns);
    let ends: Option<Vec<u64>> = traces.iter().map(end).collect();
    match ends.and_then(|ends| ends.into_iter().max()) {
        // Something may have happened after the last known time.
        Some(end_ns) if start < end_ns => {}
        Some(end_ns) => return Err(Error::AfterEnd { from_ns: start, end_ns }),
        None if traces.iter().all(|trace| trace.manifest().is_none()) => {}
        None => remarks.push(Remark::NoTimeAfter { at_ns: start }),
    }
    Ok(())
}
