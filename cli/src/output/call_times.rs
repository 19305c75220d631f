//! The times of calls as numbers, in JSON and CSV.

use flow_codec::read::CallTimes;
use flow_query::rows::TimeColumns;

/// The columns of a call's times.
const TIME_COLUMNS: &str =
    "start_ns,start_from_ns,start_by_ns,duration_ns,duration_from_ns,duration_by_ns";

/// The numbers of a call, each `None` if it is unknown.
pub(crate) fn time_numbers(times: &CallTimes) -> [Option<u64>; 6] {
    let CallTimes { start, duration, duration_ns, .. } = times;
    let known = |by_ns: u64| (by_ns != u64::MAX).then_some(by_ns);
    let is_known = start.estimate_ns.is_some();
    [
        start.estimate_ns,
        is_known.then_some(start.bounds.from_ns),
        known(start.bounds.by_ns),
        is_known.then_some(*duration_ns),
        is_known.then_some(duration.from_ns),
        known(duration.by_ns),
    ]
}

/// The numbers of a call as columns of a row.
pub(crate) fn time_columns(times: &CallTimes) -> TimeColumns {
    let [start_ns, start_from_ns, start_by_ns, duration_ns, duration_from_ns, duration_by_ns] =
        time_numbers(times);
    TimeColumns {
        start_ns,
        start_from_ns,
        start_by_ns,
        duration_ns,
        duration_from_ns,
        duration_by_ns,
    }
}

/// Appends the first of these numbers as fields of JSON, each after a comma.
pub(crate) fn push_json_times(numbers: &[Option<u64>], line: &mut Vec<u8>) {
    for (title, number) in TIME_COLUMNS.split(',').zip(numbers) {
        let number = number.map_or("null".to_owned(), |number| number.to_string());
        line.extend_from_slice(format!(",\"{title}\":{number}").as_bytes());
    }
}

/// Appends these numbers as fields of CSV, each after a comma.
pub(crate) fn push_csv_times(numbers: [Option<u64>; 6], line: &mut Vec<u8>) {
    for number in numbers {
        line.push(b',');
        let number = number.map_or(String::new(), |number| number.to_string());
        line.extend_from_slice(number.as_bytes());
    }
}
