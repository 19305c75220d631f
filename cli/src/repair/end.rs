//! The manifest of a recording that could not write its own end.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use flow_codec::format::manifest::{End, Lost, Manifest, Repaired, Totals};
use flow_codec::format::marks::Mark;
use flow_codec::format::names;
use flow_codec::read::ThreadFile;

use super::disk::failure;
use super::work::Work;
use crate::failure::Failure;
use flow_query::open::without_journal;
use flow_query::rows::Severity;

/// If more files than this have unfinished records, the others are only counted.
const SHOWN_FILES: usize = 10;

/// Returns the last time in the marks of a thread that can be read.
fn latest_ns(file: &ThreadFile) -> Option<u64> {
    let mut marks = file.marks().ok()??;
    let mut latest = None;
    while let Ok(Some((_, mark))) = marks.next_mark() {
        let at_ns = match mark {
            Mark::Time { by_ns, from_ns, .. } => by_ns.max(from_ns),
            Mark::Instant { at_ns } => at_ns,
            _ => continue,
        };
        latest = latest.max(Some(at_ns));
    }
    latest
}

impl Work<'_> {
    /// Adds an end to `trace.json`, if the file exists.
    pub(super) fn finish_manifest(&mut self) -> Result<(), Failure> {
        let Some(manifest) = self.trace.manifest() else { return Ok(()) };
        let end = self.completed_end();
        if manifest.end.as_ref() != Some(&end) {
            let path = self.trace.dir().join(names::MANIFEST);
            let mut old = fs::File::open(&path).map_err(|error| failure(&path, error))?;
            self.kept.keep(names::MANIFEST, &mut old)?;
            let manifest = Manifest { end: Some(end), ..manifest.clone() };
            let text = serde_json::to_string_pretty(&manifest)? + "\n";
            self.kept.replace(names::MANIFEST, text.as_bytes())?;
            let text = "the end was missing: written, with counted totals";
            self.add(Severity::Repaired, names::MANIFEST, text.to_owned());
        }
        self.remove_room()
    }

    /// The end of the manifest, once everything is counted.
    pub(super) fn completed_end(&self) -> End {
        match self.trace.manifest().and_then(|manifest| manifest.end.as_ref()) {
            // The recorder counted the bytes of the files, which now include those of the journal.
            Some(end) => {
                let totals = Totals { bytes: self.counted.bytes, ..end.totals };
                End { totals, ..end.clone() }
            }
            None => self.end(),
        }
    }

    fn end(&self) -> End {
        let known = self.trace.threads().iter();
        let known = known.flat_map(|(_, thread)| [thread.start_ns, thread.end_ns]).flatten();
        // Threads that were killed have no end, but their events have times.
        let known = known.chain(self.trace.files().iter().filter_map(latest_ns));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        End {
            at_ns: known.max().unwrap_or(0),
            totals: self.counted,
            lost: Lost { reasons: self.what_is_missing(), ..Lost::default() },
            repaired: Some(Repaired {
                tool: concat!("flow ", env!("CARGO_PKG_VERSION")).to_owned(),
                at_unix_ns: u64::try_from(now.as_nanos()).unwrap_or(u64::MAX),
            }),
            ..End::default()
        }
    }

    fn what_is_missing(&self) -> Vec<String> {
        let journal = without_journal(self.trace);
        journal.into_iter().chain(self.unfinished_records()).collect()
    }

    /// The records that were cut off and not completed by the journal. They are found from the kept files, because an
    /// interrupted repair may have cut some.
    fn unfinished_records(&self) -> Vec<String> {
        let ends_there = |name: &String| {
            let (file, offset) = names::parse_cut_file(name)?;
            let len = fs::metadata(self.trace.dir().join(file)).ok()?.len();
            (len == offset.get()).then(|| format!("{file} at offset {offset}"))
        };
        let mut places: Vec<_> = self.kept.names().iter().filter_map(ends_there).collect();
        places.sort();
        let more = places.len().saturating_sub(SHOWN_FILES);
        places.truncate(SHOWN_FILES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let reason = format!("unfinished records were cut off: {}{more}", places.join(", "));
        if places.is_empty() { Vec::new() } else { vec![reason] }
    }

    /// Removes the file in which the recorder had reserved space for its own end.
    fn remove_room(&mut self) -> Result<(), Failure> {
        let path = self.trace.dir().join(names::NEW_MANIFEST);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() && found.len() == 0 => {
                fs::remove_file(&path).map_err(|error| failure(&path, error))
            }
            Ok(_) => self.kept.take(names::NEW_MANIFEST),
            Err(_) => Ok(()),
        }
    }
}
