//! Differences between two runs.
//!
//! Ids differ from trace to trace, so methods are matched by class, name and descriptor, and the paths of two
//! calling-context trees by their methods.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::num::NonZeroU32;

use super::by_path::path_tree::{PathId, PathTree};
use super::by_path::paths::{BEYOND, Paths, ROOT, at};
use flow_codec::Overloads;
use flow_codec::read::Methods;
use flow_codec::{KeptOrigin, MethodId, MethodMap, Name, NameForm, stable_key};

/// One of two runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Run {
    /// The first one.
    Before,
    /// The second one.
    After,
}

impl Run {
    /// A number of this run.
    fn counts(self, number: u64) -> Counts {
        match self {
            Self::Before => Counts { before: number, after: 0 },
            Self::After => Counts { before: 0, after: number },
        }
    }
}

/// How a path differs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ChangeKind {
    /// It is in the second run only, and so are all paths that begin with it.
    Appeared,
    /// It is in the first run only, and so are all paths that begin with it.
    Vanished,
    /// It is in both runs, with different counts.
    Changed,
}

/// Calls of a path in both runs; nanoseconds if trees with times are compared.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Counts {
    /// In the first run.
    pub before: u64,
    /// In the second run.
    pub after: u64,
}

impl Counts {
    /// The difference of the two.
    #[must_use]
    pub fn distance(self) -> u64 {
        self.before.abs_diff(self.after)
    }

    /// Adds others.
    pub fn add(&mut self, other: Self) {
        self.before += other.before;
        self.after += other.after;
    }
}

/// Where in a method something is, if that is compared, too.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Place {
    /// The source file.
    pub source: Option<String>,
    /// The line.
    pub line: Option<u32>,
    /// The bytecode index.
    pub bci: Option<i32>,
}

/// The sums of a path in both runs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct ComparedSums {
    /// Of the path itself.
    pub own: Counts,
    /// With all below it.
    pub total: Counts,
}

/// One difference. A subtree that appeared or vanished is reported once, by its topmost path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Change {
    /// How the path differs.
    pub kind: ChangeKind,
    /// The path; [`Diff::stack`] returns its methods.
    pub path: PathId,
    /// How often it was called.
    pub calls: Counts,
    /// Calls made in it, including itself.
    pub total: Counts,
    /// How many paths the difference covers: the path itself, and all below it if it appeared or vanished.
    pub paths: u64,
}

impl Change {
    /// By how many calls the runs differ here.
    #[must_use]
    pub fn size(&self) -> u64 {
        match self.kind {
            ChangeKind::Changed => self.calls.distance(),
            ChangeKind::Appeared | ChangeKind::Vanished => self.total.distance(),
        }
    }
}

/// A method, as it is identified in any trace.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MethodName {
    /// A method with a name.
    Known {
        /// Binary class name.
        class: String,
        /// Method name.
        name: String,
        /// JVM descriptor.
        descriptor: String,
        /// What is known of its source.
        origin: KeptOrigin,
    },
    /// An id without a name.
    Unknown(MethodId),
}

impl MethodName {
    /// Returns the name that the method has in names of behaviours.
    #[must_use]
    pub(crate) fn stable(self) -> Self {
        let Self::Known { class, name, descriptor, origin } = self else { return self };
        match stable_key(&class, &name, &descriptor) {
            Some(name) => {
                Self::Known { class: String::new(), name, descriptor: String::new(), origin }
            }
            None => Self::Known { class, name, descriptor, origin },
        }
    }

    /// Returns the name of a method of a trace.
    #[must_use]
    pub fn new(id: MethodId, methods: &Methods) -> Self {
        match methods.get(id).map(|method| method.info()) {
            Some(info) => Self::Known {
                class: info.class.clone(),
                name: info.name.clone(),
                descriptor: info.descriptor.clone(),
                origin: info.into(),
            },
            None => Self::Unknown(id),
        }
    }
}

impl MethodName {
    /// The name, if the method has one.
    #[must_use]
    pub fn name(&self) -> Option<Name<'_>> {
        match self {
            Self::Known { class, name, descriptor, origin } => {
                Some(Name::new(class, name, descriptor).of(origin.origin()))
            }
            Self::Unknown(_) => None,
        }
    }
}

/// Compares two runs, each recorded in one trace or in several. Memory: about 56 bytes a path of either.
#[derive(Default, Debug)]
pub struct Diff {
    numbers: HashMap<(MethodName, Place), NonZeroU32>,
    names: Vec<(MethodName, Place)>,
    paths: Paths<ComparedSums>,
    /// The weights of all trees.
    whole: Counts,
    beyond: u64,
    /// For the methods by their numbers, from 1 on; computed when the first readable name is requested.
    overloads: OnceCell<Overloads<u32>>,
    has_raw_names: bool,
}

impl Diff {
    /// Lets names be those of the class files, as [`Methods::show_raw_names`] does.
    pub fn show_raw_names(&mut self) {
        self.has_raw_names = true;
    }

    /// Adds the calls of a run; nanoseconds, if the tree has times.
    pub fn add(&mut self, run: Run, tree: &PathTree, methods: &Methods) {
        self.add_named(run, tree, |method| (MethodName::new(method, methods), Place::default()));
    }

    /// Adds the calls or samples of a run whose methods have these names. Methods of one name and place are one method.
    pub fn add_named(
        &mut self,
        run: Run,
        tree: &PathTree,
        name: impl Fn(MethodId) -> (MethodName, Place),
    ) {
        self.overloads.take();
        let numbers: MethodMap<_> =
            tree.methods().iter().map(|&method| (method, self.number(name(method)))).collect();
        let mut places = vec![ROOT; tree.len() + 1];
        for (path, row) in tree.rows() {
            let Some(&number) = numbers.get(row.method) else { continue };
            let parent = tree.parent(path).and_then(|parent| places.get(at(parent.get())));
            let here = self.paths.child(parent.copied().unwrap_or(BEYOND), number);
            // What was called is present, even if it took no measurable time.
            let self_weight =
                if tree.axis().is_some() { row.self_weight.max(1) } else { row.self_weight };
            match self.paths.counts_mut(here) {
                Some(sums) => {
                    sums.own.add(run.counts(self_weight));
                    sums.total.add(run.counts(row.total));
                }
                None => self.beyond += row.calls,
            }
            if let Some(place) = places.get_mut(at(path.get())) {
                *place = here;
            }
        }
        self.beyond += tree.beyond();
        self.whole.add(run.counts(tree.weight()));
    }

    fn number(&mut self, name: (MethodName, Place)) -> NonZeroU32 {
        let len = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            NonZeroU32::MIN.saturating_add(len)
        })
    }

    /// Returns all differences, the largest first.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        let totals = self.totals();
        let mut paths: Vec<u64> = vec![1; totals.len()];
        let nodes = self.paths.nodes();
        // Children come after their parents.
        for (path, node) in nodes.iter().enumerate().skip(1).rev() {
            let self_weight = paths.get(path).copied().unwrap_or_default();
            if let Some(sum) = paths.get_mut(at(node.parent)) {
                *sum += self_weight;
            }
        }
        let kind = |path: usize| match (totals.get(path)?, nodes.get(path)?.counts.own) {
            // The root is in both runs, even if nothing was called in one of them.
            _ if path == at(ROOT) => None,
            // A frame that samples have only seen with others inside it weighs nothing itself.
            (Counts { before: 0, after: 0 }, _) => None,
            (Counts { before: 0, .. }, _) => Some(ChangeKind::Appeared),
            (Counts { after: 0, .. }, _) => Some(ChangeKind::Vanished),
            (_, own) => (own.distance() > 0).then_some(ChangeKind::Changed),
        };
        let mut changes = Vec::new();
        for (path, node) in nodes.iter().enumerate().skip(1) {
            let Some(kind_here) = kind(path) else { continue };
            let is_reported =
                kind_here != ChangeKind::Changed && kind(at(node.parent)) == Some(kind_here);
            let (Ok(number), false) = (u32::try_from(path), is_reported) else { continue };
            changes.push(Change {
                kind: kind_here,
                path: PathId::new(number),
                calls: node.counts.own,
                total: totals.get(path).copied().unwrap_or_default(),
                paths: match kind_here {
                    ChangeKind::Changed => 1,
                    _ => paths.get(path).copied().unwrap_or_default(),
                },
            });
        }
        changes.sort_by_key(|change| (Reverse(change.size()), change.path));
        changes
    }

    /// The weights of all trees that were added.
    #[must_use]
    pub fn whole(&self) -> Counts {
        self.whole
    }

    /// All paths, each after its parent, which is `None` for those of one method, with their sums.
    pub fn rows(&self) -> impl Iterator<Item = (PathId, Option<PathId>, ComparedSums)> {
        let numbered = (0..).zip(self.paths.nodes()).skip(1);
        numbered.map(|(number, node)| {
            let parent = (node.parent != ROOT).then(|| PathId::new(node.parent));
            (PathId::new(number), parent, node.counts)
        })
    }

    /// Where in its method the end of a path is.
    #[must_use]
    pub fn place(&self, path: PathId) -> Option<&Place> {
        let node = self.paths.node(path.get())?;
        Some(&self.names.get(at(node.method).checked_sub(1)?)?.1)
    }

    /// The methods of a path, the outermost first.
    #[must_use]
    pub fn stack(&self, path: PathId) -> Vec<&MethodName> {
        self.numbers_of(path).into_iter().filter_map(|number| self.name(number)).collect()
    }

    /// The names of the methods of a path in one form. No two methods called in either run have the same
    /// readable name.
    #[must_use]
    pub fn names(&self, path: PathId, form: NameForm) -> Vec<String> {
        let name = |number| Some((number, self.name(number)?));
        let form = |(number, name): (u32, &MethodName)| match name {
            MethodName::Unknown(id) => format!("?#{id}"),
            MethodName::Known { class, name, descriptor, origin } => {
                let name = Name::new(class, name, descriptor).of(origin.origin());
                match form {
                    NameForm::Short => name.short(self.has_raw_names),
                    NameForm::Full => name.to_string(),
                    NameForm::Readable => {
                        let name_of = |number| self.name(number)?.name();
                        self.overloads().readable(number, name, name_of)
                    }
                }
            }
        };
        self.numbers_of(path).into_iter().filter_map(name).map(form).collect()
    }

    fn overloads(&self) -> &Overloads<u32> {
        self.overloads.get_or_init(|| {
            let names = (1..).zip(self.names.iter().map(|(name, _)| name));
            let names = names.filter_map(|(number, name)| Some((number, name.name()?)));
            Overloads::new(names, self.has_raw_names)
        })
    }

    /// The numbers of a path's methods, the outermost first.
    fn numbers_of(&self, path: PathId) -> Vec<u32> {
        let node = |path: u32| self.paths.node(path).filter(|_| path != ROOT);
        let path = std::iter::successors(node(path.get()), |last| node(last.parent));
        let mut numbers: Vec<_> = path.map(|last| last.method).collect();
        numbers.reverse();
        numbers
    }

    fn name(&self, number: u32) -> Option<&MethodName> {
        self.names.get(at(number).checked_sub(1)?).map(|(name, _)| name)
    }

    /// All calls of both runs.
    #[must_use]
    pub fn calls(&self) -> Counts {
        self.paths.nodes().iter().fold(Counts::default(), |mut sum, node| {
            sum.add(node.counts.own);
            sum
        })
    }

    /// How many paths there are; paths of both runs count once.
    #[must_use]
    pub fn len(&self) -> usize {
        self.paths.nodes().len() - 1
    }

    /// Returns whether nothing was called in either run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls that were left out because there were more than 2^32 paths.
    #[must_use]
    pub fn beyond(&self) -> u64 {
        self.beyond
    }

    fn totals(&self) -> Vec<Counts> {
        let nodes = self.paths.nodes();
        let mut totals: Vec<_> = nodes.iter().map(|node| node.counts.own).collect();
        for (path, node) in nodes.iter().enumerate().skip(1).rev() {
            let self_weight = totals.get(path).copied().unwrap_or_default();
            if let Some(sum) = totals.get_mut(at(node.parent)) {
                sum.add(self_weight);
            }
        }
        totals
    }
}
