//! The remarks of a replay.

use std::time::Duration;

use flow_codec::MethodId;
use flow_codec::read::OpenFrames;

use crate::output::{Labels, chain, more, plural};

/// The frames that are named at each end of a stack.
const CHAIN_ENDS: usize = 6;
/// The callers that are named before a call, the innermost.
pub(super) const NEAREST: usize = 3;

pub(super) fn left_unseen(count: u64) -> String {
    format!("left {} entered before recording", plural(count, "frame"))
}

/// `3 frames still open at the end: a > b > c`; `None` if there are none.
pub(super) fn still_open(frames: &[MethodId], labels: &Labels<'_>) -> Option<String> {
    if frames.is_empty() {
        return None;
    }
    let count = plural(frames.len() as u64, "frame");
    let names = chain(frames, CHAIN_ENDS, |frame| labels.name(*frame));
    Some(format!("{count} still open at the end: {names}"))
}

/// `in … 12 more … > Orders.order > Db.query`: the innermost of `depth` callers. If `is_verbose`, these are all of
/// them, with a line each.
pub(super) fn called_by(
    depth: usize,
    innermost: &[MethodId],
    is_verbose: bool,
    labels: &Labels<'_>,
) -> Vec<String> {
    if is_verbose {
        return innermost.iter().map(|caller| format!("in {}", labels.name(*caller))).collect();
    }
    let name = |caller: &MethodId| labels.short(*caller);
    let hidden = depth - innermost.len();
    let hidden = (hidden > 0).then(|| more(hidden as u64));
    let names: Vec<_> = hidden.into_iter().chain(innermost.iter().map(name)).collect();
    if names.is_empty() { Vec::new() } else { vec![format!("in {}", names.join(" > "))] }
}

/// `3 deeper calls left out (--depth 2)`; `None` if there are none.
pub(super) fn left_out_deeper(count: u64, depth: u64) -> Option<String> {
    let calls = || plural(count, "deeper call");
    (count > 0).then(|| format!("{} left out (--depth {depth})", calls()))
}

/// `3 shorter calls left out (--min-duration 5ms)`; `None` if there are none.
pub(super) fn left_out_shorter(count: u64, min_ns: u64) -> Option<String> {
    let min = || humantime::format_duration(Duration::from_nanos(min_ns));
    let calls = || plural(count, "shorter call");
    (count > 0).then(|| format!("{} left out (--min-duration {})", calls(), min()))
}

/// `3 frames entered before recording: a > b > c`, with the number of frames whose names are unknown first.
pub(super) fn entered_before(open: &OpenFrames, labels: &Labels<'_>) -> String {
    let names = chain(&labels.frames(&open.frames), CHAIN_ENDS, String::clone);
    let names = match open.omitted {
        0 => names,
        omitted => format!("{} > {names}", more(omitted)),
    };
    format!("{} entered before recording: {names}", plural(open.count(), "frame"))
}

#[cfg(test)]
mod tests {
    use flow_codec::read::Methods;

    use super::*;
    use crate::args::Format;

    #[test]
    fn of_many_open_frames_the_ends_are_named() {
        let frames: Vec<_> = (0..1_000).filter_map(MethodId::new).collect();
        let methods = Methods::default();
        let labels = Labels::new(&methods, Format::Text, false);
        assert_eq!(still_open(&[], &labels), None);
        assert_eq!(
            still_open(&frames[..2], &labels).unwrap(),
            "2 frames still open at the end: ?#0 > ?#1"
        );
        let text = still_open(&frames, &labels).unwrap();
        assert!(text.starts_with("1,000 frames still open at the end: ?#0 > ?#1"), "{text}");
        assert!(text.contains("?#5 > … 988 more … > ?#994"), "{text}");
        assert!(text.ends_with("?#999"), "{text}");
    }
}
