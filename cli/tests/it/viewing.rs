//! `flow view --once`: the first screen, as text. The keys are tested beside the view.

use std::fs;
use std::num::NonZeroU64;

use flow_codec::Offset;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};

use crate::common::{MAIN, Run, bare, command, flow, text, trace};

#[test]
fn several_threads_are_listed_and_one_is_unfolded() {
    let trace = trace();
    let run = flow(&["view", "--once"], trace.path());
    let mut lines = run.out.lines();
    assert!(lines.next().unwrap().ends_with(", 3 threads"), "{}", run.out);
    let rows: Vec<_> = lines.map(str::to_owned).collect();
    assert_eq!(
        rows,
        [
            "         calls          begins       lasts  thread",
            "             5      0.000000 s        8 ns  1 main",
            "             1      0.000000 s              12 pool-1",
            "             1      0.000000 s              13",
        ]
    );
    let run = flow(&["view", "--once", "--thread", "main"], trace.path());
    let rows: Vec<_> = run.out.lines().skip(1).collect();
    assert_eq!(
        rows,
        [
            "calls    call",
            "    5  ▾ com.app.Main.main(String[])",
            "    3    ▸ com.app.Main.work(int)",
            "    1      com.app.Main.work(int)",
        ]
    );
    let run = flow(&["view", "--once", "--thread", "pool-1"], trace.path());
    assert!(run.out.ends_with("    1    com.app.Main.work(int)\n"), "{}", run.out);
    let run = flow(&["view", "--once", "--thread", "13"], trace.path());
    assert!(run.out.ends_with("    1    com.app.Main.work(int)  still open\n"), "{}", run.out);
}

/// Times of 1 ms between the events of [`MAIN`], of which the second call of the constructor throws.
fn timed() -> tempfile::TempDir {
    let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
    let positions =
        [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (5, 1), (6, 0), (7, 0), (7, 1), (8, 0)];
    for (number, (offset, exits)) in (1_u64..).zip(positions) {
        let position = Position { offset: Offset::new(offset), exits };
        let ns = number * 1_000_000;
        encoder.encode(position, &Mark::Time { by_ns: ns, from_ns: ns, ran_us: None }, &mut bytes);
        if (offset, exits) == (5, 0) {
            let thrown = Some("x.Oops".to_owned());
            encoder.encode(position, &Mark::Unwound { exits: NonZeroU64::MIN, thrown }, &mut bytes);
        }
    }
    encoder.finish(&mut bytes);
    let dir = bare(MAIN);
    fs::write(dir.path().join("thread-1.marks"), bytes).unwrap();
    dir
}

#[test]
fn rows_have_times_and_show_which_exception_ended_them() {
    let dir = timed();
    let run = flow(&["view", "--once", "--from", "3"], dir.path());
    let rows: Vec<_> = run.out.lines().skip(1).collect();
    assert_eq!(
        rows,
        [
            "duration      self  calls    call",
            " 9.00 ms  ~3.00 ms      5  ▾ com.app.Main.main(String[])",
            " 5.00 ms  ~3.00 ms      3    ▾ com.app.Main.work(int)",
            "~1.00 ms  ~1.00 ms      1        com.app.Main$Job.<init>()",
            "~1.00 ms  ~1.00 ms      1        com.app.Main$Job.<init>()  ! Oops",
            "~1.00 ms  ~1.00 ms      1      com.app.Main.work(int)",
        ]
    );
}

#[test]
fn lines_fit_and_names_are_harmless() {
    let dir = bare(MAIN);
    let ids = "com.app.a.very.long.name.of.a.package.Main#ma\\u001b[2Jin([Ljava/lang/String;)V=0\n";
    fs::write(dir.path().join("ids.properties"), ids).unwrap();
    for width in ["24", "40", "80", "200"] {
        let run = flow(&["view", "--once", "--width", width], dir.path());
        assert!(!run.out.contains('\u{1b}'), "{}", run.out);
        let rows: Vec<_> = run.out.lines().skip(1).collect();
        let width: usize = width.parse().unwrap();
        assert!(rows.iter().all(|row| row.chars().count() <= width), "{width}: {}", run.out);
        assert_eq!(rows.len(), 4, "{}", run.out);
    }
}

#[test]
fn what_cannot_be_shown_is_explained() {
    let trace = trace();
    let run: Run = command().args(["view", &text(trace.path())]).output().unwrap().into();
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("needs a terminal; with --once"), "{}", run.err);
    let run = flow(&["view", "--once", "--from", "7"], trace.path());
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("choose one with --thread"), "{}", run.err);
    let run = flow(&["view", "--once", "--from", "7", "--thread", "1"], trace.path());
    assert!(run.err.contains("this thread has no call 7"), "{}", run.err);
    assert!(run.out.contains("com.app.Main.main(String[])"), "{}", run.out);
    // Damage is left out, and reported.
    let dir = bare(&[&[0x80, 0xFF, 0xFF, 0xFF][..], &[0xFF; 20], &[0x00, 0x81]].concat());
    let run = flow(&["view", "--once"], dir.path());
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("1 place of this thread cannot be read"), "{}", run.err);
    assert!(run.out.contains("com.app.Main.work(int)  still open"), "{}", run.out);
    for thread in [1, 12, 13] {
        fs::remove_file(trace.path().join(format!("thread-{thread}.flow"))).unwrap();
    }
    let run = flow(&["view", "--once"], trace.path());
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("no calls were recorded"), "{}", run.err);
    let run = flow(&["view", "--once"], &dir.path().join("none"));
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("no such directory"), "{}", run.err);
}
