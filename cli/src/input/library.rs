//! Names the library that made most of the calls, and the flags that hide it.

use flow_codec::MethodId;
use flow_codec::read::Trace;
use flow_query::select::largest_library;

use super::flags::FilterArgs;
use crate::output::{escaped, percent};

/// Names the library that made most of the calls of a trace, and the flags that hide it; `None` if there is none, or if
/// something is hidden already.
pub(crate) fn library_hint(
    trace: &Trace,
    filter: &FilterArgs,
    of_methods: impl Iterator<Item = (MethodId, u64)> + Clone,
) -> Option<String> {
    if !filter.is_all() {
        return None;
    }
    let library = largest_library(trace, of_methods)?;
    let package = escaped(&library.package);
    let alone = match &library.likely_own {
        None => "--own shows the application alone".to_owned(),
        Some(likely) => format!("--include '{}' shows the application alone", escaped(likely)),
    };
    let share = percent(library.calls, library.all);
    Some(format!(
        "{share} of the calls are in {package}; --exclude '{package}.**' hides them, {alone}"
    ))
}
