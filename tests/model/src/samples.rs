//! Samples: the stacks of threads.

use std::collections::BTreeMap;

use crate::container::crc32;
use crate::leb128::{take, take_len};

/// One sample of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    /// By which clock: 1 for processor time, 2 for time that passes.
    pub clock: u8,
    /// Nanoseconds of it between two samples.
    pub interval_ns: u64,
    /// The thread.
    pub thread: u64,
    /// When it was taken.
    pub at_ns: u64,
    /// How many intervals it represents.
    pub intervals: u64,
    /// For how many microseconds the thread had run since its previous sample.
    pub ran_us: Option<u64>,
    /// Whether outer frames are missing.
    pub is_cut: bool,
    /// The stack, outermost first; or why there is none.
    pub found: Result<Vec<SampleFrame>, u8>,
}

/// A frame of a sampled stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampleFrame {
    /// The method.
    pub method: Option<u64>,
    /// The index of its bytecode.
    pub bci: Option<u64>,
    /// The line, or 0.
    pub line: u64,
}

/// Reads all batches. A last one that is not whole is left out.
///
/// # Panics
/// They are not as flow writes them.
#[must_use]
pub fn decode_samples(mut file: &[u8]) -> Vec<Sample> {
    let mut samples = Vec::new();
    while file.len() >= 17 {
        assert_eq!(&file[..9], b"flow-smp\x01", "magic and version of samples");
        let number = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().expect("four"));
        let end = 17 + number(9) as usize;
        let Some(content) = file.get(17..end) else { break };
        assert_eq!(number(13), crc32(&[&file[9..13], content].concat()), "the check");
        decode_batch(content, &mut samples);
        file = &file[end..];
    }
    samples
}

fn decode_batch(content: &[u8], samples: &mut Vec<Sample>) {
    let mut rest = &content[1..];
    let (interval_ns, mut at_ns) = (take(&mut rest), take(&mut rest));
    let mut thread = 0;
    let mut stacks: BTreeMap<u64, Vec<SampleFrame>> = BTreeMap::new();
    while let Some((&flags, after)) = rest.split_first() {
        rest = after;
        let has = |bit: u8| flags & (1 << bit) != 0;
        assert!(flags & !0x37 == 0, "known flags");
        if !has(1) {
            thread = add(thread, take(&mut rest));
        }
        at_ns = add(at_ns, take(&mut rest));
        let intervals = if has(4) { take(&mut rest) + 2 } else { 1 };
        let ran_us = has(5).then(|| take(&mut rest));
        let found = if has(0) {
            let cause = rest[0];
            rest = &rest[1..];
            Err(cause)
        } else {
            let stack = stacks.entry(thread).or_default();
            let popped = take_len(&mut rest);
            stack.truncate(stack.len().checked_sub(popped).expect("frames to pop"));
            for _ in 0..take(&mut rest) {
                let [method, bci, line] = [(); 3].map(|()| take(&mut rest));
                let (method, bci) = (method.checked_sub(1), bci.checked_sub(1));
                stack.push(SampleFrame { method, bci, line });
            }
            Ok(stack.clone())
        };
        let (clock, is_cut) = (content[0], has(2));
        samples.push(Sample {
            clock,
            interval_ns,
            thread,
            at_ns,
            intervals,
            ran_us,
            is_cut,
            found,
        });
    }
}

fn add(number: u64, difference: u64) -> u64 {
    let half = difference / 2;
    match difference % 2 {
        0 => number.wrapping_add(half),
        _ => number.wrapping_sub(half).wrapping_sub(1),
    }
}
