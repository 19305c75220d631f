//! `flow attach`: records a running JVM.

use std::path::{Path, PathBuf};

use flow_codec::format::manifest::Manifest;
use flow_codec::read::Trace;

use crate::args::{AgentArgs, AttachArgs, DEFAULT_DIR};
use crate::cmd::recording::agent::{
    self, AgentOptions, SelectedBy, Selection, TraceDir, as_text, earlier_moved, is_java, shown,
    trace_directories,
};
use crate::cmd::recording::collector::if_nobody_listens;
use crate::cmd::recording::{choose, folder};
use crate::failure::{Failure, Status};
use crate::jvm::{self, Process, Refusal};
use crate::output::{flow_command, message, shell_quoted};
use crate::own::{self, Surroundings};

pub(crate) fn run(args: &AttachArgs) -> Result<Status, Failure> {
    let process = choose::jvm(args.pid.as_deref())?;
    let library = agent::library(args.agent.library.as_deref())?;
    jvm::expect_same_c_library(&library, &process.program())?;
    let root = process.root();
    let place_of = |dir: &TraceDir| root.join(dir.pattern.trim_start_matches('/'));
    // Who attaches twice in a second has two recordings.
    let is_taken = |dir: &TraceDir| place_of(dir).exists();
    let dir = TraceDir::of(&args.agent, &program_of(&process), is_taken)?;
    dir.expect_one_file(&args.agent)?;
    let mut options = AgentOptions::of(&args.agent, &dir)?;
    let place = place_of(&dir);
    if !agent::is_only_sent(&args.agent) {
        agent::refuse_foreign(&place, &dir.out)?;
    }
    let selection = choose_packages(&process, &args.agent)?;
    if !selection.own.is_empty() {
        options.add_default("own", &selection.patterns());
    }
    if selection.by == SelectedBy::OwnPackages {
        options.add("include", &selection.patterns())?;
    }
    if process.has_debugger_agent() && args.agent.engine.as_deref() != Some("none") {
        message(&format!(
            "process {} can be debugged (libjdwp.so): the JVM clears a debugger's breakpoints in the classes that are recorded, \
             now and at the detach; set them again",
            process.pid()
        ));
    }
    let refusal = Refusal::create(&process)?;
    let (key, file) = refusal.option();
    options.add(key, file)?;
    jvm::load(&process, as_text(&library)?, &options.encode()?, &refusal)?;
    if let Some(remark) = selection.remark("everything") {
        message(&remark);
    }
    let pid = process.pid();
    let stop = flow_command(&format!("detach {pid}"));
    if let Some(address) = args.agent.stream.as_ref().filter(|_| agent::is_only_sent(&args.agent)) {
        let network = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        let has_our_network = network("self") == network(&pid.to_string());
        let nobody = if_nobody_listens(address, &root, has_our_network);
        message(&format!(
            "process {pid} sends what it records to {address}; stop with: {stop}{nobody}"
        ));
        return Ok(Status::Done);
    }
    let trace = recording(&process, &dir.pattern);
    let out = match &trace {
        Some((place, _)) => shown_place(&process, place),
        None => shell_quoted(&dir.out.to_string_lossy()),
    };
    message(&format!("recording process {pid} into {out}; stop with: {stop}"));
    if let Some(earlier) = trace.and_then(|(_, manifest)| manifest.earlier) {
        message(&earlier_moved(&process.seen_here(&earlier)));
    }
    if dir.is_default {
        folder::prune(Path::new(DEFAULT_DIR), args.agent.keep_runs);
    }
    Ok(Status::Done)
}

/// The name of what a JVM runs, and its id, in the name of its recording.
fn program_of(process: &Process) -> String {
    let (command, around) = (process.command(), Surroundings::of_process(process));
    let program = folder::program_of(&command, folder::arguments_of_java(&command), &around);
    format!("{program}-{}", process.pid())
}

/// Returns the place of a trace for a message: the path by which it can be read here, and the path in the JVM if that differs.
fn shown_place(process: &Process, place: &Path) -> String {
    let here = process.seen_here(place);
    if here == place {
        return shown(place);
    }
    let place = shell_quoted(&place.to_string_lossy());
    format!(
        "{} ({place} in its own file system; copy the trace before the process ends)",
        shown(&here)
    )
}

/// The trace that a JVM records into now: its path as the JVM names it, and its manifest.
fn recording(process: &Process, pattern: &str) -> Option<(PathBuf, Manifest)> {
    let root = process.root();
    let inside = format!("{}{pattern}", root.display());
    let of_process = |manifest: &Manifest| {
        u32::try_from(process.own_pid()) == Ok(manifest.pid) && manifest.end.is_none()
    };
    let places = trace_directories(&inside);
    let traces = places.iter().flat_map(|place| Trace::directories(place).unwrap_or_default());
    let recording = traces.filter_map(|dir| {
        let manifest = Trace::manifest_of(&dir).ok().flatten().filter(of_process)?;
        let seen_by_jvm = Path::new("/").join(dir.strip_prefix(&root).ok()?);
        Some((seen_by_jvm, manifest))
    });
    recording.max_by_key(|(_, manifest)| manifest.start_unix_ns)
}

/// Finds the packages of the application that a JVM runs.
fn choose_packages(process: &Process, args: &AgentArgs) -> Result<Selection, Failure> {
    let variable = |name: &str| process.variable(name).filter(|value| !value.is_empty());
    let own = match process.command().as_slice() {
        [program, arguments @ ..] if is_java(program) => {
            own::of_java(arguments, &Surroundings::of_process(process))
        }
        _ => Vec::new(),
    };
    Selection::of(own, args, |name| variable(name).is_some())
}
