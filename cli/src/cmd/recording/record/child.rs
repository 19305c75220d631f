//! Runs the command with unchanged streams, signals and exit status.
//!
//! The terminal sends Ctrl-C and Ctrl-\ to the command too, because it is in the same process group; this
//! process only has to survive them. Signals that another process sends to this one are forwarded.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Cause;

use super::launch::Launch;
use super::timeout::{Limit, TIMED_OUT, Timeout};
use crate::failure::Failure;
use crate::output::STARTED_AS;

const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
/// The status of a command that was killed by a signal is this plus the signal's number.
const KILLED: i32 = 128;

/// A command that has ended.
pub(super) struct Ended {
    pub(super) pid: u32,
    /// Its exit status.
    pub(super) status: u8,
    /// Whether it took too long, and was ended.
    pub(super) is_timed_out: bool,
}

/// Runs the command to its end, or to that of its time.
pub(super) fn run(launch: &Launch, limit: Option<Limit>) -> Result<Ended, Failure> {
    let (program, args) = launch
        .command
        .split_first()
        .ok_or_else(|| Failure::Usage("the command to run is missing".to_owned()))?;
    let mut child = Command::new(program);
    child.args(args).envs(launch.variables.iter().map(|(name, value)| (name, value)));
    // It is about this process: the command may start another flow.
    child.env_remove(STARTED_AS);

    // Before the start, so that the end of a very short command is noticed.
    let mut signals = SignalsInfo::<WithOrigin>::new(handled())
        .map_err(|error| Failure::Failed(format!("signals cannot be handled: {error}")))?;
    let mut child = child.spawn().map_err(|error| cannot_run(program, &error))?;
    let timeout = limit.map(|limit| Timeout::start(limit, child.id()));
    let status = wait(&mut child, &mut signals);
    let is_timed_out = timeout.is_some_and(Timeout::end);
    let status = status
        .map_err(|error| Failure::Failed(format!("waiting for the command: {error}")))
        .map(|status| if is_timed_out { TIMED_OUT } else { code(status) })?;
    Ok(Ended { pid: child.id(), status, is_timed_out })
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

/// The signals to handle. Signals that are ignored when this process starts stay ignored, for the command too: a
/// handler would undo `nohup`.
fn handled() -> Vec<i32> {
    let ignored = ignored_signals();
    let typed_or_sent = [SIGINT, SIGQUIT, SIGTERM, SIGHUP];
    let not_ignored = typed_or_sent.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    not_ignored.chain([SIGCHLD]).collect()
}

/// A bit for each signal, the lowest for signal 1. Zero if the system does not report them.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn wait(child: &mut Child, signals: &mut SignalsInfo<WithOrigin>) -> std::io::Result<ExitStatus> {
    loop {
        // One signal may represent several ends.
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        for origin in signals.wait() {
            let is_sent = matches!(origin.cause, Cause::Sent(_));
            let Some(forwarded) = forwarded(origin.signal, is_sent) else { continue };
            // Nobody has waited for the child, so the id is still its own. If it has just ended, the signal has no
            // effect.
            let _ = kill_process(Pid::from_child(child), forwarded);
        }
    }
}

/// The signal to send to the command. `is_sent`: by a process, not by the terminal.
fn forwarded(signal: i32, is_sent: bool) -> Option<Signal> {
    match signal {
        SIGTERM => Some(Signal::TERM),
        SIGHUP => Some(Signal::HUP),
        SIGINT if is_sent => Some(Signal::INT),
        SIGQUIT if is_sent => Some(Signal::QUIT),
        _ => None,
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
    fn the_command_gets_each_signal_once() {
        for (signal, expected) in [(SIGINT, Signal::INT), (SIGQUIT, Signal::QUIT)] {
            assert_eq!(forwarded(signal, true), Some(expected));
            assert_eq!(
                forwarded(signal, false),
                None,
                "the terminal has sent it to the command too"
            );
        }
        assert_eq!(forwarded(SIGHUP, false), Some(Signal::HUP));
        assert_eq!(forwarded(SIGCHLD, true), None);
    }
}
