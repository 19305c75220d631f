//! The folder of recordings, with real JVMs: what `flow record` and `flow attach` keep without a place, and what verbs without a
//! trace show.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use flow_e2e::{flow, library};

use crate::attach::{Session, workers};
use crate::on_every_jdk;
use crate::recording::{classes, errors};

fn run(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(flow());
    for name in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH", "FLOW_OUT"]
    {
        command.env_remove(name);
    }
    command.args(args).current_dir(dir).output().unwrap()
}

/// What a verb prints that succeeds.
fn shown(dir: &Path, args: &[&str]) -> String {
    let output = run(dir, args);
    assert!(output.status.success(), "{args:?}: {}", errors(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// The runs in the folder, the oldest first.
fn runs(dir: &Path) -> Vec<String> {
    let listed = shown(dir, &["info", "--all", "--format", "csv"]);
    let rows = listed.lines().skip(1).map(|line| line.split(',').next().unwrap());
    rows.map(|path| path.strip_prefix("flow-trace/").unwrap().to_owned()).collect()
}

/// How often `step` is called in the trace that verbs show without a name, or in this one.
fn steps(dir: &Path, trace: Option<&str>) -> usize {
    let args = ["calls", "harness.Attached#step", "--max", "0", "--format", "csv"];
    let args: Vec<_> = args.into_iter().chain(trace).collect();
    shown(dir, &args).lines().count() - 1
}

#[test]
fn each_run_stays_and_a_killed_jvm_leaves_its_calls() {
    on_every_jdk(|jdk| {
        let temp = tempfile::tempdir().unwrap();
        let (dir, classes, library) = (temp.path(), classes(), library().display().to_string());
        let java = jdk.tool("java").display().to_string();
        let record = ["record", "--agent", &library, "--", &java, "-cp", &classes];
        for _ in 0..2 {
            let output = run(dir, &[&record[..], &["harness.Hello"]].concat());
            assert!(output.status.success(), "{}", errors(&output));
        }
        let hello = runs(dir);
        assert_eq!(hello.len(), 2, "{hello:?}");
        assert!(hello.iter().all(|name| name.contains("Z-Hello")), "{hello:?}");
        // In the order in which they began, though in the same second.
        let starts: Vec<u64> = shown(dir, &["info", "--all", "--format", "csv"])
            .lines()
            .skip(1)
            .map(|line| line.split(',').nth(1).unwrap().parse().unwrap())
            .collect();
        assert!(starts.is_sorted(), "{starts:?}");
        let same = run(dir, &["diff"]);
        let same = String::from_utf8_lossy(&same.stdout);
        assert!(same.ends_with("\nno difference: 4 paths called equally often\n"), "{same}");

        // Nothing of a run is lost if its JVM is killed; meanwhile it is what is shown.
        let mut command = Command::new(flow());
        command
            .args(record)
            .arg("harness.Attached")
            .current_dir(dir)
            .env_remove("JAVA_TOOL_OPTIONS");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(answers.next().unwrap().unwrap(), "ready");
        writeln!(child.stdin.as_mut().unwrap(), "work 100").unwrap();
        assert_eq!(answers.next().unwrap().unwrap(), "work 100");
        let expected = workers(jdk) * 100;
        assert_eq!(steps(dir, None), expected);
        let info = shown(dir, &["info", "--format", "json"]);
        let info: serde_json::Value = serde_json::from_str(&info).unwrap();
        assert_eq!(info["state"], "recording");
        let pid = info["manifest"]["pid"].to_string();
        assert_eq!(runs(dir).len(), 3);
        assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        let said = errors(&output);
        assert_eq!(output.status.code(), Some(137), "{said}");
        assert!(said.contains("flow: the JVM was killed; what was written until then, "), "{said}");
        assert_eq!(steps(dir, None), expected);
        let check = shown(dir, &["check"]);
        assert!(check.contains(": sound\n") && check.contains("killed"), "{check}");
        shown(dir, &["check", "--repair"]);
        assert_eq!(steps(dir, None), expected);

        // Those that would be beyond the limit go with all their files.
        let output =
            run(dir, &[&["record", "--keep-runs", "1"], &record[1..], &["harness.Hello"]].concat());
        assert!(errors(&output).contains(": only the newest run is kept"), "{}", errors(&output));
        let left: Vec<PathBuf> = fs::read_dir(dir.join("flow-trace"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(left.len(), 1, "{left:?}");
    });
}

#[test]
fn what_is_attached_to_is_recorded_there_too_and_a_snapshot_is_the_file_that_is_named() {
    on_every_jdk(|jdk| {
        let mut session = Session::start(jdk);
        let dir = session.program.workspace().to_path_buf();
        let pid = session.child.id().to_string();
        let library = library().display().to_string();
        let attach = |session: &Session| {
            let output = session.flow("attach", &["--agent", &library]);
            assert!(output.status.success(), "{}", errors(&output));
            errors(&output)
        };
        let said = attach(&session);
        let name = runs(&dir).pop().unwrap();
        assert!(name.ends_with(&format!("Z-Attached-{pid}.flowtrace")), "{name}");
        assert!(
            said.contains(&format!("recording process {pid} into flow-trace/{name}; ")),
            "{said}"
        );
        session.command("work 10");
        let expected = workers(jdk) * 10;
        for (file, path) in [
            ("now.flowtrace".to_owned(), "now.flowtrace".to_owned()),
            (
                "later".to_owned(),
                format!("flow-trace/{}", name.replace(".flow", "-snapshot-later.flow")),
            ),
        ] {
            let output = session.flow("snapshot", &[&file]);
            assert!(output.status.success(), "{}", errors(&output));
            let said =
                format!("flow: {path} has what was recorded until now; recording continues\n");
            assert_eq!(errors(&output), said);
            assert_eq!(steps(&dir, Some(&path)), expected);
        }
        // What is there is not replaced.
        let again = session.flow("snapshot", &["now.flowtrace"]);
        assert!(errors(&again).contains("now.flowtrace: exists; name another file"));
        session.command("work 5");
        session.detach();
        assert_eq!(steps(&dir, None), workers(jdk) * 15);
        attach(&session);
        session.command("work 1");
        session.detach();
        assert_eq!(steps(&dir, None), workers(jdk));
        let states = shown(&dir, &["info", "--all", "--format", "csv"]);
        let states: Vec<_> =
            states.lines().skip(1).map(|line| line.split(',').nth(7).unwrap()).collect();
        assert_eq!(states, ["finished", "snapshot", "finished"]);
        drop(session.exit());
    });
}
