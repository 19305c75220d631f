//! `presets=handovers` with pools of servers and of libraries: the programs of `tests/projects/servers`.

use std::path::Path;
use std::process::Command;

use flow_e2e::{Jdk, flow, harness, library};
use serde_json::Value;

use crate::builds::on_some_jdks;
use crate::shown;

/// How many requests each program makes.
const REQUESTS: usize = 40;

/// The programs, and the steps of each request, by hand from their sources, in the order of their names.
const PROGRAMS: [(&str, &[&str]); 7] = [
    ("Tomcat", &["dispatched", "requested", "started"]),
    ("Jetty", &["dispatched", "requested", "started"]),
    ("Undertow", &["dispatched", "requested", "started"]),
    ("Grpc", &["answered", "requested"]),
    ("Futures", &["changed", "loaded", "used"]),
    ("Reactive", &["answer", "asked", "loaded"]),
    ("Streams", &["changed", "loaded", "used"]),
];

fn rows(args: &[&str], trace: &Path) -> Vec<Value> {
    let rows = shown(&[args, &["--format", "json"]].concat(), trace);
    rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect()
}

fn build(jdk: &Jdk, target: &Path) {
    let build = Command::new("mvn")
        .args(["-q", "-B", "-Dstyle.color=never", "compile"])
        .arg(format!("-Dtarget={}", target.display()))
        .current_dir(harness().join("../tests/projects/servers"))
        .env("JAVA_HOME", &jdk.home)
        .env_remove("JAVA_TOOL_OPTIONS")
        .output()
        .unwrap();
    assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stdout));
}

#[test]
fn requests_to_servers_have_their_steps_in_all_threads() {
    on_some_jdks(|jdk| {
        if jdk.version < 17 {
            return;
        }
        let work = tempfile::tempdir().unwrap();
        let target = work.path().join("target");
        build(jdk, &target);
        let [classes, lib] = ["classes", "lib/*"].map(|part| target.join(part));
        for (program, steps) in PROGRAMS {
            println!("{program}");
            let trace = work.path().join(format!("{program}.flowtrace"));
            let record = Command::new(flow())
                .args(["record", "--agent"])
                .arg(library())
                .args(["--handovers", "--context", "--include", "app.**"])
                .args(["--values", "app.Work#step", "--out"])
                .arg(&trace)
                .arg("--")
                .arg(jdk.home.join("bin/java"))
                .arg("-cp")
                .arg(format!("{}:{}", classes.display(), lib.display()))
                .arg(format!("app.{program}"))
                .arg(work.path())
                .env_remove("JAVA_TOOL_OPTIONS")
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&record.stderr);
            assert!(record.status.success(), "{said}");
            let requests = rows(&["calls", "app.*#request", "--max", "0"], &trace);
            assert_eq!(requests.len(), REQUESTS, "{said}");
            for (number, request) in requests.iter().enumerate() {
                let place = format!("{}:{}", request["thread"], request["call"]);
                let args = ["calls", "app.Work#step", "--values", "--request", &place];
                let steps_of_it = rows(&args, &trace);
                let value = |row: &Value, at: usize| {
                    row["values"][at]["value"].as_str().unwrap_or_default().to_owned()
                };
                let mut found: Vec<_> = steps_of_it.iter().map(|row| value(row, 1)).collect();
                found.sort();
                assert_eq!(found, steps, "request {number}");
                let id = value(&steps_of_it[0], 0);
                assert!(steps_of_it.iter().all(|row| value(row, 0) == id), "{steps_of_it:#?}");
            }
        }
        let routes = rows(&["calls", "--by", "context"], &work.path().join("Grpc.flowtrace"));
        let [route] = &routes[..] else { panic!("{routes:#?}") };
        assert_eq!((&route["key"], &route["value"]), (&"route".into(), &"shop.Orders/Get".into()));
    });
}
