//! Stacks and trees of calls as text.

use std::fmt::Display;

use super::grouped;

/// Deeper calls are indented no further and say how deep they are: a stack overflow would fill the
/// disk with blanks.
const DEEPEST_INDENT: usize = 512;

/// What stands before a call at this depth: so many blanks, and then this.
pub(crate) fn indentation(depth: usize) -> (usize, String) {
    let rest = if depth > DEEPEST_INDENT { format!("[depth {depth}] ") } else { String::new() };
    (2 * depth.min(DEEPEST_INDENT), rest)
}

/// Appends what stands before a call at this depth.
pub(crate) fn indent(depth: usize, line: &mut String) {
    let (blanks, rest) = indentation(depth);
    line.extend(std::iter::repeat_n(' ', blanks));
    line.push_str(&rest);
}

/// `a > b > … 3 more … > y > z`: a stack, of a deep one the `ends` outermost and innermost frames.
pub(crate) fn chain<T: Display>(frames: &[T], ends: usize) -> String {
    let mut parts = Vec::new();
    if frames.len() <= 2 * ends + 1 {
        parts.extend(frames.iter().map(T::to_string));
    } else {
        let (outer, rest) = frames.split_at(ends);
        let (hidden, inner) = rest.split_at(rest.len() - ends);
        parts.extend(outer.iter().map(T::to_string));
        parts.push(format!("… {} more …", grouped(hidden.len() as u64)));
        parts.extend(inner.iter().map(T::to_string));
    }
    parts.join(" > ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_deep_stack_the_ends_are_named() {
        assert_eq!(chain::<u8>(&[], 1), "");
        assert_eq!(chain(&[1, 2, 3], 1), "1 > 2 > 3");
        assert_eq!(chain(&[1, 2, 3, 4], 1), "1 > … 2 more … > 4");
    }

    #[test]
    fn calls_too_deep_to_be_indented_say_how_deep_they_are() {
        let mut line = String::new();
        indent(600, &mut line);
        assert_eq!(line.trim_start(), "[depth 600] ");
        assert_eq!(line.len(), 2 * 512 + "[depth 600] ".len());
    }
}
