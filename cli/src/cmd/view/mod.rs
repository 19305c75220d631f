//! `flow view`: the calls of a trace on the terminal.
//!
//! ```text
//! SelectedTree (index or shapes) ─▶ tree (the calls of a thread) ─▶ forest (rows before and after a row, across threads)
//! ─▶ calls (those on the screen, with their times: clock)
//! keys, mouse ─▶ control (threads, calls, lists, searches) ─▶ text, details ─▶ draw, or once
//! ```
//!
//! Memory: what is on the screen, the numbers of unfolded calls, and the index or the shapes of one thread.

mod calls;
mod clock;
mod control;
mod details;
mod draw;
mod forest;
mod layout;
mod list;
mod neighbours;
mod once;
mod opening;
mod search;
mod terminal;
mod text;
mod tree;

use std::io::IsTerminal;

use self::control::{Start, ThreadKey};
use self::opening::Opened;
use super::recorded;
use crate::args::ViewArgs;
use crate::failure::{Failure, Status};
use crate::input::place::From;
use crate::input::source::Source;
use crate::output::{Out, escaped, flow_command, message};

pub(crate) fn run(args: &ViewArgs, out: &mut Out) -> Result<Status, Failure> {
    let is_on_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if !args.once && !is_on_terminal {
        return Err(Failure::Usage(
            "view needs a terminal; with --once it prints the first screen".to_owned(),
        ));
    }
    let mut args = args.clone();
    From::choose_thread(&mut args.from, &mut args.part.threads);
    let args = &args;
    let path = recorded::trace_of(&args.source)?;
    let mut opened = Opened::open(path.clone(), args)?;
    opened.source.expect_calls()?;
    let mut start = first(&opened.source, args)?;
    if args.once {
        return once::print(&opened, args, start, out);
    }
    while let Some(next) = terminal::show(&opened, args, start)? {
        start = next;
        match Opened::open(path.clone(), args) {
            Ok(again) => opened = again,
            // What was read before is still right.
            Err(failure) => message(&failure.to_string()),
        }
    }
    Ok(Status::Done)
}

/// Where the view begins: with the calls of the only thread, from `--from` on, or with the list of threads. Refuses `--from` if
/// there are several threads.
fn first(source: &Source, args: &ViewArgs) -> Result<Start, Failure> {
    let threads = || {
        let traces = source.traces.iter();
        traces.flat_map(|trace| trace.files().iter().map(move |file| (trace, file)))
    };
    if threads().next().is_none() {
        let source = escaped(&args.source);
        return Err(Failure::Failed(format!(
            "{source}: no calls were recorded ({} shows what was, {} shows samples)",
            flow_command("info"),
            flow_command("report")
        )));
    }
    let thread = threads().next().filter(|_| threads().nth(1).is_none());
    if thread.is_none() && args.from.is_some() {
        return Err(Failure::Usage(
            "--from is a position in one thread: choose one with --thread, or one test".to_owned(),
        ));
    }
    let thread = thread.map(|(trace, file)| ThreadKey::new(trace, file));
    Ok(Start { thread, from: args.from.clone(), ..Start::default() })
}
