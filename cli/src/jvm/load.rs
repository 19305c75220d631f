//! The request to load the agent.

use std::io::{Read, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::answer::Answer;
use super::connect::connect;
use super::process::Process;
use super::refusal::Refusal;
use crate::failure::Failure;
use crate::output::message;

/// Before recording starts, the agent rewrites the loaded classes, which may be tens of thousands.
const LOAD_TIMEOUT: Duration = Duration::from_secs(300);
/// After this time, a message explains the wait.
const PATIENCE: Duration = Duration::from_secs(1);
/// More than any answer of a JVM.
const MAX_ANSWER_BYTES: u64 = 64 * 1024;
/// A JVM closes the connection on longer arguments, at least up to JDK 25.
const MAX_ARGUMENT_BYTES: usize = 1024;

/// Loads the library, or calls its entry point again if it is loaded. The options name the file of `refusal`.
pub(crate) fn load(
    process: &Process,
    library: &str,
    options: &str,
    refusal: &Refusal,
) -> Result<(), Failure> {
    let mut stream = connect(process)?;
    stream.set_read_timeout(Some(LOAD_TIMEOUT)).map_err(|error| broken(process, &error))?;
    // `true`: the library is a path, not a name to search for.
    let request = ["load", library, "true", options];
    let answer =
        explaining_the_wait(process.pid(), || converse(&mut stream, request, MAX_ANSWER_BYTES));
    let reason = match Answer::parse(&answer.map_err(|error| broken(process, &error))?) {
        Answer::Loaded => return Ok(()),
        Answer::Refused { code } => refusal.reason().unwrap_or_else(|| {
            format!("the agent refused (return code {code}); the process's stderr may say why")
        }),
        Answer::NotLoaded { why } => format!("the JVM did not load the agent: {why}"),
        Answer::None if library.len().max(options.len()) > MAX_ARGUMENT_BYTES => format!(
            "the JVM takes at most {MAX_ARGUMENT_BYTES} bytes of options, and these have {}: put them into \
             a file, and name it with --config",
            options.len()
        ),
        Answer::None => "the JVM closed the connection without an answer".to_owned(),
    };
    Err(Failure::Failed(format!("process {}: {reason}", process.pid())))
}

/// Runs `body`, and prints a message if it takes long.
fn explaining_the_wait<T>(pid: i32, body: impl FnOnce() -> T) -> T {
    let (running, ended) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                message(&format!(
                    "process {pid}: the JVM replaces the code of its classes, which takes up to 5 seconds for thousands of classes, \
                     up to 40 on JDK 11"
                ));
            }
        });
        let result = body();
        drop(running);
        result
    })
}

fn broken(process: &Process, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("process {}: while waiting for the JVM: {error}", process.pid()))
}

/// Sends a command and its three arguments, after the protocol's version, each followed by a NUL; and reads the answer, of which
/// at most `max_bytes` count.
pub(super) fn converse(
    stream: &mut (impl Read + Write),
    [command, first, second, third]: [&str; 4],
    max_bytes: u64,
) -> std::io::Result<String> {
    let parts = ["1", command, first, second, third];
    let request: Vec<_> = parts.iter().flat_map(|part| part.bytes().chain([0])).collect();
    stream.write_all(&request)?;
    let mut answer = Vec::new();
    stream.take(max_bytes).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_request_is_answered_over_the_socket() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"0\nreturn code: 0\n").unwrap();
        theirs.shutdown(Shutdown::Write).unwrap();
        let answer = converse(&mut ours, ["load", "/lib/a.so", "true", "out=/t,x=ü"], 64).unwrap();
        assert_eq!(answer, "0\nreturn code: 0\n");
        drop(ours);
        let mut received = String::new();
        theirs.read_to_string(&mut received).unwrap();
        assert_eq!(received, "1\0load\0/lib/a.so\0true\0out=/t,x=ü\0");
    }
}
