//! Any bytes as the files of a trace directory. The byte FF, which no text holds, ends a text file;
//! behind the fourth, the next byte is the length of a thread file, and what follows that is the
//! journal.

#![no_main]

use std::fs;
use std::sync::LazyLock;

use flow_codec::analysis::Report;
use flow_codec::format::{ids, names};
use flow_codec::read::{ReadRecords, Trace, TraceSet};
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

static DIR: LazyLock<TempDir> = LazyLock::new(|| {
    let memory = std::path::Path::new("/dev/shm");
    let dir = if memory.is_dir() {
        TempDir::new_in(memory)
    } else {
        TempDir::new()
    };
    dir.expect("a folder for temporary files")
});

fuzz_target!(|bytes: &[u8]| {
    let files = [
        names::MANIFEST,
        names::IDS,
        names::METHODS,
        names::THREADS,
        "thread-1.flow",
        names::JOURNAL,
    ];
    let mut parts: Vec<_> = bytes.splitn(files.len() - 1, |&byte| byte == 0xFF).collect();
    if parts.len() == files.len() - 1
        && let Some((len, rest)) = parts.pop().and_then(<[u8]>::split_first)
    {
        let (events, journal) = rest.split_at(rest.len().min((*len).into()));
        parts.extend([events, journal]);
    }
    for (name, part) in files.iter().zip(parts.into_iter().chain(std::iter::repeat(&[][..]))) {
        let path = DIR.path().join(name);
        // No bytes, no file: otherwise a trace without a manifest would never be tried.
        let done = if part.is_empty() {
            fs::remove_file(path)
        } else {
            fs::write(path, part)
        };
        let _ = done;
    }

    let opened = Trace::open(DIR.path());
    let set = TraceSet::open(DIR.path());
    assert_eq!(opened.is_ok(), set.is_ok());
    match opened {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(trace) => {
            for (id, method) in trace.methods.iter() {
                assert_eq!(trace.methods.display(id), method.to_string());
                let info = &method.info;
                let key = ids::key(&info.class, &info.name, &info.descriptor);
                let mut line = String::new();
                ids::encode_line(&key, id, &mut line);
                assert_eq!(line.pop(), Some('\n'));
                assert_eq!(ids::decode_line(&line), Ok(Some((key, id))));
            }
            for file in &trace.files {
                let mut events = file.events().expect("the file is there");
                while events.visit_all(&mut Report::default()).is_err() {}
                let in_file = fs::metadata(&file.path).map_or(0, |metadata| metadata.len());
                if let Ok(Some(splice)) = file.splice() {
                    assert_eq!(splice.kept + splice.cut, in_file);
                    assert_eq!(splice.kept + splice.missing, file.bytes);
                }
            }
        }
    }
});
