//! The application's own classes: `--own`, and the hint where a library made most of the calls.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::common::{Run, flow, manifest};

const IDS: &str = "demo.Main#main([Ljava/lang/String;)V=0\n\
    demo.Orders#order(I)V=1\n\
    com.fast.json.core.Parser#parse()V=2\n\
    com.fast.json.data.Mapper#read()V=3\n\
    org.springframework.boot.loader.Launcher#main([Ljava/lang/String;)V=4\n";

/// Launcher.main > Main.main > (600 times order > read > parse).
fn trace(own: Option<&str>) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut events = vec![0x84, 0x80];
    events.extend([0x81, 0x83, 0x82, 0x02].repeat(600));
    fs::write(dir.path().join("ids.properties"), IDS).unwrap();
    fs::write(dir.path().join("thread-1.flow"), &events).unwrap();
    if let Some(own) = own {
        let manifest = manifest(0, None).replacen('{', &format!("{{\"own\":[{own}],"), 1);
        fs::write(dir.path().join("trace.json"), manifest).unwrap();
    }
    dir
}

fn by_calls(args: &[&str], dir: &Path) -> Run {
    flow(&[&["report", "--by", "calls"], args].concat(), dir)
}

#[test]
fn own_shows_the_calls_of_the_application() {
    let dir = trace(Some("\"demo.**\""));
    let own = by_calls(&["--own"], dir.path());
    assert_eq!((own.code, own.err.as_str()), (Some(0), ""));
    assert_eq!(own.out, by_calls(&["--include", "demo.**"], dir.path()).out);
    assert!(own.out.contains("demo.Orders.order(int)") && !own.out.contains("json"), "{}", own.out);
    // Together with another pattern, both count.
    let both = by_calls(&["--own", "--include", "Parser"], dir.path());
    assert!(both.out.contains("Parser.parse()") && !both.out.contains("Mapper"), "{}", both.out);
    let dir = dir.path();
    for verb in [
        &["replay"][..],
        &["report", "--tree"],
        &["tests"],
        &["export", "--to", "csv"],
        &["report", "--html", "-"],
        &["diff", dir.to_str().unwrap()],
    ] {
        let run = flow(&[verb, &["--own"]].concat(), dir);
        assert_eq!(run.code, Some(0), "{verb:?}: {}", run.err);
        assert!(!run.out.contains("Mapper"), "{verb:?}: {}", run.out);
    }
}

#[test]
fn a_trace_that_does_not_know_its_application_is_refused_with_a_likely_package() {
    for own in [None, Some("")] {
        let dir = trace(own);
        for verb in [
            &["report"][..],
            &["replay"],
            &["report", "--tree"],
            &["tests"],
            &["replay", "--follow"],
        ] {
            let run = flow(&[verb, &["--own"]].concat(), dir.path());
            assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{verb:?}");
            assert!(
                run.err.contains("own=); --include 'demo.**' may be what you mean"),
                "{}",
                run.err
            );
        }
    }
}

#[test]
fn a_library_that_made_most_of_the_calls_is_named() {
    let share =
        "flow: 66.6% of the calls are in com.fast.json; --exclude 'com.fast.json.**' hides them, ";
    for (own, alone) in [
        (Some("\"demo.**\""), "--own shows the application alone\n"),
        (None, "--include 'demo.**' shows the application alone\n"),
    ] {
        let dir = trace(own);
        let run = by_calls(&[], dir.path());
        assert_eq!(run.err, format!("{share}{alone}"));
        // Not if something is hidden already, and not for programs.
        for args in [&["--exclude", "Parser"][..], &["--format", "json"], &["--include", "demo.**"]]
        {
            assert_eq!(by_calls(args, dir.path()).err, "", "{args:?}");
        }
    }
    // A program of that package.
    let dir = trace(Some("\"com.fast.app.**\",\"com.fast.json.**\""));
    assert_eq!(by_calls(&[], dir.path()).err, "");
}
