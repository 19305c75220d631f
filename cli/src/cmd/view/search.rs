//! Searches, forwards or backwards from the chosen call, for a call of some methods, or for one that an exception ended.

use std::time::{Duration, Instant};

use flow_codec::dag::Matches;
use flow_codec::format::marks::{Mark, Position};
use flow_codec::read::{Methods, Selection, ThreadFile};
use flow_codec::tree::{LazyTree, Node, SearchStep};
use flow_codec::{Depth, Error, Glob, MethodId, MethodMap, MethodNames, NameForm};

/// For how long events are read before the screen and keys have their turn.
const TURN: Duration = Duration::from_millis(30);
/// Intervals of events read before the time is checked.
const INTERVALS: usize = 32;

/// The methods that are searched for.
#[derive(Debug)]
pub(super) struct Wanted {
    /// What a person typed, or the name of the only method.
    pub(super) text: String,
    methods: MethodMap<bool>,
    /// How many methods these are.
    pub(super) count: usize,
    /// Their calls, if the thread has shapes.
    matches: Option<Matches>,
}

/// What a search found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    Call(Node),
    /// With shapes: which of how many.
    CallOf(Node, u64, u64),
    Nothing,
}

/// A search in events that has not ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Searching {
    /// The call at which it continues.
    pub(super) number: u64,
    pub(super) is_next: bool,
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
        Self { text: text.to_owned(), methods, count, matches: None }
    }

    fn has(&self, id: MethodId) -> bool {
        self.methods.get(id) == Some(&true)
    }

    /// Forgets what depends on the thread.
    pub(super) fn forget_thread(&mut self) {
        self.matches = None;
    }

    /// Finds the next call after one, or the one before. If events have to be read for it, the caller
    /// [continues](Self::step) the search.
    pub(super) fn find(
        &mut self,
        tree: &mut LazyTree,
        number: u64,
        is_next: bool,
    ) -> Result<Result<Found, Searching>, Error> {
        let Some(dag) = tree.shapes() else {
            let number = if is_next { number.saturating_add(1) } else { number };
            return Ok(Err(Searching { number, is_next }));
        };
        let matches = match self.matches.take() {
            Some(matches) => matches,
            None => dag.matches(|id| self.has(id)),
        };
        let rank = match is_next {
            true => Some(matches.before(dag, number.saturating_add(1))),
            false => matches.before(dag, number).checked_sub(1),
        };
        let call = rank.and_then(|rank| Some((rank, matches.call(dag, rank)?)));
        let all = matches.count();
        self.matches = Some(matches);
        let Some((rank, number)) = call else { return Ok(Ok(Found::Nothing)) };
        let node = tree.call(number)?;
        Ok(Ok(node.map_or(Found::Nothing, |node| Found::CallOf(node, rank + 1, all))))
    }

    /// Continues a search for a while; `None` if it has not ended.
    pub(super) fn step(
        &self,
        tree: &mut LazyTree,
        searching: &mut Searching,
    ) -> Result<Option<Found>, Error> {
        let begun = Instant::now();
        while begun.elapsed() < TURN {
            let Searching { number, is_next } = *searching;
            let found = match is_next {
                true => tree.search_from(number, |id| self.has(id), INTERVALS)?,
                false => tree.search_before(number, |id| self.has(id), INTERVALS)?,
            };
            match found {
                SearchStep::Found(node) => return Ok(Some(Found::Call(node))),
                SearchStep::End => return Ok(Some(Found::Nothing)),
                SearchStep::Reached(number) => searching.number = number,
            }
        }
        Ok(None)
    }
}

/// Finds the first exception after a position, or the last one before it: where it leaves a call, and the call.
pub(super) fn find_exception(
    file: &ThreadFile,
    tree: &mut LazyTree,
    from: Position,
    is_next: bool,
) -> Result<Option<(Position, Node)>, Error> {
    let Some(mut marks) = file.marks()? else { return Ok(None) };
    let mut found = None;
    loop {
        match marks.next_mark() {
            Ok(Some((at, Mark::Unwound { .. }))) => {
                if !is_next && at >= from {
                    break;
                }
                if !is_next || at > from {
                    found = Some(at);
                }
                if is_next && found.is_some() {
                    break;
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(error @ Error::Io { .. }) => return Err(error),
            // Those from the journal, if any follow, are in order.
            Err(_) => {}
        }
    }
    let Some(at) = found else { return Ok(None) };
    let Some(place) = tree.offset(at.offset)? else { return Ok(None) };
    let depth = place.frames.checked_sub(at.exits.saturating_add(1));
    let node = depth.map(|depth| tree.frame_at(place, Depth::new(depth))).transpose()?.flatten();
    Ok(node.map(|node| (at, node)))
}
