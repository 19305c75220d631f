//! `flow record`: runs a command and records the JVMs it starts.
//!
//! ```text
//! flags ─▶ argument (library, options) ─┐
//!          defaults (what is not said) ─┴▶ child (command line, signals) ─▶ summary (on stderr)
//! ```

mod argument;
mod child;
mod defaults;
mod packages;
mod summary;

use std::time::{SystemTime, UNIX_EPOCH};

use self::defaults::Defaults;
use self::summary::Summary;
use crate::agent::{self, AgentOptions, Place};
use crate::args::RecordArgs;
use crate::failure::{Failure, Status};

/// Runs the verb.
pub(crate) fn run(args: &RecordArgs) -> Result<Status, Failure> {
    let library = agent::library(args.agent.library.as_deref())?;
    let place = Place::of(&args.agent)?;
    let options = AgentOptions::of(&args.agent, &place)?.encode()?;
    let agent = argument::argument(&library, &options)?;
    let defaults = Defaults::of(&args.command, &args.agent)?;
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (pid, status) = child::run(&args.command, &agent, &defaults.variables, started)?;
    let summary = Summary::of(&place.out, &place.pattern, started, pid);
    summary.tell(defaults::starts_tools(&args.command));
    Ok(Status::Command(status))
}
