//! The sums over a range of time, and passes that begin in the middle of a thread.

use super::Sections;
use crate::Result;
use crate::analysis::TimedReport;
use crate::read::{
    Clock, Pass, Selection, ThreadFile, TimeLimited, TimeLimits, TimedEvents, Visit,
};

impl Sections {
    /// Adds the sums over the calls of a thread that are within limits to a report, with the result of a
    /// [pass](ThreadFile::timed_pass) over all its events. Returns `false` if these have to be read: calls are left out by their
    /// duration, or the sections are not those of the events. Then nothing was added.
    pub fn add<const CPU: bool>(
        &self,
        file: &ThreadFile,
        limits: TimeLimits,
        clock: &Clock,
        report: &mut TimedReport<'_, CPU>,
    ) -> bool {
        if limits.min_ns > 0 || file.parts.is_some() {
            return false;
        }
        let mut part = TimedReport::new(clock);
        let is_of_events = if limits == TimeLimits::NONE {
            self.sections.iter().for_each(|section| part.add_section(&section.sums));
            true
        } else {
            let sections = self.divided_at([limits.from_ns, limits.to_ns]);
            sections.add_range(file, limits, clock, &mut part).is_ok_and(|found| found.is_some())
        };
        if is_of_events {
            report.add(part);
        }
        is_of_events
    }

    /// Adds the sections within limits, and reads the events at their ends. `None` if the sections are not those of the
    /// events.
    fn add_range<const CPU: bool>(
        &self,
        file: &ThreadFile,
        limits: TimeLimits,
        clock: &Clock,
        part: &mut TimedReport<'_, CPU>,
    ) -> Result<Option<()>> {
        let (from_ns, to_ns) = (limits.from_ns, limits.to_ns.max(limits.from_ns));
        let mut events = TimedEvents::open(file, clock)?;
        let mut limited = TimeLimited::new(part, clock, limits);
        // Whole sections begin where the range has begun, and end before it ends.
        let (first, end) = match to_ns {
            u64::MAX => (self.before(from_ns), self.count()),
            _ => (self.before(from_ns), self.before(to_ns).saturating_sub(1)),
        };
        if let Some(before) = first.checked_sub(1)
            && before > 0
        {
            let Some(border) = self.start(before) else { return Ok(None) };
            if !events.begin_at(file, border, &self.open_at(before), &mut limited)? {
                return Ok(None);
            }
        }
        if first < end {
            if let Some(border) = self.start(first).filter(|_| first > 0) {
                while events.is_before(border.offset) && events.visit_some(&mut limited)? {}
                if events.border() != Some(border) {
                    return Ok(None);
                }
            }
            limited.reach();
            let part = limited.visitor();
            part.settle();
            if !part.open_methods().eq(self.open_at(first)) {
                return Ok(None);
            }
            let whole = self.sections.get(first..end).unwrap_or_default();
            whole.iter().for_each(|section| part.add_section(&section.sums));
            let Some(border) = self.start(end) else {
                part.reopen(&[]);
                part.end_thread();
                return Ok(Some(()));
            };
            if !events.skip_to(file, border)? {
                return Ok(None);
            }
            let open = self.open_at(end);
            limited.visitor().reopen(&open);
            limited.reopen(open.len() as u64);
        }
        while !limited.is_over() && events.visit_some(&mut limited)? {}
        limited.end_thread();
        limited.visitor().end_thread();
        Ok(Some(()))
    }

    /// Opens a [pass](ThreadFile::timed_pass) with the same result that begins at the last border before the limits, if there
    /// is one.
    ///
    /// # Errors
    /// The events cannot be opened.
    pub fn timed_pass<'a, V: Visit>(
        &self,
        file: &ThreadFile,
        selection: &'a Selection,
        limits: TimeLimits,
        clock: &'a Clock,
        visitor: &'a mut V,
    ) -> Result<Pass<'a, V>> {
        let mut pass = file.timed_pass(selection, limits, clock, visitor)?;
        // The duration of a call counts from its true beginning, and CPU time at the limits from the last selected event.
        let may_begin = limits.min_ns == 0 && selection.is_all() && file.parts.is_none();
        let sections = self.divided_at([limits.from_ns; 2]);
        let before = sections.before(limits.from_ns).saturating_sub(1);
        if may_begin
            && before > 0
            && let Some(border) = sections.start(before)
        {
            pass.begin_at(file, border, &sections.open_at(before))?;
        }
        Ok(pass)
    }
}
