//! The commands whose output is compared: `commands.txt`, read.

use crate::base::failure::{Failure, Result};

const LIST: &str = include_str!("commands.txt");

/// Formats of a section of the list, after `== `.
const WITH_FORMATS: [(&str, &[&str]); 2] =
    [("text json csv", &["text", "json", "csv"]), ("text json", &["text", "json"])];
const AS_WRITTEN: &str = "as written";
const WITHOUT_TRACE: &str = "without a trace";
const NOT_COMPARED: &str = "not compared, besides the help";

/// A command of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    /// Verb and flags, maybe of several commands joined by `&&`.
    pub(crate) line: String,
    /// Why the answer depends on what is stored beside the trace.
    pub(super) states_differ: bool,
    /// Why the answer depends on whether the trace is a directory, a file or on standard input.
    pub(super) forms_differ: bool,
    /// Whether it runs on large traces, too: of the formats of a line, one does, in turns.
    pub(super) is_for_large: bool,
    pub(crate) needs_trace: bool,
}

/// Returns all commands, those with `{a|b}` once for each.
pub(crate) fn all() -> Vec<Command> {
    parse(LIST).expect("a test reads it")
}

fn parse(list: &str) -> Result<Vec<Command>> {
    let (mut commands, mut section, mut turn) = (Vec::new(), "", 0);
    for line in
        list.lines().filter(|line| !line.is_empty() && !line.starts_with("# ") && *line != "#")
    {
        if let Some(title) = line.strip_prefix("== ") {
            section = title;
            continue;
        }
        let (line, remark) = line.split_once("  #").unwrap_or((line, ""));
        let command = |line: String, is_for_large: bool| Command {
            states_differ: remark.contains("states differ: "),
            forms_differ: remark.contains("forms differ: "),
            is_for_large: is_for_large && !remark.contains("small: "),
            needs_trace: section != WITHOUT_TRACE,
            line,
        };
        let with_formats = WITH_FORMATS.iter().find(|(title, _)| *title == section);
        match (section, with_formats) {
            (_, Some((_, formats))) => {
                let in_format = |line: &str, format| {
                    let commands = line.split(" && ");
                    let words = commands.map(|command| format!("{command} --format {format}"));
                    words.collect::<Vec<_>>().join(" && ")
                };
                for line in alternatives(line) {
                    turn += 1;
                    commands.extend(formats.iter().enumerate().map(|(at, format)| {
                        command(in_format(&line, format), at == turn % formats.len())
                    }));
                }
            }
            (AS_WRITTEN | WITHOUT_TRACE, _) => {
                commands.extend(alternatives(line).into_iter().map(|line| command(line, true)));
            }
            (NOT_COMPARED, _) => {}
            _ => {
                return Err(Failure::Failed(format!(
                    "commands.txt: == {section}: no such section"
                )));
            }
        }
    }
    Ok(commands)
}

/// Returns a line with the first, the second, … word of each `{a|b}`: as many lines as the longest one has words, in which
/// shorter ones begin again.
fn alternatives(line: &str) -> Vec<String> {
    let pieces: Vec<Vec<&str>> = line
        .split(['{', '}'])
        .enumerate()
        .map(|(at, piece)| if at % 2 == 0 { vec![piece] } else { piece.split('|').collect() })
        .collect();
    let count = pieces.iter().map(Vec::len).max().unwrap_or(0);
    (0..count).map(|at| pieces.iter().map(|piece| piece[at % piece.len()]).collect()).collect()
}

/// Method, thread and range of time of the program that is recorded.
pub(crate) const RECORDED: [&str; 3] = ["Recorded#add", "main", "2ms..40ms"];

/// What the words in commands mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    /// The trace, and another run of the program.
    pub(crate) trace: String,
    pub(crate) other: String,
    pub(crate) method: &'static str,
    pub(crate) thread: &'static str,
    pub(crate) range: &'static str,
}

impl Words {
    /// Returns the arguments of each command of a line.
    pub(crate) fn arguments(&self, command: &Command) -> Vec<Vec<String>> {
        let arguments = |line: &str| {
            let words = split(line);
            let is_trace = |word: &&str| *word == "T" || word.starts_with("T:");
            let names_trace = words.iter().any(|word| is_trace(word) || word.starts_with('Q'));
            let mut arguments: Vec<String> = words.into_iter().map(|word| self.of(word)).collect();
            if command.needs_trace && !names_trace {
                arguments.push(self.trace.clone());
            }
            arguments
        };
        command.line.split(" && ").map(arguments).collect()
    }

    fn of(&self, word: &str) -> String {
        match word {
            "T" => self.trace.clone(),
            "C" => self.other.clone(),
            "M" => self.method.to_owned(),
            "N" => self.thread.to_owned(),
            "W" => self.range.to_owned(),
            // A call of a trace.
            word => match word.split_once(':') {
                Some((trace @ ("T" | "C"), call)) => format!("{}:{call}", self.of(trace)),
                _ => word.to_owned(),
            },
        }
    }
}

/// Returns the words of a line; blanks between single quotes do not separate.
fn split(line: &str) -> Vec<&str> {
    let pieces = line.split('\'').enumerate();
    let words = pieces.map(|(at, piece)| match at % 2 {
        0 => piece.split_whitespace().collect(),
        _ => vec![piece],
    });
    words.collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(list: &str) -> Vec<String> {
        parse(list).unwrap().into_iter().map(|command| command.line).collect()
    }

    #[test]
    fn a_list_has_sections_with_formats_and_alternatives() {
        let list =
            "# x\n== text json\ninfo --sort {a|b|c} {1|2}\n\n== as written\nexport T Q && info Q\n";
        let expected = [
            "info --sort a 1 --format text",
            "info --sort a 1 --format json",
            "info --sort b 2 --format text",
            "info --sort b 2 --format json",
            "info --sort c 1 --format text",
            "info --sort c 1 --format json",
            "export T Q && info Q",
        ];
        assert_eq!(lines(list), expected);
        assert!(parse("== else\ninfo\n").is_err());
    }

    #[test]
    fn no_command_is_twice_in_the_list() {
        let mut commands: Vec<_> = all().into_iter().map(|command| command.line).collect();
        let count = commands.len();
        commands.sort();
        commands.dedup();
        assert!(commands.len() == count && count > 300, "{count}");
    }

    #[test]
    fn words_become_values_and_the_trace_is_the_last_argument() {
        let (method, thread, range) = ("A#m", "main", "1ms..2ms");
        let words = Words { trace: "t".to_owned(), other: "c".to_owned(), method, thread, range };
        let arguments = |line: &str| {
            let parsed = parse(&format!("== as written\n{line}\n")).unwrap();
            words.arguments(&parsed[0])
        };
        assert_eq!(
            arguments("calls M --where 'any contains 1' --thread N  # small: x"),
            [["calls", "A#m", "--where", "any contains 1", "--thread", "main", "t"]]
        );
        assert_eq!(
            arguments("export T Q && info Q"),
            [vec!["export", "t", "Q"], vec!["info", "Q"]]
        );
        assert_eq!(arguments("diff T C --time W"), [["diff", "t", "c", "--time", "1ms..2ms"]]);
        assert_eq!(arguments("diff T:1:2 C:1:3"), [["diff", "t:1:2", "c:1:3"]]);
    }
}
