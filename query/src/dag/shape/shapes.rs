//! Shapes with the sums that follow from them.

use flow_codec::MethodId;

use super::kinds::{Break, Kind, Root, ShapeId};
use super::loops::{self, Part, Parts, Runs, Totals};
use super::sums::{Place, Sums, sums_of};
use super::table::Words;
use super::word::Word;

/// The number, in place of that of a break, of the shape that holds all calls of a thread.
pub(in crate::dag) const THREAD: u64 = 2;

/// Shapes, each after those of the calls that it makes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shapes {
    pub(in crate::dag) words: Words,
    sums: Vec<Sums>,
}

impl Shapes {
    pub(in crate::dag) fn new(words: Words) -> Self {
        let sums = sums_of(&words);
        Self { words, sums }
    }

    /// The number of shapes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns whether there is no shape.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of runs of all shapes, those of loops once, and of loops.
    #[must_use]
    pub(crate) fn edges(&self) -> usize {
        self.words.words() - self.words.len()
    }

    /// All shapes, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = ShapeId> + ExactSizeIterator + use<> {
        (0..u32::try_from(self.len()).unwrap_or(u32::MAX)).map(ShapeId)
    }

    /// The method that a call of this shape calls; `None` if it is not the shape of a call.
    #[must_use]
    pub fn method(&self, shape: ShapeId) -> Option<MethodId> {
        match self.kind(shape) {
            Kind::Call(method, _) => Some(method),
            Kind::Thread | Kind::Break(_) => None,
        }
    }

    /// What has this shape.
    #[doc(hidden)]
    #[must_use]
    pub fn kind(&self, shape: ShapeId) -> Kind {
        match self.words.get(shape.0).first().map(|word| Word::of(*word)) {
            Some(Word::Method(method, outcome)) => Kind::Call(method, outcome),
            Some(Word::Special(THREAD)) => Kind::Thread,
            Some(Word::Special(number)) if number == Break::Pause as u64 => {
                Kind::Break(Break::Pause)
            }
            _ => Kind::Break(Break::Gap),
        }
    }

    /// Returns whether events are missing somewhere.
    pub(crate) fn have_breaks(&self) -> bool {
        self.iter().any(|shape| matches!(self.kind(shape), Kind::Break(_)))
    }

    /// The calls that it makes, in order: each shape with the number of consecutive calls of it.
    pub fn runs(&self, shape: ShapeId) -> impl Iterator<Item = (ShapeId, u64)> {
        Runs::of(self.items(shape))
    }

    /// How many runs that are.
    #[must_use]
    pub fn run_count(&self, shape: ShapeId) -> u64 {
        loops::count(self.items(shape))
    }

    /// The calls that it makes, those that are repeated together once: each shape with the number of all calls of it that are
    /// made there. A shape may be among them several times. The first call of each shape is where it first was.
    #[inline]
    pub fn totals(&self, shape: ShapeId) -> impl Iterator<Item = (ShapeId, u64)> {
        Totals::of(self.items(shape))
    }

    /// The calls that it makes, in order: runs, and those that are made together several times.
    pub(crate) fn parts(&self, shape: ShapeId) -> Parts<'_> {
        Parts::of(self.items(shape))
    }

    /// The words of the calls that it makes.
    #[inline]
    pub(in crate::dag) fn items(&self, shape: ShapeId) -> &[u64] {
        self.words.get(shape.0).get(1..).unwrap_or_default()
    }

    /// The sums of the runs of a part together, made once.
    pub(in crate::dag) fn sums_of(&self, part: Part<'_>) -> Sums {
        Sums::of_runs(part.words(), &self.sums)
    }

    /// The number of calls in a call of this shape, including itself.
    #[must_use]
    pub fn calls(&self, shape: ShapeId) -> u64 {
        self.sums(shape).calls
    }

    /// The most frames that are open at once in a call of this shape, including its own.
    #[must_use]
    pub fn levels(&self, shape: ShapeId) -> u64 {
        self.sums(shape).levels
    }

    pub(in crate::dag) fn sums(&self, shape: ShapeId) -> Sums {
        self.sums.get(shape.index()).copied().unwrap_or_default()
    }
}

impl Place {
    /// Passes a root.
    pub(in crate::dag) fn pass_root(&mut self, root: Root, shapes: &Shapes) {
        match root {
            Root::Calls(shape, count) => self.pass_calls(&shapes.sums(shape), count),
            Root::UnseenExits(count) => self.exit(count),
            Root::Open(method) => self.enter(method),
        }
    }
}
