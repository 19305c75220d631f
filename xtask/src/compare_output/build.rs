//! Runs the commands of a build of flow, and makes what they print comparable.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use memchr::memmem;

use super::commands::{Command, Words};
use super::states::State;
use crate::base::failure::{Context, Result};
use crate::base::process::{cannot_run, clean, install};
use crate::traces::{copy, files_in, link};

/// A program to compare.
#[derive(Clone, Debug)]
pub(super) struct Build {
    program: PathBuf,
    /// For the copies of traces that commands run on.
    work: PathBuf,
    /// How links to files begin: with the name of the machine.
    link: String,
}

/// A trace for a command.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The folder with the trace. Commands run in a copy of it.
    pub(super) folder: PathBuf,
    /// The folder with another run of the program, which is copied to `c`.
    pub(super) other: PathBuf,
    /// The name of the trace, as the answers show it. In other forms, words have another one.
    pub(super) name: String,
    pub(super) words: Words,
}

impl Build {
    /// Opens a program.
    pub(super) fn open(program: &Path, work: &Path) -> Result<Self> {
        fs::create_dir_all(work).context(work.display())?;
        // Another build may take the place of the program meanwhile.
        let copy = work.join("flow");
        install(program, &copy)?;
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Ok(Self {
            program: copy,
            work: work.to_owned(),
            link: format!("file://{}", host.trim_end()),
        })
    }

    /// Returns a digest of what a command prints and writes. `worker` differs between calls at the same time.
    pub(super) fn digest(&self, command: &Command, place: &Place, worker: usize) -> Result<u32> {
        // CRC-32 is enough to notice a difference that nobody makes on purpose.
        let mut digest = crc32fast::Hasher::new();
        self.run(command, place, worker, &mut |bytes| {
            digest.update(bytes);
            Ok(())
        })?;
        Ok(digest.finalize())
    }

    /// Runs a command and passes on its output and messages, its exit status, and the files that it wrote, without what
    /// differs from run to run.
    pub(super) fn run(
        &self,
        command: &Command,
        place: &Place,
        worker: usize,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<()> {
        let case = self.work.join(format!("case-{worker}"));
        let _ = fs::remove_dir_all(&case);
        fs::create_dir_all(&case).context(case.display())?;
        if command.needs_trace {
            // A repair changes files in place.
            let put = if command.line.contains("--repair") { copy } else { link };
            put(&place.folder, &case)?;
        }
        if command.line.split(' ').any(|word| word == "C") {
            link(&place.other, &case.join("c"))?;
        }
        for arguments in place.words.arguments(command) {
            self.run_one(&arguments, place, &case, sink).context(&command.line)?;
        }
        for path in files_in(&case)? {
            let name = path.to_string_lossy();
            if name.starts_with('O') {
                let content = fs::read(case.join(&path)).context(path.display())?;
                let content = match is_page(&content) {
                    true => place.named(without_nonces(&content)),
                    false => content,
                };
                sink(format!("file {name}\n").as_bytes())
                    .and_then(|()| sink(&content))
                    .context(&command.line)?;
            }
        }
        Ok(())
    }

    fn run_one(
        &self,
        arguments: &[String],
        place: &Place,
        case: &Path,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let (mut reader, writer) = io::pipe()?;
        let mut process = clean(&self.program);
        process.current_dir(case).env("LC_ALL", "C").env("TZ", "UTC").env("TMPDIR", case);
        process.env("HOME", case).env("FLOW_STARTED_AS", "flow").env_remove("COLUMNS");
        process.env_remove("NO_COLOR").env_remove("TERM").env_remove("TERM_PROGRAM");
        process.args(arguments);
        if place.words.trace == "-" && arguments.iter().any(|argument| argument == "-") {
            process.stdin(fs::File::open(case.join(State::File.word(&place.name)))?);
        }
        process.stdout(writer.try_clone()?).stderr(writer);
        let child = process.spawn();
        let mut child =
            child.map_err(|error| io::Error::other(cannot_run(&process, &error).to_string()))?;
        // It holds the other end of the pipe, which would never end.
        drop(process);
        let case = case.to_string_lossy();
        let mut lines = BufReader::new(&mut reader);
        let (mut line, mut is_of_page) = (Vec::new(), false);
        while lines.read_until(b'\n', &mut line)? > 0 {
            is_of_page |= is_page(&line);
            let shown = without_interval(&replaced(&line, case.as_bytes(), b"CASE"));
            let shown = replaced(&shown, self.link.as_bytes(), b"file://");
            sink(&place.named(if is_of_page { without_nonces(&shown) } else { shown }))?;
            line.clear();
        }
        let status = child.wait()?;
        sink(format!("exit status {}\n", code_of(status)).as_bytes())
    }
}

impl Place {
    /// Returns a line of output with the name of the trace in place of the words by which a command was given it.
    fn named(&self, output: Vec<u8>) -> Vec<u8> {
        let Self { name, words: Words { trace, .. }, .. } = self;
        // Windows has the other separator: in messages and in what `check` has found, and escaped in the notes of a page.
        let mut output = output;
        for (windows, before) in [("\\", ": "), ("\\\\", "\"")] {
            let [windows, unix] =
                [windows, "/"].map(|separator| format!("{before}{trace}{separator}"));
            output = replaced(&output, windows.as_bytes(), unix.as_bytes());
        }
        if trace == name {
            return output;
        }
        let file = State::File.word(name);
        let mut names = vec![(file, name.clone())];
        if trace == "-" {
            // In a message, a title, a table of `diff`, on a page, and in what `check` has found.
            let places = [
                ("flow: -: ", "flow: TRACE: "),
                ("flow: -/", "flow: TRACE/"),
                ("trace -\n", "trace TRACE\n"),
                ("  -\n", "  TRACE\n"),
                ("\"dir\":\"'-'\"", "\"dir\":\"TRACE\""),
                ("\"text\":\"-/", "\"text\":\"TRACE/"),
                ("damage: -/", "damage: TRACE/"),
                ("\"finding\":\"-/", "\"finding\":\"TRACE/"),
                (",'-/", ",TRACE/"),
                (",\"'-/", ",\"TRACE/"),
            ];
            names.extend(places.map(|(from, to)| (from.to_owned(), to.replace("TRACE", name))));
        }
        let output = match output.strip_prefix(b"-: ") {
            Some(rest) if trace == "-" => [name.as_bytes(), b": ", rest].concat(),
            _ => output,
        };
        let replace = |output: Vec<u8>, (from, to): (String, String)| {
            replaced(&output, from.as_bytes(), to.as_bytes())
        };
        names.into_iter().fold(output, replace)
    }
}

/// Returns the exit status as shells show it.
fn code_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// Returns `text` with `to` in place of each `from`, which is not empty.
fn replaced(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memmem::find(rest, from) {
        result.extend_from_slice(&rest[..at]);
        result.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    result.extend_from_slice(rest);
    result
}

/// Returns whether some output or file is a page for a browser.
fn is_page(content: &[u8]) -> bool {
    content.get(..9).is_some_and(|start| start.eq_ignore_ascii_case(b"<!doctype"))
}

/// Returns a page without its random numbers: `nonce="…"` and `nonce-…` end with their name.
fn without_nonces(page: &[u8]) -> Vec<u8> {
    const NAME: &[u8] = b"nonce";
    let mut result = Vec::with_capacity(page.len());
    let mut rest = page;
    while let Some(at) = memmem::find(rest, NAME) {
        let (before, after) = rest.split_at(at + NAME.len());
        result.extend_from_slice(before);
        let number = after.strip_prefix(b"-").or_else(|| after.strip_prefix(b"=\""));
        let is_digit = |byte: &&u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
        rest = match number.map(|number| (number, number.iter().take_while(is_digit).count())) {
            Some((number, digits)) if digits > 0 => &number[digits..],
            _ => after,
        };
    }
    result.extend_from_slice(rest);
    result
}

/// Returns a line of `top --format json` without the time that really passed.
fn without_interval(line: &[u8]) -> Vec<u8> {
    const NAME: &[u8] = b"\"interval_ns\":";
    let Some(at) = memmem::find(line, NAME) else { return line.to_vec() };
    let (before, after) = line.split_at(at + NAME.len());
    let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    [before, &after[digits..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::process::on_path;

    #[test]
    fn random_numbers_of_a_page_are_left_out() {
        let page = b"'nonce-0a1b' <script nonce=\"ff9\"> nonce x nonce-z nonce";
        let expected = b"'nonce' <script nonce\"> nonce x nonce-z nonce";
        assert_eq!(without_nonces(page), expected);
    }

    #[test]
    fn the_time_that_passed_is_left_out() {
        let line = b"{\"age_ns\":1,\"interval_ns\":1006,\"calls\":2}";
        assert_eq!(without_interval(line), b"{\"age_ns\":1,\"interval_ns\":,\"calls\":2}");
    }

    #[test]
    fn every_occurrence_is_replaced() {
        assert_eq!(replaced(b"/p and /p/", b"/p", b"PAGE"), b"PAGE and PAGE/");
        assert_eq!(replaced(b"nothing", b"/p", b"PAGE"), b"nothing");
    }

    /// Returns what commands print and write, with any program in place of flow, on a trace that is a file `t`.
    fn output(program: &str, line: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("trace");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("t"), "content of t\n").unwrap();
        let build = Build::open(&on_path(program).unwrap(), &dir.path().join("work")).unwrap();
        let (trace, other) = ("t".to_owned(), "c/t".to_owned());
        let words = Words { trace, other, method: "m", thread: "n", range: "w" };
        let place = Place { other: folder.clone(), folder, name: "t".to_owned(), words };
        let line = line.to_owned();
        let command = Command {
            line,
            states_differ: false,
            forms_differ: false,
            is_for_large: true,
            needs_trace: true,
        };
        let mut output = Vec::new();
        let mut sink = |bytes: &[u8]| {
            output.extend_from_slice(bytes);
            Ok(())
        };
        build.run(&command, &place, 0, &mut sink).unwrap();
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn messages_status_and_written_files_are_part_of_the_output() {
        let printed = output("ls", "info");
        assert!(printed.contains("'info'"), "{printed}");
        assert!(printed.ends_with("t\nexit status 2\n"), "{printed}");
        let printed = output("cp", "T O && C O2 T");
        assert!(printed.ends_with("file O\ncontent of t\n"), "{printed}");
    }
}
