//! Arbitrary bytes as `threads.jsonl`: each line counts by itself, and its content can be written again.

use std::collections::BTreeMap;

use flow_codec::ThreadId;
use flow_codec::format::names;
use flow_codec::format::threads::ThreadLine;

use super::lines::{assert_damaged, whole_lines};
use super::scratch;

/// The content of a thread's lines.
#[derive(Default)]
struct Life {
    name: String,
    start_ns: Option<u64>,
    end_ns: Option<u64>,
    renames: usize,
    /// Frames named, and those omitted, in the first line that has any.
    open: Option<(usize, u64)>,
}

pub(super) fn check(bytes: &[u8]) {
    let mut lives: BTreeMap<ThreadId, Life> = BTreeMap::new();
    let mut bad = Vec::new();
    for (text, number) in whole_lines(bytes).iter().zip(1..) {
        let Ok(line) = serde_json::from_str::<ThreadLine>(text) else {
            bad.push(number);
            continue;
        };
        let again = serde_json::to_string(&line).expect("plain fields");
        assert!(!again.contains('\n'));
        assert_eq!(serde_json::from_str::<ThreadLine>(&again).expect("our own line"), line);
        live(&mut lives, line);
    }

    let trace = scratch::opened(&[(names::THREADS, bytes)]);
    assert_damaged(trace.damage(), names::THREADS, &bad);
    assert!(trace.threads().iter().map(|(id, _)| id).eq(lives.keys().copied()));
    for ((_, thread), life) in trace.threads().iter().zip(lives.values()) {
        assert_eq!(
            (&thread.name, thread.start_ns, thread.end_ns),
            (&life.name, life.start_ns, life.end_ns)
        );
        assert!(thread.earlier_names.len() <= life.renames);
        let open = (thread.open.frames.len(), thread.open.omitted);
        assert_eq!(open, life.open.unwrap_or_default());
    }
}

fn live(lives: &mut BTreeMap<ThreadId, Life>, line: ThreadLine) {
    let (ThreadLine::Open { id, .. }
    | ThreadLine::Start { id, .. }
    | ThreadLine::Rename { id, .. }
    | ThreadLine::End { id, .. }) = line
    else {
        return;
    };
    let life = lives.entry(id).or_default();
    match line {
        ThreadLine::Open { frames, omitted, .. } if omitted > 0 || !frames.is_empty() => {
            life.open.get_or_insert((frames.len(), omitted));
        }
        ThreadLine::Start { name, at_ns, .. } => {
            life.name = name;
            life.start_ns.get_or_insert(at_ns);
        }
        ThreadLine::Rename { name, .. } => {
            life.name = name;
            life.renames += 1;
        }
        ThreadLine::End { at_ns, .. } => life.end_ns = Some(at_ns),
        _ => {}
    }
}
