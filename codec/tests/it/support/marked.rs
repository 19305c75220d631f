//! Compares the marks of raw chunks with the model: the time and the number of each event, whether it is an exit by
//! exception, and by which.

use flow_codec::Offset;
use flow_codec::write::{Base, Canonicalizer, EncodedMarks};
use flow_model::{
    CanonicalEvent, Detail, Event, Mark, canonicalize_marked, decode_marks, encode,
    sequence_numbers,
};

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
    let (expected, expected_details) = canonicalize_marked(chunks);
    let events: Vec<Event> = expected.iter().map(|event| event.event).collect();
    assert_eq!(folded, encode(&events));

    let (mut instants, mut unwound, mut thrown) = (Vec::new(), Vec::new(), None);
    let mut details = Vec::new();
    let found = decode_marks(&file, &events, &folded);
    let numbers: Vec<_> = expected.iter().map(|event| event.number).collect();
    assert_eq!(sequence_numbers(expected.len(), &found), numbers);
    for (place, mark) in found {
        match mark {
            Mark::Instant(time) => instants.push((place, time)),
            Mark::Thrown(class) => thrown = Some((place, class)),
            Mark::Unwound { exits, class } if class.is_empty() => {
                let class = thrown.take().map(|(of, class)| {
                    assert_eq!(of, place, "the class of these exits");
                    class
                });
                unwound.extend((place..place + exits).map(|place| (place, class)));
            }
            Mark::Line(line) => details.push((place, Detail::Line(line))),
            Mark::Byte(byte) => details.push((place, Detail::Byte(byte))),
            Mark::Step(kind, value) => details.push((place, Detail::Step(kind, value))),
            Mark::Order(_) => {}
            other => panic!("no chunk leads to {other:?}"),
        }
    }
    assert_eq!(details, expected_details);
    let of_event =
        |(place, event): (usize, &CanonicalEvent)| event.is_unwound.then_some((place, event.class));
    let expected_unwound: Vec<_> = expected.iter().enumerate().filter_map(of_event).collect();
    assert_eq!(unwound, expected_unwound);

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
