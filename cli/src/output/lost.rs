//! What a recording lost, in words.

use flow_codec::format::manifest::Lost;

use super::{plural, seconds};

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
