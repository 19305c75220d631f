//! The shapes of several threads together, of one trace or of several.

use std::collections::BTreeMap;

use crate::dag::MAX_SIZE;
use crate::dag::shape::kinds::{Outcome, ShapeId};
use crate::dag::shape::loops::Parts;
use crate::dag::shape::of_thread::Dag;
use crate::dag::shape::shapes::Shapes;
use crate::dag::shape::shapes::THREAD;
use crate::dag::shape::table::{Folded, Table};
use crate::dag::shape::word::{self, MAX_NUMBER, Word};
use flow_codec::MethodId;
use flow_codec::format::shape_name::CallOrder;

/// Joins the shapes of threads: equal ones become one. So calls that did the same have the same shape, in whichever
/// thread or trace they were made. Methods are numbered by the caller, in different traces by their names.
#[derive(Debug)]
pub struct Join {
    table: Table<Folded>,
    order: CallOrder,
}

/// The shapes of a thread among joined ones.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Joined {
    /// The joined shape of each shape of the thread; `None` if calls of its method are left out.
    pub shapes: Vec<Option<ShapeId>>,
    /// The shape of all calls of the thread. Frames that are still open count as left because recording was
    /// suspended; exits without entries are left out.
    pub thread: ShapeId,
}

impl Default for Join {
    fn default() -> Self {
        Self::within(MAX_SIZE)
    }
}

impl Join {
    /// Joins shapes as long as they fit into this many words, as [`MAX_SIZE`] counts them.
    #[must_use]
    pub(crate) fn within(max_size: usize) -> Self {
        Self { table: Table::new(max_size), order: CallOrder::Counts }
    }

    /// Joins also shapes that made the same calls in another order, if that does not count: then each shape makes its calls in the
    /// order of the numbers of their shapes, those of one shape together.
    #[must_use]
    pub(crate) fn in_order(self, order: CallOrder) -> Self {
        Self { order, ..self }
    }

    /// Adds the shapes of a thread. `number` returns the number of a method, or `None` to leave out its calls with
    /// all that happens in them. Returns `None` if there are too many shapes.
    pub fn add(
        &mut self,
        dag: &Dag,
        number: impl FnMut(MethodId) -> Option<MethodId>,
    ) -> Option<Joined> {
        self.add_closed(dag, number, |_| false)
    }

    /// Adds the shapes of a thread as [`add`](Self::add) does. What calls of a method do for which `is_closed` returns true is left
    /// out, but not the calls themselves.
    pub(crate) fn add_closed(
        &mut self,
        dag: &Dag,
        mut number: impl FnMut(MethodId) -> Option<MethodId>,
        mut is_closed: impl FnMut(MethodId) -> bool,
    ) -> Option<Joined> {
        self.table.expect(&dag.shapes().words);
        let mut here: Vec<Option<ShapeId>> = Vec::with_capacity(dag.shapes().len());
        let (mut words, mut numbers) = (Vec::new(), Numbers::default());
        let mut header = |method, outcome| {
            let number = number(method)?.get();
            (number <= MAX_NUMBER).then(|| word::left(word::header(number), outcome))
        };
        for (_, shape) in dag.shapes().words.iter() {
            let Some((&first, mut runs)) = shape.split_first() else { continue };
            if let Word::Method(method, _) = Word::of(first)
                && is_closed(method)
            {
                runs = &[];
            }
            let first = match Word::of(first) {
                Word::Method(method, outcome) => header(method, outcome),
                _ => Some(first),
            };
            let Some(first) = first else {
                numbers.leave_out();
                here.push(None);
                continue;
            };
            words.clear();
            words.push(first);
            let is_ordered = self.order == CallOrder::Counts;
            let joined = match is_ordered && numbers.renumber(runs, &mut words) {
                // The same runs are repeated as before.
                true => self.table.intern_folded(&words).map(ShapeId)?,
                false if !is_ordered => {
                    Counts::of(runs, &here).push(&mut words);
                    self.intern(&words)?
                }
                false => {
                    words.truncate(1);
                    for part in Parts::of(runs) {
                        for _ in 0..part.times {
                            part.words().iter().for_each(|run| push(&mut words, *run, &here));
                        }
                    }
                    self.intern(&words)?
                }
            };
            numbers.add(here.len(), joined);
            here.push(Some(joined));
        }
        let thread = self.add_roots(&dag.roots, &here, header, is_closed)?;
        Some(Joined { shapes: here, thread })
    }

    /// Adds all calls of a thread, with the frames that are still open.
    fn add_roots(
        &mut self,
        roots: &[u64],
        here: &[Option<ShapeId>],
        mut header: impl FnMut(MethodId, Outcome) -> Option<u64>,
        mut is_closed: impl FnMut(MethodId) -> bool,
    ) -> Option<ShapeId> {
        // The thread, and open frames in it; `None` for one that is left out.
        let mut open = vec![(Some(vec![word::special(THREAD)]), false)];
        for &root in roots {
            match Word::of(root) {
                Word::Run(..) => {
                    if let Some((Some(words), false)) = open.last_mut() {
                        push(words, root, here);
                    }
                }
                Word::Method(method, _) => {
                    let is_shown = matches!(open.last(), Some((Some(_), false)));
                    let header = header(method, Outcome::Cut).filter(|_| is_shown);
                    open.push((header.map(|header| vec![header]), is_closed(method)));
                }
                Word::Special(_) | Word::Loop(..) => {}
            }
        }
        loop {
            let (last, _) = open.pop()?;
            let last = last.map(|words| self.ordered(words));
            let shape =
                last.map(|words| self.intern(&words)).map_or(Some(None), |s| s.map(Some))?;
            match (open.last_mut(), shape) {
                (None, shape) => return shape,
                (Some((Some(words), _)), Some(shape)) => {
                    word::push_run(words, shape.0, 1);
                }
                _ => {}
            }
        }
    }

    /// The shape of a thread without calls.
    pub(crate) fn nothing(&mut self) -> Option<ShapeId> {
        self.intern(&[word::special(THREAD)])
    }

    /// The words of a shape without loops, with its calls in the order of joined shapes.
    fn ordered(&self, mut words: Vec<u64>) -> Vec<u64> {
        if self.order == CallOrder::Ignored {
            let mut counts = Counts::default();
            let calls = words.split_off(words.len().min(1));
            calls.iter().for_each(|run| {
                counts.add_joined(word::shape_of(*run), word::count_of(*run).into());
            });
            counts.push(&mut words);
        }
        words
    }

    /// Joins a shape with these words, without loops.
    fn intern(&mut self, words: &[u64]) -> Option<ShapeId> {
        self.table.intern_with_loops(words).map(ShapeId)
    }

    /// Returns all shapes.
    #[must_use]
    pub fn finish(self) -> Shapes {
        Shapes::new(self.table.into_shapes())
    }
}

/// The joined numbers of shapes of a thread, as far as they are those of one shape only. A list of such runs has the same loops
/// with these numbers, so it need not be expanded.
#[derive(Default)]
struct Numbers {
    /// By shape: the joined one, or [`SEVERAL`].
    joined: Vec<u32>,
    /// By joined shape: which one it is, plus one; 0 if there is none.
    shapes: Vec<u32>,
}

/// The shape is left out, or has the same number as another one.
const SEVERAL: u32 = u32::MAX;

impl Numbers {
    fn add(&mut self, shape: usize, joined: ShapeId) {
        let place = joined.index();
        if place >= self.shapes.len() {
            self.shapes.resize((place + 1).next_power_of_two(), 0);
        }
        let Some(known) = self.shapes.get_mut(place) else { return };
        if let Some(other) = known.checked_sub(1) {
            self.joined.iter_mut().skip(other as usize).take(1).for_each(|place| *place = SEVERAL);
            self.joined.push(SEVERAL);
        } else {
            *known = u32::try_from(shape + 1).unwrap_or(0);
            self.joined.push(joined.get());
        }
    }

    fn leave_out(&mut self) {
        self.joined.push(SEVERAL);
    }

    /// Adds these words with joined numbers. Returns `false` if a number is that of several shapes.
    fn renumber(&self, runs: &[u64], words: &mut Vec<u64>) -> bool {
        for &word in runs {
            let Word::Run(shape, count) = Word::of(word) else {
                words.push(word);
                continue;
            };
            match self.joined.get(shape.index()) {
                Some(&joined) if joined != SEVERAL => words.push(word::run(joined, count)),
                _ => return false,
            }
        }
        true
    }
}

/// How often a call made calls of each joined shape.
#[derive(Default)]
struct Counts(BTreeMap<u32, u64>);

impl Counts {
    /// Adds a run of another numbering, unless its calls are left out.
    fn add(&mut self, run: u64, times: u64, shapes: &[Option<ShapeId>]) {
        let shape = shapes.get(word::shape_of(run) as usize).copied().flatten();
        if let Some(shape) = shape {
            self.add_joined(shape.0, u64::from(word::count_of(run)).saturating_mul(times));
        }
    }

    /// The calls of these runs, unless they are left out.
    fn of(runs: &[u64], shapes: &[Option<ShapeId>]) -> Self {
        let mut counts = Self::default();
        for part in Parts::of(runs) {
            part.words().iter().for_each(|run| counts.add(*run, part.times, shapes));
        }
        counts
    }

    fn add_joined(&mut self, shape: u32, count: u64) {
        let all = self.0.entry(shape).or_default();
        *all = all.saturating_add(count);
    }

    fn push(self, words: &mut Vec<u64>) {
        for (shape, mut left) in self.0 {
            while left > 0 {
                let count = u32::try_from(left).unwrap_or(word::MAX_COUNT);
                words.push(word::run(shape, count));
                left -= u64::from(count);
            }
        }
    }
}

/// Adds a run of another numbering, unless its calls are left out.
fn push(words: &mut Vec<u64>, run: u64, shapes: &[Option<ShapeId>]) {
    let shape = shapes.get(word::shape_of(run) as usize).copied().flatten();
    if let Some(shape) = shape {
        word::push_run(words, shape.0, word::count_of(run));
    }
}
