//! Options, good and bad.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use flow_e2e::{Engine, Finished, Program, decode_trace, flow};

use crate::on_every_jdk;

/// The agent's lines on the error stream.
fn our_lines(run: &Finished) -> Vec<String> {
    run.errors().lines().filter(|l| l.starts_with("[flowagent]")).map(str::to_owned).collect()
}

#[test]
fn a_bad_option_stops_the_jvm_with_one_line() {
    on_every_jdk(|jdk| {
        for (options, expected) in [
            (
                "inclde=x",
                "[flowagent] unknown option 'inclde' (agent options); did you mean 'include'?",
            ),
            (
                "chunk=lots",
                "[flowagent] chunk=lots (agent options): expected a size from 64 to 16m, such as 64k",
            ),
            (
                "ids=/no/such.properties",
                "[flowagent] ids=/no/such.properties: No such file or directory (os error 2)",
            ),
        ] {
            let run = Program::harness(jdk, "Hello").options(options).run();
            assert_eq!(run.code(), Some(1));
            assert!(!String::from_utf8_lossy(&run.stdout).contains("hello"));
            assert_eq!(our_lines(&run), [expected]);
        }
    });
}

#[test]
fn own_classes_are_in_the_manifest_and_select_nothing() {
    on_every_jdk(|jdk| {
        let run = Program::harness(jdk, "Hello").options("own=demo.**;*").run();
        let text = fs::read_to_string(run.out().join("trace.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(manifest["own"], serde_json::json!(["demo.**", "*"]));
        let trace = decode_trace(&run.out());
        assert!(trace.threads.values().any(|thread| !thread.events.is_empty()));
    });
}

#[test]
fn with_onerror_continue_the_program_runs_unrecorded() {
    on_every_jdk(|jdk| {
        let run = Program::harness(jdk, "Hello").options("bogus=1,onerror=continue").run();
        assert_eq!(run.code(), Some(0));
        assert_eq!(run.stdout, b"hello\n");
        let lines = our_lines(&run);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(
            lines[0].starts_with("[flowagent] not recording: unknown option 'bogus'"),
            "{lines:?}"
        );
        assert!(!run.out().exists());
    });
}

#[test]
fn an_unusable_directory_is_refused_with_its_reason() {
    on_every_jdk(|jdk| {
        let program = Program::harness(jdk, "Hello");
        fs::write(program.out(), "a file").unwrap();
        let run = program.run();
        assert_eq!(run.code(), Some(1));
        let lines = our_lines(&run);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].ends_with("trace: is not a directory"), "{lines:?}");

        // Not even root can create a directory there.
        let program = Program::harness(jdk, "Hello").env("FLOW_OUT", "/proc/no/place");
        let mut command = program.command_without_agent();
        command.env("JAVA_TOOL_OPTIONS", format!("-agentpath:{}", flow_e2e::library().display()));
        let output = command.output().unwrap();
        assert!(!output.status.success());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            errors.contains("[flowagent] out=/proc/no/place: cannot create /proc/no"),
            "{errors}"
        );
    });
}

#[test]
fn links_and_pipes_in_our_place_are_refused() {
    on_every_jdk(|jdk| {
        for make in ["ln -s /etc/passwd trace/thread-1.flow", "mkfifo trace/ids.properties"] {
            let program = Program::harness(jdk, "Hello");
            fs::create_dir(program.out()).unwrap();
            let made = Command::new("sh")
                .args(["-c", make])
                .current_dir(program.workspace())
                .status()
                .unwrap();
            assert!(made.success());
            let run = program.run();
            assert_eq!(run.code(), Some(1));
            let lines = our_lines(&run);
            assert!(lines[0].contains("is not a regular file; remove it"), "{lines:?}");
        }
        let program = Program::harness(jdk, "Hello");
        std::os::unix::fs::symlink("/tmp", program.out()).unwrap();
        let run = program.run();
        assert_eq!(run.code(), Some(1));
        assert!(our_lines(&run)[0].contains("is a symbolic link; give /tmp instead"));
    });
}

#[test]
fn a_directory_in_use_gets_a_second_trace() {
    on_every_jdk(|jdk| {
        let first = Program::harness(jdk, "Kill");
        let mut running = first.start();
        let mut lines = running.lines();
        lines.next().unwrap().unwrap();

        let second = Program::harness(jdk, "Hello");
        let mut command = second.command_without_agent();
        command.env(
            "JAVA_TOOL_OPTIONS",
            format!("-agentpath:{}=out={}", flow_e2e::library().display(), first.out().display()),
        );
        let output = command.output().unwrap();
        assert!(running.kill().is_some());
        assert_eq!(output.stdout, b"hello\n");

        let further: Vec<_> = fs::read_dir(first.out())
            .unwrap()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
            .collect();
        assert_eq!(further.len(), 1);
        assert!(
            decode_trace(&further[0]).enters_by_key().keys().any(|key| key.contains("Hello#main"))
        );
        assert!(first.out().join("trace.json").is_file(), "the first one's trace is untouched");
        let info = Command::new(flow()).arg("info").arg(first.out()).output().unwrap();
        let text = String::from_utf8(info.stdout).unwrap();
        assert!(text.contains("harness.Kill") && text.contains("harness.Hello"), "{text}");
    });
}

#[test]
fn an_earlier_trace_is_kept_as_old() {
    on_every_jdk(|jdk| {
        let program = Program::harness(jdk, "Hello");
        let first = program.command().output().unwrap();
        assert!(first.status.success());
        let before = fs::read_to_string(program.out().join("trace.json")).unwrap();
        let run = program.run();
        let old = run.program.workspace().join("trace.old");
        assert_eq!(fs::read_to_string(old.join("trace.json")).unwrap(), before);
        assert_ne!(fs::read_to_string(run.out().join("trace.json")).unwrap(), before);
    });
}

#[test]
fn every_source_of_options_counts() {
    on_every_jdk(|jdk| {
        let program = Program::harness(jdk, "Shapes");
        let config = program.workspace().join("flow.conf");
        fs::write(&config, "# for the test\nconstructors = false\nexclude=**#main\n").unwrap();
        let trace = program
            .env("FLOW_CONFIG", &config)
            .env("FLOW_EXCLUDE", "harness.Shapes")
            .options("natives=true")
            .run()
            .trace();
        let keys: Vec<_> = trace.keys.values().cloned().collect();
        assert!(keys.iter().all(|key| !key.contains("<init>")), "from the file");
        assert!(keys.iter().all(|key| !key.starts_with("harness.Shapes#")), "from the environment");
        assert!(keys.iter().any(|key| key.starts_with("harness.Shapes$")));
        assert_eq!(trace.manifest["options"]["natives"], "true");
        assert_eq!(trace.manifest["options"]["exclude"], "harness.Shapes");
    });
}

#[test]
fn secrets_of_the_command_line_are_in_no_file_of_the_trace() {
    on_every_jdk(|jdk| {
        let files_with_it = |option: &str| {
            let run = Program::harness(jdk, "Shapes")
                .jvm_arg("-Ddb.password=hunter2")
                .args(["--api-key", "hunter2", "http://me:hunter2@example.com"])
                .options(option)
                .run();
            assert_eq!(run.code(), Some(0), "{}", run.errors());
            let entries = fs::read_dir(run.out()).unwrap().map(|entry| entry.unwrap().path());
            let has_it = |path: &PathBuf| {
                let bytes = fs::read(path).unwrap_or_default();
                bytes.windows(7).any(|window| window == b"hunter2")
            };
            let names = entries.filter(has_it).map(|path| path.file_name().unwrap().to_owned());
            (names.collect::<Vec<_>>(), run.trace().manifest["command"].clone())
        };
        let (files, command) = files_with_it("command=masked");
        assert!(files.is_empty(), "{files:?}");
        let command = command.as_array().unwrap();
        assert!(command.contains(&"-Ddb.password=***".into()), "{command:?}");
        assert!(command.contains(&"http://me:***@example.com".into()), "{command:?}");
        assert_eq!(files_with_it("command=full").0, ["trace.json"], "the test can fail");
        assert_eq!(files_with_it("command=none"), (Vec::new(), Vec::<String>::new().into()));
    });
}

#[test]
fn native_methods_are_named_and_recorded_on_request() {
    on_every_jdk(|jdk| {
        let filter = "engine=events,include=harness.**;java.lang.System;java.lang.Object";
        let without = Program::harness(jdk, "Natives").options(filter).run().trace();
        assert!(!without.enters_by_key().contains_key("java.lang.System#nanoTime()J"));
        let named = without.manifest["end"]["not_recorded"].as_array().unwrap();
        let native = named.iter().find(|entry| entry["reason"] == "native").unwrap();
        assert!(
            native["methods"].as_array().unwrap().contains(&"java.lang.System#nanoTime()J".into())
        );

        let with =
            Program::harness(jdk, "Natives").options(filter).options("natives=true").run().trace();
        assert!(with.enters_by_key()["java.lang.System#nanoTime()J"] >= 10);
        let native = with.methods.iter().find(|method| method["name"] == "nanoTime").unwrap();
        assert!(native["flags"].as_array().unwrap().contains(&"native".into()));
        assert_eq!(native["loader"], "boot");
    });
}

#[test]
fn hidden_classes_are_recorded_unless_target_is_used() {
    on_every_jdk(|jdk| {
        let hidden = |trace: &flow_e2e::Decoded| {
            trace.keys.values().filter(|key| key.contains("$$Lambda")).count()
        };
        let program = || Program::harness(jdk, "Shapes").engine(Engine::Events);
        assert!(hidden(&program().run().trace()) > 0);
        let run = program().options("target=harness.").run();
        assert_eq!(hidden(&run.trace()), 0);
    });
}

#[test]
fn a_mapping_is_reused_and_continued() {
    on_every_jdk(|jdk| {
        let first = Program::harness(jdk, "Hello").run();
        let mapping = first.out().join("ids.properties");
        let ids = |trace: &flow_e2e::Decoded| -> Vec<(String, u64)> {
            let mut ids: Vec<_> = trace.keys.iter().map(|(id, key)| (key.clone(), *id)).collect();
            ids.sort_by_key(|(_, id)| *id);
            ids
        };
        let known = ids(&first.trace());
        let second =
            Program::harness(jdk, "Recursion").options(&format!("ids={}", mapping.display())).run();
        let continued = ids(&second.trace());
        assert_eq!(
            continued[..known.len()],
            known,
            "the old ids come first and keep their numbers"
        );
        assert!(continued.len() > known.len());
        assert!(continued.iter().map(|(_, id)| *id).eq(0..continued.len() as u64));
    });
}

#[test]
fn optimize_gives_the_shortest_ids_to_the_most_called() {
    on_every_jdk(|jdk| {
        let program = Program::harness(jdk, "Recursion");
        assert!(program.command().output().unwrap().status.success());
        let calls = decode_trace(&program.out()).enters_by_key();
        // Into the same directory: the earlier trace is read before it is moved away.
        let options = format!("optimize={}", program.out().display());
        let trace = program.options(&options).run().trace();
        assert_eq!(trace.enters_by_key(), calls);
        // Methods get ids when their class is loaded, so some were never called.
        let by_id = |id: u64| calls.get(&trace.keys[&id]).copied().unwrap_or(0);
        let counts: Vec<u64> = (0..trace.keys.len() as u64).map(by_id).collect();
        assert!(counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
    });
}

#[test]
fn jsonl_has_the_same_events() {
    on_every_jdk(|jdk| {
        let lines = |options: &str| {
            let trace = Program::harness(jdk, "Exceptions").options(options).run().trace();
            trace.tree(trace.thread("main")).of_harness().lines()
        };
        let json = lines("format=jsonl,chunk=64");
        assert_eq!(json, lines("format=binary"));
        assert!(json.len() > 50);
    });
}

#[test]
fn synthetic_methods_are_left_out_except_those_that_make_others_visible() {
    on_every_jdk(|jdk| {
        for engine in [Engine::Instrument, Engine::Events] {
            let called = |options: &str| {
                let program = Program::harness(jdk, "Bridged").engine(engine);
                let run = program.options(&format!("target=harness.Bridged,{options}")).run();
                assert_eq!(
                    (run.code(), run.stdout.as_slice()),
                    (Some(0), &b"7\n"[..]),
                    "{engine:?}"
                );
                run.trace().enters_by_key().into_keys().collect::<BTreeSet<_>>()
            };
            let all = called("constructors=false");
            let visible = "harness.Bridged$Shown#visible()I";
            let added = |key: &&String| {
                key.contains("lambda$") || key.ends_with("$Made#get()Ljava/lang/Object;")
            };
            assert_eq!(all.iter().filter(added).count(), 2, "{all:?}");
            assert!(all.contains(visible), "{all:?}");
            let expected: BTreeSet<_> = all.iter().filter(|key| !added(key)).cloned().collect();
            assert_eq!(called("constructors=false,synthetic=false"), expected, "{engine:?}");
            // The bridge differs from the method that it calls by its result alone.
            let get = "harness.Bridged$Made#get()Ljava/lang/";
            for pattern in [
                "exclude=harness.Bridged$Made#get()Ljava/lang/Object;;**.None",
                r"exclude=**.None;Bridged$Made#get()Ljava/lang/Object\;",
                "exclude=Bridged$Made#get(): Object",
                "exclude=harness.Bridged$Made.get():Object",
            ] {
                let found = called(pattern);
                let found: Vec<_> = found.iter().filter(|key| key.starts_with(get)).collect();
                assert_eq!(found, [&format!("{get}Integer;")], "{engine:?} {pattern}");
            }
        }
    });
}
