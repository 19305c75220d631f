//! The stack at each time mark of a thread, from its shapes.

use super::ranges::{Each, Ranges};
use crate::dag::shape::kinds::{Kind, Root};
use crate::dag::shape::of_thread::Dag;
use flow_codec::format::marks::Position;
use flow_codec::read::{Clock, Selection, ThreadFile, Times, Visit};
use flow_codec::{Error, MethodId, Offset, Result};

/// After all positions.
const END: Position = Position { offset: Offset::new(u64::MAX), exits: u64::MAX };

/// A call in which a time mark is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampledCall {
    pub(crate) method: MethodId,
    pub(crate) entry: Position,
    /// Where it is left; `None` if it is not.
    pub(crate) exit: Option<Position>,
}

impl Dag {
    /// Sets a clock to the times of a thread, one after the other, and passes to a visitor what is between: the frames that
    /// have been left since the last time, and those that have been entered. Calls without a sample are not passed. So sums
    /// of times are those over all events, and take as long as there are samples. Returns the error of the marks, if there
    /// is one. The shapes must be all of the thread, and their [bytes](Self::bytes) those of its events.
    ///
    /// # Errors
    /// The marks cannot be opened.
    pub(crate) fn visit_sampled(
        &self,
        file: &ThreadFile,
        clock: &Clock,
        visitor: &mut impl Visit,
    ) -> Result<Option<Error>> {
        clock.begin_thread();
        let Some(marks) = file.marks()? else { return Ok(None) };
        let mut times = Times::new(marks);
        let (mut at, mut damage) = (Position::default(), None);
        let (mut ranges, mut open, mut stack) = (Ranges::default(), Open::default(), Vec::new());
        loop {
            match times.interval(at) {
                Ok(interval) => clock.begin(interval),
                Err(error) => {
                    // The marks before are used.
                    damage = Some(error);
                    continue;
                }
            }
            let next = times.until();
            ranges.pass(self, next.unwrap_or(END), Each::Nobody);
            let frames = open.methods.len();
            open.follow(self, &ranges);
            // Whatever is never left was entered when no other call was open.
            let same = if open.methods.len() == frames { frames + ranges.kept } else { 0 };
            let new = open.methods.iter().copied().skip(same);
            let levels = same.saturating_sub(open.methods.len());
            change(&mut stack, same, new.chain(self.entered(&ranges, levels)), visitor);
            match next {
                Some(next) => at = next,
                None => return Ok(damage),
            }
        }
    }

    /// Passes the calls in which a time mark of a thread is to `each`, in the order in which they begin, up to the first frame
    /// that is never left. Other calls have no duration, unless the marks have the instants of events. The shapes must be all
    /// of the same thread, and their [bytes](Self::bytes) those of its events. Returns the error of the marks, if there is one.
    ///
    /// # Errors
    /// The marks cannot be opened.
    pub(crate) fn calls_with_samples(
        &self,
        file: &ThreadFile,
        mut each: impl FnMut(SampledCall),
    ) -> Result<Option<Error>> {
        let Some(marks) = file.marks()? else { return Ok(None) };
        let (mut times, mut damage) = (Times::new(marks), None);
        let (mut at, mut ranges, mut entered) =
            (Position::default(), Ranges::default(), Vec::new());
        loop {
            if let Err(error) = times.interval(at) {
                // The marks before are used.
                damage = Some(error);
                continue;
            }
            let Some(next) = times.until() else { return Ok(damage) };
            let mut enter = |method, place| entered.push((method, place));
            ranges.pass(self, next, Each::Entered(&mut enter));
            let levels = ranges.levels.get(ranges.kept..).unwrap_or_default();
            // What was entered before these is never left.
            let never_left = entered.len().saturating_sub(levels.len());
            for (at, (method, place)) in entered.drain(..).enumerate() {
                let level = at.checked_sub(never_left).and_then(|at| levels.get(at));
                let exit = level.map(|level| place.exit_of(self.shapes().sums(level.shape)));
                each(SampledCall { method, entry: place.next_entry(), exit });
            }
            at = next;
        }
    }

    /// Returns whether frames of some methods are never left.
    pub(crate) fn leaves_open(&self, methods: &Selection) -> bool {
        let mut roots = (0..).map_while(|at| self.root(at));
        roots.any(|root| matches!(root, Root::Open(method) if methods.contains(method)))
    }

    /// The methods of the calls in which a position is, without some of the outermost, and without the frames that are never left.
    fn entered<'a>(
        &'a self,
        ranges: &'a Ranges,
        without: usize,
    ) -> impl Iterator<Item = MethodId> + 'a {
        ranges.levels.iter().skip(without).filter_map(|level| {
            match self.shapes().kind(level.shape) {
                Kind::Call(method, _) => Some(method),
                _ => None,
            }
        })
    }
}

/// The frames so far that are never left.
#[derive(Default)]
struct Open {
    methods: Vec<MethodId>,
    /// How many roots were passed.
    roots: usize,
}

impl Open {
    fn follow(&mut self, dag: &Dag, ranges: &Ranges) {
        // The last root that was begun may be entered later.
        let begun = ranges.roots - usize::from(matches!(ranges.of_root, Some(Root::Open(_))));
        for root in (self.roots..begun).filter_map(|at| dag.root(at)) {
            if let Root::Open(method) = root {
                self.methods.push(method);
            }
        }
        self.roots = self.roots.max(begun);
    }
}

/// Passes to a visitor how a stack becomes another one, of which `same` frames are known to be the same, and all others are
/// `next`.
fn change(
    stack: &mut Vec<MethodId>,
    mut same: usize,
    next: impl Iterator<Item = MethodId>,
    visitor: &mut impl Visit,
) {
    let mut next = next.peekable();
    while next.next_if(|method| stack.get(same) == Some(method)).is_some() {
        same += 1;
    }
    let left = stack.len().saturating_sub(same) as u64;
    if let Some(left) = std::num::NonZeroU64::new(left) {
        visitor.exit(left);
    }
    stack.truncate(same);
    for method in next {
        visitor.enter(method);
        stack.push(method);
    }
}
