//! The rows of what a program does while it is received.

use flow_codec::ThreadId;

use super::MethodColumns;

crate::rows! {
    /// What a method did in an interval.
    pub struct SumRow<'a> {
        pid: u32,
        from_ns: Option<u64>,
        /// the interval, since the start of the recording; `null` for events without a time
        to_ns: Option<u64>,
        #[serde(flatten)]
        method: MethodColumns<'a>,
        calls: u64,
        /// as for `report`; calls that began in the interval, time that ended in it
        self_ns: Option<u64>,
        /// calls that ended by an exception in the interval
        unwound: u64,
    }

    /// Calls of a method by another.
    pub struct CallRow<'a> {
        pid: u32,
        calls: u64,
        caller: MethodColumns<'a>,
        /// with `graph`: objects with `method…`; `null` in those of the outermost calls' caller
        callee: MethodColumns<'a>,
    }

    /// A note.
    pub struct NoteRow<'a> {
        pid: u32,
        at_ns: Option<u64>,
        thread: ThreadId,
        thread_name: &'a str,
        /// with `notes`
        text: &'a str,
    }
}
