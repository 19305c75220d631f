//! The commands whose output is compared.

/// Verbs with flags, run in each of [`FORMATS`].
///
/// A word `W` is a time range, `M` a method, `T` a thread and `P` a file for a page; see [`Values`].
const TABLES: &[&str] = &[
    "info",
    "info --verbose --sort calls",
    "info --max 1",
    "report",
    "report --by calls",
    "report --by time --sort self --max 5",
    "report --time W",
    "report --min-duration 200us",
    "report --time W --min-duration 100us --exclude M",
    "report --time 3ms.. --by calls",
    "report --include M",
    "report --test *",
    "report --test *t1* --by time",
    "report --slowest 12",
    "report --slowest 5 --time W --exclude M",
    "report --slowest 400 --test *",
    "report --callers M",
    "report --callees M --by calls",
    "report --callees M --time W",
    "report --callers M --min-duration 50us",
    "report --paths longest",
    "report --paths deepest",
    "report --paths frequent",
    "report --paths frequent --by time --time W",
    "report --thread T",
    "graph",
    "graph --by calls --depth 4",
    "graph --time W --min 1",
    "graph --min-duration 100us --sort self",
    "graph --method M",
    "graph --per-thread --exclude M",
    "graph --test *",
    "tests",
    "tests --verbose --sort name",
    "tests --exclude M",
    "replay --max 3000",
    "replay --verbose --max 200",
    "replay --time --max 5000",
    "replay --time --test * --max 3000",
    "replay --test * --max 500",
    "replay --min-duration 300us --max 2000",
    "replay --min-duration 300us --depth 4",
    "replay --time --exclude M --max 2000",
    "replay --method M --max 100",
    "replay --method M --time --max 100",
    "replay --method M --depth 2 --time --min-duration 50us --max 100",
    "replay --depth 3 --max 2000",
    "replay --thread 1 --from 900 --time --max 100",
    "replay --thread 1 --from event:500 --max 100",
    "replay --thread 1 --from M --max 50",
    "replay --from 4ms --max 100",
    "replay --from 4ms --time --max 100",
    "replay --thread 1 --test *t1* --from 50 --time --max 50",
    "dump --max 2000",
    "dump --marks --max 3000",
    "check",
    "diff clean",
    "diff clean --by time",
    "shapes M",
    "shapes M --max 3",
];

/// Verbs with flags that have one format only.
const OTHERS: &[&str] = &[
    "replay --collapse --max 300",
    "replay --collapse --time --max 300",
    "replay --collapse --depth 3 --time --test * --max 300",
    "report --html P",
    "report --html P --time W",
    "report --html P --min-duration 100us --exclude M",
    "report --html P --by calls",
    "report --html P --test *",
    "diff clean --exact",
];

/// Flags of `export`, run with each of [`EXPORTS`].
const EXPORT_FLAGS: &[&str] = &[
    "",
    "--by calls",
    "--time W",
    "--min-duration 100us",
    "--time W --min-duration 50us --exclude M --depth 5",
    "--include M --depth 2",
    "--test *",
    "--estimate",
];

const FORMATS: &[&str] = &["text", "json", "csv"];

const EXPORTS: &[&str] = &[
    "perfetto",
    "chrome",
    "speedscope",
    "firefox",
    "pprof",
    "collapsed",
    "svg",
    "jsonl",
    "csv",
    "hpl",
];

/// Flags that have another name in older builds: newer and older name.
pub(super) const RENAMED: &[(&str, &str)] = &[("--collapse", "--fold")];

/// Returns the commands for a trace, as `TRACE: VERB FLAGS`.
pub(super) fn commands_of(trace: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for table in TABLES {
        for format in FORMATS {
            commands.push(format!("{trace}: {table} --format {format}"));
        }
    }
    for other in OTHERS {
        commands.push(format!("{trace}: {other}"));
    }
    for target in EXPORTS {
        for flags in EXPORT_FLAGS {
            commands.push(
                format!("{trace}: export --force --to {target} {flags}").trim_end().to_owned(),
            );
        }
    }
    commands
}

/// What the words in commands mean, besides the file for a page.
#[derive(Clone, Debug)]
pub(super) struct Values {
    pub(super) method: String,
    pub(super) thread: String,
}

impl Default for Values {
    /// Those of traces that `codec/examples/generate` wrote.
    fn default() -> Self {
        Self { method: "Work*#fib".to_owned(), thread: "worker*".to_owned() }
    }
}

impl Values {
    fn of<'a>(&'a self, word: &'a str, page: &'a str) -> &'a str {
        match word {
            "W" => "2ms..9ms",
            "M" => &self.method,
            "T" => &self.thread,
            "P" => page,
            _ => word,
        }
    }
}

/// Returns the trace and the arguments of flow of a command. `page` is the file for a page.
pub(super) fn arguments_of(command: &str, page: &str, values: &Values) -> (String, Vec<String>) {
    let (trace, words) = command.split_once(": ").unwrap_or_default();
    let mut arguments: Vec<String> =
        words.split_whitespace().map(|word| values.of(word, page).to_owned()).collect();
    if words.starts_with("diff ") {
        arguments.insert(1, trace.to_owned());
    } else {
        arguments.push(trace.to_owned());
    }
    (trace.to_owned(), arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trace_has_every_command_once() {
        let mut commands = commands_of("clean");
        let count = commands.len();
        assert_eq!(count, TABLES.len() * 3 + OTHERS.len() + 10 * 8);
        commands.sort();
        commands.dedup();
        assert_eq!(commands.len(), count);
    }

    #[test]
    fn placeholders_become_values_and_the_trace_is_the_last_argument() {
        let (trace, arguments) =
            arguments_of("a: report --html P --time W --exclude M", "/p.html", &Values::default());
        let expected =
            ["report", "--html", "/p.html", "--time", "2ms..9ms", "--exclude", "Work*#fib"];
        assert_eq!(trace, "a");
        assert_eq!(arguments, [&expected[..], &["a"]].concat());
    }

    #[test]
    fn the_trace_is_what_diff_compares_with_another() {
        let (_, arguments) = arguments_of("a: diff clean --by time", "", &Values::default());
        assert_eq!(arguments, ["diff", "a", "clean", "--by", "time"]);
    }
}
