//! One of two sides that are read in step: entries, exits and values, one by one.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::vec;

use flow_codec::format::values::{CallValue, Role};
use flow_codec::read::{EventKind, Methods, Selection, ThreadFile, Timeline};
use flow_codec::{Error, MethodId, MethodMap, Offset};

use crate::dag::Break;
use crate::reading::Reading;

/// The next thing that happened in a thread.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// A call begins.
    Enter(Entered),
    /// The innermost call is left.
    Exit(How),
    /// The innermost call has a value.
    Value(CallValue),
    /// Events are missing.
    Break(Break),
}

/// A call that begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entered {
    /// The method, by its id in the trace.
    pub(super) method: MethodId,
    /// The number of the method in both traces.
    pub(super) joined: MethodId,
    /// How many calls of the thread began before it.
    pub(super) number: u64,
    /// How many of these are not left out.
    pub(super) place: u64,
}

/// How a call is left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum How {
    Returned,
    /// By an exception of this class, if that is known.
    Unwound(Option<Arc<str>>),
    /// Recording was suspended.
    Cut,
}

/// What is read of a side.
pub(super) struct Source<'a> {
    pub(super) file: &'a ThreadFile,
    pub(super) methods: &'a Methods,
    /// The calls that are not left out; callees of others move up to their callers.
    pub(super) selection: &'a Selection,
    /// The number of a method in both traces; `None` if its calls are left out with all that they call.
    pub(super) number: &'a dyn Fn(MethodId) -> Option<MethodId>,
    /// Returns whether what calls of a method do is left out, but not the calls themselves.
    pub(super) is_closed: &'a dyn Fn(MethodId) -> bool,
    /// The number of the first call.
    pub(super) first_call: u64,
}

/// A side that is read. Memory: the values of one event.
pub(super) struct Side<'a> {
    pub(super) methods: &'a Methods,
    timeline: Timeline<'a>,
    number: &'a dyn Fn(MethodId) -> Option<MethodId>,
    is_closed: &'a dyn Fn(MethodId) -> bool,
    known: MethodMap<Option<Option<MethodId>>>,
    /// Whether the innermost call that is not left out is closed.
    is_inside_closed: bool,
    first_call: u64,
    next: Option<Item>,
    values: vec::IntoIter<CallValue>,
    /// Exits that were not passed yet, and how these frames are left.
    exits: (u64, How),
    /// How many calls began that are not left out.
    calls: u64,
    /// Open frames, and those of a call that is left out with all that it calls.
    open: u64,
    ignored: u64,
    is_paused: bool,
    is_ended: bool,
    reading: Reading,
}

impl<'a> Side<'a> {
    /// Begins to read.
    ///
    /// # Errors
    /// The events cannot be opened.
    pub(super) fn open(source: &Source<'a>) -> Result<Self, Error> {
        let timeline = source.file.timeline()?.select(source.selection).with_values();
        Ok(Self {
            methods: source.methods,
            timeline,
            number: source.number,
            is_closed: source.is_closed,
            known: MethodMap::default(),
            is_inside_closed: false,
            first_call: source.first_call,
            next: None,
            values: Vec::new().into_iter(),
            exits: (0, How::Returned),
            calls: 0,
            open: 0,
            ignored: 0,
            is_paused: false,
            is_ended: false,
            reading: Reading::default(),
        })
    }

    /// How far the events were read.
    pub(super) fn offset(&self) -> Offset {
        self.timeline.offset()
    }

    /// How reading ended. Damage after the last item is not known.
    pub(super) fn into_reading(mut self) -> Reading {
        let tail = self.timeline.tail();
        match self.is_ended {
            true => self.reading.end(tail, self.timeline.into_damage()),
            false => self.reading.add_marks(self.timeline.into_damage()),
        }
        self.reading
    }

    /// The next item, without taking it; `None` at the end.
    pub(super) fn peek(&mut self) -> Option<&Item> {
        if self.next.is_none() {
            self.next = self.read();
        }
        self.next.as_ref()
    }

    /// Takes the next item.
    pub(super) fn take(&mut self) -> Option<Item> {
        self.peek();
        self.next.take()
    }

    /// The next item, if it is a value.
    pub(super) fn value(&mut self) -> Option<&CallValue> {
        match self.peek() {
            Some(Item::Value(value)) => Some(value),
            _ => None,
        }
    }

    /// Takes the next item, if it is a value.
    pub(super) fn take_value(&mut self) -> Option<CallValue> {
        self.value()?;
        match self.next.take() {
            Some(Item::Value(value)) => Some(value),
            _ => None,
        }
    }

    /// Skips accesses up to the next item of another kind.
    pub(super) fn skip_accesses(&mut self) {
        while self.value().is_some_and(|value| value.role.is_access()) {
            self.next = None;
        }
    }

    /// Skips what the innermost call does, up to its result and its exit. Returns whether there is an exit.
    pub(super) fn skip_to_exit(&mut self) -> bool {
        let mut inside = 0_u64;
        loop {
            match self.peek() {
                None => return false,
                Some(Item::Enter(_)) => inside += 1,
                Some(Item::Exit(_)) if inside == 0 => return true,
                Some(Item::Exit(_)) => inside -= 1,
                Some(Item::Value(value))
                    if inside == 0 && matches!(value.role, Role::Result | Role::Message) =>
                {
                    return true;
                }
                Some(_) => {}
            }
            self.next = None;
        }
    }

    /// Skips the calls before a place that the innermost call makes, with all that they call.
    pub(super) fn skip_calls(&mut self, until: u64) {
        let mut inside = 0_u64;
        loop {
            match self.peek() {
                Some(Item::Enter(entered)) if inside == 0 && entered.place >= until => return,
                Some(Item::Enter(_)) => inside += 1,
                Some(Item::Exit(_)) if inside > 0 => inside -= 1,
                Some(Item::Value(_) | Item::Break(_)) if inside > 0 => {}
                _ => return,
            }
            self.next = None;
        }
    }

    fn read(&mut self) -> Option<Item> {
        loop {
            if let Some(value) = self.values.next() {
                if self.is_inside_closed && value.role.is_access() {
                    continue;
                }
                return Some(Item::Value(value));
            }
            if let Some(left) = self.exits.0.checked_sub(1) {
                self.exits.0 = left;
                if self.ignored > 0 {
                    self.ignored -= 1;
                } else if self.open > 0 {
                    self.open -= 1;
                    self.is_inside_closed = false;
                    return Some(Item::Exit(self.exits.1.clone()));
                }
                // Else it was entered before recording began.
                continue;
            }
            if let Some(item) = self.read_event()? {
                return Some(item);
            }
        }
    }

    /// Reads an event, which may be an item; `None` at the end.
    fn read_event(&mut self) -> Option<Option<Item>> {
        let event = match self.timeline.next() {
            Some(Ok(event)) => event,
            Some(Err(error)) => {
                let flow = self.reading.note(error);
                return (flow == ControlFlow::Continue(()))
                    .then_some(Some(Item::Break(Break::Gap)));
            }
            None => {
                self.is_ended = true;
                return None;
            }
        };
        Some(match event.kind {
            EventKind::Enter(method) => {
                self.is_paused = false;
                self.enter(method, event.calls)
            }
            EventKind::Exit { count, unwound } => {
                let how = match (unwound, self.is_paused) {
                    (Some(unwound), _) => How::Unwound(unwound.class),
                    (None, true) => How::Cut,
                    (None, false) => How::Returned,
                };
                self.exits = (count.get(), how);
                None
            }
            EventKind::RangeEnd { frames } => {
                self.exits = (frames.get(), How::Returned);
                None
            }
            EventKind::Values(values) if self.ignored == 0 => {
                self.values = values.into_iter();
                None
            }
            EventKind::Gap { .. } => Some(Item::Break(Break::Gap)),
            EventKind::Pause => {
                self.is_paused = true;
                Some(Item::Break(Break::Pause))
            }
            EventKind::Resume => {
                self.is_paused = false;
                None
            }
            _ => None,
        })
    }

    fn enter(&mut self, method: MethodId, calls: u64) -> Option<Item> {
        if self.ignored > 0 {
            self.ignored += 1;
            return None;
        }
        if self.is_inside_closed {
            self.ignored = 1;
            return None;
        }
        let known = self.known.or_default(method);
        let Some(joined) = *known.get_or_insert_with(|| (self.number)(method)) else {
            self.ignored = 1;
            return None;
        };
        self.open += 1;
        self.is_inside_closed = (self.is_closed)(method);
        let number = self.first_call.saturating_add(calls);
        let place = self.calls;
        self.calls += 1;
        Some(Item::Enter(Entered { method, joined, number, place }))
    }
}
