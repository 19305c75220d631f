//! Reads spans in the JSON encoding of OTLP, as far as a timeline uses it.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::{Call, Instants, Threads};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Line {
    resource_spans: [ResourceSpans; 1],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ResourceSpans {
    resource: Resource,
    scope_spans: [ScopeSpans; 1],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resource {
    attributes: Vec<Attribute>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScopeSpans {
    scope: BTreeMap<String, String>,
    spans: Vec<Span>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Span {
    trace_id: String,
    span_id: String,
    parent_span_id: Option<String>,
    name: String,
    kind: u32,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Attribute>,
    #[serde(default)]
    events: Vec<Event>,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Event {
    time_unix_nano: String,
    name: String,
    attributes: Vec<Attribute>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Status {
    code: u32,
    message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attribute {
    key: String,
    value: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
enum Value {
    #[serde(rename = "stringValue")]
    Text(String),
    #[serde(rename = "intValue")]
    Int(String),
    #[serde(rename = "boolValue")]
    Bool(bool),
}

/// The text of each attribute.
fn texts(attributes: &[Attribute]) -> BTreeMap<&str, String> {
    let text = |value: &Value| match value {
        Value::Text(text) | Value::Int(text) => text.clone(),
        Value::Bool(is_so) => is_so.to_string(),
    };
    let texts: BTreeMap<_, _> =
        attributes.iter().map(|one| (one.key.as_str(), text(&one.value))).collect();
    assert_eq!(texts.len(), attributes.len());
    texts
}

/// The attributes of the process, and the threads with what happened in them. Each call is in the trace of the call around it.
pub(crate) fn read(bytes: &[u8]) -> (BTreeMap<String, String>, Threads, Instants) {
    let lines = std::str::from_utf8(bytes).unwrap().lines();
    let lines: Vec<Line> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut process = BTreeMap::new();
    let mut spans = HashMap::new();
    for Line { resource_spans: [ResourceSpans { resource, scope_spans: [of_scope] }] } in &lines {
        assert_eq!(of_scope.scope["name"], "flow");
        let attributes = texts(&resource.attributes).into_iter();
        process = attributes.map(|(key, text)| (key.to_owned(), text)).collect();
        for span in &of_scope.spans {
            let [trace, id] = [&span.trace_id, &span.span_id];
            assert_eq!([trace.len(), id.len(), span.kind as usize], [32, 16, 1]);
            assert!(spans.insert((trace.as_str(), id.as_str()), span).is_none(), "{id} twice");
        }
    }
    let parent = |span: &Span| {
        span.parent_span_id.as_ref().map(|id| spans[&(span.trace_id.as_str(), id.as_str())])
    };
    let (mut threads, mut instants) = (Threads::new(), Instants::new());
    for span in spans.values().copied() {
        let attributes = texts(&span.attributes);
        let thread = attributes["thread.name"].clone();
        let name = attributes["code.function.name"].clone();
        assert!(name.ends_with(&format!(".{}", span.name)), "{name} of {}", span.name);
        let [begin, end] =
            [&span.start_time_unix_nano, &span.end_time_unix_nano].map(|at| at.parse().unwrap());
        for event in &span.events {
            let what: Vec<_> = texts(&event.attributes).into_values().collect();
            let what = format!("{}: {}", event.name, what.join(": "));
            instants.push((thread.clone(), event.time_unix_nano.parse().unwrap(), what));
        }
        if let Some(status) = &span.status {
            assert_eq!(status.code, 2);
            instants.push((thread.clone(), end, format!("ended by {}", status.message)));
        }
        let end = Some(end).filter(|_| !attributes.contains_key("flow.unfinished"));
        let depth = std::iter::successors(parent(span), |span| parent(span)).count();
        threads.entry(thread).or_default().push(Call { begin, end, depth, name });
    }
    threads.values_mut().for_each(|calls| calls.sort());
    instants.sort_by_key(|(_, at, what)| (*at, what.clone()));
    (process, threads, instants)
}
