//! Reads two threads in step, and compares the values of calls that both made.
//!
//! Which calls differ is found by [shapes](Comparison). That comparison guides the reader: calls that only one side made are
//! skipped. Where the two sides part otherwise, because not all was compared, the rest of the call in which that happens is
//! skipped on both; its result, and what follows, is compared again. Memory: the open frames with their arguments, and what differs, by
//! method.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::ControlFlow;

use flow_codec::MethodId;
use flow_codec::format::values::{CallValue, Place, Role, Value};
use flow_codec::read::Methods;

use super::contents::Contents;
use super::side::{Entered, How, Item, Side, Source};
use crate::dag::{Comparison, PairNumber};
use crate::reading::{Listener, Reading};
use crate::text::ValueTexts;

/// The most kinds of parts that are counted one by one in values of one name. All others are one more.
const MOST_PARTS: usize = 64;
/// What leads to them.
const OTHER_PARTS: &str = "…";
/// How many frames the stacks of all first differences may have together.
const MOST_FRAMES: usize = 1 << 20;

/// A value by which calls of a method differ, though they were made by the same callers in the same order.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DifferingValue {
    /// The method.
    pub method: MethodId,
    /// The name of the value, with what leads to the part that differs: `result`, `order.lines[].total`, `field(total)`, `exception`
    /// (its class), or `access` (another field, or none).
    pub name: String,
    /// How many such values differ.
    pub count: u64,
    /// How many values of this name were compared, with all their parts.
    pub compared: u64,
    /// Whether no other value of the thread differed before.
    pub is_first: bool,
    /// The first one.
    pub first: FirstDifference,
}

/// Where a value first differs.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FirstDifference {
    /// The name of the value, and the part of it: `order.lines[2].total`.
    pub name: String,
    /// The value before and after.
    pub texts: [String; 2],
    /// The numbers of the call.
    pub numbers: [u64; 2],
    /// The method of the call after those of its callers, the outermost first. Empty if it would take too much memory.
    pub stack: Vec<MethodId>,
    /// The arguments of the call before, if they are recorded, unless one of them is what differs.
    pub arguments: String,
}

/// What differs in calls that both sides made.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct DifferingValues {
    /// By method and name, those that differ most often first.
    pub values: Vec<DifferingValue>,
    /// How many calls both sides made, in the same order.
    pub calls: u64,
    /// How many values were compared.
    pub compared: u64,
    /// Whether a value differs before the calls do.
    pub is_before_calls: bool,
}

impl DifferingValues {
    /// The value that differs first.
    #[must_use]
    pub fn first(&self) -> Option<&DifferingValue> {
        self.values.iter().find(|value| value.is_first)
    }

    /// How many values differ.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.values.iter().map(|value| value.count).sum()
    }
}

/// Reads two sides. Returns what differs, and how reading ended.
pub(super) fn compare(
    sources: [Source<'_>; 2],
    guide: &Comparison,
    listener: &mut impl Listener,
) -> (DifferingValues, [Reading; 2]) {
    let opened = sources.each_ref().map(Side::open);
    let [before, after] = match opened {
        [Ok(before), Ok(after)] => [before, after],
        failed => {
            let reading = |side: Result<Side<'_>, _>| {
                side.err().map_or_else(Reading::default, Reading::failed)
            };
            return (DifferingValues::default(), failed.map(reading));
        }
    };
    let contents = Contents { before: before.methods, after: after.methods };
    let mut walk = InStep {
        before,
        after,
        contents,
        guide,
        outermost: guide.outermost(),
        frames: Vec::new(),
        arguments: Vec::new(),
        found: Found::default(),
    };
    loop {
        let InStep { before, .. } = &walk;
        listener.step(|| before.offset());
        if walk.step() == ControlFlow::Break(()) {
            break;
        }
    }
    let InStep { before, after, found, .. } = walk;
    (found.finish(), [before.into_reading(), after.into_reading()])
}

/// What is read in step.
struct InStep<'a> {
    before: Side<'a>,
    after: Side<'a>,
    contents: Contents<'a>,
    /// How the calls of the two sides differ, and its pair of all calls.
    guide: &'a Comparison,
    outermost: Option<PairNumber>,
    /// The open calls of both sides.
    frames: Vec<Frame>,
    /// The arguments of open calls, each with the number of frames with which it came.
    arguments: Vec<(usize, CallValue)>,
    found: Found,
}

/// An open call of both sides.
struct Frame {
    sides: [Entered; 2],
    /// The pair of the call, if what it calls differs.
    pair: Option<PairNumber>,
}

/// What a value is to its call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Slot {
    Of(Role),
    /// A field, by its id before.
    Field(MethodId),
    Element,
    /// An access to something else.
    Access,
    Exception,
}

/// The values of one name in calls of one method.
#[derive(Debug, Default)]
struct Counted {
    compared: u64,
    parts: Vec<Part>,
}

/// Values that differ in parts of the same kind.
#[derive(Debug)]
struct Part {
    kind: String,
    count: u64,
    /// How many kinds differed before.
    order: u64,
    name: String,
    first: FirstDifference,
}

#[derive(Debug, Default)]
struct Found {
    counted: HashMap<(MethodId, Slot), Counted>,
    answer: DifferingValues,
    kinds: u64,
    is_parted: bool,
    /// How many frames the stacks have.
    stored: usize,
}

impl InStep<'_> {
    /// Reads on. Returns whether to continue.
    fn step(&mut self) -> ControlFlow<()> {
        if self.skip_only() {
            self.found.is_parted = true;
            return ControlFlow::Continue(());
        }
        match (self.before.peek(), self.after.peek()) {
            (None, None) => return ControlFlow::Break(()),
            (Some(Item::Value(_)), _) | (_, Some(Item::Value(_))) => self.values(),
            (Some(Item::Enter(before)), Some(Item::Enter(after)))
                if before.joined == after.joined =>
            {
                let sides = [*before, *after];
                let caller = self.caller();
                let callee = |(pair, [first, _]): (_, [u64; 2])| {
                    self.guide.callee(pair, sides[0].place.saturating_sub(first))
                };
                self.frames.push(Frame { sides, pair: caller.and_then(callee) });
                self.found.answer.calls += 1;
                self.pass();
            }
            (Some(Item::Exit(_)), Some(Item::Exit(_))) => self.exit(),
            (Some(Item::Break(before)), Some(Item::Break(after))) if before == after => self.pass(),
            (Some(Item::Break(_)), _) => self.found.is_parted = self.before.take().is_some(),
            (_, Some(Item::Break(_))) => self.found.is_parted = self.after.take().is_some(),
            _ => {
                self.found.is_parted = true;
                let is_inside = !self.frames.is_empty();
                if !(is_inside && self.before.skip_to_exit() && self.after.skip_to_exit()) {
                    return ControlFlow::Break(());
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// The pair of the innermost call, or of all calls, and the places of its sides.
    fn caller(&self) -> Option<(PairNumber, [u64; 2])> {
        match self.frames.last() {
            Some(frame) => Some((frame.pair?, frame.sides.map(|side| side.place))),
            None => Some((self.outermost?, [0; 2])),
        }
    }

    /// Skips calls that only one side made, if there are some.
    fn skip_only(&mut self) -> bool {
        let Some((pair, [first_before, first_after])) = self.caller() else { return false };
        let mut skips = false;
        for (number, side, first) in
            [(0, &mut self.before, first_before), (1, &mut self.after, first_after)]
        {
            let Some(Item::Enter(entered)) = side.peek() else { continue };
            let place = entered.place;
            let only = self.guide.only_on(number, pair, place.saturating_sub(first));
            if only > 0 {
                side.skip_calls(place.saturating_add(only));
                skips = true;
            }
        }
        skips
    }

    fn pass(&mut self) {
        drop((self.before.take(), self.after.take()));
    }

    fn exit(&mut self) {
        match (self.before.take(), self.after.take()) {
            (
                Some(Item::Exit(How::Unwound(Some(before)))),
                Some(Item::Exit(How::Unwound(Some(after)))),
            ) => {
                let texts =
                    (before != after).then(|| [before, after].map(|class| class.to_string()));
                let difference = texts.map(|texts| ("exception".to_owned(), Difference::of(texts)));
                self.count(Slot::Exception, difference);
            }
            (Some(Item::Exit(before)), Some(Item::Exit(after))) => {
                let kind = std::mem::discriminant::<How>;
                self.found.is_parted |= kind(&before) != kind(&after);
            }
            _ => {}
        }
        self.frames.pop();
        let open = self.frames.len();
        let kept = self.arguments.partition_point(|(frames, _)| *frames <= open);
        self.arguments.truncate(kept);
    }

    /// Compares the next values, of which at least one side has one.
    fn values(&mut self) {
        let roles =
            [&mut self.before, &mut self.after].map(|side| side.value().map(|value| value.role));
        let is_access = |role: Option<Role>| role.is_some_and(Role::is_access);
        match roles {
            [Some(_), Some(_)] if roles.iter().all(|role| is_access(*role)) => self.accesses(),
            // One side reads or writes something more, or that was not recorded of the other.
            [before, _] if is_access(before) => self.lone_access(true),
            [_, after] if is_access(after) => self.lone_access(false),
            _ => {
                let (before, after) = (self.before.take_value(), self.after.take_value());
                if let (Some(before), Some(after)) = (before, after)
                    && before.role == after.role
                {
                    self.compare(Slot::Of(before.role), &before, &after);
                    if matches!(before.role, Role::Argument(_) | Role::This) {
                        self.arguments.push((self.frames.len(), before));
                    }
                }
            }
        }
    }

    fn accesses(&mut self) {
        let (Some(before), Some(after)) = (self.before.take_value(), self.after.take_value())
        else {
            return;
        };
        let place = |value: &CallValue| value.place.as_deref().cloned().unwrap_or_default();
        let (one, other) = (place(&before), place(&after));
        let field = |methods: &Methods, place: &Place| {
            place.field.and_then(|field| methods.field(field).cloned())
        };
        let is_same = before.role == after.role
            && one.index == other.index
            && field(self.contents.before, &one) == field(self.contents.after, &other);
        if is_same {
            let slot = one.field.map_or(Slot::Element, Slot::Field);
            self.compare(slot, &before, &after);
        } else {
            self.other_access([Some(before), Some(after)]);
        }
    }

    /// One side makes an access where the other continues.
    fn lone_access(&mut self, is_before: bool) {
        let (side, others) = match is_before {
            true => (&mut self.before, self.contents.after),
            false => (&mut self.after, self.contents.before),
        };
        let methods = side.methods;
        let Some(access) = side.take_value() else { return };
        let field = access.place.as_deref().and_then(|place| methods.field(place.field?));
        let is_recorded = match field {
            Some(field) => others.fields().any(|other| other == field),
            None => others.have_fields(),
        };
        match (is_recorded, is_before) {
            (false, _) => {}
            (true, true) => self.other_access([Some(access), None]),
            (true, false) => self.other_access([None, Some(access)]),
        }
    }

    /// Notes that accesses differ. Those that follow do not belong together.
    fn other_access(&mut self, accesses: [Option<CallValue>; 2]) {
        self.before.skip_accesses();
        self.after.skip_accesses();
        let Contents { before, after } = self.contents;
        let [one, other] = accesses;
        let line = |methods, access: Option<CallValue>| {
            let texts = ValueTexts::new(methods, None);
            access.map_or("none".to_owned(), |access| texts.line(&[access]))
        };
        let texts = [line(before, one), line(after, other)];
        self.count(Slot::Access, Some(("access".to_owned(), Difference::of(texts))));
    }

    fn compare(&mut self, slot: Slot, before: &CallValue, after: &CallValue) {
        let Contents { before: methods, after: others } = self.contents;
        let part = self.contents.differing_part(&before.value, &after.value);
        let method = self.frames.last().map(|frame| frame.sides[0].method);
        let difference = part.map(|part| {
            let text = |methods, value: &Value| ValueTexts::new(methods, method).text(value);
            let [one, other] = part.values;
            let texts = [text(methods, one), text(others, other)];
            let difference = Difference { path: part.path, kind: part.kind, texts };
            (ValueTexts::new(methods, method).compared_name(before), difference)
        });
        self.count(slot, difference);
    }

    /// Counts a value of the innermost call: its name, and how it differs, if it does.
    fn count(&mut self, slot: Slot, difference: Option<(String, Difference)>) {
        let Some(Frame { sides: [before, after], .. }) = self.frames.last() else { return };
        self.found.answer.compared += 1;
        let counted = self.found.counted.entry((before.joined, slot)).or_default();
        counted.compared += 1;
        let Some((name, difference)) = difference else { return };
        let is_full = counted.parts.len() >= MOST_PARTS;
        let kind = match is_full && counted.parts.iter().all(|part| part.kind != difference.kind) {
            true => OTHER_PARTS.to_owned(),
            false => difference.kind,
        };
        if let Some(part) = counted.parts.iter_mut().find(|part| part.kind == kind) {
            part.count += 1;
            return;
        }
        let open = self.frames.len();
        let fits = self.found.stored + open <= MOST_FRAMES;
        self.found.stored += if fits { open } else { 0 };
        let stack = self.frames.iter().map(|frame| frame.sides[0].joined);
        // While arguments are compared, not all are known.
        let are_known = !matches!(slot, Slot::Of(Role::Argument(_) | Role::This));
        let given = self.arguments.iter().filter(|(frames, _)| are_known && *frames == open);
        let given: Vec<_> = given.map(|(_, value)| value.clone()).collect();
        let texts = ValueTexts::new(self.contents.before, Some(before.method));
        let first = FirstDifference {
            name: format!("{name}{}", difference.path),
            texts: difference.texts,
            numbers: [before.number, after.number],
            stack: if fits { stack.collect() } else { Vec::new() },
            arguments: texts.line(&given),
        };
        if self.found.kinds == 0 {
            self.found.answer.is_before_calls = !self.found.is_parted;
        }
        let order = self.found.kinds;
        self.found.kinds += 1;
        counted.parts.push(Part { name: format!("{name}{kind}"), kind, count: 1, order, first });
    }
}

/// How a value differs.
struct Difference {
    path: String,
    kind: String,
    texts: [String; 2],
}

impl Difference {
    fn of(texts: [String; 2]) -> Self {
        Self { path: String::new(), kind: String::new(), texts }
    }
}

impl Found {
    fn finish(self) -> DifferingValues {
        let mut parts = Vec::new();
        for ((method, _), Counted { compared, parts: of_method }) in self.counted {
            parts.extend(of_method.into_iter().map(|part| (method, compared, part)));
        }
        parts.sort_by_key(|(_, _, part)| (Reverse(part.count), part.order));
        let values = parts.into_iter().map(|(method, compared, part)| DifferingValue {
            method,
            name: part.name,
            count: part.count,
            compared,
            is_first: part.order == 0,
            first: part.first,
        });
        DifferingValues { values: values.collect(), ..self.answer }
    }
}
