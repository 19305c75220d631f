//! The repair of one trace, and what its steps share.

use std::fs::{self, File};

use flow_codec::format::manifest::Totals;
use flow_codec::format::names;
use flow_codec::read::Trace;

use super::disk::failure;
use super::kept::Kept;
use crate::failure::Failure;
use flow_query::open::Lock;
use flow_query::rows::{Finding, Severity};

/// The repair of one trace.
pub(super) struct Work<'a> {
    pub(super) trace: &'a Trace,
    pub(super) kept: Kept,
    pub(super) findings: Vec<Finding>,
    /// The totals of all threads, repaired.
    pub(super) counted: Totals,
    /// Whether all events of the journal could be written.
    pub(super) is_whole: bool,
    /// The lock on a file that was written anew.
    pub(super) new_file: Option<Lock>,
}

impl<'a> Work<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        Self {
            trace,
            kept: Kept::of(trace.dir()),
            findings: Vec::new(),
            counted: Totals { methods: trace.methods().met() as u64, ..Totals::default() },
            new_file: None,
            is_whole: trace.journal().is_none_or(|journal| journal.is_whole),
        }
    }

    pub(super) fn add(&mut self, severity: Severity, place: &str, text: String) {
        self.findings.push(Finding::new(severity, place, text));
    }

    pub(super) fn move_journal(&mut self) -> Result<(), Failure> {
        for (name, path) in self.trace.journal_files() {
            if ![names::JOURNAL, names::CHECKPOINT].contains(&name) {
                continue;
            }
            if path == self.trace.dir().join(name) {
                self.kept.take(name)?;
            } else {
                let mut journal = File::open(&path).map_err(|error| failure(&path, error))?;
                self.kept.keep(name, &mut journal)?;
                fs::remove_file(&path).map_err(|error| failure(&path, error))?;
            }
            let text = format!("moved to {}", names::BEFORE_REPAIR);
            self.add(Severity::Repaired, name, text);
        }
        Ok(())
    }
}
