//! `lines=`: the lines that methods reach.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use flow_e2e::{Decoded, Engine, Event, Mark, Program, flow, harness};

use crate::{on_every_jdk, shown};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../java-harness/src/main/java");

/// All methods of `harness.Lined` but `main` and `unnamed`.
const NAMED: &str = "lines=harness.Lined#add;harness.Lined#count;harness.Lined#whileLoop;harness.Lined#oneLine;\
    harness.Lined#choose;harness.Lined#caught;harness.Lined#mayFail;harness.Lined#locked;harness.Lined#apply;\
    harness.Lined#lambda*;harness.Lined#spread;harness.Lined#deep;harness.Lined#<clinit>;harness.Lined$*";

/// What they run, by the letters in the source. By hand, from the source and `javap`: the head of `for` is reached once
/// before the loop and once after each round; that of `while` before each round and once more.
const EXPECTED: [&str; 16] = [
    "a",
    "defefeg bc",
    "hijijik bc",
    "l bc",
    "mn mop moq bc",
    "rs xz v1w rs xy tuv1w bc",
    "AB xz bc",
    // The line of the closing brace is that of the handler that releases the monitor.
    "AB xy C bc",
    "UVU OPRS WX bc",
    "UVU OPQ bc",
    "D F E bc",
    "GHIG bc",
    "JLJLJK bc",
    "bc",
    "",
    "",
];

/// The letters at the ends of lines.
fn letters() -> BTreeMap<u16, char> {
    let source = fs::read_to_string(Path::new(SOURCES).join("harness/Lined.java")).unwrap();
    let letter = |(number, line): (usize, &str)| {
        let (_, letter) = line.split_once("// @")?;
        Some((u16::try_from(number + 1).unwrap(), letter.chars().next()?))
    };
    source.lines().enumerate().filter_map(letter).collect()
}

/// What the thread `main` ran, each line with the method on top of the stack.
fn reached(trace: &Decoded) -> Vec<(String, u16)> {
    let main = trace.thread("main");
    let mut marks = main.marks.iter().peekable();
    let (mut open, mut reached) = (Vec::new(), Vec::new());
    for number in 0..=main.events.len() {
        while let Some((_, mark)) = marks.next_if(|(place, _)| *place == number) {
            if let Mark::Line(line) = mark {
                reached.push((trace.keys[open.last().unwrap()].clone(), *line));
            }
        }
        match main.events.get(number) {
            Some(Event::Enter(id)) => open.push(*id),
            Some(Event::Exit) => drop(open.pop()),
            None => {}
        }
    }
    reached
}

#[test]
fn lines_are_recorded_in_the_order_in_which_they_ran() {
    let letters = letters();
    let expected: String = EXPECTED.concat().split(' ').collect();
    on_every_jdk(|jdk| {
        for options in [
            "clock=tick,chunk=64",
            "clock=exact",
            "clock=off",
            "order=total,chunk=64",
            "clock=tick",
        ] {
            let program = Program::harness(jdk, "Lined").options(&format!("{NAMED},{options}"));
            let run = program.run();
            assert_eq!((run.code(), run.errors()), (Some(0), String::new()), "{options}");
            assert_eq!(run.stdout, b"206\n", "{options}");
            let trace = run.trace();
            let reached = reached(&trace);
            let found: String = reached.iter().map(|(_, line)| letters[line]).collect();
            assert_eq!(found, expected, "{options}");
            let is_own = |(key, line): &&(String, u16)| {
                let name = key.split_once('(').unwrap().0;
                let of = |letters: &str| letters.contains(letters_at(*line));
                match name {
                    "harness.Lined#add" => of("bc"),
                    "harness.Lined#mayFail" => of("xyz"),
                    "harness.Lined$Base#<init>" => of("OPQRS"),
                    "harness.Lined$Derived#<init>" => of("UVWX"),
                    _ => !of("bcxyzOPQRSUVWX"),
                }
            };
            assert!(reached.iter().all(|reached| is_own(&reached)), "{reached:?}");
        }
    });
}

/// The letter of a line.
fn letters_at(line: u16) -> char {
    letters()[&line]
}

#[test]
fn verbs_show_lines_with_their_text_and_counts() {
    let letters = letters();
    on_every_jdk(|jdk| {
        let run = Program::harness(jdk, "Lined").options(NAMED).run();
        let rows = shown(&["report", "--lines", "--format", "json"], &run.out());
        let mut counts = BTreeMap::new();
        for row in rows.lines() {
            let row: serde_json::Value = serde_json::from_str(row).unwrap();
            assert_eq!(row["file"], "harness/Lined.java");
            let line = u16::try_from(row["line"].as_u64().unwrap()).unwrap();
            assert_eq!(counts.insert(letters[&line], row["count"].as_u64().unwrap()), None);
        }
        let mut expected: BTreeMap<char, u64> =
            letters.values().map(|letter| (*letter, 0)).collect();
        for letter in EXPECTED.concat().chars().filter(|letter| *letter != ' ') {
            *expected.get_mut(&letter).unwrap() += 1;
        }
        assert_eq!(counts, expected);

        let text = shown(&["report", "--lines", "--source", SOURCES], &run.out());
        assert!(text.contains("i++; // @j"), "{text}");
        let tracefile = shown(&["export", "--to", "lcov", "--source", SOURCES], &run.out());
        let sum: u64 = tracefile
            .lines()
            .filter_map(|line| line.strip_prefix("DA:")?.split_once(','))
            .map(|(_, count)| count.parse::<u64>().unwrap())
            .sum();
        assert_eq!(sum, expected.values().sum::<u64>());
        assert!(tracefile.contains("java/harness/Lined.java\n"), "{tracefile}");

        let replay = ["replay", "--lines", "--source", SOURCES, "--method", "Lined#count"];
        let replayed = shown(&replay, &run.out());
        let found: Vec<_> = replayed
            .lines()
            .filter_map(|line| line.split_once("// @"))
            .map(|(_, letter)| letter.to_owned())
            .collect();
        assert_eq!(found.concat(), "defefeg", "{replayed}");
        let rows = shown(&["replay", "--lines", "--format", "json"], &run.out());
        let lines = rows.lines().filter(|row| row.contains("\"mark\":\"line\"")).count() as u64;
        assert_eq!(lines, expected.values().sum::<u64>());

        // A file that was written since then is another text.
        let newer = tempfile::tempdir().unwrap();
        fs::create_dir(newer.path().join("harness")).unwrap();
        let text = fs::read(Path::new(SOURCES).join("harness/Lined.java")).unwrap();
        fs::write(newer.path().join("harness/Lined.java"), text).unwrap();
        for verb in ["report", "replay"] {
            let warnings = |sources: &Path| {
                let mut command = Command::new(flow());
                command.args([verb, "--lines", "--source"]).arg(sources).arg(run.out());
                let text = String::from_utf8(command.output().unwrap().stderr).unwrap();
                text.matches("harness/Lined.java was written after the recording began").count()
            };
            assert_eq!([warnings(Path::new(SOURCES)), warnings(newer.path())], [0, 1], "{verb}");
        }
    });
}

/// A thread that is killed loses no line: those that were not written are in the journal.
#[test]
fn lines_survive_the_end_of_the_process() {
    on_every_jdk(|jdk| {
        for out in ["trace", "trace.flowtrace"] {
            let program = Program::harness(jdk, "Halt");
            let out = program.workspace().join(out);
            let program = program
                .record_into(out.clone())
                .options("lines=harness.Halt#*er;harness.Halt#before");
            let run = program.run();
            assert_eq!(run.code(), Some(4), "{}", run.errors());
            let rows = shown(&["replay", "--lines", "--format", "csv"], &out);
            let lines = rows.lines().filter(|row| row.contains(",line,Halt.java:"));
            let lines: Vec<_> =
                lines.map(|row| row.rsplit(':').next().unwrap().to_owned()).collect();
            let source = fs::read_to_string(Path::new(SOURCES).join("harness/Halt.java")).unwrap();
            let number = |text: &str| {
                (source.lines().position(|line| line.trim() == text).unwrap() + 1).to_string()
            };
            let before = number("System.out.println(\"before\");");
            let next = number("System.out.flush();");
            let end = (next.parse::<u32>().unwrap() + 1).to_string();
            let expected = [
                number("before();"),
                before,
                next,
                end,
                number("inner();"),
                number("Runtime.getRuntime().halt(4);"),
            ];
            assert_eq!(lines, expected, "{rows}");
        }
    });
}

/// Lines are lines of calls: of methods that are not recorded there are none.
#[test]
fn patterns_of_lines_select_no_methods() {
    on_every_jdk(|jdk| {
        let program = Program::harness(jdk, "Lined");
        let run = program
            .options("include=harness.Lined#deep,lines=harness.Lined#add;harness.Lined#deep")
            .run();
        let trace = run.trace();
        let methods: Vec<_> =
            trace.keys.values().filter(|key| key.starts_with("harness.")).collect();
        assert_eq!(methods, ["harness.Lined#deep(I)I"]);
        assert_eq!(reached(&trace).len(), 6);
    });
}

/// The letters at the ends of lines of a program of the harness.
fn letters_of(program: &str) -> BTreeMap<u64, char> {
    let source = Path::new(SOURCES).join(format!("harness/{program}.java"));
    let letter =
        |(number, line): (u64, &str)| Some((number, line.split_once("// @")?.1.chars().next()?));
    (1..).zip(fs::read_to_string(source).unwrap().lines()).filter_map(letter).collect()
}

/// How often each line was reached, by file and line.
fn counts_of(out: &Path) -> BTreeMap<(String, u64), u64> {
    let rows = shown(&["report", "--lines", "--format", "json"], out);
    let rows = rows.lines().map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
    let count = |row: serde_json::Value| {
        let file = row["file"].as_str().unwrap().to_owned();
        ((file, row["line"].as_u64().unwrap()), row["count"].as_u64().unwrap())
    };
    rows.map(count).collect()
}

#[test]
fn each_version_of_a_class_has_its_lines_parameters_and_code() {
    let letters = letters_of("Redeployed");
    on_every_jdk(|jdk| {
        for clock in ["clock=tick", "clock=exact", "order=total"] {
            let of = "harness.Redeployed$One";
            let options = format!("lines={of},values={of},instructions={of},{clock}");
            let run = Program::harness(jdk, "Redeployed").options(&options).run();
            assert_eq!((run.code(), run.errors()), (Some(0), String::new()), "{clock}");
            assert_eq!(run.stdout, b"106\n");

            let file = "harness/Redeployed.java";
            let counts = counts_of(&run.out());
            let of_letters: String = counts
                .iter()
                .filter(|((of, _), _)| of == file)
                .filter_map(|((_, line), count)| Some(format!("{}{count} ", letters.get(line)?)))
                .collect();
            assert_eq!(of_letters, "a3 b3 c3 d1 e3 ", "{clock}: {counts:?}");
            let tracefile = shown(&["export", "--to", "lcov"], &run.out());
            let calls = "FNDA:6,harness.Redeployed$One.applyAsInt(I)I\n";
            assert!(tracefile.contains(calls), "{tracefile}");
            let method = "harness.Redeployed$One#applyAsInt";
            let replayed = shown(&["replay", "--values", "--method", method], &run.out());
            let named = |name: &str| replayed.matches(&format!("{name} = ")).count();
            assert_eq!((named("alpha"), named("gamma"), named("arg0")), (3, 3, 0), "{replayed}");
            for (name, expected) in [("alpha", 2), ("gamma", 2), ("arg0", 4)] {
                let condition = format!("{name} > 0");
                let found = shown(&["calls", method, "--where", &condition], &run.out());
                assert_eq!(found.matches("applyAsInt").count(), expected, "{found}");
            }
            let replayed = shown(&["replay", "--instructions", "--method", method], &run.out());
            assert_eq!(replayed.matches(": iinc").count(), 1, "{replayed}");
            assert_eq!(replayed.matches(": ireturn").count(), 6, "{replayed}");
        }
    });
}

#[test]
fn lines_of_inlined_code_are_those_of_its_source() {
    let letters = letters_of("Inlined");
    let sources = tempfile::tempdir().unwrap();
    fs::create_dir_all(sources.path().join("lib/deep")).unwrap();
    let text: String = (1..=300).map(|line| format!("far {line}\n")).collect();
    fs::write(sources.path().join("lib/deep/Far.kt"), text).unwrap();
    let sources = sources.path().to_str().unwrap();
    let [first] = ['b'].map(|letter| letters.iter().find(|(_, of)| **of == letter).unwrap().0);
    let map = format!(
        r#""inlined":[[{first},2,7,"harness/Other.kt"],[{},1,300,"lib/deep/Far.kt"]]"#,
        first + 2
    );
    on_every_jdk(|jdk| {
        let of = "harness.Inlined$Caller";
        let run = Program::harness(jdk, "Inlined")
            .options(&format!("lines={of},instructions={of}#getAsInt"))
            .run();
        assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        let counts = counts_of(&run.out());
        let mut found = String::new();
        for ((file, line), count) in counts {
            match (file.as_str(), letters.get(&line)) {
                ("harness/Inlined.java", letter) => {
                    found.extend(letter.map(|it| format!("{it}{count} ")))
                }
                _ => found.push_str(&format!("{file}:{line}={count} ")),
            }
        }
        assert_eq!(
            found,
            "a2 e2 f2 harness/Other.kt:7=2 harness/Other.kt:8=2 lib/deep/Far.kt:300=2 "
        );
        let replayed = shown(
            &["replay", "--lines", "--source", sources, "--method", "Caller#getAsInt"],
            &run.out(),
        );
        assert_eq!(replayed.matches("Far.kt:300  far 300\n").count(), 2, "{replayed}");
        assert_eq!(replayed.matches("Other.kt:7").count(), 2, "{replayed}");
        let replayed = shown(&["replay", "--instructions"], &run.out());
        assert!(replayed.contains("· Far.kt:300  "), "{replayed}");

        for engine in [Engine::Instrument, Engine::Events] {
            let run = Program::harness(jdk, "Inlined").engine(engine).run();
            assert_eq!(run.stdout, b"76\n");
            let methods = fs::read_to_string(run.out().join("methods.jsonl"));
            if let Ok(methods) = methods {
                let of_caller = |line: &&str| line.contains("getAsInt") && line.contains("Caller");
                let line = methods.lines().find(of_caller).unwrap();
                assert!(line.contains(&map), "{engine:?}: {line}\n{map}");
            }
        }
    });
}

/// The lines that a trace has reached, by test, from a file of LCOV.
fn reached_by_test(out: &Path, tests: &[&str]) -> BTreeSet<(String, String, u64)> {
    let export = [["export", "--to", "lcov"].as_slice(), tests].concat();
    let (mut test, mut file, mut reached) = (String::new(), String::new(), BTreeSet::new());
    for line in shown(&export, out).lines() {
        match line.split_once(':') {
            Some(("TN", name)) => test = name.to_owned(),
            Some(("SF", path)) => file = path.to_owned(),
            Some(("DA", counted)) => {
                let (line, count) = counted.split_once(',').unwrap();
                if count != "0" {
                    reached.insert((test.clone(), file.clone(), line.parse().unwrap()));
                }
            }
            _ => {}
        }
    }
    reached
}

/// Options with which lines are recorded once: within calls, and alone.
const ONCE: [&str; 2] = ["lines-once=true", "lines-once=true,calls=off"];

#[test]
fn lines_that_are_recorded_once_are_those_that_are_reached() {
    on_every_jdk(|jdk| {
        for name in [
            "Lined",
            "Shapes",
            "SuperThrows",
            "Switches",
            "Synchronised",
            "Exceptions",
            "Redeployed",
            "Inlined",
            "Threads",
        ] {
            let options = "include=harness.**,lines=harness.**";
            let each = Program::harness(jdk, name).options(options).run();
            let expected = reached_by_test(&each.out(), &[]);
            assert!(expected.len() > 10, "{name}: {}", expected.len());
            for once in ONCE {
                let run = Program::harness(jdk, name).options(&format!("{options},{once}")).run();
                assert_eq!((run.code(), &run.stdout), (each.code(), &each.stdout), "{name}");
                assert_eq!(reached_by_test(&run.out(), &[]), expected, "{name}: {once}");
                shown(&["check"], &run.out());
            }
        }
    });
}

#[test]
fn each_test_has_its_lines_also_beside_others() {
    on_every_jdk(|jdk| {
        // Not of the method that marks the tests: its call begins before its test.
        let options = "include=harness.**,lines=harness.Tested#<init>;harness.Tested#work;\
            harness.Tested#half;harness.Tested#lambda*";
        let each = with_api(jdk, "Tested").options(options).run();
        assert_eq!((each.code(), each.errors()), (Some(0), String::new()));
        let tests = ["--test", "*"];
        let expected = reached_by_test(&each.out(), &tests);
        let of = |test: &str| expected.iter().filter(|(name, ..)| name == test).count();
        assert_ne!(of("none"), of("even"), "{expected:?}");
        for test in ["none", "even"] {
            let alone = reached_by_test(&each.out(), &["--test", test]);
            let in_all: BTreeSet<_> =
                expected.iter().filter(|(name, ..)| name == test).cloned().collect();
            assert_eq!(alone, in_all);
        }
        for once in ONCE {
            // In chunks that end now and then, too.
            let run = with_api(jdk, "Tested").options(&format!("{options},{once},chunk=256")).run();
            assert_eq!((run.code(), &run.stdout), (Some(0), &each.stdout), "{}", run.errors());
            assert_eq!(reached_by_test(&run.out(), &tests), expected, "{once}");
            let [all, fewer] = [&each, &run].map(|run| lines_in(&run.out()));
            assert!(fewer * 100 < all, "{once}: {fewer} of {all} lines");
            let once = once.replace("true", "run");
            let of_run = with_api(jdk, "Tested").options(&format!("{options},{once}")).run();
            assert_eq!((of_run.code(), &of_run.stdout), (Some(0), &each.stdout));
            let [all, reached] = [&each, &of_run].map(|run| reached_by_test(&run.out(), &[]));
            assert_eq!(reached, all, "{once}");
            assert!(lines_in(&of_run.out()) < fewer, "{once}");
            let by_test = Command::new(flow())
                .args(["export", "--to", "lcov", "--test", "even"])
                .arg(of_run.out())
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&by_test.stderr);
            assert!(said.contains("so the lines of a test are not known"), "{said}");
        }
    });
}

/// How many times lines were recorded.
fn lines_in(out: &Path) -> u64 {
    counts_of(out).values().sum()
}

#[test]
fn verbs_say_that_calls_were_not_recorded() {
    let jdk = &flow_e2e::jdks()[0];
    let options = "lines=harness.Lined,lines-once=true,calls=off";
    let run = Program::harness(jdk, "Lined").options(options).run();
    assert_eq!(run.stdout, b"206\n");
    let said = |args: &[&str]| {
        let output = Command::new(flow()).args(args).arg(run.out()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for verb in
        [&["report"][..], &["calls", "Lined#add"], &["replay"], &["export", "--to", "collapsed"]]
    {
        let (code, text) = said(verb);
        assert_eq!(code, Some(1), "{verb:?}");
        assert!(
            text.contains("calls were not recorded, only lines (calls=off)"),
            "{verb:?}: {text}"
        );
    }
    assert_eq!(said(&["report", "--lines"]), (Some(0), String::new()));
    let info = shown(&["info"], &run.out());
    assert!(info.contains("calls     not recorded; "), "{info}");
    let tracefile = shown(&["export", "--to", "lcov"], &run.out());
    assert!(tracefile.contains("FNDA:1,harness.Lined.add("), "{tracefile}");
}

/// A program of the harness that uses the API.
fn with_api(jdk: &flow_e2e::Jdk, name: &str) -> Program {
    let (classes, api) =
        (harness().join("target/classes"), harness().join("../cli/java/flow-api.jar"));
    let class_path = format!("{}:{}", classes.display(), api.display());
    Program::new(jdk, ["-cp", &class_path, &format!("harness.{name}")])
}
