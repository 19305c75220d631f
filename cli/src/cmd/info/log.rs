//! `flow info app.hpl`: what a log of samples has.

use std::cmp::Reverse;
use std::io::Write;

use flow_query::profile::{FrameGrouping, Frames, GapRule, LeanPlace};
use flow_query::rows::Cell;

use crate::args::InfoArgs;
use crate::failure::{Failure, Status};
use crate::input::flags::{FilterArgs, PartArgs, TestArgs};
use crate::input::samples::Samples;
use crate::input::source::Source;
use crate::output::{Out, Table, duration, flow_command, grouped, plural, shell_quoted};

/// Prints what a log has, and which verb shows more.
pub(super) fn run(args: &InfoArgs, out: &mut Out) -> Result<Status, Failure> {
    let path = &args.source.dir;
    let part = PartArgs {
        threads: args.threads.clone(),
        tests: TestArgs::default(),
        filter: FilterArgs::default(),
    };
    let source = Source::of_log(path)?;
    let trace = source.only("name")?;
    let Some(samples) = Samples::read(&source, trace, &part, GapRule::Thread, out)? else {
        return Ok(Status::Done);
    };
    let of_thread = samples.profile.nodes().filter_map(|node| match node.place {
        LeanPlace::Thread(thread) if samples.threads.contains(&thread) => {
            Some((thread, node.numbers.self_count, node.numbers.self_ns.unsigned_abs()))
        }
        _ => None,
    });
    let mut threads: Vec<_> = of_thread.collect();
    threads.sort_by_key(|(_, count, _)| Reverse(*count));
    let failed = match samples.failed(&samples.threads) {
        0 => String::new(),
        failed => format!(", {} without a stack", grouped(failed)),
    };
    out.heading(&format!("log {}", path.display()))?;
    let count = plural(threads.iter().map(|(_, count, _)| count).sum(), "sample");
    let lasted = threads.iter().map(|(.., ns)| ns).sum();
    writeln!(out, "samples   {count} in {}{failed}", plural(threads.len() as u64, "thread"))?;
    writeln!(
        out,
        "time      {}, added up: a sample lasts until the next of its thread",
        duration(lasted)
    )?;
    let frames = Frames::new(&samples.profile, FrameGrouping::Method);
    writeln!(out, "methods   {}", grouped(frames.methods().iter().count() as u64))?;
    let shown = shell_quoted(&path.display().to_string());
    let profile_command = flow_command(&format!("report {shown}"));
    writeln!(out, "more      {profile_command}; other verbs guess calls from samples")?;
    let mut table = Table::default();
    table.column("thread", threads.iter().map(|(id, ..)| Cell::number(id.to_string())));
    table.column("samples", threads.iter().map(|(_, count, _)| Cell::Count(*count)));
    table.column("time", threads.iter().map(|(.., ns)| Cell::Nanos(*ns)));
    let name = |id: &i64| match samples.profile.threads().get(id) {
        Some(name) if !name.is_empty() => name.clone(),
        _ => format!("thread {id}"),
    };
    table.column("name", threads.iter().map(|(id, ..)| Cell::text(name(id))));
    writeln!(out)?;
    table.print(out)?;
    Ok(samples.status)
}
