//! What recorded lines lack.

use flow_query::ask::Covered;
use flow_query::text::plural;

/// What a person should know of the lines that were read, beside their counts.
pub(crate) fn lines_message(covered: &Covered) -> Option<String> {
    if covered.files.is_empty() {
        return Some(
            "no lines are recorded; record with --lines GLOB, such as --lines 'com.app.Orders#total'"
                .to_owned(),
        );
    }
    (covered.unplaced > 0).then(|| {
        format!(
            "{} of frames that were entered before recording began or was resumed: their method is unknown",
            plural(covered.unplaced, "line")
        )
    })
}
