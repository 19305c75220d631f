//! Reads a thread file for a check: quickly if it has no defects, otherwise record by record.

use std::num::NonZeroU64;
use std::ops::ControlFlow;

use flow_codec::format::flow::Record;
use flow_codec::read::{CanonicalLen, ThreadFile, Visit};
use flow_codec::scan::Summary;
use flow_codec::{MethodId, MethodMap, Offset};

use crate::Error;
use crate::reading::{
    Ending, Listener, Reading, Selected, count_thread, read_records, visit_events,
};

/// If there are more ids without a name than this, the others are only counted.
const SHOWN_IDS: usize = 5;

/// The totals of a thread's records.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) total: Summary,
    /// The first ids without a name, and the offsets of their first calls.
    pub(super) unnamed: Vec<(MethodId, u64)>,
    pub(super) unnamed_calls: u64,
}

impl Contents {
    /// Reads a thread. Also returns its errors.
    pub(super) fn of(
        file: &ThreadFile,
        named: &MethodMap<bool>,
        progress: &mut impl Listener,
    ) -> Result<(Self, Reading), Error> {
        if let Some(sound) = Self::at_a_glance(file, named, progress) {
            return Ok(sound);
        }
        Self::one_by_one(file, named, progress)
    }

    /// Reads a thread by scanning. `None` if there is a defect that only reading record by record can locate.
    fn at_a_glance(
        file: &ThreadFile,
        named: &MethodMap<bool>,
        progress: &mut impl Listener,
    ) -> Option<(Self, Reading)> {
        let (total, reading) = count_thread(file, progress);
        let bytes = match reading.ending() {
            Ending::Whole => file.bytes(),
            Ending::Truncated(offset) => offset.get(),
            Ending::Failed | Ending::Stopped => return None,
        };
        if !reading.is_sound() {
            return None;
        }
        let mut glance = Glance { named, is_named: true, len: CanonicalLen::default() };
        let again = visit_events(file, &Selected::all(), progress, &mut glance);
        let is_well = again.is_sound() && glance.is_named && glance.len.is_that_of(bytes);
        if !is_well {
            progress.expect_more(file.bytes());
            return None;
        }
        Some((Self { total, ..Self::default() }, reading))
    }

    fn one_by_one(
        file: &ThreadFile,
        named: &MethodMap<bool>,
        progress: &mut impl Listener,
    ) -> Result<(Self, Reading), Error> {
        let mut contents = Self::default();
        let reading = read_records(file, Offset::default(), progress, |range, record| {
            match record {
                Record::Enter(method) => {
                    contents.total.enter(method);
                    if named.get(method).is_none() {
                        contents.add_unnamed(method, range.start);
                    }
                }
                Record::Exit(count) => contents.total.exit(count),
            }
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        Ok((contents, reading))
    }

    fn add_unnamed(&mut self, method: MethodId, offset: u64) {
        self.unnamed_calls += 1;
        let is_new = self.unnamed.iter().all(|(id, _)| *id != method);
        if self.unnamed.len() < SHOWN_IDS && is_new {
            self.unnamed.push((method, offset));
        }
    }
}

/// Checks what does not depend on positions: names, and the canonical length.
struct Glance<'a> {
    named: &'a MethodMap<bool>,
    is_named: bool,
    len: CanonicalLen,
}

impl Visit for Glance<'_> {
    #[inline(always)]
    fn enter(&mut self, method: MethodId) {
        self.is_named &= self.named.get(method).is_some();
        self.len.enter(method);
    }

    #[inline(always)]
    fn exit(&mut self, count: NonZeroU64) {
        self.len.exit(count);
    }
}
