//! `flow top`: what a program does now.
//!
//! `received` is the trace of a JVM that streams it here. `watch` asks what is new in the trace again and again. `once` prints
//! one answer; `terminal` shows one after the other, `view` is what a person chose there, and `draw` draws it.

mod draw;
mod once;
mod received;
mod terminal;
mod view;
mod watch;

use std::io::IsTerminal;
use std::thread;

use self::received::Received;
use self::watch::Watch;
use super::recorded;
use crate::args::TopArgs;
use crate::failure::{Failure, Status};
use crate::output::Out;

pub(crate) fn run(args: &TopArgs, out: &mut Out) -> Result<Status, Failure> {
    let is_on_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if !args.once && !is_on_terminal {
        return Err(Failure::Usage(
            "top needs a terminal; with --once it prints one interval".to_owned(),
        ));
    }
    let received = match args.source.parse() {
        Ok(address) => match Received::at(&address)? {
            None => return Ok(Status::Done),
            received => received,
        },
        Err(()) => None,
    };
    let dir = match &received {
        Some(received) => received.path(),
        None => recorded::trace_of(&args.source)?,
    };
    let mut watch = Watch::new(dir, received, args);
    if args.once {
        watch.refresh()?;
        thread::sleep(args.interval());
        return once::print(&mut watch, args, out);
    }
    terminal::run(&mut watch, args)
}
