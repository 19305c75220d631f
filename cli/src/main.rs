//! `flow`: records JVM programs and makes their traces readable.
//!
//! ```text
//! args ─▶ cmd::<verb> ─▶ input (a trace directory, through flow-codec) ─▶ output ─▶ stdout
//!                   └─▶ export, html, repair, live, jvm, own, terminal, mcp
//! ```
//!
//! Imports point one way: `cmd` alone knows `args`, and nothing knows `cmd`.
//!
//! This crate knows no byte layout, and all text goes through [`output`]: results to stdout, messages and
//! progress to stderr.

#![forbid(unsafe_code)]
// The flags of all verbs are known everywhere, but flow records on Linux only.
#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, unused_imports, reason = "used by verbs that need Linux")
)]

mod args;
mod cmd;
mod export;
mod failure;
mod html;
mod input;
#[cfg(target_os = "linux")]
mod jvm;
#[cfg(target_os = "linux")]
mod live;
mod mcp;
mod output;
#[cfg(target_os = "linux")]
mod own;
#[cfg(target_os = "linux")]
mod repair;
mod terminal;

use std::io::ErrorKind;

use crate::args::{Args, Verb};
use crate::failure::{Failure, Status};
use crate::output::{Format, Out, message, terminal_columns};

fn main() {
    report_limits_of_files();
    let outcome = match Args::read(terminal_columns()) {
        // Before standard output is locked: the server writes there from another thread.
        Ok(Args { verb: Verb::Mcp(args), memory, raw_names, .. }) => {
            let memory = memory.map(|bytes| format!("--memory={bytes}"));
            let raw_names = raw_names.then(|| "--raw-names".to_owned());
            mcp::run(&args.request(memory.into_iter().chain(raw_names).collect()))
        }
        Ok(args) => {
            let mut out = Out::new(args.color, args.width);
            args.memory.into_iter().for_each(flow_query::shapes::limit_memory);
            if args.raw_names {
                input::source::show_raw_names();
            }
            match args.verb.format() {
                Some(Format::Text) => out.show_to_people(args.links),
                Some(Format::Json) => out.show_json(),
                Some(Format::Csv) | None => {}
            }
            run(&args.verb, &mut out).and_then(|status| {
                out.finish()?;
                Ok(status)
            })
        }
        Err(refusal) if refusal.use_stderr() => {
            let _ = refusal.print();
            Ok(Status::Usage)
        }
        // The help or the version.
        Err(text) => text.print().map(|()| Status::Done).map_err(Failure::Output),
    };
    let status = outcome.unwrap_or_else(|failure| match failure {
        // The reader of the output has closed the pipe.
        Failure::Output(error) if error.kind() == ErrorKind::BrokenPipe => Status::Done,
        failure => {
            message(&failure.to_string());
            failure.status()
        }
    });
    // Without destructors: they would write buffered output again that could not be written.
    std::process::exit(status.code())
}

/// Lets a file that may grow no more (`ulimit -f`) be an error like a full disk: the signal would end the program without
/// a word. Programs that are started begin with the default again. Windows has no such limit.
fn report_limits_of_files() {
    // Without this, the limit still holds.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}

fn run(verb: &Verb, out: &mut Out) -> Result<Status, Failure> {
    match verb {
        #[cfg(target_os = "linux")]
        Verb::Record(args) => cmd::recording::record::run(args),
        #[cfg(target_os = "linux")]
        Verb::Attach(args) => cmd::recording::attach::run(args),
        #[cfg(target_os = "linux")]
        Verb::Detach(args) => cmd::recording::detach::run(args),
        #[cfg(target_os = "linux")]
        Verb::Snapshot(args) => cmd::recording::snapshot::run(args),
        #[cfg(target_os = "linux")]
        Verb::Listen(args) => cmd::listen::run(args, out),
        #[cfg(target_os = "linux")]
        Verb::Top(args) => cmd::top::run(args, out),
        #[cfg(not(target_os = "linux"))]
        Verb::Record(_)
        | Verb::Attach(_)
        | Verb::Detach(_)
        | Verb::Snapshot(_)
        | Verb::Listen(_)
        | Verb::Top(_) => Err(Failure::needs_linux("this verb")),
        Verb::View(args) => cmd::view::run(args, out),
        Verb::Info(args) => cmd::info::run(args, out),
        Verb::Replay(args) => match args.ended_calls() {
            Some(args) => cmd::calls::follow(&args, out),
            None => cmd::replay::run(args, out),
        },
        Verb::Report(args) => cmd::report::run(args, out),
        Verb::Calls(args) => cmd::calls::run(args, out),
        Verb::Tests(args) if args.flaky => cmd::diff::flaky::run(args, out),
        Verb::Tests(args) => cmd::test_runs::run(args, out),
        Verb::Diff(args) => cmd::diff::run(args, out),
        Verb::Export(args) => cmd::export::run(args, out),
        Verb::Check(args) => cmd::check::run(args, out),
        Verb::Mcp(_) => unreachable!("has no output of this kind"),
        Verb::Help(args) => cmd::help::run(args, out),
    }
}
