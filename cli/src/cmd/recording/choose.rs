//! Which JVM to attach to.

use crate::cmd::recording::agent::is_java;
use crate::failure::Failure;
use crate::jvm::Process;
use crate::own::{self, Surroundings};

/// If there are more JVMs than this, only the first are named.
const SHOWN: usize = 12;

/// Finds the JVM with a process id.
pub(crate) fn jvm(pid: Option<&str>) -> Result<Process, Failure> {
    let Some(pid) = pid else {
        return Err(Failure::Usage(format!("name the process id of a JVM; {}", running())));
    };
    match pid.parse() {
        Ok(pid @ 1..) => Process::find(pid),
        _ => {
            Err(Failure::Usage(format!("'{pid}': expected the process id of a JVM; {}", running())))
        }
    }
}

/// Names the JVMs that run now.
fn running() -> String {
    let mut processes = Process::all();
    processes.sort_by_key(Process::pid);
    let mut names: Vec<_> = processes.iter().take(SHOWN).map(title).collect();
    match processes.len().saturating_sub(SHOWN) {
        0 => {}
        more => names.push(format!("and {more} more")),
    }
    match names.is_empty() {
        true => "no JVM of this user is running".to_owned(),
        false => format!("these are running: {}", names.join(", ")),
    }
}

/// `4711 (demo.App)`: the id and what it runs.
fn title(process: &Process) -> String {
    let around = Surroundings::of_process(process);
    let runs = match process.command().as_slice() {
        [program, arguments @ ..] if is_java(program) => own::main_of_java(arguments, &around),
        [program, ..] => Some(program.to_string_lossy().into_owned()),
        [] => None,
    };
    let runs = runs.map_or_else(String::new, |name| format!(" ({name})"));
    format!("{}{runs}", process.pid())
}
