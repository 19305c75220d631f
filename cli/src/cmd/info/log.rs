//! `flow info app.hpl`: what a log of samples has.

use std::cmp::Reverse;
use std::io::Write;

use flow_query::analysis::Run;
use flow_query::profile::{FrameGrouping, GapRule, Profile, ProfileRow, ThreadGrouping};
use flow_query::rows::Cell;

use crate::args::InfoArgs;
use crate::failure::{Failure, Status};
use crate::input::flags::{FilterArgs, PartArgs, TestArgs};
use crate::input::profile::{Input, Origin, Takes};
use crate::output::{Out, Table, duration, flow_command, grouped, plural, shell_quoted};

/// Prints what a log has, and which verb shows more.
pub(super) fn run(args: &InfoArgs, out: &mut Out) -> Result<Status, Failure> {
    let path = &args.source.dir;
    let part = PartArgs {
        threads: args.threads.clone(),
        tests: TestArgs::default(),
        filter: FilterArgs::default(),
    };
    let mut profile = Profile::new(FrameGrouping::Method, ThreadGrouping::Id);
    let gaps = GapRule::Thread;
    let input = Input { path, part: &part, gaps, takes: Takes::Samples, by: None };
    let added = input.add_to(&mut profile, Run::Before, None, out)?;
    let [whole, _] = profile.whole();
    let failed = match added.origin {
        Origin::Samples { failed, .. } if failed > 0 => {
            format!(", {} without a stack", grouped(failed))
        }
        _ => String::new(),
    };
    out.heading(&format!("log {}", path.display()))?;
    let samples = plural(whole.total_count, "sample");
    let (threads, lasted) = (plural(added.threads, "thread"), whole.total_ns.unsigned_abs());
    writeln!(out, "samples   {samples} in {threads}{failed}")?;
    writeln!(
        out,
        "time      {}, added up: a sample lasts until the next of its thread",
        duration(lasted)
    )?;
    writeln!(out, "methods   {}", grouped(profile.methods().iter().count() as u64))?;
    let shown = shell_quoted(&path.display().to_string());
    let profile_command = flow_command(&format!("report {shown}"));
    writeln!(out, "more      {profile_command}; other verbs guess calls from samples")?;
    let rows = profile.rows(|row| Reverse(row.numbers[0].total_count));
    let threads = || rows.iter().filter(|row| row.frame.is_none());
    let mut table = Table::default();
    let id = |id: i64| Cell::number(id.to_string());
    table.column("thread", threads().map(|row| row.thread.id.map_or(Cell::Nothing, id)));
    table.column("samples", threads().map(|row| Cell::Count(row.numbers[0].total_count)));
    let time = |row: &ProfileRow<'_>| Cell::Nanos(row.numbers[0].total_ns.unsigned_abs());
    table.column("time", threads().map(time));
    let name = |row: &'_ ProfileRow<'_>| Cell::text(row.thread.name.clone().unwrap_or_default());
    table.column("name", threads().map(name));
    writeln!(out)?;
    table.print(out)?;
    Ok(added.status)
}
