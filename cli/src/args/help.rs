//! What stands behind the options in the help of a verb.

pub(super) const EXAMPLES: &str = "\
Examples:
  flow record -- java -jar app.jar           record a program
  flow record --target com.app. -- mvn test  record the JVMs that a build starts
  flow attach 4711                           record a JVM that is running
  flow report                                time and calls per method
  flow report --slowest 20                   the longest calls
  flow report --html page.html               all of it in a browser
  flow report --callers 'com.app.Db#query'   who makes these calls
  flow report --time 1.5s..2s                what happened in that half second
  flow graph --depth 8                       where the time went
  flow replay --depth 3 --thread main        calls in order
  flow replay --min-duration 5ms             those that took long, with their times
  flow check old-trace                       is the trace whole?

Verbs that read take the trace directory; without one it is flow-trace, where record writes.
Exit status: 0 done, 1 damaged or failed, 2 usage, 3 partial result; record: the command's own.";

pub(super) const RECORD_EXAMPLES: &str = "\
Examples:
  flow record -- java -jar app.jar
  flow record -o /tmp/trace --include 'com.app.**' --exclude '**#toString' -- java -jar app.jar
  flow record --target com.app. -- mvn test
  flow record --gradle -- ./gradlew test

The agent is given to java itself; every other command gets it through JAVA_TOOL_OPTIONS, for all
JVMs it starts. In DIR, %p stands for the process id, %t for the start time, %h for the host.";

pub(super) const ATTACH_EXAMPLES: &str = "\
Examples:
  flow attach 4711
  flow attach 4711 -o /tmp/trace --target com.app.
  flow detach 4711

The process must be a HotSpot JVM of the same user. It is recorded until flow detach, or to its end.
Of the calls that were entered before, only their names are kept.";

pub(super) const INDEX_HELP: &str = "\
An index (thread-ID.idx) has a thousandth of the size of its thread file and says nothing that
this does not. With it, replay --from opens a trace of any size at once; without, it reads the
trace first. It is never believed against the events, and may be deleted at any time. Small
threads need none.

Examples:
  flow index
  flow replay --from 900000000 --max 50";

pub(super) const TESTS_HELP: &str = "\
Tests are marked in a trace where flow record, or the jar flow-api on the class path, brought the
listeners of JUnit 5 (and JUnit 4 by its vintage engine) or TestNG. Calls are those of the thread that
ran the test, and of threads that began and ended while it ran and no other test did. new: methods
that no test before it had called.

Examples:
  flow record -- mvn test
  flow tests --sort result
  flow replay --test '*OrderTest.total*'
  flow diff --test '*total()' --test '*totalOfNothing()'";

pub(super) const DIFF_HELP: &str = "\
With two directories, tests are compared too: by name, where they were marked. With one, give --test twice:
what does the second test call that the first one does not?

Calls are compared by path: the methods on the stack, by name, in all threads together. What appeared or
vanished with all that it called is one line, and counts all of these calls.

Exit status: 0 both were read, whether they differ or not.

Examples:
  flow diff trace-before trace-after
  flow diff --depth 5 --max 0 trace-before trace-after
  flow diff --test '*OrderTest.total*' passing-run failing-run
  flow diff --test '*total()' --test '*totalOfNothing()'";

pub(super) const CHECK_HELP: &str = "\
A trace is sound (exit status 0), partial (3: something is missing) or damaged (1: something is wrong).
That a JVM was killed is no defect: what its threads had recorded last is in the journal, and every
verb reads it there.

--repair writes it into the thread files, completes trace.json and moves the journal away, so that
other readers of the format find everything. It can be stopped and run again at any time, refuses a
trace that is still being recorded, and leaves alone what does not fit together.

Examples:
  flow check old-trace
  flow check --repair old-trace";

pub(super) const COMPLETIONS_HELP: &str = "\
Examples:
  source <(flow completions bash)
  flow completions bash > ~/.local/share/bash-completion/completions/flow
  flow completions zsh > ~/.zfunc/_flow        with ~/.zfunc in fpath
  flow completions fish > ~/.config/fish/completions/flow.fish";

pub(super) const MAN_HELP: &str = "\
Examples:
  flow man | man -l -
  flow man replay | man -l -
  flow man --out ~/.local/share/man/man1       then: man flow-replay";

pub(super) const EXPORT_HELP: &str = "\
Times are estimates between the marks of the clock, about 100 µs apart; jsonl and csv have bounds too.
Of a trace without a clock, and with --by calls, a call lasts as long as there are calls in it, its own
included. Where a viewer knows nothing but time, each takes a microsecond (firefox: a millisecond), and
threads all begin at 0, whenever they ran. Calls left out of a timeline take their place all the same.

What the viewer of a format could not open is not written, but for --force; flow then says what
makes it small enough.

Examples:
  flow export --to perfetto -o trace.pftrace       open it in ui.perfetto.dev
  flow export --to svg -o flame.svg                open it in a browser
  flow export --to pprof -o trace.pb && go tool pprof -http : trace.pb
  flow export --to speedscope --thread main --depth 20 -o trace.speedscope.json
  flow export --to chrome --time 1.5s..2s --min-duration 1ms -o part.json
  flow export --to jsonl --include 'com.app.**' | jq .name";
