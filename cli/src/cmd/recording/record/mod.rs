//! `flow record`: runs a command and records the JVMs it starts.
//!
//! ```text
//! flags ─▶ argument (library, options) ─┐                        ┌▶ child (signals, exit status)
//!          defaults (without flags) ────┴▶ launch (the command) ─┴▶ summary (on stderr)
//!                                             └ gradle (an init script)
//! timeout (ends a command that takes too long) waits beside child;
//! brake (reports a large trace) and shapes (builds the shapes of threads) follow the trace meanwhile
//! ```

mod archive;
mod argument;
mod brake;
mod child;
mod defaults;
mod gradle;
mod kept_tests;
mod launch;
mod notices;
mod shapes;
mod summary;
mod timeout;
mod wrapped;

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use self::brake::Brake;
use self::child::Ended;
use self::defaults::Defaults;
use self::launch::Launch;
use self::notices::NoticesFile;
use self::shapes::Shapes;
use self::summary::Summary;
use self::timeout::Limit;
use self::wrapped::{from_name, java_arguments};
use crate::args::{DEFAULT_DIR, RecordArgs};
use crate::cmd::recording::agent::{self, AgentOptions, TraceDir};
use crate::cmd::recording::folder::{self, Claim};
use crate::failure::{Failure, Status};
use crate::input::empty_run;
use crate::jvm;
use crate::output::{flow_command, message};
use crate::own::Surroundings;

pub(crate) fn run(args: &RecordArgs) -> Result<Status, Failure> {
    if args.gradle {
        gradle::expect_gradle(&args.command)?;
    }
    let library = agent::library(args.agent.library.as_deref())?;
    if let Some(java) = defaults::program_of_jdk(&args.command) {
        jvm::expect_same_c_library(&library, &java)?;
    }
    let program = program_of(&args.command);
    let mut dir = TraceDir::of(&args.agent, &program, |_| false)?;
    dir.expect_one_file(&args.agent)?;
    let options = options_of(args, &dir)?;
    agent::check_options(&options, |name| std::env::var(name).ok())?;
    let is_only_sent = agent::is_only_sent(&args.agent);
    if !is_only_sent {
        dir.check()?;
    }
    if let Some(option) = archive::option_of(&args.command) {
        message(&format!(
            "not recorded: with {option} the JVM writes an archive of its classes, and then refuses agents; the command \
             runs without flow"
        ));
        let limit = limit(args, &dir, Duration::ZERO);
        return Ok(Status::Command(child::run(&Launch::unrecorded(args), limit)?.status));
    }
    let mut claim = None;
    if dir.is_default && !is_only_sent {
        let taken = claim.insert(Claim::new(Path::new(DEFAULT_DIR), &program)?);
        dir = TraceDir::in_folder(taken.file.clone())?;
    }
    let options = options_of(args, &dir)?;
    archive::remark(&args.command, &options);
    let agent = argument::argument(&library, &options)?;
    let mut defaults = Defaults::of(&args.command, &args.agent)?;
    defaults.limit_size(&args.agent, &dir.pattern);
    let notices = NoticesFile::create(&mut defaults)?;
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let limit = limit(args, &dir, started);
    let launch = Launch::new(args, &agent, &defaults, started)?;
    if let Some(address) = args.agent.stream.as_ref().filter(|_| is_only_sent) {
        message(&format!("what is recorded is sent to {address}"));
        let Ended { status, .. } = child::run(&launch, limit)?;
        return Ok(Status::Command(status));
    }
    let brake = Brake::start(&dir.pattern, started, defaults.remark.take());
    let shapes = Shapes::start(&dir.pattern, started);
    let Ended { pid, status, is_timed_out } = child::run(&launch, limit)?;
    let remark = brake.end();
    if let Some(shapes) = shapes {
        shapes.end();
    }
    if args.keep_tests.is_some() {
        kept_tests::shrink(&dir.pattern, started);
    }
    let summary = Summary::of(&dir, started, pid);
    drop(claim);
    // If nothing is recorded, it may be because of the selection, unless the program could not start.
    if let Some(remark) =
        remark.filter(|_| summary.has_calls() || summary.has_traces() && status == 0)
    {
        message(&remark);
    }
    summary.print(&notices.read(), &why_nothing(args), is_timed_out);
    if let Some(option) = archive::option_in(&args.command) {
        message(&format!(
            "with {option} a JVM writes an archive of its classes, and then refuses to start with an agent: run that \
             without flow"
        ));
    }
    if dir.is_default {
        let folder = Path::new(DEFAULT_DIR);
        match summary.has_content() {
            true => folder::prune(folder, args.agent.keep_runs),
            // Verbs that show the newest run show an earlier one now.
            false if folder.exists() => empty_run::note(folder),
            false => {}
        }
    }
    Ok(Status::Command(status))
}

/// How long the command may take, if that is limited.
fn limit(args: &RecordArgs, dir: &TraceDir, started: Duration) -> Option<Limit> {
    let started_ns = u64::try_from(started.as_nanos()).unwrap_or(u64::MAX);
    let limit =
        |ns| Limit { after: Duration::from_nanos(ns), pattern: dir.pattern.clone(), started_ns };
    args.timeout.map(limit)
}

/// The name of what a command runs, in that of its recording.
fn program_of(command: &[OsString]) -> String {
    let java = java_arguments(command);
    folder::program_of(from_name(command), java.as_deref(), &Surroundings::of_children())
}

/// The options of the agent, encoded.
fn options_of(args: &RecordArgs, dir: &TraceDir) -> Result<String, Failure> {
    let mut options = AgentOptions::of(&args.agent, dir)?;
    if args.quick {
        options.add("quick", "true")?;
    }
    options.encode()
}

/// The most likely reason if a command recorded nothing.
fn why_nothing(args: &RecordArgs) -> String {
    if let Some(name) = launch::other_agent() {
        // The agent reports that it is loaded twice, but `flow record` does not see the message.
        format!(
            " ({name} loads flow's agent already, and its options are used instead of these: unset {name})"
        )
    } else if !args.gradle && gradle::is_gradle(&args.command) {
        format!(
            " (a Gradle daemon that is already running keeps the environment it was started with: use {}; tests that \
             are up to date do not run)",
            flow_command("record --gradle")
        )
    } else if defaults::starts_tools(&args.command) {
        " (JVMs of build tools are not recorded; -O 'only-main=**' records them too)".to_owned()
    } else {
        String::new()
    }
}
