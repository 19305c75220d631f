//! Prints the tests that call a method: `cargo run --example tests_calling -- TRACE METHOD`.

use std::error::Error;
use std::io::{Write, stdout};
use std::path::Path;

use flow_query::ask::RanTests;
use flow_query::open::Traces;
use flow_query::select::outcome;
use flow_query::text::plural;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(trace), Some(method)) = (arguments.next(), arguments.next()) else {
        return Err("usage: tests_calling TRACE METHOD".into());
    };
    run(trace.as_ref(), &method, &mut stdout().lock())
}

pub(crate) fn run(path: &Path, method: &str, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut traces = Traces::open(path)?;
    let (tests, _) = RanTests::all().calling(method).find(&mut traces, &mut ())?;
    for test in tests {
        writeln!(out, "{} {}: {}", outcome(&test.run), test.run.name, plural(test.calls, "call"))?;
    }
    Ok(())
}
