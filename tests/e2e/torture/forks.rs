//! A process that forks without Java's knowledge.

use flow_e2e::{Engine, Program, decode_trace, jdks};

use super::times;

/// Calls between two forks, and the number of forks.
const CALLS: usize = 1000;
const CHILDREN: usize = 3;

#[test]
fn what_a_forked_child_calls_is_not_in_its_parents_trace() {
    for jdk in jdks().iter().filter(|jdk| jdk.version >= 22) {
        for engine in Engine::ALL {
            // Chunks that the child fills, and one that it shares with its parent to the end.
            for chunk in ["chunk=64", "chunk=1k", "chunk=64k"] {
                for _ in 0..times("FORKS", 1) {
                    let run = Program::harness(jdk, "Forked")
                        .args([CALLS.to_string(), CHILDREN.to_string()])
                        // A forked JVM has no compiler and no collector threads.
                        .jvm_arg("-Xint")
                        .jvm_arg("-XX:+UseSerialGC")
                        .jvm_arg("--enable-native-access=ALL-UNNAMED")
                        .engine(engine)
                        .options(chunk)
                        .run();
                    assert_eq!((run.code(), run.errors().as_str()), (Some(0), ""), "{chunk}");
                    let ended = (0..CHILDREN).map(|child| format!("child {child} ended\n"));
                    let expected = ended.collect::<String>() + "done\n";
                    assert_eq!(String::from_utf8_lossy(&run.stdout), expected, "{chunk}");
                    assert_eq!(std::fs::read_dir(run.program.workspace()).unwrap().count(), 3);
                    let trace = decode_trace(&run.out());
                    assert_eq!(trace.threads.len(), 1, "{engine:?}, {chunk}");
                    let calls = trace.tree(trace.thread("main")).of_harness().calls;
                    let calls: Vec<_> = calls
                        .iter()
                        .map(|call| (call.depth, call.method.split('(').next().unwrap()))
                        .collect();
                    let mut expected = vec![(0, "main")];
                    expected.extend([(1, "foreign"); 3]);
                    let between = [(1, "between"); CHILDREN];
                    for stretch in [(1, "before")].into_iter().chain(between).chain([(1, "after")])
                    {
                        expected.extend([stretch, (2, "leaves")]);
                        expected.extend([(3, "leaf"); CALLS]);
                    }
                    let differs =
                        calls.iter().zip(&expected).position(|(found, call)| found != call);
                    assert_eq!(
                        (calls.len(), differs),
                        (expected.len(), None),
                        "{engine:?}, {chunk}"
                    );
                }
            }
        }
    }
}
