//! What must hold for arbitrary bytes, one file for each decoder. The fuzz targets run these checks on random
//! input, and `corpus.rs` on the input that was worth keeping.
//!
//! A new decoder needs a file here, a line in [`CHECKS`], a target of that name in `query/fuzz`, and a first
//! file in its corpus. `corpus.rs` fails until all of them exist.

mod analyses;
mod flow_reader;
mod fold;
mod groups;
mod hpl;
mod ids;
mod index;
mod journal;
mod jsonl_reader;
mod lazy_tree;
mod lines;
mod manifest;
mod marks;
mod methods;
mod parts;
mod pieces;
mod received;
mod samples;
mod scan;
mod scratch;
mod snapshot;
mod stream;
mod threads;
mod times;
mod trace_dir;
mod trace_file;

/// A check of arbitrary bytes. It panics if something does not hold.
pub(crate) type Check = fn(&[u8]);

/// All checks, by the names of their fuzz targets.
pub(crate) const CHECKS: [(&str, Check); 23] = [
    ("analyses", analyses::check),
    ("flow_reader", flow_reader::check),
    ("fold", fold::check),
    ("groups", groups::check),
    ("hpl", hpl::check),
    ("ids", ids::check),
    ("index", index::check),
    ("journal", journal::check),
    ("jsonl_reader", jsonl_reader::check),
    ("lazy_tree", lazy_tree::check),
    ("manifest", manifest::check),
    ("marks", marks::check),
    ("methods", methods::check),
    ("parts", parts::check),
    ("received", received::check),
    ("samples", samples::check),
    ("scan", scan::check),
    ("snapshot", snapshot::check),
    ("stream", stream::check),
    ("threads", threads::check),
    ("times", times::check),
    ("trace_dir", trace_dir::check),
    ("trace_file", trace_file::check),
];
