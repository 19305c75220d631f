//! Colours lines for a terminal, by what is in them: names of methods, shares, remarks, results. So every verb prints
//! plain text, and a pipe gets the same lines without colours.

use std::borrow::Cow;
use std::ops::Range;

use super::fit::cells;
use super::shown_name::shown_names;

/// The end of a style.
const RESET: &str = "\u{1b}[0m";
/// The start of a link, after which its URL follows, and the end of the URL.
const LINK: &str = "\u{1b}]8;;";
const STRING_END: &str = "\u{1b}\\";
/// The end of a link: an empty URL.
const LINK_END: &str = "\u{1b}]8;;\u{1b}\\";

/// How a part of a line looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::output) enum Style {
    Bold,
    Dim,
    Red,
    Yellow,
    Green,
    Blue,
}

impl Style {
    /// The escape sequence that begins it.
    fn start(self) -> &'static str {
        match self {
            Self::Bold => "\u{1b}[1m",
            Self::Dim => "\u{1b}[2m",
            Self::Red => "\u{1b}[31m",
            Self::Yellow => "\u{1b}[33m",
            Self::Green => "\u{1b}[32m",
            Self::Blue => "\u{1b}[34m",
        }
    }

    /// A text in this style.
    pub(in crate::output) fn of(self, text: &str) -> String {
        format!("{}{text}{RESET}", self.start())
    }
}

/// Shares from which a line is hot, and warm.
const HOT: f64 = 20.0;
const WARM: f64 = 5.0;
/// Smaller shares are dim.
const COLD: f64 = 1.0;

/// Returns the line with colours, and with links to these URLs. A heading has its own look already.
pub(in crate::output) fn paint<'a>(
    line: &'a str,
    links: &[(Range<usize>, String)],
) -> Cow<'a, str> {
    if line.starts_with('\u{1b}') {
        return Cow::Borrowed(line);
    }
    if line.trim_start().starts_with("… ") && shown_names(line).next().is_none() {
        return Cow::Owned(Style::Dim.of(line));
    }
    let styles = styles(line);
    if styles.is_empty() && links.is_empty() {
        return Cow::Borrowed(line);
    }
    // What is inserted at each position. Of the sequences at one, the innermost ones end first and begin last.
    let mut inserted: Vec<(usize, u8, Cow<'_, str>)> = Vec::new();
    for (range, style) in styles {
        inserted.push((range.end, 0, Cow::Borrowed(RESET)));
        inserted.push((range.start, 3, Cow::Borrowed(style.start())));
    }
    for (range, url) in links {
        inserted.push((range.end, 1, Cow::Borrowed(LINK_END)));
        inserted.push((range.start, 2, Cow::Owned(format!("{LINK}{url}{STRING_END}"))));
    }
    inserted.sort_by_key(|(at, order, _)| (*at, *order));
    let mut painted = String::with_capacity(line.len() + inserted.len() * 8);
    let mut done = 0;
    for (at, _, text) in inserted {
        painted.push_str(&line[std::mem::replace(&mut done, at)..at]);
        painted.push_str(&text);
    }
    painted.push_str(&line[done..]);
    Cow::Owned(painted)
}

/// The parts of a line with a style, in order.
fn styles(line: &str) -> Vec<(Range<usize>, Style)> {
    let mut styles: Vec<(Range<usize>, Style)> = Vec::new();
    for cell in cells(line) {
        let text = &line[cell.clone()];
        if let Some(style) = of_cell(text) {
            styles.push((cell, style));
            continue;
        }
        for name in shown_names(text) {
            let at = |part: Range<usize>| cell.start + part.start..cell.start + part.end;
            styles.push((at(name.package), Style::Dim));
            styles.push((at(name.method), Style::Bold));
            styles.push((at(name.parameters), Style::Dim));
        }
    }
    styles.retain(|(range, _)| !range.is_empty());
    styles
}

/// The style of a whole cell, if it is not a name.
fn of_cell(text: &str) -> Option<Style> {
    match text {
        "passed" | "new" => return Some(Style::Green),
        "failed" | "damaged" | "truncated" | "gone" | "!" => return Some(Style::Red),
        "aborted" | "skipped" | "unfinished" => return Some(Style::Yellow),
        _ => {}
    }
    if let Some(share) = text.strip_suffix('%').and_then(|number| number.parse().ok()) {
        return heat(share);
    }
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    match text.chars().next()? {
        '━' | '─' | '╾' | '╸' | '╴' => Some(Style::Blue),
        '!' if text.starts_with("! ") => Some(Style::Red),
        '…' if text.starts_with("… ") && shown_names(text).next().is_none() => Some(Style::Dim),
        'i' if text.starts_with("in ") => Some(Style::Dim),
        '#' if text.starts_with("# ") => Some(Style::Green),
        '+' if is_number(&text[1..]) => Some(Style::Red),
        '-' if is_number(&text[1..]) => Some(Style::Green),
        '~' if is_number(&text[1..]) => Some(Style::Dim),
        _ => None,
    }
}

fn heat(share: f64) -> Option<Style> {
    match share {
        HOT.. => Some(Style::Red),
        WARM.. => Some(Style::Yellow),
        COLD.. => None,
        _ => Some(Style::Dim),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line with `<b:…>` for bold and so on.
    fn painted(line: &str) -> String {
        let mut text = paint(line, &[]).replace(RESET, "}");
        for (style, mark) in [
            (Style::Bold, "{b "),
            (Style::Dim, "{d "),
            (Style::Red, "{r "),
            (Style::Yellow, "{y "),
            (Style::Green, "{g "),
            (Style::Blue, "{bar "),
        ] {
            text = text.replace(style.start(), mark);
        }
        text
    }

    #[test]
    fn packages_are_dim_methods_bright_and_shares_warm() {
        for (line, expected) in [
            (
                " 1  45.3%  com.app.Main.run(int)  ×2",
                " 1  {r 45.3%}  {d com.app.}Main.{b run}{d (int)}  ×2",
            ),
            ("1  2.0%  0.1%  ?#7", "1  2.0%  {d 0.1%}  ?#7"),
            ("   in Main.main > Db.query", "   {d in Main.main > Db.query}"),
            ("… 3 more left out", "{d … 3 more left out}"),
            ("  … a.B.m()", "  … {d a.}B.{b m}{d ()}"),
            ("a.B.m()  ! java.lang.Error", "{d a.}B.{b m}{d ()}  {r ! java.lang.Error}"),
            ("failed  3  a.T.t", "{r failed}  3  a.T.t"),
            ("12 tests: 2 failed", "12 tests: 2 failed"),
        ] {
            assert_eq!(painted(line), expected);
        }
    }

    #[test]
    fn a_link_surrounds_the_styles_of_its_text() {
        assert_eq!(
            paint(
                "12.0%  a.Bcd.m(int)  B.kt:3",
                &[(7..19, "x:1".to_owned()), (21..27, "y:2".to_owned())]
            ),
            "\u{1b}[33m12.0%\u{1b}[0m  \u{1b}]8;;x:1\u{1b}\\\u{1b}[2ma.\u{1b}[0mBcd.\u{1b}[1mm\u{1b}[0m\
             \u{1b}[2m(int)\u{1b}[0m\u{1b}]8;;\u{1b}\\  \u{1b}]8;;y:2\u{1b}\\B.kt:3\u{1b}]8;;\u{1b}\\"
        );
    }

    #[test]
    fn without_colours_the_text_is_the_same() {
        for line in ["", "a.B.m(", "((", "1%  ━━╾─  x.y(z) > (", "… … …"] {
            let mut text = paint(line, &[]).replace(RESET, "");
            for style in
                [Style::Bold, Style::Dim, Style::Red, Style::Yellow, Style::Green, Style::Blue]
            {
                text = text.replace(style.start(), "");
            }
            assert_eq!(text, line);
        }
    }
}
