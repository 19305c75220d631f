//! `flow info app.hpl`: what a log of samples has.

use std::io::Write;

use flow_query::ask::LogInfo;
use flow_query::profile::GapRule;
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
        within: None,
        request: None,
        context: None,
    };
    let source = Source::of_log(path)?;
    let trace = source.only("name")?;
    let Some(samples) = Samples::read(&source, trace, &part, GapRule::Thread, out)? else {
        return Ok(Status::Done);
    };
    let info = LogInfo::of(&samples.profile, &samples.threads);
    let threads = &info.threads;
    let failed = match info.failed {
        0 => String::new(),
        failed => format!(", {} without a stack", grouped(failed)),
    };
    out.heading(&format!("log {}", path.display()))?;
    let count = plural(info.samples, "sample");
    writeln!(out, "samples   {count} in {}{failed}", plural(threads.len() as u64, "thread"))?;
    writeln!(
        out,
        "time      {}, added up: a sample lasts until the next of its thread",
        duration(info.ns)
    )?;
    writeln!(out, "methods   {}", grouped(info.methods))?;
    let shown = shell_quoted(&path.display().to_string());
    let profile_command = flow_command(&format!("report {shown}"));
    writeln!(out, "more      {profile_command}; other verbs guess calls from samples")?;
    let mut table = Table::default();
    table.column("thread", threads.iter().map(|thread| Cell::number(thread.id.to_string())));
    table.column("samples", threads.iter().map(|thread| Cell::Count(thread.samples)));
    table.column("time", threads.iter().map(|thread| Cell::Nanos(thread.ns)));
    table.column("name", threads.iter().map(|thread| Cell::text(thread.name.clone())));
    writeln!(out)?;
    table.print(out)?;
    Ok(samples.status)
}
