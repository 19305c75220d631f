//! What a replay says in words.

use flow_codec::MethodId;
use flow_codec::read::Methods;

use crate::output::{grouped, plural};

/// Of more frames than this, only the outermost and the innermost are named.
const NAMED_FRAMES: usize = 12;

pub(super) fn left_unseen(count: u64) -> String {
    format!("left {} entered before recording", plural(count, "frame"))
}

/// `3 frames still open at the end: a > b > c`, or nothing when none is.
pub(super) fn still_open(frames: &[MethodId], methods: &Methods) -> Option<String> {
    if frames.is_empty() {
        return None;
    }
    let count = plural(frames.len() as u64, "frame");
    let names = path(frames, methods);
    Some(format!("{count} still open at the end: {names}"))
}

/// `a > b > c`: the frames of a stack, outermost first.
pub(super) fn path(frames: &[MethodId], methods: &Methods) -> String {
    chain(frames, 0, |frame| methods.display(*frame))
}

/// The same, behind so many that have no name.
pub(super) fn chain<T>(frames: &[T], omitted: u64, name: impl Fn(&T) -> String) -> String {
    let (outer, hidden, inner) = if frames.len() <= NAMED_FRAMES {
        (frames, 0, &[][..])
    } else {
        let (outer, rest) = frames.split_at(NAMED_FRAMES / 2);
        let (hidden, inner) = rest.split_at(rest.len() - NAMED_FRAMES / 2);
        (outer, hidden.len() as u64, inner)
    };
    let more = |count: u64| (count > 0).then(|| format!("… {} more …", grouped(count)));
    let mut parts: Vec<_> = more(omitted).into_iter().collect();
    parts.extend(outer.iter().map(&name));
    parts.extend(more(hidden));
    parts.extend(inner.iter().map(&name));
    parts.join(" > ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_open_frames_the_ends_are_named() {
        let frames: Vec<_> = (0..1_000).filter_map(MethodId::new).collect();
        let methods = Methods::default();
        assert_eq!(still_open(&[], &methods), None);
        assert_eq!(
            still_open(&frames[..2], &methods).unwrap(),
            "2 frames still open at the end: ?#0 > ?#1"
        );
        let text = still_open(&frames, &methods).unwrap();
        assert!(text.starts_with("1,000 frames still open at the end: ?#0 > ?#1"), "{text}");
        assert!(text.contains("?#5 > … 988 more … > ?#994"), "{text}");
        assert!(text.ends_with("?#999"), "{text}");
    }
}
