//! Runs the binary on small traces written by hand.

pub(crate) mod journal;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flow_codec::ThreadId;
use flow_codec::format::container::StreamKind;
use flow_codec::format::marks::Mark;
use flow_codec::format::names;
use flow_codec::format::test_marks::{Outcome, TestMark};
use flow_codec::write::{Compression, ContainerWriter};
use tempfile::TempDir;

pub(crate) const FLOW: &str = env!("CARGO_BIN_EXE_flow");

/// The outcome of a run of the binary.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A command that does not depend on the environment of the tests.
pub(crate) fn command() -> Command {
    let mut command = Command::new(FLOW);
    for name in ["JAVA_TOOL_OPTIONS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("FLOW_") {
            command.env_remove(name);
        }
    }
    command.env("FLOW_STARTED_AS", "flow");
    command
}

/// The words of a command without quotes.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// Runs `flow VERB ARGS DIR`.
pub(crate) fn flow(args: &[&str], dir: &Path) -> Run {
    command().args(args).arg(dir).output().unwrap().into()
}

pub(crate) const IDS: &str = "com.app.Main#main([Ljava/lang/String;)V=0\n\
    com.app.Main#work(I)I=1\n\
    com.app.Main$Job#<init>()V=2\n";

const THREADS: &str = r#"{"event":"start","id":1,"name":"main","daemon":false,"virtual":false,"at_ns":1}
{"event":"start","id":12,"name":"worker-1","daemon":true,"virtual":false,"at_ns":2}
{"event":"start","id":13,"name":"","daemon":true,"virtual":true,"at_ns":3}
{"event":"rename","id":12,"name":"pool-1","at_ns":5}
{"event":"end","id":1,"at_ns":9}
"#;

/// The data of a page of `report --html`.
pub(crate) fn page_data(page: &str) -> serde_json::Value {
    let (_, behind) = page.split_once(r#"<script type="application/json" id="data">"#).unwrap();
    let (data, _) = behind.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

/// Thread 1: main > work > (init, init); main > work.
pub(crate) const MAIN: &[u8] = &[0x80, 0x81, 0x82, 0x00, 0x82, 0x01, 0x81, 0x01];
/// Thread 12: exits of two frames entered before recording; work.
pub(crate) const POOL: &[u8] = &[0x01, 0x81, 0x00];
/// Thread 13: work, still open.
pub(crate) const VIRTUAL: &[u8] = &[0x81];

/// A trace of three threads, seven calls and eight exits.
pub(crate) fn trace() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_trace(dir.path());
    dir
}

pub(crate) fn write_trace(dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join("ids.properties"), IDS).unwrap();
    // As after a run with `ids=`: these names are in ids.properties only.
    fs::write(dir.join("methods.jsonl"), "").unwrap();
    fs::write(dir.join("threads.jsonl"), THREADS).unwrap();
    fs::write(dir.join("trace.json"), manifest(0, Some((7, 8, 12)))).unwrap();
    fs::write(dir.join("thread-1.flow"), MAIN).unwrap();
    fs::write(dir.join("thread-12.flow"), POOL).unwrap();
    fs::write(dir.join("thread-13.flow"), VIRTUAL).unwrap();
}

/// `trace.json`, with an end if its enters, exits and bytes are given.
pub(crate) fn manifest(start_unix_ns: u64, end: Option<(u64, u64, u64)>) -> String {
    let end = end.map_or_else(String::new, |(enters, exits, bytes)| {
        format!(
            r#","end":{{"at_ns":1500000000,"totals":{{"threads":3,"methods":3,"enters":{enters},"exits":{exits},"bytes":{bytes}}},"lost":{{"events":0,"reasons":[]}},"not_recorded":[{{"reason":"native","count":2,"methods":["a.B#n()V","a.B#o()V"]}}]}}"#
        )
    });
    format!(
        r#"{{"format_version":1,"tool":"flow-agent 0.1.0","engine":"events","event_format":"binary","options":{{"target":"com.app."}},"pid":4711,"host":"build-7","command":["java","-jar","app.jar"],"jvm":{{"name":"OpenJDK","version":"17","home":"/jdk"}},"start_unix_ns":{start_unix_ns}{end}}}"#
    )
}

/// A directory with only a thread file, as other writers of the format create it.
pub(crate) fn bare(bytes: &[u8]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ids.properties"), IDS).unwrap();
    fs::write(dir.path().join("thread-1.flow"), bytes).unwrap();
    dir
}

/// Writes the trace in a directory as a JVM that was killed leaves it in one file, with the journal beside.
pub(crate) fn write_killed_file(dir: &Path, file: &Path) {
    let mut bytes = Vec::new();
    let mut writer = ContainerWriter::new(&mut bytes, Compression::Zstd(1)).unwrap();
    let mut write = |kind, thread, path: &str| {
        if let Ok(content) = fs::read(dir.join(path)) {
            writer.write_stream(kind, thread, &content[..]).unwrap();
        }
    };
    let texts = [StreamKind::Manifest, StreamKind::Ids, StreamKind::Methods, StreamKind::Threads];
    for kind in texts {
        write(kind, None, &names::stream_file(kind, ThreadId::new(0)));
    }
    for thread in (1..30).map(ThreadId::new) {
        for kind in [StreamKind::Events, StreamKind::Marks] {
            write(kind, Some(thread), &names::stream_file(kind, thread));
        }
    }
    writer.finish().unwrap();
    // Without its end.
    bytes.pop();
    fs::write(file, bytes).unwrap();
    for name in [names::JOURNAL, names::CHECKPOINT] {
        if dir.join(name).exists() {
            fs::copy(dir.join(name), names::beside(file, name)).unwrap();
        }
    }
}

/// An executable shell script. Written by another process: a file that this one has open for writing
/// while another test forks cannot be run ("text file busy").
pub(crate) fn script(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    let text = format!("#!/bin/sh\n{text}");
    let write = "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"";
    let status = Command::new("sh").args(["-c", write]).arg(&path).arg(text).status();
    assert!(status.unwrap().success());
    path
}

pub(crate) fn text(path: impl AsRef<OsStr>) -> String {
    path.as_ref().to_str().unwrap().to_owned()
}

/// A test mark from `test STATE NAME`, with a tab and the detail if there is any; a note from other texts.
pub(crate) fn test_mark(text: &str) -> Mark {
    let Some((state, rest)) = text.strip_prefix("test ").and_then(|rest| rest.split_once(' '))
    else {
        return Mark::Note(text.to_owned());
    };
    let outcome = match state {
        "started" => None,
        "passed" => Some(Outcome::Passed),
        "failed" => Some(Outcome::Failed),
        "aborted" => Some(Outcome::Aborted),
        "skipped" => Some(Outcome::Skipped),
        other => panic!("{other}"),
    };
    let (name, detail) = rest.split_once('\t').unwrap_or((rest, ""));
    Mark::Test(TestMark { outcome, name: name.to_owned(), detail: detail.to_owned() })
}
