//! The command line of `java`: options, what it runs, and arguments.

use std::collections::VecDeque;
use std::fs;

use super::surroundings::Surroundings;

/// Options with a value in the next word.
const WITH_VALUE: [&str; 9] = [
    "--upgrade-module-path",
    "--add-modules",
    "--limit-modules",
    "--add-reads",
    "--add-exports",
    "--add-opens",
    "--patch-module",
    "--enable-native-access",
    SOURCE,
];
/// With this option, `java` takes a file without `.java` as a source, too.
const SOURCE: &str = "--source";

const AGENTS: [&str; 3] = ["-javaagent:", "-agentpath:", "-agentlib:"];
const CLASS_PATH: [&str; 3] = ["-cp", "-classpath", "--class-path"];
const MODULE_PATH: [&str; 2] = ["-p", "--module-path"];
const MODULE: [&str; 2] = ["-m", "--module"];

/// What a command line of `java` runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct JavaCommand {
    pub(super) main: Main,
    /// The elements of the class path, without `-cp` those of `CLASSPATH` or the current directory.
    pub(super) class_path: Vec<String>,
    pub(super) module_path: Vec<String>,
    /// The arguments of the program.
    pub(super) arguments: Vec<String>,
    /// How many of the words after `java` end with the last agent of the program.
    pub(super) agents: usize,
}

/// Returns the options of a command line of `java`, those in argument files too. The command line may run nothing.
pub(super) fn options(
    arguments: impl Iterator<Item = String>,
    around: &Surroundings,
) -> Vec<String> {
    let mut words = Words::new(arguments, around);
    // The main class comes after all options.
    let _ = JavaCommand::read(&mut words);
    words.read
}

/// What `java` was asked to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Main {
    Class(String),
    Jar(String),
    Module { name: String, class: Option<String> },
    Source(String),
}

impl JavaCommand {
    /// Reads the words after `java`. `None` if it runs nothing, as with `-version`.
    pub(super) fn parse(
        arguments: impl Iterator<Item = String>,
        surroundings: &Surroundings,
    ) -> Option<Self> {
        Self::read(&mut Words::new(arguments, surroundings))
    }

    fn read(words: &mut Words<'_>) -> Option<Self> {
        let (mut class_path, mut module_path) = (None, Vec::new());
        let mut is_source = false;
        let mut agents = 0;
        let mut at;
        let main = loop {
            let word = words.next()?;
            at = words.at;
            if AGENTS.iter().any(|agent| word.starts_with(agent)) {
                agents = at + 1;
            }
            let (key, value) = match word.split_once('=') {
                Some((key, value)) if key.starts_with("--") => (key, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            let mut value = || value.clone().or_else(|| words.next());
            if CLASS_PATH.contains(&key) {
                class_path = value();
            } else if MODULE_PATH.contains(&key) {
                module_path = elements(&value()?);
            } else if MODULE.contains(&key) {
                let module = value()?;
                break match module.split_once('/') {
                    Some((name, class)) => {
                        Main::Module { name: name.to_owned(), class: Some(class.to_owned()) }
                    }
                    None => Main::Module { name: module, class: None },
                };
            } else if key == "-jar" {
                break Main::Jar(value()?);
            } else if WITH_VALUE.contains(&key) {
                is_source |= key == SOURCE;
                value()?;
            } else if !word.starts_with('-') {
                break match is_source || word.ends_with(".java") {
                    true => Main::Source(word),
                    false => Main::Class(word.replace('/', ".")),
                };
            }
        };
        let class_path = match (class_path, &main) {
            (Some(path), _) => elements(&path),
            (None, Main::Module { .. }) => Vec::new(),
            (None, _) => elements(words.surroundings.class_path.as_deref().unwrap_or(".")),
        };
        let arguments = words.words.drain(..).map(|(_, word)| word).collect();
        // An argument file may have both agents and the main class.
        Some(Self { main, class_path, module_path, arguments, agents: agents.min(at) })
    }

    /// The class paths that the program gets as arguments, such as JUnit's console launcher.
    pub(super) fn class_path_arguments(&self) -> impl Iterator<Item = String> {
        let next = self.arguments.iter().skip(1).map(Some).chain([None]);
        self.arguments.iter().zip(next).flat_map(|(word, next)| match word.split_once('=') {
            Some((key, value)) if CLASS_PATH.contains(&key) => elements(value),
            None if CLASS_PATH.contains(&word.as_str()) || word == "--classpath" => {
                next.map_or_else(Vec::new, |path| elements(path))
            }
            _ => Vec::new(),
        })
    }
}

/// The elements of a path; an empty one is the current directory.
fn elements(path: &str) -> Vec<String> {
    path.split(':')
        .map(|element| if element.is_empty() { "." } else { element }.to_owned())
        .collect()
}

/// Words of which `@FILE` is replaced by those in the file.
struct Words<'a> {
    /// Words to be read, each with the number of the word of the command line that it is from.
    words: VecDeque<(usize, String)>,
    surroundings: &'a Surroundings,
    /// Words that were read. `at` is the number of the last one.
    read: Vec<String>,
    at: usize,
}

impl<'a> Words<'a> {
    fn new(words: impl Iterator<Item = String>, surroundings: &'a Surroundings) -> Self {
        Self { words: words.enumerate().collect(), surroundings, read: Vec::new(), at: 0 }
    }

    fn next(&mut self) -> Option<String> {
        let word = self.next_word()?;
        self.read.push(word.clone());
        Some(word)
    }

    fn next_word(&mut self) -> Option<String> {
        loop {
            let (at, word) = self.words.pop_front()?;
            self.at = at;
            let Some(file) = word.strip_prefix('@') else { return Some(word) };
            if let Some(escaped) = file.strip_prefix('@') {
                return Some(format!("@{escaped}"));
            }
            let text = fs::read_to_string(self.surroundings.regular_file(file)?).ok()?;
            for word in words_of(&text).into_iter().rev() {
                self.words.push_front((at, word));
            }
        }
    }
}

/// The words of an argument file. A word may have parts between quotes, in which a backslash escapes; `#` begins a comment.
fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        let mut word = String::new();
        let mut quote = None;
        match chars.peek() {
            None => return words,
            Some('#') => {
                while chars.next_if(|c| *c != '\n').is_some() {}
                continue;
            }
            Some(_) => {}
        }
        while let Some(c) = chars.next_if(|c| quote.is_some() || !c.is_whitespace()) {
            match (c, quote) {
                ('\\', Some(_)) => match chars.next() {
                    // The line continues after the blanks of the next one.
                    Some('\n') => while chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {},
                    Some('n') => word.push('\n'),
                    Some('t') => word.push('\t'),
                    other => word.extend(other),
                },
                (c, Some(open)) if c == open => quote = None,
                ('"' | '\'', None) => quote = Some(c),
                (c, _) => word.push(c),
            }
        }
        words.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Option<JavaCommand> {
        let nowhere = Surroundings { root: "/".into(), directory: ".".into(), class_path: None };
        JavaCommand::parse(line.split(' ').map(str::to_owned), &nowhere)
    }

    #[test]
    fn options_come_before_what_is_run() {
        for (line, main, path) in [
            ("-Xmx1g -jar app.jar -cp x", Main::Jar("app.jar".into()), &["."][..]),
            (
                "--add-opens a/b=c -cp a:b/* -ea com.app.Main -jar x",
                Main::Class("com.app.Main".into()),
                &["a", "b/*"],
            ),
            ("--class-path=a: com/app/Main", Main::Class("com.app.Main".into()), &["a", "."]),
            (
                "-p mods -m app/com.app.Main",
                Main::Module { name: "app".into(), class: Some("com.app.Main".into()) },
                &[],
            ),
            ("--module=app", Main::Module { name: "app".into(), class: None }, &[]),
            ("X.java a.jar", Main::Source("X.java".into()), &["."]),
            ("--source 17 bin/x", Main::Source("bin/x".into()), &["."]),
            ("--source=17 x", Main::Source("x".into()), &["."]),
        ] {
            let command = parse(line).unwrap();
            assert_eq!(
                (command.main, command.class_path),
                (main, path.iter().map(|s| (*s).to_owned()).collect())
            );
        }
        assert_eq!(parse("-version"), None);
        assert_eq!(parse("-cp"), None);
        assert_eq!(parse("@no-such-file Main"), None);
    }

    #[test]
    fn argument_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("args"), "# ours\n-cp \"a b:c\\\\d\"\n  @more\n").unwrap();
        fs::write(dir.path().join("more"), "Main x").unwrap();
        let around =
            Surroundings { root: "/".into(), directory: dir.path().into(), class_path: None };
        let command = JavaCommand::parse(["@args".to_owned()].into_iter(), &around).unwrap();
        assert_eq!(command.main, Main::Class("Main".into()));
        assert_eq!(command.class_path, ["a b", "c\\d"]);
        assert_eq!(command.arguments, ["x"]);
        let read = options(["-Xint", "@args"].map(str::to_owned).into_iter(), &around);
        assert_eq!(read, ["-Xint", "-cp", "a b:c\\d", "Main"]);
        // As `@<(…)` of a shell, which can be read once. Opening this one would wait for ever.
        let pipe = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let words = [format!("@{}", pipe.display()), "Main".to_owned()];
        assert_eq!(JavaCommand::parse(words.into_iter(), &around), None);
    }

    #[test]
    fn agents_are_found_in_argument_files_too() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("agents"), "-javaagent:a.jar -Xint").unwrap();
        fs::write(dir.path().join("all"), "-javaagent:a.jar A").unwrap();
        let around =
            Surroundings { root: "/".into(), directory: dir.path().into(), class_path: None };
        for (line, agents) in [
            ("-Xint A -javaagent:a.jar", 0),
            ("-Xint -agentlib:jdwp=x -cp x A b", 2),
            ("-Xint @agents -jar x.jar", 2),
            ("-Xint -javaagent:b.jar @all b", 2),
        ] {
            let words = line.split(' ').map(str::to_owned);
            assert_eq!(JavaCommand::parse(words, &around).unwrap().agents, agents, "{line}");
        }
    }

    #[test]
    fn the_class_path_of_a_test_launcher_is_an_argument() {
        let paths = |line| parse(line).unwrap().class_path_arguments().collect::<Vec<_>>();
        assert_eq!(paths("-jar junit.jar execute --class-path a:b --scan"), ["a", "b"]);
        assert_eq!(paths("-jar junit.jar --class-path=a"), ["a"]);
        assert!(paths("-jar app.jar x -cp").is_empty());
    }
}
