//! Text for stacks, and the indentation of trees.

use super::grouped;

/// Deeper calls are indented no further and show their depth. Otherwise a stack overflow would fill the disk with
/// blanks.
const DEEPEST_INDENT: usize = 512;

/// The start of a line for a call at this depth: the number of blanks, and the text after them.
pub(crate) fn indentation(depth: usize) -> (usize, String) {
    let rest = if depth > DEEPEST_INDENT { format!("[depth {depth}] ") } else { String::new() };
    (2 * depth.min(DEEPEST_INDENT), rest)
}

/// Appends the start of a line for a call at this depth.
pub(crate) fn indent(depth: usize, line: &mut String) {
    let (blanks, rest) = indentation(depth);
    line.extend(std::iter::repeat_n(' ', blanks));
    line.push_str(&rest);
}

/// `a > b > … 3 more … > y > z`: a stack, or the `ends` outermost and innermost frames of a deep one. Other names are
/// not looked up.
pub(crate) fn chain<T>(frames: &[T], ends: usize, name: impl Fn(&T) -> String) -> String {
    if frames.len() <= 2 * ends + 1 {
        return frames.iter().map(name).collect::<Vec<_>>().join(" > ");
    }
    let (outer, rest) = frames.split_at(ends);
    let (hidden, inner) = rest.split_at(rest.len() - ends);
    let mut parts: Vec<_> = outer.iter().map(&name).collect();
    parts.push(more(hidden.len() as u64));
    parts.extend(inner.iter().map(&name));
    parts.join(" > ")
}

/// `… 3 more …`: in place of frames that are not named.
pub(crate) fn more(count: u64) -> String {
    format!("… {} more …", grouped(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_deep_stack_the_ends_are_named() {
        assert_eq!(chain(&[], 1, u8::to_string), "");
        assert_eq!(chain(&[1, 2, 3], 1, u8::to_string), "1 > 2 > 3");
        assert_eq!(chain(&[1, 2, 3, 4], 1, u8::to_string), "1 > … 2 more … > 4");
    }

    #[test]
    fn calls_too_deep_to_be_indented_say_how_deep_they_are() {
        let mut line = String::new();
        indent(600, &mut line);
        assert_eq!(line.trim_start(), "[depth 600] ");
        assert_eq!(line.len(), 2 * 512 + "[depth 600] ".len());
    }
}
