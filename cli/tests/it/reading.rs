//! The exact output of the verbs that read, on sound traces.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::common::{bare, command, flow, manifest, trace, words, write_trace};
use tempfile::TempDir;

#[test]
fn replay_indents_calls_by_depth() {
    let trace = trace();
    let run = flow(&["replay"], trace.path());
    assert_eq!(
        run.out,
        "\
thread 1 main
com.app.Main.main(String[])
  com.app.Main.work(int)
    com.app.Main$Job.<init>()
    com.app.Main$Job.<init>()
  com.app.Main.work(int)

thread 12 pool-1
(left 2 frames entered before recording)
com.app.Main.work(int)

thread 13
com.app.Main.work(int)
… 1 frame still open at the end: com.app.Main.work(int)
"
    );
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
}

#[test]
fn replay_shows_how_much_it_leaves_out() {
    let trace = trace();
    let run = flow(&["replay", "--depth", "2", "--thread", "main"], trace.path());
    assert_eq!(
        run.out,
        "\
thread 1 main
com.app.Main.main(String[])
  com.app.Main.work(int)  … 2 calls below
  com.app.Main.work(int)
… 2 deeper calls left out (--depth 2)
"
    );

    let run = flow(&["replay", "--max", "3"], trace.path());
    assert_eq!(run.out.lines().count(), 5, "{}", run.out);
    assert!(
        run.out.ends_with("    com.app.Main$Job.<init>()\n… stopped after 3 calls (--max 3)\n")
    );

    // A limit equal to the number of calls leaves nothing out.
    let run = flow(&["replay", "--max", "7"], trace.path());
    assert!(!run.out.contains("--max"), "{}", run.out);
}

#[test]
fn replay_folds_equal_calls_on_request() {
    let trace = trace();
    let run = flow(&["replay", "--collapse", "--thread", "main"], trace.path());
    assert_eq!(
        run.out,
        "\
thread 1 main
com.app.Main.main(String[])
  com.app.Main.work(int)
    com.app.Main$Job.<init>()  ×2
  com.app.Main.work(int)
"
    );
    // With their callees hidden, the two calls are equal.
    let run = flow(&["replay", "--collapse", "--depth", "2", "--thread", "main"], trace.path());
    assert!(
        run.out.contains("  com.app.Main.work(int)  ×2  … 2 calls below\n… 2 deeper"),
        "{}",
        run.out
    );
    let run = flow(&["replay", "--collapse", "--max", "3", "--thread", "main"], trace.path());
    assert_eq!(run.out.lines().count(), 5, "{}", run.out);
}

#[test]
fn replay_of_a_method_shows_its_subtrees_and_where_they_are() {
    let trace = trace();
    let run = flow(&["replay", "--method", "**.Main#work"], trace.path());
    assert_eq!(
        run.out,
        "\
thread 1 main
call 1, depth 1
  in Main.main
  com.app.Main.work(int)
    com.app.Main$Job.<init>()
    com.app.Main$Job.<init>()
call 4, depth 1
  in Main.main
  com.app.Main.work(int)

thread 12 pool-1
call 0, depth 0
  com.app.Main.work(int)

thread 13
call 0, depth 0
  com.app.Main.work(int)
… 1 frame still open at the end: com.app.Main.work(int)
"
    );
    let main = &["replay", "--thread", "main", "--method", "**.Main#work", "--depth", "1"];
    let run = flow(main, trace.path());
    assert_eq!(
        run.out,
        "\
thread 1 main
call 1, depth 1
  in Main.main
  com.app.Main.work(int)  … 2 calls below
call 4, depth 1
  in Main.main
  com.app.Main.work(int)
… 2 deeper calls left out (--depth 1)
"
    );
    // Consecutive calls are one line, at the position of the first one.
    let run = flow(&["replay", "--method", "**#<init>", "--collapse"], trace.path());
    assert_eq!(
        run.out,
        "\
thread 1 main
call 2, depth 2
  in Main.main > Main.work
  com.app.Main$Job.<init>()  ×2
"
    );
    let csv = flow(&["replay", "--method", "**#<init>", "--format", "csv"], trace.path());
    assert!(csv.out.ends_with(",offset\n.,1,2,2,com.app.Main$Job,<init>,()V,com.app.Main$Job.<init>(),2\n.,1,2,2,com.app.Main$Job,<init>,()V,com.app.Main$Job.<init>(),4\n"), "{}", csv.out);
    let none = flow(&["replay", "--method", "no.Such"], trace.path());
    assert_eq!((none.code, none.out.as_str()), (Some(1), ""));
    assert!(
        none.err.starts_with("flow: no method matches 'no.Such'; a pattern is"),
        "{}",
        none.err
    );
    let none = flow(&["replay", "--exclude", "**", "--thread", "main"], trace.path());
    assert_eq!((none.code, none.out.as_str()), (Some(0), ""));
    assert!(none.err.starts_with("flow: no call matches; patterns are pkg"), "{}", none.err);
}

#[test]
fn a_misspelt_pattern_is_no_answer() {
    let (trace, other) = (trace(), trace());
    let other = other.path().to_str().unwrap();
    for verb in [
        &["replay"][..],
        &["report"],
        &["report", "--tree"],
        &["diff", other],
        &["export", "--to", "jsonl"],
    ] {
        let run = flow(&[verb, &["--include", "no.Such"]].concat(), trace.path());
        assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{verb:?}");
        assert!(
            run.err.starts_with("flow: no method matches 'no.Such'; a pattern is"),
            "{}",
            run.err
        );
    }
    let run = flow(&["replay", "--from", "work > no.Such"], trace.path());
    assert_eq!(run.err, "flow: no method matches 'work'; the nearest: com.app.Main#work\n");
    // What people type.
    for pattern in ["com.app.Main.work", "Main#work", "Main.work", "com.app.Main#work"] {
        let run = flow(&["replay", "--method", pattern, "--thread", "main"], trace.path());
        assert!(run.out.contains("com.app.Main.work(int)"), "{pattern}: {}{}", run.out, run.err);
    }
    let run = flow(&["report", "--include", "Job", "--by", "calls"], trace.path());
    assert!(run.out.contains("com.app.Main$Job.<init>()"), "{}{}", run.out, run.err);
    // Of a frame entered before recording, only the name is known.
    let attached = attached();
    let run = flow(&["replay", "--include", "a.Boot#run"], attached.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
}

#[test]
fn flags_that_mean_nothing_are_refused() {
    let trace = trace();
    for flags in [
        &["replay", "--from", "7", "--format", "csv"][..],
        &["calls", "--slowest", "3", "--max", "1"],
        &["replay", "--from", ""],
        &["replay", "--from", "time:1.5s"],
    ] {
        let run = flow(flags, trace.path());
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{flags:?}: {}", run.err);
    }
    let run = flow(&["replay", "--from", "1.5s", "--thread", "main"], trace.path());
    assert!(run.err.contains("no times were recorded"), "{}", run.err);
}

#[test]
fn an_id_is_no_name() {
    let trace = trace();
    let threads = fs::read_to_string(trace.path().join("threads.jsonl")).unwrap();
    fs::write(trace.path().join("threads.jsonl"), threads.replace("pool-1", "1")).unwrap();
    let run = flow(&["report", "--thread", "1", "--format", "csv"], trace.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
    let whole = flow(&["info", "--thread", "1", "--format", "csv"], trace.path());
    assert_eq!(whole.out.lines().count(), 2, "{}", whole.out);
    // The name as flow shows it.
    fs::write(trace.path().join("threads.jsonl"), threads.replace("pool-1", "new\\nline")).unwrap();
    let run = flow(&["report", "--thread", "new\\u{a}line"], trace.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
}

#[test]
fn a_method_inside_itself_is_shown_once() {
    // work > init > work; work.
    let trace = bare(&[0x81, 0x82, 0x81, 0x02, 0x81, 0x00]);
    let run = flow(&["replay", "--method", "**#work"], trace.path());
    assert_eq!(
        run.out,
        "\
thread 1
call 0, depth 0
  com.app.Main.work(int)
    com.app.Main$Job.<init>()
      com.app.Main.work(int)
call 3, depth 0
  com.app.Main.work(int)
"
    );
}

#[test]
fn callees_of_filtered_calls_move_up_to_their_callers() {
    let trace = trace();
    let lines = |args: &[&str]| {
        let run = flow(&[&["replay", "--thread", "main"], args].concat(), trace.path());
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
        run.out
    };
    assert_eq!(
        lines(&["--exclude", "com.app.Main#work"]),
        "\
thread 1 main
com.app.Main.main(String[])
  com.app.Main$Job.<init>()
  com.app.Main$Job.<init>()
"
    );
    let inits = "thread 1 main\ncom.app.Main$Job.<init>()  ×2\n";
    assert_eq!(lines(&["--include", "**.Main$*", "--collapse"]), inits);
    assert_eq!(lines(&["--include", "**", "--exclude", "**.Main", "--collapse"]), inits);
    // Calls keep their numbers, and hidden callers are skipped.
    assert_eq!(
        lines(&["--exclude", "**#main", "--method", "**#work", "--depth", "1", "--max", "1"]),
        "\
thread 1 main
call 1, depth 0
  com.app.Main.work(int)  … 2 calls below
… 2 deeper calls left out (--depth 1)
… stopped after 1 call (--max 1)
"
    );
    let report = flow(&["report", "--exclude", "**#work", "--format", "csv"], trace.path());
    assert_eq!(
        report.out,
        "trace,method,class,name,descriptor,readable,calls,total,self,unit,total_samples,total_error,self_samples,self_error,waiting\n\
         .,0,com.app.Main,main,([Ljava/lang/String;)V,com.app.Main.main(String[]),1,3,1,calls,0,0,0,0,\n\
         .,2,com.app.Main$Job,<init>,()V,com.app.Main$Job.<init>(),2,2,2,calls,0,0,0,0,\n"
    );
}

#[test]
fn verbose_replay_adds_source_line_and_loaders() {
    let trace = trace();
    let method = |id, source, loader| {
        format!(
            r#"{{"id":{id},"class":"com.app.Main","name":"{}","descriptor":"{}",{source}"loader":"{loader}","flags":[]}}
"#,
            ["main", "work"][id],
            ["([Ljava/lang/String;)V", "(I)I"][id]
        )
    };
    let place = r#""source":"Ma\u001bin.java","line":12,"#;
    let methods = [method(0, place, "app"), method(1, "", "app"), method(1, "", "x.L@2")];
    fs::write(trace.path().join("methods.jsonl"), methods.concat()).unwrap();
    let run = flow(&["replay", "--verbose", "--collapse", "--thread", "main"], trace.path());
    assert_eq!(
        run.out,
        "\
thread 1 main
com.app.Main.main([Ljava/lang/String;)V  (Ma\\u{1b}in.java:12, app)
  com.app.Main.work(I)I  (app, x.L@2)
    com.app.Main$Job.<init>()V  ×2
  com.app.Main.work(I)I  (app, x.L@2)
"
    );
    let args = ["replay", "--verbose", "--thread", "main", "--max", "2", "--format"];
    let run = flow(&[&args[..], &["csv"]].concat(), trace.path());
    assert_eq!(
        run.out,
        "trace,thread,depth,method,class,name,descriptor,readable,source,line,loaders,offset\n\
         .,1,0,0,com.app.Main,main,([Ljava/lang/String;)V,com.app.Main.main(String[]),Ma\\u{1b}in.java,12,app,0\n\
         .,1,1,1,com.app.Main,work,(I)I,com.app.Main.work(int),,,app x.L@2,1\n"
    );
    let run = flow(&[&args[..], &["json"]].concat(), trace.path());
    let line: serde_json::Value = serde_json::from_str(run.out.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&line["line"], &line["loaders"][1]), (&serde_json::Value::Null, &"x.L@2".into()));
}

#[test]
fn replay_for_programs_has_a_call_a_line() {
    let trace = trace();
    let run = flow(&["replay", "--format", "json"], trace.path());
    let lines: Vec<serde_json::Value> =
        run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 7);
    assert_eq!(
        lines[2],
        serde_json::json!({"trace": ".", "thread": 1, "depth": 2, "method": 2,
            "class": "com.app.Main$Job", "name": "<init>", "descriptor": "()V",
            "readable": "com.app.Main$Job.<init>()", "offset": 2})
    );
    assert!(run.err.contains("thread 12 pool-1: left 2 frames entered before"), "{}", run.err);
    assert!(run.err.contains("thread 13: 1 frame still open at the end"), "{}", run.err);

    let run = flow(&["replay", "--format", "csv", "--thread", "13"], trace.path());
    assert_eq!(
        run.out,
        "trace,thread,depth,method,class,name,descriptor,readable,offset\n\
         .,13,0,1,com.app.Main,work,(I)I,com.app.Main.work(int),0\n"
    );
}

#[test]
fn threads_are_chosen_by_id_name_earlier_name_and_glob() {
    let trace = trace();
    let threads = |args: &[&str]| {
        let run = flow(&[&["replay", "--format", "csv"], args].concat(), trace.path());
        assert_eq!(run.code, Some(0), "{}", run.err);
        let mut ids: Vec<_> = run
            .out
            .lines()
            .skip(1)
            .map(|line| line.split(',').nth(1).unwrap().to_owned())
            .collect();
        ids.dedup();
        ids.join(" ")
    };
    assert_eq!(threads(&["--thread", "12"]), "12");
    assert_eq!(threads(&["--thread", "pool-*", "--thread", "main"]), "1 12");
    assert_eq!(threads(&["--thread", "worker-1"]), "12");
    assert_eq!(threads(&["--thread", "*"]), "1 12 13");
}

#[test]
fn an_unknown_thread_is_named_and_so_are_those_that_exist() {
    let trace = trace();
    for verb in ["replay", "report", "check --records", "info"] {
        let run = flow(&[&words(verb)[..], &["--thread", "mian"]].concat(), trace.path());
        assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{verb}");
        assert_eq!(
            run.err,
            "flow: no thread 'mian' with events; there are: 1 main, 12 pool-1, 13\n"
        );
    }
}

#[test]
fn report_counts_calls_total_and_self() {
    let trace = trace();
    let run = flow(&["report"], trace.path());
    assert_eq!(
        run.out,
        "\
7 calls of 3 methods in 3 threads

calls  total      %  self      %  method
    4      6  85.7%     4  57.1%  com.app.Main.work(int)
    1      5  71.4%     1  14.3%  com.app.Main.main(String[])
    2      2  28.6%     2  28.6%  com.app.Main$Job.<init>()
"
    );
    let run = flow(&["report", "--sort", "name", "--max", "1"], trace.path());
    assert!(run.out.contains("com.app.Main$Job.<init>()\n… 2 more methods left out (--max 1"));
    assert!(!run.out.contains("main("), "{}", run.out);

    let run =
        flow(&["report", "--format", "csv", "--sort", "calls", "--thread", "1"], trace.path());
    assert_eq!(
        run.out,
        "trace,method,class,name,descriptor,readable,calls,total,self,unit,total_samples,total_error,self_samples,self_error,waiting\n\
         .,1,com.app.Main,work,(I)I,com.app.Main.work(int),2,4,2,calls,0,0,0,0,\n\
         .,2,com.app.Main$Job,<init>,()V,com.app.Main$Job.<init>(),2,2,2,calls,0,0,0,0,\n\
         .,0,com.app.Main,main,([Ljava/lang/String;)V,com.app.Main.main(String[]),1,5,1,calls,0,0,0,0,\n"
    );
    let run = flow(&["report", "--format", "json"], trace.path());
    assert_eq!(
        run.out.lines().next().unwrap(),
        r#"{"trace":".","method":1,"class":"com.app.Main","name":"work","descriptor":"(I)I","readable":"com.app.Main.work(int)","calls":4,"total":6,"self":4,"unit":"calls","total_samples":0,"total_error":0,"self_samples":0,"self_error":0,"waiting":null}"#
    );
}

#[test]
fn dump_shows_the_bytes_as_they_stand() {
    // The second ENTER has a superfluous group; the exit run leaves more than was entered.
    let trace = bare(&[0x80, 0xC1, 0x80, 0x00, 0x03]);
    let run = flow(&["check", "--records"], trace.path());
    assert_eq!(
        run.out,
        "\
thread 1
    offset  bytes        event     value  frames  method
         0  80           ENTER         0       1  com.app.Main.main(String[])
         1  C1 80 00     ENTER         1       2  com.app.Main.work(int)
         4  03           EXIT          4       0  (2 frames entered before recording)
"
    );
    let run = flow(&["check", "--records", "--format", "csv", "--max", "2"], trace.path());
    assert_eq!(
        run.out,
        "trace,thread,offset,bytes,event,count,frames,method,class,name,descriptor,readable\n\
         .,1,0,80,enter,,1,0,com.app.Main,main,([Ljava/lang/String;)V,com.app.Main.main(String[])\n\
         .,1,1,C1 80 00,enter,,2,1,com.app.Main,work,(I)I,com.app.Main.work(int)\n"
    );
    assert!(run.err.contains("stopped after 2 records"), "{}", run.err);
    let run = flow(&["check", "--records", "--format", "json"], trace.path());
    assert_eq!(
        run.out.lines().last().unwrap(),
        r#"{"trace":".","thread":1,"offset":4,"bytes":"03","event":"exit","frames":0,"count":4}"#
    );
}

#[test]
fn events_written_as_json_lines_read_the_same() {
    let trace = bare(&[]);
    fs::remove_file(trace.path().join("thread-1.flow")).unwrap();
    let lines =
        "{\"e\":\"enter\",\"method\":0}\n\n{\"e\":\"enter\",\"method\":1}\n{\"e\":\"exit\"}\n";
    fs::write(trace.path().join("thread-1.jsonl"), lines).unwrap();
    let run = flow(&["replay"], trace.path());
    assert!(run.out.contains("String[])\n  com.app.Main.work(int)\n… 1 frame"), "{}", run.out);
    let run = flow(&["check", "--records"], trace.path());
    assert!(
        run.out.contains("         1  81           ENTER         1       2  com"),
        "{}",
        run.out
    );
    assert!(run.out.contains("EXIT          1       1\n"), "{}", run.out);
    // The conversion uses the directory for temporary files.
    let run = command().arg("info").arg(trace.path()).env("TMPDIR", "/nowhere").output().unwrap();
    let err = String::from_utf8_lossy(&run.stderr);
    assert!(!run.status.success() && err.contains("/nowhere"), "{err}");
}

#[test]
fn info_shows_what_was_run_and_lists_threads() {
    let trace = trace();
    let run = flow(&["info", "--verbose"], trace.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
    let (_, text) = run.out.split_once('\n').unwrap();
    assert_eq!(
        text,
        "\
command   java -jar app.jar
jvm       OpenJDK 17 (/jdk)
process   4711 on build-7
started   1970-01-01T00:00:00Z
recorded  by flow-agent 0.1.0, engine events
options   target=com.app.
end       finished after 1s 500ms
calls     7 in 3 threads, 12 B
methods   3
lost      nothing
left out  by the engine: 2 native
          native: a.B#n()V
          native: a.B#o()V

thread  kind     calls  max frames  bytes  state  name
     1  user         5           3      8  ended  main
    12  daemon       1           1      3  alive  pool-1
    13  virtual      1           1      1  alive
"
    );
    let run = flow(&["info", "--format", "json"], trace.path());
    let object: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(object["state"], "finished");
    assert_eq!(object["manifest"]["pid"], 4711);
    assert_eq!(object["threads"][1]["name"], "pool-1");
    let run = flow(&["info", "--format", "csv"], trace.path());
    assert!(run.out.ends_with(".,13,,virtual,1,1,1,alive,\n"), "{}", run.out);
    // The processor time of threads that ended may be known.
    let threads = fs::read_to_string(trace.path().join("threads.jsonl")).unwrap();
    let told = threads.replace(r#""id":1,"at_ns":9}"#, r#""id":1,"at_ns":9,"cpu_ns":1234567}"#);
    fs::write(trace.path().join("threads.jsonl"), told).unwrap();
    let run = flow(&["info"], trace.path());
    let table = "thread  kind     calls  max frames  bytes      cpu  state  name
     1  user         5           3      8  1.23 ms  ended  main
    12  daemon       1           1      3           alive  pool-1\n";
    assert!(run.out.contains(table), "{}", run.out);
    let run = flow(&["info", "--format", "csv", "--sort", "cpu", "--max", "1"], trace.path());
    assert!(run.out.ends_with(".,1,main,user,5,3,8,ended,1234567\n"), "{}", run.out);
    let run = flow(&["info", "--format", "json"], trace.path());
    let object: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(object["threads"][0]["cpu_ns"], 1_234_567);
    assert!(object["threads"][1]["cpu_ns"].is_null());
}

#[test]
fn info_sorts_chooses_and_cuts_threads() {
    let trace = trace();
    let threads = |args: &[&str]| {
        let run = flow(&[&["info", "--format", "csv"], args].concat(), trace.path());
        let is_cut = args.contains(&"--max");
        let told = if is_cut { "flow: 2 more threads left out (--max 1; 0 for all)\n" } else { "" };
        assert_eq!((run.code, run.err.as_str()), (Some(0), told));
        let ids = run.out.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().to_owned());
        ids.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(threads(&[]), "1 12 13");
    assert_eq!(threads(&["--sort", "calls"]), "1 12 13");
    assert_eq!(threads(&["--sort", "kind"]), "12 1 13");
    assert_eq!(threads(&["--sort", "name"]), "13 1 12");
    assert_eq!(threads(&["--sort", "state", "--max", "1"]), "12");
    assert_eq!(threads(&["--thread", "pool-*", "--thread", "13"]), "12 13");
    let run = flow(&["info", "--thread", "pool-*"], trace.path());
    assert!(run.out.contains("\ncalls     1 in 1 thread, 3 B\n"), "{}", run.out);
    let run = flow(&["info", "--max", "1"], trace.path());
    assert!(run.out.ends_with("… 2 more threads left out (--max 1; 0 for all)\n"), "{}", run.out);
}

#[test]
fn check_names_how_many_findings_it_cuts() {
    let trace = trace();
    for name in ["thread-21.flow", "thread-22.flow", "thread-23.flow"] {
        fs::write(trace.path().join(name), [0xC0]).unwrap();
    }
    let all = flow(&["check", "--max", "0", "--format", "csv"], trace.path());
    let count = all.out.lines().count() - 1;
    assert!(count > 3, "{}", all.out);
    let run = flow(&["check", "--max", "2"], trace.path());
    let note = format!("  … {} more findings left out (--max 2; 0 for all)\n", count - 2);
    assert!(run.out.ends_with(&note), "{}", run.out);
    let run = flow(&["check", "--max", "2", "--format", "csv"], trace.path());
    assert_eq!(run.out.lines().count(), 3);
}

/// A trace of a JVM that was running when recording began: thread 1 had two frames open, thread 12
/// more than have names, and thread 40 made no call.
fn attached() -> TempDir {
    let trace = trace();
    let path = trace.path().join("threads.jsonl");
    let open = r#"{"event":"open","id":1,"frames":["a.Boot#run()V","a.Boot#\u001bmain()V"],"at_ns":1}
{"event":"open","id":12,"frames":["a.Deep#down()V"],"omitted":600,"at_ns":1}
{"event":"open","id":40,"frames":["a.Idle#park()V"],"at_ns":1}
"#;
    let threads = open.to_owned() + &fs::read_to_string(&path).unwrap();
    fs::write(&path, threads).unwrap();
    trace
}

#[test]
fn replay_begins_with_the_frames_that_were_open_before() {
    let trace = attached();
    let run = flow(&["replay", "--thread", "main", "--depth", "1"], trace.path());
    assert_eq!(
        run.out,
        "\
thread 1 main
… a.Boot.run()  entered before recording
… 1 deeper frame entered before recording left out (--depth 1)
com.app.Main.main(String[])  … 4 calls below
… 4 deeper calls left out (--depth 1)
"
    );
    let run = flow(&["replay", "--collapse", "--thread", "main"], trace.path());
    assert!(
        run.out.contains(
            "recording\n  … a.Boot.\\u{1b}main()  entered before recording\ncom.app.Main.main("
        ),
        "{}",
        run.out
    );
    let run = flow(&["replay", "--thread", "12"], trace.path());
    let indent = " ".repeat(2 * 512);
    assert_eq!(
        run.out,
        format!(
            "thread 12 pool-1\n… 600 frames entered before recording\n\
             {indent}[depth 600] … a.Deep.down()  entered before recording\n\
             (left 2 frames entered before recording)\ncom.app.Main.work(int)\n"
        )
    );
    let args = ["replay", "--thread", "main", "--depth", "1", "--exclude", "a.Boot#run"];
    let run = flow(&args, trace.path());
    let first = "thread 1 main\n… a.Boot.\\u{1b}main()  entered before recording\n";
    assert!(run.out.starts_with(first), "{}", run.out);
    let run = flow(&["replay", "--format", "json"], trace.path());
    assert_eq!(run.out.lines().count(), 7);
    for note in [
        "thread 1 main: 2 frames entered before recording: a.Boot.run()V > a.Boot.\\u{1b}main()V\n",
        "thread 12 pool-1: 601 frames entered before recording: … 600 more … > a.Deep.down()V\n",
    ] {
        assert!(run.err.contains(note), "{}", run.err);
    }
    assert_eq!(run.code, Some(0));
}

#[test]
fn info_counts_the_frames_that_were_open_before_and_no_verb_minds_them() {
    let trace = attached();
    let run = flow(&["info"], trace.path());
    let before = "before    604 frames entered before recording, in 3 threads\n";
    assert!(run.out.contains(before), "{}", run.out);
    let idle = "    40               0           0      0  alive\n";
    assert!(run.out.ends_with(idle), "{}", run.out);
    let run = flow(&["info", "--format", "json"], trace.path());
    let object: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(
        object["threads"][1]["open"],
        serde_json::json!({"frames": ["a.Deep.down()V"], "omitted": 600})
    );
    assert!(object["threads"][2]["open"].is_null());
    assert_eq!(object["threads"][3]["thread"], 40);

    let run = flow(&["check"], trace.path());
    assert!(run.out.contains(": sound\n"), "{}", run.out);
    for verb in ["report", "check --records"] {
        let verb = words(verb);
        let (run, without) =
            (flow(&verb, trace.path()), flow(&verb, crate::common::trace().path()));
        assert_eq!((run.code, run.out), (Some(0), without.out));
    }
}

#[test]
fn several_traces_are_shown_separately() {
    let dir = tempfile::tempdir().unwrap();
    write_trace(dir.path());
    write_trace(&dir.path().join("jvm-8-20260131T000000Z"));
    let heading = format!("trace {}/jvm-8-20260131T000000Z\n", dir.path().display());
    for verb in ["replay", "report", "info", "check --records"] {
        let run = flow(&words(verb), dir.path());
        assert!(run.out.contains(&format!("\n\n{heading}")), "{verb}: {}", run.out);
        assert!(run.out.starts_with(&format!("trace {}\n", dir.path().display())), "{verb}");
        assert_eq!(run.code, Some(0), "{}", run.err);
    }
    let run = flow(&["check"], dir.path());
    assert_eq!(run.out.matches(": sound\n").count(), 2, "{}", run.out);
    let run = flow(&["report", "--format", "csv"], dir.path());
    assert_eq!(run.out.matches("\njvm-8-20260131T000000Z,").count(), 3, "{}", run.out);
}

#[test]
fn a_directory_without_a_trace_is_refused_with_a_remedy() {
    let dir = tempfile::tempdir().unwrap();
    for verb in ["replay", "report", "info", "check --records", "check"] {
        let run = flow(&words(verb), dir.path());
        assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
        assert!(run.err.starts_with("flow: /") && run.err.contains("no trace here"), "{}", run.err);
        let run = flow(&words(verb), &dir.path().join("missing"));
        assert_eq!(run.code, Some(1));
        assert!(
            run.err.contains("missing: no such directory; name a trace directory"),
            "{}",
            run.err
        );
    }
}

#[test]
fn without_a_directory_it_is_the_one_that_record_makes() {
    let dir = tempfile::tempdir().unwrap();
    write_trace(&dir.path().join("flow-trace"));
    let output = command().arg("check").current_dir(dir.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().next(), Some("flow-trace: sound"));
}

#[test]
fn a_closed_pipe_is_success_and_a_full_disk_is_not() {
    let trace = bare(&[0x80, 0x00].repeat(100_000));
    for format in ["text", "json", "csv"] {
        let mut child = command()
            .args(["replay", "--format", format])
            .arg(trace.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for args in [&["report", trace.path().to_str().unwrap()][..], &["help"], &["--version"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command().args(args).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.starts_with("flow: cannot write the output: No space"), "{err}");
    }
}

#[test]
fn a_limit_of_files_is_an_error_like_a_full_disk() {
    let (trace, out) = (trace(), tempfile::tempdir().unwrap());
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "ulimit -f 0; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_flow")]);
    let to = out.path().join("calls.json");
    shell.args(["export", "--to", "chrome", "-o"]).arg(&to).arg(trace.path());
    let output = shell.output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("calls.json: File too large"), "{err}");
}

#[test]
fn colour_is_for_terminals_or_on_demand() {
    let trace = trace();
    for (args, coloured) in [(&["report"][..], false), (&["--color", "always", "report"], true)] {
        assert_eq!(flow(args, trace.path()).out.contains('\u{1b}'), coloured);
    }
}

#[test]
fn misuse_exits_with_status_2_and_help_with_0() {
    for (args, code) in [
        (&["replay", "--bogus"][..], 2),
        (&["report", "--sort", "sideways"], 2),
        (&["replay", "--depth", "0"], 2),
        (&["record"], 2),
        (&[], 2),
        (&["--help"], 0),
        (&["--version"], 0),
    ] {
        let output = command().args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}");
    }
}

#[test]
fn a_directory_that_does_not_exist_is_reported_with_a_remedy() {
    let dir = tempfile::tempdir().unwrap();
    for args in [&["report"][..], &["replay", "--follow"], &["check", "--repair"], &["info"]] {
        let run = flow(args, &dir.path().join("flow-trace"));
        assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{args:?}");
        let remedy = "flow-trace: no such directory; name a trace directory, or record a program";
        assert!(run.err.contains(remedy), "{args:?}: {}", run.err);
    }
}

#[test]
fn a_deep_stack_costs_no_page_of_blanks_a_line() {
    let trace = bare(&[0x80].repeat(20_000));
    let run = flow(&["replay"], trace.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.len() < 30_000_000, "{}", run.out.len());
    assert!(run.out.contains(" [depth 19999] com.app.Main.main("));
    assert!(run.out.contains("… 20,000 frames still open at the end: "));
    assert!(run.out.contains(" > … 19,988 more … > "));
}

#[test]
fn info_shows_threads_of_the_same_name_as_one() {
    let trace = trace();
    let path = trace.path().join("threads.jsonl");
    let mut threads = fs::read_to_string(&path).unwrap();
    for id in 100..1_600 {
        let name = if id % 2 == 0 { "" } else { "worker" };
        threads += &format!(
            r#"{{"event":"start","id":{id},"name":"{name}","daemon":true,"virtual":true,"at_ns":7}}"#
        );
        threads.push('\n');
        fs::write(trace.path().join(format!("thread-{id}.flow")), [0x81, 0x82, 0x01]).unwrap();
    }
    fs::write(&path, threads).unwrap();
    let run = flow(&["info"], trace.path());
    let (_, table) = run.out.split_once("\n\n").unwrap();
    let expected = "\
thread  kind     calls  max frames  bytes  state  name
     1  user         5           3      8  ended  main
    12  daemon       1           1      3  alive  pool-1
  ×751  virtual  1,501           2  2,251  alive  (no name)
  ×750  virtual  1,500           2  2,250  alive  worker
";
    assert_eq!(table, expected);
    let run = flow(&["info", "--max", "2"], trace.path());
    let left_out = "… 1,501 more threads left out (--max 2; 0 for all)\n";
    assert!(run.out.ends_with(left_out), "{}", run.out);
    for flag in ["--all-threads", "--verbose"] {
        let run = flow(&["info", flag, "--max", "0"], trace.path());
        assert!(run.out.lines().count() > 1_500 && !run.out.contains('×'), "{}", run.out);
    }
    let run = flow(&["info", "--format", "csv"], trace.path());
    assert_eq!(run.out.lines().count(), 1_504);
}

#[test]
fn numbers_are_explained() {
    let trace = trace();
    for (args, expected) in [
        (
            &["report", "--max", "x"][..],
            "invalid value 'x' for '--max <N>': expected a number from 0 on",
        ),
        (&["replay", "--depth", "0"], "'--depth <N>': expected a number from 1 on"),
        (&["calls", "--slowest", "few"], "'--slowest <N>': expected a number from 1 on"),
        (
            &["record", "--keep-runs", "foo", "--", "true"],
            "'--keep-runs <N>': expected a number from 1 on",
        ),
        (&["info", "--width", "wide"], "expected a number of columns from 20 on"),
    ] {
        let run = flow(args, trace.path());
        assert!(run.err.contains(expected), "{}", run.err);
        assert_eq!(run.code, Some(2));
    }
}

#[test]
fn traces_one_level_below_are_named() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["one", "it's"] {
        write_trace(&dir.path().join(name));
    }
    fs::create_dir(dir.path().join("empty")).unwrap();
    let place = dir.path().display();
    for verb in ["report", "info", "check", "replay"] {
        let run = flow(&[verb], dir.path());
        let inside = format!("'{place}/it'\\''s', {place}/one\n");
        let expected = format!("flow: {place}: no trace here; name one of those inside: {inside}");
        assert_eq!((run.err, run.code), (expected, Some(2)), "{verb}");
    }
}

#[test]
fn of_a_launcher_without_calls_only_a_line_is_shown() {
    let dir = trace();
    for thread in ["1", "12", "13"] {
        fs::remove_file(dir.path().join(format!("thread-{thread}.flow"))).unwrap();
    }
    fs::write(dir.path().join("trace.json"), manifest(0, None)).unwrap();
    let jvm = dir.path().join("jvm-7-1");
    write_trace(&jvm);
    let place = dir.path().display();
    for verb in ["report", "report --tree", "replay"] {
        let run = flow(&[&words(verb)[..], &["--max", "1"]].concat(), dir.path());
        assert_eq!(
            (run.err, run.code),
            (format!("flow: trace {place}: no calls\n"), Some(0)),
            "{verb}"
        );
        assert!(run.out.starts_with(&format!("trace {place}/jvm-7-1\n")), "{verb}: {}", run.out);
    }
    assert!(flow(&["info"], dir.path()).out.starts_with(&format!("trace {place}\n")));
}

#[test]
fn a_file_in_place_of_a_directory_and_a_filter_without_effect_are_reported() {
    let dir = trace();
    let place = dir.path().display();
    let run = flow(&["report"], &dir.path().join("thread-1.flow"));
    let expected = format!(
        "flow: {place}/thread-1.flow: not a trace; name a trace directory, {place}, or a file that ends in .flowtrace or .hpl\n"
    );
    assert_eq!((run.err, run.code), (expected, Some(2)));
    let run = flow(&["info"], Path::new("/proc/version"));
    assert_eq!(
        run.err,
        "flow: /proc/version: not a trace; name a trace directory, or a file that ends in .flowtrace or .hpl\n"
    );
    let run = flow(&["report", "--exclude", "Main#wrok"], dir.path());
    let expected = "flow: --exclude: no method matches 'Main#wrok'; the nearest: com.app.Main#work";
    assert!(run.err.starts_with(expected), "{}", run.err);
    assert_eq!(run.code, Some(0));
}
