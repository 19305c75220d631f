//! `flow replay --time`: the times of calls.

use flow_codec::read::{CallTimes, Unwound};

use crate::output::{
    bounded_duration, csv_fields, escaped, instant, push_csv_times, push_json_times, time_numbers,
};

/// The widths of the columns of text, start and duration.
const START_WIDTH: usize = 14;
const DURATION_WIDTH: usize = 18;

pub(super) const CSV_TITLES: &str = ",start_ns,start_from_ns,start_by_ns,duration_ns,\
    duration_from_ns,duration_by_ns,thrown,mark,text";

/// The columns after those of times, with samples.
pub(super) const SAMPLE_TITLES: &str = ",samples,sampled_ns,waiting_ns";

/// The columns before a call, or blanks.
pub(super) fn push_columns(line: &mut Vec<u8>, times: Option<&CallTimes>) {
    let is_known = times.is_some_and(|times| times.start.estimate_ns.is_some());
    let or_unknown = |known: Option<String>| match times {
        Some(_) => known.filter(|_| is_known).unwrap_or("?".to_owned()),
        None => String::new(),
    };
    let start = or_unknown(times.and_then(|times| times.start.estimate_ns).map(instant));
    let duration = or_unknown(times.map(|times| bounded_duration(times.duration)));
    // The padding of `format!` would take 25 % of the time of a line.
    for (text, width) in [(start, START_WIDTH), (duration, DURATION_WIDTH)] {
        let blanks = width.saturating_sub(text.chars().count());
        line.extend(std::iter::repeat_n(b' ', blanks));
        line.extend_from_slice(text.as_bytes());
        line.extend_from_slice(b"  ");
    }
}

/// The class of the exception that ended a call, `?` if it is unknown.
pub(super) fn thrown(times: &CallTimes) -> Option<&str> {
    let Unwound { class, .. } = times.unwound.as_ref()?;
    Some(class.as_deref().unwrap_or("?"))
}

/// `  ! x.Error`, or `  !` if the class is unknown; `None` if no exception ended the call.
#[inline]
pub(super) fn thrown_text(times: &CallTimes) -> Option<String> {
    Some(match thrown(times)? {
        "?" => "  !".to_owned(),
        class => format!("  ! {}", escaped(class)),
    })
}

pub(super) fn push_json(line: &mut Vec<u8>, times: &CallTimes) {
    push_json_times(&time_numbers(times), line);
    let thrown = serde_json::Value::from(thrown(times));
    line.extend_from_slice(format!(",\"thrown\":{thrown}").as_bytes());
}

pub(super) fn push_csv(line: &mut Vec<u8>, times: &CallTimes) {
    push_csv_times(time_numbers(times), line);
    line.push(b',');
    if let Some(class) = thrown(times) {
        line.extend_from_slice(csv_fields([&*escaped(class)]).as_bytes());
    }
    // A call is no mark: two empty columns.
    line.extend_from_slice(b",,");
}
