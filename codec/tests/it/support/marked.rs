//! The marks of raw chunks: of each event its time, and whether it was an exit by exception, as the naive fold
//! tells them.

use flow_codec::Offset;
use flow_codec::format::marks::{HEADER, Mark, Position, decode_all};
use flow_codec::write::{Base, Canonicalizer, EncodedMarks};

use super::naive_fold::{Happened, canonical_bytes, naive_marked};

/// Folds chunks with a time that is the zero of others, and compares.
pub(crate) fn assert_marked<'a>(chunks: impl Iterator<Item = &'a [u8]> + Clone, zero_ns: u64) {
    let (mut fold, mut folded) = (Canonicalizer::default(), Vec::new());
    let (mut marks, mut file) = (EncodedMarks::of_file(), Vec::new());
    for chunk in chunks.clone() {
        fold.push_marked(
            chunk,
            &[],
            Base { start: Offset::default(), zero_ns },
            &mut folded,
            &mut marks,
        );
        file.extend_from_slice(marks.bytes());
        marks.clear();
    }
    fold.finish(&mut folded);
    let happened = naive_marked(chunks);
    let events: Vec<_> = happened.iter().map(|(event, _)| *event).collect();
    assert_eq!(folded, canonical_bytes(&events));

    let positions = positions(&events);
    let mut expected = Vec::new();
    let mut last_ns = 0;
    for (number, (_, moment)) in happened.iter().enumerate() {
        if let Some(time) = moment.time {
            let since_ns = (i128::from(time) - i128::from(zero_ns)).rem_euclid(1 << 56);
            let is_before = since_ns >= 1 << 55;
            let since_ns = if is_before { 0 } else { u64::try_from(since_ns).expect("55 bits") };
            last_ns = since_ns.max(last_ns);
            expected.push((number, Mark::Instant { at_ns: last_ns }));
        }
    }
    let marks = match file.strip_prefix(&HEADER) {
        Some(marks) => decode_all(marks).expect("whole marks"),
        None => Vec::new(),
    };
    assert!(marks.is_sorted_by_key(|(position, _)| *position), "{marks:?}");
    let number = |position: &Position| positions.binary_search(position).expect("an event");
    let mut unwound = Vec::new();
    let mut instants = Vec::new();
    for (position, mark) in marks {
        match mark {
            Mark::Unwound { exits, thrown: None } => {
                let first = number(&position);
                unwound.extend(first..first + usize::try_from(exits.get()).expect("few"));
            }
            other => instants.push((number(&position), other)),
        }
    }
    assert_eq!(instants, expected);
    let by_exception = (0..).zip(&happened).filter(|(_, (_, moment))| moment.is_unwound);
    assert!(by_exception.map(|(number, _)| number).eq(unwound));
}

/// Where events stand.
fn positions(events: &[Happened]) -> Vec<Position> {
    let mut at = 0;
    let mut positions = Vec::new();
    for run in events.chunk_by(|one, next| (one, next) == (&Happened::Exit, &Happened::Exit)) {
        let offset = Offset::new(at);
        positions.extend((0..).zip(run).map(|(exits, _)| Position { offset, exits }));
        at += canonical_bytes(run).len() as u64;
    }
    positions
}
