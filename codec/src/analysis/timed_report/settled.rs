//! Sums of times that are put together from those of sections of a thread.
//!
//! Every sum of a [`TimedReport`] over a thread is that over its sections, if these begin where a time mark is: an interval
//! belongs to one of them, and so do the time that has passed in it and the methods that were entered or left in it. Of a
//! frame that is open at a border, the time for certain up to the border and that from there on are together that of the
//! whole call, because it was entered by then and is not left before.

use super::{Sum, TimedReport, index};
use crate::MethodId;
use crate::format::sections::{MethodSums, TimeSums};

impl<const CPU: bool> TimedReport<'_, CPU> {
    /// Counts the open frames up to the border that was reached, where the clock has begun an interval. They continue there.
    pub(crate) fn settle(&mut self) {
        let (now, wall) = (self.now(), self.clock.now());
        let innermost = self.stack.last().copied().unwrap_or_default();
        if let Some(sum) = self.sums.get_mut(innermost) {
            sum.self_weight.add(now.saturating_sub(self.last));
        }
        self.last = now;
        self.end_interval();
        let from_ns = self.clock.bounds_on(Self::AXIS).from_ns;
        self.innermost.wait(innermost, from_ns);
        for sum in self.sums.iter_mut().filter(|sum| sum.open > 0) {
            sum.total += u128::from(now.saturating_sub(sum.entered_at));
            if CPU {
                sum.wall_total += u128::from(wall.saturating_sub(sum.entered_at_wall));
            }
            sum.sure_ns = sum.sure_ns.saturating_add(from_ns.saturating_sub(sum.entered_by_ns));
            sum.enter_at(now, wall, from_ns);
        }
        if CPU && !self.stack.is_empty() {
            self.wall += u128::from(wall.saturating_sub(self.wall_since));
            self.wall_since = wall;
        }
    }

    /// Continues at another border, which the clock shows, with these frames, the outermost first. They were entered before;
    /// those that were open until now were counted by [`settle`](Self::settle).
    pub(crate) fn reopen(&mut self, frames: &[MethodId]) {
        let (now, wall) = (self.now(), self.clock.now());
        let from_ns = self.clock.bounds_on(Self::AXIS).from_ns;
        for number in self.stack.drain(..) {
            if let Some(sum) = self.sums.get_mut(number) {
                sum.open = 0;
            }
        }
        for &method in frames {
            let number = self.number_of(method);
            let Some(sum) = self.sums.get_mut(number) else { continue };
            if sum.open == 0 {
                sum.enter_at(now, wall, from_ns);
            }
            sum.open += 1;
            self.stack.push(number);
        }
        self.last = now;
        self.wall_since = wall;
        self.innermost.wait_until(from_ns);
    }

    /// The methods of the open frames, the outermost first.
    pub(crate) fn open_methods(&self) -> impl Iterator<Item = MethodId> {
        let method = |number: &usize| self.numbering.method(u32::try_from(*number).ok()?);
        self.stack.iter().filter_map(method)
    }

    /// Takes the sums of each method out, in the order in which the methods were first entered: its calls and its times.
    /// What is open continues.
    pub(crate) fn take_sums(&mut self) -> impl Iterator<Item = (MethodId, u64, TimeSums)> {
        let Self { sums, innermost, numbering, .. } = self;
        let methods = numbering.methods().iter().zip(sums.iter_mut().skip(1));
        (1..).zip(methods).map(|(number, (method, sum))| {
            let (self_time, self_may_be_ns) = sum.self_weight.take();
            let total = std::mem::take(&mut sum.total);
            let in_part = |time: u128| u64::try_from(time).unwrap_or(u64::MAX);
            let times = TimeSums {
                self_time: in_part(self_time),
                rest: in_part(total.saturating_sub(self_time)),
                sure_ns: std::mem::take(&mut sum.sure_ns),
                may_be_ns: std::mem::take(&mut sum.may_be_ns),
                self_sure_ns: innermost.take_sure(number),
                self_may_be_ns,
            };
            (*method, std::mem::take(&mut sum.calls), times)
        })
    }

    /// Adds the sums of a section.
    pub(crate) fn add_section(&mut self, sums: &[MethodSums]) {
        for sums in sums {
            let times = if CPU { &sums.cpu } else { &sums.wall };
            let total = u128::from(times.self_time) + u128::from(times.rest);
            let wall = u128::from(sums.wall.self_time) + u128::from(sums.wall.rest);
            let number = self.number_of(sums.method);
            let Some(sum) = self.sums.get_mut(number) else { continue };
            sum.calls = sum.calls.saturating_add(sums.calls);
            sum.total += total;
            sum.sure_ns = sum.sure_ns.saturating_add(times.sure_ns);
            sum.may_be_ns = sum.may_be_ns.saturating_add(times.may_be_ns);
            sum.self_weight.add_sums(times.self_time.into(), times.self_may_be_ns);
            self.innermost.add_sure(number, times.self_sure_ns);
            if CPU {
                sum.wall_total += wall;
                // Some method is innermost whenever a frame is open.
                self.wall += u128::from(sums.wall.self_time);
            }
        }
    }

    /// Adds the sums of another report, whose threads have ended.
    pub(crate) fn add(&mut self, mut other: TimedReport<'_, CPU>) {
        for (number, method) in (1..).zip(other.numbering.methods()) {
            let Some(other_sum) = other.sums.get_mut(number) else { continue };
            let number_here = self.number_of(*method);
            let Some(sum) = self.sums.get_mut(number_here) else { continue };
            sum.calls = sum.calls.saturating_add(other_sum.calls);
            sum.total += other_sum.total;
            sum.wall_total += other_sum.wall_total;
            sum.sure_ns = sum.sure_ns.saturating_add(other_sum.sure_ns);
            sum.may_be_ns = sum.may_be_ns.saturating_add(other_sum.may_be_ns);
            let (self_time, self_may_be_ns) = other_sum.self_weight.take();
            sum.self_weight.add_sums(self_time, self_may_be_ns);
            self.innermost.add_sure(number_here, other.innermost.take_sure(number));
        }
        self.wall += other.wall;
    }

    /// The number of a method, for which there is a sum.
    fn number_of(&mut self, method: MethodId) -> usize {
        let number = index(self.numbering.number(method));
        if number >= self.sums.len() {
            self.sums.resize(number + 1, Sum::default());
        }
        number
    }
}
