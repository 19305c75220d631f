//! `flow replay --from` and `flow check --index`: reading from the middle.

use std::fs;

use crate::common::{flow, trace};

#[test]
fn a_replay_begins_with_any_call_event_offset_or_path() {
    let trace = trace();
    let expected = "\
thread 1 main
… from call 3, event 4, at offset 4, in:
… com.app.Main.main(String[])
  … com.app.Main.work(int)
    com.app.Main$Job.<init>()
  com.app.Main.work(int)
";
    for from in ["3", "call:3", "event:4", "offset:4"] {
        let run = flow(&["replay", "--thread", "main", "--from", from], trace.path());
        assert_eq!((run.out.as_str(), run.code), (expected, Some(0)), "{from}: {}", run.err);
    }
    let run = flow(&["replay", "--from", "**#main > **Job#*"], trace.path());
    let expected = "\
thread 1 main
… from call 2, event 2, at offset 2, in:
… com.app.Main.main(String[])
  … com.app.Main.work(int)
    com.app.Main$Job.<init>()
    com.app.Main$Job.<init>()
  com.app.Main.work(int)
";
    assert_eq!((run.out.as_str(), run.code), (expected, Some(0)), "{}", run.err);
}

#[test]
fn a_position_that_does_not_exist_is_named() {
    let trace = trace();
    let run = flow(&["replay", "--thread", "main", "--from", "5000"], trace.path());
    assert_eq!(
        (run.err.as_str(), run.code),
        ("flow: there is no call 5,000 (flow info shows how many calls there are)\n", Some(1))
    );
    let run = flow(&["replay", "--from", "**#nothing"], trace.path());
    assert!(run.err.contains("no method matches '**#nothing'"), "{}", run.err);
    let run = flow(&["replay", "--from", "Main#main > Main#main"], trace.path());
    assert!(run.err.contains("there is no such call"), "{}", run.err);
    // A number is a position in one thread.
    let run = flow(&["replay", "--from", "1"], trace.path());
    assert!(run.err.contains("choose one with --thread"), "{}", run.err);
    assert_eq!(run.code, Some(2));
    let run = flow(&["replay", "--from", "event:x"], trace.path());
    assert!(run.err.contains("found 'event:x'"), "{}", run.err);
    assert_eq!(run.code, Some(2));
}

#[test]
fn an_index_changes_no_answer_and_can_be_taken_away() {
    let dir = tempfile::tempdir().unwrap();
    let round = [0x81, 0x82, 0x00, 0xC3, 0x05, 0x00, 0x00];
    fs::write(dir.path().join("thread-1.flow"), round.repeat(700_000)).unwrap();
    fs::write(dir.path().join("thread-2.flow"), round).unwrap();
    let from = || {
        let args = ["replay", "--thread", "1", "--from", "2000000", "--max", "20"];
        let run = flow(&args, dir.path());
        assert_eq!(run.code, Some(0), "{}", run.err);
        run.out
    };
    let place = dir.path().join("thread-1.idx");
    let without = from();
    let run = flow(&["check", "--index"], dir.path());
    assert_eq!(
        run.out,
        "    calls    size   index  state    shapes  thread\n\
         2,100,000  4.6 MB  4.7 KB  created    none  1\n\
         1 thread of less than 4.0 MB needs no index\n"
    );
    assert_eq!(from(), without);
    let run = flow(&["check", "--index", "--format", "csv"], dir.path());
    // flow writes two exits as one record.
    let expected = ".,1,2100000,4200000,4900000,4880,already existed,\
                    3,0,events are not in canonical form";
    assert_eq!(run.out.lines().nth(1), Some(expected));

    fs::write(&place, "nonsense").unwrap();
    assert_eq!(from(), without);
    let run = flow(&["check", "--index"], dir.path());
    assert!(run.out.contains("created again") && run.err.contains("cut short"), "{}", run.err);

    assert_eq!(flow(&["check", "--remove-index"], dir.path()).code, Some(0));
    assert!(!place.exists());
    assert_eq!(
        flow(&["check", "--remove-index"], dir.path()).code,
        Some(0),
        "once more does no harm"
    );
}
