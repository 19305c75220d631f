//! `flow attach`: records a running JVM.

use crate::args::{AgentArgs, AttachArgs};
use crate::cmd::agent::{self, AgentOptions, Selection, TraceDir, as_text, is_java};
use crate::failure::{Failure, Status};
use crate::jvm::{self, Process, Refusal};
use crate::output::{message, shell_quoted};
use crate::own::{self, Surroundings};

pub(crate) fn run(args: &AttachArgs) -> Result<Status, Failure> {
    let library = agent::library(args.agent.library.as_deref())?;
    let dir = TraceDir::of(&args.agent)?;
    let mut options = AgentOptions::of(&args.agent, &dir)?;
    let process = Process::find(args.pid)?;
    let selection = choose_packages(&process, &args.agent)?;
    if !selection.own.is_empty() {
        options.add_default("own", &selection.patterns());
    }
    if selection.is_used {
        options.add("include", &selection.patterns())?;
    }
    let refusal = Refusal::create(&process)?;
    let (key, file) = refusal.option();
    options.add(key, file)?;
    jvm::load(&process, as_text(&library)?, &options.encode()?, &refusal)?;
    selection.report();
    let out = shell_quoted(&dir.out.to_string_lossy());
    let pid = args.pid;
    message(&format!("recording process {pid} into {out}; stop with: flow detach {pid}"));
    Ok(Status::Done)
}

/// Finds the packages of the application that a JVM runs.
fn choose_packages(process: &Process, args: &AgentArgs) -> Result<Selection, Failure> {
    let variable = |name: &str| process.variable(name).filter(|value| !value.is_empty());
    let own = match process.command().as_slice() {
        [program, arguments @ ..] if is_java(program) => {
            let class_path = variable("CLASSPATH").and_then(|path| path.into_string().ok());
            let (root, directory) = (process.root(), process.directory());
            own::of_java(arguments, &Surroundings { root, directory, class_path })
        }
        _ => Vec::new(),
    };
    Selection::of(own, args, |name| variable(name).is_some())
}
