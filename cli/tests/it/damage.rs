//! The verbs on traces that are truncated, damaged or hostile.

use std::fs;
use std::num::NonZeroU64;

use flow_codec::Offset;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use tempfile::TempDir;

use crate::common::{IDS, MAIN, Run, bare, command, flow, manifest, test_mark, trace, words};

#[test]
fn a_sound_trace_passes_with_notes() {
    let trace = trace();
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(0), "{}", run.out);
    let (verdict, rest) = run.out.split_once('\n').unwrap();
    assert!(verdict.ends_with(": sound"), "{verdict}");
    assert_eq!(
        rest,
        "  finished after 1s 500ms\n  \
           7 calls in 3 threads, 3 methods known, 12 B\n  \
           note: thread-12.flow: thread 12 pool-1 left 2 frames entered before recording\n  \
           note: thread-13.flow: thread 13 has 1 frame open at its end\n"
    );
    let run = flow(&["check", "--format", "json"], trace.path());
    let object: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&object["verdict"], &object["totals"]["enters"]), (&"sound".into(), &7.into()));
    assert_eq!(object["findings"][0]["severity"], "note");
    let run = flow(&["check", "--format", "csv"], trace.path());
    assert_eq!(run.out.lines().next(), Some("trace,verdict,severity,place,finding,state"));
    assert!(run.out.contains(".,sound,note,thread-13.flow,"), "{}", run.out);
}

#[test]
fn a_trace_without_an_end_is_sound() {
    let trace = trace();
    fs::write(trace.path().join("trace.json"), manifest(0, None)).unwrap();
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert!(
        run.out.contains("\n  killed: it has no end, and no JVM records here\n"),
        "{}",
        run.out
    );
    let run = flow(&["info"], trace.path());
    assert!(run.out.contains("end       none: killed\n"), "{}", run.out);
    assert!(run.out.contains("  killed") && !run.out.contains("  alive"), "{}", run.out);
}

#[test]
fn frames_that_are_open_when_a_thread_ends_are_noted() {
    let trace = trace();
    let threads = trace.path().join("threads.jsonl");
    let lines = fs::read_to_string(&threads).unwrap();
    fs::write(&threads, lines + "{\"event\":\"end\",\"id\":13,\"at_ns\":1400000000}\n").unwrap();
    let run = flow(&["check"], trace.path());
    assert!(!run.out.contains("missing: thread-13"), "{}", run.out);
    let noted = "thread 13 ended with 1 frame open, as System.exit and Thread.stop do";
    assert!(run.out.contains(noted), "{}", run.out);
}

#[test]
fn a_record_cut_off_makes_the_result_partial() {
    let trace = bare(&[0x80, 0x81, 0xC0]);
    for verb in ["replay", "report", "info", "check --records"] {
        let run = flow(&words(verb), trace.path());
        assert_eq!(run.code, Some(3), "{verb}");
        assert!(
            run.err.contains("thread-1.flow: ends inside a record at offset 2; everything before"),
            "{verb}: {}",
            run.err
        );
        assert!(run.out.contains(if verb == "info" { "truncated" } else { "main(" }), "{verb}");
    }
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(3), "{}", run.out);
    assert!(run.out.contains(": incomplete\n"), "{}", run.out);
    assert!(run.out.contains("missing: thread-1.flow: ends inside a record at offset 2"));
    let run = flow(&["check", "--records"], trace.path());
    assert!(run.out.ends_with("         2  C0           cut off\n"), "{}", run.out);
}

#[test]
fn a_pipe_in_place_of_a_file_blocks_no_verb() {
    for name in [
        "thread-1.flow",
        "thread-1.marks",
        "thread-1.idx",
        "trace.json",
        "journal",
        "ids.properties",
        "methods.jsonl",
        "threads.jsonl",
        ".lock",
        ".gate",
    ] {
        let trace = trace();
        // Checking whether a JVM still records takes the lock.
        fs::write(trace.path().join("trace.json"), manifest(0, None)).unwrap();
        let pipe = trace.path().join(name);
        let _ = fs::remove_file(&pipe);
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        let [checked, reported] = ["check", "report"].map(|verb| flow(&[verb], trace.path()));
        // Indexes are optional, and a lock has no content.
        if name.starts_with('.') || name.ends_with(".idx") {
            assert_eq!(checked.code, Some(0), "{name}: {}", checked.out);
        } else {
            let finding = format!("{name}: not a regular file");
            assert!(checked.out.contains(&finding), "{name}: {}", checked.out);
            assert_eq!(checked.code, Some(1), "{name}");
        }
        // Threads 12 and 13 are whole, no matter what is missing of thread 1 and the names.
        let calls = if name == "thread-1.flow" { "2 calls" } else { "7 calls" };
        assert!(reported.out.contains(calls), "{name}: {}", reported.out);
    }
}

#[test]
fn totals_that_truncation_explains_are_missing_and_others_are_damage() {
    let trace = trace();
    let file = trace.path().join("thread-1.flow");
    // The last exit run now lacks its second byte.
    fs::write(&file, [&MAIN[..7], &[0x40]].concat()).unwrap();
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(3), "{}", run.out);
    assert!(run.out.contains("missing: 6 method exits, but 8 in trace.json"), "{}", run.out);

    // Events are also missing if the file is cut between two records.
    fs::write(&file, &MAIN[..7]).unwrap();
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(3), "{}", run.out);
    assert!(run.out.contains("missing: 6 method exits, but 8 in trace.json"), "{}", run.out);

    // The same length, but other events.
    fs::write(&file, [&MAIN[..7], &[0x00]].concat()).unwrap();
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(1), "{}", run.out);
    assert!(run.out.contains("damage: 7 method exits, but 8 in trace.json"), "{}", run.out);

    // What the recorder could not count, when it could not store any more, is there.
    fs::write(&file, MAIN).unwrap();
    let manifest = manifest(0, Some((0, 0, 12)));
    let reasons = r#""reasons":["journal: No space left on device"]"#;
    let manifest = manifest.replace(r#""reasons":[]"#, reasons);
    fs::write(trace.path().join("trace.json"), manifest).unwrap();
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(3), "{}", run.out);
    let note = "note: 7 method entries, of which trace.json counts 0";
    assert!(run.out.contains(note) && !run.out.contains("missing: 7"), "{}", run.out);
}

#[test]
fn every_verb_reports_files_that_end_too_early() {
    let trace = trace();
    let file = trace.path().join("thread-1.flow");
    fs::write(&file, &MAIN[..7]).unwrap();
    for verb in ["replay", "report", "report --tree", "info", "check --records"] {
        let run = flow(&words(verb), trace.path());
        assert_eq!(run.code, Some(3), "{verb}: {}", run.err);
        assert!(run.err.contains("1 byte of events are missing (flow check"), "{}", run.err);
        if verb == "replay" {
            let run = flow(&[verb, "--follow"], trace.path());
            assert_eq!(run.code, Some(3), "{}", run.err);
            assert!(run.err.contains("1 byte of events are missing (flow check"), "{}", run.err);
        }
        // Its thread is unknown.
        let run = flow(&[&words(verb)[..], &["--thread", "12"]].concat(), trace.path());
        assert_eq!(run.code, Some(3), "{verb}: {}", run.err);
    }
    fs::remove_file(&file).unwrap();
    let run = flow(&["report"], trace.path());
    assert_eq!(run.code, Some(3), "{}", run.err);
    assert!(
        run.err.contains("8 bytes of events are missing, 1 thread file among them"),
        "{}",
        run.err
    );
}

#[test]
fn a_replay_that_begins_after_damage_reports_it() {
    let damage = [&[0x80, 0x81, 0x01][..], &[0xFF; 20], &[0x01]].concat();
    let trace = bare(&[&damage[..], &[0x80, 0x81, 0x81, 0x02]].concat());
    for from in ["3", "event:5", "offset:25", "com.app.Main#main > com.app.Main#work", "77"] {
        let run = flow(&["replay", "--from", from], trace.path());
        assert_eq!(run.code, Some(1), "{from}: {}", run.err);
        let told = run.err.matches("thread-1.flow: offset 3: expected a record of at most").count();
        // The first call on that path is before the damage; only damage in the part that is read is reported.
        assert_eq!(told, 1, "{from}: {}", run.err);
    }
}

#[test]
fn a_replay_that_begins_after_much_damage_counts_all_of_it() {
    let damage = [&[0xFF; 20][..], &[0x01]].concat().repeat(12);
    let trace = bare(&[&[0x80, 0x81, 0x01][..], &damage, &[0x80, 0x81, 0x01], &damage].concat());
    // The first eight places before and after the call are named.
    for (from, named, more) in [("2", 16, 8), ("900", 8, 16)] {
        let run = flow(&["replay", "--from", from], trace.path());
        assert_eq!(run.err.matches("expected a record of at most").count(), named, "{}", run.err);
        assert!(run.err.contains(&format!("… and {more} more places of damage")), "{}", run.err);
    }
}

#[test]
fn a_dump_shows_which_bytes_it_leaves_out() {
    let trace = bare(&[&[0x80, 0x81, 0x01][..], &[0xFF; 20], &[0x01, 0x81]].concat());
    let run = flow(&["check", "--records"], trace.path());
    assert!(
        run.out.contains("\n         3  21 bytes     left out\n        24  81  "),
        "{}",
        run.out
    );
    let trace = bare(&[&[0x80, 0x81, 0x01][..], &[0xFF; 20]].concat());
    let run = flow(&["check", "--records"], trace.path());
    assert!(run.out.ends_with("\n         3  20 bytes     left out\n"), "{}", run.out);
    // There may be empty lines.
    let trace = tempfile::tempdir().unwrap();
    fs::write(
        trace.path().join("thread-1.jsonl"),
        "{\"e\":\"enter\",\"method\":0}\n\n{\"e\":\"exit\"}\n",
    )
    .unwrap();
    let run = flow(&["check", "--records"], trace.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(!run.out.contains("left out"), "{}", run.out);
    fs::write(trace.path().join("thread-1.jsonl"), "blah\n{\"e\":\"enter\",\"method\":0}\nblah\n")
        .unwrap();
    let run = flow(&["check", "--records"], trace.path());
    assert_eq!(run.code, Some(1), "{}", run.err);
    for line in ["thread-1.jsonl:1: expected", "thread-1.jsonl:3: expected"] {
        assert!(run.err.contains(line), "{}", run.err);
    }
}

#[test]
fn damaged_threads_have_no_stored_index() {
    let call: &[u8] = &[0x81, 0x00];
    let trace = bare(&[&call.repeat(1 << 21)[..], &[0xFF; 20], &[0x01], call].concat());
    let run = flow(&["check", "--index"], trace.path());
    assert_eq!(run.code, Some(1), "{}", run.err);
    assert!(run.err.contains("thread-1.flow: offset 4194304: expected a record of"), "{}", run.err);
    assert!(run.out.contains("damaged; no index is stored"), "{}", run.out);
    assert!(!trace.path().join("thread-1.idx").exists());

    // The index of the earlier events is still used.
    let file = trace.path().join("thread-1.flow");
    fs::write(&file, call.repeat(1 << 21)).unwrap();
    assert_eq!(flow(&["check", "--index"], trace.path()).code, Some(0));
    let size = fs::metadata(trace.path().join("thread-1.idx")).unwrap().len();
    fs::write(&file, [&call.repeat(1 << 21)[..], &[0xFF; 20], &[0x01], call].concat()).unwrap();
    let run = flow(&["check", "--index", "--format", "json"], trace.path());
    assert_eq!(run.code, Some(1), "{}", run.err);
    let row: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(row["state"], "damaged after the part that the stored index covers");
    assert_eq!(row["index_bytes"], size);
}

#[test]
fn damage_is_reported_with_its_offset_and_everything_else_is_shown() {
    let trace = bare(&[&[0x80, 0x81, 0x01][..], &[0xFF; 20]].concat());
    for verb in ["replay", "report", "info", "check --records"] {
        let run = flow(&words(verb), trace.path());
        assert_eq!(run.code, Some(1), "{verb}");
        assert!(
            run.err.contains("thread-1.flow: offset 3: expected a record of at most"),
            "{}",
            run.err
        );
        assert!(run.out.contains(if verb == "info" { "damaged" } else { "work(" }), "{verb}");
    }
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(1), "{}", run.out);
    assert!(run.out.contains(": damaged\n") && run.out.contains("offset 3"), "{}", run.out);
}

#[test]
fn damaged_lines_do_not_hide_valid_ones() {
    let trace = trace();
    fs::write(trace.path().join("ids.properties"), format!("rubbish\n{IDS}")).unwrap();
    let run = flow(&["report"], trace.path());
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("ids.properties:1: expected"), "{}", run.err);
    assert!(run.out.contains("com.app.Main.work(int)"), "{}", run.out);
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(1));
    assert!(run.out.contains("damage: ") && run.out.contains("ids.properties:1:"), "{}", run.out);
}

/// A directory as Java-Flow-Agent writes it with `ids=`.
#[test]
fn a_trace_without_a_file_of_names_is_incomplete() {
    let trace = bare(&[0x80, 0x81, 0x01]);
    let names = trace.path().join("ids.properties");
    let elsewhere = fs::read(&names).unwrap();
    fs::remove_file(&names).unwrap();
    let remedy = "copy the file that ids= named here";
    let run = flow(&["report"], trace.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("ids.properties: the file is missing") && run.err.contains(remedy));
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(3), "{}", run.out);
    assert!(run.out.contains("missing: ids.properties: the file is missing"), "{}", run.out);
    assert!(run.out.contains(remedy), "{}", run.out);
    fs::write(&names, elsewhere).unwrap();
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(0), "{}", run.out);
}

#[test]
fn ids_without_a_name_show_their_number() {
    let trace = bare(&[0x87, 0xC8, 0x01, 0x01]);
    let run = flow(&["replay"], trace.path());
    assert_eq!((run.code, run.out.as_str()), (Some(0), "thread 1\n?#7\n  ?#72\n"));
    let run = flow(&["replay", "--format", "json"], trace.path());
    assert!(run.out.contains("\"method\":72,\"class\":null"), "{}", run.out);
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(1));
    assert!(
        run.out.contains(
            "damage: thread-1.flow: 2 calls of ids without a name: first 7 at offset 0, 72 at offset 1"
        ),
        "{}",
        run.out
    );
}

#[test]
fn losses_and_threads_without_a_line_make_a_trace_partial() {
    let trace = trace();
    let lossy = manifest(0, Some((7, 8, 12)))
        .replace(r#""events":0,"reasons":[]"#, r#""events":1234,"reasons":["disk full"]"#);
    fs::write(trace.path().join("trace.json"), lossy).unwrap();
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(3), "{}", run.out);
    assert!(run.out.contains("missing: trace.json: lost while recording: 1,234 events: disk full"));
    let run = flow(&["report"], trace.path());
    assert_eq!(run.code, Some(0));
    assert!(run.err.contains("lost while recording: 1,234 events: disk full"), "{}", run.err);

    let trace = crate::common::trace();
    fs::remove_file(trace.path().join("threads.jsonl")).unwrap();
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(3), "{}", run.out);
    assert_eq!(run.out.matches("threads.jsonl has no line for this thread").count(), 3);
}

#[test]
fn missing_and_contradicting_names_are_found() {
    let check = |change: fn(&std::path::Path)| {
        let trace = trace();
        let line = |id: u32, name: &str| {
            format!(
                "{{\"id\":{id},\"class\":\"com.app.Main\",\"name\":\"{name}\",\
                 \"descriptor\":\"(I)I\",\"loader\":\"app\"}}\n"
            )
        };
        let job = r#"{"id":2,"class":"com.app.Main$Job","name":"<init>","descriptor":"()V"}"#;
        let lines = line(1, "work") + &line(7, "more") + job + "\n";
        fs::write(trace.path().join("methods.jsonl"), lines).unwrap();
        change(trace.path());
        let run = flow(&["check"], trace.path());
        (run.code, run.out)
    };
    let (code, text) = check(|_| ());
    assert_eq!(code, Some(3), "{text}");
    assert!(
        text.contains("missing: ids.properties: lacks 1 method that methods.jsonl has"),
        "{text}"
    );
    for name in ["ids.properties", "methods.jsonl"] {
        let (code, text) = match name {
            "ids.properties" => check(|dir| fs::remove_file(dir.join("ids.properties")).unwrap()),
            _ => check(|dir| fs::remove_file(dir.join("methods.jsonl")).unwrap()),
        };
        assert_ne!(code, Some(0), "{text}");
        assert!(text.contains(&format!("missing: {name}: the file is missing")), "{text}");
    }
    let (code, text) = check(|dir| {
        let other = IDS.replace("work", "play");
        fs::write(dir.join("ids.properties"), other).unwrap();
    });
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("ids.properties:2: expected the method that methods.jsonl has"),
        "{text}"
    );
}

#[test]
fn folded_calls_come_before_the_exits_that_follow_them() {
    let trace = bare(&[0x81, 0x01]);
    for args in [vec!["replay"], vec!["replay", "--collapse"]] {
        let run = flow(&args, trace.path());
        let lines: Vec<_> = run.out.lines().skip(1).collect();
        let left = "(left 1 frame entered before recording)";
        assert_eq!(lines, ["com.app.Main.work(int)", left], "{args:?}");
    }
}

#[test]
fn records_of_other_writers_are_noted() {
    let trace = bare(&[0x80, 0x81, 0x00, 0x00]);
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert!(run.out.contains("note: thread-1.flow: 1 record not in canonical form"), "{}", run.out);
}

#[test]
fn one_unreadable_trace_does_not_hide_the_others() {
    let trace = trace();
    let further = trace.path().join("jvm-9-x");
    fs::create_dir(&further).unwrap();
    fs::write(further.join("trace.json"), "{\"format_version\":99}").unwrap();
    let run = flow(&["replay"], trace.path());
    assert_eq!(run.code, Some(1));
    assert!(run.out.contains("com.app.Main.work(int)"), "{}", run.out);
    assert!(run.err.contains("format version 99"), "{}", run.err);
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(1));
    assert!(run.out.contains(": sound\n") && run.out.contains("jvm-9-x: damaged\n"), "{}", run.out);
}

#[test]
fn every_verb_refuses_a_trace_of_a_newer_version() {
    let verbs = [
        &["report"][..],
        &["report", "--paths", "longest"],
        &["calls", "--slowest", "3"],
        &["replay"],
        &["report", "--tree"],
        &["check", "--records"],
        &["info"],
        &["tests"],
        &["check", "--index"],
        &["check"],
        &["check", "--repair"],
        &["export", "--to", "jsonl"],
        &["report", "--html", "page.html"],
    ];
    // The trace of a run that ended, and one of a killed run.
    for end in [Some((7, 8, 12)), None] {
        let trace = trace();
        let newer = manifest(0, end).replacen("\"format_version\":1", "\"format_version\":2", 1);
        fs::write(trace.path().join("trace.json"), newer).unwrap();
        let files = || fs::read_dir(trace.path()).unwrap().count();
        let before = files();
        let refused = |run: &Run, verb: &[&str]| {
            assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{verb:?}: {}", run.err);
            let expected =
                "trace.json: format version 2; this build reads up to 1; use a newer flow";
            assert!(run.err.contains(expected), "{verb:?}: {}", run.err);
        };
        for verb in verbs {
            refused(&flow(verb, trace.path()), verb);
        }
        let sound = crate::common::trace();
        let diff = command().arg("diff").arg(sound.path()).arg(trace.path()).output().unwrap();
        refused(&diff.into(), &["diff"]);
        assert_eq!(files(), before, "nothing is added");
    }
}

#[test]
fn names_cannot_move_the_cursor_or_break_a_line() {
    let trace = trace();
    // In the file: an escaped line break, a raw escape sequence, a bidi override.
    fs::write(
        trace.path().join("ids.properties"),
        "a.B#main()V=0\na.\u{1b}[2JB#w\\nork\u{202e}(I)I=1\na.C#x,\"y()V=2\n",
    )
    .unwrap();
    fs::write(
        trace.path().join("threads.jsonl"),
        "{\"event\":\"start\",\"id\":1,\"name\":\"\\u001b]0;x\\u0007\\nmain\",\"daemon\":false,\
         \"virtual\":false,\"at_ns\":1}\n",
    )
    .unwrap();
    for verb in ["replay", "report", "info", "check --records", "check"] {
        for format in ["text", "csv"] {
            let run = flow(&[&words(verb)[..], &["--format", format]].concat(), trace.path());
            for text in [&run.out, &run.err] {
                let acts = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
                assert!(!text.contains(acts), "{verb} {format}: {text:?}");
            }
        }
    }
    let run = flow(&["replay", "--thread", "1"], trace.path());
    assert!(run.out.starts_with("thread 1 \\u{1b}]0;x\\u{7}\\u{a}main\na.B.main()\n"));
    assert!(run.out.contains("  a.\\u{1b}[2JB.w\\u{a}ork\\u{202e}(int)\n"), "{}", run.out);
    let run = flow(&["replay", "--format", "csv"], trace.path());
    assert!(run.out.contains(",a.C,\"x,\"\"y\",()V,"), "{}", run.out);
    let run = flow(&["report", "--format", "json"], trace.path());
    let line: serde_json::Value = serde_json::from_str(run.out.lines().next().unwrap()).unwrap();
    assert_eq!(line["name"], "w\nork\u{202e}");
    let run = flow(&["replay", "--thread", "no\u{1b}[2Jne"], trace.path());
    assert!(run.err.contains("no thread 'no\\u{1b}[2Jne'"), "{}", run.err);
}

/// A trace in which every text has characters that act on a terminal.
fn hostile() -> TempDir {
    /// In xterm, U+009B begins what `ESC [` does.
    const ACTS: &str = "\u{9b}31m\u{202e}\u{7f}\u{1b}[2J";
    let dir = crate::columns::trace();
    let at = |name: &str| dir.path().join(name);
    // Hundreds of megabytes of rows say no more about texts than a few.
    let large = at("thread-14.flow");
    let calls = fs::read(&large).unwrap();
    fs::write(large, &calls[..calls.len() / 1000]).unwrap();
    let read = |name: &str| fs::read_to_string(at(name)).unwrap();
    let json = serde_json::to_string(ACTS).unwrap();
    let json = json.trim_matches('"');
    fs::write(at("ids.properties"), read("ids.properties").replace('#', &format!("{ACTS}#{ACTS}")))
        .unwrap();
    for name in ["methods.jsonl", "threads.jsonl", "trace.json"] {
        let mut text = read(name);
        for part in
            ["com.app.Main", "work", "Main.java", "app\"", "main\"", "pool-1", "build-7", "app.jar"]
        {
            let (word, quote) = part.strip_suffix('"').map_or((part, ""), |word| (word, "\""));
            text = text.replace(part, &format!("{word}{json}{quote}"));
        }
        fs::write(at(name), text).unwrap();
    }
    let time = |by_ns, from_ns| Mark::Time { by_ns, from_ns, ran_us: Some(0) };
    let thrown = Some(format!("a.Oops{ACTS}"));
    let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
    for (offset, mark) in [
        (0, time(5, 1_000)),
        (1, test_mark(&format!("test started a.T.t{ACTS}\ttitle{ACTS}"))),
        (2, test_mark(&format!("a note{ACTS}"))),
        (5, test_mark(&format!("test failed a.T.t{ACTS}\tdetail{ACTS}"))),
        (7, Mark::Unwound { exits: NonZeroU64::MIN, thrown }),
        (8, time(9_000, 9_000)),
    ] {
        encoder.encode(Position { offset: Offset::new(offset), exits: 0 }, &mark, &mut bytes);
    }
    encoder.finish(&mut bytes);
    fs::write(at("thread-1.marks"), bytes).unwrap();
    dir
}

#[test]
fn no_verb_prints_what_acts_on_a_terminal() {
    let (trace, other) = (hostile(), hostile());
    fs::remove_file(other.path().join("thread-12.flow")).unwrap();
    let other = crate::common::text(other.path());
    let mut all: Vec<Vec<&str>> = Vec::new();
    for (_, args) in crate::columns::verbs(&other) {
        for format in ["text", "json", "csv"] {
            all.push([&args[..], &["--format", format]].concat());
        }
        all.push([&args[..], &["--verbose"]].concat());
    }
    for to in [
        "chrome",
        "speedscope",
        "firefox",
        "otlp",
        "mermaid",
        "plantuml",
        "jsonl",
        "csv",
        "collapsed",
        "svg",
    ] {
        all.push(vec!["export", "--force", "--to", to]);
    }
    all.push(vec!["export", "--to", "lcov"]);
    all.push(vec!["top", "--once"]);
    all.push(vec!["top", "--once", "--format", "json"]);
    all.push(vec!["view", "--once", "--thread", "1"]);
    all.push(vec!["report", "--html", "-"]);
    all.push(vec!["replay", "--thread", "\u{9b}none"]);
    let (mut named, mut wrong) = (0, Vec::new());
    for args in all {
        let run = flow(&args, trace.path());
        for text in [&run.out, &run.err] {
            let acts = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            let found = text.lines().find(|line| line.contains(acts));
            wrong.extend(found.map(|line| (args.join(" "), line.to_owned())));
        }
        // Scripts of a page have lines that begin as objects do.
        let is_page = args.contains(&"--html");
        if !args.contains(&"csv") && !args.contains(&"text") && !is_page {
            // One document of several lines, or one a line.
            let objects: Vec<serde_json::Value> = match serde_json::from_str(&run.out) {
                Ok(document) => vec![document],
                Err(_) => {
                    let lines = run.out.lines().filter(|line| line.starts_with('{'));
                    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
                }
            };
            named += objects.iter().filter(|object| object["class"].is_string()).count();
            let exact = |object: &serde_json::Value| {
                ["class", "exception", "text", "test"]
                    .iter()
                    .filter_map(|key| object[key].as_str())
                    .all(|text| !text.contains("\\u{"))
            };
            assert!(objects.iter().all(exact), "{args:?}: {}", run.out);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(named > 20, "{named}");
}

/// The number of calls that the lines of a replay represent: shown, collapsed or below.
fn calls_of(out: &str) -> u64 {
    let number = |text: &str| text.replace(',', "").parse::<u64>().unwrap();
    let mut calls = 0;
    for line in out.lines() {
        if let Some((_, below)) = line.split_once("… ").filter(|(_, text)| text.ends_with(" below"))
        {
            calls += number(below.split(' ').next().unwrap());
        }
        let shown = line.trim_start();
        if shown.starts_with("com.app.") || shown.starts_with("?#") {
            let times = line.split_once('×').map(|(_, text)| text.split(' ').next().unwrap());
            calls += times.map_or(1, number);
        }
    }
    calls
}

#[test]
fn a_replay_of_any_bytes_accounts_for_every_call_and_following_prints_the_same() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for number in 0..24 {
        let bytes: Vec<_> = (0..200)
            .map(|_| match (random() % 8, random().to_le_bytes()[0]) {
                // Any byte in every third file; else calls of four methods, one without a name.
                (0, any) if number % 3 == 0 => any,
                (1..5, any) => 0x80 | (any & 3),
                (_, any) => any & 1,
            })
            .collect();
        let trace = bare(&bytes);
        let info = flow(&["info", "--format", "csv"], trace.path());
        let calls: u64 =
            info.out.lines().nth(1).unwrap().split(',').nth(4).unwrap().parse().unwrap();
        for args in [
            &["replay"][..],
            &["replay", "--collapse"],
            &["replay", "--depth", "2"],
            &["replay", "--collapse", "--depth", "3"],
            &["replay", "--verbose", "--include", "**"],
        ] {
            let run = flow(args, trace.path());
            assert!(matches!(run.code, Some(0 | 1 | 3)), "{args:?} {bytes:x?}: {}", run.err);
            assert_eq!(calls_of(&run.out), calls, "{args:?} {bytes:x?}: {}", run.out);
            let followed = flow(&[args, &["--follow"]].concat(), trace.path());
            let (followed, run) = ((followed.code, followed.out), (run.code, run.out));
            assert_eq!(followed, run, "{args:?} {bytes:x?}");
        }
        let methods = ["replay", "--collapse", "--depth", "1", "--method"];
        let of = |glob| calls_of(&flow(&[&methods[..], &[glob]].concat(), trace.path()).out);
        assert_eq!(of("**"), calls);
        assert!(of("**#work") <= calls);
    }
}
