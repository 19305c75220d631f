//! The exact output of the verbs that add up calls, on sound traces.

use std::fs;

use crate::common::{Run, bare, command, flow, test_mark, text, trace, write_trace};
use flow_codec::Offset;
use flow_codec::format::index::IndexFile;
use flow_codec::format::marks::{HEADER, MarkEncoder, Position};
use tempfile::TempDir;

/// A thread of 9 MB, enough for two parts: frames that stay open, recursion, and a depth that goes far up and down.
fn large() -> Vec<u8> {
    let mut bytes = vec![0x81, 0x80, 0x81];
    let (mut random, mut depth) = (1_u64, 0_u64);
    while bytes.len() < 9_000_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let method = u8::try_from(random >> 62).unwrap();
        let is_leaf = random >> 40 & 1 == 0;
        bytes.push(0x80 | method);
        depth += u64::from(!is_leaf);
        let deepest = if random >> 20 & 0x3F == 0 { 3 } else { 300 };
        if depth > deepest {
            let left = (depth - 2).min(60);
            bytes.push(u8::try_from(left - 1 + u64::from(is_leaf)).unwrap());
            depth -= left;
        } else if is_leaf {
            bytes.push(0x00);
        }
    }
    bytes
}

#[test]
fn a_report_of_a_large_thread_is_the_same_however_many_cores_read_it() {
    let mut bytes = large();
    let trace = bare(&bytes);
    let report = |args: &[&str]| flow(&[&["report"], args].concat(), trace.path());
    // With a filter, one core reads the thread.
    let one = report(&["--include", "**"]);
    assert!(one.code == Some(0), "{one:?}");
    let all = report(&[]);
    assert_eq!((&all.out, all.code, all.err.as_str()), (&one.out, Some(0), ""));

    // With an index that has one frame too many open in the second half.
    let path = trace.path().join("thread-1.idx");
    assert_eq!(flow(&["check", "--index"], trace.path()).code, Some(0));
    assert_eq!(report(&[]).out, one.out, "with an index");
    let mut index = IndexFile::decode(&fs::read(&path).unwrap()).unwrap();
    let half = index.intervals.len() / 3;
    index.intervals[half].enters += 1;
    fs::write(&path, index.encode()).unwrap();
    assert_eq!(report(&[]).out, one.out, "with a wrong index");

    // Truncated or damaged, it is read exactly as by one core.
    for end in [&[0xC0][..], &[0xFF; 20]] {
        bytes.extend_from_slice(end);
        fs::write(trace.path().join("thread-1.flow"), &bytes).unwrap();
        let (one, all) = (report(&["--include", "**"]), report(&[]));
        assert_eq!((all.out, all.code, all.err), (one.out, one.code, one.err));
    }
}

fn diff(args: &[&str], before: &TempDir, after: &TempDir) -> Run {
    let mut command = command();
    command.arg("diff").args(args).arg(before.path()).arg(after.path());
    command.output().unwrap().into()
}

#[test]
fn graph_adds_up_calls_with_the_same_callers() {
    let trace = trace();
    let run = flow(&["report", "--tree"], trace.path());
    assert_eq!(
        run.out,
        "\
7 calls in 3 threads

calls  total       %  self  method
    1      5   71.4%     1  com.app.Main.main(String[])
    2      4   57.1%     2    com.app.Main.work(int)
    2      2   28.6%     2      com.app.Main$Job.<init>()
    2      2   28.6%     2  com.app.Main.work(int)
"
    );
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
}

#[test]
fn graph_shows_how_much_it_leaves_out_and_why() {
    let trace = trace();
    for (args, end) in [
        (&["--depth", "1"][..], "… 4 calls (57.1%) on other paths left out (--depth 1)\n"),
        (&["--min", "50%"], "… 4 calls (57.1%) on other paths left out (--min 50; 0 for all)\n"),
        (&["--max", "2"], "… 4 calls (57.1%) on other paths left out (--max 2; 0 for all)\n"),
        (
            &["--depth", "2", "--max", "1"],
            "… 6 calls (85.7%) on other paths left out (--max 1; 0 for all)\n",
        ),
    ] {
        let run = flow(&[&["report", "--tree"], args].concat(), trace.path());
        assert!(run.out.ends_with(end), "{args:?}: {}", run.out);
    }
    // A share that equals the minimum is shown.
    let run =
        flow(&["report", "--tree", "--max", "4", "--min", "28", "--depth", "3"], trace.path());
    assert!(!run.out.contains('…'), "{}", run.out);
}

#[test]
fn graph_sorts_the_calls_that_a_method_makes() {
    // main > (work, init, init, work > init).
    let trace = bare(&[0x80, 0x81, 0x00, 0x82, 0x00, 0x82, 0x00, 0x82, 0x00, 0x81, 0x82, 0x02]);
    let methods = |sort| {
        let run = flow(&["report", "--tree", "--sort", sort, "--format", "csv"], trace.path());
        let method = |line: &str| line.split(',').nth(5).unwrap().to_owned();
        run.out.lines().skip(1).map(method).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(methods("total"), "0 1 2 2");
    assert_eq!(methods("calls"), "0 2 1 2");
    assert_eq!(methods("self"), "0 2 1 2");
    assert_eq!(methods("name"), "0 2 1 2");
}

#[test]
fn graph_shows_threads_apart_and_only_those_asked_for() {
    let trace = trace();
    let run = flow(
        &["report", "--tree", "--per-thread", "--thread", "12", "--thread", "13"],
        trace.path(),
    );
    assert_eq!(
        run.out,
        "\
thread 12 pool-1
1 call

calls  total       %  self  method
    1      1  100.0%     1  com.app.Main.work(int)

thread 13
1 call

calls  total       %  self  method
    1      1  100.0%     1  com.app.Main.work(int)
"
    );
}

#[test]
fn graph_of_a_method_begins_with_it() {
    let trace = trace();
    let run = flow(&["report", "--tree", "--method", "com.app.*#work"], trace.path());
    assert_eq!(
        run.out,
        "\
6 calls in 3 threads

calls  total       %  self  method
    4      6  100.0%     4  com.app.Main.work(int)
    2      2   33.3%     2    com.app.Main$Job.<init>()
"
    );
    let run = flow(&["report", "--tree", "--method", "com.app.Mian"], trace.path());
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
    assert!(
        run.err.contains("no method matches 'com.app.Mian'; the nearest: com.app.Main#main"),
        "{}",
        run.err
    );
}

#[test]
fn graph_for_programs_names_the_parent_of_each_path() {
    let trace = trace();
    let run = flow(&["report", "--tree", "--format", "csv", "--thread", "main"], trace.path());
    assert_eq!(
        run.out,
        "trace,thread,path,parent,depth,method,class,name,descriptor,readable,calls,total,self,unit,total_samples,total_error,self_samples,self_error,waiting\n\
         .,,1,,0,0,com.app.Main,main,([Ljava/lang/String;)V,com.app.Main.main(String[]),1,5,1,calls,0,0,0,0,\n\
         .,,2,1,1,1,com.app.Main,work,(I)I,com.app.Main.work(int),2,4,2,calls,0,0,0,0,\n\
         .,,3,2,2,2,com.app.Main$Job,<init>,()V,com.app.Main$Job.<init>(),2,2,2,calls,0,0,0,0,\n"
    );
    let run = flow(
        &["report", "--tree", "--format", "json", "--per-thread", "--thread", "13"],
        trace.path(),
    );
    let line: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(
        line,
        serde_json::json!({"trace": ".", "thread": 13, "thread_name": "", "path": 1, "parent": null, "depth": 0,
            "method": 1, "class": "com.app.Main", "name": "work", "descriptor": "(I)I", "readable": "com.app.Main.work(int)",
            "calls": 1, "total": 1, "self": 1, "unit": "calls",
            "total_samples": 0, "total_error": 0, "self_samples": 0, "self_error": 0, "waiting": null})
    );
}

#[test]
fn report_shows_callers_and_callees() {
    let trace = trace();
    let run = flow(&["report", "--callers", "com.app.Main#work"], trace.path());
    assert_eq!(
        run.out,
        "\
7 calls in 3 threads

calls  total       %  self  method
    4      6   85.7%     4  com.app.Main.work(int)
    2      4   57.1%     2    com.app.Main.main(String[])
"
    );
    let run = flow(&["report", "--callees", "com.app.Main"], trace.path());
    assert_eq!(
        run.out,
        "\
7 calls in 3 threads

calls  total       %  self  method
    4      6   85.7%     4  com.app.Main.work(int)
    2      2   28.6%     2    com.app.Main$Job.<init>()
    1      5   71.4%     1  com.app.Main.main(String[])
    2      4   57.1%     2    com.app.Main.work(int)
    2      2   28.6%     2      com.app.Main$Job.<init>()
"
    );
    let run = flow(&["report", "--callers", "**#work", "--format", "csv"], trace.path());
    assert_eq!(
        run.out,
        "trace,thread,path,parent,depth,method,class,name,descriptor,readable,calls,total,self,unit,total_samples,total_error,self_samples,self_error,waiting\n\
         .,,1,,0,1,com.app.Main,work,(I)I,com.app.Main.work(int),4,6,4,calls,0,0,0,0,\n\
         .,,2,1,1,0,com.app.Main,main,([Ljava/lang/String;)V,com.app.Main.main(String[]),2,4,2,calls,0,0,0,0,\n"
    );
    // The flag for a tree changes nothing.
    let tree = flow(&["report", "--tree", "--callers", "**#work", "--format", "csv"], trace.path());
    assert_eq!(tree.out, run.out);
}

#[test]
fn overloads_differ_and_every_name_that_is_shown_is_a_pattern() {
    let trace = tempfile::tempdir().unwrap();
    let methods = [
        ("total(La/Key;)V", "a.B.total(a.Key)"),
        ("total(Lb/Key;)V", "a.B.total(b.Key)"),
        ("get()Ljava/lang/Object;", "a.B.get(): Object"),
        ("get()Ljava/lang/String;", "a.B.get(): String"),
        ("<init>([I)V", "a.B.<init>(int[])"),
    ];
    let ids = methods.iter().enumerate().map(|(id, (key, _))| format!("a.B#{key}={id}\n"));
    fs::write(trace.path().join("ids.properties"), ids.collect::<String>()).unwrap();
    // Each path once, and one method without a name.
    let events = [0x80, 0, 0x81, 0, 0x82, 0, 0x83, 0, 0x84, 0, 0x85, 0];
    fs::write(trace.path().join("thread-1.flow"), events).unwrap();
    let (mut short, mut full) = (0, 0);
    for verbose in [&[][..], &["--verbose"]] {
        let run = flow(&[&["report"], verbose].concat(), trace.path());
        let shown: Vec<_> =
            run.out.lines().skip(3).map(|row| row.rsplit("  ").next().unwrap()).collect();
        assert_eq!(shown.len(), methods.len() + 1, "{}", run.out);
        for name in &shown {
            for args in [["report", "--include"], ["replay", "--method"], ["replay", "--from"]] {
                let run = flow(&[&[args[0], args[1], name], verbose].concat(), trace.path());
                assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{args:?} {name}");
                let others = shown.iter().filter(|other| *other != name);
                if args[1] != "--from" {
                    assert!(others.clone().all(|other| !run.out.contains(other)), "{}", run.out);
                }
                assert!(run.out.contains(name), "{args:?} {name}: {}", run.out);
            }
            short += usize::from(methods.iter().any(|(_, readable)| readable == name));
            full += usize::from(name.ends_with(['V', ';']));
        }
        assert!(shown.contains(&"?#5"), "{}", run.out);
    }
    assert_eq!((short, full), (methods.len(), methods.len()));
    // A name without parameters means all overloads.
    let run = flow(&["report", "--include", "B.total"], trace.path());
    assert!(run.out.starts_with("2 calls of 2 methods in 1 thread\n"), "{}", run.out);
}

#[test]
fn report_shows_paths() {
    let trace = trace();
    let run = flow(&["report", "--paths", "longest"], trace.path());
    assert_eq!(
        run.out,
        "\
calls  total      %  self      %  method
    1      5  71.4%     1  14.3%  com.app.Main.main(String[])
    2      4  57.1%     2  28.6%  com.app.Main.work(int)
    2      2  28.6%     2  28.6%  com.app.Main$Job.<init>()
"
    );
    let run = flow(&["report", "--paths", "deepest", "--max", "2"], trace.path());
    assert_eq!(
        run.out,
        "\
3 frames, first reached by event 2 of thread 1 main

depth  method
    0  com.app.Main.main(String[])
       … 1 frame left out (--max 2; 0 for all)
    2  com.app.Main$Job.<init>()
"
    );
    let run = flow(&["report", "--paths", "frequent", "--max", "2"], trace.path());
    assert_eq!(
        run.out,
        "\
7 calls on 4 paths

2   28.6%  com.app.Main.work(int)
           in Main.main

2   28.6%  com.app.Main$Job.<init>()
           in Main.main > Main.work

… 2 more paths with 3 calls left out (--max 2; 0 for all)
"
    );
    for (paths, line) in [
        (
            "longest",
            r#""depth":1,"method":1,"class":"com.app.Main","name":"work","descriptor":"(I)I","readable":"com.app.Main.work(int)","calls":2,"total":4,"self":2,"unit":"calls","total_samples":0,"total_error":0,"self_samples":0,"self_error":0,"waiting":null}"#,
        ),
        (
            "deepest",
            r#""thread":1,"event":2,"depth":1,"method":1,"class":"com.app.Main","name":"work","descriptor":"(I)I","readable":"com.app.Main.work(int)"}"#,
        ),
        (
            "frequent",
            r#""calls":2,"total":4,"self":2,"unit":"calls","total_samples":0,"total_error":0,"self_samples":0,"self_error":0,"waiting":null,"path":["com.app.Main.main([Ljava/lang/String;)V","com.app.Main.work(I)I"]}"#,
        ),
    ] {
        let run = flow(&["report", "--paths", paths, "--format", "json"], trace.path());
        assert!(run.out.contains(line), "{}", run.out);
        for line in run.out.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
        let run = flow(&["report", "--paths", paths, "--format", "csv"], trace.path());
        let fields: Vec<_> = run.out.lines().map(|line| line.split(',').count()).collect();
        assert!(fields.iter().all(|count| *count == fields[0]), "{}", run.out);
    }
}

#[test]
fn diff_shows_paths_that_appeared_vanished_and_changed() {
    let (before, after) = (trace(), trace());
    // main > (init, init > work), with other ids.
    fs::write(
        after.path().join("ids.properties"),
        "com.app.Main$Job#<init>()V=0\ncom.app.Main#work(I)I=1\n\
         com.app.Main#main([Ljava/lang/String;)V=2\n",
    )
    .unwrap();
    fs::write(after.path().join("thread-1.flow"), [0x82, 0x80, 0x00, 0x80, 0x81, 0x02]).unwrap();
    fs::write(after.path().join("thread-13.flow"), []).unwrap();
    fs::write(after.path().join("trace.json"), crate::common::manifest(0, None)).unwrap();
    let run = diff(&[], &before, &after);
    let head = format!(
        "before  7 calls  {}\nafter   5 calls  {}\n",
        before.path().display(),
        after.path().display()
    );
    assert_eq!(
        run.out,
        head + "\
1 appeared, 1 vanished, 1 path called more or less often

change  before  after         method
    -4       4      0  gone   com.app.Main.work(int)  and 1 path below
                                in Main.main
    +3       0      3  new    com.app.Main$Job.<init>()  and 1 path below
                                in Main.main
    -1       2      1  calls  com.app.Main.work(int)
"
    );
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));

    // Of one thread only, which may be in one of the traces.
    let run = diff(&["--thread", "main", "--format", "csv", "--max", "1"], &before, &after);
    assert!(
        run.out
            .contains("vanished,com.app.Main,work,(I)I,com.app.Main.work(int),1,2,0,4,0,calls,2,"),
        "{}",
        run.out
    );
    fs::remove_file(after.path().join("thread-12.flow")).unwrap();
    let run = diff(&["--thread", "pool-1"], &before, &after);
    assert!(run.out.contains("after   0 calls"), "{}", run.out);
    fs::write(after.path().join("thread-12.flow"), [0x01, 0x81, 0x00]).unwrap();
    let run = diff(&["--thread", "nobody"], &before, &after);
    assert!(run.code == Some(1) && run.err.contains("no thread 'nobody'"), "{}", run.err);
    let run = diff(&["--depth", "1"], &before, &after);
    assert!(
        run.out.ends_with("work(int)\n… 2 deeper differences left out (--depth 1)\n"),
        "{}",
        run.out
    );
    let run = diff(&["--max", "1"], &before, &after);
    let end = "… 2 smaller differences left out (--max 1; 0 for all)\n";
    assert!(run.out.ends_with(end), "{}", run.out);

    let run = diff(&["--format", "csv"], &before, &after);
    assert_eq!(
        run.out,
        "change,class,name,descriptor,readable,depth,self_before,self_after,total_before,total_after,unit,paths,path\n\
         vanished,com.app.Main,work,(I)I,com.app.Main.work(int),1,2,0,4,0,calls,2,com.app.Main.main([Ljava/lang/String;)V > com.app.Main.work(I)I\n\
         appeared,com.app.Main$Job,<init>,()V,com.app.Main$Job.<init>(),1,0,2,0,3,calls,2,com.app.Main.main([Ljava/lang/String;)V > com.app.Main$Job.<init>()V\n\
         changed,com.app.Main,work,(I)I,com.app.Main.work(int),0,2,1,2,1,calls,1,com.app.Main.work(I)I\n"
    );
    let run = diff(&["--format", "json"], &before, &after);
    let line: serde_json::Value = serde_json::from_str(run.out.lines().nth(2).unwrap()).unwrap();
    assert_eq!(
        line,
        serde_json::json!({"change": "changed", "class": "com.app.Main", "name": "work",
            "descriptor": "(I)I", "readable": "com.app.Main.work(int)", "depth": 0, "self_before": 2, "self_after": 1,
            "total_before": 2, "total_after": 1, "unit": "calls", "paths": 1, "path": ["com.app.Main.work(I)I"]})
    );
}

#[test]
fn calls_that_are_filtered_out_make_no_path() {
    let trace = trace();
    let run = flow(&["report", "--tree", "--exclude", "**#work", "--format", "csv"], trace.path());
    assert_eq!(
        run.out.lines().skip(1).collect::<Vec<_>>(),
        [
            ".,,1,,0,0,com.app.Main,main,([Ljava/lang/String;)V,com.app.Main.main(String[]),1,3,1,calls,0,0,0,0,",
            ".,,2,1,1,2,com.app.Main$Job,<init>,()V,com.app.Main$Job.<init>(),2,2,2,calls,0,0,0,0,"
        ]
    );
    let run = flow(&["report", "--callers", "**Job", "--exclude", "**#work"], trace.path());
    assert!(
        run.out.ends_with("    2      2   66.7%     2    com.app.Main.main(String[])\n"),
        "{}",
        run.out
    );
    let run = flow(&["report", "--paths", "deepest", "--exclude", "**#work"], trace.path());
    assert!(run.out.starts_with("2 frames, in thread 1 main\n"), "{}", run.out);
    let work_only = bare(&[0x81, 0x00, 0x81, 0x00, 0x81, 0x00, 0x81, 0x00]);
    let run = diff(&["--include", "**#work"], &trace, &work_only);
    assert!(run.out.contains("no difference: 1 path "), "{}", run.out);
}

#[test]
fn traces_that_do_not_differ_are_said_to_be_the_same() {
    let run = diff(&[], &trace(), &trace());
    assert!(run.out.ends_with("\n\nno difference: 4 paths called equally often\n"), "{}", run.out);
    assert_eq!(run.code, Some(0));
}

#[test]
fn damage_is_reported_and_everything_else_counts() {
    // A number of more than 63 bits, then work.
    let mut bytes = vec![0x80];
    bytes.extend([0xFF; 20]);
    bytes.extend([0x01, 0x81, 0x81, 0x80, 0xC0]);
    let (damaged, sound) = (bare(&bytes), trace());
    for args in [
        &["report", "--tree"][..],
        &["report", "--callers", "**"],
        &["report", "--paths", "longest"],
        &["report", "--paths", "deepest"],
        &["report", "--paths", "frequent"],
    ] {
        let run = flow(args, damaged.path());
        assert_eq!(run.code, Some(1), "{args:?}");
        assert!(run.err.contains("offset 1:") && run.out.contains("com.app.Main.work"), "{args:?}");
    }
    let run = diff(&[], &sound, &damaged);
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("offset 1:") && run.out.contains("after   4 calls"), "{}", run.out);
    // One thread cannot be read at all.
    let nothing = tempfile::tempdir().unwrap();
    assert_eq!(diff(&[], &sound, &nothing).code, Some(1));
    // A record is cut off at the end.
    assert_eq!(flow(&["report", "--tree"], bare(&[0x80, 0xC0]).path()).code, Some(3));
}

#[test]
fn names_are_made_harmless() {
    let trace = bare(&[0x80, 0x80, 0x01]);
    let name = "com.app.\u{1b}[2JMain";
    fs::write(trace.path().join("ids.properties"), format!("{name}#m()V=0\n")).unwrap();
    let other = bare(&[0x80, 0x00]);
    for args in [
        &["report", "--tree"][..],
        &["report", "--callers", "**"],
        &["report", "--callees", "**"],
        &["report", "--paths", "longest"],
        &["report", "--paths", "deepest"],
        &["report", "--paths", "frequent"],
    ] {
        for format in ["text", "csv", "json"] {
            let run = flow(&[args, &["--format", format]].concat(), trace.path());
            assert!(!run.out.contains('\u{1b}') && run.out.contains("Main"), "{args:?} {format}");
        }
    }
    for format in ["text", "csv", "json"] {
        let run = diff(&["--format", format], &other, &trace);
        assert!(!run.out.contains('\u{1b}') && run.out.contains("Main"), "{format}");
    }
}

#[test]
fn several_traces_have_a_tree_each_and_are_compared_together() {
    let (one, two) = (trace(), tempfile::tempdir().unwrap());
    write_trace(two.path());
    write_trace(&two.path().join("jvm-8-20260131T000000Z"));
    for args in [
        &["report", "--tree"][..],
        &["report", "--callers", "**"],
        &["report", "--paths", "longest"],
    ] {
        let run = flow(args, two.path());
        assert_eq!(run.out.matches("jvm-8-20260131T000000Z\n").count(), 1, "{args:?}: {}", run.out);
    }
    let run = diff(&["--max", "1"], &one, &two);
    assert!(run.out.contains("0 appeared, 0 vanished, 4 paths called"), "{}", run.out);
    assert!(run.out.contains("\n    +2       2      4  calls  "), "{}", run.out);
}

#[test]
fn misuse_is_reported_with_status_2() {
    for args in [
        &["diff", "one"][..],
        &["report", "--tree", "--depth", "0"],
        &["report", "--tree", "--min", "101"],
        &["report", "--tree", "--min", "nan"],
        &["report", "--callers", "a", "--callees", "b"],
        &["report", "--paths", "longest", "--sort", "calls"],
        &["report", "--paths", "shortest"],
    ] {
        assert_eq!(command().args(args).output().unwrap().status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn a_very_deep_stack_is_a_tree_like_any() {
    let trace = bare(&[0x80].repeat(200_000));
    for args in [
        &["report", "--tree"][..],
        &["report", "--tree", "--max", "0", "--format", "csv"],
        &["report", "--paths", "longest"],
        &["report", "--paths", "deepest"],
        &["report", "--paths", "frequent", "--max", "3"],
    ] {
        let run = flow(args, trace.path());
        assert_eq!(run.code, Some(0), "{args:?}: {}", run.err);
        assert!(run.out.len() < 30_000_000, "{args:?}");
    }
    let run = diff(&[], &trace, &bare(&[0x80]));
    assert!(run.out.contains("-199,999"), "{}", run.out);
}

/// Remarks are lines of text, and messages on stderr with JSON and CSV.
#[test]
#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn limits_are_reported_in_every_format() {
    let (one, other) = (trace(), bare(&[0x81, 0x82]));
    let tests = trace_of_tests();
    let verbs: &[(&[&str], &TempDir, &str)] = &[
        (&["report", "--max", "1"], &one, "2 more methods left out (--max 1; 0 for all)"),
        (
            &["report", "--callers", "**#work", "--max", "1"],
            &one,
            "1 more row left out (--max 1; 0 for all)",
        ),
        (
            &["report", "--callees", "**#main", "--callees", "**#work", "--max", "1"],
            &one,
            "4 more rows left out (--max 1; 0 for all)",
        ),
        (
            &["report", "--paths", "longest", "--max", "1"],
            &one,
            "2 frames left out (--max 1; 0 for all)",
        ),
        (
            &["report", "--paths", "deepest", "--max", "2"],
            &one,
            "1 frame left out (--max 2; 0 for all)",
        ),
        (
            &["report", "--paths", "frequent", "--max", "3"],
            &one,
            "1 more path with 1 call left out (--max 3; 0 for all)",
        ),
        (
            &["report", "--tree", "--max", "2"],
            &one,
            "4 calls (57.1%) on other paths left out (--max 2; 0 for all)",
        ),
        (
            &["report", "--tree", "--depth", "1"],
            &one,
            "4 calls (57.1%) on other paths left out (--depth 1)",
        ),
        (
            &["report", "--tree", "--min", "60"],
            &one,
            "6 calls (85.7%) on other paths left out (--min 60; 0 for all)",
        ),
        (&["info", "--max", "1"], &one, "2 more threads left out (--max 1; 0 for all)"),
        (&["replay", "--max", "1"], &one, "stopped after 1 call (--max 1)"),
        (&["check", "--records", "--max", "1"], &one, "stopped after 1 record (--max 1)"),
        (&["check", "--max", "1"], &other, "2 more findings left out (--max 1; 0 for all)"),
        (&["tests", "--max", "1"], &tests, "2 more tests left out (--max 1; 0 for all)"),
        (&["check", "--marks", "--max", "1"], &tests, "stopped after 1 mark (--max 1)"),
        (&["check", "--index"], &one, "3 threads of less than 4.0 MB need no index"),
    ];
    for (args, dir, remark) in verbs {
        let text = flow(args, dir.path());
        let lines = text.out.lines().map(|line| line.trim_start_matches([' ', '…']));
        assert_eq!(lines.filter(|line| line == remark).count(), 1, "{args:?}: {}", text.out);
        assert!(!text.err.contains(remark), "{args:?}: {}", text.err);
        for format in ["json", "csv"] {
            let run = flow(&[args, &["--format", format][..]].concat(), dir.path());
            // Messages of a replay name the thread.
            let err = run.err.replace("thread 1 main: ", "");
            assert!(err.contains(&format!("flow: {remark}\n")), "{args:?}: {}", run.err);
            assert!(!run.out.contains(remark), "{args:?}: {}", run.out);
            assert_eq!(run.code, text.code, "{args:?}");
            let limit = args.iter().position(|arg| ["--max", "--min"].contains(arg));
            let Some(at) = limit else { continue };
            let run = flow(&[&args[..at], &["--format", format]].concat(), dir.path());
            assert!(!run.err.contains("left out") && !run.err.contains("stopped"), "{}", run.err);
        }
    }
    for (args, told) in [
        (["--max", "1"], "flow: 2 smaller differences left out (--max 1; 0 for all)\n"),
        (["--depth", "1"], "flow: 1 deeper difference left out (--depth 1)\n"),
    ] {
        for format in ["json", "csv"] {
            let run = diff(&[&args[..], &["--format", format]].concat(), &one, &other);
            assert_eq!(run.err, told);
        }
    }
    let after = trace();
    let run = diff(&["--max", "1", "--format", "json"], &tests, &after);
    assert!(run.err.contains("flow: 2 more tests left out (--max 1; 0 for all)\n"), "{}", run.err);
}

#[test]
fn limits_of_several_traces_are_reported_with_the_trace() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["jvm-1", "jvm-2"] {
        write_trace(&dir.path().join(name));
    }
    let run = flow(&["report", "--max", "1", "--format", "csv"], dir.path());
    let path = dir.path().display();
    let more = "2 more methods left out (--max 1; 0 for all)";
    assert_eq!(
        run.err,
        format!("flow: trace {path}/jvm-1: {more}\nflow: trace {path}/jvm-2: {more}\n")
    );
    let args = [
        "report",
        "--tree",
        "--per-thread",
        "--depth",
        "1",
        "--format",
        "json",
        "--thread",
        "main",
    ];
    let run = flow(&args, dir.path());
    assert!(
        run.err.starts_with(&format!("flow: trace {path}/jvm-1, thread 1 main: ")),
        "{}",
        run.err
    );
}

/// A trace with three tests.
fn trace_of_tests() -> TempDir {
    let trace = trace();
    let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
    for (offset, note) in [
        (1, "test started a.T.one"),
        (2, "test passed a.T.one"),
        (3, "test started a.T.two"),
        (4, "test passed a.T.two"),
        (5, "test skipped a.T.no\tnot now"),
    ] {
        let position = Position::before(Offset::new(offset));
        encoder.encode(position, &test_mark(note), &mut bytes);
    }
    fs::write(trace.path().join("thread-1.marks"), bytes).unwrap();
    trace
}

#[test]
fn conditions_that_no_row_meets_are_answered_with_a_sentence() {
    let dir = trace();
    for view in [&["report"][..], &["report", "--tree"]] {
        let run = flow(&[view, &["--where", "name == nothing"]].concat(), dir.path());
        assert_eq!(run.out.lines().last(), Some("no method meets the conditions of --where"));
        assert!(run.code == Some(0) && !run.out.contains("method\n"), "{run:?}");
        let run = flow(&[view, &["--where", "method == work"]].concat(), dir.path());
        assert!(run.out.contains("com.app.Main.work(int)"), "{run:?}");
    }
    let other = text(dir.path());
    let run =
        flow(&["diff", "--methods", "--max", "0", "--where", "name is x", &other], dir.path());
    assert_eq!(run.out.lines().last(), Some("no method meets the conditions of --where"));
}

#[test]
fn equal_runs_have_no_methods_that_differ() {
    let dir = trace();
    let other = text(dir.path());
    let run = flow(&["diff", "--methods", &other], dir.path());
    let last = "no difference: 3 methods with equal counts (--max 0 shows them)";
    assert_eq!((run.out.lines().last(), run.out.lines().count()), (Some(last), 4), "{run:?}");
    let run = flow(&["diff", "--methods", "--max", "0", &other], dir.path());
    assert!(run.out.contains("com.app.Main.work(int)"), "{run:?}");
}

#[test]
fn resumptions_in_a_tree_are_directly_below_what_caused_them() {
    let dir = tempfile::tempdir().unwrap();
    let names = "a.C#fetch(ILkotlin/coroutines/Continuation;)Ljava/lang/Object;V=1\n\
        a.C$fetch$1#invokeSuspend(Ljava/lang/Object;)Ljava/lang/Object;V=2\n\
        a.D#load()V=3\na.R#resumeWith()V=4\na.M#main()V=5\n";
    fs::write(dir.path().join("ids.properties"), names).unwrap();
    let resumed = [0x84, 0x82, 0x81, 0x83, 0x03].repeat(3);
    let events = [&[0x85, 0x81, 0x83, 0x02][..], &resumed].concat();
    fs::write(dir.path().join("thread-1.flow"), events).unwrap();
    let tree = |flags: &[&str]| {
        let args = ["report", "--tree", "--by", "calls", "--format", "csv"];
        let run = flow(&[&args[..], flags].concat(), dir.path());
        assert_eq!(run.code, Some(0), "{run:?}");
        ["invokeSuspend", "fetch", "load"]
            .map(|name| run.out.lines().filter(|line| line.contains(&format!(",{name},"))).count())
    };
    assert_eq!((tree(&[]), tree(&["--coroutines"])), ([1, 2, 2], [0, 2, 2]));
    let run = flow(&["report", "--tree", "--by", "calls", "--coroutines"], dir.path());
    let rows: Vec<_> =
        run.out.lines().skip(3).map(|line| line.split("  ").last().unwrap()).collect();
    let fetch = "a.C.fetch(int, Continuation)";
    assert_eq!(
        rows,
        ["a.R.resumeWith()", fetch, "a.D.load()", "a.M.main()", fetch, "a.D.load()"],
        "{run:?}"
    );
}
