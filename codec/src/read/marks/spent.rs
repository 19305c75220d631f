//! Where the time of a thread went, as far as its time marks show.
//!
//! A time mark is a sample: at its position the whole stack is known. So the time around a mark counts for the stack there,
//! up to the middle between it and the next one, and all events between two marks count as if they had happened in that
//! middle. The time during which the thread stayed at the position is that stack's for certain.
//!
//! ```text
//! mark    1  stays  1           2           3   stays   3
//! time    ├─────────┤···········┼···········├───────────┤···
//! counts  └── for the stack at 1 ──┘└─ at 2 ──┘└─ at 3 ────┘
//! ```
//!
//! **CPU time** between two marks: each of both stacks claims half of the time between them, times the share for which the
//! thread ran while it stayed there (and of the end of the stay for which that was not read); that is all of it where it did not stay, and none where it waited. If less was used than
//! both claim, it is divided in proportion. If more was used, something ran in between that no sample has seen: the rest is
//! put aside, and given back in small parts, and where later stacks claim more than was used. So what runs for less than the
//! time between two samples gets its share from those of its runs that are seen, whatever made the thread wait in between.
//! What is left at the end counts for the last stack.
//!
//! Where the thread waits at one mark and runs at the other one, all of it could go to the latter. But then a method that is
//! over before the next sample is robbed by those that are longer: up to 4 % of the time, in simulations of which
//! `query/tests/it/shares.rs` has some. Giving nothing back before it is claimed loses up to 4 % to the last stack.

/// How much time has passed for a thread, and how certain it is where it went.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Elapsed {
    /// Nanoseconds.
    pub ns: u64,
    /// How many samples have some of it.
    pub samples: u64,
    /// The square of the standard error of a sum over all of these samples, in square microseconds.
    pub variance: u64,
}

impl Elapsed {
    /// Time that was not sampled.
    pub const fn of_ns(ns: u64) -> Self {
        Self { ns, samples: 0, variance: 0 }
    }

    /// Time of samples that all lasted equally long.
    #[must_use]
    pub fn of_samples(samples: u64, ns: u64) -> Self {
        let us = u128::from(ns / NS_A_US);
        let variance = (us * us).checked_div(samples.into()).unwrap_or_default();
        Self { ns, samples, variance: u64::try_from(variance).unwrap_or(u64::MAX) }
    }

    /// What has passed since another instant.
    #[must_use]
    #[inline]
    pub const fn since(self, before: Self) -> Self {
        Self {
            ns: self.ns.saturating_sub(before.ns),
            samples: self.samples.saturating_sub(before.samples),
            variance: self.variance.saturating_sub(before.variance),
        }
    }

    /// Adds time of other samples.
    #[inline]
    pub const fn add(&mut self, more: Self) {
        self.ns = self.ns.saturating_add(more.ns);
        self.samples = self.samples.saturating_add(more.samples);
        self.variance = self.variance.saturating_add(more.variance);
    }

    /// The standard error, in nanoseconds.
    #[must_use]
    pub fn error_ns(self) -> u64 {
        // A range may have a part of a sample only.
        self.variance.isqrt().saturating_mul(NS_A_US).min(self.ns)
    }

    /// Adds that of one sample, of which a part is certain.
    fn sampled(mut self, ns: u64, certain_ns: u64) -> Self {
        let uncertain_us = ns.saturating_sub(certain_ns) / NS_A_US;
        let variance = uncertain_us.saturating_mul(uncertain_us);
        self.add(Self { ns, samples: u64::from(ns > 0), variance });
        self
    }
}

const NS_A_US: u64 = 1_000;
/// A thread that runs for less than this part of a stay waits.
const WAITING_PART: u64 = 16;
/// After each mark, this part of what was put aside is given back.
const BACK_PART: u64 = 16;

/// When a position was reached, and until when the thread was there at least.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    pub(super) by_ns: u64,
    pub(super) from_ns: u64,
}

impl Reached {
    fn stayed_ns(self) -> u64 {
        self.from_ns.saturating_sub(self.by_ns)
    }
}

/// What a time mark shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Staying {
    pub(super) wall: Reached,
    pub(super) cpu: Reached,
    /// Up to this time, `cpu` has the stay. It equals the beginning of the stay if the CPU time was read only there.
    pub(super) read_ns: u64,
    /// Whether the event after it happened then, and nothing is sampled.
    pub(super) is_instant: bool,
}

impl Staying {
    /// How much of a time next to it the thread ran, if it ran as it did while it stayed. One that runs may have to share a
    /// processor with many others.
    fn running(self, ns: u64) -> u64 {
        let stayed_ns = self.wall.stayed_ns() - self.unread_ns();
        let ran_ns = self.cpu.stayed_ns();
        if stayed_ns == 0 || ran_ns >= stayed_ns {
            return ns;
        }
        if ran_ns < stayed_ns / WAITING_PART {
            return 0;
        }
        share(ns, ran_ns, stayed_ns)
    }

    /// The end of the stay, of which is not known how much of it the thread ran.
    fn unread_ns(self) -> u64 {
        let stayed_ns = self.wall.stayed_ns();
        match self.read_ns.saturating_sub(self.wall.by_ns) {
            0 => 0,
            read_ns => stayed_ns.saturating_sub(read_ns),
        }
    }
}

/// A part of `ns`, which is at most all of it.
fn share(ns: u64, part: u64, of: u64) -> u64 {
    let share = u128::from(ns) * u128::from(part) / u128::from(of.max(1));
    u64::try_from(share).unwrap_or(ns)
}

/// The time of the events between two time marks, on each axis.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TimeInterval {
    pub(crate) wall: Elapsed,
    pub(crate) cpu: Elapsed,
}

/// Sums over the samples up to an interval between two marks.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Spent {
    /// Up to the events of the interval.
    pub(super) wall: Elapsed,
    pub(super) cpu: Elapsed,
    /// Up to the last instant at which the thread was seen at the mark before the interval.
    pub(super) at_mark: TimeInterval,
    /// CPU time of the interval that counts for the mark after it, and what was put aside.
    owed_ns: u64,
    aside_ns: u64,
    /// Whether they end at an instant: what follows up to the next mark is certain.
    is_instant: bool,
}

impl Spent {
    /// Continues with the mark after these sums, up to the interval between it and the next one.
    pub(super) fn until(self, before: Option<Staying>, after: Option<Staying>) -> Self {
        let Some(before) = before else {
            // The time of the beginning is not known.
            let ns = after.map_or(0, |after| after.wall.by_ns);
            return Self { wall: Elapsed { ns, ..Elapsed::default() }, ..self };
        };
        let (from_ns, ran_ns) = (before.wall.from_ns, before.cpu.stayed_ns());
        let passed = |until_ns: u64| until_ns.saturating_sub(self.wall.ns);
        let (stayed_ns, wall_ns) = if before.is_instant {
            (passed(from_ns), passed(from_ns))
        } else {
            let middle =
                after.map_or(from_ns, |after| from_ns.midpoint(after.wall.by_ns.max(from_ns)));
            let exact_ns = if self.is_instant { passed(before.wall.by_ns) } else { 0 };
            (exact_ns.saturating_add(before.wall.stayed_ns()), passed(middle))
        };
        let is_instant = before.is_instant;
        let wall = self.wall.sampled(wall_ns, stayed_ns);
        let Some(after) = after else {
            // Nothing is left for others.
            let cpu_ns = before.cpu.from_ns.saturating_sub(self.cpu.ns);
            let cpu = self.cpu.sampled(cpu_ns, cpu_ns.min(ran_ns));
            return Self { wall, cpu, at_mark: TimeInterval { wall, cpu }, is_instant, ..self };
        };
        let gap_ns = after.cpu.by_ns.saturating_sub(before.cpu.from_ns);
        let (mine_ns, owed_ns, aside_ns) = if before.is_instant {
            (0, gap_ns, 0)
        } else {
            let between_ns = after.wall.by_ns.saturating_sub(from_ns);
            let unread_ns = before.unread_ns();
            let claims_ns = [
                before.running(unread_ns.saturating_add(between_ns / 2)),
                after.running(between_ns - between_ns / 2),
            ];
            divide(gap_ns, self.aside_ns, claims_ns)
        };
        let cpu_ns = self.owed_ns.saturating_add(ran_ns).saturating_add(mine_ns);
        let cpu = self.cpu.sampled(cpu_ns, ran_ns);
        let at_mark = TimeInterval {
            wall: Elapsed { ns: wall.ns.min(from_ns.max(self.wall.ns)), ..wall },
            cpu: Elapsed { ns: cpu.ns.saturating_sub(mine_ns), ..cpu },
        };
        Self { wall, cpu, at_mark, owed_ns, aside_ns, is_instant }
    }
}

/// Divides the CPU time between two marks, with what was put aside before: what counts for the mark before it, and for the
/// one after it, and what is put aside then.
fn divide(gap_ns: u64, aside_ns: u64, claims_ns: [u64; 2]) -> (u64, u64, u64) {
    let have_ns = gap_ns.saturating_add(aside_ns);
    let [before_ns, _] = claims_ns;
    let claimed_ns = claims_ns[0].saturating_add(claims_ns[1]);
    if claimed_ns == 0 {
        return (0, 0, have_ns);
    }
    let given_ns = have_ns.min(claimed_ns);
    let given_ns = given_ns + (have_ns - given_ns) / BACK_PART;
    let mine_ns = share(given_ns, before_ns, claimed_ns);
    (mine_ns, given_ns - mine_ns, have_ns - given_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mark at which the thread was from one time to another, and how much of it and of the time after it ran.
    fn mark(by_ns: u64, from_ns: u64, cpu_by_ns: u64, cpu_from_ns: u64) -> Staying {
        Staying {
            wall: Reached { by_ns, from_ns },
            cpu: Reached { by_ns: cpu_by_ns, from_ns: cpu_from_ns },
            read_ns: by_ns,
            is_instant: false,
        }
    }

    /// What counts for the stack of each mark: time, and CPU time.
    fn shares(marks: &[Staying]) -> Vec<(u64, u64)> {
        let mut spent = Spent::default().until(None, marks.first().copied());
        let mut shares = Vec::new();
        for (number, mark) in marks.iter().enumerate() {
            let next = spent.until(Some(*mark), marks.get(number + 1).copied());
            let passed = (next.wall.since(spent.wall), next.cpu.since(spent.cpu));
            shares.push((passed.0.ns, passed.1.ns));
            spent = next;
        }
        shares
    }

    #[test]
    fn a_thread_that_runs_divides_its_time_in_the_middle_between_samples() {
        let marks = [mark(100, 100, 0, 0), mark(200, 240, 100, 140), mark(300, 300, 200, 200)];
        assert_eq!(shares(&marks), [(50, 50), (120, 120), (30, 30)]);
    }

    #[test]
    fn what_ran_after_a_wait_counts_for_the_stack_that_runs() {
        // It waits from 100 to 1000, runs from about 1050 to 1150, and waits again from 1200 on.
        let marks = [mark(100, 1000, 0, 0), mark(1100, 1100, 50, 50), mark(1200, 2000, 100, 100)];
        assert_eq!(shares(&marks), [(950, 0), (100, 100), (850, 0)]);
    }

    #[test]
    fn what_is_used_is_divided_as_it_is_claimed() {
        // While it stayed at the first mark, it ran for a third of the time; at the second one it runs.
        assert_eq!(divide(400, 0, [100, 300]), (100, 300, 0));
        assert_eq!(divide(200, 0, [100, 300]), (50, 150, 0));
        // What was put aside is given back where more is claimed than was used, and else in small parts.
        assert_eq!(divide(200, 200, [100, 300]), (100, 300, 0));
        assert_eq!(divide(400, 160, [0, 400]), (0, 410, 150));
        assert_eq!(divide(400, 160, [0, 0]), (0, 0, 560));
        assert_eq!(divide(800, 16_000, [400, 400]), (900, 900, 15_000));
    }

    #[test]
    fn what_no_sample_has_seen_counts_for_the_next_one_that_has() {
        // Of three times 100 that ran between waits, a sample has seen one.
        let marks = [
            mark(0, 1000, 0, 0),
            mark(1200, 2000, 100, 100),
            mark(2200, 3000, 200, 200),
            mark(3300, 3300, 250, 250),
            mark(3600, 4000, 300, 300),
        ];
        let shares = shares(&marks);
        // What is left for the last stack has no place in the others.
        assert_eq!(shares.iter().map(|(_, cpu)| *cpu).collect::<Vec<_>>(), [0, 0, 0, 300, 0]);
        // Its time has room for 300.
        assert_eq!(shares[3].0, 300);
    }

    #[test]
    fn what_was_put_aside_is_given_back_in_parts() {
        let marks = [
            mark(0, 1000, 0, 0),
            mark(1200, 2000, 150, 150),
            mark(2040, 2040, 170, 170),
            mark(2080, 3000, 190, 190),
        ];
        // The rest counts for the last stack.
        assert_eq!(shares(&marks), [(1100, 0), (920, 0), (40, 57), (940, 133)]);
    }

    #[test]
    fn the_error_is_that_of_the_parts_that_are_not_certain() {
        let us = |us: u64| us * NS_A_US;
        let passed = Elapsed::default().sampled(us(500), us(496)).sampled(us(3), 0);
        assert_eq!((passed.ns, passed.samples, passed.error_ns()), (us(503), 2, us(5)));
        assert_eq!(passed.since(passed), Elapsed::default());
    }
}
