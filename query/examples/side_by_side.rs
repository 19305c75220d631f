//! Prints the outermost calls of two traces, and how many calls each has made: `cargo run --example side_by_side -- A B`.
//!
//! Both are open at once. Of traces of any size only these calls are read, ten at a time, and forgotten again.

use std::error::Error;
use std::io::{Write, stdout};
use std::path::Path;

use flow_codec::read::Trace;
use flow_query::tree::KeptTree;

fn main() -> Result<(), Box<dyn Error>> {
    let mut traces = std::env::args_os().skip(1);
    let (Some(a), Some(b)) = (traces.next(), traces.next()) else {
        return Err("usage: side_by_side A B".into());
    };
    run(a.as_ref(), b.as_ref(), &mut stdout().lock())
}

pub(crate) fn run(a: &Path, b: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let traces = [Trace::open(a)?, Trace::open(b)?];
    for (one, other) in traces[0].files.iter().zip(&traces[1].files) {
        let mut trees = [KeptTree::open(one)?, KeptTree::open(other)?];
        writeln!(out, "thread {}", one.id)?;
        for first in (0..).step_by(10) {
            let mut rows = [Vec::new(), Vec::new()];
            for ((tree, trace), rows) in trees.iter_mut().zip(&traces).zip(&mut rows) {
                for node in tree.children(None, first..first + 10)? {
                    let calls = tree.lazy().subtree(&node)?.calls;
                    rows.push(format!("{calls:>9}  {}", trace.methods.display(node.method)));
                }
                tree.forget(None);
            }
            let count = rows[0].len().max(rows[1].len());
            for row in 0..count {
                let [left, right] =
                    rows.each_ref().map(|rows| rows.get(row).map_or("", String::as_str));
                writeln!(out, "{left:<60}  {right}")?;
            }
            if count < 10 {
                break;
            }
        }
    }
    Ok(())
}
