//! What must hold of any bytes, for each decoder: one file each. The fuzz targets run these checks on
//! what they make up, and `corpus.rs` on what they have found so far.
//!
//! Another decoder: a file here, a line in [`CHECKS`], a target of that name in `codec/fuzz`, and a first
//! file in its corpus. `corpus.rs` fails until all of it is there.

mod analyses;
mod flow_reader;
mod fold;
mod ids;
mod index;
mod journal;
mod jsonl_reader;
mod lazy_tree;
mod lines;
mod manifest;
mod marks;
mod methods;
mod scan;
mod scratch;
mod threads;
mod times;
mod trace_dir;

/// A check of any bytes. It panics where something does not hold.
pub(crate) type Check = fn(&[u8]);

/// All checks, by the names of their fuzz targets.
pub(crate) const CHECKS: [(&str, Check); 15] = [
    ("analyses", analyses::check),
    ("flow_reader", flow_reader::check),
    ("fold", fold::check),
    ("ids", ids::check),
    ("index", index::check),
    ("journal", journal::check),
    ("jsonl_reader", jsonl_reader::check),
    ("lazy_tree", lazy_tree::check),
    ("manifest", manifest::check),
    ("marks", marks::check),
    ("methods", methods::check),
    ("scan", scan::check),
    ("threads", threads::check),
    ("times", times::check),
    ("trace_dir", trace_dir::check),
];
