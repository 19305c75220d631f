//! Runs a command with limits, and finds out what is wrong with how it ended and with what it printed.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use crate::base::failure::{Context, Result};
use crate::base::process::{Usage, clean, measure};

/// The most processor time that a command may take for a file of a few megabytes.
const MAX_CPU: Duration = Duration::from_secs(10);
/// After this time a command is killed. A busy machine may need longer than the processor does.
const MAX_WALL_SECONDS: u32 = 60;
/// The most memory of a command.
const MAX_RSS_KIB: u64 = 512 << 10;
/// The most address space, so that a command ends before the machine suffers: 8 GiB.
const MAX_SPACE_KIB: u64 = 8 << 20;
/// The most bytes that a command may write to a file, in blocks of 512 bytes: 256 MiB.
const MAX_FILE_BLOCKS: u64 = 512 << 10;
/// The exit status of a Rust program that panicked.
const PANICKED: i32 = 101;
/// What is wrong with a command that did not end in time.
const KILLED: &str = "more than 60 s";
/// In the message of a command that may write no more to a file.
const FILE_TOO_LARGE: &str = "File too large";
/// A shell adds this to the number of a signal.
const BY_SIGNAL: i32 = 128;

/// A command: its words, without `flow`.
#[derive(Clone, Debug)]
pub(super) struct Judge {
    pub(super) flow: PathBuf,
}

impl Judge {
    /// Runs a command in a directory, and returns what is wrong; empty if nothing is. A command that took too long gets a
    /// second chance: the machine may have had other work.
    pub(super) fn judge(&self, words: &[String], directory: &Path) -> Result<Vec<String>> {
        let wrong = self.judge_once(words, directory)?;
        match wrong.iter().any(|wrong| wrong == KILLED) {
            true => self.judge_once(words, directory),
            false => Ok(wrong),
        }
    }

    fn judge_once(&self, words: &[String], directory: &Path) -> Result<Vec<String>> {
        let outputs = ["stdout", "stderr"].map(|name| directory.join(name));
        let create = |path: &PathBuf| fs::File::create(path).context(path.display());
        let [stdout, stderr] = [create(&outputs[0])?, create(&outputs[1])?];
        let limits = format!(
            "ulimit -v {MAX_SPACE_KIB}; ulimit -f {MAX_FILE_BLOCKS}; ulimit -c 0; \
             exec timeout -s KILL {MAX_WALL_SECONDS} \"$@\""
        );
        let mut command = clean("sh");
        command.args(["-c", &limits, "sh"]).arg(&self.flow).args(words).current_dir(directory);
        command.env("LC_ALL", "C.UTF-8").env("TMPDIR", directory).env("RUST_BACKTRACE", "0");
        command.stdout(stdout).stderr(stderr);
        let (status, usage) = measure(&mut command).context("sh")?;
        let read = |path: &PathBuf| fs::read(path).context(path.display());
        let mut wrong = wrong_end(status, usage);
        let (stdout, stderr) = (read(&outputs[0])?, read(&outputs[1])?);
        wrong.extend(wrong_messages(&stderr));
        // An export of a million calls has more, and is cut at the limit.
        if !String::from_utf8_lossy(&stderr).contains(FILE_TOO_LARGE) {
            wrong.extend(wrong_output(words, &stdout));
        }
        Ok(wrong)
    }
}

fn wrong_end(status: ExitStatus, usage: Usage) -> Vec<String> {
    let mut wrong = Vec::new();
    match (status.code(), status.signal()) {
        (Some(PANICKED), _) => wrong.push("it panicked".to_owned()),
        (Some(code), _) if code == BY_SIGNAL + 9 => wrong.push(KILLED.to_owned()),
        (Some(code), _) if code > BY_SIGNAL => {
            wrong.push(format!("ended by signal {}", code - BY_SIGNAL));
        }
        (_, Some(9)) => wrong.push(KILLED.to_owned()),
        (_, Some(signal)) => wrong.push(format!("ended by signal {signal}")),
        _ => {}
    }
    let cpu = Duration::from_nanos(usage.cpu_ns);
    if cpu > MAX_CPU {
        wrong.push(format!("more than {} s of processor time", MAX_CPU.as_secs()));
    }
    if usage.rss_kib > MAX_RSS_KIB {
        wrong.push(format!("more than {} MiB of memory", MAX_RSS_KIB >> 10));
    }
    wrong
}

/// Messages are for terminals.
fn wrong_messages(stderr: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(stderr);
    let mut wrong = Vec::new();
    if let Some(at) = text.find("panicked at ") {
        let place = text[at..].lines().next().unwrap_or_default();
        wrong.push(place.to_owned());
    }
    wrong.extend(control_in(&text).map(|found| format!("{found} in a message")));
    wrong
}

/// What a command prints, by its words.
fn wrong_output(words: &[String], stdout: &[u8]) -> Vec<String> {
    let is = |word: &str| words.iter().any(|other| other == word);
    if ["pprof", "otlp-profile", "perfetto", "parquet", "hpl"].iter().any(|format| is(format)) {
        return Vec::new();
    }
    let Ok(text) = std::str::from_utf8(stdout) else { return vec!["it is not UTF-8".to_owned()] };
    let mut wrong: Vec<_> =
        control_in(text).map(|found| format!("{found} in the output")).into_iter().collect();
    let formats = ["json", "chrome", "speedscope", "firefox", "otlp", "jsonl"];
    // An estimate is text, whatever it is of.
    let is_json = formats.iter().any(|format| is(format)) && !is("--estimate");
    if is_json && let Some(error) = not_json(text) {
        wrong.push(format!("no JSON: {error}"));
    }
    wrong
}

/// Returns a character of the text, if there is one, that changes how a terminal shows the rest.
fn control_in(text: &str) -> Option<String> {
    let is_control = |c: &char| match *c {
        '\n' | '\t' => false,
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => true,
        c => c.is_control(),
    };
    text.chars().find(is_control).map(|found| format!("U+{:04X}", u32::from(found)))
}

/// Returns why a text is neither one JSON value nor a sequence of them.
fn not_json(text: &str) -> Option<String> {
    let values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    let error = values.filter_map(std::result::Result::err).next()?;
    // Calls may be nested deeper than this parser goes.
    (!error.to_string().contains("recursion limit")).then(|| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::process::script;

    fn judged(text: &str, words: &[&str]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let flow = script(dir.path(), text);
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        Judge { flow }.judge(&words, dir.path()).unwrap()
    }

    #[test]
    fn what_is_wrong_is_found() {
        let none: [&str; 0] = [];
        assert_eq!(judged("echo fine; echo flow: bad >&2; exit 1", &["report"]), none);
        assert_eq!(judged("echo '{\"a\":1} [2]'", &["report", "--format", "json"]), none);
        assert_eq!(judged("exit 101", &["info"]), ["it panicked"]);
        assert_eq!(judged("kill -11 $$", &["info"]), ["ended by signal 11"]);
        assert_eq!(
            judged("echo \"thread 'main' panicked at x.rs:1\" >&2", &["info"]),
            ["panicked at x.rs:1"]
        );
        assert_eq!(judged("printf '\\033[1m'", &["info"]), ["U+001B in the output"]);
        assert_eq!(judged("printf '\\302\\233' >&2", &["info"]), ["U+009B in a message"]);
        assert_eq!(judged("printf '\\377'", &["info"]), ["it is not UTF-8"]);
        assert_eq!(judged("printf '\\377'", &["export", "--to", "pprof"]), none);
        assert_eq!(judged("echo '~ 1 MB'", &["export", "--to", "jsonl", "--estimate"]), none);
        let wrong = judged("echo '{'", &["report", "--format", "json"]);
        assert!(wrong[0].starts_with("no JSON: EOF"), "{wrong:?}");
        // A file that grows.
        let wrong = judged("exec dd if=/dev/zero of=big bs=1M count=300 2>/dev/null", &["export"]);
        assert_eq!(wrong, ["ended by signal 25"]);
    }
}
