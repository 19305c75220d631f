//! A trace in one file with arbitrary pieces that arrives in parts, as a collector receives and follows it: each time
//! it takes no more than its bytes can explain.

use std::fs;

use flow_codec::read::Trace;

use super::pieces::{expect_small, pieces, write};
use super::scratch;

/// How often the trace is read while it grows.
const TIMES: usize = 4;

pub(super) fn check(bytes: &[u8]) {
    let dir = scratch::empty();
    let path = dir.join("t.flowtrace");
    write(&path, pieces(bytes), &[]);
    let all = fs::read(&path).expect("it was written");
    let mut before: Option<Trace> = None;
    for time in 1..=TIMES {
        let received = &all[..all.len() * time / TIMES];
        fs::write(&path, received).expect("room for it");
        let opened = match before.take() {
            None => Trace::open(&path),
            Some(before) => Trace::open_again(before),
        };
        let Ok(trace) = opened else { continue };
        expect_small(&trace, &dir, received.len() as u64);
        before = Some(trace);
    }
}
