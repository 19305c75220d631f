//! Finds the `java` that a command starts through another program: `timeout 9 java …`, `sh -c 'java …'`, or a source file that
//! begins with `#!`.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::cmd::recording::agent::is_java;

/// Programs that run the command in their arguments, and nothing else, in the same directory.
const WRAPPERS: [&str; 13] = [
    "chrt", "env", "ionice", "nice", "nohup", "numactl", "setpriv", "setsid", "stdbuf", "taskset",
    "time", "timeout", "xvfb-run",
];
const SHELLS: [&str; 4] = ["bash", "dash", "sh", "zsh"];
/// Options with which a wrapper changes the directory.
const CHANGES_DIRECTORY: [&str; 2] = ["-C", "--chdir"];
/// Characters in a line of a shell that does more than run a program with these words.
const SHELL_SYNTAX: &[char] =
    &[';', '&', '|', '$', '`', '(', ')', '{', '}', '*', '?', '~', '\\', '#', '\n', '<', '>'];
/// How many bytes of a file are searched for its first line.
const HEAD_BYTES: u64 = 4096;

/// Returns the arguments of the only `java` that a command runs, if that is known.
pub(super) fn java_arguments(command: &[OsString]) -> Option<Vec<OsString>> {
    let (program, arguments) = command.split_first()?;
    if is_java(program) {
        return Some(arguments.to_vec());
    }
    let path = Path::new(program);
    let name = path.file_name()?.to_str()?;
    if WRAPPERS.contains(&name) {
        let is_elsewhere = |word: &OsString| {
            word.to_str()
                .is_some_and(|word| CHANGES_DIRECTORY.iter().any(|option| word.starts_with(option)))
        };
        let is_program = |word: &OsString| {
            // `JAVA=/usr/bin/java` is a variable for `env`.
            let word = word.to_str().filter(|word| !word.contains('='));
            let name = word.and_then(|word| Path::new(word).file_name()?.to_str());
            name.is_some_and(|name| is_java(name.as_ref()) || SHELLS.contains(&name))
        };
        let at = arguments.iter().position(is_program)?;
        let (options, inner) = arguments.split_at(at);
        return if options.iter().any(is_elsewhere) { None } else { java_arguments(inner) };
    }
    if SHELLS.contains(&name) {
        return match arguments {
            [option, line, ..] if option == "-c" => java_arguments(&words_of(line.to_str()?)?),
            _ => None,
        };
    }
    // Only a name with a slash is a path; the shell and the kernel search other names in `PATH`.
    let mut words = if path.components().count() > 1 { interpreter(path)? } else { return None };
    words.push(program.clone());
    words.extend_from_slice(arguments);
    java_arguments(&words)
}

/// Returns a command from its name on: a shell calls the line of `sh -c LINE NAME …` by that name, any other command begins with it.
pub(super) fn from_name(command: &[OsString]) -> &[OsString] {
    match command {
        [shell, option, _, named @ ..] if option == "-c" && !named.is_empty() => {
            let file = Path::new(shell).file_name().unwrap_or_default();
            if SHELLS.iter().any(|name| file == *name) { named } else { command }
        }
        _ => command,
    }
}

/// Returns the words of a line of a shell that only runs a program.
fn words_of(line: &str) -> Option<Vec<OsString>> {
    if line.contains(SHELL_SYNTAX) {
        return None;
    }
    let mut words = Vec::new();
    let mut chars = line.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        if chars.peek().is_none() {
            break;
        }
        let mut word = String::new();
        while let Some(c) = chars.next_if(|c| !c.is_whitespace()) {
            match c {
                '\'' | '"' => word.extend(chars.by_ref().take_while(|next| *next != c)),
                c => word.push(c),
            }
        }
        words.push(word);
    }
    let is_before = |word: &&String| *word == "exec" || word.contains('=');
    let skipped = words.iter().take_while(is_before).count();
    Some(words.into_iter().skip(skipped).map(OsString::from).collect())
}

/// Returns the program of a file that begins with `#!`, and its arguments.
fn interpreter(path: &Path) -> Option<Vec<OsString>> {
    // Only a regular file can be read twice; a pipe cannot.
    let mut head = Vec::new();
    if !path.is_file() {
        return None;
    }
    File::open(path).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head);
    let line = head.lines().next()?.strip_prefix("#!")?;
    let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    let name = Path::new(words.first()?).file_name()?;
    (name == "env" || is_java(name)).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(words: &[&str]) -> Option<String> {
        let words: Vec<_> = words.iter().map(OsString::from).collect();
        let found = java_arguments(&words)?;
        Some(found.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn the_java_of_a_wrapper_is_found() {
        for words in [
            &["java", "-cp", "x", "a.B"][..],
            &["timeout", "4", "/jdk/bin/java", "-cp", "x", "a.B"],
            &["env", "A=b", "nice", "-n", "5", "java", "-cp", "x", "a.B"],
            &["sh", "-c", "java -cp x a.B"],
            &["nohup", "/bin/bash", "-c", " A=b exec '/my jdk/java' -cp \"x\" a.B"],
        ] {
            assert_eq!(arguments(words).as_deref(), Some("-cp x a.B"), "{words:?}");
        }
        for unknown in [
            &["mvn", "java"][..],
            &["env", "-C", "dir", "java", "-cp", "x", "a.B"],
            &["env", "--chdir=dir", "java", "a.B"],
            &["env", "JAVA=/usr/bin/java", "mvn", "test"],
            &["sh", "-c", "cd dir && java a.B"],
            &["sh", "-c", "java a.B; java c.D"],
            &["sh", "-c", "java -cp $CP a.B"],
            &["sh", "script.sh", "java"],
            &["timeout", "4"],
            &[],
        ] {
            assert_eq!(arguments(unknown), None, "{unknown:?}");
        }
    }

    #[test]
    fn a_line_of_a_shell_may_have_a_name() {
        let name = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(OsString::from).collect();
            from_name(&words)[0].to_str().unwrap().to_owned()
        };
        assert_eq!(name(&["sh", "-c", "cat", "mvn", "--file", "x"]), "mvn");
        assert_eq!(name(&["/bin/sh", "-c", "mvn test"]), "/bin/sh");
        assert_eq!(name(&["python3", "-c", "pass", "x"]), "python3");
    }

    #[test]
    fn a_source_that_names_java_is_run_by_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let hi = file("hi", "#!/jdk/bin/java --source 17\nclass Hi {}\n");
        assert_eq!(arguments(&[&hi, "a"]), Some(format!("--source 17 {hi} a")));
        let hi = file("hi-21", "#!/usr/bin/env -S java --source 21\nclass Hi {}\n");
        assert_eq!(arguments(&[&hi]), Some(format!("--source 21 {hi}")));
        assert_eq!(arguments(&[&file("script", "#!/bin/sh\njava a.B\n")]), None);
        assert_eq!(arguments(&[&file("text", "java a.B")]), None);
    }
}
