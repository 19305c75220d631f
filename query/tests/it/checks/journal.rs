//! Arbitrary bytes as a journal of two thread files: what it adds to them is whole and canonical, and errors
//! have their offset.

use std::io::Read;
use std::path::Path;

use flow_codec::Offset;
use flow_codec::format::flow::Record;
use flow_codec::format::marks::Mark;
use flow_codec::format::names;
use flow_codec::read::{Content, Marks, ReadRecords, ThreadFile};

use super::scratch;

const FLOW: (&str, &[u8]) = ("thread-1.flow", &[0x80, 0x81, 0x82]);
const JSONL: (&str, &[u8]) =
    ("thread-2.jsonl", b"{\"e\":\"enter\",\"method\":7}\n{\"e\":\"exit\"}\n");

pub(super) fn check(bytes: &[u8]) {
    let trace = scratch::opened(&[FLOW, JSONL, (names::JOURNAL, bytes)]);
    for error in trace.damage() {
        let message = error.to_string();
        assert!(message.contains("offset") || message.contains("format version"), "{message}");
        assert!(message.contains(names::JOURNAL) || message.contains("thread-"), "{message}");
    }
    let reading = trace.journal().expect("there is one");
    assert_eq!(reading.is_whole, trace.damage().is_empty());
    assert!(!reading.is_restless, "nobody writes");
    trace.files().iter().for_each(check_file);
}

/// Its marks end, and the marks that complete the file give the same.
fn check_marks(file: &ThreadFile) {
    let Some(mut marks) = file.marks().expect("it is there") else { return };
    let mut seen = Vec::new();
    let is_sound = loop {
        match marks.next_mark() {
            Ok(Some(mark)) => seen.push(mark),
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    if let Ok(Some((offset, bytes))) = file.marks_splice() {
        // There is no marks file.
        assert_eq!((offset, is_sound), (0, true));
        let mut again = Marks::new(&bytes[..], Path::new("marks"));
        let mut reached = Offset::default();
        for (position, mark) in &seen {
            reached = reached.max(position.offset);
            if matches!(mark, Mark::Unknown(_)) {
                continue;
            }
            let next = loop {
                match again.next_mark().expect("written by us").expect("as many") {
                    (_, Mark::Unknown(_)) => {}
                    (next, _) => break next,
                }
            };
            // Marks of the journal may go back. Those of a file cannot, except to before the start of
            // instants.
            assert_eq!(next.exits, position.exits);
            assert!((position.offset..=reached).contains(&next.offset), "{next:?}, {position:?}");
        }
    }
}

fn check_file(file: &ThreadFile) {
    check_marks(file);
    let content = Content::open(file).expect("it is there");
    let mut bytes = Vec::new();
    content.reader().read_to_end(&mut bytes).expect("plain files");
    // Marks that do not fit after the file are skipped.
    let is_whole = content.gap(file).is_none();
    assert_eq!(bytes.len() as u64, if is_whole { file.bytes() } else { file.bytes_in_file() });

    // Enters and exits in the journal.
    let (mut found, mut has_failed) = ((0_u64, 0_u64), false);
    let mut events = file.events().expect("it is there");
    let mut in_file = 0;
    loop {
        match events.next_record() {
            Ok(Some((offset, _))) if offset.get() < file.bytes_in_file() => in_file += 1,
            Ok(Some((_, Record::Enter(_)))) => found.0 += 1,
            Ok(Some((_, Record::Exit(count)))) => found.1 = found.1.saturating_add(count.get()),
            Ok(None) => break,
            Err(_) => has_failed = true,
        }
    }
    assert!(in_file <= 3);
    if let Some(open) = file.open_chunk()
        && !has_failed
    {
        assert_eq!(found, (open.events().enters, open.events().exits));
        assert_eq!(events.position().get(), file.bytes());
    }
    if let Ok(Some(splice)) = file.splice() {
        let on_disk = std::fs::metadata(file.path()).map_or(0, |metadata| metadata.len());
        assert_eq!(splice.kept + splice.cut, on_disk);
        assert_eq!(splice.kept + splice.missing, file.stored_bytes());
    }
}
