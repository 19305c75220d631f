//! Which methods are meant by the patterns of a command line.

use flow_codec::Glob;
use flow_codec::read::Trace;

use crate::failure::Failure;
use crate::source::Source;

/// The patterns, each of which must match some method of the source: what is misspelt would look as if
/// it were never called.
pub(crate) fn globs(patterns: &[String], source: &Source) -> Result<Vec<Glob>, Failure> {
    globs_in(patterns, &[source])
}

/// The same, where each must match some method of one source at least.
pub(crate) fn globs_in(patterns: &[String], sources: &[&Source]) -> Result<Vec<Glob>, Failure> {
    let glob = |pattern: &String| {
        let glob = Glob::new(pattern);
        let mut traces = sources.iter().flat_map(|source| &source.traces);
        // Ids without a name are methods of no class.
        let is_meant = glob.matches("", "") || traces.any(|trace| is_in(trace, &glob));
        is_meant.then_some(glob).ok_or_else(|| {
            Failure::Failed(format!(
                "no method like '{pattern}' in the trace; a pattern is pkg.Class or pkg.Class#method, \
                 with * for anything within a package and ** across"
            ))
        })
    };
    patterns.iter().map(glob).collect()
}

fn is_in(trace: &Trace, glob: &Glob) -> bool {
    let mut methods = trace.methods.iter();
    // Of frames that recording found open nothing but names is known.
    let open = trace.threads.iter().flat_map(|(_, thread)| &thread.open.frames);
    let mut open = open.map(|frame| frame_name(frame));
    methods.any(|(_, method)| glob.matches(&method.info.class, &method.info.name))
        || open.any(|(class, name)| glob.matches(class, name))
}

/// The class and the method of `pkg.Class.method(descriptor)`.
pub(crate) fn frame_name(frame: &str) -> (&str, &str) {
    let name = frame.split('(').next().unwrap_or_default();
    name.rsplit_once('.').unwrap_or(("", name))
}
