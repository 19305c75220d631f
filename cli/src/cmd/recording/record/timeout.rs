//! `flow record --timeout`: ends a command that takes too long, after its JVMs were asked what their threads wait for.
//!
//! ```text
//! the time is over ─▶ each JVM that is recorded: what its threads wait for, beside its trace
//!                  ─▶ TERM to the command, all that it started, and these JVMs
//!                  ─▶ 10 s later KILL to those that have not ended
//! ```
//!
//! The calls need nothing of that: the journal has them whatever ends a JVM.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::brake::traces;
use crate::cmd::recording::dump;
use crate::jvm::Process;
use crate::output::{duration, message, plural};

/// The exit status of a command that took too long, as `timeout` has it.
pub(super) const TIMED_OUT: u8 = 124;
/// How long processes have to end by themselves.
const GRACE: Duration = Duration::from_secs(10);
/// How often it is checked whether they have.
const INTERVAL: Duration = Duration::from_millis(50);

/// Which command may take how long, and where its JVMs are recorded.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    pub(super) after: Duration,
    /// The place of the traces, and when the command was started.
    pub(super) pattern: String,
    pub(super) started_ns: u64,
}

/// Waits beside the command.
pub(super) struct Timeout {
    ended: Sender<()>,
    thread: JoinHandle<bool>,
}

impl Timeout {
    /// Begins to wait for the end of a command.
    pub(super) fn start(limit: Limit, command: u32) -> Self {
        let (ended, is_ended) = channel();
        let thread = thread::spawn(move || wait(&limit, command, &is_ended));
        Self { ended, thread }
    }

    /// The command has ended. Returns whether it took too long: then all that it started have ended, too.
    pub(super) fn end(self) -> bool {
        drop(self.ended);
        self.thread.join().unwrap_or(false)
    }
}

fn wait(limit: &Limit, command: u32, is_ended: &Receiver<()>) -> bool {
    if is_ended.recv_timeout(limit.after) != Err(RecvTimeoutError::Timeout) {
        return false;
    }
    let after = duration(u64::try_from(limit.after.as_nanos()).unwrap_or(u64::MAX));
    message(&format!("the command has not ended after {after} (--timeout), and is ended now"));
    let jvms = recorded(limit);
    for (process, trace) in &jvms {
        let pid = process.pid();
        match dump::store(process, trace) {
            Ok(threads) => message(&format!(
                "process {pid}: what its {} wait for is stored with the recording",
                plural(threads as u64, "thread")
            )),
            Err(failure) => message(&format!("{failure}; what threads wait for is not stored")),
        }
    }
    let pids = i32::try_from(command).into_iter().chain(jvms.iter().map(|(jvm, _)| jvm.pid()));
    end_all(&started_by(pids.collect()));
    true
}

/// The JVMs that are recorded, and their traces.
fn recorded(limit: &Limit) -> Vec<(Process, PathBuf)> {
    let traces = traces(&limit.pattern, limit.started_ns, &mut BTreeSet::new());
    let jvms = Process::all().into_iter().filter_map(|process| {
        let trace = process.recorded_trace()?;
        traces.iter().any(|known| known.dir == trace).then_some((process, trace))
    });
    jvms.collect()
}

/// A process, which is another one if its id is used again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Member {
    pid: i32,
    parent: i32,
    /// When it was started, as the system counts.
    start: u64,
    is_ended: bool,
}

impl Member {
    fn of(pid: i32) -> Option<Self> {
        Self::parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Reads the content of `/proc/PID/stat`. The name of the program, in parentheses, may have any characters.
    fn parse(pid: i32, stat: &str) -> Option<Self> {
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let is_ended = matches!(fields.next()?, "Z" | "X");
        let parent = fields.next()?.parse().ok()?;
        Some(Self { pid, parent, start: fields.nth(17)?.parse().ok()?, is_ended })
    }

    fn is_alive(&self) -> bool {
        Self::of(self.pid).is_some_and(|now| now.start == self.start && !now.is_ended)
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid).filter(|_| self.is_alive()) {
            // If it has just ended, the signal has no effect.
            let _ = kill_process(pid, signal);
        }
    }
}

/// Some processes, and all that they started, as far as their parents live.
fn started_by(roots: Vec<i32>) -> Vec<Member> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all: Vec<_> = pids.filter_map(Member::of).collect();
    let mut found: Vec<Member> = Vec::new();
    let mut pids = roots;
    while let Some(pid) = pids.pop() {
        if found.iter().all(|member| member.pid != pid) {
            found.extend(all.iter().find(|member| member.pid == pid));
            pids.extend(all.iter().filter(|member| member.parent == pid).map(|member| member.pid));
        }
    }
    found
}

/// Asks processes to end, and ends those that do not.
fn end_all(members: &[Member]) {
    members.iter().for_each(|member| member.signal(Signal::TERM));
    let deadline = Instant::now() + GRACE;
    while members.iter().any(Member::is_alive) {
        if Instant::now() >= deadline {
            let count = members.iter().filter(|member| member.is_alive()).count() as u64;
            let seconds = GRACE.as_secs();
            message(&format!(
                "{} did not end within {seconds} s of SIGTERM: killed",
                plural(count, "process")
            ));
            members.iter().for_each(|member| member.signal(Signal::KILL));
            return;
        }
        thread::sleep(INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn names_of_programs_may_look_like_fields() {
        let stat = "77 (a) Z 1 (b)) S 42 77 77 0 -1 4194560 1 0 0 0 3 2 0 0 20 0 1 0 123456 1 2";
        let member = Member::parse(77, stat).unwrap();
        assert_eq!((member.parent, member.start, member.is_ended), (42, 123_456, false));
    }

    #[test]
    fn what_a_process_started_ends_with_it() {
        let mut shell = Command::new("sh").args(["-c", "sleep 600 & wait"]).spawn().unwrap();
        let shell_pid = i32::try_from(shell.id()).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let members = loop {
            let members = started_by(vec![shell_pid]);
            if members.len() == 2 {
                break members;
            }
            assert!(Instant::now() < deadline, "{members:?}");
        };
        let waiting = thread::spawn(move || shell.wait().unwrap());
        end_all(&members);
        waiting.join().unwrap();
        assert!(members.iter().all(|member| !member.is_alive()), "{members:?}");
    }
}
