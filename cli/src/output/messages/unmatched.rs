//! Reports patterns of a recording that matched nothing.

use flow_query::open::unmatched;

use super::super::{alarm, message};

/// Reports a pattern that matched nothing, in red if the trace may therefore have values that it should leave out.
pub(crate) fn report_unmatched(option: &str, pattern: &str) {
    let print = if option == "redact" { alarm } else { message };
    print(&unmatched(option, pattern));
}
