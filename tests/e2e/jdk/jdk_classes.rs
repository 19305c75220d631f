//! The JDK's own classes, recorded on request.

use std::process::Command;

use flow_e2e::{Call, Decoded, Engine, LeftOut, Program, decode_trace, flow};

use crate::on_every_jdk;

#[test]
fn programs_behave_the_same_while_the_jdk_is_recorded() {
    on_every_jdk(|jdk| {
        for (include, reasons) in [
            ("java.util.**;harness.**", &["protected"][..]),
            ("java.**;jdk.**;sun.**;harness.**", &["native", "protected"]),
        ] {
            for (name, args) in [("Hello", None), ("Threads", Some("40")), ("Exceptions", None)] {
                let program = || Program::harness(jdk, name).args(args);
                let plain = program().run_without_agent();
                let run = program().options(&format!("include={include}")).run();
                assert_eq!(run.code(), plain.code(), "{name}: {}", run.errors());
                assert_eq!(run.stdout, plain.stdout, "{name}");
                assert_eq!(run.errors(), String::from_utf8_lossy(&plain.stderr), "{name}");
                let check = Command::new(flow()).arg("check").arg(run.out()).output().unwrap();
                assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));

                let trace = decode_trace(&run.out());
                assert_eq!(trace.manifest["end"]["lost"]["events"], 0, "{name}");
                for reason in reasons {
                    assert!(!trace.left_out(&[reason]).is_empty(), "{name}: {reason}");
                }
                let calls = trace.tree(trace.thread("main")).calls;
                assert!(calls.iter().any(|call| call.class.starts_with("java.util.")), "{name}");
                // Shutdown runs inside no frame of the program.
                assert!(
                    calls.iter().all(|call| !call.open || !call.class.starts_with("harness.")),
                    "{name}"
                );
            }
        }
    });
}

/// The calls of a program's main method, without what the other trace did not record.
fn below_main(trace: &Decoded, left_out: &LeftOut) -> Vec<Call> {
    let tree = trace.tree(trace.thread("main"));
    let calls = tree.only(|call| !call.hidden && !left_out.names(&call.class, &call.method)).calls;
    let main = calls.iter().position(|call| call.method.starts_with("main(")).unwrap();
    let depth = calls[main].depth;
    let below = calls[main + 1..].iter().take_while(|call| call.depth > depth);
    below.map(|call| Call { depth: call.depth - depth, ..call.clone() }).collect()
}

#[test]
fn the_jdks_collections_give_the_same_calls_with_both_engines() {
    on_every_jdk(|jdk| {
        let [instrument, events] = Engine::ALL.map(|engine| {
            Program::harness(jdk, "Collections")
                .engine(engine)
                // From JDK 24 on, the archive of the JDK's classes contains resolved calls, which lead to the
                // code that a method had before it was changed.
                .jvm_arg("-Xshare:off")
                // Not java.util.concurrent, which has the locks of class loaders: these are asked for one
                // class more, that of the probes.
                .options("include=java.util.*;harness.**")
                .run()
                .trace()
        });
        let left_out = instrument.left_out(&[]);
        let found = below_main(&instrument, &left_out);
        let expected = below_main(&events, &left_out);
        for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "call {number}");
        }
        assert_eq!(found.len(), expected.len());
        assert!(expected.iter().filter(|call| call.class.starts_with("java.util.")).count() > 500);
    });
}
