//! Prints the ten longest calls of a method, with its arguments: `cargo run --example slowest_calls -- TRACE METHOD`.

use std::error::Error;
use std::io::{Write, stdout};
use std::path::Path;

use flow_query::ask::Calls;
use flow_query::open::Traces;
use flow_query::text::ValueTexts;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(trace), Some(method)) = (arguments.next(), arguments.next()) else {
        return Err("usage: slowest_calls TRACE METHOD".into());
    };
    run(trace.as_ref(), &method, &mut stdout().lock())
}

pub(crate) fn run(path: &Path, method: &str, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut traces = Traces::open(path)?;
    let slowest = Calls::of_method(method).longest().with_values().at_most(10);
    for call in slowest.find(&mut traces, &mut ())?.0 {
        let methods = traces[call.trace].methods();
        let values = ValueTexts::new(methods, Some(call.method)).all(&call.values);
        let (ns, name) = (call.times.duration_ns, methods.display(call.method));
        writeln!(out, "{ns:>12} ns  {name}{values}")?;
    }
    Ok(())
}
