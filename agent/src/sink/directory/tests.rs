//! Which directory a JVM gets, and what happens to the files in it.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

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
