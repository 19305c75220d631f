//! Places in a thread, and the calls that a call made directly, from its shapes.

use crate::dag::shape::kinds::{Kind, Root, ShapeId};
use crate::dag::shape::loops::Cursor;
use crate::dag::shape::of_thread::Dag;
use crate::dag::shape::strides::{At, STRIDE, Target};
use crate::dag::shape::sums::Place as Extent;
use flow_codec::index::Place;
use flow_codec::{MethodId, Offset};

/// A call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Call {
    /// Where it is entered.
    pub(crate) place: Place,
    pub(crate) method: MethodId,
    /// `None` if it is not left.
    shape: Option<ShapeId>,
}

/// The calls that a call made directly, or the outermost ones, in order. Those that are passed are not looked into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callees<'a> {
    dag: &'a Dag,
    /// The shape of the caller; `None` for the roots from one on.
    of: Option<ShapeId>,
    /// How many roots, or which runs of the shape, were begun, and what is left of the last one.
    begun: usize,
    runs: Cursor,
    left: Option<Root>,
    at: At,
}

impl Dag {
    /// The outermost calls.
    pub(crate) fn outermost(&self) -> Callees<'_> {
        let (runs, at) = (Cursor::default(), At::default());
        Callees { dag: self, of: None, begun: 0, runs, left: None, at }
    }

    /// Finds a place: before the first of the callees that are returned, or after the last one. Passes the calls that are
    /// open there to `each`, the outermost first. Of shapes whose [bytes](Self::bytes) are those of the events. `None` if
    /// there is no such place; then `each` gets the calls that are not left.
    pub(crate) fn find_place(
        &self,
        target: Target,
        mut each: impl FnMut(Call),
    ) -> Option<Callees<'_>> {
        let mut callees = self.outermost();
        loop {
            if callees.pass_to(target) {
                return Some(callees);
            }
            let Some(call) = callees.first() else {
                // It is where the call is left.
                return callees.of.map(|_| callees);
            };
            each(call);
            callees = callees.inside(call);
        }
    }

    /// Where the record of an event begins: exits that follow each other are one record.
    pub(crate) fn event(&self, number: u64) -> Option<Place> {
        let mut found = self.find_place(Target::Event(number), |_| {})?;
        if found.first().is_some() {
            return Some(found.place());
        }
        // It is an exit, and the record begins after the last entry.
        let Some(last) = found.at.calls.checked_sub(1) else { return Some(Place::default()) };
        let mut entered = self.find_place(Target::Call(last), |_| {})?;
        let call = entered.first()?;
        Some(entered.inside(call).place())
    }

    /// The place after all events.
    pub(crate) fn end_place(&self) -> Place {
        let mut callees = self.outermost();
        while let Some(next) = callees.peek() {
            match callees.first() {
                Some(call) if matches!(next, Root::Open(_)) => callees = callees.inside(call),
                _ => {
                    callees.pass(u64::MAX);
                }
            }
        }
        callees.place()
    }

    /// How many calls a call made, with itself, and where the record of its exit begins; `None` if it is not left.
    pub(crate) fn extent_of(&self, call: Call) -> Option<(u64, Place)> {
        let sums = self.shapes().sums(call.shape?);
        let exit = Extent::default().exit_of(sums);
        let Place { offset, enters, exits, frames } = call.place;
        // The exits of the record up to that of the call.
        let run = exit.exits.saturating_add(1);
        let left = Place {
            offset: Offset::new(offset.get().saturating_add(exit.offset.get())),
            enters: enters.saturating_add(sums.calls),
            exits: exits.saturating_add(sums.calls).saturating_sub(run),
            frames: frames.saturating_add(run),
        };
        Some((sums.calls, left))
    }
}

impl Callees<'_> {
    /// Where the next call is entered, or the caller left.
    pub(crate) fn place(&self) -> Place {
        self.at.place()
    }

    /// The next call, which is not passed.
    pub(crate) fn first(&mut self) -> Option<Call> {
        let place = self.place();
        match self.peek()? {
            Root::Calls(shape, _) => match self.dag.shapes().kind(shape) {
                Kind::Call(method, _) => Some(Call { place, method, shape: Some(shape) }),
                Kind::Break(_) | Kind::Thread => None,
            },
            Root::Open(method) => Some(Call { place, method, shape: None }),
            Root::UnseenExits(_) => None,
        }
    }

    /// The calls that the next call made.
    pub(crate) fn inside(mut self, call: Call) -> Self {
        self.at.enter(call.method);
        match call.shape {
            Some(_) => {
                Self { of: call.shape, begun: 0, runs: Cursor::default(), left: None, ..self }
            }
            // All that follows is in it.
            None => Self { left: None, ..self },
        }
    }

    /// Passes the consecutive calls of one shape that follow.
    fn next_run(&mut self) -> Option<(Call, u64, u64)> {
        loop {
            let next = self.peek()?;
            let first = self.first();
            let count = self.pass(u64::MAX);
            let Some(first) = first else { continue };
            let calls = match next {
                Root::Calls(shape, _) => self.dag.shapes().calls(shape),
                // All that follows is in it.
                _ => self.dag.calls().saturating_sub(first.place.enters),
            };
            return Some((first, count, calls));
        }
    }

    /// Returns whether a call was passed that is not left: then nothing follows.
    fn is_done(&self) -> bool {
        self.begun == usize::MAX
    }

    /// Passes this many calls.
    pub(crate) fn skip_calls(&mut self, mut count: u64) {
        while count > 0 && self.peek().is_some() {
            count -= self.pass(count);
        }
    }

    /// What follows. A break is neither a record nor a call.
    fn peek(&mut self) -> Option<Root> {
        loop {
            if self.left.is_none() {
                let shapes = self.dag.shapes();
                self.left = match self.of {
                    Some(_) if self.is_done() => None,
                    Some(shape) => {
                        let run = self.runs.next(shapes.items(shape));
                        run.map(|(shape, count)| Root::Calls(shape, count))
                    }
                    None => self.dag.root(self.begun),
                };
                self.left?;
                self.begun += 1;
            }
            match self.left {
                Some(Root::Calls(shape, _)) if self.dag.shapes().calls(shape) == 0 => {
                    self.left = None;
                }
                left => return left,
            }
        }
    }

    /// Passes exits, or at most this many of the calls that follow. Returns how many calls these are.
    fn pass(&mut self, count: u64) -> u64 {
        match self.left.take() {
            None => 0,
            Some(Root::UnseenExits(exits)) => {
                self.at.exit_unseen(exits);
                0
            }
            Some(Root::Calls(shape, left)) => {
                let passed = left.min(count);
                self.at.pass_calls(self.dag.shapes().sums(shape), passed);
                self.left = (left > passed).then_some(Root::Calls(shape, left - passed));
                passed
            }
            // What follows is in it.
            Some(Root::Open(_)) => {
                self.begun = usize::MAX;
                1
            }
        }
    }

    /// Passes many runs before a target at once, if none was passed yet.
    fn stride_to(&mut self, target: Target) {
        let strides = &self.dag.strides;
        if self.begun > 0 {
            return;
        }
        let start = self.at;
        if let Some(shape) = self.of {
            let places = strides.shapes.get(&shape).map_or(&[][..], |places| places);
            let passed = places.partition_point(|(_, after)| start.plus(*after).is_up_to(target));
            if let Some((runs, after)) = passed.checked_sub(1).and_then(|last| places.get(last)) {
                (self.begun, self.runs, self.at) = (1, *runs, start.plus(*after));
            }
            return;
        }
        let passed = strides.roots.partition_point(|after| start.plus(*after).is_up_to(target));
        if let Some(after) = passed.checked_sub(1).and_then(|last| strides.roots.get(last)) {
            (self.begun, self.at) = (passed * STRIDE, start.plus(*after));
        }
    }

    /// Passes runs that are made together, as often as they are made before a target, if they are next.
    fn pass_loop(&mut self, target: Target) {
        let shapes = self.dag.shapes();
        if let (Some(shape), None) = (self.of, self.left)
            && let items = shapes.items(shape)
            && let Some(part) = self.runs.whole(items)
        {
            let sums = shapes.sums_of(part);
            let times = self.at.calls_before(target, sums, part.times);
            self.at.pass_calls(sums, times);
            self.runs.pass(items, times);
            self.begun += 1;
        }
    }

    /// The consecutive calls of one shape that the next call at or after an offset is one of: the first, how many they are,
    /// and the calls in each, including itself.
    pub(crate) fn run_at(mut self, offset: Offset) -> Option<(Call, u64, u64)> {
        self.stride_to(Target::Offset(offset));
        loop {
            self.pass_loop(Target::Offset(offset));
            let run = self.next_run()?;
            if self.is_done() || self.at.extent.next_entry().offset > offset {
                return Some(run);
            }
        }
    }

    /// Passes all that is before a place. Returns whether the place is here; if not, it is in the next call.
    fn pass_to(&mut self, target: Target) -> bool {
        self.stride_to(target);
        loop {
            self.pass_loop(target);
            let Some(next) = self.peek() else { return false };
            match next {
                Root::Calls(shape, count) => {
                    let sums = self.dag.shapes().sums(shape);
                    let before = self.at.calls_before(target, sums, count);
                    self.pass(before);
                    if before < count {
                        return self.at.is_at_entry(target);
                    }
                }
                Root::Open(_) => return self.at.is_at_entry(target),
                Root::UnseenExits(count) => {
                    if self.at.is_at_exits(target, count) {
                        return true;
                    }
                    self.pass(0);
                }
            }
        }
    }
}

impl Iterator for Callees<'_> {
    type Item = Call;

    fn next(&mut self) -> Option<Call> {
        loop {
            self.peek()?;
            let call = self.first();
            self.pass(1);
            if call.is_some() {
                return call;
            }
        }
    }
}
