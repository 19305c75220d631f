//! Runs a command of flow in a process of its own, and reads what it prints up to a number of bytes.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::time::timeout;

use crate::output::STARTED_AS;

/// Bytes of messages that are read.
const MESSAGE_BYTES: usize = 64 * 1024;

/// What a command printed.
#[derive(Debug)]
pub(super) struct Printed {
    pub(super) results: String,
    pub(super) messages: String,
    /// Whether it would have printed more results.
    pub(super) has_more: bool,
    /// How it ended, unless it was ended because it had printed enough.
    pub(super) status: Option<ExitStatus>,
}

/// Runs this program with these words in a folder. Ends it after `most_bytes` of results, after a time, and if the question is
/// cancelled (this future is dropped).
///
/// # Errors
/// The program cannot be started, or takes too long: a text for the client.
pub(super) async fn run(
    words: &[String],
    folder: &Path,
    most_bytes: usize,
    limit: Duration,
) -> Result<Printed, String> {
    let failed = |error: std::io::Error| format!("cannot run flow: {error}");
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    command.args(["--color=never", "--links=off"]).args(words).current_dir(folder);
    command
        .env(STARTED_AS, "flow")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn().map_err(failed)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let messages = tokio::spawn(async move { read(stderr, MESSAGE_BYTES, true).await.0 });
    let answer = async {
        let (results, has_more) = read(stdout, most_bytes, false).await;
        let status = if has_more {
            child.start_kill().map_err(failed)?;
            child.wait().await.map_err(failed)?;
            None
        } else {
            Some(child.wait().await.map_err(failed)?)
        };
        Ok::<_, String>((results, has_more, status))
    };
    let too_long = |_| format!("no answer within {} s, so the question was ended", limit.as_secs());
    let (results, has_more, status) = timeout(limit, answer).await.map_err(too_long)??;
    let messages = messages.await.unwrap_or_default();
    Ok(Printed { results, messages, has_more, status })
}

/// Reads text up to a number of bytes. Returns whether there is more. `to_end` reads the rest, too, and forgets it.
async fn read(
    from: Option<impl AsyncRead + Unpin>,
    most_bytes: usize,
    to_end: bool,
) -> (String, bool) {
    let (mut bytes, mut has_more) = (Vec::new(), false);
    let Some(mut from) = from else { return (String::new(), false) };
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count) = from.read(&mut buffer).await {
        if count == 0 {
            break;
        }
        let room = most_bytes.saturating_sub(bytes.len());
        bytes.extend(buffer.iter().take(count.min(room)));
        has_more |= count > room;
        if has_more && !to_end {
            break;
        }
    }
    (String::from_utf8_lossy(&bytes).into_owned(), has_more)
}
