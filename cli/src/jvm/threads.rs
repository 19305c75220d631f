//! The request for what each thread waits for.

use std::time::Duration;

use super::connect::connect;
use super::load::converse;
use super::process::Process;
use crate::failure::Failure;

/// A JVM stops its threads for it, which takes milliseconds, unless it is overloaded.
const TIMEOUT: Duration = Duration::from_secs(20);
/// More than the frames of ten thousand threads need.
const MAX_ANSWER_BYTES: u64 = 64 << 20;

/// Asks a JVM for the stacks of its threads and the locks that they hold, as `jstack -l` prints them.
pub(crate) fn threads(process: &Process) -> Result<String, Failure> {
    let pid = process.pid();
    let fail = |why: &str| Failure::Failed(format!("process {pid}: its threads: {why}"));
    let mut stream = connect(process)?;
    stream.set_read_timeout(Some(TIMEOUT)).map_err(|error| fail(&error.to_string()))?;
    let answer = converse(&mut stream, ["threaddump", "-l", "", ""], MAX_ANSWER_BYTES)
        .map_err(|error| fail(&error.to_string()))?;
    match answer.split_once('\n') {
        Some(("0", text)) => Ok(text.to_owned()),
        _ => Err(fail(&format!("the JVM answers '{}'", answer.lines().next().unwrap_or_default()))),
    }
}
