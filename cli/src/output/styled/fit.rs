//! Shortens lines to the width of a terminal.

use std::borrow::Cow;
use std::ops::Range;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::shown_name;

/// Cells are cut no narrower than this, as long as an indentation can shrink.
const NARROWEST: usize = 24;
/// Gaps of at most this width separate columns; others are indentations.
const WIDEST_GAP: usize = 16;
/// The escape sequences around a heading.
const BOLD: (&str, &str) = ("\u{1b}[1m", "\u{1b}[0m");

/// The width of the terminal on standard output, if there is one: `COLUMNS`, or what the terminal says.
pub(crate) fn columns() -> Option<usize> {
    let named = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    if let Some(columns) = named.filter(|columns| *columns > 0) {
        return Some(columns);
    }
    #[cfg(unix)]
    let columns = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?.ws_col;
    #[cfg(windows)]
    let columns = match std::io::IsTerminal::is_terminal(&std::io::stdout()) {
        true => ratatui::crossterm::terminal::size().ok()?.0,
        false => 0,
    };
    Some(usize::from(columns)).filter(|columns| *columns > 0)
}

/// Returns the line in at most `columns`. Two blanks separate cells. The widest cell, usually a name,
/// becomes shorter. If that is not enough, the widest gap, an indentation, shrinks. A sentence is wrapped instead.
pub(in crate::output) fn fit(line: &str, columns: usize) -> Cow<'_, str> {
    let (start, end) = BOLD;
    if let Some(bold) = line.strip_prefix(start).and_then(|line| line.strip_suffix(end)) {
        return match fit(bold, columns) {
            Cow::Borrowed(_) => Cow::Borrowed(line),
            Cow::Owned(bold) => Cow::Owned(format!("{start}{bold}{end}")),
        };
    }
    if let Some(lines) = sentence(line, columns) {
        return Cow::Owned(lines);
    }
    let mut line = Cow::Borrowed(line);
    loop {
        let Some(excess) = line.width().checked_sub(columns).filter(|excess| *excess > 0) else {
            return line;
        };
        let widest = cells(&line).max_by_key(|cell| line[cell.clone()].width());
        let cell = widest.unwrap_or(0..0);
        let width = line[cell.clone()].width();
        let gap = gaps(&line).max_by_key(ExactSizeIterator::len).unwrap_or(0..0);
        let is_deep = gap.len() > WIDEST_GAP;
        let text = &line[cell.clone()];
        let narrowest = match (is_deep, shown_name::narrowest(text)) {
            (false, _) => 1,
            (true, method) => method.unwrap_or(0).max(NARROWEST),
        };
        let (range, text) = if width > narrowest {
            let room = width.saturating_sub(excess).max(narrowest);
            let shorter = shown_name::shorten(text, room);
            (cell, shorter.unwrap_or_else(|| without_middle(text, room)))
        } else if is_deep {
            let room = gap.len().saturating_sub(excess).max(2);
            (gap, format!("{:>room$}", "…"))
        } else {
            return Cow::Owned(without_middle(&line, columns));
        };
        let mut shorter = line.into_owned();
        shorter.replace_range(range, &text);
        line = Cow::Owned(shorter);
    }
}

/// Wraps a line that is too wide, if it is a sentence: one without gaps that has only short words, and names of methods
/// that cannot be shortened enough. A name is one word.
fn sentence(line: &str, columns: usize) -> Option<String> {
    if line.width() <= columns || columns <= NARROWEST + 2 || line.contains("  ") {
        return None;
    }
    if let Some((short, rest)) = shown_name::with_short_name(line)
        && (short <= columns || rest < NARROWEST || shown_name::is_stack(line))
    {
        return None;
    }
    let words = words(line);
    let is_name = |word: &str| shown_name::narrowest(word).is_some();
    if !words.iter().all(|word| word.width() <= NARROWEST || is_name(word)) {
        return None;
    }
    let mut lines = String::new();
    let mut width = 0;
    for word in words {
        // After the indentation, a name may still be too wide.
        let word = fit_word(word, columns - 2);
        if width > 0 && width + 1 + word.width() > columns {
            lines.push_str("\n ");
            width = 1;
        }
        if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(&word);
        width += word.width();
    }
    Some(lines)
}

/// The words of a line. The parameters of a method belong to its name.
fn words(line: &str) -> Vec<&str> {
    let names: Vec<_> =
        shown_name::shown_names(line).map(|name| name.package.start..name.parameters.end).collect();
    let mut from = 0;
    let blanks = line.match_indices(' ').map(|(at, _)| at);
    let breaks = blanks.filter(|at| !names.iter().any(|name| name.contains(at)));
    let mut words: Vec<_> =
        breaks.map(|at| &line[std::mem::replace(&mut from, at + 1)..at]).collect();
    words.push(&line[from..]);
    words
}

/// A text without gaps in at most `columns`: the name of a method becomes shorter as in a line.
pub(crate) fn fit_word(word: &str, columns: usize) -> Cow<'_, str> {
    if word.width() <= columns {
        return Cow::Borrowed(word);
    }
    Cow::Owned(shown_name::shorten(word, columns).unwrap_or_else(|| without_middle(word, columns)))
}

/// The gaps of a line: two or more blanks, its indentation included.
fn gaps(line: &str) -> impl Iterator<Item = Range<usize>> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + line[rest..].find("  ")?;
        let blanks = line[start..].bytes().take_while(|byte| *byte == b' ').count();
        rest = start + blanks;
        Some(start..rest)
    })
}

/// The text between the gaps.
pub(in crate::output) fn cells(line: &str) -> impl Iterator<Item = Range<usize>> {
    let ends = gaps(line).chain(std::iter::once(line.len()..line.len()));
    let mut start = 0;
    ends.map(move |gap| std::mem::replace(&mut start, gap.end)..gap.start)
}

/// Text with `…` in its middle, at most this wide.
fn without_middle(text: &str, columns: usize) -> String {
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let within = |room: usize| {
        let mut width = 0;
        move |(_, c): &(usize, char)| {
            width += c.width().unwrap_or(0);
            width <= room
        }
    };
    let head = text.char_indices().take_while(within(room / 2));
    let head = head.last().map_or(0, |(at, c)| at + c.len_utf8());
    let tail = text.char_indices().rev().take_while(within(room - room / 2));
    let tail = tail.last().map_or(text.len(), |(at, _)| at);
    format!("{}…{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "1,234   12.5%  com.app.orders.OrderService.total(Customer, int)";

    #[test]
    fn names_lose_their_package_and_other_cells_their_middle() {
        for wide in [LINE.len(), 100] {
            assert!(matches!(fit(LINE, wide), Cow::Borrowed(LINE)));
        }
        assert_eq!(fit(LINE, 56), "1,234   12.5%  c.a.o.OrderService.total(Customer, int)");
        assert_eq!(fit(LINE, 50), "1,234   12.5%  OrderService.total(Customer, int)");
        assert_eq!(fit(LINE, 40), "1,234   12.5%  OrderService.total(…)");
        assert_eq!(fit("12  a thread with a long name", 20), "12  a threa…ong name");
    }

    #[test]
    fn numbers_stay_as_long_as_a_name_can_be_cut() {
        let line = "    2  65.7 ms   38.4%  6.49 µs   0.0%  Work.lambda$main$0(int)";
        assert_eq!(fit(line, 50), "    2  65.7 ms   38.4%  6.49 µs   0.0%  Work.lamb…");
    }

    #[test]
    fn an_indentation_shrinks_before_a_name_gets_too_short() {
        let line = " ".repeat(200) + "com.app.orders.OrderService.total(Customer, int)  ×2";
        assert_eq!(fit(&line, 60), " ".repeat(34) + "…OrderService.total(…)  ×2");
    }

    #[test]
    fn a_sentence_loses_nothing() {
        let line = "… 2 more paths with 3 calls left out (--min 1; 0 for all)";
        let lines = "… 2 more paths with 3 calls\n  left out (--min 1; 0 for\n  all)";
        assert_eq!(fit(line, 27), lines);
    }

    #[test]
    fn a_sentence_with_a_name_loses_only_package_and_parameters() {
        let line =
            "com.app.orders.OrderService.total(Customer, int), called 12×, took 3 s of CPU time";
        let rest = ", called 12×, took 3 s of CPU time";
        assert_eq!(fit(line, 80), format!("c.app.orders.OrderService.total(Customer, int){rest}"));
        assert_eq!(fit(line, 60), format!("OrderService.total(…){rest}"));
        assert_eq!(
            fit(line, 50),
            "c.app.orders.OrderService.total(Customer, int),\n  called 12×, took 3 s of CPU time"
        );
        let name = "com.app.orders.OrderService.total(Customer, int)";
        assert_eq!(fit(name, 30), "OrderService.total(…)");
    }

    #[test]
    fn every_line_fits() {
        let wide = "名前".repeat(40);
        let long = "x".repeat(300);
        for line in
            [LINE, &long, &wide, &" ".repeat(99), &format!("a  {wide}  {long}  b"), "…  …", "a b c"]
        {
            for columns in 1..120 {
                let fitted = fit(line, columns);
                assert!(fitted.lines().all(|line| line.width() <= columns), "{columns}: {fitted}");
                let bold = format!("\u{1b}[1m{line}\u{1b}[0m");
                assert_eq!(fit(&bold, columns), format!("\u{1b}[1m{fitted}\u{1b}[0m"));
            }
        }
    }
}
