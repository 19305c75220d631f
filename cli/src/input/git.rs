//! What changed, as the program `git` reports it. It runs without a shell, and what a person typed is never one of its options.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use flow_query::ask::{ChangedFile, SourceText};

use crate::failure::Failure;

/// Two states of a repository.
#[derive(Debug)]
pub(crate) struct Changes {
    /// What is compared, for people.
    pub(crate) title: String,
    /// The files that differ.
    pub(crate) files: Vec<ChangedFile>,
    /// All source files of the later state.
    pub(crate) sources: Vec<SourceText>,
}

/// Reads what differs in the repository of this directory between `A..B`, between the commit where the branches of `A...B`
/// parted and `B`, or between a commit and the files that are there now.
pub(crate) fn changes(range: &str) -> Result<Changes, Failure> {
    let git = Git::here()?;
    let (before, after) = git.states(range)?;
    let short = |commit: &str| commit.get(..10).unwrap_or(commit).to_owned();
    let to = after.as_deref().map_or("the working tree".to_owned(), short);
    let title = format!("from {} to {to}", short(&before));
    let files = git.files(&before, after.as_deref())?;
    let paths = git.sources(after.as_deref())?;
    let texts = git.texts(after.as_deref(), &paths)?;
    let sources = paths.into_iter().zip(texts);
    let sources = sources.filter_map(|(path, text)| Some(SourceText { path, text: text? }));
    Ok(Changes { title, files, sources: sources.collect() })
}

/// The repository of this directory.
struct Git {
    root: PathBuf,
}

impl Git {
    fn here() -> Result<Self, Failure> {
        let mut git = Self { root: PathBuf::from(".") };
        let output = git.run(["rev-parse", "--show-toplevel"], &[])?;
        if !output.status.success() {
            return Err(Failure::Failed(format!(
                "--affected-by compares commits of git, and git finds no working tree in this directory: {}",
                said(&output)
            )));
        }
        let root = String::from_utf8_lossy(&output.stdout);
        git.root = PathBuf::from(root.trim_end_matches('\n'));
        Ok(git)
    }

    /// Runs git, and gives it this input.
    fn run<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Result<Output, Failure> {
        let cannot = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => Failure::Failed(
                "--affected-by needs the program git, which is not in PATH: install it".to_owned(),
            ),
            _ => Failure::Failed(format!("git: {error}")),
        };
        let mut command = Command::new("git");
        command.arg("--no-pager").args(["-c", "core.quotePath=false"]).arg("-C").arg(&self.root);
        command.args(args).env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(cannot)?;
        let stdin = child.stdin.take();
        std::thread::scope(|scope| {
            // git answers before it has read everything.
            scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
            child.wait_with_output().map_err(cannot)
        })
    }

    /// The standard output of a command that should succeed.
    fn read<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Result<Vec<u8>, Failure> {
        let output = self.run(args, input)?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(Failure::Failed(format!("git: {}", said(&output)))),
        }
    }

    /// The two commits of a range; `None` for the files that are there now.
    fn states(&self, range: &str) -> Result<(String, Option<String>), Failure> {
        let (dots, (from, to)) = match (range.split_once("..."), range.split_once("..")) {
            (Some(parts), _) => ("...", parts),
            (None, Some(parts)) => ("..", parts),
            (None, None) => return Ok((self.commit(range, range)?, None)),
        };
        let named = |name: &str| if name.is_empty() { "HEAD".to_owned() } else { name.to_owned() };
        let (from, to) = (self.commit(&named(from), range)?, self.commit(&named(to), range)?);
        if dots == ".." {
            return Ok((from, Some(to)));
        }
        let output = self.run(["merge-base", &from, &to], &[])?;
        let base = String::from_utf8_lossy(&output.stdout);
        match base.lines().next() {
            Some(base) => Ok((base.to_owned(), Some(to))),
            None => Err(Failure::Failed(format!("{range}: these commits have no common ancestor"))),
        }
    }

    fn commit(&self, name: &str, range: &str) -> Result<String, Failure> {
        let object = format!("{name}^{{commit}}");
        let output =
            self.run(["rev-parse", "--verify", "--quiet", "--end-of-options", &object], &[])?;
        let commit = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if output.status.success() && !name.is_empty() && !commit.is_empty() {
            return Ok(commit);
        }
        let of = if name == range { String::new() } else { format!(" (of '{range}')") };
        Err(Failure::Usage(format!(
            "no commit '{name}'{of} in {}; --affected-by takes A..B, A...B, or one commit to compare the working tree with",
            self.root.display()
        )))
    }

    /// The files that differ, in order. What is not tracked and not ignored counts as added.
    fn files(&self, before: &str, after: Option<&str>) -> Result<Vec<ChangedFile>, Failure> {
        let mut args = vec!["diff", "--name-status", "-z", "--no-renames", "--no-relative"];
        args.extend([Some(before), after, Some("--")].into_iter().flatten());
        let listed = self.read(args, &[])?;
        let mut words = lines(&listed).into_iter();
        let mut found: Vec<(String, String)> = Vec::new();
        while let (Some(status), Some(path)) = (words.next(), words.next()) {
            found.push((path, status));
        }
        if after.is_none() {
            let new = self.read(["ls-files", "-z", "--others", "--exclude-standard"], &[])?;
            found.extend(lines(&new).into_iter().map(|path| (path, "A".to_owned())));
        }
        found.sort();
        found.dedup_by(|one, other| one.0 == other.0);
        let paths: Vec<_> = found.iter().map(|(path, _)| path.clone()).collect();
        let texts = self.texts(Some(before), &paths)?.into_iter().zip(self.texts(after, &paths)?);
        let files = found.into_iter().zip(texts).map(|((path, status), (before, after))| {
            let before = (status != "A").then(|| before.unwrap_or_default());
            let after = (status != "D").then(|| after.unwrap_or_default());
            ChangedFile { path, before, after }
        });
        Ok(files.collect())
    }

    /// The paths of all source files.
    fn sources(&self, state: Option<&str>) -> Result<Vec<String>, Failure> {
        let listed = match state {
            Some(commit) => {
                self.read(["ls-tree", "-r", "-z", "--full-tree", "--name-only", commit], &[])?
            }
            None => {
                self.read(["ls-files", "-z", "--cached", "--others", "--exclude-standard"], &[])?
            }
        };
        let paths: BTreeSet<_> = lines(&listed).into_iter().collect();
        Ok(paths.into_iter().filter(|path| SourceText::is_source(path)).collect())
    }

    /// The texts of source files; `None` for other files, and where there is none.
    fn texts(&self, state: Option<&str>, paths: &[String]) -> Result<Vec<Option<String>>, Failure> {
        let is_asked = |path: &str| SourceText::is_source(path) && !path.contains('\n');
        let Some(commit) = state else {
            let read = |path: &String| is_asked(path).then(|| text(&self.root.join(path)))?;
            return Ok(paths.iter().map(read).collect());
        };
        let asked = paths.iter().filter(|path| is_asked(path));
        let names: String = asked.map(|path| format!("{commit}:{path}\n")).collect();
        let answers = self.read(["cat-file", "--batch"], names.as_bytes())?;
        let mut rest = &*answers;
        let read = |path: &String| if is_asked(path) { next_object(&mut rest) } else { None };
        Ok(paths.iter().map(read).collect())
    }
}

/// The text of a file that is there.
fn text(path: &Path) -> Option<String> {
    let is_file = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    let bytes = is_file.then(|| std::fs::read(path).ok())??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The next object that `git cat-file --batch` printed: a line with its size, and its bytes. A missing one has no bytes.
fn next_object(rest: &mut &[u8]) -> Option<String> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let (line, after) = rest.split_at(end);
    let after = after.get(1..)?;
    let line = String::from_utf8_lossy(line).into_owned();
    let size = line.strip_suffix(" missing").map_or_else(|| line.rsplit(' ').next(), |_| None);
    let Some(size) = size.and_then(|size| size.parse::<usize>().ok()) else {
        *rest = after;
        return None;
    };
    let text = String::from_utf8_lossy(after.get(..size)?).into_owned();
    *rest = after.get(size + 1..).unwrap_or_default();
    Some(text)
}

/// What lies between zero bytes.
fn lines(bytes: &[u8]) -> Vec<String> {
    let parts = bytes.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    parts.map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

/// The first line that git wrote to standard error, or how it ended.
fn said(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    let line = errors.lines().find(|line| !line.is_empty());
    line.map_or_else(
        || output.status.to_string(),
        |line| line.trim_start_matches("fatal: ").to_owned(),
    )
}
