//! Reserved address space: a program's limits and locked memory are as without the agent.

use flow_e2e::{Finished, Jdk, Program, check, decode_trace};

use crate::attach::{Session, assert_clean};
use crate::on_every_jdk;

/// A small JVM under a limit, where all of its memory counts, and can be locked.
fn limited(jdk: &Jdk, program: &str, limit: &str, heap: &'static str) -> Program {
    let small = ["-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=64m", heap];
    small
        .into_iter()
        .fold(Program::harness(jdk, program), Program::jvm_arg)
        .jvm_arg("-XX:CompressedClassSpaceSize=16m")
        .shell(&format!("ulimit {limit}; exec \"$@\""))
}

/// Reads a number that the program printed.
fn printed(run: &Finished, what: &str) -> i64 {
    let text = String::from_utf8_lossy(&run.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {what} in {text:?}, {}", run.errors())).parse().unwrap()
}

#[test]
fn locking_all_memory_locks_what_is_used() {
    on_every_jdk(|jdk| {
        if jdk.version < 22 {
            return;
        }
        // A limit, so that a failure of this test does not fill the memory of the machine.
        let program = || {
            limited(jdk, "Locked", "-v 11500000", "-Xmx64m")
                .jvm_arg("--enable-native-access=ALL-UNNAMED")
        };
        let plain = program().run_without_agent();
        if printed(&plain, "locked") != 0 {
            println!("this user must not lock memory");
            return;
        }
        let run = program().run();
        assert_eq!((run.code(), run.errors().as_str()), (Some(0), ""));
        assert_eq!(printed(&run, "locked"), 0);
        let [plain, more] = [&plain, &run].map(|run| printed(run, "memory"));
        assert!(more < plain + 64 * 1024, "{plain} KiB without the agent, {more} KiB with it");
    });
}

#[test]
fn a_limit_on_address_space_leaves_the_program_most_of_it() {
    on_every_jdk(|jdk| {
        // 10 GB, of which the heap takes 6.
        let program = || limited(jdk, "Hello", "-v 10000000", "-Xmx6g");
        assert_eq!(program().run_without_agent().code(), Some(0));
        let run = program().run();
        let printed = String::from_utf8_lossy(&run.stdout);
        assert_eq!((run.code(), run.errors().as_str()), (Some(0), ""), "{printed}");
        assert!(run.trace().thread("main").ended);
    });
}

#[test]
fn a_program_with_a_limit_on_data_survives_a_detach() {
    on_every_jdk(|jdk| {
        let mut session =
            Session::of(Program::harness(jdk, "Attached").shell("ulimit -d 8388608; exec \"$@\""));
        session.command("work 10");
        session.attach("first");
        session.command("work 20");
        session.detach();
        // Each takes memory for a stack.
        session.command("start 50");
        session.attach("second");
        session.command("start 50");
        session.detach();
        session.command("start 50");
        let [first, second] = ["first", "second"].map(|name| session.dir(name));
        let _program = session.exit();
        assert_clean(&first);
        assert_clean(&second);
    });
}

#[test]
fn probes_that_are_called_by_reflection_do_no_harm() {
    on_every_jdk(|jdk| {
        for options in ["exclude=harness.Stranger", "exclude=harness.Stranger,clock=exact"] {
            let run = Program::harness(jdk, "Stranger").options(options).run();
            let found = (run.code(), String::from_utf8_lossy(&run.stdout), run.errors());
            assert_eq!(found, (Some(0), "called 8200\n".into(), String::new()), "{options}");
        }
    });
}

#[test]
fn threads_whose_ids_select_the_same_block_are_not_mixed_up() {
    /// How many blocks there are under the limit below.
    const BLOCKS: u64 = 1 << 23;

    on_every_jdk(|jdk| {
        let run =
            limited(jdk, "Neighbour", "-v 4500000", "-Xmx64m").args([BLOCKS.to_string()]).run();
        let errors = run.errors();
        assert_eq!(run.code(), Some(0), "{errors}");
        assert_eq!(String::from_utf8_lossy(&run.stdout), format!("done {BLOCKS}\n"));
        assert!(errors.contains("there is no room for"), "{errors}");
        assert_eq!((run.our_lines().len(), run.other_errors().as_str()), (1, ""));
        let (code, found) = check(&run.out());
        assert_eq!(code, Some(3), "{found}");
        let trace = decode_trace(&run.out());
        let calls = trace.tree(trace.thread("main")).of_harness().calls;
        let names: Vec<_> =
            calls.iter().map(|call| call.method.split('(').next().unwrap()).collect();
        assert_eq!(names[..4], ["main", "before", "find", "<init>"]);
        assert_eq!((names.len(), trace.threads.len()), (4, 1), "{names:?}");
    });
}
