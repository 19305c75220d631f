//! One call of a thread as a side of a comparison: the range from its entry to its exit.

use std::fmt;
use std::str::FromStr;

use flow_codec::format::marks::Position;
use flow_codec::read::{CallTimes, Parts};
use flow_codec::{MethodNames, NameForm, ThreadId};

use crate::Error;
use crate::analysis::MethodName;
use crate::open::Traces;
use crate::reading::{CallClock, Extent, Listener, open_tree};
use crate::select::Threads;
use crate::text::grouped;

/// A call by its thread and its number there, as lists of calls show it: `22:1082`, or `1,082 in 22 pool-1`.
///
/// ```
/// use flow_query::ask::CallPlace;
///
/// let call: CallPlace = "22:1082".parse()?;
/// assert_eq!(call, "1,082 in 22 pool-1".parse()?);
/// assert_eq!(call.to_string(), "22:1082");
/// # Ok::<(), flow_query::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallPlace {
    thread: ThreadId,
    number: u64,
}

/// A call that is a side of a comparison.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct SelectedCall {
    /// The number of the call in its thread.
    pub number: u64,
    /// The method of the call.
    pub method: MethodName,
    /// The method as people read it.
    pub name: String,
    /// When it began and ended.
    pub times: CallTimes,
}

impl CallPlace {
    /// Keeps only this call of the only trace: its thread has nothing but the range of the call, and there is no other thread.
    ///
    /// # Errors
    /// There are several traces, or there is no such thread or call.
    pub fn select_in(
        self,
        traces: &mut Traces,
        listener: &mut impl Listener,
    ) -> Result<SelectedCall, Error> {
        let trace = traces.only()?;
        let (only, methods) = (trace.dir().to_path_buf(), trace.methods().clone());
        let threads = Threads::of(&[self.thread.to_string()]);
        let others = traces.iter_mut().filter(|trace| trace.dir() != only);
        others.for_each(|trace| drop(trace.take_files()));
        threads.keep_in(&mut [traces])?;
        let of_thread = traces.iter_mut().find(|trace| !trace.files().is_empty());
        let Some(of_thread) = of_thread else { return Err(self.is_none(0)) };
        let Some(file) = of_thread.files().first().cloned() else { return Err(self.is_none(0)) };
        let file = &file;
        let mut tree = open_tree(file, listener)?;
        let Some(call) = tree.call(self.number)? else {
            return Err(self.is_none(tree.end().enters));
        };
        let left = tree.subtree(&call)?.left;
        let start = Position::before(call.place.offset);
        // The exits of the frames above it come first.
        let above = |open: u64| open.saturating_sub(call.place.frames).saturating_sub(1);
        let exit = left.map(|left| Position { offset: left.offset, exits: above(left.frames) });
        let last = Position::before(tree.end().offset);
        let extent = Extent { start, end: exit.unwrap_or(last), is_open: exit.is_none() };
        let end = exit.map_or(Parts::ALL.end, |exit| Position { exits: exit.exits + 1, ..exit });
        let times = CallClock::new(file).times([extent]).pop();
        let part = file.only(&format!("call {}", grouped(self.number)), &[start..end]);
        of_thread.set_files(vec![part]);
        let times = times.unwrap_or(crate::reading::UNKNOWN_TIMES);
        let method = MethodName::new(call.method, &methods);
        let name = MethodNames::new(&methods).get(call.method, NameForm::Readable);
        Ok(SelectedCall { number: self.number, method, name, times })
    }

    fn is_none(self, calls: u64) -> Error {
        Error::NoCall { thread: self.thread, number: self.number, calls }
    }
}

impl FromStr for CallPlace {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let number = |digits: &str| digits.replace(['_', ','], "").parse().ok();
        let thread = |words: &str| words.split(' ').next()?.parse().ok().map(ThreadId::new);
        let place = match text.split_once(" in ") {
            Some((digits, words)) => number(digits).zip(thread(words)),
            None => text.split_once(':').and_then(|(id, digits)| number(digits).zip(thread(id))),
        };
        let (number, thread) = place.ok_or_else(|| {
            Error::Text(format!("expected a call as THREAD:NUMBER, such as 1:82, found '{text}'"))
        })?;
        Ok(Self { thread, number })
    }
}

impl fmt::Display for CallPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.thread, self.number)
    }
}
