//! `flow listen`: receives traces from JVMs.
//!
//! `report` prints what they do meanwhile.

mod report;

use std::io::BufRead as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use flow_codec::format::stream::{Command, Message};
use flow_options::parse_filter;

use crate::args::{Format, ListenArgs, ReplayArgs, ReportKind, SourceArgs};
use crate::cmd::replay::follow_until;
use crate::failure::{Failure, Status};
use crate::input::flags::FilterArgs;
use crate::live::{Collector, Listener, Sessions, Store, Token, stop_flag, take_what_jvms_left};
use crate::output::{Out, message, plural, shell_quoted};
use flow_query::ask::ReportOn;
use flow_query::open::is_container_name;

pub(crate) fn run(args: &ListenArgs, out: &mut Out) -> Result<Status, Failure> {
    if !is_container_name(&args.out) {
        return Err(Failure::Usage(format!(
            "--out {}: what is received is stored in files; use a name that ends in .flowtrace",
            args.out.display()
        )));
    }
    let FilterArgs { own, include, exclude } = &args.filter;
    let chooses = *own || !include.is_empty() || !exclude.is_empty();
    if chooses && args.report.is_none() {
        return Err(Failure::Usage(
            "--own, --include and --exclude choose what is printed, and everything is stored; add --report".to_owned(),
        ));
    }
    if args.report == Some(ReportKind::Calls) && !args.is_json() {
        return Err(Failure::Usage("--report calls prints JSON: add --format json".to_owned()));
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
    let Some(kind) = args.report else {
        listener.serve(collector);
        return Ok(Status::Done);
    };
    thread::scope(|scope| {
        let server = thread::Builder::new().name("flow-listener".to_owned());
        server.spawn_scoped(scope, || listener.serve(collector)).map_err(Failure::Output)?;
        // A slow reader of the output delays only this.
        let printed = match kind {
            ReportKind::Methods => report::run(args, ReportOn::Methods, &stop, out),
            ReportKind::Exceptions => report::run(args, ReportOn::Exceptions, &stop, out),
            ReportKind::Graph => report::run(args, ReportOn::Callers, &stop, out),
            ReportKind::Notes => report::run(args, ReportOn::Notes, &stop, out),
            ReportKind::Calls => {
                let source = SourceArgs { dir: args.out.clone(), format: Format::Json };
                let replay = ReplayArgs::following(source, args.filter.clone());
                follow_until(&replay, Arc::clone(&stop), out)
            }
        };
        stop.store(true, Ordering::Relaxed);
        printed
    })
}

/// Passes commands from standard input to JVMs.
fn obey(sessions: &Sessions) {
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        if line.trim().is_empty() {
            continue;
        }
        match command(&line) {
            Ok((word, sent, pid)) => {
                let count = sessions.send(&sent, pid);
                message(&format!("{word}: sent to {}", plural(count as u64, "JVM")));
            }
            Err(why) => message(&format!("{}: {why}", shell_quoted(&line))),
        }
    }
}

/// Parses a command: a word, a process id unless it is for all JVMs, and options after the word `filter`.
fn command(line: &str) -> Result<(&str, Message<'_>, Option<u32>), String> {
    fn next(rest: &str) -> (&str, &str) {
        let rest = rest.trim_start();
        rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()))
    }
    let (word, rest) = next(line);
    let (first, after) = next(rest);
    let (pid, rest) = match first.parse() {
        Ok(pid) => (Some(pid), after),
        Err(_) => (None, rest),
    };
    let rest = rest.trim();
    let control = match word {
        "filter" => {
            parse_filter(rest).map_err(|error| error.to_string())?;
            return Ok((word, Message::Filter(rest), pid));
        }
        "suspend" => Command::Suspend,
        "resume" => Command::Resume,
        "flush" => Command::Flush,
        "stop" => Command::Stop,
        "pause" => Command::Pause,
        _ => return Err(EXPECTED.to_owned()),
    };
    match rest {
        "" => Ok((word, Message::Control(Some(control)), pid)),
        _ => Err(EXPECTED.to_owned()),
    }
}

const EXPECTED: &str = "expected suspend, pause, resume, flush, stop or filter OPTIONS, and a process id after the word unless \
                        it is for all";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_word_a_process_and_options() {
        let control = |command| Message::Control(Some(command));
        for (line, expected) in [
            ("suspend", ("suspend", control(Command::Suspend), None)),
            (" stop  4711 ", ("stop", control(Command::Stop), Some(4711))),
            ("filter", ("filter", Message::Filter(""), None)),
            ("filter include=a.A", ("filter", Message::Filter("include=a.A"), None)),
            (
                "filter 7 include=a.A#m(int\\, int),natives=true",
                ("filter", Message::Filter("include=a.A#m(int\\, int),natives=true"), Some(7)),
            ),
        ] {
            assert_eq!(command(line), Ok(expected), "{line}");
        }
        for line in ["stop now", "go", "stop 1 2", "4711"] {
            assert_eq!(command(line).unwrap_err(), EXPECTED, "{line}");
        }
        assert!(command("filter 7 out=x").unwrap_err().contains("'out' cannot change"));
    }
}
