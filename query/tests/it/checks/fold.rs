//! Arbitrary bytes as raw chunks: the result is that of the model, whole and canonical.
//!
//! The first byte is the number of bytes of a chunk.

use flow_codec::read::FlowReader;
use flow_codec::write::Canonicalizer;
use flow_model::{End, Event, RawEvent, Record, canonicalize, decode, encode, parse};

use crate::support::marked::assert_marked;
use crate::support::readers::read_all;

pub(super) fn check(bytes: &[u8]) {
    let Some((&size, bytes)) = bytes.split_first() else {
        return;
    };
    let chunks = || bytes.chunks(usize::from(size).max(1));

    let (mut fold, mut folded) = (Canonicalizer::default(), Vec::new());
    let (mut enters, mut exits) = (0, 0);
    for chunk in chunks() {
        let counts = fold.push(chunk, &mut folded);
        enters += counts.enters;
        exits += counts.exits;
    }
    exits += fold.finish(&mut folded).exits;
    let happened = canonicalize(chunks());
    assert_eq!(folded, encode(&happened));

    let stream = read_all(FlowReader::new(&folded[..]));
    assert_eq!(stream, decode(&folded));
    assert_eq!(stream.end, End::Complete);
    let is_exit = |event: &&Event| **event == Event::Exit;
    assert_eq!(exits, happened.iter().filter(is_exit).count() as u64);
    let is_enter = |(_, seen): &&(u64, Record)| matches!(seen, Record::Enter(_));
    assert_eq!(enters, stream.records.iter().filter(is_enter).count() as u64);

    assert_marked(chunks(), 1000);

    // Cut between events, chunks do not change the result.
    let events: Vec<Vec<u8>> = chunks().flat_map(parse).flatten().map(RawEvent::bytes).collect();
    let (mut fold, mut again) = (Canonicalizer::default(), Vec::new());
    for event in &events {
        fold.push(event, &mut again);
    }
    fold.finish(&mut again);
    assert_eq!(again, folded);
}
