//! `flow info --all`: the runs in a folder of recordings.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use flow_query::open::{Recordings, is_named_by_start};
use flow_query::rows::{Cell, RunRow};

use crate::args::{Format, SourceArgs};
use crate::failure::{Failure, Status};
use crate::output::{Out, Records, Table, flow_command};

/// The state of nearly all runs.
const FINISHED: &str = "finished";

/// Prints the runs of a folder, the newest one last, each before its snapshots.
pub(super) fn run(args: &SourceArgs, out: &mut Out) -> Result<Status, Failure> {
    let Some(recordings) = Recordings::of(&args.dir) else {
        return Err(Failure::Failed(format!(
            "{}: not a folder of recordings, which {} makes",
            args.dir.display(),
            flow_command("record")
        )));
    };
    let runs = recordings.runs().iter();
    let files = runs.flat_map(|run| std::iter::once(run.clone()).chain(run.snapshots()));
    let rows: Vec<_> = files.map(|run| run.row()).collect();
    if args.format == Format::Text {
        print(&args.dir, &rows, out)?;
    } else {
        let mut records = Records::new::<RunRow>(args.format, false, out)?;
        rows.iter().try_for_each(|row| records.row(row, out))?;
    }
    Ok(Status::Done)
}

/// Lines of 80 columns have room for names as `flow record` usually gives them. So what these names or most rows have alike, the
/// start and the state, has a column only if it is needed.
fn print(folder: &Path, rows: &[RunRow], out: &mut Out) -> Result<(), Failure> {
    let or_nothing = |value: Option<Cell<'static>>| value.unwrap_or(Cell::Nothing);
    let started = |row: &RunRow| {
        let start = UNIX_EPOCH + Duration::from_nanos(row.start_unix_ns?);
        Some(Cell::text(humantime::format_rfc3339_seconds(start).to_string()))
    };
    let jvm = |row: &RunRow| {
        let version = row.version.split('+').next().unwrap_or_default();
        match row.jvms {
            2.. => Cell::text(format!("{version} ×{}", row.jvms)),
            _ => Cell::text(version.to_owned()),
        }
    };
    let name = |row: &RunRow| {
        let inside = Path::new(&row.run).strip_prefix(folder).ok().map(Path::display);
        match inside.map(|inside| inside.to_string()) {
            Some(name) if !name.is_empty() => name,
            _ => ".".to_owned(),
        }
    };
    out.heading(&format!("folder {}", folder.display()))?;
    let mut table = Table::default();
    if !rows.iter().all(|row| is_named_by_start(Path::new(&row.run))) {
        table.column("started", rows.iter().map(|row| or_nothing(started(row))));
    }
    table.column("duration", rows.iter().map(|row| or_nothing(row.duration_ns.map(Cell::Nanos))));
    table.column("calls", rows.iter().map(|row| or_nothing(row.calls.map(Cell::Count))));
    table.column("size", rows.iter().map(|row| Cell::Bytes(row.bytes)));
    if rows.iter().any(|row| row.tests > 0) {
        table.column("tests", rows.iter().map(|row| Cell::Count(row.tests)));
        table.column("failed", rows.iter().map(|row| Cell::Count(row.failed)));
    }
    if rows.iter().any(|row| row.state != FINISHED) {
        table.column("state", rows.iter().map(|row| Cell::text(row.state)));
    }
    table.column("jvm", rows.iter().map(jvm));
    table.column("run", rows.iter().map(|row| Cell::text(name(row))));
    Ok(table.print(out)?)
}
