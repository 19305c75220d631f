//! From a thread to its [`Sections`], in one pass over its events with their times.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Sections, change};
use crate::analysis::TimedReport;
use crate::format::sections::{Border, Details, MethodSums, Section};
use crate::read::{Clock, Tail, ThreadFile, TimeAxis, TimedEvents};
use crate::{Error, MethodId, Result};

/// How long sections are. If there are too many, each becomes the details of a longer one.
#[derive(Clone, Copy, Debug)]
pub struct SectionSize {
    /// A section has at least this many bytes of events.
    pub least_bytes: u64,
    /// The most sums of sections that are no details: one for each method of each section. With more, these sections become
    /// longer.
    pub most_sums: usize,
    /// For this many bytes of events there may be one sum, in details too; 0 if any number.
    pub bytes_a_sum: u64,
}

/// Even details are longer in a long thread: this part of what comes before them.
const MOST_DETAILS: u64 = 1 << 14;
/// How many sections are compressed together.
const PACKED_SECTIONS: usize = 32;

impl Default for SectionSize {
    /// Reading the events of a section takes about 10 ms. A file has about two thousandths of the bytes of the thread's events.
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
        let io_error = |source| Error::Io { path: file.path(), source };
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
                builder.add_sums(&mut reports);
                builder.begin(border, open).map_err(io_error)?;
            }
        }
        reports.0.end_thread();
        reports.1.end_thread();
        builder.add_sums(&mut reports);
        let (tail, end) = (events.tail(), events.position());
        is_damaged |= events.into_damage().is_some();
        let sections = builder.finish().map_err(io_error)?;
        Ok(Built { sections: Sections { sections, end }, is_damaged, tail })
    }
}

/// Sections while events are read; the last one is not complete.
struct Builder {
    sections: Vec<Section>,
    /// The frames that were open where the last one begins.
    open: Vec<MethodId>,
    /// Its details: those that are compressed, and those that are not, of which the last one is not complete either, with the
    /// frames that were open where that begins.
    packed: Vec<Details>,
    details: Vec<Section>,
    open_in_detail: Vec<MethodId>,
    size: SectionSize,
    /// A section, and a detail, has at least this many bytes.
    least_bytes: u64,
    least_detail: u64,
    /// The number of sums of all sections but the last.
    sums: usize,
}

impl Builder {
    fn new(size: SectionSize) -> Self {
        Self {
            sections: vec![Section::default()],
            open: Vec::new(),
            packed: Vec::new(),
            details: vec![Section::default()],
            open_in_detail: Vec::new(),
            size,
            least_bytes: size.least_bytes,
            least_detail: size.least_bytes,
            sums: 0,
        }
    }

    /// Returns whether the last detail may end at this offset.
    fn is_long_enough(&self, offset: u64) -> bool {
        bytes_of(self.details.last(), offset) >= self.least_detail
    }

    /// Adds what the reports have to the last section, and to its last detail.
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
        if let Some(last) = self.sections.last_mut() {
            last.sums = added(&last.sums, &sums);
        }
        if let Some(last) = self.details.last_mut() {
            last.sums = sums;
        }
    }

    /// Begins the next detail, where these frames are open; the next section, too, if the last one is long enough.
    fn begin(&mut self, border: Border, open: Vec<MethodId>) -> io::Result<()> {
        let offset = border.offset.get();
        let sums = self.details.last().map_or(0, |detail| detail.sums.len() as u64);
        let of_sums = sums.saturating_mul(self.size.bytes_a_sum);
        self.least_detail = self.size.least_bytes.max(of_sums).max(offset / MOST_DETAILS);
        if bytes_of(self.sections.last(), offset) >= self.least_bytes {
            self.end_section()?;
            let (left, entered) = change(&self.open, &open);
            self.sections.push(Section { start: border, left, entered, ..Section::default() });
            self.open.clone_from(&open);
            if self.sums > self.size.most_sums {
                self.join_pairs()?;
            }
        }
        if self.details.len() >= PACKED_SECTIONS {
            self.pack()?;
        }
        let (left, entered) = match self.details.is_empty() {
            true => (0, open.clone()),
            false => change(&self.open_in_detail, &open),
        };
        self.details.push(Section { start: border, left, entered, ..Section::default() });
        self.open_in_detail = open;
        Ok(())
    }

    /// Ends the last section.
    fn end_section(&mut self) -> io::Result<()> {
        // One that consists of one alone needs no details.
        if self.details.len() > 1 || !self.packed.is_empty() {
            self.pack()?;
        }
        self.details.clear();
        if let Some(last) = self.sections.last_mut() {
            last.details = std::mem::take(&mut self.packed);
            self.sums += last.sums.len();
        }
        Ok(())
    }

    fn pack(&mut self) -> io::Result<()> {
        self.packed.push(Details::pack(&self.details)?);
        self.details.clear();
        Ok(())
    }

    fn finish(mut self) -> io::Result<Vec<Section>> {
        self.end_section()?;
        Ok(self.sections)
    }

    /// Makes one section of two, except of the last one, and further ones twice as long.
    fn join_pairs(&mut self) -> io::Result<()> {
        let last = self.sections.len().saturating_sub(1);
        let mut joined: Vec<Section> = Vec::with_capacity(last / 2 + 2);
        // Where the section is, and where the one before it in `joined` begins.
        let (mut open, mut open_before) = (Vec::new(), Vec::new());
        for (number, mut section) in self.sections.drain(..).enumerate() {
            section.follow(&mut open);
            match joined.last_mut() {
                Some(before) if number % 2 == 1 && number < last => {
                    let details = [divided(before, &open_before)?, divided(&section, &open)?];
                    before.details = details.concat();
                    before.sums = added(&before.sums, &section.sums);
                }
                _ => {
                    (section.left, section.entered) = change(&open_before, &open);
                    open_before.clone_from(&open);
                    joined.push(section);
                }
            }
        }
        self.sections = joined;
        self.sums = self.sections.iter().map(|section| section.sums.len()).sum();
        self.least_bytes = self.least_bytes.saturating_mul(2);
        Ok(())
    }
}

/// The bytes of a section up to an offset.
fn bytes_of(section: Option<&Section>, offset: u64) -> u64 {
    offset.saturating_sub(section.map_or(0, |section| section.start.offset.get()))
}

/// The details of a section, which begins where these frames are open: itself if it is not divided.
fn divided(section: &Section, open: &[MethodId]) -> io::Result<Vec<Details>> {
    if !section.details.is_empty() {
        return Ok(section.details.clone());
    }
    let (left, entered) = (0, open.to_vec());
    Ok(vec![Details::pack(&[Section { left, entered, ..section.clone() }])?])
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
