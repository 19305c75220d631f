//! Traces that grow: opened again and again, until their recordings are over.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flow_codec::Error;
use flow_query::open::{is_open, is_recording};
use signal_hook::consts::SIGINT;

use super::{Source, directories};
use crate::failure::{Failure, Status};
use crate::output::{Out, message};

/// The shortest wait between two passes.
const PAUSE: Duration = Duration::from_millis(100);
/// The wait after a pass is at least this many times as long as the pass.
const SHARE: u32 = 5;

/// The result of a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pass {
    /// Nothing is new.
    Nothing,
    /// Something is new.
    Events,
    /// Something is new, and there is more to read at once.
    More,
    /// Nothing further is wanted: a limit has been reached.
    Enough,
}

/// Shows what is new in traces.
pub(crate) trait Follow {
    /// Shows what is new since the last pass. `is_growing` is whether more may come.
    fn pass(
        &mut self,
        source: &mut Source,
        is_growing: bool,
        out: &mut Out,
    ) -> Result<Pass, Failure>;

    /// Nothing follows. `unreadable` are the traces that cannot be opened.
    fn end(
        &mut self,
        source: &mut Source,
        unreadable: &[(PathBuf, Error)],
        out: &mut Out,
    ) -> Result<Status, Failure>;
}

/// When following ends.
#[derive(Debug)]
pub(crate) struct Until {
    /// Set to end it.
    pub(crate) stop: Arc<AtomicBool>,
    /// Whether the recordings are over, if that ends it.
    is_over: Option<bool>,
}

impl Until {
    /// Until all recordings of a directory are over, or Ctrl-C.
    pub(crate) fn recorded(dir: &Path) -> Result<Self, Failure> {
        // Checked before the first pass, so that the pass reads everything if the recording is over.
        let directories = directories(dir)?;
        let is_over = directories.iter().all(|dir| is_recording(dir) == Some(false));
        let stop = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGINT, Arc::clone(&stop))
            .map_err(|error| Failure::Failed(format!("signals cannot be handled: {error}")))?;
        Ok(Self { stop, is_over: Some(is_over) })
    }

    /// Until this flag is set.
    pub(crate) fn stopped(stop: Arc<AtomicBool>) -> Self {
        Self { stop, is_over: None }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Waits until there is a trace. Returns whether there is one.
    pub(crate) fn wait_for(&self, dir: &Path, out: &mut Out) -> Result<bool, Failure> {
        while !self.is_stopped() && directories(dir).is_err() {
            if !out.wait(PAUSE)? {
                return Ok(false);
            }
        }
        Ok(!self.is_stopped())
    }
}

/// Lets `follower` show what is new in the traces of a directory, or of a file and those beside it, and also in those that are
/// not there yet, until the end or the reader of the output is gone.
pub(crate) fn follow(
    dir: &Path,
    mut until: Until,
    follower: &mut impl Follow,
    out: &mut Out,
) -> Result<Status, Failure> {
    let (mut before, mut starts) = (None, BTreeMap::new());
    loop {
        let begun = Instant::now();
        let (mut source, unreadable) = Source::open_again(dir, before.take())?;
        if is_another_recording(&source, &mut starts) {
            let dir = dir.display();
            message(&format!(
                "another recording has begun in {dir}; the one before is in {dir}.old"
            ));
            return Ok(Status::Partial);
        }
        let is_over = until.is_over == Some(true);
        let pass = follower.pass(&mut source, !is_over, out)?;
        out.finish()?;
        let is_done = is_over && pass != Pass::More;
        if is_done || pass == Pass::Enough || until.is_stopped() {
            return follower.end(&mut source, &unreadable, out);
        }
        if pass == Pass::Nothing
            && let Some(is_over) = &mut until.is_over
        {
            // The recording is over if no JVM records any more. One more pass reads the last events.
            *is_over = !source.traces.iter().any(is_open);
            if *is_over {
                before = Some(source);
                continue;
            }
        }
        before = Some(source);
        if pass != Pass::More && !out.wait(PAUSE.max(begun.elapsed() * SHARE))? {
            return Ok(Status::Done);
        }
    }
}

/// Returns whether a trace has been replaced by a newer one, which does not continue it. `starts` are the starts of the
/// recordings that were seen.
fn is_another_recording(source: &Source, starts: &mut BTreeMap<PathBuf, u64>) -> bool {
    let mut found = source
        .traces
        .iter()
        .filter_map(|trace| Some((trace.dir(), trace.manifest()?.start_unix_ns)));
    found.any(|(dir, start)| *starts.entry(dir.to_path_buf()).or_insert(start) != start)
}
