//! Raw chunks become the events that the specification requires: its rules one by one, then compared with the
//! model, and with random programs.

use crate::support::marked::assert_marked;
use crate::support::program::Program;
use flow_codec::write::{Canonicalizer, EventCounts, count_events};
use flow_model::{Event, RawEvent, canonicalize, encode, parse};
use proptest::prelude::*;

const GOLDEN: &str = include_str!("../golden/raw.hex");

/// Canonicalizes chunks. Returns the bytes and the sum of the counts.
fn fold<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, EventCounts) {
    let (mut fold, mut out) = (Canonicalizer::default(), Vec::new());
    let mut sum = EventCounts::default();
    let mut add = |counts: EventCounts| {
        sum.enters += counts.enters;
        sum.exits += counts.exits;
    };
    for chunk in chunks {
        add(fold.push(chunk, &mut out));
    }
    add(fold.finish(&mut out));
    (out, sum)
}

fn counts(happened: &[Event]) -> EventCounts {
    let exits = happened.iter().filter(|&&event| event == Event::Exit).count() as u64;
    EventCounts { enters: happened.len() as u64 - exits, exits }
}

/// Chunks with these numbers of events, repeated; 0 is an empty chunk.
fn chunks(events: &[RawEvent], sizes: &[usize]) -> Vec<Vec<u8>> {
    let (mut chunks, mut rest) = (Vec::new(), events);
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let size = sizes.next().copied().unwrap_or(1).min(rest.len());
        let (chunk, later) = rest.split_at(size);
        chunks.push(chunk.iter().copied().flat_map(RawEvent::bytes).collect());
        rest = later;
    }
    chunks
}

fn slices(chunks: &[Vec<u8>]) -> impl Iterator<Item = &[u8]> + Clone {
    chunks.iter().map(Vec::as_slice)
}

/// The bytes and the comment of a line.
type Line = (Vec<u8>, &'static str);

/// The title and the lines of each paragraph.
fn paragraphs() -> Vec<(&'static str, Vec<Line>)> {
    let paragraphs = GOLDEN.split("\n\n").skip(1).map(|paragraph| {
        let (title, lines) = paragraph.split_once('\n').expect("a title and lines");
        let lines = lines.lines().map(|line| {
            let (bytes, comment) = line.split_once('#').expect("a comment");
            let bytes = bytes.split_whitespace();
            let bytes = bytes.map(|byte| u8::from_str_radix(byte, 16).expect("two hex digits"));
            (bytes.collect(), comment.trim())
        });
        (title, lines.collect())
    });
    paragraphs.collect()
}

#[test]
fn the_golden_chunks_are_what_their_comments_say() {
    for pair in paragraphs().chunks(2) {
        let [(title, raw), ("# Folded.", folded)] = pair else {
            panic!("a chunk and what it is folded to, not {pair:?}");
        };
        for (bytes, comment) in raw {
            let [Some(event)] = parse(bytes)[..] else { panic!("{title} {comment}") };
            assert_eq!(comment.split(':').next(), Some(&event.to_string()[..]), "{title}");
            assert_eq!(&event.bytes(), bytes, "{title}");
        }
        let raw: Vec<&[u8]> = raw.iter().map(|(bytes, _)| &bytes[..]).collect();
        let expected: Vec<u8> = folded.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        assert_eq!(fold([&raw.concat()[..]]).0, expected, "{title}");
        assert_eq!(fold(raw.iter().copied()).0, expected, "{title}, each event a chunk");
        assert_eq!(encode(&canonicalize(raw)), expected, "{title}, naively");
    }
}

const BEGIN_3: &[u8] = &[0x7B, 0x83];

/// Asserts the result, for one chunk and for a chunk for each part.
#[track_caller]
fn folds(parts: &[&[u8]], expected: &[u8]) {
    assert_eq!(fold([&parts.concat()[..]]).0, expected);
    assert_eq!(fold(parts.iter().copied()).0, expected, "in chunks");
}

#[test]
fn a_chain_of_constructors_is_unwound_at_once() {
    let chain: &[u8] = &[0x80, 0x81, 0x7B, 0x82, 0x82, 0x7B, 0x83, 0x83, 0x7C];
    for proof in [0x00, 0x7E, 0x7F] {
        let left = if proof == 0x7E { 0x02 } else { 0x03 };
        folds(&[chain, &[proof]], &[0x80, 0x81, 0x82, 0x83, left]);
    }
}

#[test]
fn this_calls_are_chains_of_one_class() {
    // The same constructor twice: overloads have different ids, but this may be a recursion.
    folds(
        &[&[0x83], BEGIN_3, &[0x83], BEGIN_3, &[0x83, 0x7F, 0x84]],
        &[0x83, 0x83, 0x83, 0x02, 0x84],
    );
}

#[test]
fn a_second_call_proves_that_a_constructor_was_unwound() {
    // An exception out of a constructor that is not recorded ends the callee, so its caller cannot continue
    // either.
    let raw: &[u8] = &[0x81, 0x7B, 0x83, 0x83, 0x00];
    folds(&[raw, &[0x84, 0x00]], &[0x81, 0x83, 0x01, 0x84, 0x00]);
    folds(&[raw, &[0x83, 0x00]], &[0x81, 0x83, 0x01, 0x83, 0x00]);
}

#[test]
fn another_call_than_the_expected_one_proves_nothing() {
    folds(
        &[&[0x81], BEGIN_3, &[0x84, 0x00, 0x83, 0x00, 0x85, 0x00, 0x7D, 0x00]],
        &[0x81, 0x84, 0x00, 0x83, 0x00, 0x85, 0x01],
    );
}

#[test]
fn an_unknown_constructor_may_call_anything() {
    folds(
        &[&[0x81, 0x7C, 0x84, 0x00, 0x85, 0x00, 0x7D, 0x86, 0x00, 0x00]],
        &[0x81, 0x84, 0x00, 0x85, 0x00, 0x86, 0x01],
    );
}

#[test]
fn a_catch_inside_the_constructor_called_proves_nothing() {
    let raw: &[u8] = &[0x81, 0x7B, 0x83, 0x83, 0x84, 0x7F, 0x7E, 0x00, 0x7D, 0x85, 0x00, 0x00];
    folds(&[raw], &[0x81, 0x83, 0x84, 0x01, 0x85, 0x01]);
}

#[test]
fn notes_last_over_chunks() {
    folds(
        &[&[0x80, 0x81], BEGIN_3, &[0x83], &[], &[0x84, 0x00], &[0x00], &[0x7D], &[0x00]],
        &[0x80, 0x81, 0x83, 0x84, 0x02],
    );
    folds(&[&[0x80, 0x81, 0x7C], &[], &[0x7E], &[0x82]], &[0x80, 0x81, 0x00, 0x82]);
}

#[test]
fn a_call_of_another_constructor_proves_pending_ones_unwound() {
    folds(&[&[0x81, 0x82, 0x7C, 0x7C, 0x84, 0x00, 0x7D, 0x00]], &[0x81, 0x82, 0x00, 0x84, 0x01]);
}

#[test]
fn a_constructor_is_unwound_with_the_one_it_calls() {
    // 83 ends 82; code that is not recorded catches that, and 81 continues after its own call.
    let raw: &[u8] = &[0x81, 0x7C, 0x82, 0x7B, 0x83, 0x83, 0x7F, 0x7D, 0x84, 0x00, 0x00];
    folds(&[raw], &[0x81, 0x82, 0x83, 0x01, 0x84, 0x01]);
}

#[test]
fn exits_of_all_kinds_are_one_run() {
    folds(&[&[0x80, 0x81, 0x82], &[0x00, 0x7F], &[0x7E, 0x00]], &[0x80, 0x81, 0x82, 0x02]);
    let deep = [0x81; 300];
    let mut expected = deep.to_vec();
    expected.extend([0x6B, 0x04]);
    folds(&[&deep, &[0x00; 150], &[0x7F; 100], &[0x00; 50]], &expected);
}

#[test]
fn a_run_includes_a_constructor_that_is_unwound_in_its_middle() {
    // Twenty frames above the note return; the next exits can only be of frames below it.
    let mut raw = vec![0x80, 0x81, 0x7C];
    raw.extend([0x82; 20]);
    raw.extend([0x00; 21]);
    let mut expected = vec![0x80, 0x81];
    expected.extend([0x82; 20]);
    expected.push(21);
    folds(&[&raw], &expected);
}

#[test]
fn bytes_that_are_no_event_are_skipped() {
    folds(&[&[0x81, 0x01, 0x74, 0x00]], &[0x81, 0x00]);
    let cut_off: [&[u8]; 3] = [&[0x81, 0xC0], &[0x82, 0xC0, 0x80, 0x80], &[0x00]];
    assert_eq!(fold(cut_off).0, [0x81, 0x82, 0x00]);
    folds(
        &[&[0x81, 0x00, 0xC1, 0x00, 0x00, 0x82, 0x82, 0x82, 0x82]],
        &[0x81, 0x01, 0x82, 0x82, 0x82, 0x82],
    );
    folds(&[&[0xFF; 40]], &[]);
}

#[test]
#[cfg_attr(miri, ignore = "slow there")]
fn enters_of_any_length_may_lie_anywhere() {
    let sound = (1..=9).map(|groups| RawEvent::Enter(1 << (7 * groups - 2)).bytes());
    let zeros = (1..12).map(|len| [vec![0xC1; len], vec![0x00]].concat());
    let private = (1..12).map(|len| [vec![0xC1; len], vec![0x7D]].concat());
    let constructor: &[u8] = &[0x81, 0x7B, 0x83, 0x83, 0x00, 0x7D];
    for bytes in sound.chain(zeros).chain(private) {
        for before in 0..140 {
            for first in [&[][..], constructor] {
                let raw = [first, &vec![0x82; before], &bytes, &[0x84, 0x00, 0x00, 0x7E, 0x85]];
                let raw = raw.concat();
                let expected = encode(&canonicalize([&raw[..]]));
                assert_eq!(fold([&raw[..]]).0, expected, "{bytes:02X?} after {before}");
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "slow there")]
fn constructors_may_lie_anywhere() {
    let calls: [&[u8]; 16] = [
        &[0x81, 0x7C, 0x7D, 0x00],
        &[0x81, 0x7B, 0xC5, 0x05, 0xC5, 0x05, 0x84, 0x00, 0x85, 0x00, 0x00, 0x7D, 0x00],
        &[0x81, 0x7B, 0x82, 0x82, 0x7B, 0x83, 0x83, 0x00, 0x7D, 0x00, 0x7D, 0x84, 0x00, 0x00],
        &[0x81, 0x7C, 0x7C, 0x7D, 0x7D, 0x00],
        &[0x81, 0x7C, 0x7B, 0x7D, 0x00],
        &[0x81, 0x7B, 0xC5, 0x00, 0x7D, 0x00],
        &[0x81, 0x7B, 0xC5, 0x80, 0x80, 0x80, 0x80, 0x01, 0x7D, 0x00],
        &[0x81, 0x7B, 0x82, 0x82, 0x00, 0x82, 0x00, 0x7D, 0x00],
        &[0x81, 0x7B, 0x82, 0x82, 0x00, 0x00, 0x82, 0x7D, 0x00],
        &[0x81, 0x7C, 0x82, 0x7F, 0x7D, 0x00],
        &[0x81, 0x7B, 0x82, 0x82, 0x7F, 0x7D, 0x00],
        &[0x81, 0x7C, 0x82, 0x7E, 0x00, 0x7D, 0x00],
        &[0x81, 0x7E, 0x7C, 0x7D, 0x7F, 0x7F, 0x82],
        &[0x81, 0x82, 0x00, 0x7C, 0x7D, 0x00],
        &[0x00, 0x00, 0x7D, 0x80, 0x7E, 0x7C, 0x7C, 0x7D, 0x7D],
        &[0x81, 0x7B, 0x82, 0x00, 0x7D],
    ];
    // With nothing below, and with a note within reach, out of reach, or just between.
    let below = [0, 1, 9, 30, 59, 60, 61, 62, 63, 70].map(|frames| match frames {
        0 => vec![],
        frames => [vec![0x81, 0x7C], vec![0x86; frames]].concat(),
    });
    for call in calls {
        for below in &below {
            for before in 0..70 {
                let filler = [0x82, 0x00].repeat(before / 2);
                let odd = vec![0x83; before % 2];
                let raw = [&below[..], &odd, &filler, call, call, &[0x00; 75], &[0x7D, 0x85]];
                let raw = raw.concat();
                let expected = encode(&canonicalize([&raw[..]]));
                assert_eq!(
                    fold([&raw[..]]).0,
                    expected,
                    "{call:02X?} after {before} in {raw:02X?}"
                );
            }
        }
    }
}

fn id() -> impl Strategy<Value = u64> {
    let ending = (any::<u64>(), 0x76..=0x7F_u64, 1..9_u32).prop_map(|(low, last, groups)| {
        // An id of this many bytes that ends in one of the private ones.
        let bits = 7 * groups - 1;
        (low % (1 << bits)) | (last << bits)
    });
    let any_length = (any::<u64>(), 1..64_u32).prop_map(|(number, bits)| number % (1 << bits));
    prop_oneof![4 => 0..6_u64, 3 => 60..200_u64, 2 => ending, 2 => any_length]
        .prop_map(|id| id & i64::MAX as u64)
}

fn piece() -> impl Strategy<Value = [u8; 7]> {
    (any::<[u8; 6]>(), 0..=6_u8).prop_map(|([a, b, c, d, e, f], count)| [a, b, c, d, e, f, count])
}

fn raw_event() -> impl Strategy<Value = RawEvent> {
    prop_oneof![
        12 => id().prop_map(RawEvent::Enter),
        10 => Just(RawEvent::Exit),
        2 => id().prop_map(RawEvent::Begin),
        1 => Just(RawEvent::BeginUnknown),
        2 => Just(RawEvent::End),
        1 => Just(RawEvent::Catch),
        1 => Just(RawEvent::UnwoundExit),
        1 => prop_oneof![0..4_u32, Just(0xFE_FFFF), 0..0xFF_0000_u32].prop_map(RawEvent::UnwoundBy),
        3 => prop_oneof![0..20_u16, any::<u16>()].prop_map(RawEvent::Line),
        3 => piece().prop_map(RawEvent::Value),
        4 => prop_oneof![
            3 => prop_oneof![0..20_u16, any::<u16>()].prop_map(RawEvent::Run),
            1 => (1..=7_u8, prop_oneof![0..20_u32, any::<u32>()])
                .prop_map(|(kind, value)| RawEvent::Operand(kind, value)),
        ],
    ]
}

/// Events with long runs among them, and passages that have a fast path.
fn raw_events() -> impl Strategy<Value = Vec<RawEvent>> {
    let passage = prop_oneof![
        4 => prop::collection::vec(raw_event(), 1..20),
        2 => prop::collection::vec(
            prop_oneof![id().prop_map(RawEvent::Enter), Just(RawEvent::Exit)], 1..60),
        1 => (1..100_usize).prop_map(|count| vec![RawEvent::Exit; count]),
        1 => (id(), 1..100_usize).prop_map(|(id, count)| vec![RawEvent::Enter(id); count]),
    ];
    prop::collection::vec(passage, 0..12).prop_map(|passages| passages.concat())
}

/// The same with a time before most of them: a little later than the previous one, much later, or earlier.
fn timed_events() -> impl Strategy<Value = Vec<RawEvent>> {
    let elapsed = prop_oneof![
        1 => Just(None),
        20 => (0..300_i64).prop_map(Some),
        2 => (0..1_i64 << 40).prop_map(Some),
        1 => (-1000..0_i64).prop_map(Some),
    ];
    let elapsed = prop::collection::vec(elapsed, 1..50);
    (raw_events(), elapsed, 0..3000_u64).prop_map(|(events, elapsed, start)| {
        let mut now = start;
        let mut timed = Vec::new();
        for (event, elapsed) in events.into_iter().zip(elapsed.into_iter().cycle()) {
            if let Some(elapsed) = elapsed {
                now = now.saturating_add_signed(elapsed) % (1 << 56);
                timed.push(RawEvent::Time(now));
            }
            timed.push(event);
        }
        timed
    })
}

/// The same with a sequence number before entries and exits: the next one, a later one, or one that is not known.
fn numbered_events() -> impl Strategy<Value = Vec<RawEvent>> {
    let skipped =
        prop_oneof![20 => Just(Some(1)), 5 => (1..1_u64 << 33).prop_map(Some), 1 => Just(None)];
    let first = prop_oneof![Just(0), (1_u64 << 32) - 9..1 << 32, 0..1_u64 << 54];
    (raw_events(), prop::collection::vec(skipped, 1..50), first).prop_map(
        |(events, skipped, first)| {
            let mut last = first;
            let mut skipped = skipped.into_iter().cycle();
            let mut numbered = Vec::new();
            for event in events {
                if matches!(event, RawEvent::Enter(_) | RawEvent::Exit | RawEvent::UnwoundExit) {
                    let known = skipped.next().flatten();
                    last += known.unwrap_or(0);
                    numbered.push(RawEvent::Number(known.map_or((1 << 56) - 1, |_| last)));
                }
                numbered.push(event);
            }
            numbered
        },
    )
}

/// Sizes for cutting; never all 0.
fn sizes() -> impl Strategy<Value = Vec<usize>> {
    (prop::collection::vec(0..40_usize, 0..4), 1..300_usize).prop_map(|(mut sizes, one)| {
        sizes.push(one);
        sizes
    })
}

/// Bytes that are events more often than random ones.
fn garbage() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => prop::sample::select(vec![0x00, 0x01, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7B, 0x7C, 0x7D, 0x7E, 0x7F, 0x80, 0xC0, 0xFF]),
        1 => any::<u8>(),
    ];
    prop::collection::vec(byte, 0..120)
}

/// Only one in Miri, which is slow.
const CASES: u32 = if cfg!(miri) { 1 } else { 2_000 };

proptest! {
    #![proptest_config(ProptestConfig {
        cases: CASES, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn any_events_are_canonicalized_like_the_model(events in raw_events(), sizes in sizes()) {
        let chunks = chunks(&events, &sizes);
        let expected = canonicalize(slices(&chunks));
        let (folded, counted) = fold(slices(&chunks));
        prop_assert_eq!(folded, encode(&expected));
        prop_assert_eq!(counted, counts(&expected));
        let is_counted = |event: &&RawEvent| matches!(
            event,
            RawEvent::Enter(_) | RawEvent::Exit | RawEvent::UnwoundExit | RawEvent::UnwoundBy(_)
        );
        let counted = slices(&chunks).map(count_events);
        let counted: u64 = counted.map(|counts| counts.enters + counts.exits).sum();
        prop_assert_eq!(counted, events.iter().filter(is_counted).count() as u64);
    }

    #[test]
    fn any_bytes_are_canonicalized_like_the_model(chunks in prop::collection::vec(garbage(), 0..4)) {
        let expected = canonicalize(slices(&chunks));
        let (folded, counted) = fold(slices(&chunks));
        prop_assert_eq!(folded, encode(&expected));
        prop_assert_eq!(counted, counts(&expected));
    }

    #[test]
    fn times_and_exceptions_of_each_event_are_marked(
        events in timed_events(), sizes in sizes(), zero_ns in prop_oneof![0..2000_u64, any::<u64>()],
    ) {
        assert_marked(slices(&chunks(&events, &sizes)), zero_ns);
    }

    #[test]
    fn numbers_of_each_event_are_marked(events in numbered_events(), sizes in sizes()) {
        assert_marked(slices(&chunks(&events, &sizes)), 0);
    }

    #[test]
    fn the_events_of_a_program_are_those_that_happened(
        seed in any::<u64>(), calls in 1..200_usize, sizes in sizes(),
    ) {
        let program = Program::run(seed, calls);
        let chunks = chunks(&program.raw, &sizes);
        let (folded, counted) = fold(slices(&chunks));
        prop_assert_eq!(folded, encode(&program.happened));
        prop_assert_eq!(counted, counts(&program.happened));
    }
}
