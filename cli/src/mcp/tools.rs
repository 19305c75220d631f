//! The tools: each is a verb, the words that it always has, and parameters.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::answer::{DEFAULT_BYTES, FEWEST_BYTES, MOST_BYTES};
use super::parameter::{Kind, Parameter};
use super::traces::Traces;
use crate::output::escaped;
use flow_query::select::nearest;

/// A question that a client can ask.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// The verb, and what it always has.
    words: &'static [&'static str],
    pub(super) parameters: &'static [Parameter],
    /// How to ask for less, if an answer is cut.
    pub(super) narrow: &'static str,
    /// What to do after an error.
    pub(super) next: &'static str,
}

/// What a question runs.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) words: Vec<String>,
    /// The trace that is read, if one is.
    pub(super) trace: Option<PathBuf>,
    /// The most bytes of the answer.
    pub(super) bytes: usize,
}

const PATH: Parameter = Parameter::new(
    "path",
    Kind::Trace,
    "The trace: a directory or a .flowtrace file; without it, the newest recording that has calls",
);
const METHOD_ABOUT: &str = "A pattern: Class.method, pkg.Class#method, Class, or pkg.** (* within a package, ** across packages)";
const HANDLE_ABOUT: &str = "The handle of the call: THREAD:N, from another answer";
const TEST: Parameter = Parameter::new(
    "test",
    Kind::Texts("--test"),
    "Only what this test called: its name as the tool tests shows it, * for any text",
);
const THREAD: Parameter = Parameter::new(
    "thread",
    Kind::Texts("--thread"),
    "Only this thread: its id, or its name, * for any text",
);
const TIME: Parameter = Parameter::new(
    "time",
    Kind::Text("--time"),
    "Only what happened between two times, such as 1.5s..2s",
);
const CALL: Parameter = Parameter::new(
    "call",
    Kind::Text("--in"),
    "Only what this call did: THREAD:N, from another answer",
);
const REQUEST: Parameter = Parameter::new(
    "request",
    Kind::Text("--request"),
    "Only this call and what it handed to other threads: THREAD:N (recorded with handovers)",
);
const DEPTH: Parameter =
    Parameter::new("depth", Kind::Number("--depth"), "Only the N outermost levels");
const INCLUDE: Parameter = Parameter::new(
    "include",
    Kind::Texts("--include"),
    "Only methods that match this pattern; callees of hidden calls move up",
);
const EXCLUDE: Parameter =
    Parameter::new("exclude", Kind::Texts("--exclude"), "No methods that match this pattern");
const OWN: Parameter = Parameter::new(
    "own",
    Kind::Switch("--own"),
    "Only methods of the application, without libraries",
);
const MAX: Parameter =
    Parameter::new("max", Kind::Number("--max"), "The most rows; 0 for all that fit");
const BYTES_ABOUT: &str = "The most bytes of the answer: 500 to 64000, by default 8000";
const BYTES: Parameter = Parameter::new("max_bytes", Kind::Bytes(None), BYTES_ABOUT);

/// All tools that read.
pub(super) static TOOLS: [Tool; 12] = [
    Tool {
        name: "recordings",
        about: "Start here. What was recorded: the program, its JVM, how it ended, its threads with their number of calls, and \
                what the recording lacks.",
        words: &["info"],
        parameters: &[
            PATH,
            Parameter::new(
                "all",
                Kind::Switch("--all"),
                "List all recordings, the oldest first, with their tests and calls; a file in the list, below the folder named above it, can be the path of the other tools",
            ),
            BYTES,
        ],
        narrow: "ask without the parameter all, or name a path",
        next: "record the program first: flow record -- COMMAND",
    },
    Tool {
        name: "tests",
        about: "The tests that ran: result, number of calls, duration. With verbose, why a test failed.",
        words: &["tests"],
        parameters: &[
            PATH,
            TEST,
            Parameter::new(
                "sort",
                Kind::Choice("--sort", &["start", "result", "calls", "time", "new", "name"]),
                "Order: result puts failed tests first",
            ),
            Parameter::new(
                "verbose",
                Kind::Switch("--verbose"),
                "Also why a test failed, and which methods no earlier test called",
            ),
            MAX,
            BYTES,
        ],
        narrow: "name a test, or use max",
        next: "recordings shows whether there are tests; report needs none",
    },
    Tool {
        name: "outline",
        about: "What a program, thread or test did, in order, as an indented tree that fits into max_bytes: the largest calls are \
                unfolded first, calls in a row that did the same are one line with ×N, and what is left out is counted. \
                [THREAD:N] on a line with calls left out is the handle of its call; calls shows the others.",
        words: &["replay"],
        parameters: &[
            PATH,
            THREAD,
            TEST,
            CALL,
            REQUEST,
            INCLUDE,
            EXCLUDE,
            OWN,
            DEPTH,
            Parameter::new("max_bytes", Kind::Bytes(Some("--budget")), BYTES_ABOUT),
        ],
        narrow: "name a thread, test or call, or use own, include or depth",
        next: "recordings shows the threads, tests the tests, report the methods",
    },
    Tool {
        name: "steps",
        about: "What one call did, step by step in order: each call in it with arguments and result, exceptions, accesses to fields, \
                and the lines that ran, as far as they were recorded (record with values, exceptions, lines).",
        words: &["replay", "--values", "--lines"],
        parameters: &[
            Parameter::required("call", Kind::Text("--in"), HANDLE_ABOUT),
            PATH,
            INCLUDE,
            EXCLUDE,
            OWN,
            DEPTH,
            Parameter::new("max", Kind::Number("--max"), "The most calls; 0 for all that fit"),
            BYTES,
        ],
        narrow: "use depth, own, include or max",
        next: "calls, outline and around show the handles of calls",
    },
    Tool {
        name: "calls",
        about: "Calls of a method one by one: start, duration, handle (thread and call), caller, test; with their recorded \
                arguments and results if values is set or a condition is given; or the slowest.",
        words: &["calls"],
        parameters: &[
            Parameter::new(
                "method",
                Kind::Word,
                "A pattern: Class.method, pkg.Class#method, Class, or pkg.**; or the name of a shape, from behaviours",
            ),
            PATH,
            Parameter::new(
                "where",
                Kind::Texts("--where"),
                "Conditions on recorded values: 'amount > 10', 'name == \"x\"', 'result == null', 'message contains \"timeout\"', \
                 'order.total > 10'; all must hold",
            ),
            Parameter::new(
                "values",
                Kind::Switch("--values"),
                "Show arguments, results and exceptions",
            ),
            Parameter::new(
                "slowest",
                Kind::Number("--slowest"),
                "The N longest calls, of all methods if there is no method",
            ),
            Parameter::new(
                "preset",
                Kind::Text("--preset"),
                "Instead of calls of a method: sql for SQL statements, http for requests, log for log messages, if these were \
                 recorded; each text once, with its number and its caller; with values one by one. method is then a text that they \
                 contain",
            ),
            Parameter::new(
                "outcome",
                Kind::Choice("--outcome", &["returned", "exception", "cut"]),
                "Only calls that were left in this way",
            ),
            THREAD,
            TEST,
            CALL,
            REQUEST,
            TIME,
            MAX,
            BYTES,
        ],
        narrow: "use where, test, thread, time or max",
        next: "report shows which methods were called; recordings whether values were recorded",
    },
    Tool {
        name: "around",
        about: "The surroundings of one call: its callers from the outermost, the calls before and after it below the same \
                caller, what it called, and the previous and the next call of the same method.",
        words: &["calls"],
        parameters: &[
            Parameter::required("call", Kind::Text("--around"), HANDLE_ABOUT),
            PATH,
            THREAD,
            MAX,
            BYTES,
        ],
        narrow: "use max",
        next: "calls shows the handles of the calls of a method",
    },
    Tool {
        name: "report",
        about: "Which methods were called how often and where the time went: a table; with tree, by path; with callers_of or \
                callees_of, the paths to one or from it. Calls are exact; times are sampled and marked ~ if few samples support them.",
        words: &["report"],
        parameters: &[
            PATH,
            Parameter::new(
                "tree",
                Kind::Switch("--tree"),
                "Show paths of calls, not single methods",
            ),
            Parameter::new(
                "callers_of",
                Kind::Texts("--callers"),
                "Show which methods call this one",
            ),
            Parameter::new(
                "callees_of",
                Kind::Texts("--callees"),
                "Show which methods this one calls",
            ),
            Parameter::new(
                "by",
                Kind::Choice("--by", &["calls", "cpu", "wall"]),
                "What is added up: calls, CPU time, or time with waiting",
            ),
            Parameter::new(
                "depth",
                Kind::Number("--depth"),
                "With tree, callers_of or callees_of: only the N outermost levels",
            ),
            INCLUDE,
            EXCLUDE,
            OWN,
            THREAD,
            TEST,
            CALL,
            REQUEST,
            TIME,
            MAX,
            BYTES,
        ],
        narrow: "use own, include, depth or max",
        next: "recordings shows what was recorded",
    },
    Tool {
        name: "exceptions",
        about: "Exceptions: which methods threw, passed and caught them, and how often; if they were recorded (record with exceptions), \
                also those that ended no call, with line, message and where they were created.",
        words: &["report", "--exceptions"],
        parameters: &[PATH, TEST, THREAD, CALL, MAX, BYTES],
        narrow: "use test, thread, call or max",
        next: "calls with outcome exception shows them one by one",
    },
    Tool {
        name: "compare",
        about: "What differs between two recordings, tests, threads or calls, call by call and in order: the smallest calls that \
                differ, the first one first; and, if values were recorded, the first value that differs in calls that both made \
                (argument, result, exception). Equal behaviour is reported as equal. Give other, or test twice, or thread twice, \
                or two calls; without any, the last two recordings are compared.",
        words: &["diff", "--exact"],
        parameters: &[
            Parameter::new(
                "calls",
                Kind::Words,
                "Two calls to compare: [\"THREAD:N\", \"THREAD:N\"], from another answer",
            ),
            PATH,
            Parameter::new(
                "other",
                Kind::OtherTrace,
                "The recording after the change; path is the one before",
            ),
            TEST,
            THREAD,
            Parameter::new(
                "ignore",
                Kind::Texts("--ignore"),
                "Leave out calls of methods that match this pattern, with all that they call",
            ),
            Parameter::new(
                "ignore_values",
                Kind::Switch("--ignore-values"),
                "Compare only which calls were made, not their values",
            ),
            Parameter::new(
                "next",
                Kind::Number("--next"),
                "Continue after the first N differences",
            ),
            INCLUDE,
            EXCLUDE,
            OWN,
            MAX,
            BYTES,
        ],
        narrow: "name a test, use ignore for what differs from run to run, or use max",
        next: "tests shows the tests of a recording, recordings its threads",
    },
    Tool {
        name: "behaviours",
        about: "In how many ways a method ran: each way with its number of calls, what distinguishes it, and the handle of an example call. odd puts the rarest first.",
        words: &["calls", "--by", "shape"],
        parameters: &[
            Parameter::required("method", Kind::Word, METHOD_ABOUT),
            PATH,
            Parameter::new("odd", Kind::Switch("--odd"), "Show the rarest first"),
            THREAD,
            TEST,
            INCLUDE,
            EXCLUDE,
            OWN,
            MAX,
            BYTES,
        ],
        narrow: "use max, test or thread",
        next: "report shows which methods were called",
    },
    Tool {
        name: "source",
        about: "Lines of source that ran, with how often each ran, for methods whose lines were recorded (record with lines). steps shows the lines of one call in order, with its values.",
        words: &["report", "--lines"],
        parameters: &[
            PATH,
            Parameter::new("method", Kind::Texts("--include"), METHOD_ABOUT),
            TEST,
            THREAD,
            CALL,
            REQUEST,
            MAX,
            BYTES,
        ],
        narrow: "name a method or a test, or use max",
        next: "if no lines were recorded, record again with lines for this method; calls needs none",
    },
    Tool {
        name: "who_runs",
        about: "Which tests reach a method or a line, and how often each calls it. No test means: no recorded test runs this code.",
        words: &["tests"],
        parameters: &[
            Parameter::required(
                "method",
                Kind::Text("--reaching"),
                "A pattern as for calls, or a line: Orders.java:120",
            ),
            PATH,
            MAX,
            BYTES,
        ],
        narrow: "use max",
        next: "tests shows all tests, report which methods were called",
    },
];

/// The tool that runs programs.
pub(super) static RECORD: Tool = Tool {
    name: "record",
    about: "Runs a command in the folder of this server and records the JVMs that it starts. Takes as long as the command. Then \
            ask the other tools, without path: they read the newest recording.",
    words: &["record"],
    parameters: &[
        Parameter::required(
            "command",
            Kind::Words,
            "The command, one string a word: [\"mvn\", \"-q\", \"test\"]",
        ),
        Parameter::new(
            "include",
            Kind::Texts("--include"),
            "Record only methods that match this pattern",
        ),
        Parameter::new(
            "exclude",
            Kind::Texts("--exclude"),
            "Do not record methods that match this pattern",
        ),
        Parameter::new(
            "values",
            Kind::Text("--values"),
            "Also record arguments and results of methods that match this pattern",
        ),
        Parameter::new(
            "exceptions",
            Kind::Text("--exceptions"),
            "Also record exceptions that are caught in methods that match this pattern, with their messages",
        ),
        Parameter::new(
            "lines",
            Kind::Text("--lines"),
            "Also record which lines run in methods that match this pattern",
        ),
        Parameter::new(
            "handovers",
            Kind::Switch("--handovers"),
            "Also record what threads hand to each other, for the parameter request",
        ),
        Parameter::new("all", Kind::Switch("--all"), "Record libraries too"),
        BYTES,
    ],
    narrow: "the rest of its output is not kept",
    next: "command is an array of words; a shell is not started",
};

impl Tool {
    /// Returns the command that a question runs.
    ///
    /// # Errors
    /// An unknown or missing parameter, a value of another type, or a trace that may not be read: a text for the client.
    pub(super) fn command(
        &self,
        given: &Map<String, Value>,
        traces: &Traces,
    ) -> Result<Asked, String> {
        for name in given.keys() {
            if !self.parameters.iter().any(|parameter| parameter.name == name) {
                return Err(self.unknown(name));
            }
        }
        let (mut flags, mut words, mut bytes) = (Vec::new(), Vec::new(), DEFAULT_BYTES);
        let mut trace = None;
        for parameter in self.parameters {
            let (name, kind) = (parameter.name, parameter.kind);
            let value = given.get(name).filter(|value| !value.is_null());
            let given = value.map(|value| kind.words(value)).transpose();
            let given = given.map_err(|expected| {
                let found = value.map_or_else(String::new, |value| shortened(&value.to_string()));
                format!("{name} of {}: expected {expected}, found {found}", self.name)
            })?;
            if given.is_none() && parameter.is_required {
                return Err(format!("{} needs {name}: {}", self.name, parameter.about));
            }
            let texts = given.unwrap_or_default();
            let first = texts.first().map(String::as_str);
            match kind {
                Kind::Word | Kind::Words => words.extend(texts),
                Kind::Trace => {
                    let found = traces.find(first)?;
                    words.push(shown(&found));
                    trace = Some(found);
                }
                Kind::OtherTrace if first.is_some() => words.push(shown(&traces.find(first)?)),
                Kind::OtherTrace => {}
                Kind::Text(flag)
                | Kind::Texts(flag)
                | Kind::Number(flag)
                | Kind::Choice(flag, _) => {
                    flags.extend(texts.iter().map(|text| format!("{flag}={text}")));
                }
                Kind::Switch(flag) if first == Some("true") => flags.push(flag.to_owned()),
                Kind::Switch(_) => {}
                Kind::Bytes(flag) => {
                    let most = first.and_then(|text| text.parse().ok()).unwrap_or(DEFAULT_BYTES);
                    bytes = most.clamp(FEWEST_BYTES, MOST_BYTES);
                    // The command and notes take some.
                    flags.extend(flag.map(|flag| format!("{flag}={}", bytes - FEWEST_BYTES / 2)));
                }
            }
        }
        let fixed = self.words.iter().map(|word| (*word).to_owned());
        let separator = (!words.is_empty()).then(|| "--".to_owned());
        Ok(Asked {
            words: fixed.chain(flags).chain(separator).chain(words).collect(),
            trace,
            bytes,
        })
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<_> = self.parameters.iter().map(|parameter| parameter.name).collect();
        let meant = did_you_mean(name, names.iter().copied());
        let (name, names) = (shortened(name), names.join(", "));
        format!("{} has no parameter {name}{meant}; it has {names}", self.name)
    }

    /// A message of the verb, with the names of parameters instead of flags.
    pub(super) fn in_parameters(&self, message: &str) -> String {
        let flags = self.parameters.iter().filter_map(|p| Some((p.kind.flag()?, p.name)));
        flags.fold(message.to_owned(), |text, (flag, name)| replace_word(&text, flag, name))
    }
}

/// ` (did you mean max?)`: the most similar of some names, if one is similar.
pub(super) fn did_you_mean<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let nearest = nearest(name, names.map(str::to_owned));
    nearest.first().map_or(String::new(), |meant| format!(" (did you mean {meant}?)"))
}

/// Replaces a flag where it is a word of its own: not `--values` in `--values-depth`, and not in a command such as
/// `flow info --all`.
fn replace_word(text: &str, flag: &str, name: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(flag) {
        let is_longer = after.starts_with(|c: char| c == '-' || c.is_ascii_alphanumeric());
        out.push_str(before);
        let sentence = out.rsplit(['(', '\n', ';', ',']).next().unwrap_or_default();
        let is_in_command = sentence.trim_start().starts_with("flow ");
        out.push_str(if is_longer || is_in_command { flag } else { name });
        rest = after;
    }
    out + rest
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Text of a client as a message shows it.
pub(super) fn shortened(text: &str) -> String {
    let short: String = text.chars().take(80).collect();
    escaped(&short).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_parameters_and_keep_commands() {
        let named = |text| replace_word(text, "--max", "max");
        assert_eq!(
            named("… 3 more left out (--max 5; 0 for all)"),
            "… 3 more left out (max 5; 0 for all)"
        );
        assert_eq!(named("--max-size and --max"), "--max-size and max");
        assert_eq!(
            named("2 runs (flow info --max 3 lists them)"),
            "2 runs (flow info --max 3 lists them)"
        );
    }

    #[test]
    fn two_calls_come_before_the_trace() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("t")).unwrap();
        let traces = Traces::at(Some(folder.path()), "flow-trace").unwrap();
        let compare = TOOLS.iter().find(|tool| tool.name == "compare").unwrap();
        let given = serde_json::json!({"path": "t", "calls": ["1:7", "1:15"]});
        let asked = compare.command(given.as_object().unwrap(), &traces).unwrap();
        assert_eq!(asked.words, ["diff", "--exact", "--", "1:7", "1:15", "t"]);
        // A client that writes null gives nothing.
        let given = serde_json::json!({"path": "t", "other": null});
        let asked = compare.command(given.as_object().unwrap(), &traces).unwrap();
        assert_eq!(asked.words, ["diff", "--exact", "--", "t"]);
    }

    #[test]
    fn schemas_name_what_is_needed_and_nothing_else() {
        for tool in TOOLS.iter().chain([&RECORD]) {
            let schema = super::super::parameter::schema(tool.parameters);
            let names = schema["properties"].as_object().unwrap().keys();
            assert_eq!(names.count(), tool.parameters.len(), "{}", tool.name);
            assert_eq!(schema["additionalProperties"], false);
            // What a model reads with each list of tools.
            assert!(tool.about.len() < 600, "{}", tool.name);
        }
    }
}
