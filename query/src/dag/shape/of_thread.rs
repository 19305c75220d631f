//! The calls of one thread.

use super::kinds::Root;
use super::shapes::Shapes;
use super::strides::Strides;
use super::sums::Place;
use super::table::Words;
use super::word::{self, Word};
use flow_codec::{MethodId, MethodMap};

/// All calls of a thread, with equal subtrees stored once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dag {
    pub(in crate::dag) shapes: Shapes,
    pub(in crate::dag) roots: Vec<u64>,
    /// Where the roots end.
    pub(in crate::dag) end: Place,
    calls: u64,
    pub(in crate::dag) strides: Strides,
}

impl Dag {
    pub(in crate::dag) fn new(shapes: Words, roots: Vec<u64>) -> Self {
        let shapes = Shapes::new(shapes);
        let strides = Strides::of(&shapes, roots.iter().map(|word| Self::root_of(*word)));
        let mut dag = Self { shapes, roots, end: Place::default(), calls: 0, strides };
        let mut end = Place::default();
        dag.calls = dag.roots().fold(0, |calls: u64, root| {
            end.pass_root(root, &dag.shapes);
            calls.saturating_add(dag.calls_in(root))
        });
        dag.end = end;
        dag
    }

    /// The shapes.
    #[must_use]
    pub fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// What is outermost in the thread, in order.
    pub fn roots(&self) -> impl Iterator<Item = Root> {
        self.roots.iter().map(|word| Self::root_of(*word))
    }

    /// One of the roots, by its place among them.
    pub(in crate::dag) fn root(&self, at: usize) -> Option<Root> {
        self.roots.get(at).map(|word| Self::root_of(*word))
    }

    pub(in crate::dag) fn root_of(word: u64) -> Root {
        match Word::of(word) {
            Word::Run(shape, count) => Root::Calls(shape, count.into()),
            Word::Method(method, _) => Root::Open(method),
            Word::Special(exits) => Root::UnseenExits(word::exits_of(exits).1),
            // Only shapes have loops.
            Word::Loop(..) => Root::UnseenExits(0),
        }
    }

    /// About the memory that the shapes need, in words, as [`MAX_SIZE`](crate::dag::MAX_SIZE) counts them.
    #[must_use]
    pub(crate) fn size(&self) -> usize {
        self.shapes.words.size()
    }

    /// The number of calls of the thread.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// The most frames that are open at once, without those that were entered before recording began.
    #[must_use]
    pub(crate) fn levels(&self) -> u64 {
        let (mut open, mut most) = (0_u64, 0);
        for root in self.roots() {
            match root {
                Root::Calls(shape, _) => {
                    most = most.max(open.saturating_add(self.shapes.levels(shape)))
                }
                Root::Open(_) => {
                    open += 1;
                    most = most.max(open);
                }
                Root::UnseenExits(_) => {}
            }
        }
        most
    }

    /// The number of calls of a root, without those of the roots that follow.
    pub(in crate::dag) fn calls_in(&self, root: Root) -> u64 {
        match root {
            Root::Calls(shape, count) => self.shapes.calls(shape).saturating_mul(count),
            Root::UnseenExits(_) => 0,
            Root::Open(_) => 1,
        }
    }

    /// How many bytes of [`flow`](flow_codec::format::flow) the events have in canonical form. Positions are those of
    /// the thread if this is its number of bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.end.end()
    }

    /// Returns whether two threads did the same, where `is_same` returns whether two methods are. If it returns `false`,
    /// they may still have done the same: with methods of which several are the same.
    #[must_use]
    pub fn is_same(
        &self,
        other: &Self,
        mut is_same: impl FnMut(MethodId, MethodId) -> bool,
    ) -> bool {
        // Calls that did the same are first left in the same order, so their shapes have the same numbers.
        let mut known: MethodMap<Option<MethodId>> = MethodMap::default();
        let mut is_same_word = |(one, other): (&u64, &u64)| {
            one == other && !matches!(Word::of(*one), Word::Method(..)) || {
                let (Word::Method(one, how), Word::Method(other, as_other)) =
                    (Word::of(*one), Word::of(*other))
                else {
                    return false;
                };
                let known = known.or_default(one);
                how == as_other
                    && (*known == Some(other)
                        || is_same(one, other) && {
                            *known = Some(other);
                            true
                        })
            }
        };
        let (one, two) = (&self.shapes.words, &other.shapes.words);
        if std::ptr::eq(self, other) {
            // The same shapes of two traces: only their methods may differ.
            let mut headers = one.iter().filter_map(|(_, words)| words.first());
            return headers.all(|word| is_same_word((word, word)))
                && self.roots.iter().all(|word| is_same_word((word, word)));
        }
        one.has_lengths_of(two)
            && self.roots.len() == other.roots.len()
            && one.all().iter().zip(two.all()).all(&mut is_same_word)
            && self.roots.iter().zip(&other.roots).all(is_same_word)
    }
}
