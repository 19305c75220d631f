//! `flow check`: checks whether a trace is whole and how its recording ended. On request it repairs the trace
//! of a killed JVM.
//!
//! | verdict | reason | exit status |
//! |---|---|---:|
//! | sound | nothing, or notes: open frames, exits of unseen frames, events in the journal; or all was repaired | 0 |
//! | incomplete | something is missing: a record cut off, events lost, a thread without a start | 3 |
//! | damaged | something is wrong: bytes or lines that violate the format, ids without a name, totals that differ | 1 |
//!
//! A JVM that was killed, or still records, is not a defect: a trace is whole at any instant.

mod dump;
mod index;
mod print;

use std::io::Write;
use std::path::{Path, PathBuf};

use flow_codec::read::Trace;

use crate::args::{CheckArgs, Format};
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::source::{Source, directories, run_of};
use crate::output::{Out, Progress, Records, message};
use flow_query::ask::Check;
use flow_query::rows::{Finding, FindingRow};

/// How often a thread is read, unless it has a defect that is found late.
const PASSES: u64 = 2;

pub(crate) fn run(args: &CheckArgs, out: &mut Out) -> Result<Status, Failure> {
    if let Some(args) = args.dump() {
        return dump::run(&args, out);
    }
    if let Some(args) = args.index() {
        return index::run(&args, out);
    }
    let place = run_of(&args.source.dir);
    let mut repairs = if args.repair { repair_all(&place)? } else { Vec::new() };
    let mut status = Status::Done;
    let (source, unreadable) = Source::open_silently(&place)?;
    let mut progress = Progress::new(source.bytes().saturating_mul(PASSES), out);
    let mut checks = Vec::new();
    for trace in &source.traces {
        if repairs.iter().any(|(dir, done)| *dir == trace.dir() && done.is_none()) {
            let dir = trace.dir().display();
            message(&format!("{dir}: not repaired: a JVM still records here"));
            status = Status::Damaged;
            continue;
        }
        checks.push((trace.dir(), Check::of(trace, &mut progress)?));
    }
    for (dir, error) in &unreadable {
        checks.push((dir, Check::unreadable(error)));
    }
    drop(progress);
    let format = args.source.format;
    let max = line_limit(args.max, format, print::DEFAULT_FINDINGS);
    let mut records = match format {
        Format::Text => None,
        _ => Some(Records::new::<FindingRow<'_>>(format, true, out)?),
    };
    for (number, (dir, mut check)) in checks.into_iter().enumerate() {
        for (_, done) in repairs.iter_mut().filter(|(of, _)| of == dir) {
            check.extend(done.take().unwrap_or_default());
        }
        status = status.and(check.soundness());
        if let Some(records) = &mut records {
            records.begin(&source.name(dir));
            match format {
                Format::Csv => {
                    check.finding_rows(max).try_for_each(|row| records.row(&row, out))?;
                }
                _ => records.row(&check.row(max), out)?,
            }
        } else {
            if number > 0 {
                out.write_all(b"\n")?;
            }
            print::print(&check, dir, max, out)?;
        }
        if let Some(text) = print::left_out(&check, max) {
            out.remark(format, source.place(dir).as_deref(), &text)?;
        }
    }
    Ok(status)
}

/// What was done to traces; `None` if another process writes there.
type Repairs = Vec<(PathBuf, Option<Vec<Finding>>)>;

/// Repairs all traces of a directory that need it.
#[cfg(target_os = "linux")]
fn repair_all(place: &Path) -> Result<Repairs, Failure> {
    let mut repairs = Vec::new();
    for dir in directories(place)? {
        // The check reports one that cannot be opened.
        if let Ok(trace) = Trace::open(&dir) {
            repairs.push((dir, crate::repair::repair(trace)?));
        }
    }
    Ok(repairs)
}

/// Refuses: the system can neither order writes nor lock what it still reads.
#[cfg(not(target_os = "linux"))]
fn repair_all(_: &Path) -> Result<Repairs, Failure> {
    Err(Failure::needs_linux("check --repair"))
}
