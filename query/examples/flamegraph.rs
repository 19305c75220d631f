//! Prints one line a stack, weighed by calls, as input for `flamegraph.pl` and similar tools: `cargo run
//! --example flamegraph -- flow-trace`.

use std::error::Error;
use std::io::{Write, stdout};
use std::path::Path;

use flow_codec::read::{ReadRecords, Trace};
use flow_query::analysis::Graph;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args_os().nth(1).ok_or("usage: flamegraph TRACE")?;
    run(dir.as_ref(), &mut stdout().lock())
}

pub(crate) fn run(dir: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let trace = Trace::open(dir)?;
    let mut graph = Graph::default();
    for thread in trace.files() {
        thread.events()?.visit_all(&mut graph)?;
        graph.end_thread();
    }
    let tree = graph.into_tree();
    for (path, row) in tree.rows() {
        let names = tree.stack(path).into_iter().map(|method| trace.methods().display(method));
        writeln!(out, "{} {}", names.collect::<Vec<_>>().join(";"), row.calls)?;
    }
    Ok(())
}
