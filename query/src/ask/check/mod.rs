//! Checks whether a trace is whole, and how its recording ended.

mod contents;

use std::path::Path;

use flow_codec::format::container::StreamKind;
use flow_codec::format::manifest::{End, Totals, Unmatched};
use flow_codec::format::marks::{Mark, Position};
use flow_codec::format::names;
use flow_codec::read::{SampleCounts, Tail, ThreadFile, Trace};
use flow_codec::{MethodMap, Offset, ThreadId};

use self::contents::Contents;
use crate::Error;
use crate::open::{State, foreign_files, lost, unmatched, without_journal, without_names};
use crate::reading::{Ending, Listener, Soundness};
use crate::rows::{CheckRow, Finding, FindingRow, OnlyJson, Severity};
use crate::select::thread_title;
use crate::text::{grouped, plural};

/// The findings of one trace.
#[derive(Debug)]
pub struct Check {
    state: State,
    /// The most severe ones come first.
    findings: Vec<Finding>,
    counted: Totals,
    /// The counted bytes that are in the journal only.
    in_journal: u64,
    /// The number of records cut off and files unreadable, which explain missing events.
    cut: u64,
}

impl Check {
    fn new(state: State) -> Self {
        Self { state, findings: Vec::new(), counted: Totals::default(), in_journal: 0, cut: 0 }
    }

    /// Reads all of a trace.
    ///
    /// # Errors
    /// The trace cannot be read at all.
    pub fn of(trace: &Trace, progress: &mut impl Listener) -> Result<Self, Error> {
        let mut check = Self::new(State::of(trace));
        for error in trace.damage() {
            check.add(Severity::Damage, "trace", error.to_string());
        }
        let mut named = MethodMap::<bool>::default();
        for (id, _) in trace.methods().iter() {
            *named.or_default(id) = true;
        }
        for error in trace.verify_blocks(|_| {})? {
            check.add(Severity::Damage, "trace", error.to_string());
        }
        if trace.unfinished_block() > 0 {
            let text = format!(
                "{} of an unfinished block left out",
                plural(trace.unfinished_block(), "byte")
            );
            check.add(Severity::Note, "trace", text);
        }
        if let Some(text) = foreign_files(trace) {
            check.add(Severity::Note, "trace", text);
        }
        check.counted.methods = trace.methods().met() as u64;
        check.names(trace);
        for file in trace.files() {
            check.thread(trace, file, &named, progress)?;
        }
        check.samples(trace)?;
        check.journal(trace);
        check.end(trace);
        check.findings.sort_by_key(|finding| finding.severity);
        Ok(check)
    }

    /// A trace that cannot be opened.
    #[must_use]
    pub fn unreadable(error: &flow_codec::Error) -> Self {
        let mut check = Self::new(State::Unknown);
        check.add(Severity::Damage, "trace", error.to_string());
        check
    }

    /// Adds findings from elsewhere.
    pub fn extend(&mut self, findings: Vec<Finding>) {
        self.findings.extend(findings);
        self.findings.sort_by_key(|finding| finding.severity);
    }

    /// The most severe finding.
    #[must_use]
    pub fn worst(&self) -> Severity {
        self.findings.iter().map(|finding| finding.severity).min().unwrap_or(Severity::Note)
    }

    /// Returns whether the trace has everything that was recorded.
    #[must_use]
    pub fn soundness(&self) -> Soundness {
        match self.worst() {
            Severity::Damage => Soundness::Damaged,
            Severity::Missing => Soundness::Partial,
            Severity::Repaired | Severity::Note => Soundness::Whole,
        }
    }

    /// How the recording ended.
    #[must_use]
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// What the trace has.
    #[must_use]
    pub const fn counted(&self) -> &Totals {
        &self.counted
    }

    /// The findings, the most severe ones first.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The check as a row, with at most `max` findings.
    #[must_use]
    pub fn row(&self, max: usize) -> CheckRow<'_> {
        CheckRow {
            verdict: self.worst().verdict(),
            state: self.state.word(),
            totals: OnlyJson(self.counted),
            findings: OnlyJson(self.findings.get(..max).unwrap_or(&self.findings)),
        }
    }

    /// At most `max` findings as rows; one row without a finding if there are none.
    pub fn finding_rows(&self, max: usize) -> impl Iterator<Item = FindingRow<'_>> {
        let nothing = self.findings.is_empty().then_some(None);
        nothing.into_iter().chain(self.findings.iter().take(max).map(Some)).map(|found| {
            FindingRow {
                verdict: self.worst().verdict(),
                severity: found.map(|finding| finding.severity.word()),
                place: found.map(|finding| &*finding.place),
                finding: found.map(|finding| &*finding.text),
                state: self.state.word(),
            }
        })
    }

    /// Reads all samples of stacks.
    fn samples(&mut self, trace: &Trace) -> Result<(), Error> {
        let (counts, samples) = match SampleCounts::of(trace)? {
            Some(found) => found,
            None => return Ok(()),
        };
        for error in samples.damage() {
            self.add(Severity::Damage, names::SAMPLES, error.to_string());
        }
        let end = trace.manifest().and_then(|manifest| manifest.end.as_ref());
        let all = end.filter(|end| end.repaired.is_none()).map_or(0, |end| end.samples);
        // The first ones may have been removed with the oldest part.
        if counts.stacks < all && !trace.has_parts() {
            let missing = plural(all - counts.stacks, "sample");
            self.add(Severity::Missing, names::SAMPLES, format!("lacks {missing}"));
        }
        if samples.unfinished() > 0 {
            let text =
                format!("{} of an unfinished batch left out", plural(samples.unfinished(), "byte"));
            self.add(Severity::Note, names::SAMPLES, text);
        }
        Ok(())
    }

    /// Checks that the files of names exist and agree.
    fn names(&mut self, trace: &Trace) {
        // Other writers have fewer files.
        let Some(manifest) = trace.manifest() else {
            if let Some(text) = without_names(trace) {
                self.add(Severity::Missing, names::IDS, text);
            }
            return;
        };
        for kind in [StreamKind::Ids, StreamKind::Methods, StreamKind::Threads] {
            // A JVM that was killed before its first event may not have created them yet.
            let needed = manifest.end.is_some() || !trace.files().is_empty();
            if needed && !trace.has_text(kind) {
                let name = names::stream_file(kind, ThreadId::new(0));
                self.add(Severity::Missing, &name, "the file is missing".to_owned());
            }
        }
        let without_key =
            trace.methods().iter().filter(|(_, method)| !method.has_key()).count() as u64;
        // A kill may come between the two files, to which methods are added by class. No event uses them. Repair leaves them
        // as they are.
        let has_ended = manifest.end.as_ref().is_some_and(|end| end.repaired.is_none());
        if without_key > 0 && has_ended && trace.has_text(StreamKind::Ids) {
            let methods = plural(without_key, "method");
            let text = format!("lacks {methods} that methods.jsonl has");
            self.add(Severity::Missing, names::IDS, text);
        }
    }

    fn add(&mut self, severity: Severity, place: &str, text: String) {
        self.findings.push(Finding::new(severity, place, text));
    }

    fn thread(
        &mut self,
        trace: &Trace,
        file: &ThreadFile,
        named: &MethodMap<bool>,
        progress: &mut impl Listener,
    ) -> Result<(), Error> {
        let place = file.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (Contents { total, unnamed, unnamed_calls }, reading) =
            Contents::of(file, named, progress)?;
        if unnamed_calls > 0 {
            let ids: Vec<_> =
                unnamed.iter().map(|(id, offset)| format!("{id} at offset {offset}")).collect();
            let calls = plural(unnamed_calls, "call");
            let text = format!("{calls} of ids without a name: first {}", ids.join(", "));
            // A thread that began after the checkpoint: its file reached the disk before the names did.
            let is_later = trace.journal().is_some_and(|journal| journal.is_checkpoint);
            let is_known =
                is_later && file.open_chunk().is_none() || without_names(trace).is_some();
            let severity = match is_known {
                true => Severity::Missing,
                false => Severity::Damage,
            };
            self.add(severity, &place, text);
        }
        if let Ending::Truncated(offset) = reading.ending() {
            self.cut += 1;
            let text = format!("ends inside a record at offset {offset}");
            self.add(Severity::Missing, &place, text);
        }
        for text in reading.damage_texts() {
            self.add(Severity::Damage, &place, text);
        }
        // While it is being recorded, the file continues after the chunk that was open.
        if self.state != State::Recording
            && let Err(error) = file.splice()
        {
            self.add(Severity::Damage, &place, error.to_string());
        }
        let started =
            trace.threads().get(file.id()).is_some_and(|thread| thread.start_ns.is_some());
        if !started {
            // Writers without a manifest have no lines for threads.
            let severity =
                if trace.manifest().is_some() { Severity::Missing } else { Severity::Note };
            self.add(severity, &place, "threads.jsonl has no line for this thread".to_owned());
        }
        if reading.ending() == Ending::Failed {
            return Ok(());
        }
        if reading.non_canonical() > 0 {
            let records = plural(reading.non_canonical(), "record");
            let text = format!("{records} not in canonical form: written by another program");
            self.add(Severity::Note, &place, text);
        }
        self.marks(file, &place);
        self.counted.threads += u64::from(total.enters > 0 || total.exits > 0);
        self.counted.enters = self.counted.enters.saturating_add(total.enters);
        self.counted.exits = self.counted.exits.saturating_add(total.exits);
        self.counted.bytes = self.counted.bytes.saturating_add(file.stored_bytes());
        self.in_journal += file.stored_bytes() - file.stored_in_file();
        let title = thread_title(trace, file.id());
        if total.unseen_exits(0) > 0 {
            let frames = plural(total.unseen_exits(0), "frame");
            let text = format!("thread {title} left {frames} entered before recording");
            self.add(Severity::Note, &place, text);
        }
        let open = total.frames_after(0);
        if open > 0 && reading.is_sound() {
            // System.exit, too, ends a thread whose frames are open. Without an end of the recording, the line for the thread
            // may be newer than its events.
            let is_whole = trace.manifest().is_some_and(|manifest| manifest.end.is_some());
            let thread = trace.threads().get(file.id());
            let has_ended = is_whole && thread.is_some_and(|thread| thread.end_ns.is_some());
            let frames = plural(open, "frame");
            let text = match has_ended {
                true => format!(
                    "thread {title} ended with {frames} open, as System.exit and Thread.stop do"
                ),
                false => format!("thread {title} has {frames} open at its end"),
            };
            self.add(Severity::Note, &place, text);
        }
        Ok(())
    }

    /// Checks the marks of a thread. They are optional, but must be valid.
    fn marks(&mut self, file: &ThreadFile, events: &str) {
        let place = Path::new(events).with_extension(names::MARKS_EXTENSION);
        let place = place.display().to_string();
        let mut marks = match file.marks() {
            Ok(Some(marks)) => marks,
            Ok(None) => return,
            Err(error) => return self.add(Severity::Damage, &place, error.to_string()),
        };
        let (mut not_before, mut after_end) = (0, 0_u64);
        let mut back: Option<(Offset, Position)> = None;
        let (mut place_of_last, mut latest) = (Position::default(), 0);
        loop {
            let offset = marks.offset();
            let (position, mark) = match marks.next_mark() {
                Ok(Some(mark)) => mark,
                Ok(None) => break,
                Err(error) => {
                    self.add(Severity::Damage, &place, error.to_string());
                    if matches!(error, flow_codec::Error::Io { .. }) {
                        break;
                    }
                    continue;
                }
            };
            after_end += u64::from(position.offset.get() > file.bytes());
            let known = match mark {
                Mark::Time { by_ns, from_ns, .. } => Some((by_ns, from_ns)),
                Mark::Instant { at_ns } => Some((at_ns, at_ns)),
                _ => None,
            };
            if let Some((by_ns, from_ns)) = known {
                // Several may have the same position, in any order: nothing happened between them.
                if position > place_of_last {
                    (place_of_last, not_before) = (position, latest);
                }
                if by_ns < not_before {
                    back = back.or(Some((offset, position)));
                }
                latest = latest.max(from_ns);
            }
        }
        if let Tail::Truncated { offset } = marks.tail() {
            let text = format!("ends inside a mark at offset {offset}");
            self.add(Severity::Missing, &place, text);
        }
        if let Some((offset, Position { offset: event, exits })) = back {
            let exits = if exits > 0 { format!(", exit {exits}") } else { String::new() };
            let text = format!("the time goes back at offset {offset} (event at {event}{exits})");
            self.add(Severity::Damage, &place, text);
        }
        if after_end > 0 {
            let text = format!("{} after the end of the events", plural(after_end, "mark"));
            self.add(Severity::Note, &place, text);
        }
    }

    /// Notes the events that are only in the journal. They are read like those in files.
    fn journal(&mut self, trace: &Trace) {
        if let Some(text) = without_journal(trace) {
            self.cut += 1;
            self.add(Severity::Missing, "trace", text);
        }
        let Some(journal) = trace.journal() else { return };
        let (threads, events) = trace.in_journal();
        if events > 0 {
            let (events, threads) = (plural(events, "event"), plural(threads, "thread"));
            let text = format!("holds {events} of {threads} that the files do not have yet");
            self.add(Severity::Note, names::JOURNAL, text);
        }
        if journal.is_restless {
            let text = "changed while it was read; the newest events may be missing";
            self.add(Severity::Note, names::JOURNAL, text.to_owned());
        }
    }

    fn end(&mut self, trace: &Trace) {
        match trace.manifest() {
            None => self.add(Severity::Note, "trace", "there is no readable trace.json".to_owned()),
            Some(manifest) => {
                if let Some(end) = &manifest.end {
                    self.lost(end);
                    for Unmatched { option, patterns } in &end.unmatched {
                        for pattern in patterns {
                            self.add(Severity::Note, "trace.json", unmatched(option, pattern));
                        }
                    }
                    self.compare(end);
                }
            }
        }
    }

    fn lost(&mut self, end: &End) {
        if let Some(lost) = lost(&end.lost) {
            self.add(Severity::Missing, "trace.json", format!("lost while recording: {lost}"));
        }
    }

    /// Compares counts with those of the recorder.
    fn compare(&mut self, end: &End) {
        let (counted, said) = (self.counted, &end.totals);
        let ends_early = self.cut > 0 || counted.bytes < said.bytes;
        // An `ids` file may name more methods than this run called.
        let methods = counted.methods.min(said.methods);
        for (what, counted, said) in [
            ("methods", methods, said.methods),
            ("threads", counted.threads, said.threads),
            ("method entries", counted.enters, said.enters),
            ("method exits", counted.exits, said.exits),
            ("bytes in files", counted.bytes - self.in_journal, said.bytes),
        ] {
            if counted == said {
                continue;
            }
            // Consequences of truncated files are not separate defects, nor is anything that the recorder
            // itself reported as unfinished. What it could not count is not missing if it is there.
            let is_unfinished = lost(&end.lost).is_some();
            let severity = match counted < said {
                true if ends_early || is_unfinished => Severity::Missing,
                false if is_unfinished => Severity::Note,
                _ => Severity::Damage,
            };
            let (counted, said) = (grouped(counted), grouped(said));
            let text = match severity {
                Severity::Note => format!("{counted} {what}, of which trace.json counts {said}"),
                _ => format!("{counted} {what}, but {said} in trace.json"),
            };
            self.add(severity, "trace", text);
        }
    }
}
