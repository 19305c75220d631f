//! `flow export --to parquet-shapes`: tables of what threads and tests did.

use flow_codec::read::TestRun;
use flow_query::reading::Selected;
use flow_query::shapes::read_facts;

use super::destination::report;
use crate::args::{Format, ShapeTablesArgs};
use crate::cmd::report::sums::sums;
use crate::export::{MethodSums, Origin, ShapesTables};
use crate::failure::{Failure, Status};
use crate::input::flags::SourceArgs;
use crate::input::source::Source;
use crate::input::times::weight_of;
use crate::output::{Progress, message, plural};

pub(super) fn run(args: &ShapeTablesArgs) -> Result<Status, Failure> {
    let mut source = Source::open(&SourceArgs { dir: args.dir.clone(), format: Format::Text })?;
    let part = &args.part;
    let select = part.select();
    let runs = TestRun::read_all(source.only("export")?).0;
    let whole = source.only("export")?.files().to_vec();
    source.choose_part(part)?;
    source.expect_calls()?;
    let mut progress = Progress::without_results(source.bytes().saturating_mul(2));
    // Shapes of tests are found in those of whole threads.
    let mut selected = Vec::new();
    for trace in &mut source.traces {
        selected = trace.take_files();
        trace.set_files(whole.clone());
    }
    let trace = source.only("export")?;
    let origin = Origin::of(trace, args.service.as_deref(), args.commit.as_deref());
    let mut tables = ShapesTables::create(&args.out, trace, origin)?;
    let soundness = read_facts(trace, &runs, &select, &mut progress, &mut |fact| tables.add(fact));
    let unit = weight_of(None, trace)?;
    let chosen = Selected::of(part.filter.filter().selection(trace));
    let sums = sums(&selected, &chosen, unit, &mut progress);
    tables.end(&MethodSums { unit, rows: sums.rows })?;
    drop(progress);
    report("tables", &args.out);
    let is_left_out =
        |run: &&TestRun| run.left_out.is_some() && part.tests.tests().include(&run.name);
    let left_out = runs.iter().filter(is_left_out).count() as u64;
    if left_out > 0 {
        let tests = plural(left_out, "test");
        message(&format!("{tests} not in the tables: --keep-tests left out their calls"));
    }
    Ok(source.status.and(Status::from(soundness)).and(sums.status))
}
