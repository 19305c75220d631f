//! The specification: one file per format, encoding and decoding side by side.
//!
//! A trace is a directory. Every file in it can be read while the JVM runs and after it was killed.
//!
//! | file | format | written |
//! |---|---|---|
//! | `thread-<id>.flow` | [`flow`]: the events of one Java thread | chunk by chunk |
//! | `thread-<id>.marks` | [`marks`]: when they happened, and what else is known about them | after the chunks they belong to |
//! | `thread-<id>.jsonl` | [`jsonl`]: the same events, one JSON object a line (`format=jsonl`) | chunk by chunk |
//! | `ids.properties` | [`ids`]: method key to id | before any event uses the id |
//! | `methods.jsonl` | [`methods`]: what is known about each method | with `ids.properties` |
//! | `shared.flowtrace` | [`container`]: events, marks and lines of the threads that have no files of their own: virtual threads, and all after the first 1,000 | block by block |
//! | `samples` | [`samples`]: where threads were when they were sampled, with `sample=` | about every 100 ms |
//! | `threads.jsonl` | [`threads`]: start, rename and end of threads | appended |
//! | `journal` | [`journal`]: events that are not in the thread files yet | mapped while the JVM runs; removed at a clean end |
//! | `checkpoint`, `checkpoint.new` | copies of the open chunks in the form of the [`journal`], with `durability=system` | about every second |
//! | `flow-journal-…` | the [`journal`], in another directory that `trace.json` names, with `journal=DIR` | as `journal` |
//! | `trace.json` | [`manifest`]: what was run, how it was recorded, and how it ended | at start; replaced at a clean end |
//! | `trace.json.new` | space reserved for the final manifest | at start; replaces `trace.json` |
//! | `threads.dump` | [`thread_dump`]: what each thread waits for at one instant | by `flow record --timeout`, and beside a snapshot |
//! | `before-repair/` | files that `flow check --repair` replaced, moved or cut, under their names; the end of a thread file as `thread-<id>.flow.from-<offset>` | by a repair |
//! | `thread-<id>.idx` | [`index`]: positions from which a thread file can be read | by readers, on request |
//! | `thread-<id>.dag` | [`dag`]: its calls with equal subtrees stored once | by `flow record`, or by readers on request |
//! | `.lock` | empty; locked (`flock`) by the JVM that writes here | at start |
//! | `.gate` | empty; locked for a moment by each JVM that starts here | at start |
//! | `jvm-<pid>-<start>/` | the trace of a further JVM that found this directory in use | |
//!
//! A [`container`] also holds a whole trace in one file, `*.flowtrace`. What is never in it is beside it: the journal
//! of `app.flowtrace` is `app.flowtrace.journal`, its checkpoint `app.flowtrace.checkpoint`. Indexes and shapes
//! that readers make later are in `app.flowtrace.idx`, another container.
//!
//! With `stream=` a container is sent over a socket while it grows: [`stream`].
//!
//! [`hpl`] is the format of another tool, a log of samples in one file.
//!
//! A [`baseline`] is no part of a trace: it has the names of what a run did, for comparisons.
//!
//! [`flow.lock`](test_lock) is no part of a trace either: it has what each test of a run did, for version control.
//!
//! The [name of a shape](shape_name) is in no file of a trace: it follows from the calls.
//!
//! # Guarantees
//!
//! - Events of one thread are in order. There is no order across threads.
//! - At whatever instant the JVM is killed, everything recorded is in the thread files and the [`journal`].
//! - Every prefix of a thread file is readable; a truncated record is reported, not guessed.
//! - An id is in `ids.properties` before the first event that uses it reaches a thread file or the journal.
//! - A [`MethodId`](crate::MethodId) never changes its meaning within a trace.
//!
//! # Limits
//!
//! Readers refuse a line of 16 MiB or more, a `trace.json` of more than 64 MiB, and anything but a regular file in the
//! place of a file.

mod blocks;
mod derived;
#[cfg(test)]
mod example;
pub mod flow;
pub mod hpl;
pub mod instructions;
pub mod journal;
pub(crate) mod leb128;
pub mod marks;
pub mod names;
pub mod raw;
pub mod samples;
pub mod test_marks;
mod text;
pub mod values;

pub use self::blocks::{beginning, container, group, stream};
pub use self::derived::{baseline, dag, index, of_events, shape_name, test_lock};
pub use self::text::{ids, jsonl, lines, manifest, methods, roles, thread_dump, threads};
