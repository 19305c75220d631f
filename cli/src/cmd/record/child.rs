//! Runs the command: its own streams, its own signals, its own exit status.
//!
//! The terminal sends what is typed (Ctrl-C, Ctrl-\) to the command itself, as it stands in the same
//! process group; here it must only be survived. What is sent to this process alone (TERM, HUP) is
//! handed on.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::argument::quote;
use crate::failure::Failure;

/// Options for every JVM that is started.
const JAVA_TOOL_OPTIONS: &str = "JAVA_TOOL_OPTIONS";
/// Tells the agent which JVMs belong together.
const SESSION: &str = "FLOW_SESSION";
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
/// A command that was killed by a signal has this and the signal's number as its status.
const KILLED: i32 = 128;

/// Runs the command with the agent and these environment variables, and returns its process id and exit status.
pub(super) fn run(
    command: &[OsString],
    agent: &str,
    variables: &[(&str, OsString)],
    started: Duration,
) -> Result<(u32, u8), Failure> {
    let (program, args) =
        command.split_first().ok_or_else(|| Failure::Usage("what to run is missing".to_owned()))?;
    let mut child = Command::new(program);
    if is_java(program) {
        child.arg(agent);
    } else {
        child.env(JAVA_TOOL_OPTIONS, tool_options(env::var_os(JAVA_TOOL_OPTIONS), agent));
    }
    child.args(args);
    child.envs(variables.iter().map(|(name, value)| (name, value)));
    // JVMs that the command starts one after the other keep each other's traces.
    child.env(SESSION, format!("{}-{}", std::process::id(), started.as_nanos()));

    // Before the start, so that the end of the shortest command is not missed.
    let mut signals = Signals::new(handled())
        .map_err(|error| Failure::Failed(format!("signals cannot be handled: {error}")))?;
    let mut child = child.spawn().map_err(|error| cannot_run(program, &error))?;
    let status = wait(&mut child, &mut signals)
        .map_err(|error| Failure::Failed(format!("waiting for the command: {error}")))?;
    Ok((child.id(), code(status)))
}

pub(super) fn is_java(program: &OsStr) -> bool {
    let name = Path::new(program).file_name().unwrap_or_default();
    name == "java" || name.eq_ignore_ascii_case("java.exe")
}

fn tool_options(existing: Option<OsString>, agent: &str) -> OsString {
    let mut options = existing.unwrap_or_default();
    if !options.is_empty() {
        options.push(" ");
    }
    options.push(quote(agent));
    options
}

fn cannot_run(program: &OsStr, error: &std::io::Error) -> Failure {
    let program = program.display();
    match error.kind() {
        ErrorKind::NotFound => Failure::Command(
            format!("{program}: command not found; is it spelt right, and in PATH?"),
            NOT_FOUND,
        ),
        _ => Failure::Command(format!("{program}: {error}"), NOT_EXECUTABLE),
    }
}

/// The signals to handle. What is ignored when we start stays ignored, for the command too: a
/// handler would undo `nohup`.
fn handled() -> Vec<i32> {
    let ignored = ignored_signals();
    let typed_or_sent = [SIGINT, SIGQUIT, SIGTERM, SIGHUP];
    let wanted = typed_or_sent.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    wanted.chain([SIGCHLD]).collect()
}

/// A bit for each signal, the lowest for signal 1. Where the system does not tell: none.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn wait(child: &mut Child, signals: &mut Signals) -> std::io::Result<ExitStatus> {
    loop {
        // One signal may stand for several ends.
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        for signal in signals.wait() {
            let forwarded = match signal {
                SIGTERM => Signal::TERM,
                SIGHUP => Signal::HUP,
                _ => continue,
            };
            // Not yet waited for, so the id is still the child's. Gone already: all the better.
            let _ = kill_process(Pid::from_child(child), forwarded);
        }
    }
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| KILLED + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_java_itself_gets_the_option_as_an_argument() {
        for java in ["java", "/usr/lib/jvm/21/bin/java", "./java", "JAVA.EXE"] {
            assert!(is_java(OsStr::new(java)), "{java}");
        }
        for other in ["javac", "mvn", "java-wrapper", "/opt/java/run.sh", ""] {
            assert!(!is_java(OsStr::new(other)), "{other}");
        }
    }

    #[test]
    fn options_of_others_stay() {
        assert_eq!(tool_options(None, "-a"), "-a");
        assert_eq!(tool_options(Some(OsString::new()), "-a"), "-a");
        assert_eq!(tool_options(Some("-Xmx1g".into()), "-a b"), "-Xmx1g '-a b'");
    }
}
