//! Prints the calls of each thread, indented: `cargo run --example calls -- flow-trace`.

use std::error::Error;
use std::io::{Write, stdout};
use std::path::Path;

use flow_codec::read::{EventKind, Trace};

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args_os().nth(1).ok_or("usage: calls TRACE")?;
    run(dir.as_ref(), &mut stdout().lock())
}

pub(crate) fn run(dir: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let trace = Trace::open(dir)?;
    for thread in trace.files() {
        writeln!(out, "thread {}", thread.id())?;
        let mut frames: usize = 0;
        for event in thread.timeline()? {
            match event?.kind {
                EventKind::Enter(method) => {
                    frames += 1;
                    writeln!(out, "{:1$}{2}", "", 2 * frames, trace.methods().display(method))?;
                }
                EventKind::Exit { count, .. } => {
                    frames = frames.saturating_sub(usize::try_from(count.get())?);
                }
                EventKind::Note(text) => writeln!(out, "{:1$}# {text}", "", 2 * frames + 2)?,
                _ => {}
            }
        }
    }
    Ok(())
}
