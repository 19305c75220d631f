//! Sums of calls and times over sections of a thread: what a [`TimedReport`](crate::analysis::TimedReport) adds up in them.
//!
//! The sums over a range of time are those over the sections in it, and over the events where it begins and ends. So the
//! events of a thread with ten billion calls need not be read.
//!
//! ```text
//! thread    |  section  |  section  |  section  |  section  |  section  |
//! range               [                               ]
//! read             events│   sums    │   sums    │events
//! ```
//!
//! The report receives the events of both ends as it receives those of a whole thread, by the same rules, and adds the sums
//! in between. A pass for anything else, such as paths, begins at the border before the range instead of the thread's start.
//!
//! Sections can be [stored](Built::store) next to the thread file for the next reader. They are never needed, and never
//! believed against the events: the file has the length and a checksum of a sample of these and of the marks; a
//! border counts only if the marks show it, and the frames that are open at one must be those of the events where these are
//! read.
//!
//! Bounds are those of a pass over the events, and so are counts, except for calls so close to an end of the range that their
//! estimates decide. Estimates may differ by a 1,024th of a nanosecond for each byte of
//! events between two marks, thus by 0.2 µs where a mark is in every millisecond: a pass rounds how fast time passes down to
//! such fractions, and begins anew with every block of events that it reads, and these are others when it begins elsewhere.
//!
//! In a long thread sections are long, so that there are not too many. Each then has *details*, compressed until they are
//! needed: the shorter sections that it consists of. Where a range begins and ends they take its place.
//!
//! Memory: 112 bytes for each method of each section, of which [`SectionSize`] limits the number; details count only where they are used.

mod add;
mod build;
mod store;

pub use self::build::{Built, SectionSize};
use std::borrow::Cow;

use crate::format::sections::{Border, Section, have_calls_for};
use crate::{MethodId, Offset};

/// Sums over the sections of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sections {
    /// The first one begins at the start of the thread.
    sections: Vec<Section>,
    /// Where the last one ends.
    end: Offset,
}

impl Sections {
    /// How many sections there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sections.len()
    }

    /// Where a section begins.
    fn start(&self, section: usize) -> Option<Border> {
        self.sections.get(section).map(|section| section.start)
    }

    /// Where a section ends.
    fn end(&self, section: usize) -> Offset {
        self.start(section + 1).map_or(self.end, |next| next.offset)
    }

    /// The methods of the frames that are open where a section begins, the outermost first.
    fn open_at(&self, section: usize) -> Vec<MethodId> {
        let mut open = Vec::new();
        self.sections.iter().take(section + 1).for_each(|section| section.follow(&mut open));
        open
    }

    /// The same with the details of the sections that have these times in their place.
    fn divided_at(&self, times: [u64; 2]) -> Cow<'_, Self> {
        let with_time = times.map(|at_ns| self.before(at_ns).checked_sub(1));
        let with_time = |number: usize| {
            let section = self.sections.get(number).filter(|_| with_time.contains(&Some(number)));
            section.is_some_and(|section| !section.details.is_empty())
        };
        if !(0..self.count()).any(with_time) {
            return Cow::Borrowed(self);
        }
        let mut sections: Vec<Section> = Vec::with_capacity(self.count());
        // Where the section is, and where the last one of `sections` begins.
        let (mut open, mut open_before) = (Vec::new(), Vec::new());
        for (number, section) in self.sections.iter().enumerate() {
            section.follow(&mut open);
            let end = self.end(number);
            match with_time(number).then(|| details(section, &open, end)).flatten() {
                Some(details) => {
                    for (detail, open) in details {
                        let (left, entered) = change(&open_before, &open);
                        open_before = open;
                        sections.push(Section { left, entered, ..detail });
                    }
                }
                None => {
                    let (left, entered) = change(&open_before, &open);
                    open_before.clone_from(&open);
                    let (start, sums) = (section.start, section.sums.clone());
                    sections.push(Section { start, left, entered, sums, details: Vec::new() });
                }
            }
        }
        Cow::Owned(Self { sections, end: self.end })
    }

    /// The number of sections that begin before a time.
    fn before(&self, at_ns: u64) -> usize {
        self.sections.partition_point(|section| section.start.wall_ns < at_ns)
    }
}

impl Section {
    /// Changes the frames that are open where the section before begins to those that are open here.
    fn follow(&self, open: &mut Vec<MethodId>) {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        open.truncate(open.len().saturating_sub(left));
        open.extend_from_slice(&self.entered);
    }
}

/// How many of these frames are not among the others, and which of the others are not among these.
fn change(before: &[MethodId], open: &[MethodId]) -> (u64, Vec<MethodId>) {
    let same = before.iter().zip(open).take_while(|(one, other)| one == other).count();
    ((before.len() - same) as u64, open.get(same..).unwrap_or_default().to_vec())
}

/// The sections that one consists of, each with the frames that are open where it begins. `None` if they are not those of a
/// section that begins where these frames are open, and ends at this offset.
fn details(
    section: &Section,
    open: &[MethodId],
    end: Offset,
) -> Option<Vec<(Section, Vec<MethodId>)>> {
    let (mut all, mut open_at_start) = (Vec::new(), Vec::new());
    for details in &section.details {
        let mut open = Vec::new();
        for detail in details.unpack().ok()? {
            detail.follow(&mut open);
            open_at_start.push(open.clone());
            all.push(detail);
        }
    }
    let is_of_section = all.first()?.start == section.start
        && open_at_start.first()? == open
        && all.is_sorted_by(|one, next| one.start.offset < next.start.offset)
        && have_calls_for(&all, end);
    is_of_section.then(|| all.into_iter().zip(open_at_start).collect())
}
