//! How far a thread that grows has been read.

use std::num::NonZeroU64;

use crate::Offset;

/// Where to continue. The last run of exits may have become longer by then.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Reached {
    /// Of the first record that was not read, or of the last run of exits.
    next: Offset,
    /// How many exits of that run were read.
    exits: u64,
}

impl Reached {
    /// The record with which to continue.
    #[must_use]
    pub fn next(self) -> Offset {
        self.next
    }

    /// Continues with the record at an offset.
    pub fn continue_at(&mut self, next: Offset) {
        (self.next, self.exits) = (next, 0);
    }

    /// Passes `count` exits of the run at an offset, after the first `before` of it. Returns how many are new.
    pub fn pass_exits(
        &mut self,
        run: Offset,
        before: u64,
        count: NonZeroU64,
    ) -> Option<NonZeroU64> {
        let known = if run == self.next { self.exits } else { 0 };
        let passed = before.saturating_add(count.get());
        (self.next, self.exits) = (run, passed.max(known));
        NonZeroU64::new(passed.saturating_sub(known.max(before)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exits_of_a_run_that_grows_are_new_once() {
        let mut reached = Reached::default();
        let mut pass = |run, before, count: u64| {
            let new = reached.pass_exits(Offset::new(run), before, NonZeroU64::new(count).unwrap());
            new.map_or(0, NonZeroU64::get)
        };
        assert_eq!(pass(7, 0, 3), 3);
        // The run has grown.
        assert_eq!(pass(7, 0, 5), 2);
        // The same in two steps, as a mark divides it.
        assert_eq!((pass(7, 0, 2), pass(7, 2, 3), pass(7, 5, 1)), (0, 0, 1));
        assert_eq!(pass(9, 0, 1), 1);
        reached.continue_at(Offset::new(12));
        assert_eq!(reached.next(), Offset::new(12));
    }
}
