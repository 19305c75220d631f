//! A directory in memory for one trace at a time.

use std::fs;
use std::path::{Path, PathBuf};

use flow_codec::format::names;
use flow_codec::read::Trace;
use tempfile::TempDir;

thread_local! {
    static DIR: TempDir = {
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
        dir.expect("a folder for temporary files")
    };
}

/// Files that a check may create.
const FILES: [&str; 9] = [
    names::MANIFEST,
    names::IDS,
    names::METHODS,
    names::THREADS,
    names::JOURNAL,
    "thread-1.flow",
    "thread-1.idx",
    "thread-1.marks",
    "thread-2.jsonl",
];

/// A directory with exactly these files, until the next call.
pub(super) fn filled(files: &[(&str, &[u8])]) -> PathBuf {
    DIR.with(|dir| {
        for name in FILES {
            let path = dir.path().join(name);
            match files.iter().find(|(other, _)| *other == name) {
                Some((_, bytes)) => fs::write(path, bytes).expect("room for it"),
                None => drop(fs::remove_file(path)),
            }
        }
        dir.path().to_path_buf()
    })
}

/// A directory without files, until the next call.
pub(super) fn empty() -> PathBuf {
    DIR.with(|dir| {
        let inner = dir.path().join("inner");
        let _ = fs::remove_dir_all(&inner);
        fs::create_dir(&inner).expect("room for it");
        inner
    })
}

/// The trace with these files.
pub(super) fn opened(files: &[(&str, &[u8])]) -> Trace {
    Trace::open(filled(files)).expect("a trace, damaged or not")
}
