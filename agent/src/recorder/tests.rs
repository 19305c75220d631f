//! The recorder without a JVM: ends, pauses, and writers that are held up.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use flow_codec::ThreadId;
use flow_codec::format::flow::{Record, records};
use flow_codec::format::journal::{self, SlotHeader, SlotWord, is_open};
use flow_codec::format::manifest::Order;
use flow_codec::format::marks::Mark;
use flow_codec::format::methods::MethodInfo;
use flow_codec::format::raw;
use flow_codec::write::Sample;

use super::hand_over::queue::{Queue, TooSlow, WhenFull};
use super::threads::cpu_time::Look;
use super::*;
use crate::filter::{FilterSpec, LoaderKind};
use crate::sink::{
    Budget, CanonicalChunk, Home, JournalFile, LineFile, Sink, SinkError, TraceDirectory,
};

/// Keeps chunks; can be made to hold up writers.
#[derive(Clone, Default)]
struct KeptChunks(Arc<(Mutex<KeptChunksState>, Condvar)>);

#[derive(Default)]
struct KeptChunksState {
    bytes: Vec<u8>,
    open: Vec<Vec<u8>>,
    hold: bool,
    fail: bool,
    waiting: usize,
}

impl Sink for KeptChunks {
    fn write_chunk(&self, chunk: &CanonicalChunk<'_>) -> Result<u64, SinkError> {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        state.waiting += 1;
        changed.notify_all();
        state = changed.wait_while(state, |state| state.hold).unwrap();
        if state.fail {
            return Err(SinkError::whole_trace("no space left"));
        }
        assert_eq!(chunk.offset.get(), state.bytes.len() as u64);
        state.bytes.extend_from_slice(chunk.bytes);
        changed.notify_all();
        Ok(chunk.bytes.len() as u64)
    }

    fn write_marks(&self, _: ThreadId, _: Home, _: u64, _: &[u8]) -> Result<(), SinkError> {
        Ok(())
    }

    fn write_open_chunk(&self, _: ThreadId, journal: &[u8]) -> Result<(), SinkError> {
        self.0.0.lock().unwrap().open.push(journal.to_vec());
        Ok(())
    }

    fn refuse(&self) {}

    fn close(&self) {}
}

impl KeptChunks {
    fn take_open(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.0.0.lock().unwrap().open)
    }

    fn hold(&self, hold: bool) {
        self.0.0.lock().unwrap().hold = hold;
        self.0.1.notify_all();
    }

    fn wait_for_a_writer(&self) {
        let state = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(state, |state| state.waiting == 0).unwrap());
    }

    fn wait_until(&self, condition: impl Fn(&KeptChunksState) -> bool) {
        let state = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(state, |state| !condition(state)).unwrap());
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.0.lock().unwrap().bytes.clone()
    }
}

struct OneMethod;

impl DescribeMethod for OneMethod {
    fn facts(&self) -> Option<MethodFacts> {
        let info = MethodInfo { descriptor: "()V".to_owned(), ..MethodInfo::default() };
        let loader = LoaderKind::Application;
        let (native, synthetic, accessor, hidden) = (false, false, false, false);
        let types = Vec::new();
        Some(MethodFacts { info, loader, types, native, synthetic, accessor, hidden })
    }

    fn locate(&self, _info: &mut MethodInfo) {}
}

/// A recorder whose files are in a directory, without threads and methods.
pub(super) fn recorder_in(dir: &std::path::Path) -> Recorder {
    let file = |name: &str| LineFile::create(&dir.join(name)).unwrap();
    let ids =
        IdTable::new(StartIds::default(), file("ids.properties"), file("methods.jsonl")).unwrap();
    let config = Config {
        chunk_bytes: 64,
        side_band: SideBand::None,
        order: Order::Time,
        has_stacks: false,
        started: Instant::now(),
    };
    Recorder::new(
        MethodTable::new(FilterSpec::default(), ids),
        file("threads.jsonl"),
        Journal::private().unwrap(),
        Box::new(KeptChunks::default()),
        config,
    )
}

/// A recorder with chunks of `chunk_bytes`, one thread and one method.
fn recorder(
    dir: &std::path::Path,
    sink: &KeptChunks,
    chunk_bytes: usize,
) -> (Recorder, Arc<ThreadRecorder>, Recorded) {
    recorder_with(Journal::private().unwrap(), dir, sink, chunk_bytes)
}

/// The journal of a trace in this directory.
fn journal_in(dir: &std::path::Path) -> Journal {
    let directory = TraceDirectory::open(&dir.join("trace"), None).unwrap();
    let file = JournalFile::create(&directory, Budget::new(None)).unwrap();
    Journal::in_file(file, None).unwrap()
}

fn recorder_with(
    journal: Journal,
    dir: &std::path::Path,
    sink: &KeptChunks,
    chunk_bytes: usize,
) -> (Recorder, Arc<ThreadRecorder>, Recorded) {
    let file = |name: &str| LineFile::create(&dir.join(name)).unwrap();
    let ids = IdTable::new(StartIds::default(), file("ids"), file("methods")).unwrap();
    let methods = MethodTable::new(FilterSpec::default(), ids);
    let method = methods.look_up(RawMethod(8), &OneMethod).unwrap().recorded().unwrap();
    let sink = Box::new(sink.clone());
    let recorder = Recorder::new(
        methods,
        file("threads"),
        journal,
        sink,
        Config {
            chunk_bytes,
            side_band: SideBand::None,
            order: Order::Time,
            has_stacks: false,
            started: Instant::now(),
        },
    );
    let thread = start(&recorder, 1);
    (recorder, thread, method)
}

#[test]
fn threads_without_written_events_do_not_count() {
    let (dir, sink) = (tempfile::tempdir().unwrap(), KeptChunks::default());
    let (recorder, thread, method) = recorder(dir.path(), &sink, 64 << 10);
    // As if both had seen, before the end, that the recording runs.
    recorder.shared().threads.admit_no_more();
    let facts = ThreadFacts {
        id: ThreadId::new(3),
        name: "late".to_owned(),
        daemon: false,
        is_virtual: false,
        frames: 0,
    };
    let late = recorder.start_thread(&facts, ControlPlace::Private(Box::default()));
    assert!(late.is_none(), "its events would come after the totals");
    let end = recorder.finish(Timeout::Long);
    recorder.enter(&thread, method);
    assert_eq!((end.totals.threads, end.totals.enters, end.lost.reasons.len()), (0, 0, 0));
}

#[test]
fn a_small_chunk_moves_to_a_larger_slot_instead_of_being_written() {
    let (dir, sink) = (tempfile::tempdir().unwrap(), KeptChunks::default());
    let (recorder, thread, method) = recorder(dir.path(), &sink, 64 << 10);
    let call = |calls| {
        for _ in 0..calls {
            recorder.enter(&thread, method);
            recorder.exit(&thread, Left::Returned);
        }
    };
    recorder.enter(&thread, method);
    call(300);
    assert!(sink.bytes().is_empty());
    call(3000);
    assert!(!sink.bytes().is_empty());
    recorder.exit(&thread, Left::Returned);
    let end = recorder.finish(Timeout::Long);
    assert_eq!((end.totals.enters, end.totals.exits), (3301, 3301));
    assert_eq!(count_nested(&sink.bytes()), (3301, 3301));
}

#[test]
fn the_chunk_of_a_thread_that_waits_is_copied_once() {
    let (dir, sink) = (tempfile::tempdir().unwrap(), KeptChunks::default());
    let (recorder, thread, method) = recorder(dir.path(), &sink, 4096);
    let recorder = recorder.queueing(WhenFull::Wait);
    let look = |which| {
        let found = recorder.hand_over.with_new_events(which);
        let queue = recorder.hand_over.queue.as_ref().unwrap();
        found.iter().for_each(|id| recorder.hand_over.write_open_chunk(queue, *id));
        sink.take_open()
    };
    let raw_in = |copies: Vec<Vec<u8>>, bytes: usize| {
        let [copy] = &copies[..] else { panic!("{copies:?}") };
        let (_, slot) = copy.split_at(journal::HEADER_BYTES);
        let header = SlotHeader::decode(slot.first_chunk().unwrap());
        assert_eq!((header.thread, header.offset, header.resume), (ThreadId::new(1), 0, 0));
        let raw = slot.iter().skip(journal::SLOT_HEADER_BYTES).take(bytes + 1);
        raw.map(|byte| !byte).collect::<Vec<u8>>()
    };
    (0..3).for_each(|_| assert!(look(OpenChunks::Idle).is_empty(), "nothing was recorded"));
    let enter = method.as_bytes();
    let mut expected = [enter, enter, &[raw::EXIT][..]].concat();
    recorder.enter(&thread, method);
    recorder.enter(&thread, method);
    recorder.exit(&thread, Left::Returned);
    assert!(look(OpenChunks::Idle).is_empty(), "it has moved");
    let copied = raw_in(look(OpenChunks::Idle), expected.len());
    assert_eq!(copied, [&expected[..], &[0xFF]].concat());
    (0..3).for_each(|_| assert!(look(OpenChunks::Idle).is_empty(), "that was copied"));
    recorder.exit(&thread, Left::Returned);
    expected.push(raw::EXIT);
    let copied = raw_in(look(OpenChunks::All), expected.len());
    assert_eq!(copied, [&expected[..], &[0xFF]].concat());
    assert!(look(OpenChunks::All).is_empty());
}

#[test]
fn a_copied_chunk_that_moves_to_a_larger_slot_is_still_not_dropped() {
    let (dir, sink) = (tempfile::tempdir().unwrap(), KeptChunks::default());
    let (recorder, thread, method) = recorder(dir.path(), &sink, 64 << 10);
    let recorder = recorder.queueing(WhenFull::Drop(TooSlow::Collector));
    recorder.enter(&thread, method);
    recorder.hand_over.write_open_chunk(recorder.hand_over.queue.as_ref().unwrap(), thread.id());
    assert_eq!(sink.take_open().len(), 1);
    let first = thread.lock_out().slot().bytes();
    while thread.lock_out().slot().bytes() == first {
        recorder.enter(&thread, method);
        recorder.exit(&thread, Left::Returned);
    }
    assert!(thread.lock_out().is_copied);
}

#[test]
fn a_chunk_of_which_there_was_nothing_to_copy_may_be_dropped() {
    let (dir, sink) = (tempfile::tempdir().unwrap(), KeptChunks::default());
    let (recorder, thread, method) = recorder(dir.path(), &sink, 64 << 10);
    let recorder = recorder.queueing(WhenFull::Drop(TooSlow::Collector));
    let copy = || {
        recorder
            .hand_over
            .write_open_chunk(recorder.hand_over.queue.as_ref().unwrap(), thread.id());
        (sink.take_open().len(), thread.lock_out().is_copied)
    };
    assert_eq!(copy(), (0, false));
    assert!(recorder.hand_over.with_new_events(OpenChunks::Idle).is_empty(), "nothing is new");
    recorder.enter(&thread, method);
    assert_eq!(copy(), (1, true));
    assert_eq!(copy(), (1, true));
}

#[test]
fn what_is_encoded_ahead_is_written_once() {
    for ahead in [0, 1, 7] {
        let (dir, sink) = (tempfile::tempdir().unwrap(), KeptChunks::default());
        let (recorder, thread, method) = recorder(dir.path(), &sink, 4096);
        for call in 0..30_000 {
            recorder.enter(&thread, method);
            // Parts begin with entries, with exits, and within runs of exits.
            if ahead > 0 && call % (ahead * 100) == 0 {
                recorder.hand_over.encode_ahead(&thread, &Look::new());
            }
            if call % 5 == 4 {
                (0..3).for_each(|_| recorder.exit(&thread, Left::Returned));
                if ahead > 0 && call % 3 == 0 {
                    recorder.hand_over.encode_ahead(&thread, &Look::new());
                }
                (0..2).for_each(|_| recorder.exit(&thread, Left::Unwound));
            }
        }
        let end = recorder.finish(Timeout::Long);
        recorder.hand_over.encode_ahead(&thread, &Look::new());
        assert_eq!((end.totals.enters, end.totals.exits), (30_000, 30_000));
        let whole = [method.as_bytes().repeat(5), vec![4]].concat().repeat(6000);
        assert!(sink.bytes() == whole, "{ahead}");
    }
}

#[test]
fn a_chunk_that_was_encoded_ahead_does_not_move_to_a_larger_slot() {
    let (dir, sink) = (tempfile::tempdir().unwrap(), KeptChunks::default());
    let (recorder, thread, method) = recorder(dir.path(), &sink, 4096);
    recorder.enter(&thread, method);
    recorder.hand_over.encode_ahead(&thread, &Look::new());
    let first = thread.lock_out().slot().address();
    while thread.lock_out().slot().address() == first {
        recorder.enter(&thread, method);
    }
    let out = thread.lock_out();
    let words = out.slot().words().iter().map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
    let bytes: Vec<u8> = words.flatten().collect();
    let header = SlotHeader::decode(bytes.first_chunk().unwrap());
    assert_eq!(header.offset, sink.bytes().len() as u64);
    assert!(header.offset > 1);
}

#[test]
fn where_nothing_can_be_encoded_ahead_the_encoder_has_to_wait() {
    let (dir, sink) = (tempfile::tempdir().unwrap(), KeptChunks::default());
    let (recorder, thread, method) = recorder(dir.path(), &sink, 4096);
    (0..100).for_each(|_| recorder.enter(&thread, method));
    assert!(recorder.hand_over.encode_ahead(&thread, &Look::new()));
    assert!(!recorder.hand_over.encode_ahead(&thread, &Look::new()), "nothing new");
    recorder.enter(&thread, method);
    recorder.shared().switch.set_paused(true);
    assert!(!recorder.hand_over.encode_ahead(&thread, &Look::new()), "the recording is paused");
    recorder.shared().switch.set_paused(false);
    thread.lock_out().home = Home::Shared;
    assert!(
        !recorder.hand_over.encode_ahead(&thread, &Look::new()),
        "in a file with other threads"
    );
}

#[test]
fn a_thread_is_sampled_before_and_while_a_part_is_encoded() {
    let (dir, sink) = (tempfile::tempdir().unwrap(), KeptChunks::default());
    let (mut recorder, _, method) = recorder(dir.path(), &sink, 64 << 10);
    recorder.hand_over.shared.config.side_band = SideBand::SampledTimes;
    let (thread, look) = (start(&recorder, 2), Look::new());
    while thread.lock_out().slot().bytes() < 8 << 10 {
        recorder.enter(&thread, method);
    }
    assert!(recorder.hand_over.encode_ahead(&thread, &look));
    // What the encoder holds.
    let out = thread.lock_out();
    let part = |samples: &mut Vec<Sample>| {
        let part = thread.part_with_samples(&out, &look, None, || 0, samples).unwrap();
        assert_eq!(part.start, out.encoded);
        part.len()
    };
    let entry = method.as_bytes().len();
    let mut samples = Vec::new();
    // A sample at the end of a part belongs to the next one.
    assert_eq!((part(&mut samples), samples.len()), (0, 0));
    recorder.enter(&thread, method);
    assert_eq!(part(&mut samples), entry);
    assert!(!samples.is_empty() && samples.iter().all(|sample| sample.bytes == 0), "{samples:?}");
    assert!(recorder.sample_threads(&look), "it has advanced");
    assert!(!recorder.sample_threads(&look), "it stays");
    (0..3).for_each(|_| recorder.enter(&thread, method));
    assert!(recorder.sample_threads(&look));
    assert_eq!(part(&mut samples), 4 * entry);
    let here: Vec<_> = samples.iter().filter(|sample| sample.bytes > 0).collect();
    assert!(here.iter().all(|sample| sample.bytes == entry), "{here:?}");
    let (first, last) = (here.first().unwrap(), here.last().unwrap());
    assert!(first.by_ns < last.from_ns, "until the thread was seen there last: {here:?}");
}

#[test]
fn a_thread_that_ends_while_it_is_encoded_gives_back_its_slot() {
    let (dir, sink) = (tempfile::tempdir().unwrap(), KeptChunks::default());
    let (recorder, first, method) = recorder(dir.path(), &sink, 4096);
    let recorder = recorder.encoding_ahead();
    recorder.enter(&first, method);
    let (held, slot) = (Arc::clone(&first), first.lock_out().slot().address());
    recorder.end_thread(first, None);
    let next = |id| start(&recorder, id).lock_out().slot().address();
    assert_ne!(next(2), slot);
    drop(held);
    recorder.hand_over.give_up_left_slots();
    assert_eq!(next(3), slot);
    assert!(recorder.hand_over.leaving.lock().is_empty());
}

#[test]
fn threads_that_were_held_when_they_ended_do_not_gather() {
    let (dir, sink) = (tempfile::tempdir().unwrap(), KeptChunks::default());
    let (recorder, first, _) = recorder(dir.path(), &sink, 4096);
    // No thread encodes ahead, and so none gives back their slots.
    let recorder = recorder.encoding_ahead();
    for id in 2..10 {
        let thread = start(&recorder, id);
        let held = Arc::clone(&thread);
        recorder.end_thread(thread, None);
        assert_eq!(recorder.hand_over.leaving.lock().len(), 1);
        drop(held);
    }
    drop(first);
}

#[test]
fn in_one_file_what_is_encoded_ahead_passes_the_queue() {
    let (dir, sink) = (tempfile::tempdir().unwrap(), KeptChunks::default());
    let (recorder, thread, method) = recorder(dir.path(), &sink, 4096);
    let recorder = recorder.queueing(WhenFull::Wait).gathering(10_000);
    thread.lock_out().home = Home::Shared;
    std::thread::scope(|scope| {
        scope.spawn(|| recorder.run_writer());
        for call in 0..30_000 {
            recorder.enter(&thread, method);
            if call % 300 == 0 {
                recorder.hand_over.encode_ahead(&thread, &Look::new());
            }
            recorder.exit(&thread, Left::Returned);
        }
        assert!(recorder.hand_over.encode_ahead(&thread, &Look::new()));
        let end = recorder.finish(Timeout::Long);
        assert_eq!((end.totals.enters, end.totals.exits), (30_000, 30_000));
    });
    let whole = [method.as_bytes().to_vec(), vec![0]].concat().repeat(30_000);
    assert!(sink.bytes() == whole);
}

#[test]
fn while_the_writer_writes_nothing_is_encoded_ahead() {
    let (dir, sink) = (tempfile::tempdir().unwrap(), KeptChunks::default());
    let (recorder, thread, method) = recorder(dir.path(), &sink, 4096);
    let recorder = recorder.queueing(WhenFull::Wait);
    thread.lock_out().home = Home::Shared;
    let (record, look) = (|| (0..1000).for_each(|_| recorder.enter(&thread, method)), Look::new());
    record();
    assert!(recorder.hand_over.encode_ahead(&thread, &look));
    record();
    sink.hold(true);
    let (is_early, is_encoded) = std::thread::scope(|scope| {
        scope.spawn(|| recorder.run_writer());
        sink.wait_for_a_writer();
        let ahead = scope.spawn(|| recorder.hand_over.encode_ahead(&thread, &look));
        // Without the turn it would take microseconds.
        std::thread::sleep(Duration::from_millis(100));
        let is_early = ahead.is_finished();
        sink.hold(false);
        let is_encoded = ahead.join().unwrap();
        let _ = recorder.finish(Timeout::Long);
        (is_early, is_encoded)
    });
    assert_eq!((is_early, is_encoded), (false, true));
}

#[test]
fn in_one_file_a_chunk_keeps_its_slot_until_all_parts_are_written() {
    let (dir, sink) = (tempfile::tempdir().unwrap(), KeptChunks::default());
    let journal = journal_in(dir.path());
    let (recorder, thread, method) = recorder_with(journal, dir.path(), &sink, 4096);
    let recorder = recorder.queueing(WhenFull::Wait).gathering(10_000);
    (0..1500).for_each(|_| recorder.enter(&thread, method));
    let slot = thread.lock_out().slot().words();
    let address = thread.lock_out().slot().address();
    let state = || u64::from_le(slot[SlotWord::State.index()].load(Ordering::Relaxed));
    assert!(recorder.hand_over.encode_ahead(&thread, &Look::new()));
    // Nothing is left of the chunk.
    recorder.hand_over.make_room(&thread, None);
    assert_ne!(thread.lock_out().slot().address(), address);
    assert!(is_open(state()));
    std::thread::scope(|scope| {
        scope.spawn(|| recorder.run_writer());
        let _ = recorder.finish(Timeout::Long);
    });
    assert_eq!(sink.bytes().len(), 1500 * method.as_bytes().len());
    assert!(!is_open(state()));
}

#[test]
fn in_one_file_a_part_that_cannot_be_written_keeps_its_slot() {
    let (dir, sink) = (tempfile::tempdir().unwrap(), KeptChunks::default());
    let journal = journal_in(dir.path());
    let (recorder, thread, method) = recorder_with(journal, dir.path(), &sink, 4096);
    let recorder = recorder.queueing(WhenFull::Wait).gathering(1);
    std::thread::scope(|scope| {
        scope.spawn(|| recorder.run_writer());
        (0..100).for_each(|_| recorder.enter(&thread, method));
        sink.0.0.lock().unwrap().fail = true;
        assert!(recorder.hand_over.encode_ahead(&thread, &Look::new()));
        while recorder.is_on() {
            std::thread::yield_now();
        }
        sink.0.0.lock().unwrap().fail = false;
        // The rest of the chunk could be written.
        let end = recorder.finish(Timeout::Long);
        assert_eq!((end.totals.enters, end.lost.events), (100, 0));
    });
    assert!(sink.bytes().is_empty() && recorder.journal().is_needed());
    assert!(thread.lock_out().slot().is_open());
}

#[test]
fn a_part_that_cannot_be_written_stays_in_the_journal() {
    let (dir, sink) = (tempfile::tempdir().unwrap(), KeptChunks::default());
    let journal = journal_in(dir.path());
    let (recorder, thread, method) = recorder_with(journal, dir.path(), &sink, 4096);
    (0..100).for_each(|_| recorder.enter(&thread, method));
    recorder.hand_over.encode_ahead(&thread, &Look::new());
    (0..50).for_each(|_| recorder.exit(&thread, Left::Returned));
    sink.0.0.lock().unwrap().fail = true;
    recorder.hand_over.encode_ahead(&thread, &Look::new());
    // The recording has ended.
    (0..50).for_each(|_| recorder.exit(&thread, Left::Returned));
    let end = recorder.finish(Timeout::Long);
    assert_eq!((end.totals.enters, end.totals.exits, end.lost.events), (100, 50, 0));
    assert!(recorder.journal().is_needed());
    assert!(thread.lock_out().slot().is_open());
}

fn start(recorder: &Recorder, id: u64) -> Arc<ThreadRecorder> {
    let facts = ThreadFacts {
        id: ThreadId::new(id),
        name: "main".to_owned(),
        daemon: false,
        is_virtual: false,
        frames: 0,
    };
    recorder.start_thread(&facts, ControlPlace::Private(Box::default())).unwrap()
}

/// Checks that canonical records nest, and returns how many entries and exits they hold.
fn count_nested(bytes: &[u8]) -> (u64, u64) {
    let (mut enters, mut exits) = (0, 0);
    for (record, _) in records(bytes) {
        match record {
            Record::Enter(_) => enters += 1,
            Record::Exit(count) => exits += count.get(),
        }
        assert!(exits <= enters, "every frame that is left was entered");
    }
    (enters, exits)
}

#[test]
fn overload_drop_loses_events_but_never_waits() {
    let dir = tempfile::tempdir().unwrap();
    let sink = KeptChunks::default();
    let (mut recorder, thread, method) = recorder(dir.path(), &sink, 64);
    recorder.hand_over.queue = Some(Queue::new(2, WhenFull::Drop(TooSlow::Disk)));
    sink.hold(true);
    let made = 2 * 10_000 + 2 * 3;
    let end = std::thread::scope(|scope| {
        scope.spawn(|| recorder.run_writer());
        // Frames that are open all the time, and frames that come and go between drops.
        (0..3).for_each(|_| recorder.enter(&thread, method));
        for number in 0..5_000 {
            recorder.enter(&thread, method);
            recorder.enter(&thread, method);
            recorder.exit(&thread, Left::Returned);
            if number == 2_500 {
                // All waiting chunks are written, and there is room again.
                sink.hold(false);
                sink.wait_until(|state| state.bytes.len() > 100);
                sink.hold(true);
            }
            recorder.exit(&thread, Left::Returned);
        }
        (0..3).for_each(|_| recorder.exit(&thread, Left::Returned));
        sink.hold(false);
        recorder.finish(Timeout::Long)
    });
    let (enters, exits) = count_nested(&sink.bytes());
    assert_eq!((enters, exits), (end.totals.enters, end.totals.exits));
    assert_eq!(enters, exits, "all frames were left");
    assert_eq!(enters + exits + end.lost.events, made);
    assert!(end.lost.events > made / 2 && enters > 100, "{end:?}");
    assert_eq!(end.lost.reasons, [TooSlow::Disk.reason()]);
}

#[test]
fn a_thread_that_finds_no_room_waits_and_all_is_written_in_order() {
    for gathered_bytes in [0, 50, 1 << 20] {
        let dir = tempfile::tempdir().unwrap();
        let sink = KeptChunks::default();
        let (mut recorder, thread, method) = recorder(dir.path(), &sink, 64);
        recorder.hand_over.queue = Some(Queue::new(2, WhenFull::Wait));
        recorder.hand_over.gathered_bytes = gathered_bytes;
        sink.hold(true);
        let calls = 5000;
        let end = std::thread::scope(|scope| {
            scope.spawn(|| recorder.run_writer());
            scope.spawn(|| {
                while recorder.hand_over.queue.as_ref().is_none_or(|queue| !queue.is_awaited()) {
                    std::thread::yield_now();
                }
                sink.hold(false);
            });
            for _ in 0..calls {
                recorder.enter(&thread, method);
                recorder.exit(&thread, Left::Returned);
            }
            recorder.finish(Timeout::Long)
        });
        assert_eq!(count_nested(&sink.bytes()), (calls, calls), "{gathered_bytes}");
        assert_eq!((end.totals.enters, end.totals.exits, end.lost.events), (calls, calls, 0));
        assert_eq!(end.lost.reasons, Vec::<String>::new());
    }
}

#[test]
fn the_end_does_not_wait_for_a_queue_whose_disk_hangs() {
    let dir = tempfile::tempdir().unwrap();
    let sink = KeptChunks::default();
    let (mut recorder, thread, method) = recorder(dir.path(), &sink, 64);
    recorder.hand_over.queue = Some(Queue::new(2, WhenFull::Drop(TooSlow::Disk)));
    sink.hold(true);
    std::thread::scope(|scope| {
        scope.spawn(|| recorder.run_writer());
        (0..1000).for_each(|_| recorder.enter(&thread, method));
        let end = recorder.finish(Timeout::Short);
        let late = "the disk was still busy at the end; the journal has the rest";
        assert!(end.lost.reasons.iter().any(|reason| reason == late), "{end:?}");
        assert!(recorder.journal().is_needed());
        sink.hold(false);
    });
}

#[test]
fn a_thread_that_is_writing_at_the_end_writes_its_whole_chunk_once() {
    let dir = tempfile::tempdir().unwrap();
    let sink = KeptChunks::default();
    let (recorder, thread, method) = recorder(dir.path(), &sink, 8);
    sink.hold(true);
    let end = std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..4 {
                recorder.enter(&thread, method);
                recorder.exit(&thread, Left::Returned);
            }
            // The chunk is full.
            recorder.enter(&thread, method);
        });
        sink.wait_for_a_writer();
        let end = recorder.finish(Timeout::Short);
        sink.hold(false);
        end
    });
    assert_eq!(end.lost.reasons, ["thread 1 was still writing at the end"]);
    assert_eq!(sink.bytes(), [0x80, 0x00].repeat(4), "the last exit too");
}

#[test]
fn a_pause_during_an_entry_leaves_all_frames() {
    let dir = tempfile::tempdir().unwrap();
    let sink = KeptChunks::default();
    let (recorder, thread, method) = recorder(dir.path(), &sink, 8);
    sink.hold(true);
    std::thread::scope(|scope| {
        // The last one finds the chunk full.
        scope.spawn(|| (0..9).for_each(|_| recorder.enter(&thread, method)));
        sink.wait_for_a_writer();
        recorder.set_paused(true);
        sink.hold(false);
    });
    recorder.set_paused(false);
    recorder.enter(&thread, method);
    let _ = recorder.finish(Timeout::Short);
    let written = [&[0x80; 8][..], &[0x07, 0x80]].concat();
    assert_eq!(sink.bytes(), written);
}

#[test]
fn frames_that_were_left_without_an_exit_are_found_where_a_thread_hands_over() {
    let dir = tempfile::tempdir().unwrap();
    let sink = KeptChunks::default();
    let (recorder, thread, method) = recorder(dir.path(), &sink, 64);
    assert!(!recorder.look_at_frames(&thread, || Some(0)), "it has just begun");
    // A note makes the thread hand over.
    let hand_over_with = |frames| {
        while !recorder.look_at_frames(&thread, || frames) {}
        recorder.mark(&thread, Mark::Note(String::new()));
        recorder.forget_frames(&thread);
    };
    let enter = |frames| (0..frames).for_each(|_| recorder.enter(&thread, method));
    let exit = |frames| (0..frames).for_each(|_| recorder.exit(&thread, Left::Returned));
    enter(5);
    hand_over_with(Some(5));
    hand_over_with(None);
    assert!(!recorder.has_losses());
    enter(2);
    exit(1);
    hand_over_with(Some(3));
    assert!(recorder.has_losses());
    // One is entered after all were left; the three that exist are not among them.
    enter(1);
    hand_over_with(Some(4));
    hand_over_with(Some(1));
    exit(4);
    hand_over_with(Some(0));
    let end = recorder.finish(Timeout::Short);
    assert_eq!(sink.bytes(), [&[0x80; 7][..], &[0x06, 0x80, 0x03]].concat());
    assert_eq!((end.totals.enters, end.totals.exits), (8, 11));
    let reason = "frames were left without an exit (Thread.stop, or a debugger that dropped them)";
    assert_eq!((end.lost.events, &end.lost.reasons[..]), (3, &[reason.to_owned()][..]));
}

#[test]
fn nothing_is_written_after_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let sink = KeptChunks::default();
    let (recorder, thread, method) = recorder(dir.path(), &sink, 8);
    recorder.enter(&thread, method);
    let end = recorder.finish(Timeout::Short);
    assert_eq!((end.totals.enters, end.totals.bytes), (1, 1));
    for _ in 0..100 {
        recorder.enter(&thread, method);
    }
    assert_eq!(sink.bytes(), [0x80]);
    let facts = ThreadFacts {
        id: ThreadId::new(2),
        name: String::new(),
        daemon: false,
        is_virtual: false,
        frames: 0,
    };
    assert!(recorder.start_thread(&facts, ControlPlace::Private(Box::default())).is_none());
}

#[test]
fn exits_held_back_by_a_chunk_that_cannot_be_written_stay_in_the_journal() {
    let dir = tempfile::tempdir().unwrap();
    let directory = TraceDirectory::open(&dir.path().join("trace"), None).unwrap();
    let file = JournalFile::create(&directory, Budget::new(None)).unwrap();
    let journal = Journal::in_file(file, None).unwrap();
    let sink = KeptChunks::default();
    let (recorder, thread, method) = recorder_with(journal, dir.path(), &sink, 8);
    sink.0.0.lock().unwrap().fail = true;
    (0..4).for_each(|_| recorder.enter(&thread, method));
    (0..4).for_each(|_| recorder.exit(&thread, Left::Returned));
    // Finds the chunk full, and is the event that may count as lost.
    recorder.enter(&thread, method);
    let end = recorder.finish(Timeout::Short);
    assert_eq!((end.totals.enters, end.totals.exits), (4, 4));
    assert_eq!(end.lost.events, 0, "{:?}", end.lost.reasons);
    assert_eq!(end.lost.reasons, ["no space left"]);
}

/// Copies the open slots while the first of three threads moves on `moves` times: to a slot that was passed
/// already, then to one that was not. If `drops`, the queue is full the first time. Returns the thread and the
/// offset of each slot in the copy.
fn copied_while_a_thread_moves(queue: Option<Queue>, moves: usize, drops: bool) -> Vec<(u64, u64)> {
    let dir = tempfile::tempdir().unwrap();
    let sink = KeptChunks::default();
    let (mut recorder, first, method) = recorder(dir.path(), &sink, 64);
    let [ended, second, _third] = [9, 2, 3].map(|id| start(&recorder, id));
    let slot_of = |thread: &ThreadRecorder| thread.lock_out().slot().address();
    let move_on = |recorder: &Recorder| {
        let before = slot_of(&first);
        while slot_of(&first) == before {
            recorder.enter(&first, method);
            recorder.exit(&first, Left::Returned);
        }
    };
    match queue {
        // It has the last slot from here on, and the first is free.
        None => move_on(&recorder),
        // The second is free.
        Some(_) => recorder.end_thread(ended, None),
    }
    recorder.hand_over.queue = queue;
    let (mut copied, mut more) = (Vec::new(), Vec::new());
    let put = |bytes: &[u8]| {
        if bytes.starts_with(b"flow-jnl") {
            return Ok(());
        }
        let header = SlotHeader::decode(bytes.first_chunk().unwrap());
        copied.push((header.thread.get(), header.offset));
        if header.thread.get() == 2 {
            for number in 0..moves {
                let full = recorder.hand_over.queue.as_ref().filter(|_| drops && number == 0);
                let taken = full.and_then(|queue| queue.reserve(1 << 30, true).ok());
                move_on(&recorder);
                assert_eq!(slot_of(&first) < slot_of(&second), number == 0);
                if let (Some(queue), Some(taken)) = (full, taken) {
                    queue.give_back(taken);
                    // It takes the slot of the dropped chunk.
                    more.push(start(&recorder, 4));
                }
            }
        }
        Ok(())
    };
    recorder.copy_open_slots(put).unwrap();
    copied
}

#[test]
fn a_thread_that_moves_to_a_slot_passed_already_is_in_the_copy() {
    let copied = copied_while_a_thread_moves(None, 1, false);
    assert_eq!(copied, [(9, 0), (2, 0), (3, 0), (1, 127)]);
}

#[test]
fn no_chunk_before_the_last_copied_one_is_left_out() {
    let copied =
        copied_while_a_thread_moves(Some(Queue::new(9, WhenFull::Drop(TooSlow::Disk))), 2, false);
    assert_eq!(copied, [(1, 0), (2, 0), (3, 0), (1, 127), (1, 0), (1, 63)]);
}

#[test]
fn a_chunk_that_was_copied_and_then_dropped_is_replaced_by_the_next() {
    let copied =
        copied_while_a_thread_moves(Some(Queue::new(9, WhenFull::Drop(TooSlow::Disk))), 2, true);
    assert_eq!(copied, [(1, 0), (2, 0), (3, 0), (1, 63), (1, 0), (4, 0)]);
}

/// Returns the threads that have an open slot.
fn with_open_slot(recorder: &Recorder) -> Vec<u64> {
    let mut threads = Vec::new();
    let put = |bytes: &[u8]| {
        if !bytes.is_empty() && !bytes.starts_with(b"flow-jnl") {
            threads.push(SlotHeader::decode(bytes.first_chunk().unwrap()).thread.get());
        }
        Ok(())
    };
    recorder.copy_open_slots(put).unwrap();
    threads
}

#[test]
fn a_thread_that_ended_stays_in_the_journal_until_it_is_written_with_others() {
    for fails in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let directory = TraceDirectory::open(&dir.path().join("trace"), None).unwrap();
        let file = JournalFile::create(&directory, Budget::new(None)).unwrap();
        let sink = KeptChunks::default();
        let journal = Journal::in_file(file, None).unwrap();
        let (recorder, _main, method) = recorder_with(journal, dir.path(), &sink, 64);
        let facts = ThreadFacts {
            id: ThreadId::new(2),
            name: String::new(),
            daemon: true,
            is_virtual: true,
            frames: 0,
        };
        let thread = recorder.start_thread(&facts, ControlPlace::Private(Box::default())).unwrap();
        recorder.enter(&thread, method);
        recorder.exit(&thread, Left::Returned);
        recorder.end_thread(thread, Some(&facts));
        assert_eq!((sink.bytes(), with_open_slot(&recorder)), (vec![], vec![1, 2]));
        sink.0.0.lock().unwrap().fail = fails;
        let end = recorder.finish(Timeout::Short);
        assert_eq!((end.totals.enters, end.totals.exits, end.lost.events), (1, 1, 0));
        assert_eq!(recorder.journal().is_needed(), fails);
        assert_eq!(sink.bytes().len(), if fails { 0 } else { 2 });
        assert_eq!(with_open_slot(&recorder).contains(&2), fails);
    }
}
