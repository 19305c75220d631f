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
//! Counts and bounds are those of a pass over the events. Estimates may differ by a 1,024th of a nanosecond for each byte of
//! events between two marks, thus by 0.2 µs where a mark is in every millisecond: a pass rounds how fast time passes down to
//! such fractions, and begins anew with every block of events that it reads, and these are others when it begins elsewhere.
//!
//! Memory: 112 bytes for each method of each section, of which [`SectionSize`] limits the number.

mod add;
mod build;
mod store;

pub use self::build::{Built, SectionSize};
use crate::MethodId;
use crate::format::sections::{Border, Section};

/// Sums over the sections of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sections {
    /// The first one begins at the start of the thread.
    sections: Vec<Section>,
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

    /// The methods of the frames that are open where a section begins, the outermost first.
    fn open_at(&self, section: usize) -> Vec<MethodId> {
        let mut open = Vec::new();
        for section in self.sections.iter().take(section + 1) {
            let left = usize::try_from(section.left).unwrap_or(usize::MAX);
            open.truncate(open.len().saturating_sub(left));
            open.extend_from_slice(&section.entered);
        }
        open
    }

    /// The number of sections that begin before a time.
    fn before(&self, at_ns: u64) -> usize {
        self.sections.partition_point(|section| section.start.wall_ns < at_ns)
    }
}
