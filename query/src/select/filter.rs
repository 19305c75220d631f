//! Which methods are selected.

use flow_codec::read::{OpenFrames, Selection, Trace};
use flow_codec::{Glob, Name, ThreadId};

use super::own::{likely_own, own_patterns};
use super::pattern::globs;
use crate::Error;

/// Calls are selected by method; callees of other calls move up to their callers.
#[derive(Clone, Default, Debug)]
pub struct Filter {
    pub(super) include: Vec<String>,
    pub(super) exclude: Vec<Glob>,
    pub(super) own: bool,
}

impl Filter {
    /// Selects methods that match one of the patterns `include`, or that are of the application if `own` is set, and
    /// none of the patterns `exclude`. Without the first two, all methods are included.
    #[must_use]
    pub fn new(include: &[String], exclude: &[Glob], own: bool) -> Self {
        Self { include: include.to_vec(), exclude: exclude.to_vec(), own }
    }

    /// Returns whether nothing is left out.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty() && !self.own
    }

    /// The patterns of methods that are left out.
    #[must_use]
    pub(crate) fn exclude(&self) -> &[Glob] {
        &self.exclude
    }

    /// The selected methods of a trace.
    #[must_use]
    pub fn selection(&self, trace: &Trace) -> Selection {
        Selection::new(trace.methods(), &self.included(trace), &self.exclude)
    }

    /// The selected frames of a thread that were entered before recording. Only their names are known,
    /// `pkg.Class.method(descriptor)`.
    #[doc(hidden)]
    #[must_use]
    pub fn open_frames(&self, trace: &Trace, thread: ThreadId) -> OpenFrames {
        let open = trace.threads().get(thread).map(|thread| thread.open.clone());
        let mut open = open.unwrap_or_default();
        let included = self.included(trace);
        open.frames
            .retain(|frame| Selection::is_selected(&included, &self.exclude, Name::parse(frame)));
        open
    }

    /// Returns whether a method is selected that only samples have, among the [included](Self::included) patterns.
    #[doc(hidden)]
    #[must_use]
    pub fn shows(&self, included: &[Glob], name: Name<'_>) -> bool {
        self.is_all() || Selection::is_selected(included, &self.exclude, name)
    }

    /// The patterns of methods that are included in a trace, with those of the application's packages.
    #[must_use]
    pub fn included(&self, trace: &Trace) -> Vec<Glob> {
        let own = if self.own { own_patterns(trace) } else { &[] };
        self.include.iter().chain(own).map(|pattern| Glob::new(pattern)).collect()
    }

    /// Checks that each pattern of included methods matches one of the traces, and that these know the application's packages,
    /// if they are selected.
    ///
    /// # Errors
    /// A pattern matches no method, or a trace does not know the packages.
    pub fn expect_in<'a>(
        &self,
        traces: impl IntoIterator<Item = &'a Trace> + Clone,
    ) -> Result<(), Error> {
        globs(&self.include, traces.clone())?;
        self.expect_own(traces)
    }

    /// Checks that traces know the application's packages, if these are selected.
    ///
    /// # Errors
    /// One does not know them.
    pub fn expect_own<'a>(&self, traces: impl IntoIterator<Item = &'a Trace>) -> Result<(), Error> {
        let unknown = traces.into_iter().find(|trace| self.own && own_patterns(trace).is_empty());
        let Some(trace) = unknown else { return Ok(()) };
        Err(Error::NoOwnPackages { path: trace.dir().to_path_buf(), likely: likely_own(trace) })
    }
}
