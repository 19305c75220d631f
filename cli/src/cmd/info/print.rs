//! Prints what is known about a trace as a whole.

use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

use flow_codec::format::manifest::{AskedLoader, End, FilterChange, Manifest, Unmatched};
use flow_codec::format::samples::SampleClock;
use flow_codec::read::{SampleCounts, Trace};

use super::marks;
use crate::args::InfoArgs;
use crate::failure::Failure;
use crate::output::{Out, bytes, escaped, grouped, plural, seconds};
use flow_query::ask::{StoredShapes, TraceInfo};
use flow_query::open::{lost, unmatched};

fn manifest_option<'a>(trace: &'a Trace, key: &str) -> Option<&'a String> {
    trace.manifest()?.options.get(key)
}

/// Prints the sums of a trace as text.
pub(super) fn print(args: &InfoArgs, info: &TraceInfo<'_>, out: &mut Out) -> Result<(), Failure> {
    let trace = info.trace;
    let mut fact = |key: &str, value: &str| writeln!(out, "{key:<9} {}", escaped(value));
    if let Some(manifest) = trace.manifest() {
        if !manifest.command.is_empty() {
            fact("command", &manifest.command.join(" "))?;
        }
        let jvm = &manifest.jvm;
        fact("jvm", &format!("{} {} ({})", jvm.name, jvm.version, jvm.home))?;
        fact("process", &format!("{} on {}", manifest.pid, manifest.host))?;
        let start = UNIX_EPOCH + Duration::from_nanos(manifest.start_unix_ns);
        fact("started", &humantime::format_rfc3339_seconds(start).to_string())?;
        let (tool, engine) = (&manifest.tool, &manifest.engine);
        let text = if manifest.event_format == "jsonl" { ", as text (jsonl)" } else { "" };
        fact("recorded", &format!("by {tool}, engine {engine}{text}"))?;
        let given =
            manifest.options.iter().filter(|(key, value)| !is_of_record(manifest, key, value));
        let options: Vec<_> = given.map(|(key, value)| format!("{key}={value}")).collect();
        if options.is_empty() {
            fact("options", "none")?;
        }
        for (number, option) in options.iter().enumerate() {
            fact(if number == 0 { "options" } else { "" }, option)?;
        }
    }
    fact("end", &info.state.ending())?;
    let (places, size) = (plural(info.with_calls, "thread"), bytes(info.bytes));
    let calls = match trace.manifest().is_none_or(Manifest::has_calls) {
        true => grouped(info.calls),
        false => format!("not recorded; {} reached first", plural(info.calls, "place")),
    };
    fact("calls", &format!("{calls} in {places}, {size}"))?;
    let StoredShapes { count, bytes: size, threads } = info.shapes;
    if threads > 0 {
        let (count, threads) = (grouped(count), plural(threads, "thread"));
        fact("shapes", &format!("{count} of these calls, in {threads}, {}", bytes(size)))?;
    }
    if let Some(clock) = marks::clock(&info.marks, trace) {
        fact("clock", &clock)?;
    }
    if let Some(other) = marks::other(&info.marks) {
        fact("marked", &other)?;
    }
    for (number, line) in info.samples.iter().flat_map(sample_lines).enumerate() {
        fact(if number == 0 { "samples" } else { "" }, &line)?;
    }
    if info.open_frames > 0 {
        let (frames, threads) =
            (plural(info.open_frames, "frame"), plural(info.open_threads, "thread"));
        fact("before", &format!("{frames} entered before recording, in {threads}"))?;
    }
    let given_up = trace.given_up();
    if given_up.enters > 0 {
        let calls = plural(given_up.enters, "call");
        let kept = manifest_option(trace, "keep").map(|keep| format!(" (keep={keep})"));
        let kept = kept.unwrap_or_default();
        fact("given up", &format!("{calls} before these, because newer ones were kept{kept}"))?;
    }
    fact("methods", &grouped(trace.methods().met() as u64))?;
    if let Some(end) = trace.manifest().and_then(|manifest| manifest.end.as_ref()) {
        fact("lost", &lost(&end.lost).unwrap_or_else(|| "nothing".to_owned()))?;
        print_not_recorded(args, end, out)?;
        print_asked_loaders(args, end, out)?;
        let all = end.unmatched.iter().flat_map(|Unmatched { option, patterns }| {
            patterns.iter().map(move |pattern| unmatched(option, pattern))
        });
        for (number, line) in all.enumerate() {
            writeln!(out, "{:<9} {}", if number == 0 { "unmatched" } else { "" }, escaped(&line))?;
        }
        for (number, FilterChange { at_ns, filter }) in end.filters.iter().enumerate() {
            let label = if number == 0 { "filter" } else { "" };
            let filter = if filter.is_empty() { "the default" } else { filter };
            let line = format!("{} on: {filter}", seconds(*at_ns));
            writeln!(out, "{label:<9} {}", escaped(&line))?;
        }
    }
    Ok(writeln!(out)?)
}

/// How many samples of stacks there are, how they were taken, and why some have no stack.
fn sample_lines(counts: &SampleCounts) -> Vec<String> {
    let Some(sampling) = counts.sampling else { return vec!["none were written".to_owned()] };
    let interval = humantime::format_duration(Duration::from_nanos(sampling.interval_ns));
    let by = match sampling.clock {
        SampleClock::Cpu => "of processor time",
        SampleClock::Wall => "of time that passes",
    };
    let (stacks, intervals) = (plural(counts.stacks, "stack"), grouped(counts.intervals));
    let mut lines = vec![format!("{stacks} for {intervals} intervals of {interval} {by}")];
    let missed: u64 = counts.missed.iter().map(|(_, count)| count).sum();
    if missed > 0 {
        let causes = counts.missed.iter().map(|(cause, count)| {
            let name = match cause.name() {
                "" => format!("cause {}", cause.0),
                name => name.to_owned(),
            };
            format!("{name} {}", grouped(*count))
        });
        let causes = causes.collect::<Vec<_>>().join(", ");
        lines.push(format!("{} intervals without a stack: {causes}", grouped(missed)));
    }
    if counts.unknown_frames > 0 {
        lines.push(format!("{} of unknown methods", plural(counts.unknown_frames, "frame")));
    }
    if counts.cut > 0 {
        lines.push(format!("{} cut (max-frames)", plural(counts.cut, "stack")));
    }
    lines
}

/// Returns whether `flow record` has added an option that says nothing about the trace: the place of a temporary file,
/// and the largest size, which it gives in bytes.
fn is_of_record(manifest: &Manifest, key: &str, value: &str) -> bool {
    manifest.session.is_some()
        && match key {
            "api" => true,
            "max-size" => value.bytes().all(|byte| byte.is_ascii_digit()),
            _ => false,
        }
}

fn print_not_recorded(args: &InfoArgs, end: &End, out: &mut Out) -> Result<(), Failure> {
    if end.not_recorded.is_empty() {
        return Ok(());
    }
    let reasons: Vec<_> = end
        .not_recorded
        .iter()
        .map(|group| format!("{} {}", grouped(group.count), reason(&group.reason)))
        .collect();
    let hint = if args.verbose { "" } else { " (--verbose names the methods)" };
    let text = format!("by the engine: {}{hint}", reasons.join(", "));
    writeln!(out, "{:<9} {}", "left out", escaped(&text))?;
    if args.verbose {
        for group in &end.not_recorded {
            for method in &group.methods {
                let line = format!("{}: {method}", reason(&group.reason));
                writeln!(out, "{:<9} {}", "", escaped(&line))?;
            }
            let more = group.count.saturating_sub(group.methods.len() as u64);
            if more > 0 {
                let line = format!("{}: and {} more", reason(&group.reason), grouped(more));
                writeln!(out, "{:<9} {}", "", escaped(&line))?;
            }
        }
    }
    Ok(())
}

/// The reason why the engine left out methods, in words: `in hidden classes`.
fn reason(word: &str) -> &str {
    match word {
        "hidden-class" => "in hidden classes",
        "switches-thread" => "that switch threads",
        "protected" => "on which the JVM depends",
        "thread-without-id" => "on threads without an id",
        "unknown-class-file" => "in class files of unknown structure",
        "class-refused" => "in classes that the JVM does not let change",
        "malformed" | "unknown-frame" | "odd-constructor" => "whose code is not understood",
        "too-large" | "pool-full" | "id-too-large" => "too large for probes",
        "too-large-to-compile" | "not-compilable" => "that would no longer be compiled",
        "without-lines" => "recorded without their lines",
        "without-values" => "recorded without their values",
        "without-instructions" => "recorded without their instructions",
        "without-fields" => "recorded without what they access",
        "without-exceptions" => "recorded without some exceptions that reach their handlers",
        "accessor" => "that are accessors",
        "empty-finalizer" => "that are empty finalizers",
        word => word,
    }
}

fn print_asked_loaders(args: &InfoArgs, end: &End, out: &mut Out) -> Result<(), Failure> {
    let requests = end.asked_loaders.iter().map(|asked| asked.requests);
    let requests = requests.fold(0, u64::saturating_add);
    if requests == 0 {
        return Ok(());
    }
    let hint = if args.verbose { "" } else { " (--verbose names the class loaders)" };
    let calls = plural(requests, "call");
    writeln!(out, "{:<9} {calls} of loadClass by the agent{hint}", "added")?;
    if args.verbose {
        for AskedLoader { class, requests } in &end.asked_loaders {
            let line = format!("{class}: {}", grouped(*requests));
            writeln!(out, "{:<9} {}", "", escaped(&line))?;
        }
    }
    Ok(())
}
