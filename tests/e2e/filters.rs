//! Filters that change while the program runs.

use flow_e2e::{Decoded, Engine, Event, Jdk, Program, decode_trace};
use serde_json::Value;

use crate::attach::{Session, workers};
use crate::commands::calls;
use crate::stream::{Collector, assert_sound, terminate};
use crate::{on_every_engine, on_every_jdk};

/// Changes the filter, and waits until it has.
fn change(collector: &mut Collector, filter: &str) {
    let changes = |messages: &str| messages.matches("the filter has changed").count();
    let before = changes(&collector.messages());
    collector.command(&format!("filter {filter}"));
    collector.wait_until(|messages| changes(messages) == before + 1);
}

/// A program that is recorded with this filter from its start.
fn session(jdk: &Jdk, engine: Engine, filter: &str) -> (Collector, Session) {
    let collector = Collector::start();
    let program = Program::harness(jdk, "Attached").engine(engine).options(filter);
    let session = Session::recorded(program.only_send_to(&collector.address));
    (collector, session)
}

fn end(collector: &Collector, session: Session) -> Decoded {
    drop(session.exit());
    collector.wait_until(|messages| messages.contains("has ended: "));
    assert_sound(&collector.trace());
    decode_trace(&collector.trace())
}

/// The calls of a thread, indented, each as the name of its method.
fn lines(trace: &Decoded, thread: &str) -> Vec<String> {
    let tree = trace.tree(trace.thread(thread)).of_harness();
    let line = |depth: usize, method: &str| {
        format!("{}{}", "  ".repeat(depth), method.split('(').next().unwrap())
    };
    tree.calls.iter().map(|call| line(call.depth, &call.method)).collect()
}

#[test]
fn after_a_change_only_what_the_new_filter_names_is_recorded() {
    on_every_engine(|jdk, engine| {
        let (mut collector, mut session) = session(jdk, engine, "");
        session.command("work 2");
        change(&mut collector, "exclude=harness.Attached#step");
        session.command("work 2");
        session.command("start 1");
        change(&mut collector, "include=harness.Attached#step");
        session.command("work 2");
        session.command("start 1");
        change(&mut collector, "include=harness.Nothing");
        session.command("work 2");
        change(&mut collector, "");
        session.command("work 1");
        let trace = end(&collector, session);
        let expected = [
            "run", "  work", "    step", "    step", // all
            "  work",   // all but step
            "  step", "  step", // only step
            "  work", "    step", // all
        ];
        let names = ["worker-", "virtual-"]
            .iter()
            .flat_map(|kind| (0..3).map(move |number| format!("{kind}{number}")));
        for name in names.take(workers(jdk)) {
            assert_eq!(lines(&trace, &name), expected, "{name}");
        }
        let passing: Vec<_> = trace
            .threads
            .values()
            .filter(|thread| thread.name == "passing-0")
            .map(|thread| trace.tree(thread).lines().len())
            .collect();
        assert_eq!(passing, [1, 2], "run alone, and steps alone");
        let filters = &trace.manifest["end"]["filters"];
        let filters = filters.as_array().unwrap().iter().map(|change| &change["filter"]);
        let expected = [
            "exclude=harness.Attached#step",
            "include=harness.Attached#step",
            "include=harness.Nothing",
            "",
        ];
        assert!(filters.eq(expected.iter()), "{}", trace.manifest["end"]);
    });
}

#[test]
fn frames_that_are_open_at_a_change_keep_the_filter_under_which_they_were_entered() {
    on_every_engine(|jdk, engine| {
        // Recorded until the change, and to their ends.
        let (mut collector, mut running) = session(jdk, engine, "");
        running.say("deep 2");
        running.wait_for("down");
        change(&mut collector, "exclude=harness.Attached#down");
        running.command("fail");
        let trace = end(&collector, running);
        let of_main = |trace: &Decoded| {
            let lines = lines(trace, "main").into_iter();
            let kept = ["main", "serve", "down", "fails", "step"];
            lines.filter(|line| kept.contains(&line.trim())).collect::<Vec<_>>()
        };
        let expected = [
            "main",
            "  serve",
            "    down",
            "      down",
            "        down",
            "          serve",
            "            fails",
            "              step",
        ];
        assert_eq!(of_main(&trace), expected);
        let open = |trace: &Decoded| {
            let tree = trace.tree(trace.thread("main")).of_harness();
            tree.calls
                .into_iter()
                .filter(|call| call.open)
                .map(|call| call.depth)
                .collect::<Vec<_>>()
        };
        assert_eq!(open(&trace), [0], "main, which ends the JVM");
        assert!(trace.unselected.is_empty());

        // Not recorded until the change, nor their ends.
        let (mut collector, mut running) = session(jdk, engine, "exclude=harness.Attached#down");
        running.say("deep 2");
        running.wait_for("down");
        change(&mut collector, "");
        running.command("fail");
        let trace = end(&collector, running);
        let expected = ["main", "  serve", "    serve", "      fails", "        step"];
        assert_eq!(of_main(&trace), expected);
        assert_eq!(open(&trace), [0]);
        let main = trace.thread("main").id;
        let down = "harness.Attached#down(Ljava/util/List;I)I";
        assert_eq!(trace.unselected[&main], [down; 3]);
    });
}

/// Checks that a thread has called every digit of every round, whether the round was recorded or not. Returns how many rounds
/// were and were not.
fn assert_all_digits(trace: &Decoded, name: &str) -> (usize, usize) {
    const DIGITS: usize = 7;
    let thread = trace.thread(name);
    let (mut digits, mut stack) = (Vec::<u64>::new(), Vec::<(&str, usize)>::new());
    let (mut recorded, mut others) = (0, 0);
    for event in &thread.events {
        match event {
            Event::Enter(id) => {
                let (_, method) = trace.keys[id].split_once('#').unwrap();
                let method = method.split('(').next().unwrap();
                let parent = stack.last().map(|(method, _)| *method);
                match method.strip_prefix('d').and_then(|digit| u64::from_str_radix(digit, 16).ok())
                {
                    Some(digit) => {
                        assert!(matches!(parent, Some("round" | "run")), "{name}: in {parent:?}");
                        others += usize::from(parent == Some("run") && digits.len() % DIGITS == 0);
                        digits.push(digit);
                    }
                    None => assert_eq!(parent, (method == "round").then_some("run"), "{method}"),
                }
                stack.push((method, digits.len()));
            }
            Event::Exit => {
                let (method, before) = stack.pop().unwrap_or_else(|| panic!("{name}: an exit"));
                if method == "round" {
                    assert_eq!((before % DIGITS, digits.len() - before), (0, DIGITS), "{name}");
                    recorded += 1;
                }
            }
        }
    }
    for (round, digits) in (0..).zip(digits.chunks_exact(DIGITS)) {
        assert_eq!(digits.iter().fold(0, |number, digit| number << 4 | digit), round, "{name}");
    }
    (recorded, others)
}

/// Changes the filter this often while threads call all the time.
pub(crate) fn change_often(jdk: &Jdk, engine: Engine, times: usize) {
    let mut collector = Collector::start();
    let program = Program::harness(jdk, "Counting").engine(engine).options("chunk=4k").args(["2"]);
    let program = program.only_send_to(&collector.address);
    let running = program.launch();
    // The JVM has started, and the threads are in `run`.
    collector.wait_while(|| calls(&collector) < 1000);
    let filters = [
        "exclude=harness.Counting#round",
        "",
        "include=harness.Counting#d*;harness.Counting#round",
        "include=harness.Counting#d*",
    ];
    for filter in filters.iter().cycle().take(times) {
        change(&mut collector, filter);
    }
    terminate(running);
    collector.wait_until(|messages| messages.contains("has ended: "));
    let trace = decode_trace(&collector.trace());
    for thread in 0..2 {
        let (recorded, others) = assert_all_digits(&trace, &format!("counter-{thread}"));
        assert!(recorded > 0 && others > 0, "{recorded} rounds were recorded, {others} were not");
    }
    assert_sound(&collector.trace());
    drop(program);
}

#[test]
fn trees_stay_whole_while_the_filter_changes_again_and_again() {
    on_every_engine(|jdk, engine| change_often(jdk, engine, 20));
}

#[test]
fn a_filter_that_cannot_be_is_refused_with_the_reason() {
    on_every_engine(|jdk, engine| {
        let (mut collector, mut session) = session(jdk, engine, "");
        collector.command("filter out=x");
        collector.wait_until(|messages| messages.contains("'out' cannot change"));
        collector.command(&format!("filter {} include=a.A", session.child.id() + 1));
        collector.wait_until(|messages| messages.contains("filter: sent to 0 JVMs"));
        session.command("work 1");
        let trace = end(&collector, session);
        assert_eq!(lines(&trace, "worker-0"), ["run", "  work", "    step"]);
        assert_eq!(trace.manifest["end"]["filters"], Value::Null);
    });
}

#[test]
fn a_filter_that_leaves_synthetic_methods_out_can_come_later() {
    on_every_engine(|jdk, engine| {
        let mut collector = Collector::start();
        let program = Program::harness(jdk, "Bridged").args(["asked"]).engine(engine);
        let mut session = Session::recorded(program.only_send_to(&collector.address));
        assert_eq!(session.ask("sum"), "7");
        change(&mut collector, "include=harness.Bridged**,synthetic=false");
        assert_eq!(session.ask("sum"), "7");
        let trace = end(&collector, session);
        let calls = trace.enters_by_key();
        let count = |method: &str| calls.get(&format!("harness.Bridged{method}")).copied();
        assert_eq!(count("$Shown#visible()I"), Some(2), "{engine:?}");
        assert_eq!(count("$Made#get()Ljava/lang/Integer;"), Some(2), "{engine:?}");
        assert_eq!(count("$Made#get()Ljava/lang/Object;"), Some(1), "{engine:?}");
    });
}

#[test]
fn parameters_keep_their_names_when_the_filter_changes() {
    on_every_jdk(|jdk| {
        let collector = Collector::start();
        let program = Program::harness(jdk, "Named").options("include=no.Such");
        let mut session = Session::recorded(program.only_send_to(&collector.address));
        let mut collector = collector;
        let before = session.ask("show");
        change(&mut collector, "include=harness.**");
        assert_eq!(session.ask("show"), before);
        change(&mut collector, "include=no.Such");
        assert_eq!(session.ask("show"), before);
        assert!(session.ask("late").contains("Late.twice[int number 0 named"));
        end(&collector, session);
    });
}

/// The names of the recorded methods of `Related`, in the order of their calls.
fn of_related(jdk: &Jdk, engine: Engine, include: &str) -> String {
    let program = Program::harness(jdk, "Related").engine(engine);
    let run = program.options(&format!("include={include}")).run();
    assert_eq!(run.code(), Some(0), "{}", run.errors());
    let lines = lines(&decode_trace(&run.out()), "main");
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

#[test]
fn classes_can_be_selected_by_what_they_extend() {
    on_every_engine(|jdk, engine| {
        let cases = [
            ("extends:Base", "base child grandchild last"),
            ("extends:harness.Related$Child", "child grandchild last"),
            // A default method is one of the interface.
            ("extends:Api", "grandchild last offered offered"),
            (
                "extends:harness.**Api;harness.Related$Annotated#first",
                "grandchild last offered first offered",
            ),
        ];
        for (include, expected) in cases {
            assert_eq!(of_related(jdk, engine, include), expected, "{include}");
        }
        assert_eq!(
            of_related(jdk, engine, "extends:java.lang.Object"),
            "main base child grandchild last first second plain kept seen plain"
        );
    });
}

#[test]
fn methods_can_be_selected_by_annotations() {
    on_every_jdk(|jdk| {
        let cases = [
            ("@Seen", "first second seen"),
            ("@harness.*", "first second kept seen"),
            ("@harness.Related$Kept", "kept"),
            ("@java.lang.Deprecated;extends:Last", "last seen"),
        ];
        for (include, expected) in cases {
            assert_eq!(of_related(jdk, Engine::Instrument, include), expected, "{include}");
        }
    });
}
