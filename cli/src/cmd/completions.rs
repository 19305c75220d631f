//! `flow completions`: scripts with which shells complete commands.

use std::io::Write;

use clap::CommandFactory;

use crate::args::{Args, CompletionsArgs};
use crate::failure::{Failure, Status};
use crate::output::Out;

pub(crate) fn run(args: &CompletionsArgs, out: &mut Out) -> Result<Status, Failure> {
    // Into memory first: the generator panics if the pipe is closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "flow", &mut script);
    out.write_all(&script)?;
    Ok(Status::Done)
}
