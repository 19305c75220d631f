//! From a thread to its [`Sections`], in one pass over its events with their times.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Sections;
use crate::analysis::TimedReport;
use crate::format::sections::{Border, MethodSums, Section};
use crate::read::{Clock, Tail, ThreadFile, TimeAxis, TimedEvents};
use crate::{Error, MethodId, Result};

/// How long sections are.
#[derive(Clone, Copy, Debug)]
pub struct SectionSize {
    /// A section has at least this many bytes of events.
    pub least_bytes: u64,
    /// The most sums that are stored for a thread: one for each method of each section. With more, sections become longer.
    pub most_sums: usize,
    /// For this many bytes of events there may be one of these sums; 0 if any number.
    pub bytes_a_sum: u64,
}

impl Default for SectionSize {
    /// Reading a section takes about 5 ms, or longer if there would be too many. A file has 3 MB at most, and about half a
    /// percent of the thread's events.
    fn default() -> Self {
        Self { least_bytes: 1 << 20, most_sums: 1 << 17, bytes_a_sum: 4096 }
    }
}

/// The result of adding up the sections of a thread.
#[derive(Debug)]
#[non_exhaustive]
pub struct Built {
    /// The sums.
    pub sections: Sections,
    /// Whether some of the events or marks could not be read.
    pub is_damaged: bool,
    /// How the events end.
    pub tail: Tail,
}

/// The sums of a thread in both times.
type Reports<'c> = (TimedReport<'c, false>, TimedReport<'c, true>);

impl Sections {
    /// Adds up the sections of a thread: all of it, even if only ranges are read. `progress` counts the bytes that have been
    /// read.
    ///
    /// # Errors
    /// The events cannot be read.
    pub fn build(file: &ThreadFile, progress: &AtomicU64) -> Result<Built> {
        Self::build_with(file, SectionSize::default(), progress)
    }

    /// The same with sections of another size.
    ///
    /// # Errors
    /// The events cannot be read.
    pub fn build_with(file: &ThreadFile, size: SectionSize, progress: &AtomicU64) -> Result<Built> {
        let file = file.whole();
        let clock = Clock::default();
        let mut reports = (TimedReport::new(&clock), TimedReport::new(&clock));
        let mut events = TimedEvents::open(&file, &clock)?;
        let mut builder = Builder::new(size);
        let (mut read, mut is_damaged) = (0, false);
        loop {
            match events.visit_some(&mut reports) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error @ Error::Io { .. }) => return Err(error),
                Err(_) => is_damaged = true,
            }
            let offset = events.position();
            progress.fetch_add(offset.get().saturating_sub(read), Ordering::Relaxed);
            read = offset.get();
            if !builder.is_long_enough(read) {
                continue;
            }
            // All events before it had happened by then.
            let by_ns = |axis| clock.bounds_on(axis).by_ns;
            let (wall_ns, cpu_ns) = (by_ns(TimeAxis::Wall), by_ns(TimeAxis::Cpu));
            let Some(border) = events.border() else { continue };
            if wall_ns <= border.wall_ns && cpu_ns <= border.cpu_ns {
                reports.0.settle();
                reports.1.settle();
                let open: Vec<_> = reports.0.open_methods().collect();
                builder.end_section(&mut reports, border, open);
            }
        }
        reports.0.end_thread();
        reports.1.end_thread();
        builder.add_sums(&mut reports);
        let tail = events.tail();
        is_damaged |= events.into_damage().is_some();
        Ok(Built { sections: Sections { sections: builder.sections }, is_damaged, tail })
    }
}

/// Sections while events are read; the last one is not complete.
struct Builder {
    sections: Vec<Section>,
    /// The frames that were open where the last one begins.
    open: Vec<MethodId>,
    size: SectionSize,
    /// The number of sums.
    sums: usize,
}

impl Builder {
    fn new(size: SectionSize) -> Self {
        Self { sections: vec![Section::default()], open: Vec::new(), size, sums: 0 }
    }

    /// Returns whether the last section may end at this offset.
    fn is_long_enough(&self, offset: u64) -> bool {
        let start = self.sections.last().map_or(0, |last| last.start.offset.get());
        offset.saturating_sub(start) >= self.size.least_bytes
    }

    /// Ends the last section, and begins the next one, where these frames are open.
    fn end_section(&mut self, reports: &mut Reports<'_>, border: Border, open: Vec<MethodId>) {
        self.add_sums(reports);
        let same = self.open.iter().zip(&open).take_while(|(one, other)| one == other).count();
        let left = (self.open.len() - same) as u64;
        let entered = open.get(same..).unwrap_or_default().to_vec();
        self.open = open;
        self.sections.push(Section { start: border, left, entered, sums: Vec::new() });
        let SectionSize { most_sums, bytes_a_sum, .. } = self.size;
        let of_bytes = border.offset.get().checked_div(bytes_a_sum).unwrap_or(u64::MAX);
        if self.sums > usize::try_from(of_bytes).unwrap_or(usize::MAX).min(most_sums) {
            self.join_pairs();
        }
    }

    /// Adds what the reports have to the last section.
    fn add_sums(&mut self, reports: &mut Reports<'_>) {
        let (wall, cpu) = reports;
        // Both have received the same events.
        let sums = wall.take_sums().zip(cpu.take_sums());
        let sums = sums.map(|((method, calls, wall), (_, _, cpu))| MethodSums {
            method,
            calls,
            wall,
            cpu,
        });
        let nothing = (0, Default::default(), Default::default());
        let mut sums: Vec<_> =
            sums.filter(|sums| (sums.calls, sums.wall, sums.cpu) != nothing).collect();
        sums.sort_unstable_by_key(|sums| sums.method);
        self.sums += sums.len();
        if let Some(last) = self.sections.last_mut() {
            last.sums = sums;
        }
    }

    /// Makes one section of two, except of the last one, and further ones twice as long.
    fn join_pairs(&mut self) {
        let last = self.sections.len().saturating_sub(1);
        let mut joined: Vec<Section> = Vec::with_capacity(last / 2 + 2);
        let mut gone: Option<(u64, Vec<MethodId>)> = None;
        for (number, mut section) in self.sections.drain(..).enumerate() {
            if let Some((left, entered)) = gone.take() {
                follow(&mut section, left, entered);
            }
            match joined.last_mut() {
                Some(before) if number % 2 == 1 && number < last => {
                    before.sums = added(&before.sums, &section.sums);
                    gone = Some((section.left, section.entered));
                }
                _ => joined.push(section),
            }
        }
        self.sections = joined;
        self.sums = self.sections.iter().map(|section| section.sums.len()).sum();
        self.size.least_bytes = self.size.least_bytes.saturating_mul(2);
    }
}

/// Adds to the frames of a section those that the border before it had left and entered, which is no longer one.
fn follow(section: &mut Section, left: u64, mut entered: Vec<MethodId>) {
    let inner = section.left.min(entered.len() as u64);
    entered.truncate(entered.len() - usize::try_from(inner).unwrap_or(usize::MAX));
    section.left = left.saturating_add(section.left - inner);
    entered.append(&mut section.entered);
    section.entered = entered;
}

/// Sums of two sections, both in the order of their methods.
fn added(one: &[MethodSums], other: &[MethodSums]) -> Vec<MethodSums> {
    let mut all = [one, other].concat();
    // Of both, the first one stays.
    all.sort_by_key(|sums| sums.method);
    all.dedup_by(|more, sums| {
        let is_same = more.method == sums.method;
        if is_same {
            sums.calls = sums.calls.saturating_add(more.calls);
            sums.wall.add(more.wall);
            sums.cpu.add(more.cpu);
        }
        is_same
    });
    all
}
