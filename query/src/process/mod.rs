//! Processes the events of all threads in one order, as they come.
//!
//! ```text
//! Trace::merged ─┐                                    ┌▶ Processor
//! Follower ──────┴▶ Router (each message to each) ────┼▶ Processor
//!                                                     └▶ Processor
//! ```
//!
//! A [`Processor`] sees three kinds of messages:
//!
//! | message | order |
//! |---|---|
//! | [events](Processor::event) | that of a thread is exact; that of several threads by their sequence numbers, or if there are none, by their times, as far as these are known |
//! | [metadata](Processor::metadata): names of methods and threads | none: a name comes before the first event that needs it, and may come long before |
//! | [breaks](Processor::data_break): places where events are missing | exactly between the events that they separate |
//!
//! The [`Router`] passes each message to all processors. One that panics is removed and reported, and the others continue.
//! The router does no I/O. A [`Follower`] reads what is new in a trace that grows, thread by thread, and a [`MergedFollower`] in
//! one order.
//!
//! # Example: the deepest stack of each thread
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use flow_codec::ThreadId;
//! use flow_query::process::{DataBreak, Ordered, Processor, Router};
//! use flow_codec::read::EventKind;
//!
//! #[derive(Default)]
//! struct Deepest {
//!     /// Of each thread: its frames now, and at most.
//!     frames: BTreeMap<ThreadId, (u64, u64)>,
//! }
//!
//! impl Processor for Deepest {
//!     fn event(&mut self, ordered: &Ordered) {
//!         let (now, most) = self.frames.entry(ordered.thread).or_default();
//!         match &ordered.event.kind {
//!             EventKind::Enter(_) => *now += 1,
//!             EventKind::Exit { count, .. } => *now = now.saturating_sub(count.get()),
//!             _ => {}
//!         }
//!         *most = (*most).max(*now);
//!     }
//!
//!     fn data_break(&mut self, at: &DataBreak) {
//!         // What is on the stack now, events after the break enter.
//!         at.thread.and_then(|thread| self.frames.get_mut(&thread)).into_iter().for_each(|(now, _)| *now = 0);
//!     }
//! }
//!
//! # let dir = tempfile::tempdir().unwrap();
//! # std::fs::write(dir.path().join("thread-1.flow"), [0x81, 0x82, 0x00, 0x83, 0x01]).unwrap();
//! # let trace = flow_codec::read::Trace::open(dir.path()).unwrap();
//! let mut router = Router::default();
//! let deepest = router.add("deepest", Deepest::default());
//! router.run(&trace);
//! let frames = &router.get(&deepest).unwrap().frames;
//! assert_eq!(frames[&ThreadId::new(1)].1, 2);
//! ```

mod follow;
mod merged;
mod reached;
mod router;

pub use self::follow::{Follower, Passed};
pub(crate) use self::reached::is_received;
pub(crate) use self::router::Receive;
pub use self::router::{Cause, DataBreak, Failed, Handle, Metadata, Ordered, Processor, Router};

#[doc(hidden)]
pub use self::{
    merged::MergedFollower,
    reached::{NewEvents, Reached},
};
