//! Running other programs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{env, io};

use wait4::Wait4;

use crate::base::failure::{Context, Failure, Result};

/// What a process used: itself, and the children it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) wall_ns: u64,
    /// User and system time of all threads.
    pub(crate) cpu_ns: u64,
    /// The largest resident set of one process.
    pub(crate) rss_kib: u64,
}

/// Runs a command to its end and returns what it used.
///
/// The kernel counts as memory of a child what its parent had when the child began to execute: about
/// 2.5 MiB of ours. Every program measured here uses more, except `cat`.
///
/// # Errors
///
/// If the command cannot be started.
pub(crate) fn measure(command: &mut Command) -> io::Result<(ExitStatus, Usage)> {
    let start = Instant::now();
    let ended = command.spawn()?.wait4()?;
    let wall = start.elapsed();
    let cpu = ended.rusage.utime + ended.rusage.stime;
    let usage = Usage {
        wall_ns: nanoseconds(wall),
        cpu_ns: nanoseconds(cpu),
        rss_kib: ended.rusage.maxrss / 1024,
    };
    Ok((ended.status, usage))
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Creates a command for a program to be measured or checked: without the variables that would reach
/// every JVM and every `flow`, and without the library path that `cargo run` sets.
pub(crate) fn clean(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"FLOW_") {
            command.env_remove(name);
        }
    }
    for name in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "LD_LIBRARY_PATH"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// Runs a command whose output goes where ours goes.
///
/// # Errors
///
/// If it cannot be started or fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|error| cannot_run(command, &error))?;
    succeeded(command, status)
}

/// Runs a command and returns its output without the last line break.
///
/// # Errors
///
/// If it cannot be started, fails, or its output is not UTF-8.
pub(crate) fn output_of(command: &mut Command) -> Result<String> {
    let output =
        command.stderr(Stdio::inherit()).output().map_err(|error| cannot_run(command, &error))?;
    succeeded(command, output.status)?;
    let text = String::from_utf8(output.stdout).context(program_of(command))?;
    Ok(text.trim_end_matches('\n').to_owned())
}

/// Returns the failure of a program that could not be started.
pub(crate) fn cannot_run(command: &Command, error: &io::Error) -> Failure {
    Failure::Usage(format!("cannot run {}: {error}", program_of(command)))
}

fn succeeded(command: &Command, status: ExitStatus) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    Err(Failure::Failed(format!("{} failed: {status}", program_of(command))))
}

fn program_of(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

/// Copies a program. Another process writes the copy: as long as this one has it open for writing, or a child that another
/// thread starts at that moment, it cannot be run ("text file busy").
///
/// # Errors
///
/// If it cannot be read or written.
pub(crate) fn install(program: &Path, to: &Path) -> Result<()> {
    run(clean("install").args(["-m", "755", "--"]).arg(program).arg(to))
}

/// Returns the program of that name on the PATH.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|dir| dir.join(name)).find(|file| is_executable(file))
}

/// Returns whether this is a file that may be executed.
pub(crate) fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// Makes a program of a shell script, in a folder of a test.
#[cfg(test)]
pub(crate) fn script(folder: &Path, text: &str) -> PathBuf {
    let (source, program) = (folder.join("script.sh"), folder.join("program"));
    std::fs::write(&source, format!("#!/bin/sh\n{text}\n")).unwrap();
    install(&source, &program).unwrap();
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_command_has_a_status_time_and_memory() {
        let (status, usage) =
            measure(Command::new("sh").args(["-c", "sleep 0.01; exit 3"])).unwrap();
        assert_eq!(status.code(), Some(3));
        assert!(usage.wall_ns >= 10_000_000);
        assert!(usage.rss_kib > 0);
    }

    #[test]
    fn a_program_that_does_not_exist_or_fails_is_named() {
        let missing = run(&mut Command::new("/no/such/program")).unwrap_err();
        assert_eq!(missing.status(), 2);
        assert!(missing.to_string().starts_with("cannot run /no/such/program: "));
        let failed = run(&mut Command::new("false")).unwrap_err();
        assert_eq!(failed.to_string(), "false failed: exit status: 1");
    }

    #[test]
    fn output_is_returned_without_its_last_line_break() {
        assert_eq!(output_of(Command::new("echo").arg("a b")).unwrap(), "a b");
    }
}
