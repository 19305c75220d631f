//! How text looks on a terminal: width and colours. `--width` and `--color` have the same effect without one.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use unicode_width::UnicodeWidthStr;

use crate::common::{Run, command, flow, text, trace};

/// The verbs that print tables or trees.
fn verbs(other: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["report"],
        vec!["report", "--callers", "**"],
        vec!["report", "--callees", "**"],
        vec!["report", "--paths", "frequent"],
        vec!["report", "--tree"],
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

/// A project with the source of `com.app.Main`, and a trace of it in `trace`.
fn project() -> TempDir {
    let project = tempfile::tempdir().unwrap();
    let package = project.path().join("my code/src/main/java/com/app");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("Main.java"), "class Main {\n  void work() {}\n}\n").unwrap();
    let trace = trace();
    let method = r#"{"id":1,"class":"com.app.Main","name":"work","descriptor":"(I)I","source":"Main.java","line":2,"loader":"app","flags":[]}"#;
    fs::write(trace.path().join("methods.jsonl"), format!("{method}\n")).unwrap();
    fs::rename(trace.keep(), project.path().join("trace")).unwrap();
    project
}

fn flow_in(project: &Path, args: &[&str], links: Option<&str>) -> Run {
    flow_on(links.map(|links| ("FLOW_LINKS", links)).as_slice(), project, args)
}

/// The same on a terminal with these variables.
fn flow_on(terminal: &[(&str, &str)], project: &Path, args: &[&str]) -> Run {
    let mut command = command();
    command.env("TERM", "xterm").env_remove("TERM_PROGRAM").env_remove("VSCODE_IPC_HOOK_CLI");
    command.envs(terminal.iter().copied()).current_dir(project).args(args).arg("trace");
    command.output().unwrap().into()
}

#[test]
fn names_of_methods_are_links_to_their_source() {
    let project = project();
    let styled = ["report", "--by", "calls", "--color", "always"];
    let off = flow_in(project.path(), &[&styled[..], &["--links", "off"]].concat(), None);
    let file = fs::canonicalize(project.path()).unwrap();
    let file = format!("{}/my%20code/src/main/java/com/app/Main.java", file.display());
    let (open, end) = ("\u{1b}]8;;", "\u{1b}\\");
    for (args, variable, url) in [
        (vec!["--links", "vscode"], None, format!("vscode://file{file}:2")),
        (vec![], Some("idea"), format!("http://localhost:63342/api/file/{file}:2")),
        (vec!["--links", "x:{line}:{path}"], Some("off"), format!("x:2:{file}")),
    ] {
        let run = flow_in(project.path(), &[&styled[..], &args].concat(), variable);
        let start = format!("{open}{url}{end}");
        let row = run
            .out
            .lines()
            .find(|line| line.contains(&start))
            .unwrap_or_else(|| panic!("{url}: {}", run.out));
        assert!(row.ends_with(&format!("{open}{end}")), "{row}");
        assert_eq!(run.out.replace(&start, "").replace(&format!("{open}{end}"), ""), off.out);
    }
    // By default, they are for the terminal.
    assert!(flow_in(project.path(), &styled, None).out.contains(&format!("{open}file://")));
    let code = [("TERM_PROGRAM", "vscode"), ("VSCODE_IPC_HOOK_CLI", "/tmp/vscode-ipc.sock")];
    let local = flow_on(&code[..1], project.path(), &styled);
    assert!(local.out.contains(&format!("{open}vscode://")), "{}", local.out);
    assert_eq!(flow_on(&code, project.path(), &styled).out, off.out);
    let verbose = ["replay", "--verbose", "--color", "always", "--links", "x:{line}:{path}"];
    let verbose = flow_in(project.path(), &verbose, None);
    assert!(
        verbose.out.contains(&format!("({open}x:2:{file}{end}Main.java:2{open}{end}, app)")),
        "{}",
        verbose.out
    );
}

#[test]
fn links_are_where_colours_are() {
    let project = project();
    for args in [
        vec!["report"],
        vec!["report", "--color", "always", "--format", "json"],
        vec!["report", "--color", "always", "--format", "csv"],
    ] {
        let run = flow_in(project.path(), &args, Some("vscode"));
        assert!(run.code == Some(0) && !run.out.contains('\u{1b}'), "{args:?}: {}", run.out);
    }
    // Elsewhere, there are no sources.
    let elsewhere = tempfile::tempdir().unwrap();
    fs::rename(project.path().join("trace"), elsewhere.path().join("trace")).unwrap();
    let run = flow_in(elsewhere.path(), &["report", "--color", "always"], Some("vscode"));
    assert!(run.out.contains('\u{1b}') && !run.out.contains("\u{1b}]8"), "{}", run.out);
    let run = flow_in(elsewhere.path(), &["report"], Some("vim"));
    assert_eq!(run.code, Some(2));
    assert!(
        run.err.contains("invalid value 'vim' for '--links")
            && run.err.contains("expected file, idea"),
        "{}",
        run.err
    );
}
