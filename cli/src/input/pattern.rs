//! Patterns for methods on the command line.

use flow_codec::read::Trace;
use flow_codec::{Glob, Name};

use crate::failure::Failure;

/// Parses patterns. Each must match at least one method of one of the traces: a misspelt pattern would look like a
/// method that is never called.
pub(crate) fn globs<'a>(
    patterns: &[String],
    traces: impl IntoIterator<Item = &'a Trace> + Clone,
) -> Result<Vec<Glob>, Failure> {
    let glob = |pattern: &String| {
        let glob = Glob::new(pattern);
        let mut traces = traces.clone().into_iter();
        // Ids without a name are methods of no class.
        let is_nameless = glob.matches("", "") || glob.nameless_id().is_some();
        let is_meant = is_nameless || traces.any(|trace| is_in(trace, &glob));
        is_meant.then_some(glob).ok_or_else(|| {
            Failure::Failed(format!(
                "no method like '{pattern}' in the trace; a pattern is pkg.Class or pkg.Class#method, \
                 with * for anything within a package and ** across packages, or a name as flow shows it"
            ))
        })
    };
    patterns.iter().map(glob).collect()
}

fn is_in(trace: &Trace, glob: &Glob) -> bool {
    let mut methods = trace.methods.iter();
    // Of frames that were entered before recording, only the names are known.
    let open = trace.threads.iter().flat_map(|(_, thread)| &thread.open.frames);
    methods.any(|(_, method)| glob.matches_name(Name::from(&method.info)))
        || open.map(|frame| Name::parse(frame)).any(|name| glob.matches_name(name))
}
