//! How the samples of a call are shown.

use flow_query::in_order::{Inside, LineSamples};

use super::{Labels, duration, plural};

/// Where samples are: `Db.java:20 in java.util.HashMap.get(Object)`.
pub(crate) fn place_of_samples(samples: &LineSamples, labels: &Labels<'_>) -> String {
    let line = samples.number().map(|line| {
        let method = samples.line.and_then(|frame| frame.method);
        let place = method.and_then(|method| labels.line(method, line));
        let (source, line) = place.unwrap_or((None, line));
        format!("{}:{line}", source.unwrap_or("line"))
    });
    let inside = match samples.inside {
        Inside::Itself => None,
        Inside::Missed(cause) => Some(format!("no stack: {cause}")),
        Inside::Method(Some(method)) => Some(format!("in {}", labels.name(method))),
        _ => Some("in an unknown method".to_owned()),
    };
    line.into_iter().chain(inside).collect::<Vec<_>>().join(" ")
}

/// Samples as text: `3 samples, 30 ms, 10 ms waiting  Db.java:20`.
pub(crate) fn text_of_samples(samples: &LineSamples, labels: &Labels<'_>) -> String {
    let waiting = match samples.waiting_ns {
        0 => String::new(),
        ns => format!(", {} waiting", duration(ns)),
    };
    let (count, place) = (plural(samples.count, "sample"), place_of_samples(samples, labels));
    let gap = if place.is_empty() { "" } else { "  " };
    format!("{count}, {}{waiting}{gap}{place}", duration(samples.ns))
}
