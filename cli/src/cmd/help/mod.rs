//! `flow help`: the help of a verb, the manual, and completions.

mod completions;
mod man;

use crate::args::{Args, HelpArgs, HelpTopic};
use crate::failure::{Failure, Status};
use crate::output::{Out, terminal_columns};

pub(crate) fn run(args: &HelpArgs, out: &mut Out) -> Result<Status, Failure> {
    let verb = match &args.topic {
        Some(HelpTopic::Man(args)) => return man::run(args, out),
        Some(HelpTopic::Completions(args)) => return completions::run(args, out),
        Some(HelpTopic::Verb(words)) => &words[..],
        None => &[],
    };
    let help = Args::help(verb, terminal_columns());
    let status = if help.use_stderr() { Status::Usage } else { Status::Done };
    help.print().map_err(Failure::Output)?;
    Ok(status)
}
