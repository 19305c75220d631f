//! `lines=`: the lines that methods reach.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use flow_e2e::{Decoded, Event, Mark, Program};

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
        let rows = shown(&["lines", "--format", "json"], &run.out());
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

        let text = shown(&["lines", "--source", SOURCES], &run.out());
        assert!(text.contains("i++; // @j"), "{text}");
        let tracefile = shown(&["lines", "--lcov", "--source", SOURCES], &run.out());
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
