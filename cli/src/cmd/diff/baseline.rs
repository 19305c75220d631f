//! `flow diff --exact FILE DIR`: compares a run with what `flow export --to baseline` wrote of an earlier one.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use flow_codec::NameForm;
use flow_codec::format::baseline::{Baseline, MAGIC, Unit, UnitKind};
use flow_codec::format::shape_name::ShapeName;
use flow_query::dag::{Kind, ShapeId, Shapes};

use crate::args::{DiffArgs, Format};
use crate::cmd::export::baseline::digits;
use crate::failure::{Failure, Status};
use crate::input::flags::{SourceArgs, TestArgs};
use crate::input::source::Source;
use crate::output::not_compared;
use crate::output::{Out, Progress, chain, escaped, flow_command, grouped, plural};
use flow_query::select::globs;
use flow_query::shapes::{JoinedNames, Joiner, Joins};

/// The frames that are named at each end of a stack.
const CHAIN_ENDS: usize = 3;

/// Returns whether the first run to compare is a baseline.
pub(super) fn is_one(path: &Path) -> bool {
    let mut start = [0; MAGIC.len() + 2];
    let opened = path.is_file().then(|| File::open(path).ok()).flatten();
    opened.is_some_and(|mut file| file.read_exact(&mut start).is_ok() && Baseline::is_one(&start))
}

/// Compares a run with the baseline.
pub(super) fn run(args: &DiffArgs, out: &mut Out) -> Result<Status, Failure> {
    let Some(after) = args.after.as_ref().filter(|_| args.exact) else {
        let command = flow_command("diff --exact BASELINE DIR");
        return Err(Failure::Usage(format!("a baseline is compared with a run: {command}")));
    };
    if args.format.of_rows() != Format::Text || args.html.is_some() {
        return Err(Failure::Usage("differences to a baseline are shown as text".to_owned()));
    }
    let place = args.before.display();
    let text = std::fs::read_to_string(&args.before)
        .map_err(|error| Failure::Failed(format!("{place}: {error}")))?;
    let baseline = Baseline::decode(&text).map_err(|line| {
        Failure::Failed(format!("{place}: line {line} is not that of a baseline"))
    })?;
    let mut source =
        Source::open(&SourceArgs { dir: after.clone(), format: args.format.of_rows() })?;
    let of_tests = baseline.units.iter().any(|unit| unit.kind == UnitKind::Test);
    let (tests, all) = (&args.part.tests, TestArgs { patterns: vec!["*".to_owned()] });
    let is_chosen = !tests.patterns.is_empty() || !args.part.threads.patterns.is_empty();
    source.choose_tests(if of_tests && tests.patterns.is_empty() { &all } else { tests })?;
    source.choose(&args.part.threads)?;
    source.expect_calls()?;
    let ignored = globs(&args.ignore, source.traces.iter())?;
    let mut progress = Progress::new(source.bytes(), out);
    let mut joiner = Joiner::default();
    let filter = args.part.filter.filter();
    let joins = Joins { ignored: &ignored, ..Joins::of(&filter) };
    let ([threads], worst) = joiner.add_all([&source.traces], joins, &mut progress);
    let status = source.status.and(worst);
    drop(progress);
    // Threads of one name are compared in order, so all of them need their shapes.
    let left_out: HashSet<_> = joiner.left_out().iter().map(|left| left.unit.clone()).collect();
    let has_shapes = threads.iter().filter(|thread| left_out.contains(&thread.unit())).count();
    let count_left_out = joiner.left_out().len() + has_shapes;
    let (shapes, methods) = joiner.finish();
    let names = JoinedNames::new(&methods, source.traces.iter());
    let names_of_shapes = shapes.names(|number| names.key(number));
    let mut found: HashMap<_, VecDeque<ShapeId>> = HashMap::new();
    for thread in threads.iter().filter(|thread| !left_out.contains(&thread.unit())) {
        found.entry(thread.unit()).or_default().push_back(thread.joined.thread);
    }
    let mut differing = Vec::new();
    for unit in &baseline.units {
        let of_unit = found.get_mut(&(unit.kind, unit.name.clone()));
        match of_unit.and_then(VecDeque::pop_front) {
            _ if left_out.contains(&(unit.kind, unit.name.clone())) => {}
            None if is_chosen => {}
            Some(shape) if digits(&names_of_shapes, shape) == unit.shape => {}
            shape => differing.push((unit, shape)),
        }
    }
    let print = Print { args, shapes: &shapes, names: &names, names_of_shapes: &names_of_shapes };
    let compared = baseline.units.iter();
    let compared = compared.filter(|unit| !left_out.contains(&(unit.kind, unit.name.clone())));
    let what = if of_tests { "test" } else { "thread" };
    let units = plural(compared.count() as u64, what);
    writeln!(out, "before  {}", escaped(&place.to_string()))?;
    writeln!(out, "after   {}", escaped(&after.display().to_string()))?;
    if !left_out.is_empty() {
        writeln!(out, "{}", not_compared(count_left_out as u64, what))?;
    }
    if differing.is_empty() {
        writeln!(out, "\nno difference: the same calls in the same order, in {units}")?;
    } else {
        let differ = if differing.len() == 1 { "differs" } else { "differ" };
        writeln!(out, "{} of {units} {differ}", grouped(differing.len() as u64))?;
    }
    for (unit, shape) in &differing {
        out.write_all(b"\n")?;
        print.unit(unit, *shape, out)?;
    }
    let more: usize = found.values().map(VecDeque::len).sum();
    if more > 0 && !of_tests {
        let text = format!("{} not in the baseline", plural(more as u64, "thread"));
        out.remark(args.format.of_rows(), None, &text)?;
    }
    Ok(status.and(args.status(!differing.is_empty())))
}

struct Print<'a> {
    args: &'a DiffArgs,
    shapes: &'a Shapes,
    names: &'a JoinedNames<'a>,
    names_of_shapes: &'a [ShapeName],
}

impl Print<'_> {
    /// Prints where a thread or a test first differs.
    fn unit(&self, unit: &Unit, shape: Option<ShapeId>, out: &mut Out) -> Result<(), Failure> {
        out.heading(&escaped(&format!("{} {}", unit.kind.word(), unit.name)))?;
        let Some(shape) = shape else {
            writeln!(out, "  only before")?;
            return Ok(());
        };
        let full = |method| self.names.get(method, NameForm::Full);
        let found = self.shapes.departure(&unit.outline, shape, self.names_of_shapes, full);
        let method = |place: &usize| match unit.outline.get(*place) {
            Some(call) => call.method.clone(),
            None => String::new(),
        };
        if !found.path.is_empty() {
            let ends = if self.args.verbose { usize::MAX / 2 } else { CHAIN_ENDS };
            writeln!(out, "  in {}", escaped(&chain(&found.path, ends, method)))?;
        }
        let times = |count: u64| match count {
            1 => String::new(),
            count => format!(" ×{}", grouped(count)),
        };
        if let Some(call) = found.before.and_then(|place| unit.outline.get(place)) {
            writeln!(out, "  - {}{}", escaped(&call.method), times(call.count))?;
        }
        if let Some((shape, count)) = found.after {
            let name = match self.shapes.kind(shape) {
                Kind::Call(method, _) => full(method),
                _ => "(events are missing)".to_owned(),
            };
            writeln!(out, "  + {}{}", escaped(&name), times(count))?;
        }
        if found.before.is_none() && found.after.is_none() {
            writeln!(
                out,
                "  something else was called, or it was left differently; the baseline has no details"
            )?;
        }
        Ok(())
    }
}
