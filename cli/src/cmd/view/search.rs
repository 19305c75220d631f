//! Searches, forwards or backwards from the chosen call, for a call of some methods, or for one that an exception ended.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use flow_codec::format::marks::{Mark, Position};
use flow_codec::read::{Methods, Selection, ThreadFile};
use flow_codec::{Depth, Error, Glob, MethodId, MethodMap, MethodNames, NameForm};
use flow_query::tree::{Direction, Node, SearchStep, SelectedCalls, SelectedTree};

/// For how long events are read before the screen and keys have their turn.
const TURN: Duration = Duration::from_millis(30);
/// Intervals of events read before the time is checked.
const INTERVALS: usize = 32;
/// Exceptions of which the calls are read before others are searched for.
const EXCEPTIONS: usize = 1024;

/// The methods that are searched for.
#[derive(Debug)]
pub(super) struct Wanted {
    /// What a person typed, or the name of the only method.
    pub(super) text: String,
    methods: MethodMap<bool>,
    /// How many methods these are.
    pub(super) count: usize,
    /// A thread that has shapes, by its place among all threads, and the calls of these methods in it.
    calls: Option<(usize, SelectedCalls)>,
}

/// What a search found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    Call(Node),
    /// With shapes: which of how many.
    CallOf(Node, u64, u64),
    Nothing,
}

/// A search in a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Searching {
    /// The place of the thread among all of them.
    pub(super) thread: usize,
    /// The call at which it continues: the first one that may be found, or, backwards, the one after the last.
    pub(super) number: u64,
    pub(super) direction: Direction,
}

impl Searching {
    /// Of all calls of a thread.
    pub(super) fn all(thread: usize, direction: Direction) -> Self {
        let number = match direction {
            Direction::Forwards => 0,
            Direction::Backwards => u64::MAX,
        };
        Self { thread, number, direction }
    }
}

impl Wanted {
    /// The methods whose readable name contains a text, or that match it as a pattern.
    pub(super) fn like(text: &str, methods: &Methods) -> Self {
        let (names, lower) = (MethodNames::new(methods), text.to_lowercase());
        let glob = [Glob::new(text)];
        let matching = Selection::new(methods, &glob, &[]);
        let is_it = |id| {
            let name = names.get(id, NameForm::Readable);
            name.to_lowercase().contains(&lower) || matching.contains(id)
        };
        Self::these(text, methods.iter().map(|(id, _)| id).filter(|id| is_it(*id)))
    }

    /// One method.
    pub(super) fn method(id: MethodId, name: &str) -> Self {
        Self::these(name, [id].into_iter())
    }

    fn these(text: &str, ids: impl Iterator<Item = MethodId>) -> Self {
        let (mut methods, mut count) = (MethodMap::default(), 0);
        for id in ids {
            *methods.or_default(id) = true;
            count += 1;
        }
        Self { text: text.to_owned(), methods, count, calls: None }
    }

    fn has(&self, id: MethodId) -> bool {
        self.methods.get(id) == Some(&true)
    }

    /// Forgets what depends on the thread.
    pub(super) fn forget_thread(&mut self) {
        self.calls = None;
    }

    /// Finds the next call. `None` if events have to be read for it: the caller [continues](Self::step) the search.
    pub(super) fn find(
        &mut self,
        tree: &mut SelectedTree,
        Searching { thread, number, direction }: Searching,
    ) -> Result<Option<Found>, Error> {
        let known = self.calls.take().filter(|(of, _)| *of == thread).map(|(_, calls)| calls);
        let Some(calls) = known.or_else(|| tree.calls_of(|id| self.has(id))) else {
            return Ok(None);
        };
        let whole = tree.whole();
        let found = match calls.nearest(whole, number, direction)? {
            None => Found::Nothing,
            Some(node) => {
                let before = calls.count_in(whole, 0..node.place.enters)?;
                Found::CallOf(node, before + 1, calls.count_in(whole, 0..u64::MAX)?)
            }
        };
        self.calls = Some((thread, calls));
        Ok(Some(found))
    }

    /// Continues a search for a while; `None` if it has not ended.
    pub(super) fn step(
        &self,
        tree: &mut SelectedTree,
        searching: &mut Searching,
    ) -> Result<Option<Found>, Error> {
        let begun = Instant::now();
        while begun.elapsed() < TURN {
            let Searching { number, direction, .. } = *searching;
            let found = tree.search(number, direction, |id| self.has(id), INTERVALS)?;
            match found {
                SearchStep::Found(node) => return Ok(Some(Found::Call(node))),
                SearchStep::End => return Ok(Some(Found::Nothing)),
                SearchStep::Reached(number) => searching.number = number,
            }
        }
        Ok(None)
    }
}

/// Finds the first exception after a position, or the last one before it, that leaves a selected call: where, and the call.
pub(super) fn find_exception(
    file: &ThreadFile,
    tree: &mut SelectedTree,
    mut from: Position,
    direction: Direction,
) -> Result<Option<(Position, Node)>, Error> {
    loop {
        let some = exceptions(file, from, direction)?;
        let Some(last) = some.back().copied() else { return Ok(None) };
        for at in some {
            if let Some(node) = left_at(tree, at)?.filter(|node| tree.has(node)) {
                return Ok(Some((at, node)));
            }
        }
        from = last;
    }
}

/// The nearest exceptions after a position or before it, in this order, but not more than [`EXCEPTIONS`].
fn exceptions(
    file: &ThreadFile,
    from: Position,
    direction: Direction,
) -> Result<VecDeque<Position>, Error> {
    let mut found = VecDeque::new();
    let Some(mut marks) = file.marks()? else { return Ok(found) };
    loop {
        match marks.next_mark() {
            Ok(Some((at, Mark::Unwound { .. }))) => match direction {
                Direction::Forwards if at <= from => {}
                Direction::Forwards if found.len() == EXCEPTIONS => break,
                Direction::Forwards => found.push_back(at),
                Direction::Backwards if at >= from => break,
                Direction::Backwards => {
                    found.truncate(EXCEPTIONS - 1);
                    found.push_front(at);
                }
            },
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(error @ Error::Io { .. }) => return Err(error),
            // Those from the journal, if any follow, are in order.
            Err(_) => {}
        }
    }
    Ok(found)
}

/// The call that an exception leaves at a position.
fn left_at(tree: &mut SelectedTree, at: Position) -> Result<Option<Node>, Error> {
    let whole = tree.whole();
    let Some(place) = whole.offset(at.offset)? else { return Ok(None) };
    let Some(depth) = place.frames.checked_sub(at.exits.saturating_add(1)) else { return Ok(None) };
    whole.frame_at(place, Depth::new(depth))
}
