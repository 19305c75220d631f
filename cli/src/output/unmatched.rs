//! Describes patterns of a recording that matched nothing.

use super::{alarm, message};

/// Describes what a pattern that matched nothing means. `option` is the key of the agent's option, and the name of its flag.
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

/// Reports a pattern that matched nothing, in red if the trace may therefore have values that it should leave out.
pub(crate) fn report_unmatched(option: &str, pattern: &str) {
    let print = if option == "redact" { alarm } else { message };
    print(&unmatched(option, pattern));
}
