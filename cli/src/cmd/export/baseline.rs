//! `flow export --to baseline`: what threads or tests did, for `flow diff --exact` with a later run.

use std::fs;
use std::io::Write;

use flow_codec::NameForm;
use flow_codec::format::baseline::{Baseline, OutlinedCall, Unit};
use flow_codec::format::shape_name::ShapeName;
use flow_query::dag::{Kind, ShapeId, Shapes};

use super::destination::report;
use crate::args::{BaselineArgs, Format};
use crate::failure::{Failure, Status};
use crate::input::flags::SourceArgs;
use crate::input::source::{Source, refuse_trace};
use crate::output::{Out, Progress, plural};
use flow_query::shapes::{JoinedNames, Joiner, Joins};

/// The most calls in the outline of a thread or a test.
const MOST_CALLS: usize = 64;

/// Writes a baseline to a file, or to standard output.
pub(super) fn run(args: &BaselineArgs, out: &mut Out) -> Result<Status, Failure> {
    args.out.iter().try_for_each(|file| refuse_trace(file))?;
    let mut source = Source::open(&SourceArgs { dir: args.dir.clone(), format: Format::Text })?;
    source.choose_part(&args.part)?;
    source.expect_calls()?;
    let mut progress = Progress::new(source.bytes(), out);
    let filter = args.part.filter.filter();
    let mut joiner = Joiner::default();
    let ([threads], worst) = joiner.add_all([&source.traces], Joins::of(&filter), &mut progress);
    let status = source.status.and(worst);
    drop(progress);
    let (shapes, methods) = joiner.finish();
    let names = JoinedNames::new(&methods, source.traces.iter());
    let names_of_shapes = shapes.names(|number| names.key(number));
    let units = threads.iter().map(|thread| {
        let (kind, name) = thread.unit();
        Unit {
            kind,
            name,
            calls: thread.dag.calls(),
            shape: digits(&names_of_shapes, thread.joined.thread),
            outline: outline(&shapes, &names, &names_of_shapes, thread.joined.thread),
        }
    });
    let baseline = Baseline { units: units.collect() };
    let text = baseline.encode();
    let Some(file) = &args.out else {
        out.write_all(text.as_bytes())?;
        return Ok(status);
    };
    fs::write(file, &text)
        .map_err(|error| Failure::Failed(format!("{}: {error}", file.display())))?;
    report(&plural(baseline.units.len() as u64, "unit"), file);
    Ok(status)
}

/// All digits of the name of a shape.
pub(crate) fn digits(names: &[ShapeName], shape: ShapeId) -> String {
    names.get(shape.index()).map_or(String::new(), |name| name.digits())
}

fn outline(
    shapes: &Shapes,
    names: &JoinedNames<'_>,
    names_of_shapes: &[ShapeName],
    thread: ShapeId,
) -> Vec<OutlinedCall> {
    let call = |(level, shape, count): (u64, ShapeId, u64)| OutlinedCall {
        level,
        count,
        calls: shapes.calls(shape),
        shape: digits(names_of_shapes, shape),
        method: match shapes.kind(shape) {
            Kind::Call(method, _) => names.get(method, NameForm::Full),
            _ => String::new(),
        },
    };
    shapes.outline(thread, MOST_CALLS).into_iter().map(call).collect()
}
