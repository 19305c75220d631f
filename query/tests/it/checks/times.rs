//! Arbitrary bytes as the calls of a thread and its marks: sums of times are those of the durations of each
//! call.
//!
//! The first five bytes are the number of bytes of the calls, and the limits of time, which are powers of
//! two. Then follow events, and after them marks.

use flow_codec::format::marks::HEADER;
use flow_codec::read::TimeLimits;

use super::analyses::event;
use super::scratch;
use crate::support::times::check_times;

/// A naive sum searches the whole stack at each call.
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
    for file in trace.files() {
        check_times(file, TimeLimits::NONE);
        check_times(file, limits);
    }
}
