//! Java 8, on which only `engine=events` records. These tests run if a JDK 8 is found, and report when there is none.

use flow_e2e::{Engine, Jdk, Program, compile_for_java_8, decode_trace, golden, jdk_8};

use crate::trees::{program, recorded};

/// Programs that javac compiles to the same calls for Java 8: without nests, it adds methods for access to private members
/// of other classes.
const PROGRAMS: [&str; 10] = [
    "Deep",
    "Exceptions",
    "Exit",
    "Halt",
    "Hello",
    "Natives",
    "Output",
    "Recursion",
    "Switches",
    "Uncaught",
];

fn on_java_8(body: impl FnOnce(&Jdk)) {
    match jdk_8() {
        Some(jdk) => body(&jdk),
        None => println!("not run: no JDK 8; FLOW_TEST_JDKS=$(scripts/jdks.sh) has one"),
    }
}

#[test]
fn every_program_has_its_expected_tree_on_java_8() {
    on_java_8(|jdk| {
        let classes = tempfile::tempdir().unwrap();
        for name in PROGRAMS {
            compile_for_java_8(name, classes.path());
            let expected = golden(name);
            let run =
                program(Program::compiled(jdk, classes.path(), name), Engine::Events, &expected)
                    .run();
            assert_eq!(run.code(), Some(expected.exit_code), "{name}: {}", run.errors());
            let trace = decode_trace(&run.out());
            assert_eq!(recorded(&trace), expected.threads, "{name}");
            assert_eq!(trace.manifest["end"]["lost"]["events"], 0, "{name}");
        }
    });
}

#[test]
fn the_default_engine_refuses_java_8_and_names_the_other_one() {
    on_java_8(|jdk| {
        let classes = tempfile::tempdir().unwrap();
        compile_for_java_8("Hello", classes.path());
        let run = Program::compiled(jdk, classes.path(), "Hello").run();
        assert_ne!(run.code(), Some(0));
        assert!(run.errors().contains("engine=events"), "{}", run.errors());
        assert!(!run.out().exists(), "{}", run.out().display());
    });
}
