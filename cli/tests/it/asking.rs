//! `flow mcp`: a client that writes messages of the protocol itself, so that it can also write wrong ones.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::columns::trace;
use crate::common::{MAIN, command, flow, words};

/// A client of a server that answers questions about a folder.
struct Client {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// The number of messages that were sent.
    sent: u64,
    /// What each message has besides its parameters.
    meta: Option<Value>,
}

impl Client {
    fn start(arguments: &[&str], folder: &Path) -> Self {
        let mut server = command();
        server.arg("mcp").args(arguments).current_dir(folder);
        let mut server = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (server.stdin.take(), server.stdout.take().unwrap());
        Self { server, input, output: BufReader::new(output), sent: 0, meta: None }
    }

    /// A client of a version of the protocol that begins with `initialize`.
    fn initialized(version: &str, arguments: &[&str], folder: &Path) -> (Self, Value) {
        let mut client = Self::start(arguments, folder);
        let info = json!({"name": "test", "version": "1"});
        let parameters =
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": info});
        let answer = client.ask("initialize", parameters);
        client.line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        (client, answer)
    }

    /// A client for a folder in which `t` is a trace.
    fn of(folder: &Path) -> Self {
        Self::initialized("2025-11-25", &["t"], folder).0
    }

    fn line(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The result of a request, or its error.
    fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.sent += 1;
        let mut parameters = parameters;
        if let Some(meta) = &self.meta {
            parameters["_meta"] = meta.clone();
        }
        let request =
            json!({"jsonrpc": "2.0", "id": self.sent, "method": method, "params": parameters});
        self.line(&request.to_string());
        self.answer()
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], self.sent, "{line}");
        if answer["error"].is_null() { answer["result"].clone() } else { answer["error"].clone() }
    }

    /// The text of an answer, and whether it is an error.
    fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        if let Some(message) = answer["message"].as_str() {
            return (message.to_owned(), true);
        }
        let text = answer["content"][0]["text"].as_str().expect("a text").to_owned();
        (text, answer["isError"] == true)
    }

    fn text(&mut self, tool: &str, arguments: Value) -> String {
        let (text, is_error) = self.call(tool, arguments);
        assert!(!is_error, "{tool}: {text}");
        text
    }

    fn error(&mut self, tool: &str, arguments: Value) -> String {
        let (text, is_error) = self.call(tool, arguments);
        assert!(is_error, "{tool}: {text}");
        text
    }

    /// Closes the input, and waits for the end.
    fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        self.server.wait().unwrap().code()
    }
}

/// A folder with the trace `t`, and another one, `u`, that lacks a thread.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["t", "u"] {
        let trace = trace();
        let to = folder.path().join(name);
        fs::create_dir(&to).unwrap();
        for file in fs::read_dir(trace.path()).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
        let round = [0x81, 0x82, 0x00, 0xC3, 0x05, 0x00, 0x00];
        fs::write(to.join("thread-14.flow"), round.repeat(2_000)).unwrap();
    }
    fs::remove_file(folder.path().join("u/thread-12.flow")).unwrap();
    folder
}

/// A question for each tool.
fn questions() -> Vec<(&'static str, Value)> {
    vec![
        ("recordings", json!({})),
        ("tests", json!({"verbose": true})),
        ("outline", json!({"thread": "main"})),
        ("steps", json!({"call": "1:1", "max": 5})),
        ("calls", json!({"method": "Main#work", "max": 5})),
        ("around", json!({"call": "1:1"})),
        ("report", json!({"max": 3, "by": "calls"})),
        ("exceptions", json!({})),
        ("compare", json!({"other": "u"})),
        ("behaviours", json!({"method": "Main#work"})),
        ("source", json!({})),
        ("who_runs", json!({"method": "Main#work"})),
    ]
}

#[test]
fn each_tool_returns_what_its_command_prints() {
    let folder = folder();
    let mut client = Client::of(folder.path());
    let listed = client.ask("tools/list", json!({}));
    let listed: Vec<_> =
        listed["tools"].as_array().unwrap().iter().map(|t| t["name"].clone()).collect();
    let asked: Vec<_> = questions().iter().map(|(tool, _)| json!(tool)).collect();
    assert_eq!(listed, asked, "each tool is asked here");
    for (tool, arguments) in questions() {
        let text = client.text(tool, arguments);
        let (typed, printed) = text.split_once('\n').expect(tool);
        let typed = typed.strip_prefix("$ flow ").expect(tool);
        let again = command().args(words(typed)).current_dir(folder.path()).output().unwrap();
        let again = String::from_utf8(again.stdout).unwrap();
        let printed = printed.split("\nnote: ").next().unwrap();
        // Messages name parameters where commands have flags.
        assert_eq!(printed.replace("(max ", "(--max "), again.trim_end(), "{tool}: {typed}");
        assert!(!printed.is_empty() && text.len() <= 8_000, "{tool}: {text}");
    }
    assert_eq!(client.end(), Some(0));
}

#[test]
fn old_and_new_versions_of_the_protocol_are_spoken() {
    let folder = folder();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let (mut client, answer) = Client::initialized(version, &["t"], folder.path());
        assert_eq!(answer["protocolVersion"], version, "{answer}");
        assert_eq!(answer["serverInfo"]["name"], "flow", "{answer}");
        assert!(client.text("report", json!({})).contains("com.app.Main.work(int)"));
        assert_eq!(client.end(), Some(0));
    }
    // Without `initialize`; each request says what it expects.
    let mut client = Client::start(&["t"], folder.path());
    client.meta = Some(json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }));
    let found = client.ask("server/discover", json!({}));
    assert!(
        found["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")),
        "{found}"
    );
    assert!(client.text("report", json!({})).contains("com.app.Main.work(int)"));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_client_with_sockets_instead_of_pipes_gets_answers() {
    // As Node.js starts programs.
    let folder = folder();
    let ((input, to), (from, output)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
    let mut server = command();
    server.args(["mcp", "t"]).current_dir(folder.path());
    server.stdin(OwnedFd::from(to)).stdout(OwnedFd::from(output));
    let mut server = server.spawn().unwrap();
    from.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let question = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }});
    writeln!(&input, "{question}").unwrap();
    let mut answer = String::new();
    BufReader::new(&from).read_line(&mut answer).expect("an answer in time");
    assert!(answer.contains("\"serverInfo\""), "{answer}");
    drop((input, from));
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn mistakes_are_named_with_what_was_meant() {
    let folder = folder();
    let mut client = Client::of(folder.path());
    for (tool, arguments, expected) in [
        (
            "calls",
            json!({"metod": "x"}),
            "calls has no parameter metod (did you mean method?); it has method, path,",
        ),
        (
            "calls",
            json!({"method": "Main#wrk"}),
            "no method matches 'Main#wrk'; the nearest: com.app.Main#work",
        ),
        ("calls", json!({"method": ["a"]}), "method of calls: expected a string, found [\"a\"]"),
        (
            "report",
            json!({"max": "many"}),
            "max of report: expected a whole number from 0 on, found \"many\"",
        ),
        (
            "report",
            json!({"by": "time"}),
            "by of report: expected one of calls, cpu, wall, found \"time\"",
        ),
        ("behaviours", json!({}), "behaviours needs method: A pattern"),
        ("report", json!({"path": "none"}), "no trace at none in"),
        ("report", json!({"path": "../.."}), "../.. is outside"),
        ("report", json!({"path": "/etc"}), "/etc is outside"),
        ("around", json!({"call": "1:1000"}), "thread 1 main has no call 1000"),
        ("outline", json!({"call": "1:1000"}), "thread 1 has no call 1,000"),
        ("outline", json!({"call": "x"}), "expected a call as THREAD:NUMBER"),
        ("tests", json!({"test": "none"}), "no test"),
        ("callz", json!({}), "no tool callz (did you mean calls?); there are recordings, tests,"),
        ("record", json!({"command": ["java"]}), "start it with flow mcp --allow-record"),
    ] {
        let error = client.error(tool, arguments);
        assert!(error.contains(expected), "{tool}: {error}");
        let is_of_tool = questions().iter().any(|(name, _)| *name == tool);
        assert!(!is_of_tool || error.contains("\nnext: "), "{error}");
    }
    // A value is never a flag.
    let error = client.error("calls", json!({"method": "--help"}));
    assert!(error.contains("no method matches '--help'"), "{error}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn answers_have_the_bytes_that_were_asked_for() {
    let folder = folder();
    let mut client = Client::of(folder.path());
    for (tool, arguments) in [
        ("calls", json!({"method": "Main#work", "max": 0})),
        ("report", json!({"tree": true, "max": 0})),
        ("outline", json!({})),
    ] {
        for bytes in [1, 600, 3_000] {
            let mut arguments = arguments.clone();
            arguments["max_bytes"] = bytes.into();
            let text = client.text(tool, arguments);
            assert!(text.len() <= bytes.max(500), "{tool} {bytes}: {}", text.len());
        }
    }
    let text = client.text("calls", json!({"method": "Main#work", "max": 0, "max_bytes": 2_000}));
    assert!(text.contains("… cut after "), "{text}");
    assert!(text.contains("for max_bytes 2000 (at most 64000); use where, test,"), "{text}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn garbage_and_long_lines_do_not_end_the_server() {
    let folder = folder();
    let mut client = Client::of(folder.path());
    let long = "x".repeat(20 << 20);
    for line in ["", "nonsense", "{\"jsonrpc\":", "[1, 2]", "\u{1b}[31m\u{0}", long.as_str()] {
        client.line(line);
        // Whatever was answered to that, the next question has an answer.
        client.sent += 1;
        let id = client.sent;
        client.line(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string());
        let mut answer = String::new();
        while !answer.contains(&format!("\"id\":{id}")) {
            answer.clear();
            assert!(client.output.read_line(&mut answer).unwrap() > 0, "the server has ended");
        }
    }
    assert!(client.text("recordings", json!({})).contains("command"));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_client_that_is_gone_ends_the_server() {
    let folder = folder();
    assert_eq!(Client::start(&["t"], folder.path()).end(), Some(0), "nothing was said");
    let mut client = Client::of(folder.path());
    // The answer has no reader.
    client.sent += 1;
    let question = json!({"name": "report", "arguments": {}});
    let id = client.sent;
    client.line(
        &json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": question})
            .to_string(),
    );
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_trace_that_grows_or_is_damaged_is_read_as_it_is() {
    let folder = folder();
    let mut client = Client::of(folder.path());
    let calls = |client: &mut Client| {
        let text = client.text("calls", json!({"method": "Main#work", "thread": "1", "max": 1}));
        text.lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(calls(&mut client), "com.app.Main.work(int): 2 calls, 2 shapes");
    let file = folder.path().join("t/thread-1.flow");
    fs::write(&file, [MAIN, MAIN].concat()).unwrap();
    assert_eq!(calls(&mut client), "com.app.Main.work(int): 4 calls, 3 shapes");
    fs::write(&file, [MAIN, &[0xFF; 8], MAIN].concat()).unwrap();
    let text = client.text("report", json!({}));
    assert!(text.contains("\nnote: ") && text.contains("thread-1.flow"), "{text}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_client_may_record_if_the_server_allows_it() {
    let folder = folder();
    let (mut client, _) = Client::initialized("2025-11-25", &["--allow-record"], folder.path());
    let tools = client.ask("tools/list", json!({}));
    let record = tools["tools"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(record["name"], "record");
    assert_eq!(record["annotations"]["readOnlyHint"], false);
    let error = client.error("record", json!({"command": "mvn test"}));
    assert!(error.contains("expected an array of strings"), "{error}");
    let text = client.text("record", json!({"command": ["no-such-command-x"]}));
    assert!(text.contains("no-such-command-x"), "{text}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn the_memory_of_the_server_is_that_of_its_questions() {
    let folder = folder();
    for (arguments, is_limited) in [(&["t"][..], false), (&["t", "--memory", "80"], true)] {
        let (mut client, _) = Client::initialized("2025-11-25", arguments, folder.path());
        let (text, _) = client.call("behaviours", json!({"method": "**#main"}));
        assert_eq!(text.contains("shapes need more than 80 B"), is_limited, "{text}");
        assert_eq!(client.end(), Some(0));
    }
}

#[test]
fn flow_enters_itself_into_the_settings_of_a_client() {
    let folder = tempfile::tempdir().unwrap();
    let run = command()
        .args(["mcp", "--install", "claude", "--allow-record", "--memory", "1k"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    let settings = fs::read_to_string(folder.path().join(".mcp.json")).unwrap();
    let settings: Value = serde_json::from_str(&settings).unwrap();
    let entered = &settings["mcpServers"]["flow"];
    let arguments = ["mcp", "--memory=1024", "--allow-record"];
    assert_eq!(entered, &json!({"type": "stdio", "command": "flow", "args": arguments}));
}

#[test]
fn a_path_that_is_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = flow(&["mcp"], &folder.path().join("none"));
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("none: No such file"), "{}", run.err);
}
