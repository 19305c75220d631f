//! Arbitrary bytes as a log of samples: decoded as the model does it, and added up without losing a sample.

use flow_codec::Error;
use flow_codec::Undecoded;
use flow_codec::format::hpl::{HplFrame, HplRecord, decode, encode};
use flow_codec::read::{HplItem, HplReader, HplStack, Tail};
use flow_model::{HplEnd, decode_hpl};
use flow_query::analysis::PathTree;
use flow_query::profile::{Collector, FrameGrouping, Frames, GapRule, LeanProfile, Numbers};

pub(super) fn check(bytes: &[u8]) {
    let end = decoded(bytes);
    let mut samples = 0;
    let mut reader = HplReader::new(bytes);
    let outcome = loop {
        match reader.next_item() {
            Ok(Some(HplItem::Sample(sample))) => {
                samples += u64::from(sample.stack != HplStack::Cut)
            }
            Ok(Some(_)) => {}
            Ok(None) => break Ok(reader.tail()),
            Err(error) => break Err(error),
        }
    };
    match (end, outcome) {
        (HplEnd::Damage(at), Err(Error::BadLog { offset, .. })) => {
            // A frame outside a stack is damage of the whole log, not of a record.
            assert!(offset.get() <= at as u64);
        }
        (_, Err(Error::BadLog { .. }))
        | (HplEnd::Whole | HplEnd::Reserved(_), Ok(_))
        | (HplEnd::Inside(_), Ok(Tail::Truncated { .. })) => {}
        other => panic!("{other:?}"),
    }
    for rule in [GapRule::Thread, GapRule::Global] {
        let mut collector = Collector::new(rule);
        // What is before damage counts.
        let _ = collector.add_all(&mut HplReader::new(bytes));
        let profile = collector.finish();
        assert_eq!(profile.samples(), samples);
        sums_agree(&profile);
    }
}

/// Decodes all records, each as the model does it and as it can be written again.
fn decoded(bytes: &[u8]) -> HplEnd {
    let (records, end) = decode_hpl(bytes);
    let mut rest = bytes;
    for expected in records {
        let Ok(Some((record, len))) = decode(rest) else { panic!("{expected:?}") };
        let (numbers, strings) = parts(&record);
        assert_eq!(numbers, expected.numbers);
        assert_eq!(strings.len(), expected.strings.len());
        for (text, bytes) in strings.iter().zip(&expected.strings) {
            assert_eq!(*text, String::from_utf8_lossy(bytes));
        }
        let mut written = Vec::new();
        encode(&record, &mut written);
        if expected.strings.iter().all(|bytes| std::str::from_utf8(bytes).is_ok()) {
            assert_eq!(written, rest[..len]);
        }
        rest = &rest[len..];
    }
    let at = bytes.len() - rest.len();
    match decode(rest) {
        Ok(Some((record, _))) => panic!("{record:?}"),
        Err(Undecoded::Incomplete) if rest.is_empty() => assert_eq!(end, HplEnd::Whole),
        Err(Undecoded::Incomplete) => assert_eq!(end, HplEnd::Inside(at)),
        Ok(None) => assert_eq!(end, HplEnd::Reserved(at)),
        Err(Undecoded::Invalid(_)) => assert_eq!(end, HplEnd::Damage(at)),
    }
    end
}

fn parts(record: &HplRecord<'_>) -> (Vec<i64>, Vec<String>) {
    match record {
        HplRecord::Stack { frames, thread, time } => {
            let time = time.iter().flat_map(|time| [time.seconds, time.nanoseconds]);
            ([i64::from(*frames), *thread].into_iter().chain(time).collect(), Vec::new())
        }
        HplRecord::Frame(HplFrame { bci, line, method }) => {
            let line = line.map(i64::from);
            ([i64::from(*bci)].into_iter().chain(line).chain([*method]).collect(), Vec::new())
        }
        HplRecord::Method(method) => {
            let (file, class, name) = (&method.file, &method.class, &method.name);
            let strings = match &method.signature {
                None => vec![file, class, name],
                Some(more) => {
                    let (generic, descriptor) = (&more.generic_class, &more.descriptor);
                    vec![file, class, generic, name, descriptor, &more.generic_descriptor]
                }
            };
            let strings = strings.into_iter().map(|text| text.clone().into_owned());
            (vec![method.method], strings.collect())
        }
        HplRecord::Thread { thread, name } => (vec![*thread], vec![name.clone().into_owned()]),
    }
}

/// Threads have the sums of their nodes, and every view of a profile has the same samples.
fn sums_agree(lean: &LeanProfile) {
    let nodes: Vec<_> = lean.nodes().collect();
    let mut sums = vec![Numbers::default(); nodes.len()];
    for (index, node) in nodes.iter().enumerate().rev() {
        let Some(parent) = node.parent else {
            assert_eq!(node.numbers.total_count, sums[index].total_count);
            assert_eq!(node.numbers.self_count, sums[index].self_count);
            continue;
        };
        assert!(parent < index);
        let below = sums[index];
        sums[parent].add(below);
        // A thread counts all nodes below it, a frame only itself.
        sums[parent].add(node.numbers);
    }
    let self_samples =
        |tree: &PathTree| tree.rows().map(|(_, row)| row.precision.self_samples).sum::<u64>();
    for grouping in [FrameGrouping::Method, FrameGrouping::Line, FrameGrouping::Bci] {
        let frames = Frames::new(lean, grouping);
        let tree = frames.tree(|_| true, |_| true, None);
        // A stack may have no frames.
        let empty = tree.weight() - self_samples(&tree);
        assert_eq!(tree.weight(), lean.samples());
        let flat = tree.flat();
        assert_eq!(self_samples(&flat) + empty, lean.samples());
        let callees = tree.callees(|_| true);
        let outermost = |path| callees.parent(path) == Some(callees.root());
        let of_root = callees.rows().filter(|(path, _)| outermost(*path));
        let totals = flat.rows().map(|(_, row)| row.total).sum::<u64>();
        assert_eq!(of_root.map(|(_, row)| row.total).sum::<u64>(), totals);
        assert!(flat.rows().all(|(_, row)| row.total <= tree.weight()));
    }
}
