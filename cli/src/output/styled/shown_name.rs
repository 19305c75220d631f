//! Names of methods in printed lines: finds their parts, and shortens them.
//!
//! Lines are text by the time their width matters, so names are recognised by their form:
//!
//! ```text
//! com.sun.tools.javac.main.JavaCompiler.compile(Collection, Iterable)
//! └────── package ───────┘└── class ───┘└─────┘└──── parameters ────┘
//!                                        method
//! ```

use std::ops::Range;

use flow_codec::MADE_WORDS;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::super::more;

/// Separates the frames of a stack.
const ARROW: &str = " > ";

/// Where the parts of a name are in a line. Package and class end with a dot, unless they are empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::output) struct ShownName {
    pub(in crate::output) package: Range<usize>,
    pub(in crate::output) class: Range<usize>,
    pub(in crate::output) method: Range<usize>,
    /// Both parentheses included, and the type of the result if a descriptor is shown.
    pub(in crate::output) parameters: Range<usize>,
}

/// Finds the names of methods in a line.
pub(in crate::output) fn shown_names(line: &str) -> impl Iterator<Item = ShownName> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let open = from + line.get(from..)?.find('(')?;
            let before = line.get(from..open)?;
            let start = from + before.rfind(' ').map_or(0, |blank| blank + 1);
            let close = line[open..].find(')').map_or(line.len(), |close| open + close + 1);
            // The type of the result follows a descriptor.
            let end = line[close..].find([' ', ',', '>', ':']).map_or(line.len(), |at| close + at);
            let start = from + start_of_name(&line[from..start], &line[start..open]);
            let word = line[start..open].split(' ').next()?;
            let is_start = |c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '…' | '<');
            if !word.starts_with(is_start) || !word.contains(['.', '…']) {
                from = open + 1;
                continue;
            }
            from = end;
            let method = start + word.rfind(['.', '…']).map_or(0, |at| at + length_at(word, at));
            let class = line[start..method].trim_end_matches('.');
            let class = start + class.rfind(['.', '…']).map_or(0, |at| at + length_at(class, at));
            return Some(ShownName {
                package: start..class,
                class: class..method,
                method: method..open,
                parameters: open..end,
            });
        }
    })
}

/// Where the name begins that ends with a word: that of what a compiler made, such as `a.B.total lambda 2`, has blanks.
fn start_of_name(before: &str, last: &str) -> usize {
    let is_made = |word: &str| {
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        MADE_WORDS.contains(&word) || is_number
    };
    let (mut start, mut word) = (before.len(), last);
    loop {
        let Some(rest) = before[..start].strip_suffix(' ') else { return start };
        let previous = rest.rfind(' ').map_or(0, |blank| blank + 1);
        if !is_made(word) && rest[previous..] != *"fun" {
            return start;
        }
        (start, word) = (previous, &rest[previous..]);
    }
}

fn length_at(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(0, char::len_utf8)
}

/// The widths of a text with a name whose package and parameters are cut, and of what is around the name.
pub(in crate::output) fn with_short_name(text: &str) -> Option<(usize, usize)> {
    let name = widest(text)?;
    let rest = text[..name.package.start].width() + text[name.parameters.end..].width();
    let short = text[name.class].width() + text[name.method].width() + "(…)".width();
    Some((rest + short, rest))
}

/// The width below which a text that contains a name loses more than package, class and parameters; `None` if it
/// contains no name.
pub(in crate::output) fn narrowest(text: &str) -> Option<usize> {
    let name = widest(text)?;
    let rest = text[..name.package.start].width() + text[name.parameters.end..].width();
    Some(rest + text[name.method].width() + "(…)".width())
}

/// Shortens a text that contains a stack or the name of a method to this width. Of a stack, the outermost frames go
/// first. Of a name, parts of the package are abbreviated, then go the package, the last parameters, the start of the
/// class, the class, and the end of the method. One `…` is in the place of what is missing. Returns `None` if that is
/// not enough.
pub(in crate::output) fn shorten(text: &str, columns: usize) -> Option<String> {
    if text.contains(ARROW) {
        let stack = shorten_stack(text, columns);
        if stack.is_some() {
            return stack;
        }
    }
    let name = widest(text)?;
    let (before, after) = (&text[..name.package.start], &text[name.parameters.end..]);
    let room = columns.checked_sub(before.width() + after.width())?;
    let short = shorten_name(text, &name, room)?;
    Some(format!("{before}{short}{after}"))
}

/// Returns whether a text contains several frames.
pub(in crate::output) fn is_stack(text: &str) -> bool {
    text.contains(ARROW)
}

fn widest(text: &str) -> Option<ShownName> {
    shown_names(text).max_by_key(|name| text[name.package.start..name.parameters.end].width())
}

fn shorten_name(text: &str, name: &ShownName, room: usize) -> Option<String> {
    let [package, class, method, parameters] =
        [&name.package, &name.class, &name.method, &name.parameters]
            .map(|part| &text[part.clone()]);
    let candidates = packages(package)
        .map(|package| format!("{package}{class}{method}{parameters}"))
        .chain(lists(parameters).map(|list| format!("{class}{method}{list}")));
    // With another `…` before it, the one for parameters goes.
    let (list, rest) = match parameters {
        "()" => ("()", "()"),
        _ => ("(…)", ""),
    };
    let cut = [format!("{class}{method}…")]
        .into_iter()
        .chain(classes(class).map(|class| format!("{class}{method}{rest}")))
        .chain([format!("{method}{list}"), format!("{method}…")]);
    let shortest =
        || start(&format!("{class}{method}"), class, room).or_else(|| start(method, "", room));
    candidates.chain(cut).find(|name| name.width() <= room).or_else(shortest)
}

/// `Orders.tot…`: the start of a name, if it contains something of its method.
fn start(name: &str, class: &str, room: usize) -> Option<String> {
    const LEAST: usize = 3;
    let kept = room.checked_sub(1).filter(|kept| *kept >= class.width() + LEAST)?;
    let mut width = 0;
    let is_kept = |(_, c): &(usize, char)| {
        width += c.width().unwrap_or(0);
        width <= kept
    };
    let end = name.char_indices().take_while(is_kept).last().map_or(0, |(at, c)| at + c.len_utf8());
    Some(format!("{}…", &name[..end]))
}

/// `com.app.`, `c.app.`, `c.a.`, and nothing.
fn packages(package: &str) -> impl Iterator<Item = String> {
    let parts: Vec<&str> = package.split_inclusive('.').collect();
    let count = parts.len();
    let abbreviated = move |number: usize| {
        let short = parts.iter().take(number).flat_map(|part| part.chars().next());
        let short: String = short.flat_map(|first| [first, '.']).collect();
        short + &parts.iter().skip(number).copied().collect::<String>()
    };
    (0..=count).map(abbreviated).chain([String::new()])
}

/// `(int, String)`, `(int, …)`, `(…)`.
fn lists(parameters: &str) -> impl Iterator<Item = String> {
    let list = parameters.strip_prefix('(').and_then(|list| list.split_once(')'));
    let list = list.map_or("", |(list, _)| list);
    let starts = list.rmatch_indices(", ").map(|(at, _)| format!("({}, …)", &list[..at]));
    let none = if list.is_empty() { "()" } else { "(…)" };
    [parameters.to_owned()].into_iter().chain(starts).chain([none.to_owned()])
}

/// `…Service.`, `…ervice.`, and so on.
fn classes(class: &str) -> impl Iterator<Item = String> {
    let starts = class.char_indices().skip(2).map(|(at, _)| format!("…{}", &class[at..]));
    starts.filter(|class| class.chars().count() > 4)
}

/// `in … 2 more … > a > b` of `in x > y > a > b`.
fn shorten_stack(text: &str, columns: usize) -> Option<String> {
    let first = text.find(ARROW)?;
    let lead = text[..first].rfind(": ").map(|at| at + 2);
    let lead = lead.or_else(|| text.starts_with("in ").then_some(3)).unwrap_or(0);
    let (lead, stack) = text.split_at(lead);
    let room = columns.checked_sub(lead.width())?;
    let mut hidden = 0;
    for (at, _) in stack.match_indices(ARROW) {
        let before = stack[..at].rsplit(ARROW).next().unwrap_or_default();
        hidden += hidden_frames(before).unwrap_or(1);
        let rest = &stack[at..];
        // The number of frames that are not named already says that there are some.
        let is_named = hidden_frames(rest[ARROW.len()..].split(ARROW).next()?).is_none();
        let text = format!("{}{rest}", more(hidden));
        if is_named && text.width() <= room {
            return Some(format!("{lead}{text}"));
        }
    }
    None
}

/// The number of frames in `… 3 more …`.
fn hidden_frames(text: &str) -> Option<u64> {
    let number = text.strip_prefix("… ")?.strip_suffix(" more …")?;
    number.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "com.sun.tools.javac.main.JavaCompiler.compile(Collection, List, Set)";

    fn parts(line: &str) -> Vec<[&str; 4]> {
        shown_names(line)
            .map(|name| {
                [name.package, name.class, name.method, name.parameters].map(|part| &line[part])
            })
            .collect()
    }

    #[test]
    fn the_parts_of_names_are_found() {
        let parts_of = ["com.sun.tools.javac.main.", "JavaCompiler.", "compile"];
        let [package, class, method] = parts_of;
        assert_eq!(parts(NAME), [[package, class, method, "(Collection, List, Set)"]]);
        for (line, expected) in [
            ("  ×2  Main.<init>()", ["", "Main.", "<init>", "()"]),
            ("a.B.m(Ljava/lang/String;)V  3", ["a.", "B.", "m", "(Ljava/lang/String;)V"]),
            ("a.B$C.get(): String", ["a.", "B$C.", "get", "()"]),
            ("in …ler.m(…)", ["…", "ler.", "m", "(…)"]),
            ("3  a.B.m lambda 2.1(int)", ["a.", "B.", "m lambda 2.1", "(int)"]),
            ("a.B.m fun outer fun inner()", ["a.", "B.", "m fun outer fun inner", "()"]),
        ] {
            assert_eq!(parts(line), [expected], "{line}");
        }
        assert_eq!(parts("a.B.m() > a.C.n(int)").len(), 2);
        for line in [
            "1 call (--max 3)",
            "(no recorded caller)",
            "call(s)",
            "12.5% (a.b)",
            "f(",
            "12.5 lambda(x)",
            "lambda()",
            " fun()",
        ] {
            assert_eq!(parts(line).len(), 0, "{line}");
        }
    }

    #[test]
    fn the_package_goes_first_then_the_parameters_and_the_method_never() {
        for (columns, short) in [
            (68, NAME),
            (67, "c.sun.tools.javac.main.JavaCompiler.compile(Collection, List, Set)"),
            (54, "c.s.t.j.m.JavaCompiler.compile(Collection, List, Set)"),
            (50, "JavaCompiler.compile(Collection, List, Set)"),
            (40, "JavaCompiler.compile(Collection, …)"),
            (30, "JavaCompiler.compile(…)"),
            (21, "JavaCompiler.compile…"),
            (20, "…vaCompiler.compile"),
            (13, "…iler.compile"),
            (11, "compile(…)"),
            (9, "compile…"),
            (5, "comp…"),
        ] {
            assert_eq!(shorten(NAME, columns).unwrap(), short);
        }
        assert_eq!(shorten(NAME, 3), None);
        assert_eq!(shorten("a.Work.lambda$main$0(int)", 10).unwrap(), "Work.lamb…");
        assert_eq!(shorten("a.Service$Worker.run()", 15).unwrap(), "…e$Worker.run()");
        assert_eq!(narrowest(NAME), Some(10));
        assert_eq!(shorten("a.Bcd.m()", 5).unwrap(), "m()");
        assert_eq!(shorten("plain text", 5), None);
    }

    #[test]
    fn of_a_stack_the_innermost_frames_stay() {
        let stack = "in Main.main > App.start > Orders.order > Db.query";
        assert_eq!(shorten(stack, 49).unwrap(), "in … 2 more … > Orders.order > Db.query");
        assert_eq!(shorten(stack, 38).unwrap(), "in … 3 more … > Db.query");
        let stack = "in Main.main > … 1,200 more … > Orders.order > Db.query";
        assert_eq!(shorten(stack, 50).unwrap(), "in … 1,201 more … > Orders.order > Db.query");
        let stack = "2 frames still open at the end: a.B.main() > a.C.doIt()";
        let short = "2 frames still open at the end: … 1 more … > a.C.doIt()";
        assert_eq!(shorten(stack, short.width()).unwrap(), short);
    }
}
