//! What a recording lost, and what an answer lacks, in words.

use flow_codec::format::manifest::Lost;

use super::{flow_command, plural, seconds};

/// What was lost and why; `None` if nothing was.
pub(crate) fn lost(lost: &Lost) -> Option<String> {
    let mut what = Vec::new();
    if lost.events > 0 {
        what.push(plural(lost.events, "event"));
    }
    if let Some(at) = lost.stopped_at_ns {
        what.push(format!("all after {}, when the recording stopped", seconds(at)));
    }
    if what.is_empty() && lost.reasons.is_empty() {
        return None;
    }
    if what.is_empty() {
        what.push("perhaps some events".to_owned());
    }
    let what = what.join(", and ");
    let reasons = lost.reasons.join("; ");
    Some(if reasons.is_empty() { what } else { format!("{what}: {reasons}") })
}

/// Returns the message that there is no call of a method or shape in the threads that were searched, which were not all.
pub(crate) fn nothing_in_the_rest(what: &str, left_out: u64) -> String {
    let (threads, are) = (plural(left_out, "thread"), if left_out == 1 { "is" } else { "are" });
    format!(
        "{threads} {are} left out, which may have calls of '{what}'; the others have none that has ended ({} searches \
         all threads)",
        flow_command("replay --method METHOD --depth 1")
    )
}

/// Returns the message that threads or tests were left out of a comparison.
pub(crate) fn not_compared(count: u64, what: &str) -> String {
    let were = if count == 1 { "was" } else { "were" };
    format!("incomplete: {} {were} not compared, for the reason above", plural(count, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_that_were_not_counted_are_mentioned() {
        assert_eq!(lost(&Lost::default()), None);
        let stopped = Lost {
            events: 1024,
            stopped_at_ns: Some(66_000_000),
            reasons: vec!["disk full".to_owned()],
        };
        assert_eq!(
            lost(&stopped).unwrap(),
            "1,024 events, and all after 66ms, when the recording stopped: disk full"
        );
        let late = Lost { reasons: vec!["still writing".to_owned()], ..Lost::default() };
        assert_eq!(lost(&late).unwrap(), "perhaps some events: still writing");
    }
}
