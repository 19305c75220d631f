//! Which JVM to attach to.

use crate::cmd::recording::agent::is_java;
use crate::failure::Failure;
use crate::jvm::Process;
use crate::output::message;
use crate::own::{self, Surroundings};

/// Finds the JVM with a process id. Without one, or with another word, lists the JVMs that run now.
pub(crate) fn jvm(pid: Option<&str>) -> Result<Process, Failure> {
    if let Some(pid @ 1..) = pid.and_then(|pid| pid.parse().ok()) {
        return Process::find(pid);
    }
    let found = pid.map_or_else(String::new, |word| format!(", found '{word}'"));
    let are_listed = match list() {
        0 => "no JVM of this user is running",
        _ => "those of this user are listed above",
    };
    Err(Failure::Usage(format!("expected the process id of a JVM{found}; {are_listed}")))
}

/// Prints the JVMs that this user can attach to, by their ids, and returns how many these are.
fn list() -> usize {
    let mut processes = Process::all();
    processes.sort_by_key(Process::pid);
    let width = processes.iter().map(|process| process.pid().to_string().len()).max().unwrap_or(0);
    for process in &processes {
        message(&format!("  {:width$}  {}", process.pid(), main_of(process)));
    }
    processes.len()
}

/// What a JVM runs: `demo.App`.
fn main_of(process: &Process) -> String {
    let around = Surroundings::of_process(process);
    let runs = match process.command().as_slice() {
        [program, arguments @ ..] if is_java(program) => own::main_of_java(arguments, &around),
        [program, ..] => Some(program.to_string_lossy().into_owned()),
        [] => None,
    };
    runs.unwrap_or_default()
}
