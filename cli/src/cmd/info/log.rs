//! `flow info app.hpl`: what a log of samples has.

use std::cmp::Reverse;
use std::io::Write;

use flow_query::analysis::Run;
use flow_query::profile::{FrameGrouping, GapRule, Profile, ThreadGrouping};

use crate::args::InfoArgs;
use crate::failure::{Failure, Status};
use crate::input::flags::{FilterArgs, PartArgs, TestArgs};
use crate::input::profile::{Input, Origin};
use crate::output::{
    Align, Out, Table, duration, escaped, flow_command, grouped, plural, shell_quoted,
};

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
    let input = Input { path, part: &part, gaps, only_calls: false, only_counts: true };
    let added = input.add_to(&mut profile, Run::Before, out)?;
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
    let profile_command = flow_command(&format!("profile {shown}"));
    writeln!(out, "more      {profile_command}; other verbs guess calls from samples")?;
    let rows = profile.rows(|row| Reverse(row.numbers[0].total_count));
    let mut table = Table::new(&[
        ("thread", Align::Right),
        ("samples", Align::Right),
        ("time", Align::Right),
        ("name", Align::Left),
    ]);
    for row in rows.iter().filter(|row| row.frame.is_none()) {
        let numbers = row.numbers[0];
        table.row([
            row.thread.id.map_or(String::new(), |id| id.to_string()),
            grouped(numbers.total_count),
            duration(numbers.total_ns.unsigned_abs()),
            escaped(row.thread.name.as_deref().unwrap_or_default()).into_owned(),
        ]);
    }
    writeln!(out)?;
    table.print(out)?;
    Ok(added.status)
}
