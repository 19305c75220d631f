//! Prints the first call that two runs made differently: `cargo run --example first_difference -- BEFORE AFTER`.

use std::error::Error;
use std::io::{Write, stdout};
use std::path::Path;

use flow_codec::NameForm;
use flow_query::ask::Differences;
use flow_query::open::Traces;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(before), Some(after)) = (arguments.next(), arguments.next()) else {
        return Err("usage: first_difference BEFORE AFTER".into());
    };
    run(before.as_ref(), after.as_ref(), &mut stdout().lock())
}

pub(crate) fn run(a: &Path, b: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let (before, after) = (Traces::open(a)?, Traces::open(b)?);
    let found = Differences::default().at_most(1).find([&before, &after], &mut ())?;
    let names = found.names([&before, &after]);
    let Some(thread) = found.differing.first() else { return Ok(writeln!(out, "no difference")?) };
    writeln!(out, "{}", found.title(thread, ["before", "after"]))?;
    for difference in thread.comparison.differences() {
        for method in thread.comparison.stack(difference) {
            writeln!(out, "  in {}", names.get(method, NameForm::Readable))?;
        }
        for shift in &difference.shifts {
            let sign = if shift.is_added { '+' } else { '-' };
            let called =
                found.shapes.method(shift.shape).map(|id| names.get(id, NameForm::Readable));
            writeln!(out, "  {sign} {}", called.unwrap_or_default())?;
        }
    }
    Ok(())
}
