//! Patterns of a recording that matched nothing, in words.

/// What a pattern that matched nothing means. `option` is the key of the agent's option, and the name of its flag.
pub(crate) fn unmatched(option: &str, pattern: &str) -> String {
    let what = match option {
        "target" | "include" => "no method of a class that was loaded",
        "fields" => "no field that a recorded method accesses",
        "redact" => {
            "no name of a parameter, field, class or method whose values were recorded; if it is misspelt, the trace \
             has what it should leave out"
        }
        _ => "no recorded method",
    };
    format!("'{pattern}' (--{option}) matches {what}")
}

/// Returns whether values that should be left out may be in the trace if a pattern of this option matches nothing.
pub(crate) fn may_reveal(option: &str) -> bool {
    option == "redact"
}
