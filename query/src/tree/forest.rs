//! All calls of a thread in memory.

use std::num::NonZeroU64;
use std::ops::Range;

use flow_codec::read::{ReadRecords, ThreadFile, Trace, Visit};
use flow_codec::{Error, MethodId, Result, ThreadId};

/// The calls of a thread, in the order in which they began. A call is known by its number, from 0: those in it
/// follow it. Takes 24 bytes a call.
///
/// ```no_run
/// use flow_codec::read::Trace;
/// use flow_query::tree::Forest;
///
/// let trace = Trace::open("flow-trace")?;
/// for forest in Forest::load_all(&trace, 10_000_000)? {
///     for root in forest.roots() {
///         println!("{}: {:?}", forest.thread(), forest.call(root));
///     }
/// }
/// # Ok::<(), flow_codec::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Forest {
    thread: ThreadId,
    calls: Vec<ForestCall>,
}

/// A call of a [`Forest`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ForestCall {
    /// The method.
    pub method: MethodId,
    /// How many calls are in it, including itself.
    pub calls: u64,
    /// How many frames are below it.
    pub depth: u64,
}

impl Forest {
    /// Reads all calls of all threads. For traces of any size there is [`LazyTree`](super::LazyTree).
    ///
    /// # Errors
    /// The events cannot be read, or there are more than `most` calls. Damage is not an error: it is skipped.
    pub fn load_all(trace: &Trace, most: u64) -> Result<Vec<Self>> {
        let mut left = most;
        let load = |file| {
            let forest = Self::load(file, left)?;
            left -= forest.len();
            Ok(forest)
        };
        trace.files.iter().map(load).collect()
    }

    /// Reads all calls of a thread, or of its ranges.
    ///
    /// # Errors
    /// Like those of [`load_all`](Self::load_all).
    pub fn load(file: &ThreadFile, most: u64) -> Result<Self> {
        let mut builder = Builder::default();
        let mut events = file.events()?;
        loop {
            let more = match events.visit_some(&mut builder) {
                Err(error @ Error::Io { .. }) => return Err(error),
                Err(_) => true,
                Ok(more) => more,
            };
            if builder.calls.len() as u64 > most {
                return Err(Error::TooManyCalls { path: file.path(), most });
            }
            if !more {
                break;
            }
        }
        builder.leave(u64::MAX);
        Ok(Self { thread: file.id, calls: builder.calls })
    }

    /// The thread.
    #[must_use]
    pub fn thread(&self) -> ThreadId {
        self.thread
    }

    /// How many calls there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.calls.len() as u64
    }

    /// Returns whether there are no calls.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The call with a number; `None` if there are fewer calls.
    #[must_use]
    pub fn call(&self, number: u64) -> Option<ForestCall> {
        self.calls.get(usize::try_from(number).ok()?).copied()
    }

    /// The outermost calls, in order.
    pub fn roots(&self) -> impl Iterator<Item = u64> {
        self.siblings(0..self.len())
    }

    /// The calls that a call made directly, in order.
    pub fn children(&self, number: u64) -> impl Iterator<Item = u64> {
        let calls = self.call(number).map_or(0, |call| call.calls);
        self.siblings(number.saturating_add(1)..number.saturating_add(calls))
    }

    fn siblings(&self, range: Range<u64>) -> impl Iterator<Item = u64> {
        let mut next = range.start;
        std::iter::from_fn(move || {
            let number = (next < range.end).then_some(next)?;
            next += self.call(number)?.calls;
            Some(number)
        })
    }
}

#[derive(Default)]
struct Builder {
    calls: Vec<ForestCall>,
    /// The numbers of those that are open.
    open: Vec<usize>,
}

impl Builder {
    fn leave(&mut self, frames: u64) {
        let frames = usize::try_from(frames).unwrap_or(usize::MAX);
        let from = self.open.len().saturating_sub(frames);
        let end = self.calls.len();
        for number in self.open.drain(from..) {
            if let Some(call) = self.calls.get_mut(number) {
                call.calls = (end - number) as u64;
            }
        }
    }
}

impl Visit for Builder {
    fn enter(&mut self, method: MethodId) {
        let depth = self.open.len() as u64;
        self.open.push(self.calls.len());
        self.calls.push(ForestCall { method, calls: 1, depth });
    }

    fn exit(&mut self, count: NonZeroU64) {
        self.leave(count.get());
    }
}
