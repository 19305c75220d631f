//! `flow record`, with shell scripts in place of JVMs.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::ops::Add;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::common::{FLOW, Run, command, manifest, script, text, trace, write_killed_file};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A directory with a file in place of the agent library.
fn library() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let agent = dir.path().join("libflowagent.so");
    fs::write(&agent, "").unwrap();
    (dir, agent)
}

fn record(dir: &Path, agent: &Path, args: &[&str]) -> Command {
    let mut record = command();
    record.arg("record").arg("--agent").arg(agent).args(args).current_dir(dir);
    record
}

fn run(command: &mut Command) -> Run {
    command.output().unwrap().into()
}

const PRINTS: &str = r#"printf '<%s>\n' "$@"
echo "JAVA_TOOL_OPTIONS=$JAVA_TOOL_OPTIONS"
exit 7
"#;

#[test]
fn java_itself_gets_the_agent_as_its_first_argument() {
    let (dir, agent) = library();
    let java = script(dir.path(), "java", PRINTS);
    let run = run(&mut record(
        dir.path(),
        &agent,
        &[
            "--target",
            "a.",
            "--target",
            "b.",
            "--include",
            "x,*",
            "--exclude",
            "y*",
            "--exclude",
            "z*",
            "-O",
            "constructors=false",
            "--no-command",
            "-O",
            "chunk=1k",
            "--engine",
            "events",
            "--clock",
            "off",
            "--max-size",
            "2g",
            "-O",
            "ids=ids",
            "--config",
            "/c",
            "-O",
            "onerror=continue",
            "-o",
            "my trace",
            "--",
            &text(&java),
            "-cp",
            "a b",
            "Main",
        ],
    ));
    let here = text(fs::canonicalize(dir.path()).unwrap());
    assert_eq!(
        run.out,
        format!(
            "<-agentpath:{}=out={here}/my trace,target=a.+b.,include=x\\,*,exclude=y*;z*,\
             command=none,engine=events,clock=off,max-size=2g,config=/c,constructors=false,chunk=1k,ids={here}/ids,\
             onerror=continue>\n<-cp>\n<a b>\n<Main>\nJAVA_TOOL_OPTIONS=\n",
            agent.display()
        )
    );
    assert_eq!(run.code, Some(7), "the command's own status");
    assert_eq!(
        run.err,
        "flow: nothing was recorded: the command started no JVM, or none that loaded the agent\n"
    );
}

#[test]
fn other_commands_get_it_through_the_environment() {
    let (dir, agent) = library();
    let tool = script(dir.path(), "mvn", PRINTS);
    let here = text(fs::canonicalize(dir.path()).unwrap());
    let run_ = run(record(dir.path(), &agent, &["-o", "trace", "--", &text(&tool), "test"])
        .env("JAVA_TOOL_OPTIONS", "-Xmx1g"));
    assert_eq!(
        run_.out,
        format!(
            "<test>\nJAVA_TOOL_OPTIONS=-Xmx1g -agentpath:{}=out={here}/trace\n",
            agent.display()
        )
    );
    let run_ = run(&mut record(dir.path(), &agent, &["-o", "it's here", "--", &text(&tool)]));
    let quoted = format!("'-agentpath:{}=out={here}/it'\"'\"'s here'\n", agent.display());
    assert!(run_.out.ends_with(&quoted), "{}", run_.out);
    let run_ = run(record(dir.path(), &agent, &["--", &text(&tool)]).env("FLOW_OUT", "/there"));
    assert!(run_.out.contains("=out=/there\n"), "{}", run_.out);
}

#[test]
fn gradle_is_reached_by_an_init_script_when_its_daemon_keeps_its_environment() {
    let (dir, agent) = library();
    let prints = r#"for last; do :; done
echo "$1 $2 $JAVA_TOOL_OPTIONS$FLOW_SESSION$FLOW_API"
cat "$last"
"#;
    let gradlew = script(dir.path(), "gradlew", prints);
    let args = ["--gradle", "--include", "a$b.**", "-o", "it's", "--", &text(&gradlew), "test"];
    let run_ = run(&mut record(dir.path(), &agent, &args));
    let here = text(fs::canonicalize(dir.path()).unwrap());
    let argument = format!(
        "                jvmArgs '-agentpath:{}=out={here}/it\\'s,include=a$b.**'\n",
        agent.display()
    );
    // No variables, which a daemon that this starts would keep.
    assert!(run_.out.starts_with("test --init-script \n"), "{}", run_.out);
    assert!(run_.out.contains(&argument), "{}", run_.out);
    for name in ["FLOW_API", "FLOW_ONLY_MAIN", "FLOW_EXCLUDE", "FLOW_SESSION"] {
        assert!(run_.out.contains(&format!(" environment '{name}', '")), "{name}: {}", run_.out);
    }

    let run_ =
        run(&mut record(dir.path(), &agent, &["--gradle", "--", "sh", "-c", "./gradlew test"]));
    assert_eq!(run_.code, Some(2));
    assert!(run_.err.contains("--gradle: expected a command that runs gradle"), "{}", run_.err);
    // The flag is mentioned where it would have helped.
    let run_ = run(&mut record(dir.path(), &agent, &["--", &text(&gradlew), "/dev/null"]));
    assert!(run_.err.contains("flow record --gradle"), "{}", run_.err);
}

#[test]
fn the_command_ends_as_it_would_without_us() {
    let (dir, agent) = library();
    for (script, code) in [("exit 0", 0), ("exit 255", 255), ("kill -9 $$", 137), ("kill $$", 143)]
    {
        let run = run(&mut record(dir.path(), &agent, &["--", "sh", "-c", script]));
        assert_eq!(run.code, Some(code), "{script}");
    }
    let run_ = run(&mut record(dir.path(), &agent, &["--", "no-such-command-anywhere"]));
    assert_eq!(run_.code, Some(127));
    assert!(run_.err.starts_with("flow: no-such-command-anywhere: command not found"));
    let plain = dir.path().join("plain");
    fs::write(&plain, "").unwrap();
    let run_ = run(&mut record(dir.path(), &agent, &["--", &text(&plain)]));
    assert_eq!(run_.code, Some(126));
    assert!(run_.err.contains("Permission denied"), "{}", run_.err);
}

#[test]
fn a_missing_agent_library_is_reported_with_a_remedy() {
    let (dir, _) = library();
    let run_ = run(&mut record(dir.path(), Path::new("/no/lib.so"), &["--", "true"]));
    assert_eq!(run_.code, Some(1));
    assert!(run_.err.contains("--agent /no/lib.so: no such file; expected the agent library"));

    // A copy of the program in a directory without the library.
    let alone = dir.path().join("bin/flow");
    fs::create_dir(dir.path().join("bin")).unwrap();
    // Copied by another process, as in `script`.
    assert!(Command::new("cp").arg(FLOW).arg(&alone).status().unwrap().success());
    let run_ = run(Command::new(&alone).args(["record", "--", "true"]).current_dir(dir.path()));
    assert_eq!(run_.code, Some(1));
    assert!(run_.err.contains("bin/libflowagent.so nor ") && run_.err.contains("--agent PATH"));

    fs::create_dir_all(dir.path().join("lib/flow")).unwrap();
    fs::write(dir.path().join("lib/flow/libflowagent.so"), "").unwrap();
    let java = script(dir.path(), "java", PRINTS);
    let run_ = run(Command::new(&alone).args(["record", "--"]).arg(java).current_dir(dir.path()));
    assert!(run_.out.contains("/lib/flow/libflowagent.so=out="), "{} {}", run_.out, run_.err);
}

#[test]
fn an_agent_for_other_processors_is_refused_before_anything_runs() {
    let (dir, agent) = library();
    let mut bytes = fs::read(FLOW).unwrap();
    bytes[18] ^= 0xFF;
    fs::write(&agent, bytes).unwrap();
    let run_ = run(&mut record(dir.path(), &agent, &["--", "touch", "ran"]));
    assert_eq!(run_.code, Some(1));
    assert!(run_.err.contains("built for another kind of processor"), "{}", run_.err);
    assert_eq!(run_.err.lines().count(), 1, "{}", run_.err);
    assert!(!dir.path().join("ran").exists());
}

#[test]
fn options_that_contradict_each_other_are_misuse() {
    let (dir, agent) = library();
    for args in [
        &["--clock", "off", "-O", "clock=exact"][..],
        &["-O", "out=x"],
        &["-O", "nonsense"],
        &["-O", "a,b=c"],
        &["--out", ""],
        &["-O", "ids=a", "-O", "optimize=b"],
        &["--keep-runs", "0"],
        &["--keep-runs", "3", "-o", "x"],
    ] {
        let run = run(&mut record(dir.path(), &agent, &[args, &["--", "true"]].concat()));
        assert_eq!(run.code, Some(2), "{args:?}: {}", run.err);
    }
}

/// A `java` that writes the trace of `common`, with the current time.
fn recording_java(dir: &Path, manifest: &str) -> (PathBuf, TempDir) {
    let source = trace();
    let manifest = manifest.replace("\"start_unix_ns\":0", "\"start_unix_ns\":'$(date +%s%N)'");
    let manifest = manifest.replace("\"pid\":4711", "\"pid\":'$$'");
    let text = format!(
        "mkdir -p flow-trace && cp {}/* flow-trace && printf '%s' '{manifest}' > flow-trace/trace.json\n",
        source.path().display()
    );
    (script(dir, "java", &text), source)
}

#[test]
fn the_summary_counts_and_names_the_next_step() {
    let (dir, agent) = library();
    let (java, _source) = recording_java(dir.path(), &manifest(0, Some((5210, 5210, 12_400))));
    let run_ = run(&mut record(dir.path(), &agent, &["-o", "flow-trace", "--", &text(&java)]));
    assert_eq!(run_.code, Some(0));
    assert_eq!(
        run_.err,
        "\
flow: recording everything, because the application's own packages are not known; choose with --include 'com.app.**'
flow: recorded 5,210 calls in 3 threads, 3 methods known, 12.1 KB in flow-trace
flow:   flow report flow-trace         calls per method
flow:   flow report --open flow-trace  timeline and flame graph, in the browser
flow:   flow replay flow-trace         calls in order
"
    );
    // A run that records nothing does not claim an earlier trace.
    let run_ = run(&mut record(dir.path(), &agent, &["-o", "flow-trace", "--", "true"]));
    assert!(run_.err.contains("JVMs of build tools are not recorded; -O 'only-main=**'"));
    assert!(run_.err.ends_with("; the directory holds an older trace\n"));
    assert_eq!(run_.err.lines().count(), 1, "{}", run_.err);
}

#[test]
fn another_agent_in_the_environment_is_named() {
    let (dir, agent) = library();
    let other = "-agentpath:/opt/flow/libflowagent.so=out=/elsewhere";
    for name in ["JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"] {
        let run = run(record(dir.path(), &agent, &["--", "true"]).env(name, other));
        let why = format!(
            "({name} loads flow's agent already, and its options are used instead of these: unset {name})"
        );
        assert!(run.err.contains(&why), "{}", run.err);
    }
}

#[test]
fn a_place_without_files_is_refused_and_a_hostile_umask_leaves_nothing() {
    let (dir, agent) = library();
    let run_ = run(&mut record(dir.path(), &agent, &["-o", "/proc/t", "--", "true"]));
    let why = "flow: --out /proc/t: cannot write to /proc: its file system does not let files be created\n";
    assert_eq!((run_.code, run_.err.as_str()), (Some(1), why));

    let line = r#"umask 0777; exec "$0" record --agent "$1" -- true"#;
    let mut shell = Command::new("sh");
    shell.args(["-c", line, FLOW]).arg(&agent).current_dir(dir.path()).env("TMPDIR", dir.path());
    let run_ = run(&mut shell);
    assert_eq!(run_.code, Some(0), "{}", run_.err);
    let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["libflowagent.so"]);
}

#[test]
fn commands_to_type_begin_as_flow_was_started() {
    let (dir, agent) = library();
    let jar = ("FLOW_STARTED_AS", "java -jar '/my jars/flow-all.jar'");
    let (java, _source) = recording_java(dir.path(), &manifest(0, Some((1, 1, 1))));
    let prints = fs::read_to_string(&java).unwrap().replacen("#!/bin/sh\n", "", 1)
        + "echo \"<$FLOW_STARTED_AS>\"\n";
    let java = script(dir.path(), "java", &prints);
    let args = ["--all", "-o", "flow-trace", "--", &text(&java)];
    let run_ = run(record(dir.path(), &agent, &args).env(jar.0, jar.1));
    let hints = "
flow:   java -jar '/my jars/flow-all.jar' report flow-trace         calls per method
flow:   java -jar '/my jars/flow-all.jar' report --open flow-trace  timeline and flame graph, in the browser
flow:   java -jar '/my jars/flow-all.jar' replay flow-trace         calls in order
";
    assert!(run_.err.ends_with(hints), "{}", run_.err);
    assert_eq!(run_.out, "<>\n", "a flow that the program starts was started in another way");

    let run_ = run(command().args(["report", "elsewhere"]).env(jar.0, jar.1));
    let hint = "or record a program with java -jar '/my jars/flow-all.jar' record\n";
    assert!(run_.err.ends_with(hint), "{}", run_.err);
    let run_ = run(command().args(["report", "--quux"]).env(jar.0, jar.1));
    let usage = "\nUsage: java -jar '/my jars/flow-all.jar' report [OPTIONS] [TRACE]\n";
    assert!(run_.err.contains(usage), "{}", run_.err);
}

#[test]
fn what_is_recorded_is_reported_when_a_class_is() {
    let (dir, agent) = library();
    fs::create_dir_all(dir.path().join("classes")).unwrap();
    let class = [&[1, 0, 8], b"demo/App".as_slice(), &[7]].concat();
    fs::create_dir_all(dir.path().join("classes/demo")).unwrap();
    fs::write(dir.path().join("classes/demo/App.class"), class).unwrap();
    let own =
        "flow: recording demo.**: the application's own packages (--all records libraries too)\n";
    let everything = "flow: recording everything, because ";
    let (java, _source) = recording_java(dir.path(), &manifest(0, None));
    let lines = fs::read_to_string(&java).unwrap();
    let waits = "echo {} > flow-trace/methods.jsonl; read line; exit 0\n";
    let java = script(dir.path(), "java", &lines.replacen("#!/bin/sh\n", "", 1).add(waits));
    for (args, expected) in [
        (&["--", &text(&java), "-cp", "classes", "demo.App"][..], own),
        (&["--", &text(&java), "Main"], everything),
        (&["--", "sh", "-c", &text(&java)], "flow: recording all but compilers, because "),
    ] {
        let mut record = record(dir.path(), &agent, &[&["-o", "flow-trace"], args].concat());
        let mut child = record.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        // While the program runs.
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
        assert!(line.starts_with(expected), "{args:?}: {line}");
    }
    // As with a class path that is wrong: the JVM starts, the program does not.
    let source = manifest(0, Some((0, 0, 0)));
    let now = source.replace("\"start_unix_ns\":0", "\"start_unix_ns\":'$(date +%s%N)'");
    let text_ = format!(
        "rm -r flow-trace; mkdir flow-trace; printf '%s' '{now}' > flow-trace/trace.json; exit 1\n"
    );
    let java = script(dir.path(), "java", &text_);
    let args = ["-o", "flow-trace", "--", &text(&java), "-cp", "classes", "demo.App"];
    let run_ = run(&mut record(dir.path(), &agent, &args));
    assert!(!run_.err.contains("recording"), "{}", run_.err);
    assert!(run_.err.starts_with("flow: recorded 0 calls; "), "{}", run_.err);
    assert_eq!(run_.err.lines().count(), 1, "{}", run_.err);
}

#[test]
fn the_trace_of_a_killed_jvm_can_be_read() {
    let (dir, agent) = library();
    let (java, _source) = recording_java(dir.path(), &manifest(0, None));
    let args = ["--all", "-o", "flow-trace", "--", &text(&java)];
    let run_ = run(&mut record(dir.path(), &agent, &args));
    assert!(
        run_.err.starts_with(
            "flow: the JVM was killed; what was written until then, 12 B in flow-trace, can be read\n"
        ),
        "{}",
        run_.err
    );
    assert!(run_.err.contains("flow replay flow-trace"), "{}", run_.err);
}

#[test]
fn a_trace_in_one_file_is_summed_up_and_watched_like_a_directory() {
    let (dir, agent) = library();
    // Files for this and a further JVM, one after the other: a clean end, and a kill.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let later = u64::try_from(now).unwrap() + 3_600_000_000_000;
    let source = trace();
    let file = |name: &str, manifest: String| {
        fs::write(source.path().join("trace.json"), manifest).unwrap();
        write_killed_file(source.path(), &dir.path().join(name));
        text(dir.path().join(name))
    };
    let ended = file("ended", manifest(later, Some((5210, 5210, 12_400))));
    let killed = file("killed", manifest(later, None));
    let size = fs::metadata(&ended).unwrap().len();
    fs::write(dir.path().join("app.flowtrace"), "").unwrap();
    let java = |lines: String| script(dir.path(), "java", &lines);
    let further = "app-jvm-7-20x.flowtrace";
    for (lines, told) in [
        (
            format!("cp {ended} app.flowtrace\n"),
            format!(
                "recorded 5,210 calls in 3 threads, 3 methods known, {size} B in app.flowtrace\n"
            ),
        ),
        (
            format!("cp {ended} app.flowtrace; cp {ended} {further}\n"),
            "recorded 10,420 calls in 6 threads (2 recordings of one JVM), 6 methods ".to_owned(),
        ),
        (
            format!("rm {further}; cp {killed} app.flowtrace\n"),
            "app.flowtrace, can be read\n".to_owned(),
        ),
    ] {
        let java = java(lines);
        let run = run(&mut record(
            dir.path(),
            &agent,
            &["--all", "-o", "app.flowtrace", "--", &text(&java)],
        ));
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(run.err.contains(&told), "{told}: {}", run.err);
        assert!(run.err.contains("\nflow:   flow replay app.flowtrace         calls in order\n"));
    }
    // The remark comes while the program runs, because the file has methods.
    let java = java(format!("cp {killed} app.flowtrace; read line\n"));
    let methods = r#"{"id":0,"class":"com.app.Main","name":"main","desc":"()V"}"#;
    fs::write(source.path().join("methods.jsonl"), methods).unwrap();
    file("killed", manifest(later, None));
    let mut record_ =
        record(dir.path(), &agent, &["-o", "app.flowtrace", "--", &text(&java), "Main"]);
    let mut child = record_.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("flow: recording everything, because "), "{line}");
    drop(child.stdin.take());
    child.wait().unwrap();
    // A file that grows is reported earlier than a directory: it has more calls in a byte.
    let java = script(
        dir.path(),
        "java",
        &format!("cp {killed} app.flowtrace; truncate -s 70M app.flowtrace; read line\n"),
    );
    let mut record_ =
        record(dir.path(), &agent, &["--all", "-o", "app.flowtrace", "--", &text(&java)]);
    let mut child = record_.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("flow: the recording has 70.0 MB, and grows by "), "{line}");
    drop(child.stdin.take());
    child.wait().unwrap();
    // With a placeholder, further files are not taken for first ones.
    fs::copy(&ended, dir.path().join("app-4711.flowtrace")).unwrap();
    fs::copy(&ended, dir.path().join("app-4711-jvm-7-20x.flowtrace")).unwrap();
    let run = run(&mut record(dir.path(), &agent, &["-o", "app-%p.flowtrace", "--", "true"]));
    assert!(run.err.contains("recorded 10,420 calls in 6 threads"), "{run:?}");
    assert!(!run.err.contains("flow report app-4711-jvm"), "{run:?}");
}

#[test]
fn beside_another_recording_a_command_names_its_own_files() {
    let (dir, agent) = library();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let later = u64::try_from(now).unwrap() + 3_600_000_000_000;
    let source = trace();
    let file = |name: &str, start: u64| {
        let manifest = manifest(start, Some((5210, 5210, 12_400)));
        fs::write(source.path().join("trace.json"), manifest).unwrap();
        write_killed_file(source.path(), &dir.path().join(name));
        text(dir.path().join(name))
    };
    // That of another command, which began earlier.
    file("app.flowtrace", 0);
    let own = file("own", later);
    let further = "app-jvm-7-20x.flowtrace";
    let java = script(dir.path(), "java", &format!("cp {own} {further}\n"));
    let args = ["--all", "-o", "app.flowtrace", "--", &text(&java)];
    let run = run(&mut record(dir.path(), &agent, &args));
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.err.contains(&format!(" B in {further}\n")), "{}", run.err);
    assert!(run.err.contains(&format!("flow:   flow replay {further} ")), "{}", run.err);
}

/// Starts a script and waits until it prints that it is ready.
fn start(dir: &Path, agent: &Path, script: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let record = record(dir, agent, &["--", "sh", "-c", script]);
    // The test run may ignore some signals (nohup does), and so would the command.
    let mut child = Command::new("env")
        .args(["--default-signal=HUP,INT,QUIT,TERM", FLOW])
        .args(record.get_args())
        .current_dir(dir)
        .env_remove("JAVA_TOOL_OPTIONS")
        .env_remove("FLOW_OUT")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, out)
}

#[test]
fn a_misspelt_flag_is_no_command() {
    let (dir, agent) = library();
    let run = run(&mut record(dir.path(), &agent, &["--otu", "x", "--", "true"]));
    assert_eq!(run.code, Some(2), "{}", run.err);
    assert!(run.err.contains("unexpected argument '--otu'"), "{}", run.err);
    let help = command().args(["help", "record"]).output().unwrap();
    assert!(help.status.success());
}

#[test]
fn signals_of_other_processes_are_passed_to_the_command() {
    let (dir, agent) = library();
    for (signal, code) in
        [(Signal::TERM, 42), (Signal::HUP, 43), (Signal::INT, 44), (Signal::QUIT, 45)]
    {
        let script = "trap 'exit 42' TERM; trap 'exit 43' HUP; trap 'exit 44' INT; trap 'exit 45' QUIT; \
                      echo ready; read line; exit 1";
        let (mut child, _out) = start(dir.path(), &agent, script);
        // Kept open: at the end of its input the script would end by itself.
        let _stdin = child.stdin.take();
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
    }
}

#[test]
fn an_interrupt_that_the_command_survives_ends_nothing() {
    let (dir, agent) = library();
    let (mut child, _out) = start(
        dir.path(),
        &agent,
        "trap : INT QUIT; echo ready; until read line; do :; done; exit 5",
    );
    for signal in [Signal::INT, Signal::QUIT] {
        kill_process(Pid::from_child(&child), signal).unwrap();
    }
    child.stdin.take().unwrap().write_all(b"continue\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

#[test]
#[cfg(target_os = "linux")]
fn a_hang_up_that_is_ignored_stays_ignored() {
    let (dir, agent) = library();
    let line = format!(
        "trap '' HUP; exec {FLOW} record --agent {} -- grep SigIgn /proc/self/status",
        agent.display()
    );
    let run = run(Command::new("sh").args(["-c", &line]).current_dir(dir.path()));
    let mask = u64::from_str_radix(run.out.trim_start_matches("SigIgn:").trim(), 16).unwrap();
    assert_eq!(mask & 1, 1, "{}", run.out);
}

#[test]
fn a_recording_that_grows_large_is_reported_while_it_runs() {
    let (dir, agent) = library();
    // Holes take no space.
    let (java, _source) = recording_java(dir.path(), &manifest(0, None));
    let mut lines = fs::read_to_string(&java).unwrap();
    // In place at once, so that its end is there when its size is.
    let file = "flow-trace/thread-1.flow";
    lines.push_str(&format!(
        "cp {file} new; truncate -s 1100M new; cat {file} >> new; mv new {file}\n"
    ));
    lines.push_str("read line; exit 0\n");
    fs::write(&java, lines).unwrap();
    let args = ["--all", "-o", "flow-trace", "--", &text(&java)];
    let mut record = record(dir.path(), &agent, &args);
    let mut child = record.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(line.starts_with("flow: the recording has 1.0 GB, and grows by "), "{line}");
    let loudest = "; 'com.app.Main$Job#<init>' makes 40.0% of the latest calls: \
                   --exclude 'com.app.Main$Job#<init>' leaves them out\n";
    assert!(line.ends_with(loudest), "{line}");
}

#[test]
fn what_the_agent_would_refuse_is_refused_before_anything_runs() {
    let (dir, agent) = library();
    let file = text(dir.path().join("file"));
    fs::write(&file, "").unwrap();
    std::os::unix::fs::symlink("/tmp", dir.path().join("link")).unwrap();
    let below_file = format!("{file}/trace");
    fs::create_dir(dir.path().join("full")).unwrap();
    fs::write(dir.path().join("full/notes"), "").unwrap();
    fs::write(dir.path().join("notes.flowtrace"), "these are notes").unwrap();
    fs::create_dir(dir.path().join("dir.flowtrace")).unwrap();
    for (flags, code, expected) in [
        (&["--engine", "foo"][..], 2, "engine=foo: expected instrument, events or none"),
        (&["-O", "inclde=x"], 2, "unknown option 'inclde'; did you mean 'include'?"),
        (&["-O", "chunk=lots"], 2, "chunk=lots: expected a size from 64 to 16m, such as 64k"),
        (&["--include", ";"], 2, "include=;: expected globs over pkg.Class"),
        (&["--max-size", "1"], 2, "max-size=1: expected a size from 1m up"),
        (&["--config", "/no/such/file"], 2, "config=/no/such/file: No such file"),
        (&["-o", "file"], 1, "--out file: is not a directory"),
        (&["-o", &below_file], 1, "file is not a directory"),
        (&["-o", "full"], 1, "--out full: has other files, such as notes; give "),
        (&["-o", "notes.flowtrace"], 1, "--out notes.flowtrace: exists and is not a trace in one"),
        (&["-o", "dir.flowtrace"], 1, "--out dir.flowtrace: exists and is not a trace in one file"),
        (&["-o", "full/notes/a.flowtrace"], 1, "full/notes is not a directory"),
        (&["-o", "link"], 1, "--out link: is a symbolic link; give /tmp instead"),
        (&["-o", "/proc/x"], 1, "--out /proc/x: cannot write to /proc: "),
        (&["-o", "/proc/self/%p/t-%t"], 1, "cannot write to /proc/"),
    ] {
        let run = run(&mut record(dir.path(), &agent, &[flags, &["--", "touch", "ran"]].concat()));
        assert!(run.err.contains(expected), "{flags:?}: {}", run.err);
        assert_eq!((run.code, run.err.lines().count()), (Some(code), 1), "{flags:?}: {}", run.err);
        assert!(!dir.path().join("ran").exists(), "{flags:?}");
    }
    let run_ = run(record(dir.path(), &agent, &["--", "touch", "ran"]).env("FLOW_ENGINE", "foo"));
    assert!(run_.err.contains("(environment variable FLOW_ENGINE)"), "{}", run_.err);
    // A directory that is empty, or that has a trace beside other files, is used.
    fs::create_dir(dir.path().join("empty")).unwrap();
    fs::write(dir.path().join("full/trace.json"), manifest(0, None)).unwrap();
    for place in ["empty", "full"] {
        assert_eq!(
            run(&mut record(dir.path(), &agent, &["-o", place, "--", "true"])).code,
            Some(0)
        );
    }
    // The agent then says so, and the program runs.
    let flags = ["--engine", "foo", "-O", "onerror=continue", "-o", "new/%p", "--", "touch", "ran"];
    assert_eq!(run(&mut record(dir.path(), &agent, &flags)).code, Some(0));
    assert!(dir.path().join("ran").exists());
    assert!(!dir.path().join("new").exists(), "nothing is created to find out");
}

#[test]
fn the_help_lists_every_option_of_the_agent() {
    let help = run(command().args(["record", "--help"]));
    for line in [
        "  max-size ",
        "  onerror ",
        "  engine        how calls are seen: instrument, events or none",
    ] {
        assert!(help.out.contains(line), "{}", help.out);
    }
}
