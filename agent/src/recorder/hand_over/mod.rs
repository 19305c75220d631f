//! From a chunk to the sink.
//!
//! A thread fills its chunk without a lock. A thread that moves what was recorded holds the lock of its
//! [output](crate::recorder::threads::out::Out): the thread itself when the chunk is full (`full`), the thread that encodes
//! ahead (`ahead`), the thread that writes (`writer`, `idle`), the thread that ends the recording (`Recorder::finish`).
//!
//! # The states of an output
//!
//! ```text
//!                 a chunk or a part of it is written or queued
//!                    ┌──────┐
//!                    ▼      │
//!   start_thread ─▶ open ───┘
//!                    │ │ └── the last chunk waits for others ─▶ waiting ─▶ (write_batch closes the slot)
//!                    │ └──── the last chunk is written or queued ─▶ closed
//!                    │                                               ▲
//!                    └─ a chunk is missing from the file ─▶ failed ──┘ the last chunk is counted
//! ```
//!
//! | step | who | when |
//! |---|---|---|
//! | open → open | the thread in `make_room`; the encoder in `encode_ahead` | the chunk is full, a mark or a pause comes; a part has gathered |
//! | open → failed | the one who writes: `write_canonical`, or `write_queued` where chunks are not joined | the sink refuses the chunk |
//! | | `send` | no memory for the queue, or it has ended |
//! | | `leave_unwritten` | no memory to encode the chunk |
//! | open → waiting | the thread that ends, in `write_out` | it shares a file (`ended`) |
//! | open, failed → closed | the thread that ends; the end of the recording; a thread that finds it over | `write_out` with the last chunk |
//!
//! A chunk of a failed output is not written, because it would leave a gap before it. If its slot was opened before the
//! failure, the journal has its events, and they count as recorded; slots after that are not opened, and their events are lost.
//! Waiting and closed outputs take no step: what the thread still records comes after the end.
//!
//! # What else an output holds
//!
//! | field | set by | cleared by | meaning |
//! |---|---|---|---|
//! | `encoded` | `encode_ahead` | `write_out` | the file or the queue has this much of the open chunk |
//! | `queued` | `write_out`, `encode_ahead`, `send_marks` | `send`, `end_thread` | encoded, with room in the queue. Only while the lock is held |
//! | `first` | `drop_chunk` | the next chunk, which begins with it; `put_first` | frames that a dropped chunk entered. Without the lock only if there is no next chunk: then the recording has ended |
//! | `gap` | `drop_chunk` | `mark_gap` | lost events that no mark counts yet |
//! | `is_copied` | `write_open_chunk` | the next chunk | the file has a copy of the open chunk, so it is not dropped |
//! | `is_paused` | `write_and_continue` | the same, after the pause | the thread is parked, and has left all frames |
//!
//! They meet in few ways. A chunk moves to a larger slot (`ThreadRecorder::grow`) only if the output is open and none of
//! `encoded` and `first` is set. A part is encoded ahead only if it is open and neither paused nor `first`. A chunk is copied
//! only if it is open and neither `first` nor `queued`.
//!
//! # The way of a chunk
//!
//! `write_out` chooses one: through the [queue](queue::Queue), if a thread of the agent writes; together with the last chunks of
//! other threads; or to the sink at once. If the queue has no room and chunks may be dropped, the chunk is reduced to its net
//! effect, with which the next one begins. The slot of a chunk in the queue stays open until the chunk is written
//! ([`After`] says what happens then), so a kill loses nothing.
//!
//! [`After`]: crate::recorder::threads::out::After

pub(super) mod ahead;
pub(super) mod base;
mod batch;
mod checkpoint;
mod ended;
pub(super) mod full;
pub(super) mod idle;
mod leaving;
pub(super) mod queue;
mod writer;
