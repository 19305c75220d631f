//! `flow listen`: receives traces from JVMs.
//!
//! `report` prints what they do meanwhile.

mod report;

use std::io::BufRead as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use flow_codec::format::stream::Command;

use crate::args::{Format, ListenArgs, ReplayArgs, SourceArgs};
use crate::cmd::replay::follow_until;
use crate::failure::{Failure, Status};
use crate::input::flags::FilterArgs;
use crate::input::source::is_container_name;
use crate::live::{Collector, Listener, Sessions, Store, Token, stop_flag, take_what_jvms_left};
use crate::output::{Out, message, plural, shell_quoted};

pub(crate) fn run(args: &ListenArgs, out: &mut Out) -> Result<Status, Failure> {
    if !is_container_name(&args.out) {
        return Err(Failure::Usage(format!(
            "--out {}: what is received is stored in files; use a name that ends in .flowtrace",
            args.out.display()
        )));
    }
    let FilterArgs { own, include, exclude } = &args.filter;
    let chooses = *own || !include.is_empty() || !exclude.is_empty();
    if chooses && !args.jsonl && args.report.is_none() {
        return Err(Failure::Usage(
            "--own, --include and --exclude choose what is printed, and everything is stored; add --report or --jsonl"
                .to_owned(),
        ));
    }
    let token = Token::at(&args.address, args.token.as_deref())?;
    let fail = |error| Failure::Failed(format!("--out {}: {error}", args.out.display()));
    let store = Store::new(&args.out).map_err(fail)?;
    let stop = stop_flag()?;
    let listener = Listener::bind(&args.address)?;
    let option = listener.agent_option(token.as_ref());
    message(&format!("listening; record a JVM with: {option}"));
    take_what_jvms_left(&store, &message);
    let sessions = Sessions::new(Arc::clone(&stop));
    let commanded = Arc::clone(&sessions);
    // Ends with the process: a read cannot be interrupted.
    let commands = thread::Builder::new().name("flow-commands".to_owned());
    let _ = commands.spawn(move || obey(&commanded));
    let collector = Collector { store, token, sessions, tell: Box::new(message) };
    if !args.jsonl && args.report.is_none() {
        listener.serve(collector);
        return Ok(Status::Done);
    }
    thread::scope(|scope| {
        let server = thread::Builder::new().name("flow-listener".to_owned());
        server.spawn_scoped(scope, || listener.serve(collector)).map_err(Failure::Output)?;
        // A slow reader of the output delays only this.
        let printed = match args.report {
            Some(kind) => report::run(args, kind, &stop, out),
            None => {
                let source = SourceArgs { dir: args.out.clone(), format: Format::Json };
                let replay = ReplayArgs::following(source, args.filter.clone());
                follow_until(&replay, Arc::clone(&stop), out)
            }
        };
        stop.store(true, Ordering::Relaxed);
        printed
    })
}

/// Passes commands from standard input to JVMs: a word, and a process id unless it is for all.
fn obey(sessions: &Sessions) {
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let mut words = line.split_whitespace();
        let Some(word) = words.next() else { continue };
        let control = match word {
            "suspend" => Some(Command::Suspend),
            "resume" => Some(Command::Resume),
            "flush" => Some(Command::Flush),
            "stop" => Some(Command::Stop),
            "pause" => Some(Command::Pause),
            _ => None,
        };
        let pid = words.next().map(str::parse);
        let (Some(control), None, Ok(pid)) = (control, words.next(), pid.transpose()) else {
            message(&format!(
                "{}: expected suspend, pause, resume, flush or stop, and a process id unless it is for all",
                shell_quoted(&line)
            ));
            continue;
        };
        let count = sessions.control(control, pid);
        message(&format!("{word}: sent to {}", plural(count as u64, "JVM")));
    }
}
