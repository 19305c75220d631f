//! `flow export --to flowtrace` and `--to flow`: a trace in one file reads like its directory, and becomes it again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::columns::trace;
use crate::common::{Run, command, text, write_trace};

const CODINGS: [&str; 4] = ["off", "lz4", "zstd", "zstd:1"];

fn convert(args: &[&str], from: &Path, to: &Path) -> Run {
    let form =
        if to.extension().is_some_and(|name| name == "flowtrace") { "flowtrace" } else { "flow" };
    command()
        .args(["export", "--to", form])
        .args(args)
        .arg(from)
        .arg("-o")
        .arg(to)
        .output()
        .unwrap()
        .into()
}

/// The files of a directory by name.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().map(Result::unwrap);
    let with_content =
        |entry: fs::DirEntry| (text(entry.file_name()), fs::read(entry.path()).unwrap());
    entries.map(with_content).collect()
}

#[test]
fn a_file_becomes_the_same_directory_again() {
    let (dir, elsewhere) = (trace(), tempfile::tempdir().unwrap());
    assert!(
        command().args(["check", "--index"]).arg(dir.path()).output().unwrap().status.success()
    );
    let before = files(dir.path());
    for coding in CODINGS {
        let file = elsewhere.path().join(format!("{coding}.flowtrace"));
        let back = elsewhere.path().join(coding);
        let there = convert(&["--compress", coding], dir.path(), &file);
        assert_eq!((there.code, &*there.out), (Some(0), ""), "{there:?}");
        let and_back = convert(&[], &file, &back);
        assert_eq!(and_back.code, Some(0), "{and_back:?}");
        assert!(files(&back) == before, "{coding}");
        assert_eq!(files(&back).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    }
    let size = |coding: &str| {
        fs::metadata(elsewhere.path().join(coding).with_extension("flowtrace")).unwrap().len()
    };
    assert!(size("zstd") * 100 < size("off") && size("lz4") * 50 < size("off"));
}

#[test]
fn every_verb_reads_a_file_like_its_directory() {
    let (dir, elsewhere) = (trace(), tempfile::tempdir().unwrap());
    let file = elsewhere.path().join("t.flowtrace");
    assert_eq!(convert(&[], dir.path(), &file).code, Some(0));
    for place in [dir.path(), &file] {
        assert!(command().args(["check", "--index"]).arg(place).output().unwrap().status.success());
    }
    let formats = |verb: &'static str| {
        ["text", "json", "csv"].map(|format| format!("{verb} --format {format}"))
    };
    let verbs = [
        "info",
        "info --verbose",
        "report",
        "report --calls",
        "report --callers **#work",
        "calls --slowest 3",
        "report --paths deepest",
        "report --tree",
        "tests",
        "check",
        "check --index",
        "check --records --max 30",
        "check --marks",
        "replay --max 30",
        "replay --time --max 30",
        "replay --from 1000 --max 30 --thread 14",
    ];
    let exports = ["chrome", "collapsed", "pprof", "speedscope", "firefox", "svg", "csv", "jsonl"];
    let others = ["replay --test a.T.t".to_owned()];
    let exports = exports.map(|to| format!("export --to {to} --thread main"));
    for verb in verbs.into_iter().flat_map(formats).chain(exports).chain(others) {
        let run = |place: &Path| -> Run {
            let mut args = verb.split(' ');
            let (name, rest) = (args.next().unwrap(), args.map(str::to_owned));
            let ran = command().arg(name).args(rest).arg(place).output().unwrap();
            let of = |bytes: &[u8]| {
                String::from_utf8_lossy(bytes).replace(place.to_str().unwrap(), "TRACE")
            };
            Run { code: ran.status.code(), out: of(&ran.stdout), err: of(&ran.stderr) }
        };
        let (expected, found) = (run(dir.path()), run(&file));
        assert_eq!(expected.code, found.code, "{verb}: {found:?}");
        assert!(expected.out == found.out, "{verb}: {}", found.out);
        assert_eq!(expected.err, found.err, "{verb}");
    }
}

#[test]
fn several_traces_become_a_file_each() {
    let (dir, elsewhere) = (trace(), tempfile::tempdir().unwrap());
    write_trace(&dir.path().join("jvm-7-1"));
    let file = elsewhere.path().join("t.flowtrace");
    let run = convert(&[], dir.path(), &file);
    assert_eq!(run.code, Some(0), "{run:?}");
    let names: Vec<_> = files(elsewhere.path()).into_keys().collect();
    assert_eq!(names, ["t-jvm-7-1.flowtrace", "t.flowtrace"]);
    assert!(run.err.contains("t-jvm-7-1.flowtrace: "), "{}", run.err);
    let back = elsewhere.path().join("back");
    assert_eq!(convert(&[], dir.path(), &back).code, Some(0));
    assert!(back.join("jvm-7-1/thread-1.flow").exists());
}

#[test]
fn nothing_is_overwritten_and_nothing_half_written_stays() {
    let (dir, elsewhere) = (trace(), tempfile::tempdir().unwrap());
    let file = elsewhere.path().join("t.flowtrace");
    fs::write(&file, "precious").unwrap();
    let run = convert(&[], dir.path(), &file);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.err.contains("exists already; remove it, or choose another name"), "{}", run.err);
    assert_eq!(fs::read(&file).unwrap(), b"precious");
    let run =
        convert(&["--compress", "zstd:99"], dir.path(), &elsewhere.path().join("u.flowtrace"));
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("a level N from 1 to 19"), "{}", run.err);
    let run = convert(&["--compress", "lz4"], dir.path(), &elsewhere.path().join("u"));
    assert_eq!(run.code, Some(2));
    let run = convert(&[], dir.path(), &elsewhere.path().join("none/u.flowtrace"));
    assert_eq!(run.code, Some(1));
    assert_eq!(files(elsewhere.path()).len(), 1);
}

#[test]
fn a_file_of_another_kind_is_refused_with_a_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("notes.txt");
    fs::write(&file, "these are no calls at all").unwrap();
    let run: Run = command().arg("report").arg(&file).output().unwrap().into();
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("notes.txt: not a trace; name a trace directory"), "{}", run.err);
}

#[test]
fn no_verb_writes_over_a_trace() {
    let (dir, elsewhere) = (trace(), tempfile::tempdir().unwrap());
    let file = elsewhere.path().join("t.flowtrace");
    assert_eq!(convert(&[], dir.path(), &file).code, Some(0));
    let before = fs::read(&file).unwrap();
    for args in [&["report", "--html"][..], &["export", "--to", "collapsed", "--out"]] {
        let run: Run = command().args(args).arg(&file).arg(dir.path()).output().unwrap().into();
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.err.contains("is a trace; name another file to write"), "{}", run.err);
    }
    assert!(fs::read(&file).unwrap() == before);
}

#[test]
fn a_flipped_bit_is_found_and_the_rest_is_read() {
    let (dir, elsewhere) = (trace(), tempfile::tempdir().unwrap());
    let file = elsewhere.path().join("t.flowtrace");
    assert_eq!(convert(&["--compress", "off"], dir.path(), &file).code, Some(0));
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(&file, bytes).unwrap();
    let check: Run = command().arg("check").arg(&file).output().unwrap().into();
    assert_eq!(check.code, Some(1), "{check:?}");
    assert!(check.out.contains("with a wrong checksum"), "{}", check.out);
    let report: Run = command().arg("report").arg(&file).output().unwrap().into();
    assert_eq!(report.code, Some(1));
    assert!(report.out.contains("work") && report.err.contains("offset"), "{report:?}");
}
