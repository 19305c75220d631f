//! Traces for the commands that try what reads them: recorded from a small program, one of each kind, or [`made`] by
//! code.

pub(crate) mod made;

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::base::failure::{Context, Failure, Result};
use crate::base::process::{cannot_run, clean, output_of, run};
use crate::base::report;
use crate::jdk::{Jdk, installed, with_compiler};

/// The program that is recorded.
const PROGRAM: &str = include_str!("Recorded.java");
/// Options that make a trace of everything.
const EVERYTHING: &str =
    "values=Recorded#*,fields=Recorded,lines=Recorded#*,instructions=Recorded#loop,order=total";
/// Options for blocks that are not compressed: their bytes can be changed.
const PLAIN: &str = "compress=off,min-free=none";
const FEW: u32 = 20;
/// Rounds that make a trace of several megabytes.
const MANY: u32 = 60_000;
/// Rounds that make a thread large enough for an index.
const LARGE: u32 = 250_000;
/// The first JDK with virtual threads.
const VIRTUAL: u32 = 21;

/// A kind of trace, and how it is recorded.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// The trace in the directory of this name.
    pub(crate) main: &'static str,
    /// Options of the agent.
    options: &'static str,
    rounds: u32,
    how: How,
}

/// How a program is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    /// From its start to its end.
    Whole,
    /// Until it is killed.
    Killed,
    /// By `flow attach`, after it began.
    Attached,
    /// Twice, in two JVMs that `flow record` starts.
    Group,
    /// By the newest JDK.
    Newest,
}

impl Kind {
    /// Returns whether nothing more is recorded, so that indexes may be stored.
    pub(crate) fn is_ended(&self) -> bool {
        self.how != How::Killed && !self.is_log()
    }

    /// Returns whether it is a log of samples, made of the trace beside it.
    fn is_log(&self) -> bool {
        self.main.ends_with(".hpl")
    }

    /// Returns whether a thread is large enough for an index.
    pub(crate) fn is_large(&self) -> bool {
        self.rounds >= LARGE
    }
}

const fn kind(name: &'static str, main: &'static str, options: &'static str, rounds: u32) -> Kind {
    Kind { name, main, options, rounds, how: How::Whole }
}

const fn by(how: How, kind: Kind) -> Kind {
    Kind { how, ..kind }
}

const FILE: &str = "t.flowtrace";
/// The snapshot that the program takes.
const SNAPSHOT: &str = "t-snapshot-fuzz.flowtrace";

/// All kinds.
pub(crate) const KINDS: [Kind; 24] = [
    kind("directory", "t", "clock=exact", 1000),
    kind("everything", "t", EVERYTHING, FEW),
    kind("tick", "t", "clock=tick", 3000),
    kind("calls", "t", "clock=off", FEW),
    kind("events", "t", "engine=events", FEW),
    kind("jsonl", "t", "format=jsonl", FEW),
    kind("file", FILE, "", FEW),
    kind("packed", FILE, "compress=zstd:1", 3000),
    kind("everything-file", FILE, EVERYTHING, FEW),
    kind("samples", FILE, "sample=100us", 3000),
    kind("samples-only", "t", "engine=none,sample=100us", 3000),
    kind("kept", FILE, "keep=last:1m", MANY),
    kind("rotated", FILE, "rotate=1m", MANY),
    kind("memory", FILE, "keep=memory", FEW),
    by(How::Killed, kind("killed", "t", "durability=system", FEW)),
    by(How::Killed, kind("killed-file", FILE, "", FEW)),
    by(How::Killed, kind("killed-kept", FILE, "keep=last:1m", MANY)),
    by(How::Attached, kind("attached", "t", "", FEW)),
    by(How::Group, kind("group", "t", "", FEW)),
    by(How::Newest, kind("newest", "t", "values=Recorded#*,clock=exact", FEW)),
    kind("large", "t", "", LARGE),
    kind("large-file", FILE, "", LARGE),
    kind("snapshot", SNAPSHOT, "keep=last:1m", MANY),
    kind("log", "t.hpl", "sample=100us", 3000),
];

/// A trace that is made of a recorded one: its name, the kind, and what happens to the trace.
pub(crate) type Changed = (&'static str, &'static str, Change);

/// What happens to a trace in one file after it was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// Some bytes in the middle are others.
    Overwritten,
    /// The last third is missing.
    Cut,
    /// `flow check --repair` completes it.
    Repaired,
}

/// Traces that are made of others; see [`change`].
pub(crate) const CHANGED: [Changed; 4] = [
    ("file-overwritten", "file", Change::Overwritten),
    ("file-cut", "everything-file", Change::Cut),
    ("repaired", "killed", Change::Repaired),
    ("repaired-file", "killed-kept", Change::Repaired),
];

/// Makes the changed traces, each in a directory of its name beside the recorded ones.
///
/// # Errors
///
/// If they cannot be read or written.
pub(crate) fn change(folder: &Path, flow: &Path) -> Result<()> {
    for (name, of, change) in CHANGED {
        let (from, to) = (folder.join(of), folder.join(name));
        copy(&from, &to)?;
        let Some(kind) = KINDS.iter().find(|kind| kind.name == of) else { continue };
        let main = to.join(kind.main);
        if change == Change::Repaired {
            let mut check = clean(flow);
            check.args(["check", "--repair", kind.main]).current_dir(&to).stdout(Stdio::null());
            // The status says what was damaged.
            check.status().map_err(|error| cannot_run(&check, &error))?;
            continue;
        }
        let mut bytes = fs::read(&main).context(main.display())?;
        let length = bytes.len();
        match change {
            Change::Overwritten => bytes[length / 2..length / 2 + 16].fill(0xA5),
            _ => bytes.truncate(length / 3 * 2),
        }
        fs::write(&main, bytes).context(main.display())?;
    }
    Ok(())
}

/// What records.
#[derive(Debug)]
struct Recorder<'a> {
    flow: &'a Path,
    agent: &'a Path,
    jdk: Jdk,
    newest: Jdk,
    class_path: String,
}

/// Records all kinds, each into a directory of its name, and returns an error if one of them is not there.
///
/// # Errors
///
/// If there is no JDK, or a kind cannot be recorded.
pub(crate) fn record(to: &Path, flow: &Path, agent: &Path, api: &Path) -> Result<()> {
    let missing = || Failure::Usage("no JDK with a compiler was found".to_owned());
    let jdk = with_compiler().next().ok_or_else(missing)?;
    let newest = installed().into_iter().max_by_key(|jdk| jdk.version).ok_or_else(missing)?;
    if newest.version < VIRTUAL {
        report::say("traces", "no JDK 21 or later was found: there are no virtual threads");
    }
    let classes = to.join("classes");
    fs::create_dir_all(&classes).context(classes.display())?;
    let source = classes.join("Recorded.java");
    fs::write(&source, PROGRAM).context(source.display())?;
    let mut compile = jdk.tool("javac");
    compile.arg("-g").arg("-cp").arg(api).arg("-d").arg(&classes).arg(&source);
    run(&mut compile)?;
    let class_path = format!("{}:{}", classes.display(), api.display());
    let recorder = Recorder { flow, agent, jdk, newest, class_path };
    for kind in &KINDS {
        let directory = to.join(kind.name);
        fs::create_dir_all(&directory).context(directory.display())?;
        recorder.record(kind, &directory).context(kind.name)?;
        if kind.is_log() {
            let mut export = clean(flow);
            export.args(["export", "--samples", "--to", "hpl", "-o", kind.main, FILE]);
            run(export.current_dir(&directory))?;
        }
        let main = directory.join(kind.main);
        if !main.exists() {
            return Err(Failure::Failed(format!("{} was not recorded", main.display())));
        }
    }
    Ok(())
}

impl Recorder<'_> {
    fn record(&self, kind: &Kind, directory: &Path) -> Result<()> {
        let out = if kind.main == "t" { "t" } else { FILE };
        let plain =
            if kind.options.contains("compress=") || out == "t" { "min-free=none" } else { PLAIN };
        let options = [plain, kind.options].into_iter().filter(|options| !options.is_empty());
        let options = options.collect::<Vec<_>>();
        let rounds = kind.rounds.to_string();
        let agent = self.agent.display();
        let agent = format!("-agentpath:{agent}=out={out},{}", options.join(","));
        let java = |jdk: &Jdk| jdk.home.join("bin/java").display().to_string();
        let mut command = match kind.how {
            How::Group => {
                let mut record = without_variables(clean(self.flow));
                record
                    .args(["record", "--agent"])
                    .arg(self.agent)
                    .args(["--out", out, "--", "sh", "-c"]);
                let program =
                    format!("{} -cp {} Recorded {rounds}", java(&self.jdk), self.class_path);
                // The program's own output of the first one would be the line that is read.
                record.arg(format!("{program} >first && {program}"));
                record
            }
            how => {
                let jdk = if how == How::Newest { &self.newest } else { &self.jdk };
                let mut java = without_variables(jdk.tool("java"));
                if how != How::Attached {
                    java.arg(agent);
                }
                java.args(["-Xshare:auto", "-cp", &self.class_path, "Recorded", &rounds]);
                java
            }
        };
        command.args(match kind.how {
            How::Killed => Some("wait"),
            How::Attached => Some("attach"),
            How::Whole if kind.main == SNAPSHOT => Some("snapshot"),
            How::Whole | How::Group | How::Newest => None,
        });
        let stdin = if kind.how == How::Attached { Stdio::piped() } else { Stdio::null() };
        command.current_dir(directory).stdout(Stdio::piped()).stdin(stdin);
        let mut child = command.spawn().map_err(|error| cannot_run(&command, &error))?;
        let ended = self.watch(kind, &mut child, directory, out);
        if ended.is_err() || kind.how == How::Killed {
            let _ = child.kill();
        }
        let status = child.wait().context(kind.name)?;
        ended?;
        match kind.how == How::Killed || status.success() {
            true => Ok(()),
            false => Err(Failure::Failed(format!("the program: {status}"))),
        }
    }

    /// Waits until a program has done everything, and attaches to it if it waits for that.
    fn watch(&self, kind: &Kind, child: &mut Child, directory: &Path, out: &str) -> Result<()> {
        let Some(output) = child.stdout.take() else { return Ok(()) };
        let mut output = BufReader::new(output);
        let mut line = || {
            let mut line = String::new();
            output.read_line(&mut line).context("the program").map(|_| line)
        };
        if kind.how == How::Attached {
            line()?;
            let mut attach = without_variables(clean(self.flow));
            attach.args(["attach", "--agent"]).arg(self.agent).args(["--out", out, "--all"]);
            attach.arg(child.id().to_string()).current_dir(directory);
            output_of(&mut attach)?;
            // The program continues when its standard input ends.
            drop(child.stdin.take());
        }
        match line()?.trim_end() {
            "done" => Ok(()),
            other => Err(Failure::Failed(format!("the program printed {other:?}"))),
        }
    }
}

/// Options of the environment would reach the recording.
fn without_variables(mut command: Command) -> Command {
    for name in ["FLOW_OPTIONS", "FLOW_SESSION", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"] {
        command.env_remove(name);
    }
    command
}

/// Copies the files of a folder into another one, which is made.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    put(from, to, |from, to| fs::copy(from, to).map(|_| ()))
}

/// Makes further names of the files of a folder in another one, which is made. What readers store replaces files and does not
/// change them.
pub(crate) fn link(from: &Path, to: &Path) -> Result<()> {
    put(from, to, |from, to| fs::hard_link(from, to))
}

fn put(from: &Path, to: &Path, each: impl Fn(&Path, &Path) -> io::Result<()>) -> Result<()> {
    for path in files_in(from)? {
        let place = to.join(&path);
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent).context(parent.display())?;
        }
        each(&from.join(&path), &place).context(place.display())?;
    }
    Ok(())
}

/// The files of a trace, relative to its directory.
pub(crate) fn files_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let place = directory.join(&folder);
        for entry in fs::read_dir(&place).context(place.display())? {
            let entry = entry.context(place.display())?;
            let (path, kind) = (folder.join(entry.file_name()), entry.file_type());
            let kind = kind.context(place.display())?;
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && entry.file_name() != ".lock" {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}
