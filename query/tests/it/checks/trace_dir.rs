//! Arbitrary bytes as the files of a trace directory: it opens or is refused by name, and each thread is the
//! same however it is read.
//!
//! The byte FF, which no text contains, ends a text file. After the fourth, the next byte is the length of a
//! thread file, and the rest is the journal.

use std::collections::BTreeSet;

use flow_codec::Error;
use flow_codec::format::{ids, names};
use flow_codec::read::{ReadRecords, ThreadFile, Trace};
use flow_model::{Record, Stream};
use flow_query::analysis::Report;

use super::scratch;
use crate::support::readers::{read_all, visit_all};

const TEXTS: [&str; 4] = [names::MANIFEST, names::IDS, names::METHODS, names::THREADS];

pub(super) fn check(bytes: &[u8]) {
    let mut parts: Vec<_> = bytes.splitn(TEXTS.len() + 1, |&byte| byte == 0xFF).collect();
    let rest = if parts.len() > TEXTS.len() { parts.pop() } else { None };
    let mut files: Vec<(&str, &[u8])> = TEXTS.into_iter().zip(parts).collect();
    if let Some((&len, rest)) = rest.and_then(<[u8]>::split_first) {
        let (events, journal) = rest.split_at(rest.len().min(len.into()));
        files.extend([("thread-1.flow", events), (names::JOURNAL, journal)]);
    }
    // An empty file is left out: otherwise a trace without a manifest would never be tried.
    files.retain(|(_, bytes)| !bytes.is_empty());

    let dir = scratch::filled(&files);
    let opened = Trace::open(&dir);
    assert_eq!(opened.is_ok(), Trace::open_all(&dir).is_ok());
    match opened {
        Err(Error::NoTrace { .. }) => assert!(files.is_empty()),
        Err(error) => assert!(error.to_string().contains(names::MANIFEST), "{error}"),
        Ok(trace) => check_trace(&trace),
    }
}

fn check_trace(trace: &Trace) {
    let there: BTreeSet<_> = trace.methods().iter().map(|(id, _)| id).collect();
    assert_eq!(there.len(), trace.methods().len());
    for (id, method) in trace.methods().iter() {
        assert_eq!(trace.methods().display(id), method.to_string());
        let info = method.info();
        let key = ids::key(&info.class, &info.name, &info.descriptor);
        let mut line = String::new();
        ids::encode_line(&key, id, &mut line);
        assert_eq!(line.pop(), Some('\n'));
        assert_eq!(ids::decode_line(&line), Ok(Some((key.into(), id))));
    }
    for file in trace.files() {
        check_events(file);
    }
}

fn check_events(file: &ThreadFile) {
    let events = || file.events().expect("the file is there");
    let Stream { records, damage, end } = read_all(events());
    let seen: Vec<_> = records.into_iter().map(|(_, seen)| seen).collect();
    let enters = seen.iter().filter(|seen| matches!(seen, Record::Enter(_))).count() as u64;
    assert_eq!(visit_all(events()), (seen, damage, end));

    let (mut events, mut report) = (events(), Report::default());
    while events.visit_all(&mut report).is_err() {}
    assert_eq!(report.calls(), enters);
}
