//! The verbs by purpose in the help of flow, and the text after the options in the long help of a verb.
//!
//! Paragraphs are one line each, because their lines are wrapped where they are shown. Examples are indented, and
//! at most 80 columns wide, so that they are not wrapped.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::StyledStr;
use flow_options::{KEYS, Key};

/// The verbs by purpose.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Record", &["record", "attach", "detach", "snapshot", "listen"]),
    ("Look", &["top", "view"]),
    ("Ask", &["info", "replay", "report", "calls", "tests", "diff", "mcp"]),
    ("Keep, check and explain", &["export", "check", "help"]),
];

/// The width of the names of verbs.
const WIDTH: usize = 8;

/// Lets the help of flow show examples first, and the verbs by purpose.
pub(super) fn by_purpose(command: Command) -> Command {
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let mut verbs = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(verbs, "{header}{title}:{header:#}");
        for name in names {
            let verb = command.find_subcommand(name).and_then(Command::get_about);
            let about = verb.map_or_else(String::new, StyledStr::to_string);
            let _ = writeln!(verbs, "  {literal}{name:WIDTH$}{literal:#}  {about}");
        }
        verbs.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}{{after-help}}\n\n{verbs}{header}Options:{header:#}\n{{options}}"
    );
    command.help_template(template)
}

/// The help of `flow record`, with every option of the agent.
pub(super) fn record() -> String {
    const COLUMNS: usize = 80;
    let line = |key: &Key| {
        let short = format!("  {:<13} {}", key.name, key.about);
        let long = format!("{short}: {}", key.form);
        if long.len() <= COLUMNS { long } else { short }
    };
    let keys: Vec<_> = KEYS.iter().map(line).collect();
    format!(
        "{RECORD_ABOUT}\n\nOptions of the agent, for -O KEY=VALUE, variables such as FLOW_MAX_SIZE, and files for \
         --config (docs/options.md):\n{}\n\n{RECORD_EXAMPLES}",
        keys.join("\n")
    )
}

pub(super) const EXAMPLES: &str = "\
Examples:
  flow record -- java -jar app.jar           record a program
  flow record --target com.app. -- mvn test  record the JVMs that a build starts
  flow attach 4711                           record a JVM that is running
  flow report                                time and calls per method
  flow report --tree --depth 8               where the time went
  flow report --callers 'com.app.Db#query'   where these calls come from
  flow report --time 1.5s..2s                what happened in that half second
  flow report --html page.html               a page for a browser
  flow report app.hpl                        where samples of a program are
  flow calls --slowest 20                    the longest calls
  flow calls 'Orders#total' --by shape       in how many ways a method ran
  flow replay --depth 3 --thread main        calls in order
  flow replay --min-duration 5ms             long calls, with their times
  flow check old-trace                       is the trace whole?

Verbs that read take a trace, by default the newest run in the folder flow-trace, where record writes. flow help VERB \
explains a verb.
Exit status: 0 done, 1 damaged or failed, 2 usage, 3 incomplete result; record: the command's own.";

const RECORD_ABOUT: &str = "\
java itself is started with the agent. Every other command gets it through JAVA_TOOL_OPTIONS, for all JVMs \
that it starts.

Without -o, each run has a file of its own in the folder flow-trace, named after its start time and the program, and further JVMs of the run have \
files beside it. Verbs without a trace show the newest run, and flow info --all lists all. The newest 10 runs are kept, or as many as \
--keep-runs says, and fewer, but at least 2, if they take more space than is free; files that you rename stay. In PATH of -o, %p is replaced by the \
process id, %t by the start time, %h by the host name; an earlier trace there moves to PATH.old.";

const RECORD_EXAMPLES: &str = "\
Examples:
  flow record -- java -jar app.jar
  flow record --include 'com.app.**' --exclude '**#get*' -- java -jar app.jar
  flow record --target com.app. -- mvn test
  flow record --keep last:64m -- java -jar server.jar
  flow record -o app.flowtrace -- java -jar app.jar
  flow record --handovers --context -- java -jar shop.jar
  flow record --gradle -- ./gradlew test
  flow record --keep-tests failed -- mvn test
  flow record --timeout 10m -- mvn test      then: flow replay --last 20";

pub(super) const ATTACH_EXAMPLES: &str = "\
The process must be a HotSpot JVM of the same user. It is recorded until flow detach, or until it ends. Of calls \
that were already running, the trace has only the names. The JVM replaces the code of the recorded classes, which takes \
up to 5 seconds for thousands of them, as with --all in a large application, and up to 40 on JDK 11; so does flow detach.

Without -o, the recording is a file in the folder flow-trace, as with flow record, with the process id in its name. Without \
PID, the JVMs of this user are listed.

Examples:
  flow attach
  flow attach 4711
  flow attach 4711 -o /tmp/trace --target com.app.
  flow detach 4711";

pub(super) const TESTS_HELP: &str = "\
A trace has marks of tests if flow record, or the jar flow-api on the class path, added the listeners of JUnit 5 \
(also for Spock, Kotest and Cucumber) or TestNG; flow record marks tests of JUnit 4, too. Calls are those of the thread that ran the test, and \
of threads that began while only this test ran and did nothing after it. new: methods that no earlier test called.

--affected-by shows the tests that called a class which differs between two states of a git repository, or a class that depends on one: \
by its supertypes, constants or static initialisers. Build files and resources affect all tests; classes of tests that changed or are new \
are selected as a whole. Not seen are state that earlier tests left in caches, and classes that only reflection finds. docs/tests.md has \
the rules.

Examples:
  flow record -- mvn test
  flow tests --sort result
  flow tests --affected-by HEAD              since the last commit
  flow tests --affected-by main...HEAD --format surefire
  flow tests --flaky                         failed once, passed another time
  flow tests --lock                          what each test did, in flow.lock
  flow diff flow.lock
  flow replay --test '*OrderTest.total*'
  flow diff --test '*.total' --test '*.totalOfNothing'
  flow diff --exact --thread worker-1 --thread worker-2";

pub(super) const DIFF_HELP: &str = "\
Without traces, the last two runs in the folder flow-trace are compared. Of two runs, tests are compared too, by name, if \
they are marked. With one trace, give --test twice: what does the second test call that the first one does not? --test TRACE::NAME twice compares tests of two runs.

Calls are compared by path: the names of the methods on the stack, in all threads together. A call that appeared \
or vanished with all its callees is one line, which counts all of these calls.

With --exact, they are compared in order, thread by thread: those of the same name, or that did the same. Calls that \
did the same are skipped; of calls of one method that did not, the calls that they made are compared in turn. So the smallest calls that differ are shown. flow replay --from N begins at what is shown as call N. How calls were left \
counts too; when they were made does not.

Of calls that both sides made, --exact also compares what was recorded: arguments, results, accesses to fields, and class \
and message of exceptions. It shows the first value that differs with its callers and arguments, then how many differ, by method. \
Objects are the same if their class and what is in them is, whichever objects they are; sets and maps have no order. \
What one side did not record is not compared. If neither recording has values, exceptions are compared with --test or --thread only.

--expect PATTERN checks a change of the methods that match: everything else has to be the same. Calls of these methods count, with their arguments, \
results and exceptions, but not what they do inside. --renamed OLD=NEW compares what has another name in the second run. --unordered leaves out the order in which a call \
made others.

Two calls are named by thread and number, as flow calls and flow replay show them: 22:1082 is call 1,082 in thread 22. They are \
compared as with --exact. TRACE:22:1082 is a call of another trace.

With --samples, samples of two runs are compared by method, as flow report shows them; two logs, and two traces that have only \
samples, are compared like that without a flag. --methods compares calls in such rows.

flow diff flow.lock RUN compares the tests of a run, by default of the newest one, with a file of flow tests --lock: which do something else, make more or fewer calls, are gone or new. Numbers that compilers hand out and static initialisers do not count. Of the first test that does something else, the first call that differs is shown if a recording of the earlier behaviour is in the folder. --accept replaces the lines of the lock; after a run of some tests, --gone keep leaves the others.

Exit status: 0 if both were read, whether they differ or not; with --exit-code 1 if they differ. With --max-calls 1 if the calls of a test changed by more.

Examples:
  flow diff
  flow diff trace-before trace-after
  flow diff --depth 5 --max 0 trace-before trace-after
  flow diff --exact trace-before trace-after
  flow diff --exact --html changes.html trace-before trace-after
  flow diff --exact --format mermaid --own trace-before trace-after
  flow diff --exact --exit-code --ignore '**.Random' trace-before trace-after
  flow diff --exit-code --expect 'com.app.Cart#*' trace-before trace-after
  flow diff --exact --renamed com.app.Cart=com.app.Basket before after
  flow diff --test '*OrderTest.total*' passing-run failing-run
  flow diff --test '*.total' --test '*.totalOfNothing'
  flow diff --test before.flowtrace::A.old --test after.flowtrace::A.new
  flow diff --exact --thread worker-1 --thread worker-2
  flow diff --exact --test '*OrderTest.total*' passing-run failing-run
  flow diff 22:1082 25:97                    two calls, with their values
  flow diff 22:1082 25:97 app.flowtrace
  flow diff trace-before:1:82 trace-after:1:82
  flow diff 22:1082 25:97 --html calls.html  both side by side
  flow diff --exit-code flow.lock
  flow diff --max-calls +10% --format markdown flow.lock
  flow diff flow.lock --accept
  flow diff flow.lock --gone keep
  flow export --to baseline -o threads.baseline
  flow diff --exact --exit-code threads.baseline flow-trace
  flow diff before.hpl after.hpl --sort self
  flow diff --methods --sort self trace-before trace-after";

pub(super) const CALLS_HELP: &str = "\
Lists the calls of a shape, or of methods with the shape of each: when they began and how long they took (if the \
trace has times), their thread, their number (for flow replay --from), their depth (how many callers are on the stack), and the test that made them. Calls that had not ended are not listed.

Two calls have the same shape if they did the same: the same calls in the same order, all the way down, left in the \
same way. Arguments, results and times do not count. --by shape shows each with its name, the number of its calls, the \
calls made in one of them, its deepest stack, its first call (for flow replay --from), and what distinguishes it from \
the most frequent shape of the method: the first call that it made (+) or did not make (-), and in which method. The \
name of a shape is the same in every run, as it follows from the names of methods; its first 6 digits or more are \
enough. On large traces flow check --index makes this fast.

Values are recorded of methods that flow record --values names. A condition of --where is NAME [not] OPERATOR VALUE. A name \
is that of a parameter, arg0, arg1, …, this, result, message (of the exception that ended the call), or any \
(each of them). order.total is a field of an object, order.lines.size a number of elements. Operators are \
== (or =, or is), !=, <, <=, >, >=, starts, ends, contains, and matches (a regular expression). Quotes around a value are not part of it: \
name == \"null\" means the text, name == null a missing object. An object is compared by the name of its class. A text of \
which only the beginning was recorded equals no value. Threads follow each other, and calls of a thread are in the order in which they began; flow replay --method \
has the calls of all threads in one order of time. The exit \
status is 0, also if no call meets the conditions; 2 if a condition has a name that no value of the methods has.

Reads and writes of fields are recorded of those that flow record --fields names. The name of such a value is field(total).

--sql, --http and --log show statements, requests and messages: each text once, with how often it was there, how long all \
of them lasted together, and the nearest method of the program's own code. Numbers and quoted texts do not count; with \
--values each is shown as it was.

--by context shows what threads worked for: each value of a key, with what was called for it. More than half of the values that begin with the same method do the \
same: another one is odd. --coroutines shows each call of a suspend function of Kotlin once, with its resumptions.

--follow shows each call when it has ended, while the trace is recorded or received: of all threads, in the order in which they ended.

Examples:
  flow calls --sql                           each statement: how often, where
  flow calls --http --values --min-duration 100ms
  flow calls --log 'order' --by request
  flow calls --by context order --odd
  flow calls --by context --follow           what a server works for now
  flow calls --slowest 20                    the longest calls
  flow calls 'Orders#total' --slowest 5 --values
  flow calls --slowest 5 --outcome exception
  flow calls --coroutines --slowest 5        suspend functions, each call once
  flow calls 'Orders#total' --min-duration 5ms --time 1.5s..2s
  flow calls 'com.app.Orders#total' --outcome exception
  flow calls 'Orders#total' --test '*.totalOfNothing'
  flow calls 'com.app.Orders#total' --by shape
  flow calls --by shape --odd --max 10 'Orders#*'
  flow calls --by shape --durations --own '**#parse' app.flowtrace
  flow calls 3f9c2a71be04 --max 0 app.flowtrace
  flow calls 'com.app.Orders#total' --where 'order == null'
  flow calls 'Orders#total' --where 'result < 0' --where 'customer starts A'
  flow calls 'Orders#*' --where 'message contains refused' --format json
  flow calls --follow '*Controller#*' live.flowtrace
  flow calls --follow '*Controller#*' --outcome exception --format json";

pub(super) const CHECK_HELP: &str = "\
A trace is sound (exit status 0), incomplete (3: something is missing) or damaged (1: something is wrong). The \
trace of a killed JVM is sound: its last events are in the journal, and every verb reads them there.

--repair writes these events into the thread files, completes trace.json and moves the journal away, for other \
readers of the format. It can be interrupted and run again at any time. It refuses a trace that is still being \
recorded, and does not change files that contradict each other. A trace in one file is replaced by a complete one, \
and its journal is removed.

With an index, replay --from opens a trace of any size at once; without one, it reads the trace first. --index stores one \
(thread-ID.idx) in 0.1 % of the size of its thread file. It contains nothing new, is checked against the events, \
and may be deleted at any time. Small threads need none. The same holds for thread-ID.dag: all calls, with \
equal subtrees stored once. calls, diff --exact and report read it instead of the events.

Examples:
  flow check old-trace
  flow check --repair old-trace
  flow check --index
  flow check --records --max 100 --thread main
  flow check --marks";

pub(super) const COMPLETIONS_HELP: &str = "\
Examples:
  source <(flow help completions bash)
  flow help completions zsh > ~/.zfunc/_flow   with ~/.zfunc in fpath
  flow help completions fish > ~/.config/fish/completions/flow.fish";

pub(super) const MAN_HELP: &str = "\
Examples:
  flow help man | man -l -
  flow help man replay | man -l -
  flow help man --out ~/.local/share/man/man1  then: man flow-replay";

pub(super) const HELP_HELP: &str = "\
Examples:
  flow help report
  flow help man | man -l -
  flow help completions bash > ~/.local/share/bash-completion/completions/flow";

pub(super) const EXPORT_HELP: &str = "\
Times are estimates from samples (exact with clock=exact); jsonl and csv also have the bounds within which they \
are right. In a trace without times, and with --by calls, a call is as long as the number of calls in it, itself \
included: one microsecond each (firefox: one millisecond), and every thread begins at 0. Calls that are left out of \
a timeline leave a gap of their length.

flow refuses to write a file that is too large for its viewer, and suggests how to make it smaller; --force writes \
it anyway.

--to flowtrace writes everything that a trace directory holds into one file, about a fifteenth of the size. Every verb reads \
it, and large threads in it have an index. --to flow turns it back: the same files, byte for byte. Other JVMs of the trace \
get files of their own beside it.

--to parquet writes a row for each call; --to parquet-shapes a row for each behaviour, which is a call with all that it called: equal \
ones are one row with the same name in every run and on every machine. docs/tables.md has their columns, and queries.

--to baseline writes what each thread did, or with --test each test, as a text of a few kilobytes: flow diff --exact compares \
later runs with it.

--to lcov, cobertura and jacoco write which lines were reached, if lines were recorded (flow record --lines): of all JVMs of a \
run together; with --test only while these tests ran, and as lcov for each test.

Examples:
  flow export --to perfetto -o trace.pftrace       open it in ui.perfetto.dev
  flow export --to svg -o flame.svg                open it in a browser
  flow export --to mermaid --own --request 26:1100
  flow export --to otlp --own --min-duration 1ms -o spans.jsonl
  flow export --to pprof -o trace.pb && go tool pprof -http : trace.pb
  flow export --to otlp-profile --by cpu -o profile.pb
  flow export --to speedscope --thread main -o trace.speedscope.json
  flow export --to chrome --time 1.5s..2s --min-duration 1ms -o part.json
  flow export --to jsonl --include 'com.app.**' | jq .name
  flow export --to parquet -o tables               ask DuckDB or pandas
  flow export --to parquet-shapes --commit 3f2a91c -o shapes
  flow export --to flowtrace -o app.flowtrace flow-trace
  flow export --to flow -o flow-trace-2 app.flowtrace
  flow export --to baseline --test '*' -o tests.baseline flow-trace
  flow export --to cobertura -o coverage.xml   after record --lines-once";

pub(super) const DETACH_HELP: &str = "\
The program continues without probes. The trace is complete and can be read at once. The JVM replaces the code of the \
recorded classes, which takes up to 5 seconds for thousands of classes, and up to 40 on JDK 11.

Examples:
  flow detach 4711";

pub(super) const SNAPSHOT_HELP: &str = "\
The JVM must record into one file, as with flow record and flow attach without -o. The snapshot is the file that you name; or, with a \
name that does not end in .flowtrace, app-snapshot-NAME.flowtrace beside the recording app.flowtrace. Recording \
continues. With keep=last:64m the snapshot has the newest 64 MB. The JVM is asked what its threads wait for, too, for which it \
stops them for some milliseconds: flow replay --last shows it.

Examples:
  flow snapshot 4711
  flow snapshot 4711 slow-login
  flow snapshot 4711 /tmp/login.flowtrace";

pub(super) const TOP_HELP: &str = "\
Methods by what they did since the last time, and what each thread does now. Calls are counted exactly if flow can \
keep up with the program; if not, only those at the end of each interval are counted, and the first line shows \
how many. self is for how long threads ran in a method, if the trace has CPU times, and waiting for how long they waited there; \
if not, self is the time that passed. A thread that makes no call may wait or compute: its time is silent, and for how long it \
ran is known only at its next call.

Keys: Up and Down choose a row, Tab the other table, Enter opens callers and callees of a method or the stack of a \
thread, Esc goes back, s sorts by the next column, / finds, space stops and continues, ? shows the keys, q ends.

Examples:
  flow top 4711
  flow top flow-trace --own
  flow top app.flowtrace --once --format json";

/// The keys of `flow view`.
macro_rules! view_keys {
    () => {
        "\
\x20 Up, Down          choose a line           PgUp, PgDn, Home, End
  Right, Enter      show what a call called
  Left              hide what it called; if hidden, go to the caller
  [ and ]           the previous, the next call of the same caller
  /                 find a method by a part of its name, or by a pattern
  n, N              the next, the previous call of what was found
  e, E              the next, the previous call that an exception ended
  c                 callers and callees of the method
  t                 list the tests, those that failed first
  /, s in a list    show only rows that have a text; sort by the next column
  Tab               switch between threads and calls
  g                 go to a call, event:N, offset:N, a time such as 1.5s, or 50%
  u                 unfold the largest calls in it that fit
  p                 unfold the longest callees, to where the time was spent
  o, f              only calls of the application, of methods like a pattern
  x                 show equal calls in a row one by one, or as one line
  d, s              show details of the call, its source
  r                 read the trace again
  ?                 show these keys
  Esc, q            go back, end
"
    };
}

/// The same, for its page of keys.
pub(crate) const VIEW_KEYS: &str = view_keys!();

pub(super) const VIEW_HELP: &str = concat!(
    "\
Threads, and the calls of one as a tree. Only the calls on the screen are read, so a trace of billions of calls opens \
immediately after flow check --index; without it, a large thread is read once first. Calls in a row that did the same are one line, \
such as ×1,204, if flow record or flow check --index found them. A trace that is still recorded is shown as it was when it was opened.

--test shows what a test called, as a tree of its own; numbers of calls remain those of the thread. --include, --exclude and \
--own hide other calls, and their callees move up to their callers. Columns count shown calls only. Without an index, a \
large thread is read once more for that.

--request and --context show one tree across threads. Below a call is first what it handed to another thread, with ⇢ and the \
name of that thread, and then what it called. / and e search the thread of the chosen line. Tab shows the list of threads; a thread \
of the list, or of --thread, is a tree of its own.

Durations are estimates. ~ marks an imprecise one, whose possible range is wider than half the value; d shows the range. \
A line of several calls shows the time from the start of the first to the end of the last. Self time is empty for calls with \
more than 32 shown callees. Methods of the application are bold if the trace has its packages.

Keys:
",
    view_keys!(),
    "\
A click chooses a line, and a click on the chosen line unfolds it. The wheel scrolls.

Examples:
  flow view app.flowtrace
  flow view flow-trace --thread main --source src/main/java
  flow view flow-trace --thread main --from 1.5s --once
  flow view flow-trace --test OrdersTest.cancels --own"
);

pub(super) const MCP_HELP: &str = "\
A client starts this command and asks on its standard input. Each of its questions is a verb with fewer flags, answered with at most \
8,000 bytes of text, or as many as the client asks for, up to 64,000. docs/mcp.md lists the tools, and says how to set up clients.

Clients cannot read traces elsewhere, and cannot start programs without --allow-record.

Examples:
  flow mcp --install claude                  enter flow into .mcp.json here
  flow mcp --install vscode --allow-record   let the client record, too
  flow mcp app.flowtrace                     what a client starts, for one trace";

pub(super) const LISTEN_HELP: &str = "\
JVMs send what they record with the option stream=ADDR. Each trace is stored in a file that every verb reads, also while \
it grows. A JVM that loses the connection keeps the rest in a file, and sends it when flow listen is back. Over tcp a JVM \
must show a token; nothing is encrypted. Ctrl-C ends flow listen, not the recordings.

Lines on standard input are commands to all JVMs, or to one if a process id follows: suspend, resume, flush (send what is \
in buffers), stop (end the recording).

Examples:
  flow listen unix:$XDG_RUNTIME_DIR/flow.sock
  flow listen tcp:4770 -o runs/app.flowtrace
  flow listen tcp:0.0.0.0:4770               other machines can connect
  flow record --stream tcp:4770 -- java -jar app.jar
  flow attach 4711 --stream unix:$XDG_RUNTIME_DIR/flow.sock
  flow replay --follow live.flowtrace        what a JVM does now";

pub(super) const REPLAY_HELP: &str = "\
Threads follow each other, and calls are in the order in which they happened. Calls of --method are in order of \
time across all threads, each with its start, duration and nearest callers; with --depth 1 they are a table.

Where an exception leaves a call, text has a line \"left by\" its class. With --time the class follows the call, after an \
exclamation mark. With --method, --depth, --collapse, --include, --exclude or --own, exceptions are shown \
only with --time.

Examples:
  flow replay --depth 3 --thread main
  flow replay --collapse --max 100
  flow replay --min-duration 5ms             long calls, with their times
  flow replay --method 'Orders#*' --depth 1  the requests of a server
  flow replay --method 'Orders#total' --time
  flow replay --from 1.5s --thread main --max 50
  flow replay --merged --from 1.5s --max 50  who came first
  flow replay --merged --values              who read and wrote a field when
  flow replay --request 26:1100    a call, and what it handed to other threads
  flow replay --last 20                      of a program that hangs
  flow replay --follow                       while the program runs";

pub(super) const REPORT_HELP: &str = "\
Total and self are times if the trace has times, else numbers of calls. ~ before a time means that it comes from \
fewer than about 20 samples, < that no sample saw the method. On a terminal, the heavy part of a bar is self, all of it total. A line of --tree is a path of calls: its \
number of calls, its total and self time, and its share of all time.

Of an .hpl file, a log of samples of Honest Profiler, and of a trace that has only samples, samples are shown; \
of other traces with --samples. A sample is the stack of a thread at some \
moment: total counts the samples in which a method is on the stack, self those in which it is the innermost frame. Logs do \
not say for how long a stack lasted. By default that is until the next sample of the same thread, with --gaps \
global until the next one of any thread, as Honest Profiler has it. A sample that failed is a call of AGCT, with the \
reason as its name.

Lines are recorded of methods that flow record --lines names. A line may have several places in the code of a method, \
such as the head of a loop; it counts whenever execution reaches one of them. A line of several calls counts once more \
where execution comes back to it from another line. After flow record --lines-once, a count is how often the line was \
recorded.

Examples:
  flow report --sort self --max 20
  flow report --own                          the application without libraries
  flow report --tree --own --min 0.1
  flow report --tree --method 'Orders#total'
  flow report --tree --per-thread --thread 'pool-*'
  flow report --callers 'Db#query'           where these calls come from
  flow report --paths frequent --max 5
  flow report --time 1.5s..2s                what happened in that half second
  flow report --format csv > report.csv
  flow report --html page.html               a page for a browser
  flow report --lines --source src/main/java
  flow report --percentiles --own            how long calls took: usual, worst
  flow report --never-called --own           is this code dead?
  flow report --waits                        what threads waited for
  flow report app.hpl --frames line --sort self --max 20
  flow report app.hpl --tree --per-thread-name --percent-of thread
  flow report app.hpl --where 'class starts com.' --where 'self-percent >= 1'
  flow report --samples --callers 'Db#query'";

pub(super) const INFO_HELP: &str = "\
A thread is ended, alive (at the end of the recording, or as far as it is known), killed with its JVM, damaged or \
truncated. Threads with the same name, or without one, share a line that has their number. --all lists the runs in the folder \
flow-trace, or in the folder that is named.

Examples:
  flow info
  flow info --all
  flow info --sort calls --max 10
  flow info --all-threads --thread 'worker-*'";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Args;

    #[test]
    fn each_verb_has_one_purpose() {
        let command = Args::command();
        let mut verbs: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        assert!(grouped.iter().all(|name| name.len() <= WIDTH));
        verbs.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(verbs, grouped);
    }

    #[test]
    fn examples_come_before_the_verbs_by_purpose_and_these_before_the_options() {
        let help = by_purpose(Args::command()).render_help().to_string();
        let place = |text: &str| help.find(text).unwrap_or_else(|| panic!("{text}: {help}"));
        let places =
            ["Usage: flow", "Examples:", "Record:", "  attach ", "Ask:", "--color"].map(place);
        assert!(places.is_sorted(), "{help}");
        assert!(!help.contains('{'), "{help}");
    }
}
