//! From changed source files to all files whose classes may do something else than before.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::source::Source;

/// Why the classes of a file may do something else.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Reach {
    /// The file changed.
    Changed,
    /// A type in it extends or implements a changed one.
    Subtype,
    /// The file names a class with constants that changed, or a class that does: compilers copy constants.
    Constants,
    /// A static initialiser of the file called affected code.
    Initialiser,
    /// The file names an affected class with static fields, or one of which calls are not seen.
    Names,
}

/// An affected file: why, and through which changed file, by their numbers among all sources.
pub(super) type Reached = BTreeMap<usize, (Reach, usize)>;

/// Which files are affected, among all sources of a project. Versions before a change are sources, too.
pub(super) struct Spread<'s, 't> {
    sources: &'s [Source<'t>],
    pub(super) reached: Reached,
}

impl<'s, 't> Spread<'s, 't> {
    /// Begins with changed files, and the types that extend or implement types in them.
    pub(super) fn new(sources: &'s [Source<'t>], changed: impl IntoIterator<Item = usize>) -> Self {
        let reached = changed.into_iter().map(|at| (at, (Reach::Changed, at))).collect();
        let mut spread = Self { sources, reached };
        let to_do: Vec<_> = spread.reached.keys().copied().collect();
        for at in to_do {
            for subtype in spread.subtypes(at) {
                spread.reach(subtype, Reach::Subtype, at);
            }
        }
        spread
    }

    fn reach(&mut self, at: usize, reach: Reach, origin: usize) -> bool {
        let is_new = !self.reached.contains_key(&at);
        if is_new {
            self.reached.insert(at, (reach, origin));
        }
        is_new
    }

    /// The files with types that extend or implement types of a file, at any distance.
    fn subtypes(&self, at: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut to_do = VecDeque::from([at]);
        while let Some(at) = to_do.pop_front() {
            let Some(of) = self.sources.get(at) else { continue };
            for (number, source) in self.sources.iter().enumerate() {
                let is_subtype =
                    !source.supertypes.is_disjoint(&of.types) && source.path != of.path;
                // A type inside of another is known by the name of that one.
                if is_subtype && source.names(&of.tops).is_some() && found.insert(number) {
                    to_do.push_back(number);
                }
            }
        }
        found.remove(&at);
        found
    }

    /// A file, and those with types that extend or implement one in it, at any distance.
    pub(super) fn with_subtypes(&self, at: usize) -> BTreeSet<usize> {
        std::iter::once(at).chain(self.subtypes(at)).collect()
    }

    /// Constants of a file changed: adds all files that name it, those that name these, and so on.
    pub(super) fn copy_constants(&mut self, at: usize) {
        let mut to_do = VecDeque::from([at]);
        let mut seen = BTreeSet::from([at]);
        while let Some(next) = to_do.pop_front() {
            for number in self.naming(next) {
                if seen.insert(number) {
                    self.reach(number, Reach::Constants, at);
                    to_do.push_back(number);
                }
            }
        }
    }

    /// The files that name types of a file, or subtypes of these, which have their fields.
    fn naming(&self, at: usize) -> Vec<usize> {
        let of = self.with_subtypes(at);
        let tops = of.iter().filter_map(|number| self.sources.get(*number));
        let tops: BTreeSet<&str> = tops.flat_map(|source| source.tops.iter().copied()).collect();
        let all = self.sources.iter().enumerate();
        all.filter(|(number, source)| *number != at && source.names(&tops).is_some())
            .map(|(number, _)| number)
            .collect()
    }

    /// Adds the files that name types of an affected file. `origin` is the changed file.
    pub(super) fn spread_to_users(&mut self, at: usize, origin: usize) {
        for number in self.naming(at) {
            self.reach(number, Reach::Names, origin);
        }
    }

    /// Adds the files that name types of affected files with static fields that an initialiser sets, until there are no more.
    pub(super) fn spread_state(&mut self, has_initialiser: &BTreeSet<usize>) {
        let mut seen = BTreeSet::new();
        loop {
            let with_state = self.reached.iter().find(|(at, _)| {
                let source = self.sources.get(**at);
                let is_visible = source.is_some_and(|source| source.has_visible_state);
                is_visible && has_initialiser.contains(at) && !seen.contains(*at)
            });
            let Some((&at, &(_, origin))) = with_state else { break };
            seen.insert(at);
            self.spread_to_users(at, origin);
        }
    }

    /// Adds the files that name types which a file extends or implements: they may call it without naming it.
    pub(super) fn spread_to_callers(&mut self, at: usize, origin: usize) {
        let Some(of) = self.sources.get(at) else { return };
        let supertypes =
            self.sources.iter().enumerate().filter(|(number, source)| {
                *number != at && !source.types.is_disjoint(&of.supertypes)
            });
        let supertypes: Vec<_> = supertypes.map(|(number, _)| number).collect();
        for number in supertypes {
            self.reach(number, Reach::Names, origin);
            self.spread_to_users(number, origin);
        }
    }

    /// The static initialiser of a file called affected code. Returns whether that was not known.
    pub(super) fn initialise(&mut self, at: usize, origin: usize) -> bool {
        self.reach(at, Reach::Initialiser, origin)
    }
}
