//! Sampled stacks: of programs that know where their time goes, with and without recorded calls.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::process::Command;

use flow_e2e::{Engine, Event, Finished, Jdk, Natives, Program, check, decode_trace, flow, jdks};
use flow_model::{Mark, Sample, decode_samples};

use crate::attach::{Session, assert_clean};
use crate::{on_every_engine, on_every_jdk};

/// The samples of a trace, and the names of its methods.
struct Sampled {
    samples: Vec<Sample>,
    keys: HashMap<u64, String>,
    threads: BTreeMap<u64, String>,
}

impl Sampled {
    /// Reads a trace; one file by way of a directory.
    fn of(trace: &Path) -> Self {
        let directory = trace.with_extension("sampled");
        let dir = if trace.is_dir() {
            trace
        } else {
            let output = Command::new(flow())
                .args(["export", "--to", "flow"])
                .arg(trace)
                .arg("-o")
                .arg(&directory)
                .output();
            let output = output.unwrap();
            let done = matches!(output.status.code(), Some(0 | 3));
            assert!(done, "{}", String::from_utf8_lossy(&output.stderr));
            &directory
        };
        let samples = decode_samples(&fs::read(dir.join("samples")).unwrap());
        let decoded = decode_trace(dir);
        let info =
            Command::new(flow()).args(["info", "--format", "json"]).arg(dir).output().unwrap();
        let info: serde_json::Value = serde_json::from_slice(&info.stdout).unwrap();
        if !trace.is_dir() {
            fs::remove_dir_all(&directory).unwrap();
        }
        let name = |thread: &serde_json::Value| {
            (thread["thread"].as_u64().unwrap(), thread["name"].as_str().unwrap().to_owned())
        };
        let threads = info["threads"].as_array().unwrap().iter().map(name).collect();
        Self { samples, keys: decoded.keys, threads }
    }

    /// The methods of a sample as `Class.method`, outermost first; none if it was missed.
    fn stack(&self, sample: &Sample) -> Vec<String> {
        let frames = sample.found.as_deref().unwrap_or_default();
        frames.iter().map(|frame| frame.method.map_or("?".into(), |id| self.name(id))).collect()
    }

    /// A method as `Class.method`.
    fn name(&self, id: u64) -> String {
        self.keys[&id].split('(').next().unwrap().replace('#', ".")
    }

    /// How many intervals have a stack in which one of these methods is, by method.
    fn intervals<'a>(&self, methods: &[&'a str]) -> BTreeMap<&'a str, u64> {
        let mut intervals: BTreeMap<&str, u64> = methods.iter().map(|name| (*name, 0)).collect();
        for sample in &self.samples {
            let stack = self.stack(sample);
            for method in methods {
                if stack.iter().any(|frame| frame == method) {
                    *intervals.get_mut(method).unwrap() += sample.intervals;
                }
            }
        }
        intervals
    }

    /// How many intervals threads were in a method.
    fn intervals_in(&self, method: &str) -> BTreeMap<u64, u64> {
        let mut threads = BTreeMap::new();
        for sample in &self.samples {
            if self.stack(sample).iter().any(|frame| frame == method) {
                *threads.entry(sample.thread).or_default() += sample.intervals;
            }
        }
        threads
    }

    fn thread(&self, name: &str) -> u64 {
        let found = self.threads.iter().find(|(_, other)| *other == name);
        *found.unwrap_or_else(|| panic!("no {name} in {:?}", self.threads)).0
    }
}

/// The shares that `harness.Shares` measured, of 1.
fn shares(run: &Finished) -> BTreeMap<String, f64> {
    let text = String::from_utf8(run.stdout.clone()).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("share ")?.split_once(' '));
    let spent: BTreeMap<_, f64> =
        lines.map(|(name, ns)| (name.to_owned(), ns.parse().unwrap())).collect();
    let all: f64 = spent.iter().filter(|(name, _)| *name != "waited").map(|(_, ns)| ns).sum();
    spent.into_iter().map(|(name, ns)| (name, ns / all)).collect()
}

fn sampled_shares(jdk: &Jdk, seconds: &str, options: &str) -> (Finished, Sampled) {
    let run = Program::harness(jdk, "Shares").args([seconds]).options(options).run();
    assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
    assert_eq!(check(&run.out()).0, Some(0));
    let sampled = Sampled::of(&run.out());
    (run, sampled)
}

/// Few samples, so the bounds are wide: they distinguish a sampler that sees loops without safepoints, inlined methods and
/// native code from one that does not. The exact figures are in docs/performance.md.
#[test]
fn samples_are_where_the_time_is() {
    on_every_jdk(|jdk| {
        let (run, sampled) = sampled_shares(jdk, "3", "engine=none,sample=1ms");
        let expected = shares(&run);
        let names = ["counted", "inlined", "deep", "packed", "allocated", "copied", "rare"];
        let methods = names.map(|name| format!("harness.Shares.{name}"));
        let found = sampled.intervals(&methods.each_ref().map(String::as_str));
        let all: u64 = found.values().sum();
        assert!(all > 1000, "{found:?}");
        for (name, method) in names.iter().zip(&methods) {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let share = found[method.as_str()] as f64 / all as f64;
            let difference = (share - expected[*name]).abs();
            assert!(difference < 0.08, "{name}: {share} instead of {}", expected[*name]);
        }
        // Inlined methods are frames of their own, with lines of their own, and a deep stack is whole.
        let deep = |sample: &&Sample| {
            let stack = sampled.stack(sample);
            stack.iter().filter(|frame| *frame == "harness.Shares.deep").count() == 501
        };
        assert!(sampled.samples.iter().any(|sample| deep(&sample)));
        let inner = ["first", "second", "third"].map(|name| format!("harness.Shares.{name}"));
        let inner = sampled.intervals(&inner.each_ref().map(String::as_str));
        assert!(inner.values().sum::<u64>() > 0, "{inner:?}");
        let lines = sampled.samples.iter().flat_map(|sample| sample.found.as_deref().ok()?.last());
        assert!(lines.filter(|frame| frame.line > 0).count() > 100);
        // Nothing else is recorded.
        let trace = run.trace();
        assert!(trace.threads.values().all(|thread| thread.events.is_empty()));
        assert!(trace.manifest["end"]["samples"].as_u64().unwrap() > 100);
        let main = sampled.thread("main");
        assert!(sampled.samples.iter().any(|sample| sample.thread == main));
    });
}

#[test]
fn calls_and_samples_of_one_run_agree() {
    on_every_engine(|jdk, engine| {
        // Few calls, which the model reads one by one.
        let options = format!(
            "sample=2ms,include=harness.Shares#main;harness.Shares#counted,engine={}",
            engine.name()
        );
        let (run, sampled) = sampled_shares(jdk, "1", &options);
        let trace = run.trace();
        let main = trace.thread("main");
        assert_eq!(main.id, sampled.thread("main"));
        assert!(main.events.len() > 100);
        let found = sampled.intervals(&["harness.Shares.main", "harness.Shares.counted"]);
        assert!(found.values().all(|intervals| *intervals > 20), "{found:?}");
    });
}

/// The kinds of work of `harness.Shares` that are recorded where samples and calls are compared: few calls, which the model
/// reads one by one.
const KINDS: [&str; 7] = ["main", "turns", "counted", "inlined", "deep", "packed", "allocated"];

fn recording_kinds(engine: Engine, options: &str) -> String {
    let include = KINDS.map(|kind| format!("harness.Shares#{kind}")).join(";");
    format!("sample=1ms,include={include},engine={},{options}", engine.name())
}

/// How the samples of a thread compare with the calls at their positions.
#[derive(Debug, Default)]
struct Placed {
    samples: usize,
    placed: usize,
    right: usize,
    wrong: usize,
}

impl Placed {
    /// Of the thread `main`, while it is in recorded calls: before them it has no position. The method that a sample is in
    /// and that the calls at its position are in are compared. One of both may have begun or ended an instant before the
    /// other: the probe of an entry or exit is not the first or last instruction of a method.
    fn of(trace: &Path, sampled: &Sampled) -> Self {
        let recorded = KINDS.map(|kind| format!("harness.Shares.{kind}"));
        let decoded = decode_trace(trace);
        let main = decoded.thread("main");
        let mut open: Vec<u64> = Vec::new();
        let mut events = main.events.iter().enumerate().peekable();
        let innermost = |sample: &Sample| {
            sampled.stack(sample).into_iter().rev().find(|frame| recorded.contains(frame))
        };
        // Samples from before the first kept position have lost theirs with the parts that were removed.
        let stacks = main.marks.iter().filter_map(|(_, mark)| match mark {
            Mark::Stacks(first, _) => Some(*first),
            _ => None,
        });
        let begin = stacks.min().unwrap_or(u64::MAX);
        let of_main = |sample: &&Sample| {
            sample.thread == main.id && sample.at_ns >= begin && innermost(sample).is_some()
        };
        let mut samples: Vec<_> = sampled.samples.iter().filter(of_main).collect();
        samples.sort_by_key(|sample| sample.at_ns);
        let mut found = Self { samples: samples.len(), ..Self::default() };
        for (place, mark) in &main.marks {
            let Mark::Stacks(first, last) = mark else { continue };
            assert!(*place <= main.events.len() && first <= last, "{place}, {mark:?}");
            let mut left = None;
            while let Some((_, event)) = events.next_if(|(number, _)| number < place) {
                left = None;
                match event {
                    Event::Enter(method) => open.push(*method),
                    Event::Exit => left = open.pop(),
                }
            }
            let entered = match events.peek() {
                Some((_, Event::Enter(method))) => Some(*method),
                _ => None,
            };
            let from = samples.partition_point(|sample| sample.at_ns < *first);
            let to = samples.partition_point(|sample| sample.at_ns <= *last);
            for sample in &samples[from..to] {
                found.placed += 1;
                let innermost = innermost(sample);
                let of = |method: Option<u64>| method.map(|id| sampled.name(id));
                let near = [open.last().copied(), left, entered];
                match near.into_iter().any(|method| of(method) == innermost) {
                    true => found.right += 1,
                    false => found.wrong += 1,
                }
            }
        }
        found
    }

    fn assert_right(&self) {
        assert!(self.placed * 10 > self.samples * 9, "{self:?}");
        assert!(self.right > 100 && self.wrong * 50 < self.right, "{self:?}");
    }
}

#[test]
fn a_sample_is_in_the_call_in_which_the_thread_was() {
    on_every_engine(|jdk, engine| {
        for clock in ["tick", "exact"] {
            let options = recording_kinds(engine, &format!("clock={clock}"));
            let (run, sampled) = sampled_shares(jdk, "1", &options);
            Placed::of(&run.out(), &sampled).assert_right();
        }
    });
}

/// The chunk that a thread was recording into is in the journal, with the positions that signal handlers stored.
#[test]
fn a_killed_jvm_leaves_the_positions_of_its_samples() {
    on_every_engine(|jdk, engine| {
        for name in ["trace", "app.flowtrace"] {
            let program = Program::harness(jdk, "Shares").args(["1000"]);
            let out = program.workspace().join(name);
            let options = recording_kinds(engine, "");
            let program = program.record_into(out.clone()).options(&options);
            let mut running = program.launch();
            // Any instant after there are enough samples.
            let size = 40_000 + RandomState::new().hash_one(name) % 50_000;
            let enough = || match out.is_dir() {
                true => fs::metadata(out.join("samples")).is_ok_and(|found| found.len() > size),
                // It has the names, too.
                false => fs::metadata(&out).is_ok_and(|found| found.len() > 60_000 + size),
            };
            assert!(running.wait_for(enough), "it has ended by itself");
            assert!(running.kill().is_some(), "it has ended by itself");
            assert_eq!(check(&out).0, Some(0));
            let sampled = Sampled::of(&out);
            let placed = Placed::of(&out, &sampled);
            println!("killed: {placed:?}");
            placed.assert_right();
            let repaired = Command::new(flow()).args(["check", "--repair"]).arg(&out).output();
            assert!(repaired.unwrap().status.success());
            let after = Placed::of(&out, &Sampled::of(&out));
            assert_eq!((after.placed, after.right), (placed.placed, placed.right), "repaired");
        }
    });
}

#[test]
fn positions_are_right_in_parts_and_in_memory() {
    on_every_engine(|jdk, engine| {
        // Small chunks and many times, so that parts end soon.
        for keep in ["rotate=1m", "keep=last:1m", "keep=memory"] {
            let program = Program::harness(jdk, "Shares").args(["4"]);
            let out = program.workspace().join("app.flowtrace");
            let options =
                recording_kinds(engine, &format!("{keep},clock=exact,chunk=4k,compress=off"));
            let run = program.record_into(out.clone()).options(&options).run();
            assert_eq!((run.code(), run.errors()), (Some(0), String::new()), "{keep}");
            let whole = out.with_extension("whole");
            let output = Command::new(flow())
                .args(["export", "--to", "flow"])
                .arg(&out)
                .arg("-o")
                .arg(&whole)
                .output();
            assert!(output.unwrap().status.success(), "{keep}");
            let placed = Placed::of(&whole, &Sampled::of(&whole));
            println!("{keep}: {placed:?}");
            placed.assert_right();
        }
    });
}

#[test]
fn a_thread_that_waits_is_sampled_by_the_time_that_passes() {
    on_every_jdk(|jdk| {
        let (_, sampled) = sampled_shares(jdk, "2", "engine=none,sample=5ms,sample-clock=wall");
        let waiting = sampled.samples.iter().filter(|sample| {
            sampled.stack(sample).iter().any(|frame| frame == "harness.Shares.waited")
        });
        assert!(waiting.count() > 5);
        // Threads of the JDK wait all the time, and have few samples, which represent all of it.
        let waited = sampled.samples.iter().filter(|sample| sample.ran_us == Some(0));
        let (mut samples, mut intervals) = (0_u64, 0);
        for sample in waited {
            samples += 1;
            intervals += sample.intervals;
        }
        assert!(intervals > 300 && intervals > 10 * samples, "{samples}, {intervals}");
    });
}

/// `harness.NativeCalls` with its library and further arguments.
fn native_calls(jdk: &Jdk, natives: &Natives, args: &[&str]) -> Program {
    let library = natives.library().to_str().unwrap();
    // Java 24 and later warn about native code.
    let program = match jdk.version {
        24.. => Program::harness(jdk, "NativeCalls").jvm_arg("--enable-native-access=ALL-UNNAMED"),
        _ => Program::harness(jdk, "NativeCalls"),
    };
    program.args([&[library][..], args].concat())
}

#[test]
fn a_wait_in_native_code_is_sampled_and_not_cut_short() {
    let natives = Natives::build();
    on_every_jdk(|jdk| {
        // Before Java 14, the wait is cut short.
        if jdk.version < 14 {
            return;
        }
        let options = "engine=none,sample=5ms,sample-clock=wall";
        let run = native_calls(jdk, &natives, &["poll", "40"]).options(options).run();
        assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        // A thread that enters native code between the check and the signal is interrupted there.
        let early: u32 = String::from_utf8_lossy(&run.stdout).trim().parse().unwrap();
        assert!(early <= 1, "{early} of 40");
        let sampled = Sampled::of(&run.out());
        let main = sampled.thread("main");
        let intervals = sampled.intervals_in("harness.NativeCalls.poll")[&main];
        assert!((180..=400).contains(&intervals), "{intervals} of about 240");
        let lines = sampled.samples.iter().filter_map(|sample| {
            let stack = sampled.stack(sample);
            let [.., main, early, poll] = &stack[..] else { return None };
            let names = [main, early, poll].map(|name| name.rsplit('.').next().unwrap_or_default());
            (names == ["main", "early", "poll"]).then(|| sample.found.as_ref().unwrap()[1].line)
        });
        assert!(lines.clone().count() > 10 && lines.into_iter().all(|line| line > 0));
    });
}

#[test]
fn an_attach_does_not_wake_threads_that_wait() {
    let natives = Natives::build();
    on_every_jdk(|jdk| {
        let mut session = Session::of(native_calls(jdk, &natives, &["once"]));
        let library = flow_e2e::library();
        let agent = ["--agent", library.to_str().unwrap()];
        let sample = ["-o", "trace", "--engine", "none", "--sample", "10ms"];
        let output = session.flow("attach", &[&sample[..], &agent].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        session.wait_for("0");
        drop(session.exit());
    });
}

/// Code of Go runs on stacks of 4 KiB with an alternate one for signals, that of C libraries with fibers without; Rust's
/// alternate stack has 8 KiB.
#[test]
fn a_handler_keeps_to_the_stack_that_it_may_use() {
    const SMALL_STACK: u8 = 66;
    let natives = Natives::build();
    on_every_jdk(|jdk| {
        for (bytes, alternate, has_stacks) in
            [("4096", "65536", true), ("4096", "8192", false), ("16384", "0", false)]
        {
            let program = native_calls(jdk, &natives, &["stack", "400", bytes, alternate]);
            let run = program.options("engine=none,sample=1ms").run();
            assert_eq!((run.code(), run.errors()), (Some(0), String::new()), "{bytes} {alternate}");
            assert_eq!(run.stdout, b"0\n", "{bytes} {alternate}");
            let sampled = Sampled::of(&run.out());
            let found = sampled.intervals(&["harness.NativeCalls.onStack"]);
            let found = found["harness.NativeCalls.onStack"];
            let small = sampled.samples.iter().filter(|sample| sample.found == Err(SMALL_STACK));
            let small: u64 = small.map(|sample| sample.intervals).sum();
            let (most, few) = if has_stacks { (found, small) } else { (small, found) };
            assert!(most > 300 && few < 20, "{bytes} {alternate}: {found} stacks, {small} without");
        }
    });
}

/// Flight Recorder and the agent interrupt threads at the same instants.
#[test]
fn flight_recorder_takes_no_stacks_away() {
    const UNKNOWN_JAVA: u8 = 5;
    on_every_jdk(|jdk| {
        if !jdk.has_module("jdk.jfr") {
            return;
        }
        let program = Program::harness(jdk, "Shares").args(["3"]);
        let program = program.jvm_arg("-XX:StartFlightRecording:settings=profile");
        let run = program.options("engine=none,sample=10ms").run();
        assert_eq!(run.code(), Some(0), "{}", run.errors());
        let sampled = Sampled::of(&run.out());
        let (mut all, mut unknown) = (0, 0);
        for sample in &sampled.samples {
            all += sample.intervals;
            unknown += sample.intervals * u64::from(sample.found == Err(UNKNOWN_JAVA));
        }
        assert!(all > 150 && unknown * 25 < all, "{unknown} of {all}");
    });
}

/// Each timer counts as a signal that waits, of which a user may have few.
#[test]
fn timers_that_are_refused_are_a_loss() {
    on_every_jdk(|jdk| {
        let program = Program::harness(jdk, "Spinning").shell("exec prlimit --sigpending=0 \"$@\"");
        let mut session = Session::of(program);
        let library = flow_e2e::library();
        let agent = ["--agent", library.to_str().unwrap()];
        let sample = ["-o", "trace", "--engine", "none", "--sample", "10ms"];
        let output = session.flow("attach", &[&sample[..], &agent].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        session.detach();
        session.say("exit 5");
        assert_eq!(session.child.wait().unwrap().code(), Some(5));
        let (code, text) = check(&session.dir("trace"));
        assert_eq!(code, Some(3), "{text}");
        let why = "threads that ran at the start: no timer for a thread";
        assert!(text.to_string().contains(why), "{text}");
    });
}

#[test]
fn what_was_written_before_a_kill_is_there() {
    on_every_jdk(|jdk| {
        for name in ["trace", "app.flowtrace"] {
            let program = Program::harness(jdk, "Shares").args(["1000"]);
            let out = program.workspace().join(name);
            let program = program.record_into(out.clone()).options("engine=none,sample=1ms");
            let mut running = program.launch();
            let enough = || {
                let place = if out.is_dir() { out.join("samples") } else { out.clone() };
                fs::metadata(place).is_ok_and(|found| found.len() > 100_000)
            };
            assert!(running.wait_for(enough), "it has ended by itself");
            assert!(running.kill().is_some(), "it has ended by itself");
            let sampled = Sampled::of(&out);
            assert!(sampled.intervals(&["harness.Shares.main"])["harness.Shares.main"] > 100);
        }
    });
}

#[test]
fn parts_that_are_left_have_their_samples() {
    let jdk = jdks().last().unwrap();
    let program = Program::harness(jdk, "Shares").args(["4"]);
    let out = program.workspace().join("app.flowtrace");
    let run = program
        .record_into(out.clone())
        .options("engine=none,sample=1ms,keep=last:1m,compress=off")
        .run();
    assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
    assert!(Sampled::of(&out).samples.len() > 100);
}

#[test]
fn a_running_program_is_sampled_from_attach_to_detach() {
    on_every_jdk(|jdk| {
        let mut session = Session::of(Program::harness(jdk, "Spinning"));
        let library = flow_e2e::library();
        for round in 0..3 {
            let dir = format!("trace-{round}");
            let agent = ["--agent", library.to_str().unwrap()];
            let sample = ["-o", &dir, "--engine", "none", "--sample", "1ms"];
            let output = session.flow("attach", &[&sample[..], &agent].concat());
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            session.command("wait 1000");
            session.detach();
            assert_clean(&session.dir(&dir));
            let sampled = Sampled::of(&session.dir(&dir));
            let spins = sampled.intervals_in("harness.Spinning.spin");
            for number in 0..2 {
                let thread = sampled.thread(&format!("spinning-{number}"));
                assert!(spins.get(&thread).is_some_and(|spins| *spins > 20), "{spins:?}");
            }
        }
        drop(session.exit());
    });
}

#[test]
fn classes_are_unloaded_while_their_methods_are_sampled() {
    on_every_jdk(|jdk| {
        let program = Program::harness(jdk, "Unloading").args(["1500"]);
        let run = program.options("engine=none,sample=100us").run();
        assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        let sampled = Sampled::of(&run.out());
        let names = sampled.keys.values();
        assert!(names.clone().any(|key| key.contains("harness.Unloading#")), "{names:?}");
    });
}

#[test]
fn nothing_is_sampled_during_a_pause() {
    on_every_jdk(|jdk| {
        let run = Program::harness(jdk, "Shares")
            .args(["1"])
            .options("engine=none,sample=1ms,start=paused")
            .run();
        assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        assert_eq!(run.trace().manifest["end"]["samples"].as_u64().unwrap_or(0), 0);
    });
}

#[test]
fn a_virtual_thread_is_itself_and_not_its_carrier() {
    on_every_jdk(|jdk| {
        if jdk.version < 21 {
            return;
        }
        let program = Program::harness(jdk, "Spinning").options("engine=none,sample=1ms");
        let mut session = Session::recorded(program);
        session.command("wait 2000");
        let sampled = Sampled::of(&session.exit().out());
        let spins = sampled.intervals_in("harness.Spinning.spin");
        assert_eq!(spins.len(), 4, "two of each kind: {spins:?}");
        for thread in spins.keys() {
            let name = &sampled.threads[thread];
            assert!(name.is_empty() || name.starts_with("spinning-"), "{name}");
        }
        for sample in &sampled.samples {
            let stack = sampled.stack(sample);
            let is_virtual =
                spins.contains_key(&sample.thread) && sampled.threads[&sample.thread].is_empty();
            let has_carrier = stack.iter().any(|frame| frame.contains("ForkJoin"));
            assert!(!is_virtual || !has_carrier, "{stack:?}");
        }
    });
}
