//! `instructions=`: each instruction that runs in a method.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use flow_e2e::{Blinky, Jdk, Program, Stepped, Stepper, golden};

use crate::{on_every_jdk, shown};

const ALL: &str = "include=harness.**,instructions=**";
const WIDE: u8 = 196;

/// The instructions in an export of the thread that ran first, without those that a class initialiser ran while the JVM
/// hides steps: it does where an instruction leads to one.
fn instructions(blinky: &Blinky) -> Vec<Stepped> {
    let main = blinky.executions[0].thread;
    let mut initialiser = None;
    let mut found = Vec::new();
    for one in blinky.executions.iter().filter(|one| one.thread == main) {
        let (instruction, method) = blinky.of(one);
        let is_initialiser = method.name == "<clinit>()V";
        if initialiser.is_none() && one.kind == "enter" && is_initialiser {
            initialiser = Some(one.depth);
        }
        match initialiser {
            Some(depth) if one.kind == "exit" && one.depth == depth => initialiser = None,
            None if instruction.op >= 0 && one.kind != "exit" => {
                let key = format!("{}#{}", method.owner.replace('/', "."), method.name);
                let at = u16::try_from(instruction.at).unwrap();
                found.push((key, at, u8::try_from(instruction.op).unwrap()));
            }
            _ => {}
        }
    }
    found
}

fn exported(out: &Path) -> Blinky {
    Blinky::read(&shown(&["export", "--to", "blinky"], out))
}

/// What the JVM reports while it interprets a program. The interpreter joins some instructions unless told otherwise.
fn stepped(jdk: &Jdk, name: &str, args: &[String]) -> Vec<Stepped> {
    let stepper = Stepper::build(jdk);
    let program = Program::harness(jdk, name)
        .args(args)
        .jvm_arg("-XX:-RewriteFrequentPairs")
        .jvm_arg("-XX:-RewriteBytecodes")
        .jvm_arg(stepper.jvm_arg("harness/"));
    let _ended = program.run_without_agent();
    stepper.steps()
}

/// The JVM reports no instruction twice in a row: neither one that returns to itself, nor one that jumps to itself.
fn without_repetitions(mut steps: Vec<Stepped>) -> Vec<Stepped> {
    steps.dedup();
    steps
}

#[test]
fn instructions_are_those_that_the_jvm_interprets() {
    on_every_jdk(|jdk| {
        for (name, args) in [
            ("Instructed", &["5"][..]),
            ("Assembled", &[]),
            ("Exceptions", &[]),
            ("Shapes", &[]),
            ("Switches", &[]),
            ("SuperThrows", &[]),
            ("Lined", &[]),
            ("Recursion", &[]),
        ] {
            let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
            let run = Program::harness(jdk, name).args(&args).options(ALL).run();
            assert_eq!((run.code(), run.errors()), (Some(0), String::new()), "{name}");
            let found = instructions(&exported(&run.out()));
            let known: BTreeSet<_> = found.iter().map(|(key, ..)| key.clone()).collect();
            // Classes of lambdas, and methods that would be too large: these are named.
            let is_known = |(key, ..): &Stepped| known.contains(key);
            let expected: Vec<_> = stepped(jdk, name, &args).into_iter().filter(is_known).collect();
            let is_plain = |(key, ..): &Stepped| !key.contains("#<clinit>");
            let expected = without_repetitions(expected.into_iter().filter(is_plain).collect());
            let found = without_repetitions(found);
            let differs = expected.iter().zip(&found).position(|(one, other)| one != other);
            if let Some(at) = differs {
                let near = at.saturating_sub(5);
                panic!(
                    "{name}: {:?} and not {:?}",
                    &found[near..found.len().min(at + 5)],
                    &expected[near..expected.len().min(at + 5)]
                );
            }
            assert_eq!(found.len(), expected.len(), "{name}");
            assert!(run.trace().left_out(&["without-instructions"]).is_empty(), "{name}");
        }
    });
}

/// By hand, from the source and `javap -c`: what the first calls of these methods run, `loop(3)` and `same(o, 0)` among them.
const BY_HAND: [(&str, &[u16]); 3] = [
    (
        "loop",
        &[
            0, 1, 2, 3, // sum and i
            4, 5, 6, 9, 10, 11, 12, 13, 16, // three rounds
            4, 5, 6, 9, 10, 11, 12, 13, 16, //
            4, 5, 6, 9, 10, 11, 12, 13, 16, //
            4, 5, 6, 19, 20,
        ],
    ),
    ("half", &[0, 1, 2, 3]),
    ("same", &[0, 1, 2, 5, 6]),
];

#[test]
fn every_opcode_and_every_type_is_recorded_and_nothing_is_disturbed() {
    on_every_jdk(|jdk| {
        let plain = Program::harness(jdk, "Instructed").run_without_agent();
        let mut first = None;
        for options in [
            "clock=tick",
            "clock=tick,chunk=64",
            "clock=exact,chunk=64",
            "clock=off",
            "order=total,chunk=64",
            "lines=**,values=**,fields=**,clock=off",
        ] {
            let program = Program::harness(jdk, "Instructed").options(&format!("{ALL},{options}"));
            let run = program.run();
            assert_eq!((run.code(), run.errors()), (Some(0), String::new()), "{options}");
            assert_eq!(run.stdout, plain.stdout, "{options}");
            let blinky = exported(&run.out());
            // Times and identities differ from run to run; the numbers of lambdas may.
            let what: Vec<_> = blinky
                .executions
                .iter()
                .map(|one| {
                    let (instruction, method) = blinky.of(one);
                    (one.depth, one.kind.clone(), instruction.at, method.name.clone())
                })
                .collect();
            assert_eq!(first.get_or_insert_with(|| what.clone()), &what, "{options}");

            let ops: BTreeSet<_> = instructions(&blinky).into_iter().map(|(_, _, op)| op).collect();
            assert_eq!(ops, (0..=201).filter(|op| *op != WIDE).collect(), "{options}");
            let kinds: BTreeSet<_> = blinky.executions.iter().map(|one| &one.kind).collect();
            assert_eq!(kinds.len(), 22, "{kinds:?}");
            for (method, expected) in BY_HAND {
                let of = format!("#{method}(");
                let is_of = |step: &&Stepped| step.0.contains(&of);
                let found = instructions(&blinky);
                let indices = found.iter().filter(is_of).map(|(_, at, _)| *at);
                let found: Vec<_> = indices.take(expected.len()).collect();
                assert_eq!(found, expected, "{method}, {options}");
            }
        }
    });
}

/// Objects and what is known of them: each object has the identity that the program would see.
#[test]
fn operands_and_hosts_are_recorded() {
    on_every_jdk(|jdk| {
        let run = Program::harness(jdk, "Instructed").options(ALL).run();
        let blinky = exported(&run.out());
        let of = |class: &str, method: &str, kind: &str| {
            let found: Vec<_> = blinky
                .executions
                .iter()
                .filter(|one| {
                    let (_, of) = blinky.of(one);
                    of.owner == class && of.name.starts_with(method) && one.kind == kind
                })
                .collect();
            assert!(!found.is_empty(), "{class}.{method} {kind}");
            found
        };
        // The method of a base class runs on an object of another one; a constructor knows it after `super`.
        let enter = of("harness/Instructed$Derived", "call(", "enter")[0];
        assert_eq!(enter.more, ["harness/Instructed$Derived.call()I"]);
        assert_ne!(enter.host, "0");
        let base = of("harness/Instructed$Base", "call(", "enter")[0];
        assert_eq!(base.more, ["harness/Instructed$Derived.call()I"]);
        assert_eq!(base.host, enter.host);
        let constructor = of("harness/Instructed$Derived", "<init>(", "field");
        assert!(constructor.iter().any(|one| one.host == enter.host));
        assert_eq!(of("harness/Instructed$Derived", "<init>(", "enter")[0].host, "0");
        assert_eq!(of("harness/Instructed", "loop(", "enter")[0].host, "harness/Instructed");
        // `last = objects[1] = this`
        let host = &of("harness/Instructed", "members(", "enter")[0].host;
        let stores = of("harness/Instructed", "members(", "arraystore");
        let [array, index, element, length] = &stores[0].more[..] else { panic!("{stores:?}") };
        assert_eq!((&**index, element, &**length), ("1", host, "3"));
        let loads = of("harness/Instructed", "members(", "arrayload");
        assert_eq!(loads[0].more[..], [array.clone(), "1".into(), host.clone(), "3".into()]);
        // `ints[i - 2 * i - 1] = 1` is outside of the array, `texts[0]` of none.
        let stores = of("harness/Instructed", "arrays(", "arraystore");
        assert!(stores.iter().any(|one| one.more[1..] == ["-1", "0", "2"]), "{stores:?}");
        assert!(stores.iter().any(|one| one.more[0] == "0" && one.more[3] == "0"), "{stores:?}");
        // A static field.
        let fields = of("harness/Instructed", "members(", "field");
        let class = "harness/Instructed".to_owned();
        assert!(fields.iter().any(|one| one.more == [host.clone(), class.clone()]), "{fields:?}");
        // Exits by exceptions, of each method that they leave, and a call is complete only if it returns.
        let exits = of("harness/Instructed", "deep(", "exit");
        let unwound = exits.iter().filter(|one| blinky.of(one).0.kind == "exit").count();
        assert!(unwound > 0 && unwound < exits.len());
        let count = |kind| blinky.executions.iter().filter(|one| one.kind == kind).count();
        assert_eq!(count("enter"), count("exit"));
        assert!(count("complete") < count("invoke"));
    });
}

/// A million instructions of all types: the export has as many of each as the JVM reports.
#[test]
fn a_million_instructions_are_counted_alike_by_the_jvm() {
    on_every_jdk(|jdk| {
        let args = ["700".to_owned()];
        let run = Program::harness(jdk, "Instructed").args(&args).options(ALL).run();
        assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        let blinky = exported(&run.out());
        let found = instructions(&blinky);
        assert!(found.len() > 900_000, "{}", found.len());
        assert!(blinky.executions.len() > 1_000_000);
        let kinds: BTreeSet<_> = blinky.executions.iter().map(|one| &one.kind).collect();
        assert_eq!(kinds.len(), 22, "{kinds:?}");
        let known: BTreeSet<_> = found.iter().map(|(key, ..)| key.clone()).collect();
        let count = |steps: Vec<Stepped>| {
            let mut counts: BTreeMap<(String, u8), u64> = BTreeMap::new();
            for (key, _, op) in without_repetitions(steps) {
                *counts.entry((key, op)).or_default() += 1;
            }
            counts
        };
        let expected = stepped(jdk, "Instructed", &args).into_iter();
        let expected =
            expected.filter(|(key, ..)| known.contains(key) && !key.contains("<clinit>"));
        assert_eq!(count(found), count(expected.collect()));
    });
}

#[test]
fn replay_shows_instructions_in_their_calls() {
    on_every_jdk(|jdk| {
        let options = "instructions=harness.Instructed#loop;harness.Instructed#deep";
        let run = Program::harness(jdk, "Instructed").options(options).run();
        let text = shown(&["replay", "--instructions", "--method", "Instructed#loop"], &run.out());
        for expected in ["2: iconst_0", "6: if_icmpge 19", "13: iinc 2 by 1", "20: ireturn"] {
            assert!(text.contains(expected), "{text}");
        }
        let rows = shown(&["replay", "--instructions", "--format", "json"], &run.out());
        let rows = rows.lines().filter(|row| row.contains("\"mark\":\"instruction\""));
        // Two rounds of `loop(3)`, and `deep(0)` and `deep(1)`, of which the first one fails.
        let of_deep = 2 + 3 + 2 + 2 + 2 + 2;
        assert!(rows.count() >= 2 * (4 + 3 * 9 + 5) + of_deep - 4);
        let failed = flow_e2e::flow();
        let none = Program::harness(jdk, "Hello").run();
        let output = std::process::Command::new(failed)
            .args(["export", "--to", "blinky"])
            .arg(none.out())
            .output()
            .unwrap();
        assert!(String::from_utf8_lossy(&output.stderr).contains("--instructions GLOB"));
    });
}

/// A thread that is killed loses no instruction: those that were not written are in the journal.
#[test]
fn instructions_survive_the_end_of_the_process() {
    on_every_jdk(|jdk| {
        for out in ["trace", "trace.flowtrace"] {
            let program = Program::harness(jdk, "Halt");
            let out = program.workspace().join(out);
            let options = "instructions=harness.Halt#*er;harness.Halt#before";
            let run = program.record_into(out.clone()).options(options).run();
            assert_eq!(run.code(), Some(4), "{}", run.errors());
            let blinky = exported(&out);
            let last: Vec<_> = blinky
                .executions
                .iter()
                .rev()
                .take(4)
                .map(|one| (&*one.kind, &*blinky.of(one).0.operands[1]))
                .collect();
            let expected = [
                ("invoke", "halt"),
                ("constant", "null"),
                ("complete", "getRuntime"),
                ("invoke", "getRuntime"),
            ];
            assert_eq!(last, expected);
        }
    });
}

/// All programs with known trees, with probes for their instructions.
#[test]
fn trees_are_those_without_instructions() {
    on_every_jdk(|jdk| {
        for name in
            ["Constructors", "Exceptions", "Initialisers", "Leaves", "Synchronised", "Threads"]
        {
            let expected = golden(name);
            let run = Program::harness(jdk, name)
                .args(&expected.args)
                .options("instructions=**,lines=**,values=**")
                .run();
            assert_eq!(run.code(), Some(expected.exit_code), "{name}: {}", run.errors());
            let trace = run.trace();
            let left_out = trace.left_out(&["hidden-class", "native", "empty-finalizer"]);
            let expected = expected.without_left_out(&left_out);
            for (thread, lines) in &expected.threads {
                let found = trace.threads.values().find(|found| found.name == *thread).unwrap();
                assert_eq!(trace.tree(found).of_harness().lines(), *lines, "{name}, {thread}");
            }
        }
    });
}

/// A constant of the program may be a secret, too.
#[test]
fn constants_are_left_out_on_request() {
    on_every_jdk(|jdk| {
        let options = format!("{ALL},redact=java.lang.String");
        let run = Program::harness(jdk, "Instructed").options(&options).run();
        let text = shown(&["export", "--to", "blinky"], &run.out());
        assert!(!text.contains("two, three") && !text.contains("two\\u002C three"), "{text}");
        assert!(text.contains(",,redacted,"), "{text}");
    });
}

/// Threads are merged: with a time for each event, no entry comes before an earlier one of another thread.
#[test]
fn instructions_of_several_threads_are_in_one_order() {
    on_every_jdk(|jdk| {
        for options in ["clock=exact", "order=total", "clock=tick"] {
            let program = Program::harness(jdk, "Threads").options(&format!("{ALL},{options}"));
            let run = program.run();
            assert_eq!((run.code(), run.errors()), (Some(0), String::new()), "{options}");
            let blinky = exported(&run.out());
            let entries = blinky.executions.iter().filter(|one| one.kind == "enter");
            if options == "clock=exact" {
                assert!(entries.clone().is_sorted_by_key(|one| one.time));
            }
            // Operands are where they were: that of an entry is the class of its object.
            for one in entries.filter(|one| !one.host.starts_with("harness/") && one.host != "0") {
                assert_ne!(one.more, ["NA"], "{options}: {one:?}");
            }
            let threads: BTreeSet<_> = blinky.executions.iter().map(|one| one.thread).collect();
            let changes = blinky.executions.windows(2).filter(|two| two[0].thread != two[1].thread);
            let changes = changes.count();
            assert!(threads.len() > 2, "{options}: {threads:?}");
            assert!(options == "clock=tick" || changes >= threads.len(), "{options}: {changes}");
        }
    });
}
