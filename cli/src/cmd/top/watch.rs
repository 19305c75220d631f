//! Reads a recording again and again.

use std::path::PathBuf;

use flow_codec::read::Trace;
use flow_query::ask::{Activity, Refresh};
use flow_query::select::Threads;

use super::received::Received;
use crate::args::TopArgs;
use crate::failure::Failure;
use crate::input::source::Source;

/// A recording, and the question about it.
#[derive(Debug)]
pub(super) struct Watch {
    dir: PathBuf,
    /// What receives it, if that is here.
    received: Option<Received>,
    activity: Activity,
    /// As it was at the last refresh.
    source: Option<Source>,
}

impl Watch {
    pub(super) fn new(dir: PathBuf, received: Option<Received>, args: &TopArgs) -> Self {
        let threads = Threads::of(&args.threads.patterns);
        let activity = Activity::of(args.filter.filter(), threads);
        Self { dir, received, activity, source: None }
    }

    /// Whether a signal ends it.
    pub(super) fn is_interrupted(&self) -> bool {
        self.received.as_ref().is_some_and(Received::is_interrupted)
    }

    /// What the collector said since the last call, if the trace is received here.
    pub(super) fn said(&self) -> Option<String> {
        self.received.as_ref().and_then(Received::said)
    }

    /// The traces as they were at the last refresh.
    pub(super) fn traces(&self) -> &[Trace] {
        self.source.as_ref().map_or(&[], |source| &source.traces)
    }

    /// What happened since the last refresh. The first one begins at the end of what was recorded.
    pub(super) fn refresh(&mut self) -> Result<Refresh, Failure> {
        let (mut source, unreadable) = Source::open_again(&self.dir, self.source.take())?;
        let mut refresh = self.activity.refresh(&mut source.traces)?;
        refresh.damage.splice(..0, unreadable.iter().map(|(_, error)| error.to_string()));
        self.source = Some(source);
        Ok(refresh)
    }
}
