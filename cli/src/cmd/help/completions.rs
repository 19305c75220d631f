//! `flow help completions`: scripts for completion in shells.

use std::io::Write;

use clap::CommandFactory;

use crate::args::{Args, CompletionsArgs};
use crate::failure::{Failure, Status};
use crate::output::Out;

pub(crate) fn run(args: &CompletionsArgs, out: &mut Out) -> Result<Status, Failure> {
    // Into memory first, because the generator panics on a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "flow", &mut script);
    out.write_all(&script)?;
    Ok(Status::Done)
}
