//! What an answer lacks, in words.

use super::super::{flow_command, plural};

/// Returns the message that there is no call of a method or shape in the threads that were searched, which were not all.
pub(crate) fn nothing_in_the_rest(what: &str, left_out: u64) -> String {
    let (threads, are) = (plural(left_out, "thread"), if left_out == 1 { "is" } else { "are" });
    format!(
        "{threads} {are} left out, which may have calls of '{what}'; the others have none that has ended ({} searches \
         all threads)",
        flow_command("replay --method METHOD --depth 1")
    )
}

/// Returns the message that no call ended.
pub(crate) fn none_ended(what: &str) -> String {
    format!(
        "no call of '{what}' that has ended is in the selected part of the trace; {} also shows calls that have not",
        flow_command(&format!("replay --method '{what}' --depth 1"))
    )
}

/// Returns the message that threads or tests were left out of a comparison.
pub(crate) fn not_compared(count: u64, what: &str) -> String {
    let were = if count == 1 { "was" } else { "were" };
    format!("incomplete: {} {were} not compared, for the reason above", plural(count, what))
}
