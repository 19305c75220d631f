//! What presets know of the calls of a trace.

use flow_codec::read::Trace;
use flow_query::ask::{CallContexts, HandedCalls};
use flow_query::select::ContextPattern;

/// What presets know of calls. Other threads than those that are written have a part in it.
#[derive(Default)]
pub(crate) struct OfPresets {
    pub(super) handed: HandedCalls,
    pub(super) contexts: CallContexts,
    /// The contexts that are selected, if only some are.
    pub(super) wanted: Option<ContextPattern>,
}

impl OfPresets {
    /// Selects contexts.
    pub(crate) fn new(wanted: Option<&ContextPattern>) -> Self {
        Self { wanted: wanted.cloned(), ..Self::default() }
    }

    /// Adds what calls hand to other threads. What cannot be read is reported when the calls are.
    pub(crate) fn with_hand_overs(self, trace: &Trace) -> Self {
        Self { handed: HandedCalls::of(trace), ..self }
    }

    /// Adds the contexts of calls. What cannot be read is reported when the calls are.
    pub(crate) fn with_contexts(self, trace: &Trace) -> Self {
        Self { contexts: CallContexts::of(trace), ..self }
    }
}
