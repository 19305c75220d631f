//! `flow check`: whether a trace is whole.
//!
//! | verdict | because of | exit status |
//! |---|---|---:|
//! | sound | nothing, or notes: open frames, exits of unseen frames, no end | 0 |
//! | partial | something is missing: a record cut off, events lost, a thread without a start | 3 |
//! | damaged | something is wrong: bytes or lines that violate the format, ids without a name, totals that differ | 1 |

use std::io::Write;
use std::path::Path;

use flow_codec::format::manifest::{End, Manifest, Totals};
use flow_codec::format::names;
use flow_codec::read::{ThreadFile, Trace};
use flow_codec::tree::Step;
use flow_codec::{Error, MethodMap};
use serde::Serialize;

use crate::args::{CheckArgs, Format};
use crate::failure::{Failure, Status};
use crate::output::{Out, Progress, bytes, csv_fields, lost, neutral, plural};
use crate::source::{Ending, Flow, Source, thread_title, walk_thread};

/// Findings of text that are shown; the graver ones come first.
const SHOWN_FINDINGS: usize = 40;
/// Ids without a name that are named themselves.
const SHOWN_IDS: usize = 5;

/// Runs the verb.
pub(crate) fn run(args: &CheckArgs, out: &mut Out) -> Result<Status, Failure> {
    let (source, unreadable) = Source::open_silently(&args.source.dir)?;
    let format = args.source.format;
    if format == Format::Csv {
        writeln!(out, "trace,verdict,severity,place,finding")?;
    }
    let mut progress = Progress::new(source.bytes(), false);
    let mut checks = Vec::new();
    for trace in &source.traces {
        checks.push((trace.dir.as_path(), Check::run(trace, &mut progress)?));
    }
    for (dir, error) in &unreadable {
        checks.push((dir, Check::unreadable(error)));
    }
    drop(progress);
    let mut status = Status::Done;
    for (number, (dir, check)) in checks.iter().enumerate() {
        status = status.and(check.status());
        let name = source.name(dir);
        match format {
            Format::Text => {
                if number > 0 {
                    out.write_all(b"\n")?;
                }
                check.print(dir, out)?;
            }
            Format::Json => check.print_json(&name, out)?,
            Format::Csv => check.print_csv(&name, out)?,
        }
    }
    Ok(status)
}

/// How grave a finding is.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[serde(rename_all = "lowercase")]
enum Severity {
    Damage,
    Missing,
    Note,
}

impl Severity {
    const fn word(self) -> &'static str {
        match self {
            Self::Damage => "damage",
            Self::Missing => "missing",
            Self::Note => "note",
        }
    }
}

/// One thing that is not as it should be, or worth knowing.
#[derive(Serialize, Debug)]
struct Finding {
    severity: Severity,
    /// The file, or `trace`.
    place: String,
    #[serde(rename = "finding")]
    text: String,
}

/// The findings of one trace.
#[derive(Default)]
struct Check {
    findings: Vec<Finding>,
    counted: Totals,
    /// How many records were cut off, or files unreadable: why events may be missing.
    cut: u64,
}

impl Check {
    fn run(trace: &Trace, progress: &mut Progress) -> Result<Self, Failure> {
        let mut check = Self::default();
        for error in &trace.damage {
            check.add(Severity::Damage, "trace", error.to_string());
        }
        let mut named = MethodMap::<bool>::default();
        for (id, _) in trace.methods.iter() {
            *named.or_default(id) = true;
        }
        check.counted.methods = trace.methods.met() as u64;
        check.names(trace);
        for file in &trace.files {
            check.thread(trace, file, &named, progress)?;
        }
        check.end(trace.manifest.as_ref());
        check.findings.sort_by_key(|finding| finding.severity);
        Ok(check)
    }

    /// Whether the files of names are there, and tell of the same methods.
    fn names(&mut self, trace: &Trace) {
        // Other writers have fewer files.
        let Some(manifest) = &trace.manifest else { return };
        for name in [names::IDS, names::METHODS, names::THREADS] {
            // Killed before its first event, a JVM may not have made them yet.
            let needed = manifest.end.is_some() || !trace.files.is_empty();
            if needed && !trace.dir.join(name).exists() {
                self.add(Severity::Missing, name, "the file is missing".to_owned());
            }
        }
        let without_key = trace.methods.iter().filter(|(_, method)| !method.has_key).count() as u64;
        // A kill may come between the two files, to which methods are added by the class. No event uses them.
        if without_key > 0 && manifest.end.is_some() && trace.dir.join(names::IDS).exists() {
            let methods = plural(without_key, "method");
            let text = format!("without {methods} that methods.jsonl tells of");
            self.add(Severity::Missing, names::IDS, text);
        }
    }

    fn unreadable(error: &Error) -> Self {
        let mut check = Self::default();
        check.add(Severity::Damage, "trace", error.to_string());
        check
    }

    fn add(&mut self, severity: Severity, place: &str, text: String) {
        self.findings.push(Finding { severity, place: place.to_owned(), text });
    }

    fn thread(
        &mut self,
        trace: &Trace,
        file: &ThreadFile,
        named: &MethodMap<bool>,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let place = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut unnamed = Vec::new();
        let mut unnamed_calls: u64 = 0;
        let (ending, walk) = walk_thread(file, progress, |step| {
            if let Step::Enter { method, offset, .. } = step
                && named.get(method).is_none()
            {
                unnamed_calls += 1;
                if unnamed.len() < SHOWN_IDS && unnamed.iter().all(|(id, _)| *id != method) {
                    unnamed.push((method, offset));
                }
            }
            Ok(Flow::Continue)
        })?;
        if unnamed_calls > 0 {
            let ids: Vec<_> =
                unnamed.iter().map(|(id, offset)| format!("{id} at offset {offset}")).collect();
            let calls = plural(unnamed_calls, "call");
            let text = format!("{calls} of ids without a name: first {}", ids.join(", "));
            self.add(Severity::Damage, &place, text);
        }
        match &ending {
            Ending::Whole | Ending::Stopped => {}
            Ending::Truncated(offset) => {
                self.cut += 1;
                let text = format!("ends inside a record at offset {offset}");
                self.add(Severity::Missing, &place, text);
            }
            Ending::Failed(error) => self.add(Severity::Damage, &place, error.to_string()),
        }
        let started = trace.threads.get(file.id).is_some_and(|thread| thread.start_ns.is_some());
        if !started {
            // Writers without a manifest do not tell of threads.
            let severity =
                if trace.manifest.is_some() { Severity::Missing } else { Severity::Note };
            self.add(severity, &place, "threads.jsonl does not tell of this thread".to_owned());
        }
        let Some(walk) = walk else { return Ok(()) };
        if walk.non_canonical() > 0 {
            let records = plural(walk.non_canonical(), "record");
            let text = format!("{records} not in canonical form: another writer's");
            self.add(Severity::Note, &place, text);
        }
        let totals = walk.totals();
        self.counted.threads += u64::from(totals.enters > 0 || totals.exits > 0);
        self.counted.enters = self.counted.enters.saturating_add(totals.enters);
        self.counted.exits = self.counted.exits.saturating_add(totals.exits);
        self.counted.bytes = self.counted.bytes.saturating_add(file.bytes);
        let title = thread_title(trace, file.id);
        if totals.unseen_exits > 0 {
            let frames = plural(totals.unseen_exits, "frame");
            let text = format!("thread {title} left {frames} entered before recording");
            self.add(Severity::Note, &place, text);
        }
        let open = walk.open_frames().len() as u64;
        if open > 0 && !matches!(ending, Ending::Failed(_)) {
            let text = format!("thread {title} has {} open at its end", plural(open, "frame"));
            self.add(Severity::Note, &place, text);
        }
        Ok(())
    }

    fn end(&mut self, manifest: Option<&Manifest>) {
        match manifest {
            None => self.add(Severity::Note, "trace", "there is no readable trace.json".to_owned()),
            Some(Manifest { end: None, .. }) => {
                let text = "not finished (killed, or still running)";
                self.add(Severity::Note, "trace.json", text.to_owned());
            }
            Some(Manifest { end: Some(end), .. }) => {
                self.lost(end);
                self.compare(end);
            }
        }
    }

    fn lost(&mut self, end: &End) {
        if let Some(lost) = lost(&end.lost) {
            self.add(Severity::Missing, "trace.json", format!("lost while recording: {lost}"));
        }
    }

    /// Compares what was counted with what the recorder counted.
    fn compare(&mut self, end: &End) {
        let (counted, said) = (self.counted, &end.totals);
        // An `ids` file may name more methods than this run met.
        let methods = counted.methods.min(said.methods);
        for (what, counted, said) in [
            ("methods", methods, said.methods),
            ("threads", counted.threads, said.threads),
            ("method entries", counted.enters, said.enters),
            ("method exits", counted.exits, said.exits),
            ("bytes", counted.bytes, said.bytes),
        ] {
            if counted == said {
                continue;
            }
            // What follows from a record that is cut off is not a defect of its own, nor is what the
            // recorder could not finish, and says so.
            let explained = (counted < said && self.cut > 0) || lost(&end.lost).is_some();
            let severity = if explained { Severity::Missing } else { Severity::Damage };
            let text = format!("{counted} {what}, but trace.json says {said}");
            self.add(severity, "trace", text);
        }
    }

    fn worst(&self) -> Severity {
        self.findings.iter().map(|finding| finding.severity).min().unwrap_or(Severity::Note)
    }

    fn status(&self) -> Status {
        match self.worst() {
            Severity::Damage => Status::Damaged,
            Severity::Missing => Status::Partial,
            Severity::Note => Status::Done,
        }
    }

    fn verdict(&self) -> &'static str {
        match self.worst() {
            Severity::Damage => "damaged",
            Severity::Missing => "partial",
            Severity::Note => "sound",
        }
    }

    fn print(&self, dir: &Path, out: &mut Out) -> Result<(), Failure> {
        out.heading(&format!("{}: {}", dir.display(), self.verdict()))?;
        let Totals { threads, methods, enters, bytes: size, .. } = self.counted;
        writeln!(
            out,
            "  {} of {} in {}, {}",
            plural(enters, "call"),
            plural(methods, "method"),
            plural(threads, "thread"),
            bytes(size)
        )?;
        for Finding { severity, place, text } in self.findings.iter().take(SHOWN_FINDINGS) {
            // Errors name their file themselves.
            let place = if text.contains(place.as_str()) || place == "trace" {
                String::new()
            } else {
                format!("{place}: ")
            };
            writeln!(out, "  {}: {}{}", severity.word(), neutral(&place), neutral(text))?;
        }
        if self.findings.len() > SHOWN_FINDINGS {
            let more = plural((self.findings.len() - SHOWN_FINDINGS) as u64, "more finding");
            writeln!(out, "  … {more} (--format json or csv shows all)")?;
        }
        Ok(())
    }

    fn print_json(&self, name: &str, out: &mut Out) -> Result<(), Failure> {
        #[derive(Serialize)]
        struct Line<'a> {
            trace: &'a str,
            verdict: &'static str,
            totals: Totals,
            findings: &'a [Finding],
        }
        let verdict = self.verdict();
        let line = Line { trace: name, verdict, totals: self.counted, findings: &self.findings };
        serde_json::to_writer(&mut *out, &line)?;
        Ok(out.write_all(b"\n")?)
    }

    fn print_csv(&self, name: &str, out: &mut Out) -> Result<(), Failure> {
        let verdict = self.verdict();
        if self.findings.is_empty() {
            writeln!(out, "{}", csv_fields([name, verdict, "", "", ""]))?;
        }
        for Finding { severity, place, text } in &self.findings {
            writeln!(out, "{}", csv_fields([name, verdict, severity.word(), place, text]))?;
        }
        Ok(())
    }
}
