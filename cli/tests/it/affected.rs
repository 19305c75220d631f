//! `flow tests --affected-by`, in a repository with a recording of its tests.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Run, command, test_mark, text};
use flow_codec::Offset;
use flow_codec::format::marks::{HEADER, MarkEncoder, Position};
use flow_codec::format::shape_name::ShapeName;
use flow_codec::format::test_marks::LeftOut;
use tempfile::TempDir;

/// The files of the project, with their texts after `package a;`.
const FILES: [(&str, &str); 17] = [
    ("main/java/a/Calc.java", "public class Calc { int add(int x) { return x; } }"),
    ("main/java/a/Base.java", "class Base { }"),
    ("main/java/a/Sub.java", "class Sub extends Base { void run() { } }"),
    ("main/java/a/Limits.java", "class Limits { static final int MOST = 5; }"),
    ("main/java/a/Limited.java", "class Limited { int get() { return Limits.MOST; } }"),
    ("main/java/a/Rows.java", "class Rows { static Object make() { return null; } }"),
    ("main/java/a/Table.java", "class Table { static final Object ROWS = Rows.make(); }"),
    ("main/java/a/Reader.java", "class Reader { Object get() { return Table.ROWS; } }"),
    ("main/java/a/Pool.java", "class Pool { void open() { } }"),
    ("main/java/a/Setup.java", "class Setup { void start(Pool pool) { pool.open(); } }"),
    (
        "test/java/a/CalcTest.java",
        "class CalcTest { @Test void adds() { } @Test void many(int i) { } }",
    ),
    ("test/java/a/SubTest.java", "class SubTest { @Test void runs() { } }"),
    (
        "test/java/a/FirstTest.java",
        "class FirstTest { @Test void first() { } @Test void second() { } }",
    ),
    ("test/java/a/TableTest.java", "class TableTest { @Test void reads() { } }"),
    ("test/java/a/LimitsTest.java", "class LimitsTest { @Test void limit() { } }"),
    ("test/java/a/OtherTest.java", "class OtherTest { @Test void other() { } }"),
    (
        "test/java/a/ReadyTest.java",
        "class ReadyTest { int x = new Calc().add(1); @Test void ready() { } }",
    ),
];

/// The methods of the recording: the number of each is its id.
const METHODS: [&str; 18] = [
    "Calc#add(I)I",
    "Sub#run()V",
    "Table#<clinit>()V",
    "Rows#make()V",
    "Reader#get()V",
    "Limited#get()I",
    "CalcTest#adds()V",
    "CalcTest#many(I)V",
    "SubTest#runs()V",
    "FirstTest#first()V",
    "FirstTest#second()V",
    "TableTest#reads()V",
    "LimitsTest#limit()V",
    "OtherTest#other()V",
    "ReadyTest#<init>()V",
    "ReadyTest#ready()V",
    "Setup#start()V",
    "Pool#open()V",
];

/// What ran: a test or nothing, and calls inside of each other.
const RAN: [(&str, &[&str]); 10] = [
    ("", &["Setup#start", "Pool#open"]),
    ("a.CalcTest.adds", &["CalcTest#adds", "Calc#add"]),
    ("a.CalcTest.many(int)[1]", &["CalcTest#many", "Calc#add"]),
    ("a.SubTest.runs", &["SubTest#runs", "Sub#run"]),
    ("a.FirstTest.first", &["FirstTest#first", "Reader#get", "Table#<clinit>", "Rows#make"]),
    ("a.FirstTest.second", &["FirstTest#second"]),
    ("a.TableTest.reads", &["TableTest#reads", "Reader#get"]),
    ("a.LimitsTest.limit", &["LimitsTest#limit", "Limited#get"]),
    ("a.OtherTest.other", &["OtherTest#other"]),
    ("", &["ReadyTest#<init>", "Calc#add"]),
];

struct Project {
    dir: TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Self { dir: tempfile::tempdir().unwrap() };
        for (path, code) in FILES {
            project.write(&format!("src/{path}"), &format!("package a;\n{code}\n"));
        }
        project.write("pom.xml", "<project/>");
        project.write("README.md", "text");
        project.write(".gitignore", "flow-trace\n");
        project.git(&["init", "-q"]);
        project.git(&["add", "."]);
        project.git(&["commit", "-q", "-m", "first"]);
        record(&project.dir.path().join("flow-trace"), "");
        project
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, args: &[&str]) {
        let user =
            ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgSign=false"];
        let mut git = Command::new("git");
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let run = git.arg("-C").arg(self.dir.path()).args(user).args(args).output().unwrap();
        assert!(run.status.success(), "{args:?}: {}", String::from_utf8_lossy(&run.stderr));
    }

    fn tests(&self, args: &[&str]) -> Run {
        command().current_dir(self.dir.path()).arg("tests").args(args).output().unwrap().into()
    }

    /// The selected tests since the last commit, which is restored then.
    fn selected(&self) -> Vec<String> {
        let run = self.tests(&["--affected-by", "HEAD", "--format", "plain"]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        self.git(&["stash", "-q", "--include-untracked"]);
        run.out.lines().map(str::to_owned).collect()
    }

    /// The tests that are selected once a file has another text.
    fn after(&self, file: &str, from: &str, to: &str) -> Vec<String> {
        let path = self.dir.path().join("src").join(file);
        let before = fs::read_to_string(&path).unwrap();
        assert!(before.contains(from));
        fs::write(&path, before.replace(from, to)).unwrap();
        self.selected()
    }
}

fn record(dir: &Path, last: &str) {
    fs::create_dir_all(dir).unwrap();
    let ids = METHODS.iter().enumerate().map(|(id, method)| format!("a.{method}={id}\n"));
    fs::write(dir.join("ids.properties"), ids.collect::<String>()).unwrap();
    let (mut encoder, mut marks, mut events) =
        (MarkEncoder::default(), HEADER.to_vec(), Vec::new());
    let mut calls = 0;
    let mut mark = |at: &[u8], mark: &str| {
        let position = Position { offset: Offset::new(at.len() as u64), exits: 0 };
        encoder.encode(position, &test_mark(mark), &mut marks);
    };
    let ready: &[&str] = &["ReadyTest#ready"];
    for (test, chain) in RAN.into_iter().chain([("a.ReadyTest.ready", ready)]) {
        if !test.is_empty() {
            mark(&events, &format!("test started {test}"));
        }
        for call in chain {
            let id =
                METHODS.iter().position(|method| method.starts_with(&format!("{call}("))).unwrap();
            events.push(0x80 | u8::try_from(id).unwrap());
        }
        // As many exits, in one record.
        events.push(u8::try_from(chain.len() - 1).unwrap());
        calls += chain.len();
        if !test.is_empty() {
            let detail = if test.starts_with("a.ReadyTest") { last } else { "" };
            mark(&events, &format!("test passed {test}\t{detail}"));
        }
    }
    encoder.finish(&mut marks);
    let bytes = events.len();
    fs::write(dir.join("thread-1.flow"), events).unwrap();
    fs::write(dir.join("thread-1.marks"), marks).unwrap();
    let manifest = format!(
        r#"{{"format_version":1,"tool":"flow-agent 0.1.0","engine":"instrument","event_format":"binary","options":{{}},"pid":1,"host":"h","command":["java"],"jvm":{{"name":"OpenJDK","version":"17","home":"/jdk"}},"start_unix_ns":0,"end":{{"at_ns":1,"totals":{{"threads":1,"methods":18,"enters":{calls},"exits":{calls},"bytes":{bytes}}},"lost":{{"events":0,"reasons":[]}},"not_recorded":[]}}}}"#
    );
    fs::write(dir.join("trace.json"), manifest).unwrap();
    fs::write(dir.join("threads.jsonl"), "").unwrap();
}

/// All tests of the recording.
fn all() -> Vec<String> {
    let ran = RAN.iter().map(|(test, _)| *test).filter(|test| !test.is_empty());
    ran.chain(["a.ReadyTest.ready"]).map(str::to_owned).collect()
}

#[test]
fn a_change_affects_the_tests_that_depend_on_it() {
    let project = Project::new();
    assert_eq!(project.selected(), [""; 0]);
    let of_calc = ["a.CalcTest.adds", "a.CalcTest.many(int)[1]", "a.ReadyTest.ready"];
    // A constructor that runs before its test is part of it.
    assert_eq!(project.after("main/java/a/Calc.java", "return x", "return x + 1"), of_calc);
    assert_eq!(
        project.after("main/java/a/Calc.java", "return x", "/* y */ return  x // z\n"),
        [""; 0]
    );
    assert_eq!(project.after("main/java/a/Calc.java", "return x", "return - -x"), of_calc);
    // Supertypes, also without any call of them.
    assert_eq!(project.after("main/java/a/Base.java", "{ }", "{ int x; }"), ["a.SubTest.runs"]);
    // Constants are in the classes that use them.
    assert_eq!(project.after("main/java/a/Limits.java", "5", "6"), ["a.LimitsTest.limit"]);
    // A static initialiser runs in one test, and its result is read in others.
    let of_rows = ["a.FirstTest.first", "a.TableTest.reads"];
    assert_eq!(project.after("main/java/a/Rows.java", "null", "\"\""), of_rows);
    assert_eq!(project.after("main/java/a/Table.java", "Rows.make()", "null"), of_rows);
    // What runs outside of all tests may matter to each.
    assert_eq!(project.after("main/java/a/Pool.java", "{ }", "{ return; }"), all());
}

#[test]
fn tests_that_changed_are_selected_as_classes() {
    let project = Project::new();
    let of_class = ["a.CalcTest", "a.CalcTest.adds", "a.CalcTest.many(int)[1]"];
    assert_eq!(
        project.after("test/java/a/CalcTest.java", "adds() { }", "adds() { return; }"),
        of_class
    );
    project
        .write("src/test/java/a/NewTest.java", "package a;\nclass NewTest { @Test void x() { } }");
    assert_eq!(project.selected(), ["a.NewTest"]);
    // A class that is gone was called, and is named.
    fs::remove_file(project.dir.path().join("src/main/java/a/Calc.java")).unwrap();
    assert_eq!(
        project.selected(),
        ["a.CalcTest.adds", "a.CalcTest.many(int)[1]", "a.ReadyTest.ready"]
    );
}

#[test]
fn other_files_affect_all_tests_unless_they_are_no_part_of_the_build() {
    let project = Project::new();
    project.write("README.md", "other");
    assert_eq!(project.selected(), [""; 0]);
    project.write("src/main/resources/README.md", "data");
    assert_eq!(project.selected(), all());
    project.write("pom.xml", "<project></project>");
    let run = project.tests(&["--affected-by", "HEAD", "--format", "surefire"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), ""));
    assert!(run.err.contains("run all tests: pom.xml may affect each of them"), "{}", run.err);
    let ignored = ["--affected-by", "HEAD", "--ignore-files", "pom.*", "--format", "surefire"];
    let run = project.tests(&ignored);
    assert_eq!((run.out.as_str(), run.err.as_str()), ("-DskipTests\n", ""));
}

#[test]
fn affected_tests_are_shown_to_people_and_to_tools() {
    let project = Project::new();
    let calc = "package a;\npublic class Calc { int add(int x) { return 2 * x; } }\n";
    project.write("src/main/java/a/Calc.java", calc);
    let rows = "package a;\nclass Rows { static Object make() { return 1; } }\n";
    project.write("src/main/java/a/Rows.java", rows);
    project.git(&["commit", "-q", "-a", "-m", "second"]);
    let show = |args: &[&str]| {
        let run = project.tests(&[&["--affected-by", "HEAD~1..HEAD"], args].concat());
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
        run.out
    };
    let shown = show(&[]);
    let (first, rest) = shown.split_once('\n').unwrap();
    assert!(first.starts_with("2 files changed from "), "{first}");
    assert_eq!(
        rest,
        "
change   file                       affects
changed  src/main/java/a/Calc.java  1 class
changed  src/main/java/a/Rows.java  1 class, and those of 2 files that depend on it

5 of 9 tests are affected

why      through   test
calls    a.Calc    a.CalcTest.adds
calls    a.Calc    a.CalcTest.many(int)[1]
calls    a.Rows    a.FirstTest.first
names    a.Reader  a.TableTest.reads
outside  a.Calc    a.ReadyTest.ready
"
    );
    assert_eq!(
        show(&["--format", "surefire"]),
        "-Dtest=a.CalcTest,a.CalcTest$*,a.FirstTest#first,a.ReadyTest,a.ReadyTest$*,a.TableTest,a.TableTest$* \
         -Dsurefire.failIfNoSpecifiedTests=false\n"
    );
    let gradle = show(&["--format", "gradle"]);
    assert!(
        gradle.starts_with("--tests a.CalcTest --tests a.CalcTest$* --tests a.FirstTest.first "),
        "{gradle}"
    );
    let csv = show(&["--format", "csv", "--max", "1"]);
    assert_eq!(
        csv,
        "test,kind,why,through,file\na.CalcTest.adds,test,calls,a.Calc,src/main/java/a/Calc.java\n"
    );
    let json = show(&["--format", "json", "--test", "*Table*"]);
    assert_eq!(json.lines().count(), 1, "{json}");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["test"], &json["why"]), (&"a.TableTest.reads".into(), &"names".into()));
    // Nothing changed from a commit to itself.
    let none = project.tests(&["--affected-by", "HEAD...HEAD", "--format", "gradle"]);
    assert_eq!(none.out, "-x test\n");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let project = Project::new();
    for (args, error) in [
        (&["--affected-by", "nowhere"][..], "no commit 'nowhere' in "),
        (&["--affected-by", "HEAD..nowhere"], "no commit 'nowhere' (of 'HEAD..nowhere') in "),
        (&["--affected-by=--output=x"], "no commit '--output=x' in "),
        (&["--affected-by="], "no commit '' in "),
        (
            &["--affected-by", "HEAD", "--verbose"],
            "--verbose does not apply to tests that a change affects",
        ),
        (&["--format", "plain"], "add --affected-by"),
    ] {
        let run = project.tests(args);
        assert_eq!(run.code, Some(2), "{args:?}");
        assert!(run.err.contains(error) && run.out.is_empty(), "{args:?}: {}", run.err);
    }
    assert!(!project.dir.path().join("x").exists());
    let run_in = |dir: &Path, path: &str, trace: &Path| -> Run {
        let mut command = command();
        command.current_dir(dir).env("PATH", path).env("GIT_CEILING_DIRECTORIES", "/");
        command.args(["tests", "--affected-by", "HEAD"]).arg(trace).output().unwrap().into()
    };
    let path = std::env::var("PATH").unwrap();
    let trace = project.dir.path().join("flow-trace");
    let elsewhere = tempfile::tempdir().unwrap();
    let run = run_in(elsewhere.path(), &path, &trace);
    assert!(run.err.contains("git finds no working tree in this directory"), "{}", run.err);
    let run = run_in(project.dir.path(), &text(elsewhere.path()), &trace);
    assert!(run.err.contains("needs the program git, which is not in PATH"), "{}", run.err);
    let other = crate::common::trace();
    let run = run_in(project.dir.path(), &path, other.path());
    assert!(run.err.contains("is it of another project?"), "{}", run.err);
    assert_eq!(run.code, Some(1));
    let shrunk = elsewhere.path().join("shrunk");
    let behaviour = ShapeName::default();
    let left = LeftOut { calls: 1, counted: 1, start_ns: None, end_ns: None, behaviour };
    record(&shrunk, &left.to_string());
    let run = run_in(project.dir.path(), &path, &shrunk);
    let error = "calls of tests that passed, such as a.ReadyTest.ready, were left out";
    assert!(run.err.contains(error) && run.out.is_empty(), "{}", run.err);
    assert_eq!(run.code, Some(1));
}
