//! Compares the marks of raw chunks with the model: the time and the number of each event, and whether it is an exit by
//! exception.

use flow_codec::Offset;
use flow_codec::write::{Base, Canonicalizer, EncodedMarks};
use flow_model::{Event, Mark, canonicalize_marked, decode_marks, encode, sequence_numbers};

/// Canonicalizes chunks whose times are relative to `zero_ns`, and compares.
pub(crate) fn assert_marked<'a>(chunks: impl Iterator<Item = &'a [u8]> + Clone, zero_ns: u64) {
    let (mut fold, mut folded) = (Canonicalizer::default(), Vec::new());
    let (mut marks, mut file) = (EncodedMarks::of_file(), Vec::new());
    let base = Base { start: Offset::default(), zero_ns };
    for chunk in chunks.clone() {
        fold.push_marked(chunk, &[], base, &mut folded, &mut marks);
        file.extend_from_slice(marks.bytes());
        marks.clear();
    }
    fold.finish(&mut folded);
    let expected = canonicalize_marked(chunks);
    let events: Vec<Event> = expected.iter().map(|event| event.event).collect();
    assert_eq!(folded, encode(&events));

    let (mut instants, mut unwound) = (Vec::new(), Vec::new());
    let found = decode_marks(&file, &events, &folded);
    let numbers: Vec<_> = expected.iter().map(|event| event.number).collect();
    assert_eq!(sequence_numbers(expected.len(), &found), numbers);
    for (place, mark) in found {
        match mark {
            Mark::Instant(time) => instants.push((place, time)),
            Mark::Unwound { exits, class } if class.is_empty() => {
                unwound.extend(place..place + exits)
            }
            Mark::Order(_) => {}
            other => panic!("no chunk leads to {other:?}"),
        }
    }
    let is_unwound = |place: &usize| expected[*place].is_unwound;
    assert_eq!(unwound, (0..expected.len()).filter(is_unwound).collect::<Vec<_>>());

    let mut expected_instants = Vec::new();
    let mut last_ns = 0;
    for (place, event) in expected.iter().enumerate() {
        if let Some(time) = event.time {
            let since_zero = (i128::from(time) - i128::from(zero_ns)).rem_euclid(1 << 56);
            let is_before_zero = since_zero >= 1 << 55;
            let ns = if is_before_zero { 0 } else { u64::try_from(since_zero).expect("55 bits") };
            last_ns = ns.max(last_ns);
            expected_instants.push((place, last_ns));
        }
    }
    assert_eq!(instants, expected_instants);
}
