//! Which methods are meant by the patterns of a command line.

use flow_codec::Glob;

use crate::failure::Failure;
use crate::source::Source;

/// The patterns, each of which must match some method of the source: what is misspelt would look as if
/// it were never called.
pub(crate) fn globs(patterns: &[String], source: &Source) -> Result<Vec<Glob>, Failure> {
    let glob = |pattern: &String| {
        let glob = Glob::new(pattern);
        let mut methods = source.traces.iter().flat_map(|trace| trace.methods.iter());
        let is_meant = methods.any(|(_, method)| glob.matches(&method.info.class, &method.info.name))
            // Ids without a name.
            || glob.matches("", "");
        is_meant.then_some(glob).ok_or_else(|| {
            Failure::Failed(format!(
                "no method like '{pattern}' in the trace; a pattern is pkg.Class or pkg.Class#method, \
                 with * for anything within a package and ** across"
            ))
        })
    };
    patterns.iter().map(glob).collect()
}
