//! Damaged journals, hostile ones, and one that changes while it is read.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::limited::run_limited;
use crate::support::recorder::{Action, Recorder};
use flow_codec::format::flow::Record;
use flow_codec::format::names::{self, EventFormat};
use flow_codec::format::{journal, manifest};
use flow_codec::read::{ReadRecords, Trace};
use flow_model::RawEvent;

/// The events of a thread: ids that were entered, and `None` for exits.
type Event = Vec<Option<u64>>;

/// Reads as much of a trace as possible, and the errors.
fn read(dir: &Path) -> (BTreeMap<u64, Event>, usize) {
    let trace = Trace::open(dir).expect("a trace");
    let mut damage = trace.damage().len();
    for error in trace.damage() {
        let text = error.to_string();
        let named = text.contains("offset") || text.contains("format version");
        assert!(named && (text.contains("journal") || text.contains("thread-")), "{text}");
    }
    let mut found = BTreeMap::new();
    for file in trace.files() {
        let mut happened = Vec::new();
        let mut events = file.events().expect("it opens");
        loop {
            match events.next_record() {
                Ok(Some((_, Record::Enter(method)))) => happened.push(Some(method.get())),
                Ok(Some((_, Record::Exit(count)))) => {
                    let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
                    happened.extend(std::iter::repeat_n(None, count.min(1_000)));
                }
                Ok(None) => break,
                Err(error) => {
                    assert!(error.to_string().contains("thread-"), "{error}");
                    damage += 1;
                    break;
                }
            }
        }
        assert!(matches!(events.next_record(), Ok(None)), "the end is final");
        found.insert(file.id().get(), happened);
    }
    (found, damage)
}

/// Two threads that call, hand over and continue.
fn actions(rounds: u64) -> Vec<(u64, Action)> {
    use RawEvent::{Begin, End, Enter, Exit};
    let round = |number: u64| {
        let id = 60 + number % 9;
        let main = [Enter(id), Begin(2), Enter(2), Exit, End, Exit, Exit];
        let other = [Enter(number), Enter(9_000), Exit];
        let record = |thread| move |event| (thread, Action::Record(event));
        main.into_iter().map(record(1)).chain(other.into_iter().map(record(12)))
    };
    (0..rounds).flat_map(round).collect()
}

fn killed(rounds: u64, format: EventFormat, chunk_bytes: usize, steps: usize) -> Recorder {
    let mut recorder = Recorder::new(format, chunk_bytes, steps);
    let _ = recorder.run(&actions(rounds));
    recorder
}

fn is_prefix(part: &Event, whole: &BTreeMap<u64, Event>, id: u64) -> bool {
    whole.get(&id).is_some_and(|whole| whole.starts_with(part))
}

#[test]
fn every_prefix_of_every_file_is_read_as_far_as_it_goes() {
    const ALL: usize = usize::MAX;
    for recorder in [
        killed(1, EventFormat::Binary, 16, ALL),
        killed(6, EventFormat::Binary, 16, ALL),
        killed(6, EventFormat::Binary, 24, 260),
        killed(5, EventFormat::Jsonl, 16, ALL),
        killed(5, EventFormat::Jsonl, 32, 201),
    ] {
        let dir = tempfile::tempdir().unwrap();
        recorder.save(dir.path());
        let (whole, damage) = read(dir.path());
        assert_eq!(damage, 0);
        for entry in fs::read_dir(dir.path()).unwrap().collect::<Vec<_>>() {
            let path = entry.unwrap().path();
            if path.ends_with(names::MANIFEST) {
                continue;
            }
            let bytes = fs::read(&path).unwrap();
            for len in 0..bytes.len() {
                fs::write(&path, &bytes[..len]).unwrap();
                let (found, _) = read(dir.path());
                for (id, happened) in found {
                    assert!(
                        is_prefix(&happened, &whole, id),
                        "{path:?} cut at {len}: {happened:?}"
                    );
                }
            }
            fs::write(&path, &bytes).unwrap();
        }
    }
}

#[test]
fn any_changed_byte_of_a_journal_is_read_or_named() {
    for recorder in
        [killed(2, EventFormat::Binary, 16, usize::MAX), killed(3, EventFormat::Jsonl, 16, 110)]
    {
        let dir = tempfile::tempdir().unwrap();
        recorder.save(dir.path());
        let path = dir.path().join(names::JOURNAL);
        let bytes = fs::read(&path).unwrap();
        // In place, because rewriting whole files is slow on some disks.
        let file = File::options().write(true).open(&path).unwrap();
        assert!((150..600).contains(&bytes.len()), "{}", bytes.len());
        // The rest of the header is not read.
        for at in (0..16).chain(journal::HEADER_BYTES..bytes.len()) {
            for change in 1..=u8::MAX {
                let changed = bytes[at] ^ change;
                file.write_all_at(&[changed], at as u64).unwrap();
                let (found, damage) = read(dir.path());
                let events: usize = found.values().map(Vec::len).sum();
                assert!(events < 10_000, "byte {at} ^ {change:02X}");
                // The magic and the version. Many other changes are valid.
                assert!(damage > 0 || at >= 16 || changed == 0, "byte {at} ^ {change:02X}");
            }
            file.write_all_at(&bytes[at..=at], at as u64).unwrap();
        }
    }
}

/// A journal with one slot.
fn one_slot(words: [u64; 5], state: &[u8], memory: &[u8]) -> Vec<u8> {
    let mut bytes = journal::MAGIC.to_vec();
    bytes.extend(journal::VERSION.to_le_bytes());
    bytes.resize(journal::HEADER_BYTES, 0);
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend(state);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes.extend(memory);
    bytes
}

/// The errors of this journal, and the events of thread 1, whose file has three bytes.
fn tell(bytes: &[u8]) -> (Vec<String>, usize) {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("thread-1.flow"), [0x80, 0x81, 0x82]).expect("room");
    fs::write(dir.path().join(names::JOURNAL), bytes).expect("room");
    let trace = Trace::open(dir.path()).expect("a trace");
    let (found, _) = read(dir.path());
    (trace.damage().iter().map(ToString::to_string).collect(), found[&1].len())
}

#[test]
fn each_defect_is_named_with_its_place() {
    let open = journal::opened(0);
    let chunk = [0x7E, 0xFF];
    let slot = |words, state: &[u8]| {
        let mut bytes = one_slot(words, state, &chunk);
        bytes.resize(journal::HEADER_BYTES + 128, 0);
        bytes
    };
    let sound = slot([128, open, 1, 3, 0], &[]);
    assert_eq!(tell(&sound), (vec![], 5));
    let mut gap = sound.clone();
    gap[150] = 0x7E;
    let mut other_magic = sound.clone();
    other_magic[3] = b'!';
    let mut newer = sound.clone();
    newer[8] = 2;
    let mut no_event = sound.clone();
    no_event[105] = !0x05;
    for (bytes, message, events) in [
        (other_magic, "journal: offset 0: expected the magic \"flow-jnl\", found \"flo!-jnl\"", 3),
        (newer, "journal: format version 2; this build reads up to 1", 3),
        (slot([129, open, 1, 3, 0], &[]), "journal: offset 64: expected the size of a slot", 3),
        (slot([32, open, 1, 3, 0], &[]), "journal: offset 64: expected the size of a slot", 3),
        (
            slot([136, open, 1, 3, 0], &[]),
            "journal: offset 64: expected a slot that ends within",
            5,
        ),
        (slot([u64::MAX - 7, open, 1, 3, 0], &[]), "journal: offset 64: expected a slot that", 5),
        (slot([128, open, 1, 3, 89], &[]), "journal: offset 96: expected the length of a state", 3),
        (
            slot([128, open, 1, 3, 2], &[1, 2]),
            "journal: offset 104: expected the state of a canonicalizer",
            3,
        ),
        (gap, "journal: offset 112: expected zeros up to the end of the slot, found more", 5),
        (no_event, "journal: offset 105: expected an event, found 05", 4),
        (
            slot([128, open, 1, 4, 0], &[]),
            "thread-1.flow: whole records end at offset 3, but the journal continues at offset 4",
            3,
        ),
        (
            slot([128, open, 2, 9, 0], &[]),
            "thread-2.flow: whole records end at offset 0, but the journal continues at offset 9",
            3,
        ),
    ] {
        let (damage, found) = tell(&bytes);
        assert!(damage.len() == 1 && damage[0].contains(message), "{message}: {damage:?}");
        assert_eq!(found, events, "{message}");
    }
    // Without any event, nothing can be wrong.
    for nothing in [&[][..], &[0; 7], &[0; 64], &[0; 4096], &sound[..8], &sound[..64]] {
        assert_eq!(tell(nothing), (vec![], 3), "{nothing:?}");
    }
}

#[test]
fn of_two_open_slots_the_one_with_the_larger_offset_counts() {
    let open = journal::opened(0);
    let slot = |offset, memory: &[u8]| {
        let mut bytes = one_slot([64, open, 1, offset, 0], &[], memory);
        bytes.resize(journal::HEADER_BYTES + 64, 0);
        bytes
    };
    let (old, new) = (slot(1, &[0x7E]), slot(3, &[0xFF, 0xFF]));
    for (first, second) in [(&old, &new), (&new, &old)] {
        let both = [first, &second[journal::HEADER_BYTES..]].concat();
        assert_eq!(tell(&both), (vec![], 5));
    }
}

#[test]
fn a_journal_can_be_read_while_it_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let recorder = || Recorder::new(EventFormat::Binary, 24, usize::MAX);
    let mut reference = recorder();
    reference.run(&actions(400)).unwrap();
    let finished = tempfile::tempdir().unwrap();
    reference.save(finished.path());
    let (whole, damage) = read(finished.path());
    assert_eq!(damage, 0);

    let mut live = recorder().watched(dir.path());
    let writer = thread::spawn(move || live.run(&actions(400)).unwrap());
    let mut before: BTreeMap<u64, usize> = BTreeMap::new();
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut last = false;
    while !last {
        assert!(Instant::now() < deadline, "the writer takes too long");
        last = writer.is_finished();
        let Ok(trace) = Trace::open(dir.path()) else { continue };
        assert!(trace.damage().is_empty(), "{:?}", trace.damage());
        let is_restless = trace.journal().is_some_and(|journal| journal.is_restless);
        for file in trace.files() {
            let mut happened = Vec::new();
            let mut events = file.events().unwrap();
            while let Some((_, record)) = events.next_record().unwrap() {
                match record {
                    Record::Enter(method) => happened.push(Some(method.get())),
                    Record::Exit(count) => (0..count.get()).for_each(|_| happened.push(None)),
                }
            }
            let id = file.id().get();
            assert!(is_prefix(&happened, &whole, id), "thread {id} at event {}", happened.len());
            let known = before.insert(id, happened.len()).unwrap_or(0);
            assert!(is_restless || known <= happened.len(), "{known} > {}", happened.len());
        }
    }
    writer.join().unwrap();
    assert_eq!(read(dir.path()).0, whole);
}

/// The address space and the time that hostile journals may use.
const LIMIT_KIB: u64 = 640 * 1024;
const LIMIT_SECONDS: u64 = 120;

#[cfg(target_os = "linux")]
#[test]
fn hostile_journals_are_read_within_limits_of_memory_and_time() {
    let test = "it::journal_damage::hostile_journals_are_read_within_limits_of_memory_and_time";
    run_limited(test, LIMIT_KIB, LIMIT_SECONDS, read_hostile_journals);
}

#[cfg(target_os = "linux")]
fn read_hostile_journals() {
    const GIB: u64 = 1 << 30;
    let open = journal::opened(0);
    let at = |bytes: &[u8], len: u64, filler: Option<u8>| {
        let dir = tempfile::tempdir().expect("a folder");
        let mut file = File::create(dir.path().join(names::JOURNAL)).expect("a file");
        file.write_all(bytes).expect("room");
        if let Some(byte) = filler {
            let block = vec![byte; 1 << 20];
            (0..len >> 20).for_each(|_| file.write_all(&block).expect("room"));
        } else {
            file.set_len(len).expect("files may have holes");
        }
        (Trace::open(dir.path()).expect("a trace"), dir)
    };
    // A slot of a terabyte, which is a hole.
    let huge = 1 << 40;
    let (trace, _dir) = at(&one_slot([huge - 64, open, 1, 0, 0], &[], &[0x7E]), huge, None);
    assert!(trace.damage().is_empty() && trace.files()[0].bytes() == 1, "{trace:?}");
    // A state and a chunk that are as long as their numbers claim.
    let (trace, _dir) = at(&one_slot([GIB - 64, open, 1, 0, GIB], &[], &[]), GIB, None);
    assert_eq!((trace.damage().len(), trace.files().len()), (1, 0));
    let notes: Vec<u8> = std::iter::once(0).chain([1, 1].repeat((1 << 23) - 1)).collect();
    let words = [GIB - 64, open, 1, 0, notes.len() as u64];
    let (trace, _dir) = at(&one_slot(words, &notes, &[0xFF]), GIB, None);
    assert!(trace.damage().is_empty(), "{:?}", trace.damage());
    // Marks that are as long as their number claims.
    let (size, marks) = ((6 << 30) - 64, u64::from(u32::MAX - 7) << 32);
    let (trace, _dir) = at(&one_slot([size, open, 1, 0, marks], &[], &[0x7E]), size + 64, None);
    assert_eq!((trace.damage().len(), trace.files()[0].bytes()), (1, 1), "{:?}", trace.damage());
    // A chunk larger than any recorder writes.
    for (byte, bytes) in [(!0x81, journal::MAX_CHUNK_BYTES), (!0x01, 0), (!0xC1, 0)] {
        let size = 130 << 20;
        let (trace, _dir) = at(&one_slot([size, open, 1, 0, 0], &[], &[]), size, Some(byte));
        assert!((1..4).contains(&trace.damage().len()), "{:?}", trace.damage());
        assert_eq!(trace.files().first().map_or(0, |file| file.bytes()), bytes);
    }
    // A million slots.
    let slot = one_slot([64, journal::closed(open), 1, 0, 0], &[], &[]).split_off(64);
    let slot = [slot, vec![0; 24]].concat();
    let head = one_slot([0; 5], &[], &[])[..64].to_vec();
    let (trace, _dir) = at(&[head, slot.repeat(1_000_000)].concat(), 64_000_064, None);
    assert!(trace.damage().is_empty() && trace.files().is_empty());
    // More exits than fit on any disk, one line each.
    let exits = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40];
    let dir = tempfile::tempdir().expect("a folder");
    let text = "{\"format_version\":1,\"tool\":\"\",\"engine\":\"\",\"event_format\":\"jsonl\",\
        \"options\":{},\"pid\":1,\"host\":\"\",\"command\":[],\"jvm\":{\"name\":\"\",\
        \"version\":\"\",\"home\":\"\"},\"start_unix_ns\":0}";
    assert!(serde_json::from_str::<manifest::Manifest>(text).is_ok());
    fs::write(dir.path().join(names::MANIFEST), text).expect("a folder");
    let bytes = one_slot([64, open, 1, 0, 7], &exits, &[0; 16]);
    fs::write(dir.path().join(names::JOURNAL), bytes).expect("a folder");
    let trace = Trace::open(dir.path()).expect("a trace");
    assert_eq!((trace.damage().len(), trace.files().len()), (1, 0), "{:?}", trace.damage());
}
