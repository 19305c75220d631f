//! Recordings that begin and end while the program runs.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use flow_e2e::{Decoded, DecodedThread, Jdk, Program, decode_trace, flow, library};

use crate::on_every_jdk;

/// A running `harness.Attached`.
pub(crate) struct Session {
    pub(crate) program: Program,
    pub(crate) child: Child,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Session {
    /// Starts the program without the agent.
    pub(crate) fn start(jdk: &Jdk) -> Self {
        Self::of(Program::harness(jdk, "Attached"))
    }

    /// The same, with a program that has been prepared.
    pub(crate) fn of(program: Program) -> Self {
        Self::start_as(program, Program::command_without_agent)
    }

    /// Starts a program that is recorded from the start.
    pub(crate) fn recorded(program: Program) -> Self {
        Self::start_as(program, Program::command)
    }

    fn start_as(program: Program, command: impl FnOnce(&Program) -> Command) -> Self {
        let program = program.jvm_arg("-XX:+EnableDynamicAgentLoading");
        let mut child = command(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(answers.next().unwrap().unwrap(), "ready");
        Self { program, child, answers }
    }

    pub(crate) fn say(&mut self, command: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{command}").unwrap();
    }

    pub(crate) fn wait_for(&mut self, command: &str) {
        assert_eq!(self.answers.next().unwrap().unwrap(), command);
    }

    pub(crate) fn command(&mut self, command: &str) {
        self.say(command);
        self.wait_for(command);
    }

    /// Sends a command, and returns the line that the program prints.
    pub(crate) fn ask(&mut self, command: &str) -> String {
        self.say(command);
        self.answers.next().unwrap().unwrap()
    }

    pub(crate) fn dir(&self, name: &str) -> PathBuf {
        self.program.workspace().join(name)
    }

    pub(crate) fn flow(&self, verb: &str, args: &[&str]) -> Output {
        let mut command = Command::new(flow());
        command.arg(verb).arg(self.child.id().to_string()).args(args);
        command.current_dir(self.program.workspace()).output().unwrap()
    }

    pub(crate) fn attach(&self, dir: &str) {
        self.attach_by(&library(), dir);
    }

    /// Attaches another copy of the library.
    pub(crate) fn attach_by(&self, library: &Path, dir: &str) {
        let output = self.flow("attach", &["-o", dir, "--agent", library.to_str().unwrap()]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    pub(crate) fn detach(&self) {
        let output = self.flow("detach", &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Ends the program, and asserts that it has no complaints.
    pub(crate) fn exit(mut self) -> Program {
        self.say("exit 5");
        let output = self.child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(output.status.code(), Some(5));
        self.program
    }
}

/// Asserts that `flow check` finds a whole trace with a clean end.
pub(crate) fn assert_clean(dir: &Path) {
    let check = Command::new(flow()).arg("check").arg(dir).output().unwrap();
    let text = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(check.status.success(), "{text}");
    assert!(decode_trace(dir).manifest["end"].is_object(), "{text}");
}

/// The number of steps in each call of `work`, in a thread that calls nothing else and whose calls have all
/// ended.
fn steps(trace: &Decoded, thread: &DecodedThread) -> Vec<usize> {
    let mut steps = Vec::new();
    for call in trace.tree(thread).calls {
        assert!(!call.open, "{call:?}");
        match (call.depth, call.method.as_str()) {
            (0, "work(I)V") => steps.push(0),
            (1, "step(I)I") => *steps.last_mut().unwrap() += 1,
            _ => panic!("{call:?}"),
        }
    }
    steps
}

/// [`steps`] of each worker, by name.
pub(crate) fn steps_of_workers(trace: &Decoded) -> BTreeMap<&str, Vec<usize>> {
    let workers = trace.threads.values().filter(|thread| {
        ["worker-", "virtual-"].iter().any(|prefix| thread.name.starts_with(prefix))
    });
    workers.map(|thread| (thread.name.as_str(), steps(trace, thread))).collect()
}

pub(crate) fn workers(jdk: &Jdk) -> usize {
    if jdk.version >= 21 { 6 } else { 3 }
}

/// Asserts that exactly what these commands do is recorded.
pub(crate) fn assert_recorded(
    jdk: &Jdk,
    session: &mut Session,
    dir: &Path,
    end: impl FnOnce(&Session),
) {
    session.command("work 100");
    session.command("start 4");
    session.command("fail");
    session.command("work 30");
    end(session);
    let trace = decode_trace(dir);
    let workers_found = steps_of_workers(&trace);
    assert_eq!(workers_found.len(), workers(jdk), "{:?}", workers_found.keys());
    for (name, steps) in workers_found {
        assert_eq!(steps, [100, 30], "{name}");
    }
    for number in 0..4 {
        let tree = trace.tree(trace.thread(&format!("passing-{number}"))).lines();
        assert_eq!(
            tree,
            [
                "harness.Attached$Passing.run()V",
                "  harness.Attached.step(I)I",
                "  harness.Attached.step(I)I"
            ]
        );
    }
    let main = trace.tree(trace.thread("main"));
    let outermost = main.calls.iter().filter(|call| call.depth == 0).map(|call| &*call.method);
    assert_eq!(
        outermost.map(|method| method.split('(').next().unwrap()).collect::<Vec<_>>(),
        ["everyone", "passing", "fails", "everyone"]
    );
    let fails = main.calls.iter().skip_while(|call| call.method != "fails()V").skip(1).take(2);
    assert_eq!(
        fails.map(|call| (call.depth, call.method.as_str())).collect::<Vec<_>>(),
        [(1, "<init>()V"), (1, "step(I)I")]
    );
}

#[test]
fn what_happens_between_attach_and_detach_is_recorded_exactly() {
    on_every_jdk(|jdk| {
        let mut session = Session::start(jdk);
        session.command("work 5000");
        session.attach("first");
        let first = session.dir("first");
        assert_recorded(jdk, &mut session, &first, |session| {
            session.detach();
            assert_clean(&session.dir("first"));
        });

        // The program continues, unrecorded.
        let before = fs::read(first.join("trace.json")).unwrap();
        session.command("work 5000");
        session.command("start 2");
        assert_eq!(fs::read(first.join("trace.json")).unwrap(), before);
        assert_eq!(steps_of_workers(&decode_trace(&first)).len(), workers(jdk));

        // It can be recorded again, this time to its end.
        session.attach("second");
        let second = session.dir("second");
        assert_recorded(jdk, &mut session, &second, |session| session.detach());
        session.attach("third");
        session.command("work 8");
        let program = session.exit();
        let third = program.workspace().join("third");
        assert_clean(&third);
        let trace = decode_trace(&third);
        assert!(steps_of_workers(&trace).values().all(|steps| *steps == [8]));
        for dir in [&first, &second] {
            assert_clean(dir);
        }
    });
}

#[test]
fn frames_that_were_open_are_named() {
    on_every_jdk(|jdk| {
        let mut session = Session::start(jdk);
        session.command("work 10");
        session.attach("trace");
        session.command("work 1");
        session.detach();
        let trace = decode_trace(&session.dir("trace"));
        let open = |name: &str| &trace.open_frames[&trace.thread(name).id];
        let serve = "harness.Attached#serve(Ljava/util/List;)I";
        assert_eq!(*open("main"), ["harness.Attached#main([Ljava/lang/String;)V", serve]);
        for number in 0..3 {
            assert_eq!(*open(&format!("worker-{number}")), ["harness.Attached$Worker#run()V"]);
        }
        let replay = Command::new(flow()).arg("replay").arg(session.dir("trace")).output().unwrap();
        let text = String::from_utf8(replay.stdout).unwrap();
        assert!(text.contains("entered before recording"), "{text}");
        drop(session.exit());
    });
}

#[test]
fn open_frames_of_a_deep_stack_are_counted_to_the_last() {
    on_every_jdk(|jdk| {
        let mut session = Session::of(Program::harness(jdk, "Attached").jvm_arg("-Xss16m"));
        session.say("deep 12000");
        session.wait_for("down");
        session.attach("trace");
        session.command("work 1");
        session.detach();
        let lines = fs::read_to_string(session.dir("trace").join("threads.jsonl")).unwrap();
        let open =
            lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let main = decode_trace(&session.dir("trace")).thread("main").id;
        let of_main = |line: &serde_json::Value| line["event"] == "open" && line["id"] == main;
        let open: Vec<_> = open.filter(of_main).collect();
        assert_eq!(open.len(), 1);
        let named = open[0]["frames"].as_array().unwrap();
        assert_eq!(named.last().unwrap(), "harness.Attached#serve(Ljava/util/List;)I");
        // main, serve, 12,001 times down, serve.
        let omitted = usize::try_from(open[0]["omitted"].as_u64().unwrap()).unwrap();
        assert_eq!(omitted + named.len(), 12_004);
        drop(session.exit());
    });
}

#[test]
fn attaching_to_threads_that_call_all_the_time_keeps_their_trees_whole() {
    on_every_jdk(|jdk| {
        let mut session = Session::start(jdk);
        for round in 0..3 {
            let dir = format!("trace-{round}");
            session.say("work 30000000");
            session.attach(&dir);
            session.detach();
            assert_clean(&session.dir(&dir));
            session.wait_for("work 30000000");

            // Attached in the middle of `work`, the trace has steps at depth 0; from then on, all is as
            // usual.
            let dir = format!("whole-{round}");
            session.say("work 3000000");
            session.attach(&dir);
            session.wait_for("work 3000000");
            session.command("work 50");
            session.detach();
            assert_clean(&session.dir(&dir));
            let trace = decode_trace(&session.dir(&dir));
            for thread in trace.threads.values().filter(|t| t.name.starts_with("worker-")) {
                let calls = trace.tree(thread).calls;
                let last = calls.iter().rposition(|call| call.method == "work(I)V").unwrap();
                assert_eq!((calls[last].depth, calls.len() - last - 1), (0, 50), "{}", thread.name);
                assert!(calls[last + 1..].iter().all(|call| call.depth == 1));
            }
        }
        drop(session.exit());
    });
}

#[test]
fn a_class_defined_across_two_recordings_has_the_ids_of_the_second_one() {
    on_every_jdk(|jdk| {
        let mut session = Session::of(Program::harness(jdk, "Late"));
        session.attach("first");
        session.command("define");
        session.detach();
        session.attach("second");
        session.command("resume");
        session.command("call");
        session.detach();
        session.command("call");
        for (name, calls) in [("first", None), ("second", Some(1))] {
            let dir = session.dir(name);
            assert_clean(&dir);
            let mut found = decode_trace(&dir).enters_by_key();
            for method in ["getAsInt()I", "twice(I)I"] {
                assert_eq!(found.remove(&format!("harness.Late$Guest#{method}")), calls, "{name}");
            }
        }
        drop(session.exit());
    });
}

#[test]
fn jcmd_loads_the_agent_too() {
    on_every_jdk(|jdk| {
        if !jdk.has_module("jdk.jcmd") {
            println!("this JDK has no jcmd");
            return;
        }
        let mut session = Session::start(jdk);
        session.command("work 10");
        let out = session.dir("trace");
        let pid = session.child.id().to_string();
        let output = Command::new(jdk.tool("jcmd"))
            .args([&pid, "JVMTI.agent_load"])
            .arg(library())
            // Quoted, because jcmd would take it for an option of its own.
            .arg(format!("\"out={}\"", out.display()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert_recorded(jdk, &mut session, &out, |session| session.detach());
        assert_clean(&out);
        drop(session.exit());
    });
}

#[test]
fn a_recording_that_stops_by_itself_takes_its_probes_out() {
    on_every_jdk(|jdk| {
        let program = Program::harness(jdk, "Attached");
        let log = program.workspace().join("redefined.log");
        let log_changes = format!("-Xlog:redefine+class+load=info:file={}", log.display());
        let mut session = Session::of(program.jvm_arg(log_changes.as_str()));
        // Each time, the code of the class is replaced.
        let changes = || {
            let lines = fs::read_to_string(&log).unwrap();
            lines.lines().filter(|line| line.contains("harness.Attached,")).count()
        };
        let library = library();
        let into = ["-o", "trace", "--agent", library.to_str().unwrap(), "-O", "max-size=1m"];
        let output = session.flow("attach", &into);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(changes(), 1);
        session.command("work 1000000");
        let deadline = Instant::now() + Duration::from_secs(60);
        while changes() < 2 {
            assert!(Instant::now() < deadline, "the probes are still there");
            std::thread::sleep(Duration::from_millis(20));
        }
        // The trace is complete, while the program runs.
        session.attach("second");
        let end = &decode_trace(&session.dir("trace")).manifest["end"];
        assert!(end["lost"]["stopped_at_ns"].is_u64(), "{end}");
        let second = session.dir("second");
        assert_recorded(jdk, &mut session, &second, |session| session.detach());
        assert_clean(&second);
        assert_eq!(changes(), 4);
        session.say("exit 5");
        let output = session.child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(5));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.lines().all(|line| line.contains("max-size")), "{errors}");
    });
}

#[test]
fn an_attach_that_fails_reports_its_reason() {
    on_every_jdk(|jdk| {
        let mut session = Session::start(jdk);
        let library = library();
        let library = library.to_str().unwrap();
        let refusal = |args: &[&str]| {
            let output =
                session.flow("attach", &[&["-o", "trace", "--agent", library], args].concat());
            assert_eq!(output.status.code(), Some(1));
            String::from_utf8(output.stderr).unwrap()
        };
        let text = refusal(&["-O", "engine=events"]);
        assert!(text.contains("engine=events cannot record a running JVM"), "{text}");
        let text = refusal(&["-O", "chunk=lots"]);
        assert!(text.contains("chunk=lots"), "{text}");
        let detach = session.flow("detach", &[]);
        assert_eq!(detach.status.code(), Some(1), "nothing is being recorded");
        session.command("work 3");
        session.attach("trace");
        let again = session.flow("attach", &["-o", "other", "--agent", library]);
        assert_eq!(again.status.code(), Some(1), "one recording at a time");
        session.command("work 4");
        session.child.stdin.as_mut().unwrap().flush().unwrap();
        // The agent may also have written its refusal to the program's error stream.
        session.say("exit 5");
        let output = session.child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(5));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.lines().all(|line| line.starts_with("[flowagent] ")), "{errors}");
        let trace = decode_trace(&session.program.workspace().join("trace"));
        assert!(steps_of_workers(&trace).values().all(|steps| *steps == [4]));
    });
}

#[test]
fn a_jvm_that_lets_nobody_attach_prints_nothing() {
    on_every_jdk(|jdk| {
        let flag = "-XX:+DisableAttachMechanism";
        let program = Program::harness(jdk, "Attached");
        let arguments = program.workspace().join("arguments");
        fs::write(&arguments, flag).unwrap();
        // From JDK 9 on, only the JVM itself knows what is in the file.
        let argument =
            if jdk.version < 9 { flag.to_owned() } else { format!("@{}", arguments.display()) };
        let mut session = Session::of(program.jvm_arg(argument));
        let output = session.flow("attach", &["--agent", library().to_str().unwrap()]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1));
        assert!(
            errors.ends_with(
                ": the JVM runs with -XX:+DisableAttachMechanism, which forbids attaching\n"
            ),
            "{errors}"
        );
        // The next line that the program prints is the result.
        session.command("work 3");
        session.exit();
    });
}

/// Starts a program with another file system at a directory. `None` if this system does not allow that.
fn start_apart(program: Program, private: &Path) -> Option<Session> {
    let script = "mount -t tmpfs none \"$0\" && exec \"$@\"";
    let apart = ["-m", "sh", "-c"];
    let allows =
        Command::new("unshare").args(apart).args([script]).arg(private).arg("true").output();
    if !allows.is_ok_and(|output| output.status.success()) {
        return None;
    }
    Some(Session::start_as(program, |program| {
        let inner = program.command_without_agent();
        let mut command = Command::new("unshare");
        command.args(apart).arg(script).arg(private);
        command.arg(inner.get_program()).args(inner.get_args());
        command.current_dir(program.workspace());
        command
    }))
}

#[test]
fn the_trace_of_a_jvm_with_another_file_system_can_be_found() {
    on_every_jdk(|jdk| {
        let program = Program::harness(jdk, "Attached");
        let private = program.workspace().join("private");
        fs::create_dir(&private).unwrap();
        let Some(mut session) = start_apart(program, &private) else { return };
        let output =
            session.flow("attach", &["-o", "private/t", "--agent", library().to_str().unwrap()]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{errors}");
        assert!(!private.join("t").exists());
        let place = format!("/proc/{}/root{}", session.child.id(), private.join("t").display());
        let named =
            format!("into {place} ({} in its own file system; copy", private.join("t").display());
        assert!(errors.contains(&named), "{errors}");
        session.command("work 3");
        let output = session.flow("detach", &[]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(errors.contains(&format!(": copy {place} before the process ends")), "{errors}");
        let info = Command::new(flow()).args(["info", &place]).output().unwrap();
        assert!(info.status.success());
        let trace = decode_trace(Path::new(&place));
        assert!(steps_of_workers(&trace).values().all(|steps| *steps == [3]));
        session.exit();
    });
}

/// Before JDK 19, the JVM leaves names of parameters out of classes that it changes (JDK-8240908).
#[test]
fn parameters_keep_their_names_and_flags() {
    on_every_jdk(|jdk| {
        let mut session = Session::of(Program::harness(jdk, "Named"));
        let before = session.ask("show");
        for shown in [
            "Kinds.valueOf[String name 32768 named implicit",
            "Inner.harness.Named$Inner[Named this$0 32784 named implicit",
            "Inner.outside[int argument 0 named",
            "Generic.wide[long left 0 named",
            "String text 16 named",
        ] {
            assert!(before.contains(shown), "{before}");
        }
        session.attach("first");
        assert_eq!(session.ask("show"), before, "while it is recorded");
        session.detach();
        assert_eq!(session.ask("show"), before, "after that");
        session.attach("second");
        assert_eq!(session.ask("show"), before, "when it is recorded again");
        session.detach();
        assert_eq!(session.ask("show"), before, "at the end");
        let late = session.ask("late");
        assert!(late.contains("Late.twice[int number 0 named"), "{late}");
        assert!(late.contains("[Object given 16 named"), "{late}");
        for dir in ["first", "second"] {
            let trace = decode_trace(&session.dir(dir));
            assert!(trace.left_out(&["class-refused"]).is_empty());
            assert!(trace.enters_by_key().keys().any(|key| key.contains("#shown(")));
        }
        drop(session.exit());
    });
}

#[test]
fn a_debugger_is_warned_that_breakpoints_are_cleared() {
    on_every_jdk(|jdk| {
        if !jdk.has_module("jdk.jdwp.agent") {
            return;
        }
        let debugged = Program::harness(jdk, "Attached").jvm_arg(
            "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,quiet=y,address=127.0.0.1:0",
        );
        for (program, is_warned) in [(debugged, true), (Program::harness(jdk, "Attached"), false)] {
            let session = Session::of(program);
            let output =
                session.flow("attach", &["-o", "t", "--agent", library().to_str().unwrap()]);
            let messages = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success(), "{messages}");
            assert_eq!(messages.contains("breakpoints"), is_warned, "{messages}");
            drop(session.exit());
        }
    });
}
