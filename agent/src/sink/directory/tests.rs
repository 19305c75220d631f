//! Which directory a JVM gets, and what happens to the files in it.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use flow_codec::format::manifest::{End, Manifest, Totals};

use super::earlier::further_traces;
use super::*;

fn write_trace(dir: &TraceDirectory, text: &str) {
    io::Write::write_all(&mut dir.create("trace.json").unwrap(), text.as_bytes()).unwrap();
}

#[test]
fn links_and_fifos_of_others_are_neither_followed_nor_waited_for() {
    let root = tempfile::tempdir().unwrap();
    let (out, old) = (root.path().join("out"), root.path().join("out.old"));
    let victim = root.path().join("victim");
    fs::create_dir_all(victim.join("before-repair")).unwrap();
    for name in ["trace.json", "thread-1.flow", "before-repair/trace.json", ".lock"] {
        fs::write(victim.join(name), "precious").unwrap();
    }
    write_trace(&TraceDirectory::open(&out, None).unwrap(), "one");
    fs::create_dir_all(old.join("jvm-1-x")).unwrap();
    fs::create_dir_all(out.join("jvm-2-x")).unwrap();
    let link = |target: &str, at: PathBuf| {
        std::os::unix::fs::symlink(victim.join(target), at).unwrap();
    };
    link("before-repair", old.join("before-repair"));
    link("before-repair", old.join("jvm-1-x/before-repair"));
    link("", old.join("jvm-3-x"));
    link("thread-1.flow", old.join("thread-1.flow"));
    link(".lock", out.join("jvm-2-x/.lock"));
    let fifo = std::process::Command::new("mkfifo").arg(old.join("jvm-1-x/.lock")).status();
    assert!(fifo.unwrap().success());
    let dir = TraceDirectory::open(&out, None).unwrap();
    assert_eq!(dir.path(), out, "the earlier trace moved away");
    assert!(old.join("trace.json").exists() && !old.join("thread-1.flow").is_symlink());
    for name in ["trace.json", "thread-1.flow", "before-repair/trace.json", ".lock"] {
        assert!(victim.join(name).exists(), "{name}");
    }
}

#[test]
fn a_fifo_in_the_place_of_a_lock_is_not_waited_for() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    write_trace(&TraceDirectory::open(&out, None).unwrap(), "one");
    fs::create_dir(out.join("jvm-1-x")).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(out.join("jvm-1-x/.lock")).status();
    assert!(fifo.unwrap().success());
    assert_eq!(TraceDirectory::open(&out, None).unwrap().path(), out);
}

#[test]
fn an_earlier_trace_moves_away_and_other_files_stay() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("a/b/out");
    for run in ["one", "two", "three"] {
        let dir = TraceDirectory::open(&out, None).unwrap();
        assert_eq!(dir.path(), out);
        write_trace(&dir, run);
        fs::write(out.join("notes.txt"), run).unwrap();
    }
    assert_eq!(fs::read_to_string(out.join("trace.json")).unwrap(), "three");
    assert_eq!(fs::read_to_string(out.join("notes.txt")).unwrap(), "three");
    let old = root.path().join("a/b/out.old");
    assert_eq!(fs::read_to_string(old.join("trace.json")).unwrap(), "two");
    assert!(!old.join("notes.txt").exists());
}

/// Records a trace with this text in place of its manifest, and one thread.
fn record(out: &Path, keep: usize, text: &str) {
    let dir = TraceDirectory::open_keeping(out, None, keep).unwrap();
    fs::write(dir.path().join("thread-1.flow"), text).unwrap();
    write_trace(&dir, text);
    let totals = Totals { threads: 1, enters: 1, bytes: 1, ..Totals::default() };
    assert!(!dir.settle_earlier(&End { totals, ..End::default() }));
}

/// Records a trace without calls; returns whether the earlier one was put back.
fn record_nothing(out: &Path, keep: usize) -> bool {
    let dir = TraceDirectory::open_keeping(out, None, keep).unwrap();
    let manifest = Manifest { end: Some(End::default()), ..Manifest::default() };
    write_trace(&dir, &serde_json::to_string(&manifest).unwrap());
    dir.settle_earlier(&End::default())
}

/// The traces in a directory and its earlier ones, up to a place without one.
fn traces(out: &Path) -> Vec<String> {
    let name = out.display();
    let places = [
        format!("{name}"),
        format!("{name}.old"),
        format!("{name}.old.2"),
        format!("{name}.old.3"),
    ];
    let text = |place: &String| {
        let whole = fs::read_to_string(Path::new(place).join("trace.json")).ok()?;
        assert_eq!(fs::read_to_string(Path::new(place).join("thread-1.flow")).unwrap(), whole);
        Some(whole)
    };
    places.iter().map_while(text).collect()
}

#[test]
fn the_given_number_of_earlier_traces_is_kept() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    for (keep, text, expected) in [
        (0, "1", &["1"][..]),
        (0, "2", &["2"]),
        (1, "3", &["3", "2"]),
        (2, "4", &["4", "3", "2"]),
        (2, "5", &["5", "4", "3"]),
        (3, "6", &["6", "5", "4", "3"]),
        (1, "7", &["7", "6"]),
    ] {
        record(&out, keep, text);
        assert_eq!(traces(&out), expected, "keep={keep}");
    }
    assert!(!root.path().join("out.old.2").exists());
    fs::remove_file(root.path().join("out.old/.lock")).unwrap_or_default();
    record(&root.path().join("out/"), 1, "8");
    assert_eq!(traces(&out), ["8", "7"], "with a slash at its end");
}

#[test]
fn a_recording_without_calls_replaces_nothing() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    assert!(!record_nothing(&out, 1), "there is nothing to put back");
    record(&out, 1, "1");
    assert!(!root.path().join("out.old").exists(), "a trace without calls is not kept");
    record(&out, 1, "2");
    for place in ["out", "out.old"] {
        fs::write(root.path().join(place).join("thesis.txt"), "mine").unwrap();
    }
    for keep in [1, 0, 2] {
        assert!(record_nothing(&out, keep));
        let expected = if keep == 1 { &["2", "1"][..] } else { &["2"] };
        assert_eq!(traces(&out), expected, "keep={keep}");
    }
    for place in ["out", "out.old"] {
        assert!(root.path().join(place).join("thesis.txt").exists());
    }
    // Killed before its end.
    let dir = TraceDirectory::open(&out, None).unwrap();
    let manifest = Manifest { format_version: 1, ..Manifest::default() };
    write_trace(&dir, &serde_json::to_string(&manifest).unwrap());
    drop(dir);
    assert_eq!(fs::read_to_string(root.path().join("out.old/trace.json")).unwrap(), "2");
    record(&out, 1, "3");
    assert_eq!(traces(&out), ["3", "2"]);
}

#[test]
fn a_trace_of_another_jvm_inside_is_not_moved_under_its_feet() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    record(&out, 1, "1");
    let first = TraceDirectory::open(&out, None).unwrap();
    let _second = TraceDirectory::open(&out, None).unwrap();
    assert!(!first.settle_earlier(&End::default()));
    assert_eq!(fs::read_to_string(root.path().join("out.old/trace.json")).unwrap(), "1");
}

#[test]
fn a_move_that_was_interrupted_loses_nothing() {
    let root = tempfile::tempdir().unwrap();
    let files = ["ids.properties", "thread-1.flow", "trace.json"];
    // How many files are linked, and how many of those removed from the first place.
    for (linked, removed) in [(1, 0), (2, 0), (3, 0), (3, 1), (3, 2)] {
        for removed_first in [0, 1, 2] {
            let out = root.path().join(format!("{linked}-{removed}-{removed_first}"));
            let old = root.path().join(format!("{linked}-{removed}-{removed_first}.old"));
            record(&out, 1, "1");
            record(&out, 1, "2");
            fs::write(out.join("ids.properties"), "").unwrap();
            // The older one has moved on already.
            fs::rename(&old, old.with_extension("old.2")).unwrap();
            fs::create_dir(&old).unwrap();
            for name in &files[..linked] {
                fs::hard_link(out.join(name), old.join(name)).unwrap();
            }
            for name in files.iter().cycle().skip(removed_first).take(removed) {
                fs::remove_file(out.join(name)).unwrap();
            }
            record(&out, 2, "3");
            assert_eq!(traces(&out), ["3", "2", "1"], "{linked} {removed} {removed_first}");
        }
    }
}

#[test]
fn files_kept_by_a_repair_move_away_and_are_then_removed() {
    let root = tempfile::tempdir().unwrap();
    let (out, old) = (root.path().join("out"), root.path().join("out.old"));
    for journal in ["one", "two"] {
        write_trace(&TraceDirectory::open(&out, None).unwrap(), journal);
        fs::create_dir(out.join("before-repair")).unwrap();
        fs::write(out.join("before-repair/journal"), journal).unwrap();
    }
    TraceDirectory::open(&out, None).unwrap();
    assert!(!out.join("before-repair").exists());
    assert_eq!(fs::read_to_string(old.join("before-repair/journal")).unwrap(), "two");
}

#[test]
fn a_directory_in_use_gets_a_trace_inside() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    let first = TraceDirectory::open(&out, None).unwrap();
    write_trace(&first, "first");
    let second = TraceDirectory::open(&out, None).unwrap();
    assert_eq!(second.path().parent(), Some(out.as_path()));
    write_trace(&second, "second");
    assert_eq!(fs::read_to_string(out.join("trace.json")).unwrap(), "first");

    // The first one ends; the second still lives inside, so nothing is moved.
    drop(first);
    let further = second.path().file_name().unwrap().to_owned();
    let third = TraceDirectory::open(&out, None).unwrap();
    assert_ne!(third.path(), out);
    drop((second, third));
    let fourth = TraceDirectory::open(&out, None).unwrap();
    assert_eq!(fourth.path(), out);
    let old = root.path().join("out.old");
    assert_eq!(fs::read_to_string(old.join("trace.json")).unwrap(), "first");
    assert_eq!(fs::read_to_string(old.join(further).join("trace.json")).unwrap(), "second");
}

#[test]
fn jvms_of_one_session_keep_each_others_traces() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    let manifest = |session| {
        format!(
            "{{\"format_version\":1,\"tool\":\"\",\"engine\":\"\",\"event_format\":\"\",\
             \"options\":{{}},\"pid\":1,\"host\":\"\",\"command\":[],\"jvm\":{{\"name\":\"\",\
             \"version\":\"\",\"home\":\"\"}},\"start_unix_ns\":1,\"session\":\"{session}\"}}"
        )
    };
    for (session, further) in [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)] {
        let dir = TraceDirectory::open(&out, Some(session)).unwrap();
        write_trace(&dir, &manifest(session));
        fs::write(dir.path().join("thread-1.flow"), "calls").unwrap();
        assert_eq!(further_traces(&out).len(), further, "{session}");
    }
    assert_eq!(further_traces(&root.path().join("out.old")).len(), 2);
}

#[test]
fn jvms_that_open_at_the_same_time_get_different_directories() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    write_trace(&TraceDirectory::open(&out, None).unwrap(), "earlier");
    let opened: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..20).map(|_| scope.spawn(|| TraceDirectory::open(&out, None).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for dir in &opened {
        write_trace(dir, &dir.path().display().to_string());
    }
    let mut paths: Vec<_> = opened.iter().map(|dir| dir.path().to_owned()).collect();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), 20);
    assert!(paths.contains(&out));
    for path in paths {
        let text = fs::read_to_string(path.join("trace.json")).unwrap();
        assert_eq!(text, path.display().to_string(), "it was not moved");
    }
}

#[test]
fn reserved_space_is_given_back() {
    let root = tempfile::tempdir().unwrap();
    let dir = TraceDirectory::open(&root.path().join("out"), None).unwrap();
    write_trace(&dir, "old");
    let reserved = dir.reserve("trace.json", 16384).unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("trace.json")).unwrap(), "old");
    reserved.finish(b"new").unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("trace.json")).unwrap(), "new");
    assert!(!dir.path().join("trace.json.new").exists());
}

#[test]
fn only_the_owner_may_read() {
    let root = tempfile::tempdir().unwrap();
    let dir = TraceDirectory::open(&root.path().join("out"), None).unwrap();
    write_trace(&dir, "x");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(dir.path()), 0o700);
    assert_eq!(mode(&dir.path().join("trace.json")), 0o600);
}

#[test]
fn the_mode_of_an_existing_file_stays() {
    let root = tempfile::tempdir().unwrap();
    let (out, victim) = (root.path().join("out"), root.path().join("victim"));
    fs::create_dir(&out).unwrap();
    fs::write(&victim, "").unwrap();
    fs::set_permissions(&victim, fs::Permissions::from_mode(0o644)).unwrap();
    fs::hard_link(&victim, out.join(".lock")).unwrap();
    TraceDirectory::open(&out, None).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&victim), 0o644);
    assert_eq!(mode(&out.join(".gate")), 0o600, "this one is ours");
}

#[test]
fn links_and_other_files_in_our_place_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("target");
    fs::create_dir(&target).unwrap();
    let link = root.path().join("link");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let error = TraceDirectory::open(&link, None).unwrap_err().to_string();
    assert!(error.contains("is a symbolic link; give"), "{error}");

    fs::write(root.path().join("file"), "").unwrap();
    let error = TraceDirectory::open(&root.path().join("file"), None).unwrap_err().to_string();
    assert!(error.contains("is not a directory"), "{error}");

    std::os::unix::fs::symlink("/dev/null", target.join("ids.properties")).unwrap();
    let error = TraceDirectory::open(&target, None).unwrap_err().to_string();
    assert!(error.contains("ids.properties in it is not a regular file"), "{error}");
}

#[test]
fn a_replaced_file_has_the_new_content() {
    let root = tempfile::tempdir().unwrap();
    let dir = TraceDirectory::open(&root.path().join("out"), None).unwrap();
    write_trace(&dir, "old");
    dir.replace("trace.json", b"new").unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("trace.json")).unwrap(), "new");
    assert!(!dir.path().join("trace.json.new").exists());
}

#[test]
fn out_may_name_process_time_and_host() {
    let pid = std::process::id();
    assert_eq!(expand("t-%p-%%-%x-%"), format!("t-{pid}-%-%x-%"));
    assert_eq!(expand("%t").len(), "20260131T235959Z".len());
    assert_eq!(expand("%h"), host());
}
