//! Questions about programs that ran, as an agent asks them with `flow mcp`: each has a right answer, which at most four calls
//! of tools with 16 kB find.

mod projects;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use flow_e2e::{Program, flow};
use serde_json::{Value, json};

use crate::on_every_jdk;

/// The most calls of tools, and bytes, that a question takes.
const MOST_CALLS: usize = 4;
const MOST_BYTES: usize = 16_000;

/// A question, the calls that answer it, and what the last one has.
#[derive(Clone)]
struct Question {
    asked: &'static str,
    calls: Vec<(&'static str, Value)>,
    answer: &'static [&'static str],
}

fn question(
    asked: &'static str,
    calls: impl Into<Vec<(&'static str, Value)>>,
    answer: &'static [&'static str],
) -> Question {
    Question { asked, calls: calls.into(), answer }
}

/// Questions about frames that exceptions leave.
fn of_exceptions() -> Vec<Question> {
    let path = "exceptions";
    vec![
        question(
            "what does the program do?",
            [("outline", json!({"path": path, "depth": 2}))],
            &[
                "\n  harness.Exceptions.throughFrames()  … 5 calls below [MAIN:1]",
                "\n  harness.Exceptions.afterwards()",
            ],
        ),
        question(
            "how many exceptions ended calls?",
            [("exceptions", json!({"path": path}))],
            &["13 exceptions ended 21 calls"],
        ),
        question(
            "who throws, and where is it caught?",
            [("exceptions", json!({"path": path}))],
            &[
                "harness.Exceptions.third()",
                "java.lang.ExceptionInInitializerError  harness.Exceptions.staticInitializer()",
            ],
        ),
        question(
            "how did the first call of third come about?",
            [
                ("calls", json!({"path": path, "method": "third", "max": 1})),
                ("around", json!({"path": path, "call": "MAIN:4"})),
            ],
            &[
                "harness.Exceptions.throughFrames()",
                "what it called\n  harness.Exceptions$Failure.<init>(String)",
            ],
        ),
        question(
            "which calls did oddFails leave by an exception?",
            [("calls", json!({"path": path, "method": "oddFails", "outcome": "exception"}))],
            &["oddFails(int): 2 calls"],
        ),
        question(
            "do all calls of oddFails do the same?",
            [("behaviours", json!({"path": path, "method": "oddFails"}))],
            &["5 calls, 2 shapes"],
        ),
        question(
            "who calls caught most often?",
            [("report", json!({"path": path, "callers_of": "caught", "by": "calls"}))],
            &["12   18.8%    12  harness.Exceptions.caught()", "harness.Exceptions.inLoop()"],
        ),
        question(
            "does anything call Derived.use?",
            [("calls", json!({"path": path, "method": "Derived.use"}))],
            &["use(): 1 call, 1 shape"],
        ),
        question(
            "do two runs behave in the same way?",
            [("compare", json!({"path": path, "other": "exceptions-2"}))],
            &["no difference: the same calls in the same order, in 1 thread"],
        ),
        question(
            "what is the first difference to another program?",
            [("compare", json!({"path": path, "other": "contents"}))],
            &["- harness.Exceptions.main(String[])  64 calls"],
        ),
    ]
}

/// Questions about two threads of which one loses an update.
fn of_lost_update() -> Vec<Question> {
    let path = "lost";
    vec![
        question(
            "which threads are there?",
            [("recordings", json!({"path": path}))],
            &["  first", "  second"],
        ),
        question(
            "what does a thread do?",
            [("outline", json!({"path": path, "thread": "first"}))],
            &[
                "harness.LostUpdate.read()\n    harness.LostUpdate.meet()\n    harness.LostUpdate.write(int)",
            ],
        ),
        question(
            "do both threads do the same?",
            [("compare", json!({"path": path, "thread": ["first", "second"]}))],
            &["no difference"],
        ),
        question(
            "what do they write?",
            [("calls", json!({"path": path, "method": "LostUpdate.write", "values": true}))],
            &[
                "first  call 4  harness.LostUpdate.write(int)  (number = 1)",
                "second  call 4  harness.LostUpdate.write(int)  (number = 1)",
            ],
        ),
        question(
            "does anybody write 2?",
            [(
                "calls",
                json!({"path": path, "method": "LostUpdate.write", "where": "number == 2"}),
            )],
            &["note: none of 2 calls of 'LostUpdate.write' meets the conditions"],
        ),
        question(
            "what happened before a write?",
            [
                ("calls", json!({"path": path, "method": "LostUpdate.write"})),
                ("around", json!({"path": path, "call": "4", "thread": "first"})),
            ],
            &["before it, of the same caller\n  harness.LostUpdate.read()"],
        ),
    ]
}

/// Questions about values.
fn of_contents() -> Vec<Question> {
    let path = "contents";
    vec![
        question(
            "with which ids are orders made?",
            [("calls", json!({"path": path, "method": "Order.<init>", "values": true}))],
            &["(id = 7)", "(id = 8)"],
        ),
        question(
            "which call had the amount 1.19?",
            [("calls", json!({"path": path, "method": "show", "where": "value == 1.19"}))],
            &["call 1  harness.Contents.show(Object)  (value = 1.19)"],
        ),
        question(
            "which calls had three elements?",
            [(
                "calls",
                json!({"path": path, "method": "show", "where": "value.size == 3", "max": 100}),
            )],
            &["(value = [1, 2, 3])", "(value = {1 = \"a\", 2 = \"b\", 3 = \"c\"})"],
        ),
        question(
            "what is done when the first order is made?",
            [
                ("calls", json!({"path": path, "method": "Order.<init>", "max": 1})),
                ("outline", json!({"path": path, "call": "MAIN:57"})),
            ],
            &["harness.Contents$Colour.$values()"],
        ),
        question(
            "which values does the call have that makes the first order?",
            [
                ("calls", json!({"path": path, "method": "Order.<init>", "max": 1})),
                ("steps", json!({"path": path, "call": "MAIN:57"})),
            ],
            &["harness.Contents$Order.<init>(int)\n", "(id = 7)\n"],
        ),
    ]
}

/// A server and its client.
struct Session(Child, BufReader<std::process::ChildStdout>, u64);

impl Session {
    fn start(folder: &Path) -> Self {
        let mut server = Command::new(flow());
        server.arg("mcp").arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = server.spawn().unwrap();
        let output = BufReader::new(server.stdout.take().unwrap());
        let mut session = Self(server, output, 0);
        let info = json!({"name": "e2e", "version": "1"});
        let version = "2025-11-25";
        session.ask(
            "initialize",
            &json!({"protocolVersion": version, "capabilities": {}, "clientInfo": info}),
        );
        session
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.2 += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.2, "method": method, "params": parameters});
        writeln!(self.0.stdin.as_mut().unwrap(), "{request}").unwrap();
        let mut line = String::new();
        self.1.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()["result"].take()
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> String {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let text = answer["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        assert_ne!(answer["isError"], true, "{tool} {arguments}: {text}");
        text
    }

    /// Asks questions, and compares what is answered. `named` puts names of this run into their texts.
    fn answers(&mut self, questions: &[Question], named: &dyn Fn(&str) -> String) {
        for Question { asked, calls, answer } in questions {
            let mut call = |(tool, arguments): &(&str, Value)| {
                let arguments = serde_json::from_str(&named(&arguments.to_string())).unwrap();
                self.call(tool, &arguments)
            };
            let texts: Vec<_> = calls.iter().map(&mut call).collect();
            let last = texts.last().unwrap();
            for part in *answer {
                assert!(last.contains(&named(part)), "{asked} expected {part}, found: {last}");
            }
            assert!(texts.len() <= MOST_CALLS, "{asked}");
            assert!(texts.iter().map(String::len).sum::<usize>() <= MOST_BYTES, "{asked}");
        }
    }

    fn end(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().unwrap().success());
    }
}

#[test]
fn questions_about_programs_have_right_answers() {
    on_every_jdk(|jdk| {
        let folder = tempfile::tempdir().unwrap();
        let record = |name: &str, program: &str, options: &str| {
            let run = Program::harness(jdk, program).options(options).run();
            assert_eq!(run.code(), Some(0));
            fs::rename(run.out(), folder.path().join(name)).unwrap();
        };
        record("exceptions", "Exceptions", "include=harness.**");
        record("exceptions-2", "Exceptions", "include=harness.**");
        record("lost", "LostUpdate", "include=harness.**,values=harness.LostUpdate");
        record("contents", "Contents", "include=harness.**,values=harness.**");
        let mut session = Session::start(folder.path());
        let outline = session.call("outline", &json!({"path": "exceptions", "max_bytes": 500}));
        let (_, thread) = outline.split_once("\nthread ").unwrap();
        let main = thread.split(' ').next().unwrap().to_owned();
        let questions = [of_exceptions(), of_lost_update(), of_contents()].concat();
        assert_eq!(questions.len(), 21);
        // The id of the main thread depends on the JDK.
        session.answers(&questions, &|text: &str| text.replace("MAIN", &main));
        session.end();
    });
}
