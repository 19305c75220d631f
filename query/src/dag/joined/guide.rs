//! Which calls of two sides belong together, for a reader that passes both in order.

/// What is known of a pair of calls that differ, by the numbers of calls since these began, themselves included.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Guided {
    /// On each side, the calls that only that side made: where the first of them is, and how many are made in all of them.
    only: [Vec<(u64, u64)>; 2],
    /// The pairs of calls that differ: where they are before, how many are made there in all of them, and the pair.
    callees: Vec<(u64, u64, PairNumber)>,
}

/// The number of a pair of calls that were compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PairNumber(pub(super) usize);

impl Guided {
    /// Adds calls that only one side made, after those that were added before.
    pub(super) fn push_only(&mut self, side: usize, number: u64, calls: u64) {
        if let Some(only) = self.only.get_mut(side).filter(|_| calls > 0) {
            only.push((number, calls));
        }
    }

    /// Adds a pair of calls, or several with the same number.
    pub(super) fn push_pair(&mut self, number: u64, calls: u64, pair: usize) {
        self.callees.push((number, calls, PairNumber(pair)));
    }

    /// How many calls from here on only this side made, with those that they made.
    pub(super) fn only(&self, side: usize, number: u64) -> u64 {
        let only = self.only.get(side).map_or(&[][..], Vec::as_slice);
        let at = only.binary_search_by_key(&number, |(first, _)| *first);
        at.ok().and_then(|at| only.get(at)).map_or(0, |(_, calls)| *calls)
    }

    /// The pair of the calls here, if they differ.
    pub(super) fn callee(&self, number: u64) -> Option<PairNumber> {
        let after = self.callees.partition_point(|(first, ..)| *first <= number);
        let (first, calls, pair) = self.callees.get(after.checked_sub(1)?)?;
        (number - first < *calls).then_some(*pair)
    }
}
