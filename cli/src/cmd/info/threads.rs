//! Prints the table of threads.

use flow_query::ask::ThreadInfo;
use flow_query::rows::Cell;

use crate::failure::Failure;
use crate::output::{Out, Table, grouped};

/// Prints the table of threads.
pub(super) fn print_threads(threads: &[ThreadInfo<'_>], out: &mut Out) -> Result<(), Failure> {
    // Known only for platform threads that ended.
    let has_cpu = threads.iter().any(|thread| thread.row.cpu_ns.is_some());
    let id = |thread: &ThreadInfo<'_>| match thread.count {
        1 => Cell::Id(thread.row.thread.get()),
        count => Cell::number(format!("×{}", grouped(count))),
    };
    let name = |thread: &ThreadInfo<'_>| match thread.count {
        2.. if thread.row.name.is_empty() => "(no name)".to_owned(),
        _ => thread.row.name.to_owned(),
    };
    let mut table = Table::default();
    table.column("thread", threads.iter().map(id));
    table.column("kind", threads.iter().map(|thread| Cell::text(thread.row.kind)));
    table.column("calls", threads.iter().map(|thread| Cell::Count(thread.row.calls)));
    table.column("max frames", threads.iter().map(|thread| Cell::Count(thread.row.max_frames)));
    table.column("bytes", threads.iter().map(|thread| Cell::Count(thread.row.bytes)));
    if has_cpu {
        let cpu = |thread: &ThreadInfo<'_>| thread.row.cpu_ns.map_or(Cell::Nothing, Cell::Nanos);
        table.column("cpu", threads.iter().map(cpu));
    }
    table.column("state", threads.iter().map(|thread| Cell::text(thread.row.state)));
    table.column("name", threads.iter().map(|thread| Cell::text(name(thread))));
    Ok(table.print(out)?)
}
