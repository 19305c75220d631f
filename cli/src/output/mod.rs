//! All printing: results to stdout through [`Out`], messages and progress to stderr.
//!
//! Names come from class files and threads, and may contain anything. [`escaped()`] is the only place that escapes
//! characters that could control a terminal or mislead a reader.

mod call_times;
mod details;
mod escape;
mod format;
mod labels;
mod messages;
mod open_values;
mod out;
mod path;
mod progress;
mod reports;
mod styled;
mod table;
mod units;
mod weight;

pub(crate) use call_times::{push_csv_times, push_json_times, time_columns, time_numbers};
pub(crate) use details::{DetailRow, text_of_samples};
pub(crate) use flow_query::text::{ValueTexts, bytes, escaped, grouped, plural, seconds};
pub(crate) use format::{ColorWhen, Format};
pub(crate) use labels::{Labels, Memo, csv_fields, short_line};
pub(crate) use messages::flow_command::{STARTED_AS, flow_command, started_as};
pub(crate) use messages::lines::lines_message;
pub(crate) use messages::lost::{none_ended, not_compared, nothing_in_the_rest};
pub(crate) use messages::remark::remark;
pub(crate) use messages::shell::shell_quoted;
pub(crate) use messages::unmatched::report_unmatched;
pub(crate) use open_values::OpenValues;
pub(crate) use out::{Out, alarm, beyond, left_out, message};
pub(crate) use path::{chain, indent, indentation, more};
pub(crate) use progress::Progress;
pub(crate) use reports::{Annotation, Case, Level, suite, xml};
pub(crate) use styled::fit::{columns as terminal_columns, fit_word as shortened};
pub(crate) use styled::links::LinkTo;
pub(crate) use table::{Records, Table, markdown};
pub(crate) use units::{
    bounded_duration, duration, instant, percent, push_digits, push_number, signed_duration,
};
pub(crate) use weight::{
    ROUGH_NOTE, SAMPLES_NOTE, Scale, Shares, Unit, Weight, is_rough, rough_duration,
};
