//! `flow listen`: receives traces from JVMs.

use std::io::BufRead as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use flow_codec::format::stream::Command;
use flow_options::StreamAddress;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::args::{Format, ListenArgs, ReplayArgs, SourceArgs};
use crate::cmd::replay::follow_until;
use crate::failure::{Failure, Status};
use crate::input::source::is_container_name;
use crate::live::{Listener, Sessions, Store, Token, take_what_jvms_left};
use crate::output::{Out, message, plural, shell_quoted};

pub(crate) fn run(args: &ListenArgs, out: &mut Out) -> Result<Status, Failure> {
    if !is_container_name(&args.out) {
        return Err(Failure::Usage(format!(
            "--out {}: what is received is stored in files; use a name that ends in .flowtrace",
            args.out.display()
        )));
    }
    let token = match (&args.token, &args.address) {
        (Some(path), _) => Some(Token::read(path)?),
        // Others cannot open the socket.
        (None, StreamAddress::Unix(_)) => None,
        (None, StreamAddress::Tcp { .. }) => Some(Token::of_user()?),
    };
    let fail = |error| Failure::Failed(format!("--out {}: {error}", args.out.display()));
    let store = Store::new(&args.out).map_err(fail)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The second one ends the program at once.
        signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .map_err(|error| Failure::Failed(format!("signals cannot be handled: {error}")))?;
    }
    let listener = Listener::bind(&args.address)?;
    let with_token = token
        .as_ref()
        .map_or_else(String::new, |token| format!(",stream-token={}", token.path().display()));
    let address = listener.address();
    message(&format!(
        "listening; record a JVM with: -agentpath:libflowagent.so=stream={address}{with_token}"
    ));
    take_what_jvms_left(&store);
    let sessions = Sessions::new(Arc::clone(&stop));
    let commanded = Arc::clone(&sessions);
    // Ends with the process: a read cannot be interrupted.
    let commands = thread::Builder::new().name("flow-commands".to_owned());
    let _ = commands.spawn(move || obey(&commanded));
    if !args.jsonl {
        listener.serve(store, token, &sessions);
        return Ok(Status::Done);
    }
    let source = SourceArgs { dir: args.out.clone(), format: Format::Json };
    let replay = ReplayArgs::following(source);
    thread::scope(|scope| {
        let server = thread::Builder::new().name("flow-listener".to_owned());
        let serve = || listener.serve(store, token, &sessions);
        server.spawn_scoped(scope, serve).map_err(Failure::Output)?;
        // A slow reader of the output delays only this.
        let printed = follow_until(&replay, Arc::clone(&stop), out);
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
            _ => None,
        };
        let pid = words.next().map(str::parse);
        let (Some(control), None, Ok(pid)) = (control, words.next(), pid.transpose()) else {
            message(&format!(
                "{}: expected suspend, resume, flush or stop, and a process id unless it is for all",
                shell_quoted(&line)
            ));
            continue;
        };
        let count = sessions.control(control, pid);
        message(&format!("{word}: sent to {}", plural(count as u64, "JVM")));
    }
}
