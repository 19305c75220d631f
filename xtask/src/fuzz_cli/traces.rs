//! Records the traces that are changed: one of each kind.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Context, Failure, Result};
use crate::jdk::{Jdk, with_compiler};
use crate::process::{cannot_run, clean, run};

/// The program that is recorded.
const PROGRAM: &str = include_str!("Fuzzed.java");
/// Options that make a trace of everything.
const EVERYTHING: &str =
    "values=Fuzzed#*,fields=Fuzzed,lines=Fuzzed#*,instructions=Fuzzed#loop,order=total";
/// Options for blocks that are not compressed: their bytes can be changed.
const PLAIN: &str = "compress=off,min-free=none";
const FEW: u32 = 20;
/// Rounds that make a trace of several megabytes.
const MANY: u32 = 60_000;

/// A kind of trace, and how it is recorded.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// The trace in the directory of this name.
    pub(super) main: &'static str,
    /// Options of the agent.
    options: &'static str,
    rounds: u32,
    /// Whether the program is killed.
    is_killed: bool,
}

const fn kind(name: &'static str, main: &'static str, options: &'static str, rounds: u32) -> Kind {
    Kind { name, main, options, rounds, is_killed: false }
}

const fn killed(
    name: &'static str,
    main: &'static str,
    options: &'static str,
    rounds: u32,
) -> Kind {
    Kind { is_killed: true, ..kind(name, main, options, rounds) }
}

const FILE: &str = "t.flowtrace";
/// The snapshot that the program takes.
const SNAPSHOT: &str = "t-snapshot-fuzz.flowtrace";

/// All kinds. The last two are made of others.
pub(super) const KINDS: [Kind; 15] = [
    kind("directory", "t", "clock=exact", 1000),
    kind("everything", "t", EVERYTHING, FEW),
    kind("jsonl", "t", "format=jsonl", FEW),
    kind("file", FILE, "", FEW),
    kind("packed", FILE, "compress=zstd:1", 3000),
    kind("everything-file", FILE, EVERYTHING, FEW),
    kind("samples", FILE, "sample=100us", 3000),
    kind("kept", FILE, "keep=last:1m", MANY),
    kind("rotated", FILE, "rotate=1m", MANY),
    kind("memory", FILE, "keep=memory", FEW),
    killed("killed", "t", "durability=system", FEW),
    killed("killed-file", FILE, "", FEW),
    killed("killed-kept", FILE, "keep=last:1m", MANY),
    kind("snapshot", SNAPSHOT, "keep=last:1m", MANY),
    kind("log", "t.hpl", "sample=100us", 3000),
];

/// Records all kinds, each into a directory of its name, and returns an error if one of them is not there.
pub(super) fn record(to: &Path, flow: &Path, agent: &Path, api: &Path) -> Result<()> {
    let jdk = with_compiler().next();
    let jdk = jdk.ok_or_else(|| Failure::Usage("no JDK with a compiler was found".to_owned()))?;
    let classes = to.join("classes");
    fs::create_dir_all(&classes).context(classes.display())?;
    let source = classes.join("Fuzzed.java");
    fs::write(&source, PROGRAM).context(source.display())?;
    let mut compile = jdk.tool("javac");
    compile.arg("-g").arg("-cp").arg(api).arg("-d").arg(&classes).arg(&source);
    run(&mut compile)?;
    for kind in &KINDS {
        let directory = to.join(kind.name);
        fs::create_dir_all(&directory).context(directory.display())?;
        record_one(kind, &jdk, &directory, [&classes, api], agent)?;
        if kind.name == "log" {
            let mut export = clean(flow);
            export.args(["export", "--samples", "--to", "hpl", "-o", kind.main, FILE]);
            run(export.current_dir(&directory))?;
        }
        // What readers store beside a trace that does not grow.
        if !kind.is_killed && kind.name != "log" {
            let mut index = clean(flow);
            index.args(["index", kind.main]).current_dir(&directory).stdout(Stdio::null());
            run(&mut index)?;
        }
        let main = directory.join(kind.main);
        if !main.exists() {
            return Err(Failure::Failed(format!("{} was not recorded", main.display())));
        }
    }
    Ok(())
}

fn record_one(
    kind: &Kind,
    jdk: &Jdk,
    directory: &Path,
    class_path: [&Path; 2],
    agent: &Path,
) -> Result<()> {
    let out = if kind.main == "t" { "t" } else { FILE };
    let plain = if kind.options.contains("compress=") { "min-free=none" } else { PLAIN };
    let options = [plain, kind.options].into_iter().filter(|options| !options.is_empty());
    let options = options.collect::<Vec<_>>().join(",");
    let class_path = class_path.map(|path| path.display().to_string()).join(":");
    let mut java = without_variables(jdk.tool("java"));
    java.arg(format!("-agentpath:{}=out={out},{options}", agent.display()));
    java.args(["-Xshare:auto", "-cp", &class_path, "Fuzzed", &kind.rounds.to_string()]);
    if kind.main == SNAPSHOT {
        java.arg("snapshot");
    }
    if kind.is_killed {
        java.arg("wait");
    }
    java.current_dir(directory).stdout(Stdio::piped()).stdin(Stdio::null());
    let mut child = java.spawn().map_err(|error| cannot_run(&java, &error))?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut line).context(kind.name)?;
    }
    if kind.is_killed {
        child.kill().context(kind.name)?;
    }
    let status = child.wait().context(kind.name)?;
    match line.trim_end() == "done" && (kind.is_killed || status.success()) {
        true => Ok(()),
        false => Err(Failure::Failed(format!("the program for {}: {status}, {line:?}", kind.name))),
    }
}

/// Options of the environment would reach the recording.
fn without_variables(mut command: Command) -> Command {
    for name in ["FLOW_OPTIONS", "FLOW_SESSION", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"] {
        command.env_remove(name);
    }
    command
}

/// The files of a trace, relative to its directory.
pub(super) fn files_in(directory: &Path) -> Result<Vec<PathBuf>> {
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
