//! Runs a test in a process that has little memory, and must end.

use std::env;
use std::process::Command;

const LIMITED: &str = "FLOW_TEST_LIMITED";

/// Runs `body` in a process of its own with this much address space and CPU time. `test` is the path of the
/// calling test, `module_path!()::name`, which runs once more there.
pub(crate) fn run_limited(test: &str, memory_kib: u64, cpu_seconds: u64, body: impl FnOnce()) {
    let (_, test) = test.split_once("::").expect("the path begins with the crate");
    if env::var_os(LIMITED).is_some() {
        return body();
    }
    let limits = format!("ulimit -v {memory_kib} && ulimit -t {cpu_seconds}");
    let output = Command::new("sh")
        .args(["-c", &format!("{limits} && exec \"$0\" --exact --test-threads=1 {test}")])
        .arg(env::current_exe().expect("a test has a program"))
        .env(LIMITED, "1")
        .output()
        .expect("there is a shell");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}{errors}", output.status);
    assert!(text.contains("1 passed"), "{text}");
}
