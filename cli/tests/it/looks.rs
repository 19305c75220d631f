//! How text looks on a terminal: width and colours. `--width` and `--color` have the same effect without one.

use unicode_width::UnicodeWidthStr;

use crate::common::{flow, text, trace};

/// The verbs that print tables or trees.
fn verbs(other: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["report"],
        vec!["report", "--callers", "**"],
        vec!["report", "--callees", "**"],
        vec!["report", "--paths", "frequent"],
        vec!["graph"],
        vec!["replay"],
        vec!["replay", "--method", "**#work"],
        vec!["view", "--once", "--thread", "main"],
        vec!["info"],
        vec!["check"],
        vec!["diff", "--by", "calls", other],
    ]
}

/// Text without escape sequences.
fn plain(styled: &str) -> String {
    let mut plain = String::new();
    for part in styled.split('\u{1b}') {
        let rest = part.strip_prefix('[').and_then(|part| part.split_once('m'));
        plain.push_str(rest.map_or(part, |(_, rest)| rest));
    }
    plain
}

#[test]
fn no_line_is_wider_than_requested_and_no_method_is_cut() {
    let trace = trace();
    let other = text(trace.path());
    for verb in verbs(&other) {
        let wide = flow(&[&verb[..], &["--width", "500"]].concat(), trace.path());
        assert_eq!(wide.out, flow(&verb, trace.path()).out, "{verb:?}");
        for columns in [48, 80, 120] {
            let width = columns.to_string();
            let run = flow(&[&verb[..], &["--width", &width]].concat(), trace.path());
            // A line of `info` may have a single word that is longer.
            for line in run.out.lines() {
                assert!(line.width() <= columns, "{verb:?} {columns}: {line}");
            }
            for method in ["work(", "main("] {
                let count = |text: &str| text.matches(method).count();
                let is_list = verb.contains(&"check") || verb.contains(&"info");
                let is_kept = is_list || count(&run.out) > 0 || count(&wide.out) == 0;
                assert!(is_kept, "{verb:?} {columns}: {}", run.out);
            }
        }
    }
}

#[test]
fn colours_change_nothing_but_colours() {
    let trace = trace();
    let other = text(trace.path());
    for verb in verbs(&other) {
        let verb = [&verb[..], &["--width", "80"]].concat();
        let without = flow(&verb, trace.path());
        let styled = flow(&[&verb[..], &["--color", "always"]].concat(), trace.path());
        assert_eq!(plain(&styled.out), without.out, "{verb:?}");
        assert!(!without.out.contains('\u{1b}'), "{verb:?}");
    }
    let run = flow(&["report", "--color", "always", "--by", "calls"], trace.path());
    let main = "\u{1b}[2mcom.app.\u{1b}[0mMain.\u{1b}[1mmain\u{1b}[0m\u{1b}[2m(String[])\u{1b}[0m";
    assert!(run.out.contains(main), "{}", run.out);
    // Where there is room, shares have bars.
    assert!(run.out.contains('─') && run.out.contains('━'), "{}", run.out);
    for format in ["json", "csv"] {
        let run = flow(&["report", "--color", "always", "--format", format], trace.path());
        assert!(!run.out.contains('\u{1b}'), "{}", run.out);
    }
}
