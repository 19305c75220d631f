//! Prints the calls that lasted at least 10 ms: `cargo run --example slow_calls -- flow-trace`.

use std::error::Error;
use std::io::{Write, stdout};
use std::path::Path;

use flow_codec::read::Trace;

const LEAST_NS: u64 = 10_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args_os().nth(1).ok_or("usage: slow_calls TRACE")?;
    run(dir.as_ref(), &mut stdout().lock())
}

pub(crate) fn run(dir: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let trace = Trace::open(dir)?;
    for thread in trace.files() {
        for call in thread.timeline()?.calls() {
            let call = call?;
            if let Some(duration_ns) = call.duration_ns().filter(|ns| *ns >= LEAST_NS) {
                let (thread, method) = (thread.id(), trace.methods().display(call.method));
                writeln!(out, "{duration_ns:>12} ns  thread {thread}  {method}")?;
            }
        }
    }
    Ok(())
}
