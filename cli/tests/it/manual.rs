//! Completions and manual pages. They are generated from the definition of the command line, so only the
//! generation is tested.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::common::{Run, command};

fn run(args: &[&str]) -> Run {
    command().args(args).output().unwrap().into()
}

/// The verbs, as the help lists them.
fn verbs() -> Vec<String> {
    let help = run(&["--help"]).out;
    let (_, list) = help.split_once("\nRecord:\n").unwrap();
    let (list, _) = list.split_once("\nOptions:\n").unwrap();
    let lines = list.lines().filter(|line| line.starts_with("  "));
    lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn every_verb_has_its_page_and_is_in_the_manual() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("share/man/man1");
    let run_out = run(&["help", "man", "--out", out.to_str().unwrap()]);
    assert_eq!((run_out.code, run_out.out.as_str()), (Some(0), ""), "{}", run_out.err);
    let manual = run(&["help", "man"]).out;
    assert_eq!(fs::read_to_string(out.join("flow.1")).unwrap(), manual);
    let verbs = verbs();
    assert!(verbs.len() >= 10, "{verbs:?}");
    for verb in &verbs {
        assert!(manual.contains(&format!("flow\\-{verb}(1)")), "{verb}: {manual}");
        let page = run(&["help", "man", verb]).out;
        assert_eq!(fs::read_to_string(out.join(format!("flow-{verb}.1"))).unwrap(), page);
        assert!(page.contains(&format!(".TH flow-{verb} 1")), "{verb}: {page}");
        assert!(page.contains("\\-\\-color"), "flags of all verbs are on each page: {page}");
    }
    assert_eq!(fs::read_dir(&out).unwrap().count(), verbs.len() + 1);
}

#[test]
fn examples_stand_line_by_line_in_the_manual() {
    let page = run(&["help", "man", "help"]).out;
    let (_, notes) = page.split_once(".SH NOTES\nExamples:\n.nf\n").unwrap();
    assert!(notes.starts_with("  flow help report\n"), "{notes}");
}

#[test]
fn the_manual_has_every_option_of_every_verb() {
    let manual = run(&["help", "man"]).out.replace("\\-", "-");
    for verb in verbs() {
        let (_, section) =
            manual.split_once(&format!(".SH \"FLOW {}\"", verb.to_uppercase())).unwrap();
        let section = section.split("\n.SH ").next().unwrap();
        let help = run(&[&verb, "--help"]).out;
        let words = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
        let options: Vec<_> =
            words.filter_map(|line| line.split([' ', ',', '.', '[']).next()).collect();
        assert!(options.len() >= 3, "{help}");
        for option in options {
            assert!(section.contains(option), "{verb} {option}: {section}");
        }
    }
}

#[test]
fn help_has_one_layout_and_fits() {
    for verb in verbs() {
        let help = |flag: &str, columns: &str| -> String {
            let output = command().args([&verb, flag]).env("COLUMNS", columns).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        for columns in ["80", "100", "200"] {
            let most = columns.parse::<usize>().unwrap().min(100);
            for flag in ["-h", "--help"] {
                let text = help(flag, columns);
                let long = text.lines().find(|line| line.chars().count() > most);
                assert_eq!(long, None, "{verb} {flag} {columns}");
            }
            let short = help("-h", columns);
            assert!(short.contains("(see more with '--help')") && !short.contains("Examples:"));
            let long = help("--help", columns);
            assert!(long.contains("(see a summary with '-h')") && long.contains("\nExamples:\n"));
        }
    }
}

#[test]
fn a_page_that_is_not_there_is_refused_with_those_that_are() {
    let run = run(&["help", "man", "reprot"]);
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    assert!(run.err.starts_with("flow: no verb 'reprot'; there are: record, "), "{}", run.err);
}

#[test]
fn completions_are_scripts_that_know_every_verb() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&["help", "completions", shell]).out;
        for verb in verbs() {
            assert!(script.contains(&verb), "{shell}: {verb}");
        }
    }
    assert_eq!(run(&["help", "completions", "cmd.exe"]).code, Some(2));
}

#[test]
fn bash_reads_its_completions_and_completes_verbs_and_flags() {
    let script = run(&["help", "completions", "bash"]).out
        + r#"
complete_line() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _flow flow "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    echo "${COMPREPLY[@]}"
}
complete_line flow rep
complete_line flow report --sor
complete_line flow report --sort t
"#;
    let mut bash = std::process::Command::new("bash")
        .args(["--norc", "-s"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    bash.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let run: Run = bash.wait_with_output().unwrap().into();
    assert_eq!((run.out.as_str(), run.err.as_str()), ("replay report\n--sort\ntotal\n", ""));
}
