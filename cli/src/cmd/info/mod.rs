//! `flow info`: what was run, how it was recorded, how it ended, and its threads.

mod marks;

use std::cmp::Reverse;
use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

use flow_codec::ThreadId;
use flow_codec::format::manifest::{AskedLoader, End, Manifest};
use flow_codec::read::{ThreadFile, Trace};
use serde::Serialize;

use crate::args::{Format, InfoArgs, ThreadKey};
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::reading::{Ending, count_thread};
use crate::input::source::Source;
use crate::input::state::State;
use crate::output::{
    Align, Out, Progress, Table, bytes, csv_fields, duration, escaped, grouped, left_out, lost,
    plural,
};
use marks::MarkCounts;

/// Threads shown in text by default.
const DEFAULT_ROWS: u64 = 40;

pub(crate) fn run(args: &InfoArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut source = Source::open(&args.source)?;
    source.choose(&args.threads)?;
    let format = args.source.format;
    if format == Format::Csv {
        writeln!(out, "trace,thread,name,kind,calls,max_frames,bytes,state,cpu_ns")?;
    }
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    let mut begun = false;
    for trace in &source.traces {
        let (mut threads, of_threads) = threads(args, trace, &mut progress);
        status = status.and(of_threads);
        let facts = TraceSums::new(args, trace, &threads);
        sort(&mut threads, args.sort);
        let name = source.name(&trace.dir);
        let all = threads.len();
        let max = line_limit(args.max, format, DEFAULT_ROWS);
        threads.truncate(max);
        match format {
            Format::Text => {
                if std::mem::replace(&mut begun, true) {
                    out.write_all(b"\n")?;
                }
                out.heading(&format!("trace {}", trace.dir.display()))?;
                print(args, trace, &facts, out)?;
                print_threads(&threads, out)?;
            }
            Format::Json => {
                let line = TraceLine {
                    trace: &name,
                    state: state_word(trace),
                    methods: trace.methods.met(),
                    calls: facts.calls,
                    bytes: facts.bytes,
                    marks: &facts.marks,
                    manifest: trace.manifest.as_ref(),
                    threads: &threads,
                };
                serde_json::to_writer(&mut *out, &line)?;
                out.write_all(b"\n")?;
            }
            Format::Csv => {
                for thread in &threads {
                    let fields = thread.fields();
                    let fields = fields.iter().map(String::as_str);
                    writeln!(out, "{}", csv_fields([name.as_str()].into_iter().chain(fields)))?;
                }
            }
        }
        if threads.len() < all {
            let more = plural((all - threads.len()) as u64, "more thread");
            let text = left_out(&more, max);
            out.remark(format, source.place(&trace.dir).as_deref(), &text)?;
        }
    }
    Ok(status)
}

/// A trace in JSON.
#[derive(Serialize)]
struct TraceLine<'a> {
    trace: &'a str,
    state: &'static str,
    methods: usize,
    calls: u64,
    bytes: u64,
    marks: &'a MarkCounts,
    manifest: Option<&'a Manifest>,
    threads: &'a [ThreadRow],
}

/// A thread, from its file and from `threads.jsonl`.
#[derive(Serialize)]
struct ThreadRow {
    thread: ThreadId,
    name: String,
    kind: &'static str,
    calls: u64,
    max_frames: u64,
    bytes: u64,
    state: &'static str,
    /// The processor time of the whole thread; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_ns: Option<u64>,
    /// The frames that were entered before recording began; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    open: Option<OpenFrameNames>,
}

#[derive(Serialize)]
struct OpenFrameNames {
    frames: Vec<String>,
    omitted: u64,
}

impl ThreadRow {
    fn fields(&self) -> [String; 8] {
        [
            self.thread.to_string(),
            self.name.clone(),
            self.kind.to_owned(),
            self.calls.to_string(),
            self.max_frames.to_string(),
            self.bytes.to_string(),
            self.state.to_owned(),
            self.cpu_ns.map_or(String::new(), |ns| ns.to_string()),
        ]
    }
}

/// The sums of all threads.
struct TraceSums {
    calls: u64,
    bytes: u64,
    threads: u64,
    marks: MarkCounts,
    /// The number of frames entered before recording, and the number of their threads.
    open: (u64, u64),
}

impl TraceSums {
    fn new(args: &InfoArgs, trace: &Trace, threads: &[ThreadRow]) -> Self {
        Self {
            calls: threads.iter().fold(0, |sum, thread| sum + thread.calls),
            bytes: trace.files.iter().fold(0, |sum, file| sum + file.stored_bytes()),
            threads: threads.iter().filter(|thread| thread.calls > 0).count() as u64,
            marks: MarkCounts::read(trace),
            open: trace
                .threads
                .iter()
                .filter(|(id, _)| args.threads.include(trace, *id))
                .map(|(_, thread)| thread.open.count())
                .filter(|count| *count > 0)
                .fold((0, 0), |(frames, threads), count| {
                    (count.saturating_add(frames), threads + 1)
                }),
        }
    }
}

fn threads(args: &InfoArgs, trace: &Trace, progress: &mut Progress) -> (Vec<ThreadRow>, Status) {
    let mut rows = Vec::new();
    let mut status = Status::Done;
    for file in &trace.files {
        let (total, reading) = count_thread(file, progress);
        status = status.and(reading.report(file, progress));
        let mut row = row(trace, file.id);
        row.calls = total.enters;
        row.max_frames = total.most_frames(0);
        row.bytes = file.stored_bytes();
        if !reading.is_sound() {
            row.state = "damaged";
        } else if let Ending::Truncated(_) = reading.ending {
            row.state = "truncated";
        }
        rows.push(row);
    }
    // Threads without a file: their JVM was killed before their first events were written.
    let has_file = |id| trace.files.binary_search_by_key(&id, |file: &ThreadFile| file.id).is_ok();
    let without = trace.threads.iter().filter(|(id, _)| !has_file(*id));
    let without = without.filter(|(id, _)| args.threads.include(trace, *id));
    rows.extend(without.map(|(id, _)| row(trace, id)));
    rows.sort_by_key(|row| row.thread);
    (rows, status)
}

/// Sorts rows that are ordered by id.
fn sort(rows: &mut [ThreadRow], key: ThreadKey) {
    match key {
        ThreadKey::Thread => {}
        ThreadKey::Kind => rows.sort_by_key(|row| row.kind),
        ThreadKey::Calls => rows.sort_by_key(|row| Reverse(row.calls)),
        ThreadKey::MaxFrames => rows.sort_by_key(|row| Reverse(row.max_frames)),
        ThreadKey::Bytes => rows.sort_by_key(|row| Reverse(row.bytes)),
        ThreadKey::Cpu => rows.sort_by_key(|row| Reverse(row.cpu_ns)),
        ThreadKey::State => rows.sort_by_key(|row| row.state),
        ThreadKey::Name => rows.sort_by(|a, b| a.name.cmp(&b.name)),
    }
}

fn row(trace: &Trace, id: ThreadId) -> ThreadRow {
    let thread = trace.threads.get(id);
    let ended = trace.manifest.as_ref().is_some_and(|manifest| manifest.end.is_some());
    ThreadRow {
        thread: id,
        name: thread.map(|thread| thread.name.clone()).unwrap_or_default(),
        kind: match thread {
            None => "",
            // No event of it was recorded, so its kind is unknown.
            Some(thread) if thread.start_ns.is_none() => "",
            Some(thread) if thread.is_virtual => "virtual",
            Some(thread) if thread.daemon => "daemon",
            Some(_) => "user",
        },
        calls: 0,
        max_frames: 0,
        bytes: 0,
        state: match thread {
            None => "unknown",
            Some(thread) if thread.end_ns.is_some() => "ended",
            Some(_) if ended => "alive at end",
            Some(_) => "not ended",
        },
        cpu_ns: thread.and_then(|thread| thread.cpu_ns),
        open: thread.filter(|thread| thread.open.count() > 0).map(|thread| OpenFrameNames {
            frames: thread.open.frames.clone(),
            omitted: thread.open.omitted,
        }),
    }
}

fn state_word(trace: &Trace) -> &'static str {
    match &trace.manifest {
        Some(Manifest { end: Some(_), .. }) => "ended",
        Some(_) => "unfinished",
        None => "unknown",
    }
}

fn print(args: &InfoArgs, trace: &Trace, facts: &TraceSums, out: &mut Out) -> Result<(), Failure> {
    let mut fact = |key: &str, value: &str| writeln!(out, "{key:<9} {}", escaped(value));
    if let Some(manifest) = &trace.manifest {
        if !manifest.command.is_empty() {
            fact("command", &manifest.command.join(" "))?;
        }
        let jvm = &manifest.jvm;
        fact("jvm", &format!("{} {} ({})", jvm.name, jvm.version, jvm.home))?;
        fact("process", &format!("{} on {}", manifest.pid, manifest.host))?;
        let start = UNIX_EPOCH + Duration::from_nanos(manifest.start_unix_ns);
        fact("started", &humantime::format_rfc3339_seconds(start).to_string())?;
        let (tool, engine) = (&manifest.tool, &manifest.engine);
        fact("recorded", &format!("by {tool}, engine {engine}, {} events", manifest.event_format))?;
        let options: Vec<_> =
            manifest.options.iter().map(|(key, value)| format!("{key}={value}")).collect();
        if options.is_empty() {
            fact("options", "none")?;
        }
        for (number, option) in options.iter().enumerate() {
            fact(if number == 0 { "options" } else { "" }, option)?;
        }
    }
    fact("end", &State::of(trace).ending())?;
    fact(
        "calls",
        &format!(
            "{} in {}, {}",
            grouped(facts.calls),
            plural(facts.threads, "thread"),
            bytes(facts.bytes)
        ),
    )?;
    if let Some(clock) = facts.marks.text(trace) {
        fact("clock", &clock)?;
    }
    if let Some(other) = facts.marks.other() {
        fact("marked", &other)?;
    }
    if let (frames @ 1.., threads) = facts.open {
        let (frames, threads) = (plural(frames, "frame"), plural(threads, "thread"));
        fact("before", &format!("{frames} entered before recording, in {threads}"))?;
    }
    fact("methods", &grouped(trace.methods.met() as u64))?;
    if let Some(end) = trace.manifest.as_ref().and_then(|manifest| manifest.end.as_ref()) {
        fact("lost", &lost(&end.lost).unwrap_or_else(|| "nothing".to_owned()))?;
        print_not_recorded(args, end, out)?;
        print_asked_loaders(args, end, out)?;
    }
    Ok(writeln!(out)?)
}

fn print_not_recorded(args: &InfoArgs, end: &End, out: &mut Out) -> Result<(), Failure> {
    if end.not_recorded.is_empty() {
        return Ok(());
    }
    let reasons: Vec<_> = end
        .not_recorded
        .iter()
        .map(|group| format!("{} {}", grouped(group.count), group.reason))
        .collect();
    let hint = if args.verbose { "" } else { " (--verbose names the methods)" };
    let text = format!("by the engine: {}{hint}", reasons.join(", "));
    writeln!(out, "{:<9} {}", "left out", escaped(&text))?;
    if args.verbose {
        for group in &end.not_recorded {
            for method in &group.methods {
                let line = format!("{}: {method}", group.reason);
                writeln!(out, "{:<9} {}", "", escaped(&line))?;
            }
            let more = group.count.saturating_sub(group.methods.len() as u64);
            if more > 0 {
                let line = format!("{}: and {} more", group.reason, grouped(more));
                writeln!(out, "{:<9} {}", "", escaped(&line))?;
            }
        }
    }
    Ok(())
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

fn print_threads(threads: &[ThreadRow], out: &mut Out) -> Result<(), Failure> {
    // Known only for platform threads that ended.
    let has_cpu = threads.iter().any(|thread| thread.cpu_ns.is_some());
    let right = |title| Some((title, Align::Right));
    let left = |title| Some((title, Align::Left));
    let columns = [
        right("thread"),
        left("kind"),
        right("calls"),
        right("max frames"),
        right("bytes"),
        if has_cpu { right("cpu") } else { None },
        left("state"),
        left("name"),
    ];
    let mut table = Table::new(&columns.into_iter().flatten().collect::<Vec<_>>());
    for thread in threads {
        let cells = [
            Some(thread.thread.to_string()),
            Some(thread.kind.to_owned()),
            Some(grouped(thread.calls)),
            Some(grouped(thread.max_frames)),
            Some(grouped(thread.bytes)),
            has_cpu.then(|| thread.cpu_ns.map(duration).unwrap_or_default()),
            Some(thread.state.to_owned()),
            Some(thread.name.clone()),
        ];
        table.row(cells.into_iter().flatten());
    }
    Ok(table.print(out)?)
}
