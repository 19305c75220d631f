//! A recorder may be killed at any instant: its trace has everything that was recorded until then.

use std::io::Read;
use std::path::Path;

use crate::support::recorder::{Action, Recorder};
use flow_codec::format::names::EventFormat;
use flow_codec::read::{Content, ReadRecords, Tail, Trace};
use flow_model::{RawEvent, encode, open_chunks, read_thread};
use proptest::prelude::*;

/// The content of each thread in the trace in `dir`.
fn contents(dir: &Path) -> Vec<(u64, Vec<u8>)> {
    let trace = Trace::open(dir).expect("a trace");
    assert!(trace.damage().is_empty(), "{:?}", trace.damage());
    let of = |file: &flow_codec::read::ThreadFile| {
        let mut bytes = Vec::new();
        let mut reader = Content::open(file).expect("it opens").reader();
        reader.read_to_end(&mut bytes).expect("it can be read");
        assert_eq!(bytes.len() as u64, file.bytes());
        (file.id().get(), bytes)
    };
    trace.files().iter().map(of).collect()
}

/// Asserts that the trace has what was recorded, and that its records are those of its bytes.
fn verify(recorder: &Recorder) {
    let dir = tempfile::tempdir().expect("a folder");
    recorder.save(dir.path());
    let found = contents(dir.path());
    let expected = recorder.expected();
    for (id, bytes) in &found {
        assert!(
            expected[id].contains(bytes),
            "thread {id}: {bytes:02X?}, not {:02X?}",
            expected[id]
        );
    }
    for (id, [without, _]) in &expected {
        assert!(without.is_empty() || found.iter().any(|(with, _)| with == id), "thread {id}");
    }
    if recorder.format == EventFormat::Binary {
        let open = open_chunks(&recorder.journal);
        for (id, expected) in &expected {
            let file = recorder.files.get(id).map_or(&[][..], Vec::as_slice);
            let (events, _) = read_thread(file, &[], open.get(id));
            assert!(expected.contains(&encode(&events)), "thread {id}, read by the model");
        }
    }
    for file in Trace::open(dir.path()).expect("a trace").files() {
        let mut events = file.events().expect("it opens");
        let mut end = 0;
        while let Some((offset, _)) = events.next_record().expect("sound records") {
            assert_eq!(offset.get(), end, "no gap");
            end = events.position().get();
        }
        assert_eq!((end, events.tail(), events.non_canonical()), (file.bytes(), Tail::Complete, 0));
    }
}

fn run(
    actions: &[(u64, Action)],
    format: EventFormat,
    chunk_bytes: usize,
    steps: usize,
) -> Recorder {
    let mut recorder = Recorder::new(format, chunk_bytes, steps);
    let _ = recorder.run(actions);
    recorder
}

/// The number of steps.
fn steps(actions: &[(u64, Action)], format: EventFormat, chunk_bytes: usize) -> usize {
    const MANY: usize = 1 << 30;
    let mut recorder = Recorder::new(format, chunk_bytes, MANY);
    MANY - recorder.run(actions).expect("nobody kills it")
}

/// Two threads: constructors that are unwound, runs of exits over several chunks, an id of three bytes.
fn example() -> Vec<(u64, Action)> {
    use RawEvent::{Begin, Catch, End, Enter, Exit, UnwoundExit};
    let main = [
        Enter(0),
        Enter(1),
        Begin(2),
        Enter(2),
        Begin(9000),
        Enter(9000),
        UnwoundExit,
        Catch,
        Enter(300),
        Enter(9000),
        Exit,
        Exit,
        Exit,
        Enter(5),
        Begin(6),
        Enter(6),
        Exit,
        End,
        Exit,
    ];
    let other = [Enter(7), Exit, Enter(8), Enter(9), Exit];
    let mut actions = Vec::new();
    for (number, event) in main.into_iter().enumerate() {
        actions.push((1, Action::Record(event)));
        if let Some(event) = other.get(number) {
            actions.push((12, Action::Record(*event)));
        }
        if number == 7 {
            actions.extend([
                (12, Action::End),
                (13, Action::Record(Enter(1))),
                (1, Action::HandOver),
            ]);
        }
    }
    actions.push((1, Action::End));
    actions
}

#[test]
fn killed_at_any_step_nothing_is_lost() {
    for (format, chunk_bytes) in
        [(EventFormat::Binary, 8), (EventFormat::Binary, 24), (EventFormat::Jsonl, 16)]
    {
        let all = steps(&example(), format, chunk_bytes);
        assert!(all > 70, "{all}");
        for killed_at in 0..=all {
            verify(&run(&example(), format, chunk_bytes, killed_at));
        }
    }
}

fn raw_event() -> impl Strategy<Value = RawEvent> {
    let id = prop_oneof![6 => 0..6_u64, 2 => 60..200_u64, 1 => any::<u64>().prop_map(|id| id >> 1)];
    prop_oneof![
        12 => id.clone().prop_map(RawEvent::Enter),
        10 => Just(RawEvent::Exit),
        2 => id.prop_map(RawEvent::Begin),
        1 => Just(RawEvent::BeginUnknown),
        2 => Just(RawEvent::End),
        1 => Just(RawEvent::Catch),
        1 => Just(RawEvent::UnwoundExit),
        1 => (0..0xFF_0000_u32).prop_map(RawEvent::UnwoundBy),
        2 => any::<u16>().prop_map(RawEvent::Line),
        2 => (any::<[u8; 6]>(), 1..=6_u8)
            .prop_map(|([a, b, c, d, e, f], count)| RawEvent::Value([a, b, c, d, e, f, count])),
        2 => any::<u16>().prop_map(RawEvent::Run),
        1 => (1..=7_u8, any::<u32>()).prop_map(|(kind, value)| RawEvent::Operand(kind, value)),
    ]
}

fn actions() -> impl Strategy<Value = Vec<(u64, Action)>> {
    let action = prop_oneof![
        40 => raw_event().prop_map(Action::Record),
        3 => Just(Action::HandOver),
        1 => Just(Action::End),
    ];
    prop::collection::vec((1..4_u64, action), 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_recorder_killed_anywhere_leaves_everything_it_recorded(
        actions in actions(), chunk_bytes in 12..80_usize, lines in any::<bool>(), at in 0.0..1.0_f64,
    ) {
        let format = if lines { EventFormat::Jsonl } else { EventFormat::Binary };
        let all = steps(&actions, format, chunk_bytes);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss,
            reason = "any step will do")]
        let killed_at = (all as f64 * at) as usize;
        verify(&run(&actions, format, chunk_bytes, killed_at));
    }
}
