//! Any bytes as the calls of a thread and its marks: what is added up with a clock is what each call took.
//!
//! The first five bytes say how many bytes the calls have, and what is left out by its time: instants are
//! powers of two. The others are events, and behind them marks as they stand.

use flow_codec::format::marks::HEADER;
use flow_codec::read::TimeLimits;

use super::analyses::event;
use super::scratch;
use crate::support::naive_times::check_times;

/// Sums are looked up in the whole stack at each call.
const MOST_EVENTS: usize = 1_000;

pub(super) fn check(bytes: &[u8]) {
    let Some((&[len_low, len_high, from, to, min], rest)) = bytes.split_first_chunk() else {
        return;
    };
    let len = usize::from(u16::from_le_bytes([len_low, len_high])).min(MOST_EVENTS);
    let (events, marks) = rest.split_at(rest.len().min(len));
    let events: Vec<_> = events.iter().map(|&byte| event(byte)).collect();
    let marks = [&HEADER[..], marks].concat();
    let trace = scratch::opened(&[("thread-1.flow", &events), ("thread-1.marks", &marks)]);
    let power = |bits: u8, none: u64| if bits == 0 { none } else { 1_u64 << (bits & 63) };
    let limits =
        TimeLimits { from_ns: power(from, 0), to_ns: power(to, u64::MAX), min_ns: power(min, 0) };
    for file in &trace.files {
        check_times(file, TimeLimits::NONE);
        check_times(file, limits);
    }
}
