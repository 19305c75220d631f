//! Other tools in the same process that change classes or watch the JVM.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use flow_e2e::{
    Decoded, Engine, Finished, Jdk, Program, decode_trace, escaped, flow, golden, harness, lib,
    library,
};

use crate::attach::{Session, assert_clean, assert_recorded};
use crate::{on_every_jdk, shown};

/// The probes of one class in a file that JaCoCo wrote: its name, and which probes were reached.
type Coverage = BTreeMap<u64, (String, Vec<bool>)>;

/// Reads a file of JaCoCo's execution data.
fn coverage(path: &Path) -> Coverage {
    struct Reader<'a>(&'a [u8]);
    impl Reader<'_> {
        fn number(&mut self, bytes: usize) -> u64 {
            let (number, rest) = self.0.split_at(bytes);
            self.0 = rest;
            number.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
        }

        fn text(&mut self) -> String {
            let length = usize::try_from(self.number(2)).unwrap();
            let (text, rest) = self.0.split_at(length);
            self.0 = rest;
            String::from_utf8_lossy(text).into_owned()
        }

        fn length(&mut self) -> usize {
            let (mut length, mut shift) = (0, 0);
            loop {
                let byte = usize::try_from(self.number(1)).unwrap();
                length |= (byte & 0x7F) << shift;
                shift += 7;
                if byte < 0x80 {
                    return length;
                }
            }
        }

        fn flags(&mut self) -> Vec<bool> {
            let length = self.length();
            let bytes: Vec<_> = (0..length.div_ceil(8)).map(|_| self.number(1)).collect();
            (0..length).map(|bit| bytes[bit / 8] >> (bit % 8) & 1 == 1).collect()
        }
    }
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut reader = Reader(&bytes);
    let mut coverage = Coverage::new();
    while !reader.0.is_empty() {
        match reader.number(1) {
            // The header: magic number and version.
            0x01 => assert_eq!(reader.number(4) >> 16, 0xC0C0),
            // A session: id, start and end.
            0x10 => drop((reader.text(), reader.number(8), reader.number(8))),
            0x11 => {
                let id = reader.number(8);
                coverage.insert(id, (reader.text(), reader.flags()));
            }
            block => panic!("block {block}"),
        }
    }
    coverage
}

/// The position of JaCoCo on the command line.
#[derive(Clone, Copy, Debug)]
enum Place {
    BeforeUs,
    BehindUs,
}

fn under_jacoco(jdk: &Jdk, name: &str, place: Place) -> Program {
    let mut jacoco = OsString::from("-javaagent:");
    jacoco.push(lib("jacocoagent.jar"));
    jacoco.push("=destfile=jacoco.exec,includes=harness.*");
    let classes = harness().join("target/classes");
    let main = [OsString::from("-cp"), classes.into(), format!("harness.{name}").into()];
    match place {
        Place::BeforeUs => Program::new(jdk, main).jvm_arg(jacoco),
        Place::BehindUs => Program::new(jdk, std::iter::once(jacoco).chain(main)),
    }
}

#[test]
fn jacoco_measures_the_same_coverage() {
    on_every_jdk(|jdk| {
        for name in ["SuperThrows", "Initialisers", "Synchronised", "Switches", "Shapes"] {
            let measured = |run: &Finished| coverage(&run.program.workspace().join("jacoco.exec"));
            let plain = under_jacoco(jdk, name, Place::BeforeUs).run_without_agent();
            assert_eq!(plain.code(), Some(0), "{}", plain.errors());
            let expected = measured(&plain);
            assert!(expected.values().any(|(_, probes)| probes.contains(&true)));
            for place in [Place::BeforeUs, Place::BehindUs] {
                let run = under_jacoco(jdk, name, place).options("include=harness.**").run();
                assert_eq!(run.code(), Some(0), "{name}, {place:?}: {}", run.errors());
                assert_eq!(run.stdout, plain.stdout, "{name}, {place:?}");
                assert_eq!(run.errors(), String::from_utf8_lossy(&plain.stderr));
                assert!(measured(&run) == expected, "{name}, {place:?}: coverage differs");

                // The recording shows the program, and also the methods that JaCoCo adds.
                let trace = decode_trace(&run.out());
                for (thread, lines) in golden(name).threads {
                    let found = trace.threads.values().find(|t| escaped(&t.name) == thread);
                    let tree = trace.tree(found.unwrap()).of_harness();
                    let tree = tree.only(|call| !call.method.starts_with("$jacocoInit("));
                    let without_init: Vec<_> = tree.lines();
                    assert_eq!(without_init, lines, "{name}, {place:?}, thread {thread}");
                }
            }
        }
    });
}

/// Which lines of the harness an XML report of JaCoCo has, and which of them were reached.
fn reached_lines(report: &str) -> BTreeMap<(String, String), bool> {
    // One element a line, as JaCoCo and flow write them; JaCoCo's report is one line.
    let mut file = String::new();
    let mut lines = BTreeMap::new();
    for element in report.split('<') {
        let attribute = |name: &str| {
            let value = element.split_once(&format!(" {name}=\""))?.1;
            value.split_once('"').map(|(value, _)| value.to_owned())
        };
        if element.starts_with("sourcefile ") {
            file = attribute("name").unwrap();
        } else if element.starts_with("line ") {
            let is_reached = attribute("ci").unwrap() != "0";
            lines.insert((file.clone(), attribute("nr").unwrap()), is_reached);
        }
    }
    lines
}

/// JaCoCo does not mark lines that an exception leaves: `Shapes` throws none.
#[test]
fn lines_are_reached_that_jacoco_finds_reached() {
    on_every_jdk(|jdk| {
        for name in ["Shapes", "Lined", "SuperThrows", "Switches", "Synchronised"] {
            let run = under_jacoco(jdk, name, Place::BeforeUs).run_without_agent();
            let data = run.program.workspace().join("jacoco.exec");
            let theirs = run.program.workspace().join("jacoco.xml");
            let mut report = Command::new(jdk.tool("java"));
            report.arg("-jar").arg(lib("jacococli.jar")).arg("report").arg(data);
            report.arg("--classfiles").arg(harness().join("target/classes"));
            let output = report.arg("--xml").arg(&theirs).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let theirs = reached_lines(&fs::read_to_string(theirs).unwrap());

            let options = "include=harness.**,lines=harness.**";
            let recorded = Program::harness(jdk, name).options(options).run();
            let ours = shown(&["export", "--to", "jacoco"], &recorded.out());
            let ours = reached_lines(&ours);
            assert!(ours.values().filter(|is_reached| **is_reached).count() > 20, "{name}");
            for (line, is_reached) in &theirs {
                // Classes that were not loaded have lines in JaCoCo's report only.
                let Some(by_us) = ours.get(line) else {
                    assert!(!is_reached, "{name}: {line:?}");
                    continue;
                };
                let is_same = by_us == is_reached;
                assert!(is_same || *by_us && name != "Shapes", "{name}: {line:?}");
            }
        }
    });
}

/// The summary of the JUnit console, without durations.
fn summary(run: &Finished) -> Vec<String> {
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let lines = text.lines().filter(|line| line.starts_with('[') && line.ends_with(']'));
    lines.map(str::to_owned).collect()
}

#[test]
fn mockito_changes_classes_that_are_recorded() {
    on_every_jdk(|jdk| {
        let jars = ["mockito-core.jar", "byte-buddy.jar", "byte-buddy-agent.jar", "objenesis.jar"];
        let target = harness().join("target");
        let dirs: Vec<PathBuf> = vec![target.join("classes"), target.join("test-classes")];
        let class_path = std::env::join_paths(dirs.into_iter().chain(jars.map(lib))).unwrap();
        let program = |engine: &str| {
            Program::new(jdk, ["-jar".into(), lib("junit-platform-console-standalone.jar")])
                .args(["execute", "--disable-banner", "--class-path"])
                .args([&class_path])
                .args(["--select-class", "harness.MockingTest"])
                .args(["--select-class", "harness.CalculatorTest"])
                .jvm_arg("-XX:+EnableDynamicAgentLoading")
                .options(engine)
        };
        let plain = program("").run_without_agent();
        assert_eq!(plain.code(), Some(0), "{}", String::from_utf8_lossy(&plain.stdout));
        for filter in ["include=harness.**", "engine=instrument"] {
            let run = program(filter).run();
            let text = String::from_utf8_lossy(&run.stdout);
            assert_eq!(run.code(), Some(0), "{filter}: {text}\n{}", run.errors());
            assert_eq!(summary(&run), summary(&plain), "{filter}");
            assert_eq!(run.errors(), String::from_utf8_lossy(&plain.stderr), "{filter}");
            let trace = decode_trace(&run.out());
            let calls: u64 = trace
                .enters_by_key()
                .iter()
                .filter(|(key, _)| key.starts_with("harness.MockingTest$Die#value("))
                .map(|(_, calls)| calls)
                .sum();
            // Two calls, one of them on a mock, which does not run the method's own code.
            assert_eq!(calls, 1, "{filter}");
        }
    });
}

#[test]
fn a_flight_recording_runs_at_the_same_time() {
    on_every_jdk(|jdk| {
        if !jdk.has_module("jdk.jfr") {
            println!("this JDK has no flight recorder");
            return;
        }
        let program = || {
            Program::harness(jdk, "SuperThrows")
                .jvm_arg("-XX:StartFlightRecording=filename=flight.jfr,settings=profile")
                .jvm_arg("-Xlog:jfr*=off")
        };
        let plain = program().run_without_agent();
        let run = program().run();
        assert_eq!(run.code(), Some(0), "{}", run.errors());
        // JDK 11 prints how to end the recording, with the process id.
        let lines = |output: &[u8]| {
            let text = String::from_utf8_lossy(output).into_owned();
            text.lines().filter(|line| !line.starts_with("Use jcmd ")).map(str::to_owned).collect()
        };
        let (found, expected): (Vec<_>, Vec<_>) = (lines(&run.stdout), lines(&plain.stdout));
        assert_eq!(found, expected);
        assert!(run.program.workspace().join("flight.jfr").is_file());
        let trace = decode_trace(&run.out());
        let tree = trace.tree(trace.thread("main")).of_harness().lines();
        assert_eq!(tree, golden("SuperThrows").threads["main"]);
    });
}

/// The version in the name of the tool in `trace.json`, as long as the real one.
const OTHER_TOOL: &str = "flow-agent 9.9.9";

/// Copies the library to a folder of its own and changes its version, like another installation.
fn other_copy(folder: &Path) -> PathBuf {
    let mut bytes = fs::read(library()).unwrap();
    let tool = concat!("flow-agent ", env!("CARGO_PKG_VERSION")).as_bytes();
    assert_eq!(tool.len(), OTHER_TOOL.len());
    let at = bytes.windows(tool.len()).position(|window| window == tool).unwrap();
    bytes[at..at + tool.len()].copy_from_slice(OTHER_TOOL.as_bytes());
    let copy = folder.join("other");
    fs::create_dir(&copy).unwrap();
    let copy = copy.join(library().file_name().unwrap());
    fs::write(&copy, bytes).unwrap();
    copy
}

fn tool_of(dir: &Path) -> String {
    decode_trace(dir).manifest["tool"].as_str().unwrap().to_owned()
}

#[test]
fn of_two_copies_at_the_start_the_first_one_records() {
    on_every_jdk(|jdk| {
        let folder = tempfile::tempdir().unwrap();
        let copy = other_copy(folder.path());
        let copy_out = folder.path().join("of-copy");
        let mut other = OsString::from("-agentpath:");
        other.push(&copy);
        other.push(format!("=out={}", copy_out.display()));
        let classes = harness().join("target/classes");
        let main = [OsString::from("-cp"), classes.into(), "harness.SuperThrows".into()];
        let copy_first = Program::new(jdk, &main).jvm_arg(&other);
        let copy_last = Program::new(jdk, std::iter::once(other).chain(main));
        for (program, is_first) in [(copy_last, true), (copy_first, false)] {
            let run = program.run();
            assert_eq!(run.code(), Some(0), "{}", run.errors());
            let (recorded, not) =
                if is_first { (run.out(), &copy_out) } else { (copy_out.clone(), &run.out()) };
            let errors = run.errors();
            assert_eq!(errors.lines().count(), 1, "{errors}");
            assert!(errors.starts_with("[flowagent] another copy of flow, "), "{errors}");
            assert!(errors.contains(&format!(", into {}", recorded.display())), "{errors}");
            assert!(!not.exists(), "{}", not.display());
            assert_eq!(tool_of(&recorded) == OTHER_TOOL, !is_first);
            assert_clean(&recorded);
            let trace = decode_trace(&recorded);
            let tree = trace.tree(trace.thread("main")).of_harness().lines();
            assert_eq!(tree, golden("SuperThrows").threads["main"]);
        }
    });
}

#[test]
fn another_version_records_a_jvm_that_was_recorded_before() {
    on_every_jdk(|jdk| {
        let mut session = Session::start(jdk);
        let folder = tempfile::tempdir().unwrap();
        let copy = other_copy(folder.path());
        let refusal = |session: &Session, library: &Path| {
            let library = library.to_str().unwrap();
            let output = session.flow("attach", &["-o", "refused", "--agent", library]);
            assert_eq!(output.status.code(), Some(1));
            assert!(!session.dir("refused").exists());
            String::from_utf8(output.stderr).unwrap()
        };
        // First the usual copy, then the other one, then the usual one again, whose probe class exists by
        // now.
        let copies = [library(), copy.clone(), library()];
        for (number, recording) in copies.iter().enumerate() {
            let other = if *recording == copy { library() } else { copy.clone() };
            let name = format!("trace-{number}");
            let dir = session.dir(&name);
            session.attach_by(recording, &name);
            let text = refusal(&session, &other);
            assert!(text.contains("another copy of flow, "), "{text}");
            assert!(text.contains(&format!(", into {}", dir.display())), "{text}");
            // Either copy can be asked to end the recording.
            assert_recorded(jdk, &mut session, &dir, |session| {
                let output = session.flow("detach", &["--agent", other.to_str().unwrap()]);
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            });
            assert_clean(&dir);
            assert_eq!(tool_of(&dir) == OTHER_TOOL, *recording == copy);
            session.command("work 500");
        }
        drop(session.exit());
    });
}

#[test]
fn a_class_loader_that_refuses_the_probes_has_its_classes_left_out_by_name() {
    on_every_jdk(|jdk| {
        let program = || Program::harness(jdk, "Picky").options("include=harness.**");
        let plain = program().run_without_agent();
        let run = program().run();
        assert_eq!(run.code(), Some(0), "{}", run.errors());
        assert_eq!(String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&plain.stdout));
        assert_eq!(run.errors(), "");
        let trace = run.trace();
        let not_recorded = &trace.manifest["end"]["not_recorded"];
        let refused = serde_json::json!({
            "reason": "loader-refuses-probes", "count": 1, "methods": ["harness.Picky$Guest#*"],
        });
        assert!(not_recorded.as_array().unwrap().contains(&refused), "{not_recorded}");
        // The other loader is asked once, and its class is recorded.
        let calls = trace.enters_by_key();
        let calls_of = |key: &str| calls.get(key).copied().unwrap_or_default();
        assert_eq!(calls_of("harness.Picky$Guest#twice(I)I"), 1);
    });
}

#[test]
fn calls_of_a_class_loader_that_the_agent_has_caused_are_counted() {
    on_every_jdk(|jdk| {
        let trace = |engine| {
            let program = Program::harness(jdk, "Picky").options("include=harness.**");
            let run = program.engine(engine).run();
            assert_eq!(run.code(), Some(0), "{}", run.errors());
            (run.trace(), info(&run.out()))
        };
        let calls = |trace: &Decoded| {
            trace
                .enters_by_key()
                .remove("harness.Picky$Loader#loadClass(Ljava/lang/String;Z)Ljava/lang/Class;")
        };
        let ((instrument, shown), (events, plain)) =
            (trace(Engine::Instrument), trace(Engine::Events));
        // Each of the two loaders is asked once.
        assert_eq!(
            instrument.manifest["end"]["asked_loaders"],
            serde_json::json!([{"class": "harness.Picky$Loader", "requests": 2}])
        );
        assert_eq!(events.manifest["end"]["asked_loaders"], serde_json::Value::Null);
        assert_eq!(calls(&instrument), calls(&events).map(|calls| calls + 2));
        assert!(shown.contains("added     2 calls of loadClass by the agent"), "{shown}");
        assert!(shown.contains("harness.Picky$Loader: 2"), "{shown}");
        assert!(!plain.contains("loadClass"), "{plain}");
    });
}

/// The output of `flow info --verbose`.
fn info(dir: &Path) -> String {
    let output = Command::new(flow()).args(["info", "--verbose"]).arg(dir).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}
