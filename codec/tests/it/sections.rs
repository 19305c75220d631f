//! Sums over sections of a thread: those over any range of time are the same as by its events.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicU64;

use flow_codec::analysis::{Graph, TimeWeight, TimedReport};
use flow_codec::format::marks::HEADER;
use flow_codec::format::sections::SectionsFile;
use flow_codec::index::Origin;
use flow_codec::read::{Clock, Content, Pass, Selection, ThreadFile, TimeLimits, Trace, Visit};
use flow_codec::sections::{SectionSize, Sections};
use flow_codec::{Glob, MethodId, Offset, Result};
use proptest::prelude::*;

use crate::support::ten_calls::ten_calls as events_and_marks;
use crate::timed::{lies, marks, rans, records, thread, written};

/// A section wherever one may begin.
const SHORT: SectionSize = SectionSize { least_bytes: 1, most_sums: usize::MAX, bytes_a_sum: 0 };

fn built(file: &ThreadFile, size: SectionSize) -> Sections {
    let built = Sections::build_with(file, size, &AtomicU64::new(0)).expect("readable");
    assert_eq!(built.not_stored(file), None);
    let content = Content::open(file).expect("readable");
    let bytes = built.store(file, &content).expect("stored");
    assert_eq!(bytes, Sections::stored_bytes(file));
    let stored = Sections::open_stored(file).expect("they are of these events");
    assert_eq!(stored, built.sections);
    stored
}

/// Reads a pass to its end.
fn visit<V: Visit>(pass: Result<Pass<'_, V>>) {
    let mut pass = pass.expect("a file");
    while pass.visit_some().expect("sound") {}
    assert!(pass.finish().is_none());
}

/// The same of two threads, each within limits: the sums by events, and those by sections.
fn check_report<const CPU: bool>(file: &ThreadFile, sections: &Sections, limits: TimeLimits) {
    let (clock, all) = (Clock::default(), Selection::all());
    let by_events = || {
        let mut report = TimedReport::<CPU>::new(&clock);
        visit(file.timed_pass(&all, limits, &clock, &mut report));
        report.end_thread();
        report
    };
    let (mut expected, mut found) = (by_events(), by_events());
    visit(file.timed_pass(&all, limits, &clock, &mut expected));
    expected.end_thread();
    assert!(sections.add(file, limits, &clock, &mut found));
    assert_eq!(found.rows(), expected.rows(), "{limits:?}");
    let sums =
        |report: &TimedReport<'_, CPU>| (report.calls(), report.total_ns(), report.waiting_ns());
    assert_eq!(sums(&found), sums(&expected), "{limits:?}");
}

/// A pass that begins at a border.
fn check_pass(file: &ThreadFile, sections: &Sections, selection: &Selection, limits: TimeLimits) {
    let rows = |sections: Option<&Sections>| {
        let clock = Clock::default();
        let mut graph = Graph::new(TimeWeight::<true>::new(&clock));
        visit(match sections {
            Some(sections) => sections.timed_pass(file, selection, limits, &clock, &mut graph),
            None => file.timed_pass(selection, limits, &clock, &mut graph),
        });
        graph.end_thread();
        let tree = graph.into_tree();
        let rows = tree.rows().map(|(path, row)| (tree.stack(path), row));
        rows.collect::<Vec<_>>()
    };
    assert_eq!(rows(Some(sections)), rows(None), "{limits:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn sums_over_a_range_are_those_of_its_sections_and_ends(
        records in records(),
        picks in prop::collection::vec(any::<bool>(), 1..7),
        lies in lies(),
        rans in rans(),
        least_bytes in 0_u64..9,
        most_sums in prop_oneof![2 => Just(usize::MAX), 1 => 0_usize..30],
        percents in prop::collection::vec(0_u64..120, 2),
        events in prop::collection::vec(any::<prop::sample::Index>(), 2),
    ) {
        let thread = thread(&records);
        let (dir, file) = written(&thread, &marks(&thread, &picks, &lies, &rans));
        let sections = built(&file, SectionSize { least_bytes, most_sums, bytes_a_sum: 0 });
        let last = thread.events.last().map_or(0, |event| event.at_ns);
        let at = |index: &prop::sample::Index| match thread.events.len() {
            0 => 0,
            len => thread.events[index.index(len)].at_ns,
        };
        // Parts of the whole time, and times of events, which may be borders.
        let [from, to] = [0, 1].map(|end| last * percents[end] / 100);
        let [event, other] = [0, 1].map(|end| at(&events[end]));
        fs::write(dir.path().join("ids.properties"), "a.B#m()V=0\na.B#n()V=1\n").expect("written");
        let methods = Trace::open(dir.path()).expect("a trace").methods;
        let some = Selection::new(&methods, &[], &[Glob::new("**#n")]);
        for (from_ns, to_ns) in [
            (0, u64::MAX), (0, to), (from, u64::MAX), (from, to),
            (event, other), (event, u64::MAX), (0, event), (event, event + 1), (event, event),
        ] {
            let limits = TimeLimits { from_ns, to_ns, min_ns: 0 };
            check_report::<false>(&file, &sections, limits);
            check_report::<true>(&file, &sections, limits);
            check_pass(&file, &sections, &Selection::all(), limits);
            check_pass(&file, &sections, &some, limits);
            check_pass(&file, &sections, &some, TimeLimits { min_ns: 40, ..limits });
        }
    }
}

/// Ten calls of 1, each of which calls 2: twenty borders.
fn ten_calls() -> (tempfile::TempDir, ThreadFile) {
    let dir = tempfile::tempdir().expect("a directory");
    let (events, marks) = events_and_marks();
    let path = dir.path().join("thread-1.flow");
    fs::write(&path, &events).expect("written");
    fs::write(path.with_extension("marks"), marks).expect("written");
    fs::write(dir.path().join("ids.properties"), "a.B#m()V=1\na.B#n()V=2\n").expect("written");
    let file = Trace::open(dir.path()).expect("a trace").files.remove(0);
    (dir, file)
}

/// The calls of the methods 1 and 2 between two times, by the stored sections.
fn calls(file: &ThreadFile, from_ns: u64, to_ns: u64) -> Option<Vec<u64>> {
    let clock = Clock::default();
    let mut report = TimedReport::<false>::new(&clock);
    let sections = Sections::open_stored(file).expect("they are of these events");
    let limits = TimeLimits { from_ns, to_ns, min_ns: 0 };
    let is_added = sections.add(file, limits, &clock, &mut report);
    let mut rows: Vec<_> = report.rows().iter().map(|row| (row.method, row.calls)).collect();
    rows.sort_unstable();
    assert!(is_added || rows.is_empty());
    is_added.then(|| rows.into_iter().map(|(_, calls)| calls).collect())
}

/// Changes what is stored, with a right checksum.
fn change(dir: &Path, change: impl FnOnce(&mut SectionsFile)) {
    let path = dir.join("thread-1.sections");
    let mut stored = SectionsFile::decode(fs::read(&path).expect("stored")).expect("sound");
    change(&mut stored);
    fs::write(path, stored.encode().expect("small")).expect("written");
}

#[test]
fn of_a_range_only_the_ends_are_read() {
    let (dir, file) = ten_calls();
    assert_eq!(built(&file, SHORT).count(), 20);
    assert_eq!(calls(&file, 2_500, 7_500), Some(vec![6, 6]));
    // So what is stored in between is believed: it has the checksum of these events.
    change(dir.path(), |file| file.sections[6].sums[0].calls = 0);
    assert_eq!(calls(&file, 2_500, 7_500), Some(vec![5, 6]));
    assert_eq!(calls(&file, 5_500, 7_500), Some(vec![3, 3]));
}

#[test]
fn of_long_sections_the_details_are_used_where_a_range_begins_and_ends() {
    let (dir, file) = ten_calls();
    let sections = built(&file, SectionSize { most_sums: 8, ..SHORT });
    assert!((2..8).contains(&sections.count()), "{}", sections.count());
    for (from_ns, to_ns) in [(2_500, 7_500), (1_000, 7_500), (2_500, u64::MAX), (0, 3_000)] {
        let expected = calls(&file, from_ns, to_ns);
        let all = |stored: &mut SectionsFile| {
            let starts: Vec<_> = stored.sections.iter().map(|section| section.start).collect();
            let ends = starts.iter().skip(1).map(|next| next.wall_ns).chain([u64::MAX]);
            for ((section, start), end) in stored.sections.iter_mut().zip(&starts).zip(ends) {
                let is_end = [from_ns, to_ns].iter().any(|at| (start.wall_ns..end).contains(at));
                if is_end && !section.details.is_empty() {
                    section.sums.iter_mut().for_each(|sums| sums.calls = 0);
                }
            }
        };
        change(dir.path(), all);
        assert_eq!(calls(&file, from_ns, to_ns), expected, "{from_ns}..{to_ns}");
        assert!(expected.is_some_and(|calls| calls.iter().all(|calls| *calls < 12)));
        built(&file, SectionSize { most_sums: 8, ..SHORT });
    }
}

#[test]
fn sections_that_are_not_those_of_the_events_are_not_used() {
    let (dir, file) = ten_calls();
    built(&file, SHORT);
    // A border where no mark is, or at another time, or with other frames.
    let changes: [fn(&mut SectionsFile); 4] = [
        |file| {
            file.sections[2].sums.iter_mut().for_each(|sums| sums.calls = 0);
            file.sections[3].start.offset = Offset::new(4);
        },
        |file| file.sections[3].start.wall_ns += 1,
        |file| file.sections[3].start.cpu_ns += 1,
        |file| file.sections[3].entered.push(MethodId::new(2).expect("small")),
    ];
    for wrong in changes {
        let stored = fs::read(dir.path().join("thread-1.sections")).expect("stored");
        change(dir.path(), wrong);
        assert_eq!(calls(&file, 2_500, 7_500), None);
        fs::write(dir.path().join("thread-1.sections"), stored).expect("written");
        assert_eq!(calls(&file, 2_500, 7_500), Some(vec![6, 6]));
    }
}

#[test]
fn sections_of_other_events_or_marks_are_not_used() {
    let (dir, file) = ten_calls();
    let sections = built(&file, SHORT);
    let place = |name: &str| dir.path().join(name);
    let opened = || {
        let file = Trace::open(dir.path()).expect("a trace").files.remove(0);
        let content = Content::open(&file).expect("readable");
        Sections::open(&file, &content, &AtomicU64::new(0)).expect("readable").1
    };
    assert_eq!(opened(), Origin::Stored);
    let stored = fs::read(place("thread-1.sections")).expect("stored");
    for at in 0..stored.len() {
        let mut other = stored.clone();
        other[at] ^= 1;
        fs::write(place("thread-1.sections"), &other).expect("written");
        assert!(matches!(opened(), Origin::Rebuilt(_)), "{at}");
    }
    fs::write(place("thread-1.sections"), &stored).expect("written");
    let other = Origin::Rebuilt("it belongs to other events");
    for name in ["thread-1.flow", "thread-1.marks"] {
        let bytes = fs::read(place(name)).expect("there");
        for end in [bytes.len() - 1, bytes.len()] {
            let longer = [&bytes[..end], &[0x00, 0x00][..]].concat();
            fs::write(place(name), longer).expect("written");
            assert_eq!(opened(), other, "{name}");
        }
        fs::write(place(name), bytes).expect("written");
    }
    assert_eq!(opened(), Origin::Stored);
    assert_eq!(Sections::open_stored(&file), Some(sections));
}

#[test]
fn what_is_damaged_is_not_stored() {
    let dir = tempfile::tempdir().expect("a directory");
    let reason = |events: &[u8], marks: &[u8]| {
        fs::write(dir.path().join("ids.properties"), "").expect("written");
        fs::write(dir.path().join("thread-1.flow"), events).expect("written");
        fs::write(dir.path().join("thread-1.marks"), marks).expect("written");
        let file = Trace::open(dir.path()).expect("a trace").files.remove(0);
        let built = Sections::build(&file, &AtomicU64::new(0)).expect("readable");
        built.not_stored(&file)
    };
    assert_eq!(reason(&[0x81, 0x00], &HEADER), None);
    assert_eq!(reason(&[0x81, 0xC0], &HEADER), Some("cut short"));
    assert_eq!(reason(&[[0xFF; 12], [0; 12]].concat(), &HEADER), Some("damaged"));
    assert_eq!(reason(&[0x81, 0x00], b"flow-mrk\x01\xFF"), Some("damaged"));
}
