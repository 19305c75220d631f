//! `flow export --to lcov`, `cobertura` and `jacoco`: which lines were reached.

use flow_query::ask::{Coverage, Covered};

use super::destination::Destination;
use crate::args::{CoverageArgs, Format};
use crate::export::{CoverageFormat, Document, lcov, short_program, write_coverage};
use crate::failure::{Failure, Status};
use crate::input::flags::SourceArgs;
use crate::input::source::Source;
use crate::input::sources::{Sources, source_folders};
use crate::output::{Out, lines_message, message, plural};

pub(super) fn run(
    args: &CoverageArgs,
    format: CoverageFormat,
    out: &mut Out,
) -> Result<Status, Failure> {
    let mut source = Source::open(&SourceArgs { dir: args.dir.clone(), format: Format::Text })?;
    source.choose_lines(&args.part)?;
    source.report_losses();
    let folders = source_folders(&args.sources);
    let mut files = Sources::new(&folders);
    let mut path = |file: &str| files.path(file).map(|path| path.display().to_string());
    let bytes = source.bytes();
    let (mut to, mut progress) = Destination::new(args.out.as_deref(), bytes, out)?;
    let (mut status, mut all, mut by_test) = (source.status, Covered::default(), Vec::new());
    let is_by_test = format == CoverageFormat::Lcov && !args.part.tests.patterns.is_empty();
    for trace in &source.traces {
        let coverage = Coverage::of(trace, &args.part.filter.filter());
        let (covered, soundness) = if is_by_test {
            let (covered, tests, soundness) = coverage.read_tests(&mut progress);
            by_test.extend(tests.into_iter().filter(|(_, covered)| covered.has_reached()));
            (covered, soundness)
        } else {
            coverage.read(&mut progress)
        };
        status = status.and(soundness);
        all.add(covered);
    }
    drop(progress);
    lines_message(&all).iter().for_each(|text| message(text));
    if is_by_test && by_test.is_empty() && !all.files.is_empty() {
        message("the selected tests reached none of the lines that are recorded");
    }
    if !by_test.is_empty() {
        let everything = std::iter::once(("", &all));
        let tests = by_test.iter().map(|(test, covered)| (*test, covered));
        for (test, covered) in everything.chain(tests) {
            lcov(test, covered, &mut path, &mut to.to).map_err(|error| to.failure(error))?;
        }
    }
    if !is_by_test {
        let manifest = source.traces.iter().find_map(|trace| trace.manifest());
        let sources: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
        let document = Document {
            title: &source.traces.iter().find_map(short_program).unwrap_or_default(),
            started_ms: manifest.map_or(0, |manifest| manifest.start_unix_ns / 1_000_000),
            sources: &sources,
            covered: &all,
        };
        let written = write_coverage(&document, format, &mut path, &mut to.to);
        written.map_err(|error| to.failure(error))?;
    }
    to.finish(&plural(all.files.len() as u64, "source file"))?;
    Ok(status)
}
