//! The folder of recordings: `flow record` without a place, and verbs without a trace.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::common::{Run, bare, command, flow, manifest, script, trace, write_trace};
use tempfile::TempDir;

/// A folder with a program in place of `java`, which copies a trace to where the agent would write one.
struct Place {
    dir: TempDir,
    java: PathBuf,
    /// The start of the next run: in the future, because `flow record` ignores what began before it.
    next_ns: Cell<u64>,
}

/// Writes the trace in a directory as one file.
fn write_file(source: &Path, file: &Path) {
    let _ = fs::remove_file(file);
    let run = flow(&["export", "--to", "flowtrace", "-o", file.to_str().unwrap()], source);
    assert_eq!(run.code, Some(0), "{run:?}");
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("libflowagent.so"), "").unwrap();
        let java = script(
            dir.path(),
            "java",
            "out=${1#*=out=}; out=${out%%,*}\n[ -z \"$RECORDED\" ] || cp \"$RECORDED\" \"$out\"\n",
        );
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        let next_ns = Cell::new(u64::try_from(now).unwrap() + 3_600_000_000_000);
        Self { dir, java, next_ns }
    }

    /// Runs `flow record ARGS -- java -cp x demo.App`, where the program records the trace in a directory with this number of
    /// calls in its end; without one it records nothing.
    fn record(&self, args: &[&str], recorded: Option<(&Path, u64)>) -> Run {
        let start = self.next_ns.replace(self.next_ns.get() + 1_000_000);
        let file = self.dir.path().join("recorded.flowtrace");
        let mut record = command();
        record.args(["record", "--all", "--agent", "libflowagent.so"]).args(args);
        record.arg("--").arg(&self.java).args(["-cp", "x", "demo.App"]);
        if let Some((source, calls)) = recorded {
            fs::write(source.join("trace.json"), manifest(start, Some((calls, calls, calls))))
                .unwrap();
            write_file(source, &file);
            record.env("RECORDED", &file);
        }
        record.current_dir(self.dir.path()).output().unwrap().into()
    }

    fn flow(&self, args: &[&str]) -> Run {
        command().args(args).current_dir(self.dir.path()).output().unwrap().into()
    }

    /// The names in the folder, without hidden ones.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path().join("flow-trace")).into_iter().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        names
    }

    /// The names that were not there before.
    fn new_names(&self, before: &[String]) -> Vec<String> {
        self.names().into_iter().filter(|name| !before.contains(name)).collect()
    }
}

#[test]
fn a_run_has_a_file_of_its_own_and_verbs_show_the_newest() {
    let place = Place::new();
    let (first, second) = (trace(), bare(&[0x80, 0x00]));
    let run = place.record(&[], Some((first.path(), 7)));
    assert_eq!(run.code, Some(0), "{run:?}");
    let names = place.names();
    let [one] = &names[..] else { panic!("{names:?}") };
    assert!(one.starts_with("20") && one.ends_with("Z-App.flowtrace"), "{one}");
    assert!(run.err.contains(&format!(" B in flow-trace/{one}\n")), "{}", run.err);
    // What comes next needs no name.
    assert!(run.err.contains("\nflow:   flow report         calls per method\n"), "{}", run.err);
    let report = place.flow(&["report", "--by", "calls"]);
    assert_eq!((report.code, report.err.as_str()), (Some(0), ""), "one run needs no word");

    assert_eq!(place.record(&[], Some((second.path(), 1))).code, Some(0));
    let new = place.new_names(&names);
    let [two] = &new[..] else { panic!("{new:?}") };
    let said = format!(
        "flow: flow-trace has 2 runs; this is the newest, {two} (flow info --all lists them)\n"
    );
    let path = format!("flow-trace/{two}");
    let run = place.flow(&["diff", "1:0", "1:0"]);
    assert_eq!((run.code, run.err), (Some(0), said.clone()), "reported once for both calls");
    for args in [
        &["report"][..],
        &["report", "--format", "json"],
        &["replay"],
        &["replay", "--follow"],
        &["info"],
        &["calls", "main"],
        &["check"],
        &["view", "--once"],
        &["export", "--to", "jsonl"],
    ] {
        for folder in [None, Some("flow-trace")] {
            // The word after a method is the trace.
            let args: Vec<_> = args.iter().copied().chain(folder).collect();
            let (newest, named) =
                (place.flow(&args), args.iter().filter(|arg| **arg != "flow-trace"));
            let named: Vec<_> = named.copied().chain([path.as_str()]).collect();
            let named = place.flow(&named);
            assert_eq!(newest.err.matches(&said).count(), 1, "{args:?}: {}", newest.err);
            assert_eq!(newest.out, named.out, "{args:?}");
            assert_eq!(newest.code, named.code, "{args:?}");
        }
    }
    // The other run by its name.
    let older = place.flow(&["report", "--by", "calls", &format!("flow-trace/{one}")]);
    assert_eq!((older.out, older.err.as_str()), (report.out, ""));
}

#[test]
fn a_run_without_calls_is_reported_and_is_not_the_newest() {
    let place = Place::new();
    let source = trace();
    place.record(&[], Some((source.path(), 7)));
    let names = place.names();
    let empty = tempfile::tempdir().unwrap();
    fs::write(empty.path().join("ids.properties"), "").unwrap();
    // A JVM that called nothing, and a command without a JVM.
    let run = place.record(&[], Some((empty.path(), 0)));
    let new = place.new_names(&names);
    assert!(run.err.contains(&format!("recorded 0 calls; the trace in flow-trace/{}", new[0])));
    let report = place.flow(&["report"]);
    let said = format!(
        "flow: flow-trace: the newest run, {}, recorded 0 calls; this is the run before it, {}\n",
        new[0], names[0]
    );
    assert_eq!((report.err.as_str(), report.code), (&*said, Some(0)));
    assert!(report.out.contains("com.app.Main.main"), "{}", report.out);

    let place = Place::new();
    place.record(&[], Some((source.path(), 7)));
    // Until then the file is older than the note.
    let file = format!("flow-trace/{}", place.names()[0]);
    fs::write(source.path().join("trace.json"), manifest(0, Some((7, 8, 12)))).unwrap();
    write_file(source.path(), &place.dir.path().join(&file));
    let run = place.record(&[], None);
    assert!(run.err.ends_with("; flow-trace has earlier runs\n"), "{}", run.err);
    assert_eq!(place.names().len(), 1, "the name was given back");
    let report = place.flow(&["report"]);
    assert!(
        report
            .err
            .contains(": a later run recorded 0 calls; this is the trace of the run before it")
    );
    // Without any run, nothing is left behind.
    let place = Place::new();
    place.record(&[], None);
    assert!(!place.dir.path().join("flow-trace").exists());
}

#[test]
fn the_oldest_runs_are_removed_and_renamed_ones_stay() {
    let place = Place::new();
    let source = trace();
    place.record(&[], Some((source.path(), 7)));
    let folder = place.dir.path().join("flow-trace");
    let first = place.names();
    fs::rename(folder.join(&first[0]), folder.join("good.flowtrace")).unwrap();
    let mut expected = vec!["good.flowtrace".to_owned()];
    for number in 1..=3 {
        let before = place.names();
        let run = place.record(&["--keep-runs", "2"], Some((source.path(), 7)));
        assert_eq!(run.code, Some(0), "{run:?}");
        let new = place.names().into_iter().find(|name| !before.contains(name)).unwrap();
        if number == 1 {
            // What belongs to it goes with it.
            let stem = new.strip_suffix(".flowtrace").unwrap();
            for beside in
                ["-jvm-7-20261127T120001Z.flowtrace", "-snapshot-1.flowtrace", ".flowtrace.idx"]
            {
                fs::copy(folder.join(&new), folder.join(format!("{stem}{beside}"))).unwrap();
            }
        }
        let oldest = expected.get(1).cloned().unwrap_or_default();
        let removed = format!(
            "flow: removed flow-trace/{oldest}: only the newest 2 runs are kept (--keep-runs)\n"
        );
        assert_eq!(run.err.contains(&removed), number == 3, "{}", run.err);
        expected.push(new);
    }
    expected.remove(1);
    expected.sort();
    assert_eq!(place.names(), expected);
}

#[test]
fn the_last_two_runs_are_compared() {
    let place = Place::new();
    let (first, second) = (trace(), bare(&[0x80, 0x00]));
    let run = place.flow(&["diff"]);
    assert!(run.err.contains("nothing to compare with"), "{}", run.err);
    place.record(&[], Some((first.path(), 7)));
    let run = place.flow(&["diff"]);
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("flow-trace has only one run with calls, "), "{}", run.err);
    let one = place.names();
    place.record(&[], Some((second.path(), 1)));
    let two = place.new_names(&one);
    let paths = [&one[0], &two[0]].map(|name| format!("flow-trace/{name}"));
    for args in
        [&["diff"][..], &["diff", "--exact"], &["diff", "--format", "json"], &["diff", "--methods"]]
    {
        let run = place.flow(args);
        let named = place.flow(&[args, &[&paths[0], &paths[1]]].concat());
        let said =
            format!("flow: flow-trace: comparing the last two runs, {} and {}\n", one[0], two[0]);
        assert_eq!((run.out, run.code), (named.out, named.code), "{args:?}");
        assert!(run.err.starts_with(&said), "{args:?}: {}", run.err);
    }
}

#[test]
fn the_runs_are_listed() {
    let place = Place::new();
    let source = trace();
    let run = place.flow(&["info", "--all"]);
    assert!(run.err.contains("flow-trace: not a folder of recordings, which flow record makes"));
    assert_eq!(run.code, Some(1));
    place.record(&[], Some((source.path(), 7)));
    let one = place.names();
    place.record(&[], Some((source.path(), 9)));
    let names = [one[0].clone(), place.new_names(&one)[0].clone()];
    let run = place.flow(&["info", "--all", "--format", "csv"]);
    let lines: Vec<_> = run.out.lines().collect();
    assert_eq!(
        lines[0],
        "run,start_unix_ns,duration_ns,calls,bytes,tests,failed,state,jvms,version,command"
    );
    for (line, (name, calls)) in lines[1..].iter().zip([(&names[0], 7), (&names[1], 9)]) {
        assert!(line.starts_with(&format!("flow-trace/{name},")), "{line}");
        assert!(line.contains(&format!(",1500000000,{calls},")), "{line}");
        assert!(line.ends_with(",0,0,finished,1,17,java -jar app.jar"), "{line}");
    }
    let run = place.flow(&["info", "--all", "flow-trace"]);
    let lines: Vec<_> = run.out.lines().collect();
    assert_eq!(lines[0], "folder flow-trace");
    assert!(lines[1].starts_with("duration  calls "), "{}", run.out);
    assert!(lines[3].contains("1.50 s") && lines[3].ends_with(&names[1]), "{}", run.out);
    // A person can type what is shown, also on a narrow terminal.
    let narrow = place.flow(&["info", "--all", "--width", "80"]);
    assert_eq!(narrow.out, run.out);
    let folder = place.dir.path().join("flow-trace");
    fs::rename(folder.join(&names[0]), folder.join("good.flowtrace")).unwrap();
    let run = place.flow(&["info", "--all"]);
    assert!(run.out.contains("\nstarted "), "{}", run.out);
}

#[test]
fn a_trace_directory_in_the_place_of_the_folder_is_read_until_there_is_a_newer_run() {
    let place = Place::new();
    write_trace(&place.dir.path().join("flow-trace"));
    let old = place.flow(&["report"]);
    assert_eq!((old.code, old.err.as_str()), (Some(0), ""));
    let before = place.names();
    let source = bare(&[0x80, 0x00]);
    let run = place.record(&[], Some((source.path(), 1)));
    assert_eq!(run.code, Some(0), "{run:?}");
    let new = place.new_names(&before);
    let run = place.flow(&["report"]);
    assert!(run.err.contains(&format!("flow-trace has 2 runs; this is the newest, {}", new[0])));
    assert_eq!(place.flow(&["report", "flow-trace/."]).out, old.out);
    // An agent without flow record writes there as before.
    assert!(place.dir.path().join("flow-trace/thread-1.flow").exists());
}

#[test]
fn what_needs_a_directory_asks_for_one() {
    let place = Place::new();
    let run = place.record(&["-O", "format=jsonl"], None);
    let expected = "flow: format=jsonl needs a directory: name one with -o, for example -o trace\n";
    assert_eq!((run.code, run.err.as_str()), (Some(2), expected));
    for (args, new) in [
        (&["record", "--earlier", "3", "--", "true"][..], "record --keep-runs 4 -- true"),
        (&["record", "--earlier=1", "-o", "t", "--", "true"], "record -O earlier=1 -o t -- true"),
    ] {
        let run = place.flow(args);
        let expected = format!("there is no `flow record --earlier` any more; use `flow {new}`\n");
        assert_eq!(
            (run.code, run.err.as_str()),
            (Some(2), &*format!("error: {expected}")),
            "{args:?}"
        );
    }
    let source = trace();
    place.record(&[], Some((source.path(), 7)));
    let run = place.record(&["-o", "flow-trace"], None);
    let expected = "flow: --out flow-trace: is the folder of recordings; leave out --out for one more, or name another place\n";
    assert_eq!((run.code, run.err.as_str()), (Some(1), expected));
}
