//! Remarks of answers, with the flag or verb that helps.

use flow_query::Remark;

use super::super::{flow_command, instant};

/// A remark in words, with the flag that it is about.
pub(crate) fn remark(remark: &Remark) -> String {
    match remark {
        Remark::Guessed { .. } => format!("{remark}; {} shows samples", flow_command("report")),
        Remark::Unmatched(error) => format!("--exclude: {error}"),
        Remark::NoTimeBefore { at_ns } => {
            format!("--time: no time before {} is known", instant(*at_ns))
        }
        Remark::NoTimeAfter { at_ns } => {
            format!("--time: no time after {} is known", instant(*at_ns))
        }
        Remark::TooManyShapes { .. } => format!("{remark} (--memory allows more)"),
        _ => remark.to_string(),
    }
}
