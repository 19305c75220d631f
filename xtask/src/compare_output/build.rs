//! Runs the commands of a build of flow, and makes what they print comparable.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use super::commands::{RENAMED, Values, arguments_of};
use crate::failure::{Context, Result};
use crate::process::{cannot_run, clean};

/// How a program is given a trace. What it prints has the name of the trace in every form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// By a name.
    Directory,
    /// By a name and the ending of a file.
    File,
    /// As that file on standard input.
    Stdin,
}

/// The ending of a trace in one file.
pub(super) const ENDING: &str = ".flowtrace";

/// A program to compare.
#[derive(Clone, Debug)]
pub(super) struct Build {
    /// Differs from that of any other program.
    pub(super) id: String,
    program: PathBuf,
    /// The directory of the traces, in which commands run.
    traces: PathBuf,
    /// For temporary files.
    work: PathBuf,
    pub(super) form: Form,
    pub(super) values: Values,
    /// Flags that it has by another name.
    renamed: Vec<(&'static str, &'static str)>,
}

impl Build {
    /// Opens a program.
    pub(super) fn open(program: &Path, traces: &Path, work: &Path) -> Result<Self> {
        let mut id = Checksum::default();
        id.add(&fs::read(program).context(program.display())?);
        let help = clean(program).args(["replay", "--help"]).output().context(program.display())?;
        let help = String::from_utf8_lossy(&help.stdout);
        Ok(Self {
            id: format!("{:016x}", id.0),
            program: program.to_owned(),
            traces: traces.to_owned(),
            work: work.to_owned(),
            form: Form::Directory,
            values: Values::default(),
            renamed: RENAMED.iter().copied().filter(|(newer, _)| !help.contains(newer)).collect(),
        })
    }

    /// The same program for traces of another form in another directory.
    pub(super) fn with_form(&self, form: Form, traces: &Path, values: &Values) -> Self {
        Self { form, traces: traces.to_owned(), values: values.clone(), ..self.clone() }
    }

    /// Returns a checksum of what a command prints. `worker` differs between calls at the same time.
    pub(super) fn checksum(&self, command: &str, worker: usize) -> Result<u64> {
        let mut checksum = Checksum::default();
        self.run(command, worker, &mut |bytes| {
            checksum.add(bytes);
            Ok(())
        })?;
        Ok(checksum.0)
    }

    /// Runs a command and passes on its output and messages, the page it made, and its exit status, without
    /// what differs from run to run.
    pub(super) fn run(
        &self,
        command: &str,
        worker: usize,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<()> {
        let page = self.work.join(format!("page-{worker}.html"));
        let _ = fs::remove_file(&page);
        let page_name = page.to_string_lossy();
        let (trace, mut arguments) = arguments_of(command, &page_name, &self.values);
        let stdin = self.give(&trace, &mut arguments).context(&trace)?;
        let (mut reader, writer) = io::pipe().context(command)?;
        let mut process = clean(&self.program);
        process.current_dir(&self.traces).env("LC_ALL", "C").env("TMPDIR", &self.work);
        process.args(arguments.iter().map(|argument| self.known_name(argument)));
        process.stdin(stdin).stdout(writer.try_clone().context(command)?).stderr(writer);
        let mut child = process.spawn().map_err(|error| cannot_run(&process, &error))?;
        // It holds the other end of the pipe, which would never end.
        drop(process);
        let status = (|| {
            let mut lines = BufReader::new(&mut reader);
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line)? > 0 {
                sink(&self.with_name(&trace, replaced(&line, page_name.as_bytes(), b"PAGE")))?;
                line.clear();
            }
            let status = child.wait()?;
            let page = without_nonces(&fs::read(&page).unwrap_or_default());
            sink(&self.with_name(&trace, page))?;
            sink(format!("exit status {}\n", code_of(status)).as_bytes())
        })();
        status.context(command)
    }

    /// Changes the arguments that are traces to this form, and returns standard input.
    fn give(&self, trace: &str, arguments: &mut [String]) -> io::Result<Stdio> {
        if self.form == Form::Directory {
            return Ok(Stdio::null());
        }
        let file = format!("{trace}{ENDING}");
        let is_diff = arguments.first().is_some_and(|verb| verb == "diff");
        let mut places = arguments.iter_mut().skip(1).filter(|argument| **argument == trace);
        if let Some(argument) = if is_diff { places.next() } else { places.next_back() } {
            *argument = if self.form == Form::Stdin { "-".to_owned() } else { file.clone() };
        }
        places.for_each(|argument| argument.push_str(ENDING));
        match self.form {
            Form::Stdin => Ok(fs::File::open(self.traces.join(file))?.into()),
            _ => Ok(Stdio::null()),
        }
    }

    /// Returns an output with the name of the trace in place of that in this form.
    fn with_name(&self, trace: &str, output: Vec<u8>) -> Vec<u8> {
        if self.form == Form::Directory {
            return output;
        }
        let mut names = vec![(format!("{trace}{ENDING}"), trace.to_owned())];
        if self.form == Form::Stdin {
            // In a message, a title, a table of `diff`, and on a page.
            let places = [
                ("flow: -: ", "flow: TRACE: "),
                ("trace -\n", "trace TRACE\n"),
                ("  -\n", "  TRACE\n"),
            ];
            let page = ("\"dir\":\"'-'\"", "\"dir\":\"TRACE\"");
            let named = |(from, to): (&str, &str)| (from.to_owned(), to.replace("TRACE", trace));
            names.extend(places.into_iter().chain([page]).map(named));
        }
        let output = match output.strip_prefix(b"-: ") {
            Some(rest) if self.form == Form::Stdin => [trace.as_bytes(), b": ", rest].concat(),
            _ => output,
        };
        let replace = |output: Vec<u8>, (from, to): (String, String)| {
            replaced(&output, from.as_bytes(), to.as_bytes())
        };
        names.into_iter().fold(output, replace)
    }

    fn known_name<'a>(&self, argument: &'a str) -> &'a str {
        self.renamed
            .iter()
            .find(|(newer, _)| *newer == argument)
            .map_or(argument, |(_, older)| older)
    }
}

/// Returns the exit status as shells show it.
fn code_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// FNV-1a: enough to notice a difference that nobody makes on purpose.
#[derive(Debug)]
struct Checksum(u64);

impl Default for Checksum {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Returns `text` with `to` in place of each `from`, which is not empty.
fn replaced(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = find(rest, from) {
        result.extend_from_slice(&rest[..at]);
        result.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    result.extend_from_slice(rest);
    result
}

/// Returns a page without its random numbers: `nonce="…"` and `nonce-…` end with their name.
fn without_nonces(page: &[u8]) -> Vec<u8> {
    const NAME: &[u8] = b"nonce";
    let mut result = Vec::with_capacity(page.len());
    let mut rest = page;
    while let Some(at) = find(rest, NAME) {
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

/// Returns where `part` is in `text`.
fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    let first = *part.first()?;
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.iter().position(|byte| *byte == first)?;
        if text[at..].starts_with(part) {
            return Some(at);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::on_path;

    #[test]
    fn random_numbers_of_a_page_are_left_out() {
        let page = b"'nonce-0a1b' <script nonce=\"ff9\"> nonce x nonce-z nonce";
        let expected = b"'nonce' <script nonce\"> nonce x nonce-z nonce";
        assert_eq!(without_nonces(page), expected);
    }

    #[test]
    fn every_occurrence_is_replaced() {
        assert_eq!(replaced(b"/p and /p/", b"/p", b"PAGE"), b"PAGE and PAGE/");
        assert_eq!(replaced(b"nothing", b"/p", b"PAGE"), b"nothing");
    }

    #[test]
    fn checksums_are_those_of_fnv_1a() {
        let mut checksum = Checksum::default();
        checksum.add(b"foo");
        checksum.add(b"bar");
        assert_eq!(checksum.0, 0x8594_4171_f739_67e8);
    }

    /// Returns what a command prints, with any program in place of flow.
    fn output(program: &str, command: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let program = on_path(program).unwrap();
        let build = Build::open(&program, dir.path(), dir.path()).unwrap();
        let mut output = Vec::new();
        let mut sink = |bytes: &[u8]| {
            output.extend_from_slice(bytes);
            Ok(())
        };
        build.run(command, 0, &mut sink).unwrap();
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn the_name_of_the_page_and_newer_names_of_flags_are_replaced() {
        let printed = output("echo", "a: report --html P --collapse");
        assert_eq!(printed, "report --html PAGE --fold a\nexit status 0\n");
    }

    #[test]
    fn messages_and_status_are_part_of_the_output() {
        let printed = output("ls", "a: info");
        assert!(printed.contains("a: No such file") || printed.contains("'a'"), "{printed}");
        assert!(printed.ends_with("exit status 2\n"), "{printed}");
    }
}
