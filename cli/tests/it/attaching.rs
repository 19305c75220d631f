//! `flow attach` and `flow detach`, with shells in place of JVMs.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Run, command};
use signal_hook::consts::SIGQUIT;
use signal_hook::iterator::Signals;
use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_secs(30);
/// Prints a line for each signal, which interrupts `read`. Its input never has data, so waiting costs
/// nothing, and it ends with its input.
const JVM: &str = "trap 'echo quit; heard=1' QUIT; echo ready; \
    while heard=; read -r line || [ \"$heard\" ]; do :; done";

/// A shell that is mapped as `libjvm.so`, and files in place of agent libraries.
struct Jvm {
    dir: TempDir,
    child: Child,
    /// Its output, line by line.
    told: BufReader<std::process::ChildStdout>,
    /// The protocol prescribes the path; the process id makes it unique among tests.
    socket: PathBuf,
}

impl Jvm {
    fn start(script: &str) -> Self {
        Self::start_with(script, &[])
    }

    fn start_with(script: &str, variables: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        // Copied by another process: a file that this one has open for writing while another test forks
        // cannot be run.
        let shell = dir.path().join("libjvm.so");
        let sh = fs::canonicalize("/bin/sh").unwrap();
        assert!(Command::new("cp").arg(sh).arg(&shell).status().unwrap().success());
        fs::write(dir.path().join("libflowagent.so"), "").unwrap();
        // A test run in the background may ignore the signal, which a shell cannot undo. A signal that is
        // handled here has its default action in a child.
        drop(Signals::new([SIGQUIT]).unwrap());
        let mut child = Command::new(&shell)
            .arg0("sh")
            .args(["-c", script])
            .envs(variables.iter().copied())
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let told = BufReader::new(child.stdout.take().unwrap());
        let socket = PathBuf::from(format!("/tmp/.java_pid{}", child.id()));
        let mut jvm = Self { dir, child, told, socket };
        assert_eq!(jvm.line(), "ready\n");
        jvm
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.told.read_line(&mut line).unwrap();
        line
    }

    /// Ends it, and returns what it has printed since the last line that was read.
    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.told.read_to_string(&mut rest).unwrap();
        rest
    }

    fn flow(&self, verb: &str, args: &[&str]) -> Run {
        let pid = self.child.id().to_string();
        let mut flow = command();
        flow.args([verb, &pid]).args(args).current_dir(self.dir.path());
        flow.output().unwrap().into()
    }

    /// Runs `flow attach`, and answers in place of the JVM after the request to listen.
    fn attach(&mut self, args: &[&str], answer: &str, refusal: &str) -> (Run, Vec<String>) {
        let trigger = self.dir.path().join(format!(".attach_pid{}", self.child.id()));
        let (socket, answer, refusal) =
            (self.socket.clone(), answer.to_owned(), refusal.to_owned());
        let listening = trigger.clone();
        let jvm = thread::spawn(move || {
            wait_for(&listening);
            serve(&socket, &answer, &refusal)
        });
        let run = self.flow("attach", &[&["--agent", "libflowagent.so"], args].concat());
        // If there was no request, this ends the wait for it.
        drop(UnixStream::connect(&self.socket));
        let _ = fs::remove_file(&self.socket);
        assert!(!trigger.exists(), "{run:?}");
        assert_eq!(self.line(), "quit\n");
        (run, jvm.join().unwrap())
    }
}

impl Drop for Jvm {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.socket);
    }
}

fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < DEADLINE, "{} does not appear", path.display());
        thread::yield_now();
    }
}

/// Accepts one request, writes the agent's reason to the file that it names, and answers.
fn serve(socket: &Path, answer: &str, refusal: &str) -> Vec<String> {
    serve_after(|| (), socket, answer, refusal)
}

/// The same, but waits before it answers.
fn serve_after(wait: impl FnOnce(), socket: &Path, answer: &str, refusal: &str) -> Vec<String> {
    // Left by an earlier process with this id.
    let _ = fs::remove_file(socket);
    let listener = UnixListener::bind(socket).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let mut request = Vec::new();
    while request.iter().filter(|byte| **byte == 0).count() < 5 {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        request.extend(byte);
    }
    let request = String::from_utf8(request).unwrap();
    let parts: Vec<_> = request.split_terminator('\0').map(str::to_owned).collect();
    let (_, file) = parts.last().unwrap().split_once("answer=").unwrap();
    let mut file = fs::OpenOptions::new().write(true).open(file).unwrap();
    file.write_all(refusal.as_bytes()).unwrap();
    wait();
    stream.write_all(answer.as_bytes()).unwrap();
    parts
}

/// The file that a request names for the agent's reason.
fn answer_file(request: &[String]) -> &Path {
    Path::new(request.last().unwrap().split_once("answer=").unwrap().1)
}

#[test]
fn a_jvm_is_asked_to_load_the_library_with_absolute_paths() {
    let mut jvm = Jvm::start(JVM);
    let args = ["-o", "my trace", "--target", "a.", "--include", "x,*", "--no-command"];
    let (run, request) = jvm.attach(&args, "0\nreturn code: 0\n", "");
    let pid = jvm.child.id();
    assert_eq!(
        (run.code, run.err),
        (
            Some(0),
            format!(
                "flow: recording process {pid} into 'my trace'; stop with: flow detach {pid}\n"
            )
        )
    );
    let dir = fs::canonicalize(jvm.dir.path()).unwrap();
    let library = dir.join("libflowagent.so");
    assert_eq!(request[..4], ["1", "load", library.to_str().unwrap(), "true"]);
    let options = format!(
        "out={}/my trace,target=a.,include=x\\,*,command=none,answer=/tmp/.flow-",
        dir.display()
    );
    assert!(request[4].starts_with(&options), "{}", request[4]);
    assert!(!answer_file(&request).exists());
}

#[test]
fn the_agents_reason_for_refusing_is_shown() {
    let mut jvm = Jvm::start(JVM);
    let pid = jvm.child.id();
    let (run, request) =
        jvm.attach(&[], "0\nreturn code: -1\n", "out=/: not\u{1b}writable; choose another\n");
    let reason = format!("flow: process {pid}: out=/: not\\u{{1b}}writable; choose another\n");
    assert_eq!((run.code, run.err), (Some(1), reason));
    assert!(!answer_file(&request).exists());

    let (run, _) = jvm.attach(&[], "0\n/l.so was not loaded.\n/l.so: no such file\n", "");
    let reason = "the JVM did not load the agent: /l.so was not loaded; /l.so: no such file\n";
    assert_eq!((run.code, run.err), (Some(1), format!("flow: process {pid}: {reason}")));
}

#[test]
fn options_that_are_too_long_are_distinguished_from_a_jvm_that_hangs_up() {
    let mut jvm = Jvm::start(JVM);
    let (run, _) = jvm.attach(&["--target", &"x".repeat(1_000)], "", "");
    assert!(
        run.err.contains("takes at most 1024 bytes of options, and these have 1"),
        "{}",
        run.err
    );
    let (run, _) = jvm.attach(&[], "", "");
    assert!(run.err.contains("closed the connection without an answer"), "{}", run.err);
}

#[test]
fn a_jvm_that_listens_is_sent_no_signal() {
    let jvm = Jvm::start(JVM);
    let socket = jvm.socket.clone();
    let server = thread::spawn(move || serve(&socket, "0\nreturn code: 0\n", ""));
    wait_for(&jvm.socket);
    let run = jvm.flow("detach", &["--agent", "libflowagent.so"]);
    let pid = jvm.child.id();
    assert_eq!((run.code, run.err), (Some(0), format!("flow: recording of process {pid} ended\n")));
    assert!(server.join().unwrap()[4].starts_with("detach,answer=/tmp/.flow-"));
}

#[test]
fn a_jvm_that_would_print_its_threads_gets_no_signal() {
    let agent = ["--agent", "libflowagent.so"];
    let flag = "-XX:+DisableAttachMechanism";
    for name in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
        let jvm = Jvm::start_with(JVM, &[(name, flag)]);
        let run = jvm.flow("attach", &agent);
        let pid = jvm.child.id();
        let expected =
            format!("flow: process {pid}: the JVM runs with {flag}, which forbids attaching\n");
        assert_eq!((run.code, run.err), (Some(1), expected));
        assert_eq!(jvm.end(), "");
    }

    let jvm = Jvm::start(JVM);
    let pid = jvm.child.id().to_string();
    let signal = |name| {
        assert!(Command::new("kill").args([name, pid.as_str()]).status().unwrap().success());
    };
    signal("-STOP");
    let status = format!("/proc/{pid}/status");
    while !fs::read_to_string(&status).unwrap().contains("State:\tT") {
        thread::yield_now();
    }
    let run = jvm.flow("attach", &agent);
    signal("-CONT");
    assert!(run.err.contains(": it is stopped, and cannot answer"), "{}", run.err);
    assert_eq!((run.code, jvm.end().as_str()), (Some(1), ""));
}

#[test]
fn a_process_that_is_no_jvm_gets_no_signal() {
    let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
    let pid = sleeper.id().to_string();
    for verb in ["attach", "detach"] {
        let agent = ["--agent", "/bin/sh"];
        let run: Run = command().args([verb, &pid]).args(agent).output().unwrap().into();
        assert_eq!(run.code, Some(1));
        assert!(run.err.contains("not a JVM"), "{}", run.err);
    }
    assert_eq!(sleeper.try_wait().unwrap(), None, "the signal would have killed it");
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    let run: Run = command().args(["detach", &pid]).output().unwrap().into();
    assert_eq!((run.code, run.err), (Some(1), format!("flow: process {pid}: no such process\n")));
}

#[test]
fn a_jvm_without_the_agent_has_nothing_to_end() {
    let jvm = Jvm::start(JVM);
    let run = jvm.flow("detach", &[]);
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("not recorded: it has not loaded libflowagent.so"), "{}", run.err);
}

#[test]
fn what_is_no_process_id_is_answered_with_those_that_could_be_meant() {
    let jvm = Jvm::start(JVM);
    let listed = format!("{}  sh", jvm.child.id());
    for (verb, pid) in
        [("attach", Some("foo")), ("detach", Some("0")), ("attach", None), ("detach", None)]
    {
        let run: Run = command().arg(verb).args(pid).output().unwrap().into();
        let found = pid.map_or_else(String::new, |pid| format!(", found '{pid}'"));
        let expected = format!(
            "flow: expected the process id of a JVM{found}; those of this user are listed above\n"
        );
        assert!(run.err.ends_with(&expected), "{}", run.err);
        // One a line, as they can be typed.
        assert!(run.err.lines().any(|line| line.ends_with(&listed)), "{}", run.err);
        assert_eq!(run.code, Some(2), "{}", run.err);
    }
}

#[test]
fn a_jvm_that_takes_long_is_explained() {
    let jvm = Jvm::start(JVM);
    let socket = jvm.socket.clone();
    let (explained, may_answer) = mpsc::channel();
    let server = thread::spawn(move || {
        serve_after(|| may_answer.recv().unwrap(), &socket, "0\nreturn code: 0\n", "")
    });
    wait_for(&jvm.socket);
    let pid = jvm.child.id();
    let mut command = command();
    command.args(["detach", &pid.to_string(), "--agent", "libflowagent.so"]);
    let mut flow = command.current_dir(jvm.dir.path()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(flow.stderr.take().unwrap()).lines().map(Result::unwrap);
    let line = lines.next().unwrap();
    assert!(line.starts_with(&format!("flow: process {pid}: the JVM replaces the code")), "{line}");
    explained.send(()).unwrap();
    assert_eq!(lines.next().unwrap(), format!("flow: recording of process {pid} ended"));
    assert!(flow.wait().unwrap().success());
    server.join().unwrap();
}
