//! Many threads, and virtual ones.

use flow_e2e::{Decoded, Program, golden};

use crate::on_every_engine;

#[test]
fn virtual_threads_have_trees_of_their_own_across_parks() {
    on_every_engine(|jdk, engine| {
        if jdk.version < 21 {
            return;
        }
        let expected = golden("VirtualThreads");
        let trace =
            Program::harness(jdk, "VirtualThreads").engine(engine).args(["5000"]).run().trace();
        let virtual_threads: Vec<_> =
            trace.threads.values().filter(|thread| thread.is_virtual).collect();
        assert_eq!(virtual_threads.len(), 5000);
        for thread in virtual_threads {
            let lines = trace.tree(thread).of_harness().lines();
            assert_eq!(lines, expected.threads["virtual-0"], "thread {}", thread.id);
            assert!(thread.ended, "thread {} has ended", thread.id);
        }
        assert_eq!(trace.thread("virtual-0").events, trace.thread("virtual-10").events);
    });
}

#[test]
fn carriers_stay_balanced_when_the_jdk_itself_is_recorded() {
    on_every_engine(|jdk, engine| {
        if jdk.version < 21 {
            return;
        }
        let trace = Program::harness(jdk, "VirtualThreads")
            .engine(engine)
            .args(["200"])
            .options("include=java.lang.**;java.util.concurrent.**;harness.**")
            .run()
            .trace();
        for thread in trace.threads.values().filter(|thread| thread.is_virtual) {
            let (enters, exits) = Decoded::balance(thread);
            assert!(enters >= exits, "thread {}", thread.id);
            // This panics where an exit has no frame.
            let tree = trace.tree(thread);
            assert_eq!(tree.calls.iter().filter(|call| call.method == "body(I)I").count(), 1);
        }
        let left_out = trace.manifest["end"]["not_recorded"].as_array().unwrap();
        assert!(left_out.iter().any(|entry| entry["reason"] == "switches-thread"));
    });
}

#[test]
fn threads_that_meet_new_methods_at_once_agree_on_ids() {
    on_every_engine(|jdk, engine| {
        let trace = Program::harness(jdk, "Concurrent").engine(engine).run().trace();
        let enters = trace.enters_by_key();
        for method in 0..200 {
            let suffix = format!("#m{method}(");
            let calls: u64 = enters
                .iter()
                .filter(|(key, _)| key.contains(&suffix))
                .map(|(_, calls)| calls)
                .sum();
            assert_eq!(calls, 160, "m{method}");
        }
        let mut keys: Vec<_> = trace.keys.values().collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), trace.keys.len(), "no method has two ids");
    });
}

#[test]
fn small_chunks_change_nothing() {
    on_every_engine(|jdk, engine| {
        let run = |options: &str| {
            let trace =
                Program::harness(jdk, "Threads").engine(engine).options(options).run().trace();
            let mut trees: Vec<_> = trace
                .threads
                .values()
                .map(|thread| (thread.name.clone(), trace.tree(thread).of_harness().lines()))
                .collect();
            trees.sort();
            trees
        };
        assert_eq!(run("chunk=64"), run("chunk=1m"));
    });
}

#[test]
fn a_thread_costs_no_open_file() {
    on_every_engine(|jdk, engine| {
        if jdk.version < 21 {
            return;
        }
        let program = Program::harness(jdk, "VirtualThreads").engine(engine).args(["3000"]);
        let mut limited = std::process::Command::new("sh");
        let command = program.command();
        limited.args(["-c", "ulimit -n 128; exec \"$0\" \"$@\""]).arg(command.get_program());
        limited.args(command.get_args());
        let output = limited.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(flow_e2e::decode_trace(&program.out()).threads.len(), 3001);
    });
}
