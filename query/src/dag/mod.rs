//! Behaviours: the calls of a thread, with equal subtrees stored once.
//!
//! A *shape* is a method, how it was left, and the calls that it made: a list of shapes, each with the number of
//! consecutive calls of it. Calls that did the same, all the way down, have the same shape. Programs repeat
//! themselves: a hundred million calls of javac have 60,000 shapes. So a [`Dag`], a directed acyclic graph of
//! shapes, holds every call of a thread in a thousandth of the memory of its events, and all questions that need
//! no time are quick to answer from it.
//!
//! ```text
//! records, marks ─▶ Builder (equal shapes are one) ─▶ Dag ─▶ sums, occurrences, positions
//!                   one for each part of a thread      ├▶ names, Find (where calls of a shape are), Walk (records)
//!                                                      └▶ Join (several threads and traces) ─▶ Comparison
//! ```
//!
//! It can be [stored](Built::store) next to the thread file for the next reader. It is never needed, and never
//! believed against the events: the file has their length, and a checksum of a sample of them.
//!
//! A thread that does not repeat itself has no [`Dag`]: building it is given up at [`MAX_SIZE`], or where the caller says.
//!
//! The idea is that of Larus, *Whole program paths* (PLDI 1999), and of Reiss and Renieris, *Encoding program
//! executions* (ICSE 2001). Hamou-Lhadj and Lethbridge, *Compression techniques to simplify the analysis of large
//! execution traces* (IWPC 2002), store equal subtrees of calls once; Knüpfer, *Compressed complete call graphs*
//! (ICPP 2005), answers questions on such a graph without unpacking it.

mod build;
mod builder;
mod compare;
mod find;
mod gather;
mod join;
mod matches;
mod names;
mod outline;
mod places;
mod ranges;
mod sampled;
mod shapes;
mod store;
mod sums;
mod table;
mod walk;
mod word;

pub use self::build::{Built, Growing};
pub use self::compare::{Comparison, Difference, Shift};
pub use self::find::{Find, Occurrence};
pub use self::gather::Gather;
pub use self::join::{Join, Joined};
pub use self::matches::Matches;
pub use self::outline::Departure;
use self::places::Strides;
pub(crate) use self::places::{Call, Callees, Target};
pub use self::ranges::Ranges;
pub use self::shapes::Shapes;
pub use self::store::StoredDag;
pub use self::sums::Occurrences;
use self::sums::Place;
use self::table::Words;
pub use self::walk::{Entry, Repeat, Step, Walk};
use self::word::Word;
use flow_codec::{MethodId, MethodMap};

/// The most memory for the shapes of a thread that are stored or built by default, in words of eight bytes: one for each shape
/// and each run, and one more for each shape. What open frames have called may take as much.
pub const MAX_SIZE: usize = 8 << 20;

/// Stored shapes are used instead of all events of a thread if they have at most this part of their bytes.
pub const REPEATS: u64 = 8;

/// A shape of a [`Dag`], by number: dense from 0, larger than those of the calls that it makes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ShapeId(u32);

impl ShapeId {
    /// The shape with this index.
    pub(crate) fn at(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number as an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// How a call was left.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Outcome {
    /// It returned, or there are no marks that could tell.
    Returned = 0,
    /// By an exception.
    Unwound = 1,
    /// Recording was suspended.
    Cut = 2,
}

impl Outcome {
    /// The outcome in JSON and CSV.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Returned => "returned",
            Self::Unwound => "unwound",
            Self::Cut => "cut",
        }
    }
}

/// A place where events are missing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Break {
    /// They were lost, or are damaged.
    Gap = 0,
    /// Recording was suspended.
    Pause = 1,
}

/// What has a shape.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A call of a method.
    Call(MethodId, Outcome),
    /// A break in the calls, which is no call.
    Break(Break),
    /// All calls of a thread, in [joined](Join) shapes.
    Thread,
}

/// Consecutive calls, or something else that is outermost in a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    /// This many consecutive calls of a shape.
    Calls(ShapeId, u64),
    /// Exits of frames that were entered before recording began.
    UnseenExits(u64),
    /// A frame that was entered and not left. The roots that follow are in it.
    Open(MethodId),
}

/// All calls of a thread, with equal subtrees stored once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dag {
    shapes: Shapes,
    roots: Vec<u64>,
    /// Where the roots end.
    end: Place,
    calls: u64,
    strides: Strides,
}

impl Dag {
    fn new(shapes: Words, roots: Vec<u64>) -> Self {
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
    fn root(&self, at: usize) -> Option<Root> {
        self.roots.get(at).map(|word| Self::root_of(*word))
    }

    fn root_of(word: u64) -> Root {
        match Word::of(word) {
            Word::Run(shape, count) => Root::Calls(shape, count.into()),
            Word::Method(method, _) => Root::Open(method),
            Word::Special(exits) => Root::UnseenExits(word::exits_of(exits).1),
        }
    }

    /// About the memory that the shapes need, in words, as [`MAX_SIZE`] counts them.
    #[must_use]
    pub fn size(&self) -> usize {
        self.shapes.words.size()
    }

    /// The number of calls of the thread.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// The most frames that are open at once, without those that were entered before recording began.
    #[must_use]
    pub fn levels(&self) -> u64 {
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
    fn calls_in(&self, root: Root) -> u64 {
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

    /// How often each shape occurs, and where first.
    #[must_use]
    pub fn occurrences(&self) -> Occurrences {
        Occurrences::of(self)
    }
}
