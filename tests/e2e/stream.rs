//! Traces that are sent to a collector while they are recorded.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use flow_e2e::{
    Blinky, Decoded, Jdk, Program, Reach, Rounds, Running, Way, assert_verbs_agree, check,
    decode_trace, flow, golden, jdks, library,
};
use serde_json::Value;
use tempfile::TempDir;

use crate::attach::{Session, steps_of_workers, workers};
use crate::values::values;
use crate::{on_every_engine, on_every_jdk, shown};

const PATIENCE: Duration = Duration::from_secs(120);

/// A running `flow listen`.
pub(crate) struct Collector {
    child: Child,
    dir: TempDir,
    pub(crate) address: String,
}

impl Collector {
    pub(crate) fn start() -> Self {
        Self::start_at(|dir| format!("unix:{}/socket", dir.display()), &[])
    }

    fn start_at(address: impl FnOnce(&Path) -> String, args: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let address = address(dir.path());
        let child = launch(dir.path(), &address, args);
        let mut collector = Self { child, dir, address };
        collector.wait_until_it_listens();
        collector
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again, after it was killed.
    pub(crate) fn restart(&mut self) {
        self.child = launch(self.dir.path(), &self.address, &[]);
        self.wait_until_it_listens();
    }

    fn wait_until_it_listens(&mut self) {
        wait_for(|| self.messages().contains("listening"));
        if let Some(address) = self.messages().split("stream=").nth(1) {
            let end = address.find([',', '\n']).unwrap();
            self.address = address[..end].to_owned();
        }
    }

    pub(crate) fn signal(&self, signal: &str) {
        send_signal(self.child.id(), signal);
    }

    /// Sends a command.
    pub(crate) fn command(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("a pipe");
        writeln!(stdin, "{line}").unwrap();
    }

    /// Waits as long as something is so.
    pub(crate) fn wait_while(&self, mut condition: impl FnMut() -> bool) {
        let begun = Instant::now();
        while condition() {
            assert!(begun.elapsed() < PATIENCE, "still so: {}", self.messages());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn messages(&self) -> String {
        fs::read_to_string(self.dir.path().join("messages")).unwrap_or_default()
    }

    /// The trace of the first JVM.
    pub(crate) fn trace(&self) -> PathBuf {
        self.dir.path().join("app.flowtrace")
    }

    /// Waits until this is among its messages.
    fn wait_for(&self, text: &str) {
        self.wait_until(|messages| messages.contains(text));
    }

    /// Waits until its messages are as expected.
    pub(crate) fn wait_until(&self, expected: impl Fn(&str) -> bool) {
        self.wait_while(|| !expected(&self.messages()));
    }

    /// Ends it with Ctrl-C.
    fn end(mut self) -> (TempDir, String) {
        self.signal("-INT");
        let status = self.child.wait().unwrap();
        let messages = self.messages();
        assert_eq!(status.code(), Some(0), "{messages}");
        (std::mem::replace(&mut self.dir, tempfile::tempdir().unwrap()), messages)
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn launch(dir: &Path, address: &str, args: &[&str]) -> Child {
    let messages = fs::File::create(dir.join("messages")).unwrap();
    let mut command = Command::new(flow());
    command.args(["listen", address, "-o"]).arg(dir.join("app.flowtrace")).args(args);
    let calls = fs::File::create(dir.join("calls")).unwrap();
    command.stdin(Stdio::piped()).stdout(calls).stderr(messages).spawn().unwrap()
}

fn wait_for(condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "still waiting for it");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn events(trace: &Decoded) -> Vec<(String, Vec<u8>)> {
    let threads = trace.threads.values().filter(|thread| !thread.events.is_empty());
    threads.map(|thread| (thread.name.clone(), thread.bytes.clone())).collect()
}

pub(crate) fn assert_sound(trace: &Path) {
    let (code, found) = check(trace);
    assert_eq!(code, Some(0), "{found}");
    assert_eq!(found["verdict"], "sound", "{found}");
}

/// Directories that a trace which is only sent leaves in the workspace.
pub(crate) fn leftovers(program: &Program) -> Vec<String> {
    let entries = fs::read_dir(program.workspace()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("flow-stream-")).collect()
}

#[test]
fn a_collector_stores_what_a_directory_has() {
    on_every_engine(|jdk, engine| {
        let expected = events(&Program::harness(jdk, "Recursion").engine(engine).run().trace());
        for options in ["", "overflow=wait", "overflow=drop", "chunk=64"] {
            let collector = Collector::start();
            let program = Program::harness(jdk, "Recursion").engine(engine).options(options);
            let run = program.only_send_to(&collector.address).run();
            assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
            collector.wait_for("has ended: ");
            let trace = decode_trace(&collector.trace());
            assert_eq!(events(&trace), expected, "{options}");
            assert_verbs_agree(&collector.trace(), &trace);
            assert_sound(&collector.trace());
            assert_eq!(leftovers(&run.program), Vec::<String>::new());
            let (dir, messages) = collector.end();
            assert!(messages.contains("106 calls in "), "{messages}");
            assert!(!dir.path().join("socket").exists());
        }
    });
}

/// What `replay` shows of accesses and instructions, without identities.
fn details(trace: &Path) -> (Vec<String>, Vec<String>) {
    let executed = Blinky::read(&shown(&["export", "--to", "blinky"], trace));
    let of = |one| (one, executed.of(one));
    let executed = executed.executions.iter().map(of).map(|(one, (instruction, method))| {
        format!("{} {} {} {}", method.owner, method.name, instruction.at, one.kind)
    });
    (values(trace), executed.collect())
}

#[test]
fn details_are_sent_too() {
    const DETAILS: &str = "fields=harness.**,values=harness.**,instructions=harness.**,lines=**";
    on_every_jdk(|jdk| {
        let program = Program::harness(jdk, "Accessed").options(DETAILS);
        let expected = details(&program.run().out());
        assert!(expected.0.len() > 100 && expected.1.len() > 500, "{expected:?}");
        for options in ["", "chunk=64"] {
            let collector = Collector::start();
            let program =
                Program::harness(jdk, "Accessed").options(&format!("{DETAILS},{options}"));
            let run = program.only_send_to(&collector.address).run();
            assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
            collector.wait_for("has ended: ");
            assert_eq!(details(&collector.trace()), expected, "{options}");
            assert_sound(&collector.trace());
        }
    });
}

#[test]
fn a_trace_is_sent_beside_its_file_byte_for_byte() {
    on_every_jdk(|jdk| {
        let collector = Collector::start();
        let rounds = Rounds::joined(5, 4000, Way::Return);
        let program = rounds.program(jdk);
        let out = program.workspace().join("own.flowtrace");
        let program = program.record_into(out).options(&format!("stream={}", collector.address));
        let run = program.run();
        assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        collector.wait_for("has ended: ");
        assert_eq!(fs::read(run.out()).unwrap(), fs::read(collector.trace()).unwrap());
        rounds.assert_followed(&decode_trace(&collector.trace()), |_| Reach::Whole(4000));
    });
}

#[test]
fn calls_are_printed_as_they_come() {
    on_every_jdk(|jdk| {
        let socket = |dir: &Path| format!("unix:{}/socket", dir.display());
        let collector = Collector::start_at(socket, &["--report", "calls", "--format", "json"]);
        let run = || {
            let program = Program::harness(jdk, "Recursion");
            assert_eq!(program.only_send_to(&collector.address).run().code(), Some(0));
        };
        let lines = || {
            let text = fs::read_to_string(collector.dir.path().join("calls")).unwrap();
            let lines = text.lines().map(|line| serde_json::from_str(line).unwrap_or_default());
            lines.collect::<Vec<Value>>()
        };
        for times in [1, 2] {
            run();
            wait_for(|| lines().len() == times * 106);
        }
        assert!(lines().iter().all(|line| line["depth"].is_u64() && line["readable"].is_string()));
        assert!(lines().iter().any(|line| line["name"] == "main"));
        collector.end();
    });
}

/// The lines that `flow listen` prints in a report on a program until it has ended, and the trace.
fn reported(jdk: &Jdk, name: &str, report: &[&str]) -> (Vec<Value>, TempDir) {
    let socket = |dir: &Path| format!("unix:{}/socket", dir.display());
    let collector =
        Collector::start_at(socket, &[&["--format", "json", "--report"], report].concat());
    let run = Program::harness(jdk, name).only_send_to(&collector.address).run();
    assert!(run.code().is_some());
    collector.wait_for("has ended: ");
    let (dir, _) = collector.end();
    let text = fs::read_to_string(dir.path().join("calls")).unwrap();
    (text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), dir)
}

#[test]
fn reports_add_up_to_what_the_trace_has() {
    on_every_jdk(|jdk| {
        // Calls of each method, by its readable name.
        let mut sums = BTreeMap::<String, u64>::new();
        let (lines, dir) = reported(jdk, "Recursion", &["methods", "--every", "50ms"]);
        for line in lines {
            *sums.entry(line["readable"].to_string()).or_default() +=
                line["calls"].as_u64().unwrap();
            assert!(line["from_ns"].as_u64() < line["to_ns"].as_u64(), "{line}");
        }
        let report = Command::new(flow())
            .args(["report", "--format", "json", "--by", "calls"])
            .arg(dir.path().join("app.flowtrace"))
            .output()
            .unwrap();
        let report = String::from_utf8(report.stdout).unwrap();
        let expected: BTreeMap<_, _> = report
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|line| (line["readable"].to_string(), line["calls"].as_u64().unwrap()))
            .collect();
        assert_eq!(sums, expected);
        assert_eq!(sums.values().sum::<u64>(), 106);

        let (lines, _) = reported(jdk, "Recursion", &["graph"]);
        let calls = |line: &Value| line["calls"].as_u64().unwrap();
        assert_eq!(lines.iter().map(calls).sum::<u64>(), 106);
        let outermost = |line: &&Value| line["caller"]["name"].is_null();
        assert!(lines.iter().filter(outermost).any(|line| line["callee"]["name"] == "main"));

        let (lines, dir) = reported(jdk, "Exceptions", &["exceptions"]);
        let unwound: u64 = lines.iter().map(|line| line["unwound"].as_u64().unwrap()).sum();
        let info = Command::new(flow())
            .args(["info", "--format", "json"])
            .arg(dir.path().join("app.flowtrace"))
            .output()
            .unwrap();
        let info: Value = serde_json::from_slice(&info.stdout).unwrap();
        assert!(unwound > 0);
        assert_eq!(info["marks"]["unwound"].as_u64(), Some(unwound), "{lines:?}");
    });
}

#[test]
fn what_is_attached_to_is_sent_too() {
    on_every_jdk(|jdk| {
        let collector = Collector::start();
        let mut session = Session::start(jdk);
        session.command("work 10");
        let library = library();
        let stream =
            ["--stream", &collector.address, "--agent", library.to_str().unwrap(), "--all"];
        let output = session.flow("attach", &stream);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        session.command("work 7");
        session.detach();
        collector.wait_for("has ended: ");
        let trace = decode_trace(&collector.trace());
        assert_sound(&collector.trace());
        let steps = steps_of_workers(&trace);
        assert_eq!(steps.len(), workers(jdk));
        assert!(steps.values().all(|steps| *steps == [7]), "{steps:?}");
        session.exit();
    });
}

/// How often workers have called `step`, in what a collector has received, and how many calls of all threads are open.
pub(crate) fn steps_and_open_calls(trace: &Path) -> (u64, u64) {
    // The trace has no end yet, which is not of interest here.
    let report = ["report", "--by", "calls", "--format", "json"];
    let output = Command::new(flow()).args(report).arg(trace).output().unwrap();
    let rows = String::from_utf8(output.stdout).unwrap();
    let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let steps = rows.filter(|row| row["readable"].to_string().contains(".step("));
    let (_, found) = check(trace);
    let total = |kind: &str| found["totals"][kind].as_u64().unwrap_or(0);
    (steps.map(|row| row["calls"].as_u64().unwrap()).sum(), total("enters") - total("exits"))
}

#[test]
fn what_threads_recorded_before_they_wait_is_sent_while_they_wait() {
    on_every_jdk(|jdk| {
        for options in ["", "clock=exact", "clock=off", "order=total", "overflow=drop"] {
            let collector = Collector::start();
            let program = Program::harness(jdk, "Attached").options(options);
            let mut session = Session::recorded(program.only_send_to(&collector.address));
            // `main` is in `serve`, and each worker in `run`.
            let (workers, mut steps) = (workers(jdk) as u64, 0);
            let open = workers + 2;
            for times in [100, 1, 30] {
                session.command(&format!("work {times}"));
                steps += times * workers;
                // All threads wait at this point.
                collector.wait_while(|| {
                    !collector.trace().exists()
                        || steps_and_open_calls(&collector.trace()) != (steps, open)
                });
            }
            session.say("exit 5");
            assert_eq!(session.child.wait().unwrap().code(), Some(5));
            collector.wait_for("has ended: ");
            assert_sound(&collector.trace());
            assert_eq!(steps_and_open_calls(&collector.trace()).0, steps, "{options}");
        }
    });
}

#[test]
fn a_collector_that_ends_first_has_all_that_was_recorded_until_then() {
    on_every_jdk(|jdk| {
        let collector = Collector::start();
        let program = Program::harness(jdk, "Attached").only_send_to(&collector.address);
        let mut session = Session::recorded(program);
        collector.wait_for("is recorded into");
        session.command("work 100");
        let (dir, _) = collector.end();
        let (steps, _) = steps_and_open_calls(&dir.path().join("app.flowtrace"));
        assert_eq!(steps, 100 * workers(jdk) as u64);
        session.say("exit 5");
        assert_eq!(session.child.wait().unwrap().code(), Some(5));
    });
}

#[test]
fn threads_that_wait_for_a_stopped_collector_continue() {
    let jdk = jdks().last().unwrap();
    let mut collector = Collector::start();
    let program = Program::harness(jdk, "Attached").only_send_to(&collector.address);
    let mut session = Session::recorded(program);
    collector.wait_for("is recorded into");
    collector.command("pause");
    collector.wait_for("pause: sent to 1 JVM");
    session.say("work 3");
    collector.signal("-STOP");
    // The work is done in any case: threads that were held up continue, or the command came too late.
    session.wait_for("work 3");
    collector.signal("-CONT");
    session.say("exit 5");
    let output = session.child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("nothing has come from the collector for 10 s"), "{errors}");
    collector.wait_for("has ended: ");
    assert_eq!(steps_and_open_calls(&collector.trace()).0, 3 * workers(jdk) as u64);
}

#[test]
fn a_signal_that_the_program_handles_is_no_end() {
    // A JVM that is started with the signal ignored, as by nohup, ignores it whatever the program does.
    if is_hangup_ignored() {
        return;
    }
    on_every_engine(|jdk, engine| {
        let mut collector = Collector::start();
        let program = Program::harness(jdk, "Hooked").args(["wait", "HUP"]).engine(engine);
        let program = program.only_send_to(&collector.address);
        let running = program.launch();
        let output = |name| fs::read_to_string(program.workspace().join(name)).unwrap_or_default();
        collector.wait_for("is recorded into");
        wait_for(|| output("stdout").contains("hooked 20"));
        collector.command("pause");
        collector.wait_for("pause: sent to 1 JVM");
        let pid = running.id().to_string();
        send_signal(running.id(), "-HUP");
        // The handler waits, too.
        wait_for(|| task(&pid, "SIGHUP handler").is_some());
        let turns = || {
            let sender = task(&pid, "flow-stream").unwrap();
            let status = fs::read_to_string(sender.join("status")).unwrap();
            let turns =
                status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            turns.unwrap().trim().parse::<u64>().unwrap()
        };
        // What would end the pause is looked for at each turn, which is several times a second.
        let (before, begun) = (turns(), Instant::now());
        wait_for(|| turns() > before + 5 && begun.elapsed() > Duration::from_secs(1));
        assert_eq!(output("stderr"), "");
        terminate(running);
        collector.wait_for("has ended: ");
        assert!(output("stderr").contains("the JVM is ending"), "{}", output("stderr"));
        assert_sound(&collector.trace());
    });
}

/// Returns whether this process, and so those that it starts, ignores SIGHUP.
fn is_hangup_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(ignored.trim(), 16).unwrap() & 1 == 1
}

/// The directory of a thread of a process, by its name.
fn task(pid: &str, name: &str) -> Option<PathBuf> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let mut tasks = tasks.map(|task| task.unwrap().path());
    tasks.find(|task| fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.trim() == name))
}

#[test]
fn a_signal_ends_a_jvm_whose_hooks_wait() {
    on_every_jdk(|jdk| {
        let mut collector = Collector::start();
        let program = Program::harness(jdk, "Hooked").args(["wait"]);
        let program = program.only_send_to(&collector.address);
        let running = program.launch();
        let stdout = || fs::read_to_string(program.workspace().join("stdout")).unwrap_or_default();
        collector.wait_for("is recorded into");
        wait_for(|| stdout().contains("hooked 20"));
        collector.command("pause");
        collector.wait_for("pause: sent to 1 JVM");
        terminate(running);
        collector.wait_for("has ended: ");
        assert_sound(&collector.trace());
    });
}

/// A message: its kind, the length of its body, and the body.
fn raw_message(kind: u8, body: &[u8]) -> Vec<u8> {
    let len = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&[kind][..], &len, body].concat()
}

const WELCOME: u8 = 2;
const DATA: u8 = 4;
const ACKNOWLEDGED: u8 = 5;
const FILTER: u8 = 7;

/// A collector of this test, at a socket, with its first connection.
fn own_collector(dir: &Path) -> (String, std::thread::JoinHandle<UnixStream>) {
    let path = dir.join("own");
    let listener = UnixListener::bind(&path).unwrap();
    let accept = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&raw_message(WELCOME, &[0; 8])).unwrap();
        stream
    });
    (format!("unix:{}", path.display()), accept)
}

#[test]
fn a_collector_that_acknowledges_byte_by_byte_does_not_keep_a_program_from_ending() {
    let jdk = jdks().last().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (address, accept) = own_collector(dir.path());
    let program = Program::harness(jdk, "Recursion").only_send_to(&address);
    let running = program.launch();
    let mut stream = accept.join().unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let (mut received, mut acknowledged, mut input) = (0_u64, 0_u64, Vec::new());
    let mut buffer = vec![0; 1 << 16];
    // Until the JVM closes the connection, because it has ended.
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => input.extend_from_slice(&buffer[..read]),
            Err(_) if acknowledged < received => {
                acknowledged += 1;
                let _ = stream.write_all(&raw_message(ACKNOWLEDGED, &acknowledged.to_be_bytes()));
            }
            Err(_) => {}
        }
        while let Some((header, rest)) = input.split_first_chunk::<5>() {
            let len = u32::from_be_bytes(header[1..].try_into().unwrap()) as usize;
            if rest.len() < len {
                break;
            }
            received += if header[0] == DATA { len as u64 - 8 } else { 0 };
            input.drain(..5 + len);
        }
    }
    assert!(acknowledged < received, "{received} bytes are too few for this test");
    assert!(running.end().success());
    let errors = fs::read_to_string(program.workspace().join("stderr")).unwrap();
    let [left] = &*leftovers(&program) else { panic!("{errors}") };
    assert!(errors.contains("more than 10 seconds") && errors.contains(left), "{errors}");
}

#[test]
fn a_collector_that_reads_no_answers_is_not_read_either() {
    let jdk = jdks().last().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (address, accept) = own_collector(dir.path());
    let mut session = Session::recorded(Program::harness(jdk, "Attached").only_send_to(&address));
    let mut stream = accept.join().unwrap();
    // Each of these is refused, in a longer answer.
    let filters = raw_message(FILTER, b"x").repeat(10_000);
    stream.set_write_timeout(Some(Duration::from_secs(3))).unwrap();
    let mut sent = 0;
    let blocked = loop {
        match stream.write(&filters) {
            Ok(written) => sent += written,
            Err(error) => break error,
        }
        assert!(sent < 32 << 20, "it reads and keeps everything");
    };
    assert_eq!(blocked.kind(), std::io::ErrorKind::WouldBlock);
    session.command("work 3");
    drop(stream);
    session.say("exit 5");
    assert_eq!(session.child.wait().unwrap().code(), Some(5));
}

#[test]
fn a_collector_of_another_user_gets_nothing() {
    let jdk = jdks().last().unwrap();
    // Only root can start a program as another user.
    let user = Command::new("id").arg("-u").output().unwrap();
    if user.stdout != b"0\n" {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
    fs::set_permissions(dir.path(), open).unwrap();
    let path = dir.path().join("socket");
    let mut thief = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "perl", "-MIO::Socket::UNIX", "-e"])
        .arg(
            "$| = 1; $s = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 5); chmod 0777, $ARGV[0]; \
             while ($c = $s->accept) { sysread($c, $b, 9) and print \"got $b\\n\"; }",
        )
        .arg(&path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(|| path.exists());
    let program = Program::harness(jdk, "Hello").only_send_to(&format!("unix:{}", path.display()));
    let running = program.launch();
    assert!(running.end().success());
    let errors = fs::read_to_string(program.workspace().join("stderr")).unwrap();
    assert!(errors.contains("belongs to another user (uid 65534)"), "{errors}");
    assert_eq!(leftovers(&program).len(), 1, "{errors}");
    thief.kill().unwrap();
    let output = thief.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
}

#[test]
fn an_attached_jvm_is_reported_to_send_to_nobody() {
    let jdk = jdks().last().unwrap();
    let session = Session::start(jdk);
    let library = library();
    let attach = |address: &str| {
        let args = ["--stream", address, "--agent", library.to_str().unwrap(), "--all"];
        let output = session.flow("attach", &args);
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let nobody = attach(&format!("unix:{}", session.dir("nobody").display()));
    assert!(nobody.contains("nobody listens there now"), "{nobody}");
    assert!(nobody.contains(" listen unix:"), "{nobody}");
    session.detach();
    let collector = Collector::start();
    let heard = attach(&collector.address);
    assert!(
        heard.contains("sends what it records to unix:") && !heard.contains("nobody"),
        "{heard}"
    );
    let mut session = session;
    session.say("exit 5");
    assert_eq!(session.child.wait().unwrap().code(), Some(5));
}

#[test]
fn several_jvms_and_virtual_threads_are_received_at_once() {
    let jdk = jdks().last().unwrap();
    let collector = Collector::start();
    let run = |name: &str, args: &[&str]| {
        let program = Program::harness(jdk, name).args(args).only_send_to(&collector.address);
        let running = program.launch();
        (program, running)
    };
    let virtual_threads = (jdk.version >= 21).then(|| run("VirtualThreads", &["5000"]));
    let others: Vec<_> = (0..5).map(|_| run("Recursion", &[])).collect();
    let count = others.len() + usize::from(virtual_threads.is_some());
    for (_program, running) in others.into_iter().chain(virtual_threads) {
        assert!(running.end().success());
    }
    wait_for(|| collector.messages().matches("has ended: ").count() == count);
    let (dir, _) = collector.end();
    let traces = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let traces: Vec<_> =
        traces.filter(|path| path.extension().is_some_and(|of| of == "flowtrace")).collect();
    assert_eq!(traces.len(), count, "{traces:?}");
    let golden = golden("VirtualThreads");
    for path in &traces {
        assert_sound(path);
        let trace = decode_trace(path);
        let mut threads = trace.threads.values().filter(|thread| thread.is_virtual).peekable();
        if threads.peek().is_none() {
            assert_eq!(trace.manifest["end"]["totals"]["enters"], 106);
            continue;
        }
        assert_eq!(threads.clone().count(), 5000);
        assert!(threads.all(|thread| {
            trace.tree(thread).of_harness().lines() == golden.threads["virtual-0"]
        }));
    }
}

/// Sends a signal such as `-STOP` to a process.
fn send_signal(pid: u32, signal: &str) {
    let kill = Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(kill.unwrap().success());
}

/// Ends a program from outside: its hooks run, and its threads may still call methods after the recording has ended.
pub(crate) fn terminate(running: Running) {
    send_signal(running.id(), "-TERM");
    assert_eq!(running.end().code(), Some(143));
}

/// Kills and restarts a collector again and again while a program runs, and stops it in between.
fn meddle(collector: &mut Collector, running: &mut Running, rounds: usize) {
    for round in 0..rounds {
        let len = fs::metadata(collector.trace()).map_or(0, |found| found.len());
        // It has received something new.
        let is_longer = || fs::metadata(collector.trace()).is_ok_and(|found| found.len() > len);
        assert!(running.wait_for(is_longer), "it has ended by itself");
        if round % 3 == 0 {
            collector.signal("-STOP");
        }
        collector.kill();
        collector.restart();
    }
}

#[test]
fn a_collector_that_is_killed_and_restarted_loses_nothing() {
    on_every_jdk(|jdk| {
        for options in ["chunk=4k", "chunk=4k,overflow=wait,compress=off"] {
            let mut collector = Collector::start();
            let rounds = Rounds::endless(47);
            let program = rounds.program(jdk).only_send_to(&collector.address).options(options);
            let mut running = program.launch();
            meddle(&mut collector, &mut running, 3);
            let acknowledged = rounds.acknowledged(&program);
            terminate(running);
            collector.wait_for("has ended: ");
            let trace = decode_trace(&collector.trace());
            rounds.assert_followed(&trace, |player| Reach::AtLeast(acknowledged[player]));
            assert_sound(&collector.trace());
            assert_eq!(leftovers(&program), Vec::<String>::new(), "{options}");
        }
    });
}

#[test]
fn a_killed_jvm_leaves_the_rest_to_a_collector_on_its_machine() {
    on_every_engine(|jdk, engine| {
        for is_there in [true, false] {
            let mut collector = Collector::start();
            let rounds = Rounds::endless(53);
            let program = rounds.program(jdk).only_send_to(&collector.address);
            let program = program.engine(engine).options("chunk=4k");
            let mut running = program.launch();
            let is_received =
                || fs::metadata(collector.trace()).is_ok_and(|found| found.len() > 20_000);
            assert!(running.wait_for(is_received), "it has ended by itself");
            if !is_there {
                collector.kill();
            }
            let more = rounds.acknowledged(&program).iter().sum::<u64>() + 1000;
            let is_further = || rounds.acknowledged(&program).iter().sum::<u64>() > more;
            assert!(running.wait_for(is_further), "it has ended by itself");
            assert!(running.kill().is_some(), "it has ended by itself");
            if !is_there {
                collector.restart();
            }
            collector.wait_for("left on this machine");
            let acknowledged = rounds.acknowledged(&program);
            let trace = decode_trace(&collector.trace());
            rounds.assert_followed(&trace, |player| Reach::Killed(acknowledged[player]));
            assert_verbs_agree(&collector.trace(), &trace);
            wait_for(|| leftovers(&program).is_empty());
        }
    });
}

#[test]
fn a_program_without_a_collector_ends_and_keeps_its_trace() {
    on_every_jdk(|jdk| {
        let rounds = Rounds::joined(59, 500, Way::Return);
        let program = rounds.program(jdk);
        let address = format!("unix:{}/nobody", program.workspace().display());
        let program = program.only_send_to(&address);
        let running = program.launch();
        assert!(running.end().success());
        let errors = fs::read_to_string(program.workspace().join("stderr")).unwrap();
        let [left] = &*leftovers(&program) else { panic!("{errors}") };
        assert_eq!(errors.lines().count(), 2, "{errors}");
        assert!(errors.contains("trying again") && errors.contains(left), "{errors}");
        assert!(errors.contains(&format!("flow listen {address}")), "{errors}");
        let left = program.workspace().join(left).join("app.flowtrace");
        rounds.assert_followed(&decode_trace(&left), |_| Reach::Whole(500));
        assert_sound(&left);
    });
}

/// The calls of `harness.Busy` with these arguments, which is more than the buffers have room for.
pub(crate) fn busy(jdk: &Jdk, args: [&str; 3]) -> Program {
    Program::harness(jdk, "Busy").args(args).options("compress=off,chunk=16k,clock=off")
}

/// The calls that it made: those it printed, that of `main`, and the constructors.
fn made(program: &Program) -> u64 {
    let printed = fs::read_to_string(program.workspace().join("stdout")).unwrap();
    let calls = printed.lines().find_map(|line| line.strip_prefix("calls ")?.parse::<u64>().ok());
    calls.unwrap() + 3
}

fn info(trace: &Path) -> Value {
    let info = Command::new(flow()).args(["info", "--format", "json"]).arg(trace).output().unwrap();
    serde_json::from_slice(&info.stdout).unwrap()
}

/// Returns whether the end of a recording has arrived.
pub(crate) fn is_ended(trace: &Path) -> bool {
    info(trace)["manifest"]["end"].is_object()
}

/// Asserts that each event of the program is in its trace, or was counted as lost. Returns how many were.
pub(crate) fn assert_all_counted(program: &Program, trace: &Path) -> u64 {
    let (_, found) = check(trace);
    let info = info(trace);
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{found} {info}"));
    let recorded = number(&found["totals"]["enters"]) + number(&found["totals"]["exits"]);
    let lost = number(&info["manifest"]["end"]["lost"]["events"]);
    assert_eq!(recorded + lost, 2 * made(program), "{found} {info}");
    assert_eq!(found["totals"]["enters"], found["totals"]["exits"], "all frames were left");
    lost
}

/// A program that sends at full speed, and its collector, which was stopped after it had received something.
fn with_stopped_collector(jdk: &Jdk, options: &str) -> (Collector, Program, Running) {
    let collector = Collector::start();
    let program = busy(jdk, ["2", "10000000", "3"]).options(options);
    let program = program.only_send_to(&collector.address);
    let mut running = program.launch();
    let is_received = || fs::metadata(collector.trace()).is_ok_and(|found| found.len() > 20_000);
    assert!(running.wait_for(is_received), "it has ended by itself");
    collector.signal("-STOP");
    (collector, program, running)
}

#[test]
fn a_collector_that_stands_still_costs_counted_events_with_drop() {
    on_every_jdk(|jdk| {
        let (collector, program, mut running) = with_stopped_collector(jdk, "overflow=drop");
        let printed = || fs::read_to_string(program.workspace().join("stdout")).unwrap();
        // The program does not wait.
        assert!(running.wait_for(|| printed().contains("ms ")));
        collector.signal("-CONT");
        assert!(running.end().success());
        collector.wait_for("has ended: ");
        assert!(assert_all_counted(&program, &collector.trace()) > 0, "the program was too slow");
        let info = shown(&["info"], &collector.trace());
        assert!(info.contains("(overflow=drop)") && !info.contains("overload"), "{info}");
    });
}

#[test]
fn a_collector_that_stands_still_holds_up_the_program_with_wait() {
    on_every_jdk(|jdk| {
        let (collector, program, mut running) = with_stopped_collector(jdk, "overflow=wait");
        let [left] = &*leftovers(&program) else { panic!("one directory") };
        let spill = program.workspace().join(left).join("app.flowtrace");
        // The file is as long as it may become.
        let received = fs::metadata(collector.trace()).unwrap().len();
        let is_full =
            || fs::metadata(&spill).is_ok_and(|found| found.len() > received + (14 << 20));
        assert!(running.wait_for(is_full), "it has ended by itself");
        std::thread::sleep(Duration::from_millis(500));
        let len = fs::metadata(&spill).unwrap().len();
        assert!(len < received + (24 << 20), "{len}");
        collector.signal("-CONT");
        assert!(running.end().success());
        collector.wait_for("has ended: ");
        assert_sound(&collector.trace());
        assert_eq!(check(&collector.trace()).1["totals"]["enters"], made(&program));
    });
}

#[test]
fn strangers_are_refused_and_harm_nobody() {
    let jdk = jdks().last().unwrap();
    let secrets = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = secrets.path().join(name);
        fs::write(&path, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&path, mode).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (right, wrong) = (file("right", "open sesame\n"), file("wrong", "open barley\n"));
    let collector = Collector::start_at(|_| "tcp:0".to_owned(), &["--token", &right]);
    assert!(collector.address.starts_with("tcp:127.0.0.1:"), "{}", collector.address);
    let rounds = Rounds::endless(61);
    let program = rounds.program(jdk).only_send_to(&collector.address);
    let program = program.options(&format!("chunk=4k,stream-token={right}"));
    let mut running = program.launch();
    collector.wait_for("is recorded into");
    let connect = || TcpStream::connect(&collector.address["tcp:".len()..]).unwrap();
    let pid = running.id();
    let closed = |streams: Vec<TcpStream>| {
        // Some only after seconds, in which the program would record more than is worth reading.
        send_signal(pid, "-STOP");
        for mut stream in streams {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        }
        send_signal(pid, "-CONT");
    };
    for garbage in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0; 100],
        &[0xFF; 100],
        // A hello, and data, of 4 GiB.
        &[1, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3],
        &[4, 0xFF, 0xFF, 0xFF, 0xFF],
        b"\x01\0\0\0\x0Bflowstrm\x01{}",
        b"\x01\0\0\0\x0Bflowstrm\x7F{}",
        b"\x01\0\0\0\x02{}",
    ] {
        let mut stream = connect();
        stream.write_all(garbage).unwrap();
        closed(vec![stream]);
    }
    // More than may be strangers at a time: all are closed at last, by the other side.
    let many: Vec<_> = (0..1000).map(|_| connect()).collect();
    let other = Program::harness(jdk, "Hello").only_send_to(&collector.address);
    let other = other.options(&format!("stream-token={wrong}"));
    closed(many);
    let memory = fs::read_to_string(format!("/proc/{}/status", collector.child.id())).unwrap();
    let peak = memory.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 100_000, "{peak} kB");
    let refused = other.run();
    assert_eq!(refused.code(), Some(0));
    assert!(refused.errors().contains("its token is not the one in"), "{}", refused.errors());
    // Like an agent, and then not.
    let hello = br#"flowstrm_{"token":"open sesame","id":"00000000000000a1","pid":1,"host":"x"}"#;
    let mut hello = hello.to_vec();
    hello[8] = 1;
    let mut stream = connect();
    stream.write_all(&[1, 0, 0, 0, u8::try_from(hello.len()).unwrap()]).unwrap();
    stream.write_all(&hello).unwrap();
    stream.write_all(b"\x04\0\0\0\x0F\0\0\0\0\0\0\0\0garbage").unwrap();
    closed(vec![stream]);
    collector.wait_for("are not those of a trace");
    let reached = rounds.acknowledged(&program).iter().sum::<u64>() + 500;
    assert!(running.wait_for(|| rounds.acknowledged(&program).iter().sum::<u64>() > reached));
    let acknowledged = rounds.acknowledged(&program);
    terminate(running);
    collector.wait_for("has ended: ");
    let trace = decode_trace(&collector.trace());
    rounds.assert_followed(&trace, |player| Reach::AtLeast(acknowledged[player]));
    assert_sound(&collector.trace());
}

#[test]
fn another_user_cannot_open_the_socket_and_a_second_collector_is_refused() {
    let mut collector = Collector::start();
    let path = collector.address["unix:".len()..].to_owned();
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let second = Command::new(flow()).args(["listen", &collector.address]).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let text = String::from_utf8(second.stderr).unwrap();
    assert!(text.contains("another flow listens there"), "{text}");
    assert!(UnixStream::connect(&path).is_ok());
    collector.kill();
    collector.restart();
    assert!(UnixStream::connect(&path).is_ok(), "the socket of the first one is replaced");
    let open = tempfile::tempdir().unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(open.path(), mode).unwrap();
    let address = format!("unix:{}/socket", open.path().display());
    let refused = Command::new(flow()).args(["listen", &address]).output().unwrap();
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(text.contains("every user can replace files in its directory"), "{text}");
    assert_eq!(refused.status.code(), Some(1));
}
