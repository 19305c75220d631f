//! `flow record --keep-tests failed`: writes the traces of a run anew, without the calls of tests that simply passed.
//!
//! The new file is beside the old one, is read again, and replaces it only then. Whatever goes wrong before, the recording keeps
//! all tests: so does that of a JVM that was killed, whose last calls somebody will want to see.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flow_codec::format::names;
use flow_codec::read::Trace;
use flow_query::ask::KeptTests;
use flow_query::open::take_lock;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::brake::traces;
use crate::cmd::recording::agent::shown;
use crate::output::{bytes, message, plural};

/// A build that has ended is not held up for longer than this.
const MOST_TIME: Duration = Duration::from_secs(120);

/// Shrinks the traces that began since `started`.
pub(super) fn shrink(pattern: &str, started: Duration) {
    let started_ns = u64::try_from(started.as_nanos()).unwrap_or(u64::MAX);
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Without it, the new file is a remainder that the next recording replaces.
        let _ = signal_hook::flag::register(signal, Arc::clone(&interrupted));
    }
    let deadline = Instant::now() + MOST_TIME;
    let is_stopped = || interrupted.load(Ordering::Relaxed) || Instant::now() > deadline;
    for trace in traces(pattern, started_ns, &mut BTreeSet::new()) {
        let trace = trace.dir;
        if let Err(why) = shrink_trace(&trace, &is_stopped) {
            message(&format!("{why}; {} keeps the calls of all tests", shown(&trace)));
        }
    }
}

fn shrink_trace(trace: &Path, is_stopped: &dyn Fn() -> bool) -> Result<(), String> {
    let has_end = || Some(Trace::manifest_of(trace).ok()??.end.is_some());
    if !has_end().unwrap_or(false) {
        return Err("the JVM was killed, or still runs".to_owned());
    }
    if trace.is_dir() {
        return Err(
            "a trace in a directory cannot be shrunk: record without -o, or to a file".to_owned()
        );
    }
    let text = |error: &dyn std::fmt::Display| error.to_string();
    // Nobody else may write it meanwhile.
    let lock = take_lock(trace).map_err(|error| text(&error))?;
    let _lock = lock.ok_or("another process writes it")?;
    let new = names::beside(trace, names::NEW_CONTAINER);
    let _ = fs::remove_file(&new);
    let begun = Instant::now();
    let before = size(trace);
    let kept = KeptTests::write(trace, &new, is_stopped).map_err(|error| text(&error))?;
    if kept.left_out == 0 {
        return Ok(());
    }
    fs::rename(&new, trace).map_err(|error| text(&error))?;
    // They are of the events before.
    let _ = fs::remove_file(names::beside(trace, names::INDEXES));
    let unbalanced = match kept.unbalanced {
        0 => String::new(),
        count => format!(
            "; {} that passed began and ended in different calls, and stay",
            plural(count, "test")
        ),
    };
    message(&format!(
        "left out the calls of {} of {} that passed, in {:.1} s: {} instead of {}{unbalanced}",
        kept.left_out,
        plural(kept.tests, "test"),
        begun.elapsed().as_secs_f64(),
        bytes(size(trace)),
        bytes(before),
    ));
    Ok(())
}

fn size(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |found| found.len())
}
