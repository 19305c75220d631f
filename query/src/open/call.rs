//! One call of a thread as a part of it: the range from its entry to its exit.

use std::ops::Range;

use flow_codec::format::marks::Position;
use flow_codec::read::{CallTimes, Parts, Selection, ThreadFile, Trace};
use flow_codec::{MethodNames, NameForm};

use crate::Error;
use crate::analysis::MethodName;
use crate::reading::{CallClock, Extent, Listener, UNKNOWN_TIMES, open_selected};
use crate::select::{CallPlace, Threads};
use crate::text::grouped;

/// A call that is selected.
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

impl SelectedCall {
    /// Keeps only this call of a trace: its thread has nothing but the range of the call, and there is no other thread.
    ///
    /// # Errors
    /// There is no such thread or call.
    pub(super) fn keep(
        call: CallPlace,
        trace: &mut Trace,
        listener: &mut impl Listener,
    ) -> Result<Self, Error> {
        let (selected, file, range) = Self::find(call, trace, listener)?;
        let part = file.only(&format!("call {}", grouped(call.number())), &[range]);
        trace.set_files(vec![part]);
        Ok(selected)
    }

    /// Finds a call, with its thread and its range there.
    ///
    /// # Errors
    /// There is no such thread or call.
    pub(super) fn find(
        call: CallPlace,
        trace: &mut Trace,
        listener: &mut impl Listener,
    ) -> Result<(Self, ThreadFile, Range<Position>), Error> {
        let of_all = trace.files().to_vec();
        let found = Threads::of(&[call.thread().to_string()]);
        let found = found.keep_in(&mut [std::slice::from_mut(trace)]);
        let file = trace.files().first().map(ThreadFile::whole);
        trace.set_files(of_all);
        found?;
        let Some(file) = file else { return Err(is_none(call, 0)) };
        let mut tree = open_selected(&file, &Selection::all(), listener)?;
        let tree = tree.whole();
        let Some(node) = tree.call(call.number())? else {
            return Err(is_none(call, tree.end().enters));
        };
        let left = tree.subtree(&node)?.left;
        let start = Position::before(node.place.offset);
        // The exits of the frames above it come first.
        let above = |open: u64| open.saturating_sub(node.place.frames).saturating_sub(1);
        let exit = left.map(|left| Position { offset: left.offset, exits: above(left.frames) });
        let last = Position::before(tree.end().offset);
        let extent = Extent { start, end: exit.unwrap_or(last), is_open: exit.is_none() };
        let end = exit.map_or(Parts::ALL.end, |exit| Position { exits: exit.exits + 1, ..exit });
        let times = CallClock::new(&file).times([extent]).pop();
        let times = times.unwrap_or(UNKNOWN_TIMES);
        let methods = trace.methods();
        let method = MethodName::new(node.method, methods);
        let name = MethodNames::new(methods).get(node.method, NameForm::Readable);
        let number = call.number();
        Ok((Self { number, method, name, times }, file, start..end))
    }
}

/// There is no such call.
pub(super) fn is_none(call: CallPlace, calls: u64) -> Error {
    Error::NoCall { thread: call.thread(), number: call.number(), calls }
}
