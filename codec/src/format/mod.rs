//! The specification: one file a format, encode and decode side by side.
//!
//! A trace is a directory. Every file in it can be read while the JVM runs and after it was killed.
//!
//! | file | format | written |
//! |---|---|---|
//! | `thread-<id>.flow` | [`flow`]: the events of one Java thread | chunk by chunk |
//! | `thread-<id>.marks` | [`marks`]: when they happened, and what else is known of them | after the chunks they belong to |
//! | `thread-<id>.jsonl` | [`jsonl`]: the same, one JSON object a line (`format=jsonl`) | chunk by chunk |
//! | `ids.properties` | [`ids`]: method key to id | before any event uses the id |
//! | `methods.jsonl` | [`methods`]: what is known of each method | with `ids.properties` |
//! | `threads.jsonl` | [`threads`]: start, rename and end of threads | appended |
//! | `journal` | [`journal`]: what is not in the thread files yet | mapped while the JVM runs; gone after a clean end |
//! | `trace.json` | [`manifest`]: what was run, how, and what came of it | at start; replaced at a clean end |
//! | `trace.json.new` | room for the manifest of the end | at start; takes the place of `trace.json` |
//! | `before-repair/` | what `flow check --repair` has replaced, moved or cut off, under its name; of a thread file the end, as `thread-<id>.flow.from-<offset>` | by a repair |
//! | `thread-<id>.idx` | [`index`]: places in a thread file, to read it from the middle | by readers, when asked to |
//! | `.lock` | empty; locked (`flock`) by the JVM that writes here | at start |
//! | `.gate` | empty; locked for a moment by each JVM that starts here | at start |
//! | `jvm-<pid>-<start>/` | the trace of a further JVM that found this directory in use | |
//!
//! # Guarantees
//!
//! - Events of one thread are in order. Across threads there is none.
//! - Whatever instant the JVM is killed at: what was recorded stands in the thread files and the
//!   [`journal`].
//! - Every prefix of a thread file is readable; a record that is cut off is reported, not guessed.
//! - An id stands in `ids.properties` before the first event that uses it reaches a thread file or the
//!   journal.
//! - A [`MethodId`](crate::MethodId) never changes its meaning within a trace.
//!
//! # Limits
//!
//! Readers refuse a line of 16 MiB or more (64 KiB in `thread-<id>.jsonl`), a `trace.json` of more
//! than 64 MiB, and anything that is no regular file in the place of one.

pub mod flow;
pub mod ids;
pub mod index;
pub mod journal;
pub mod jsonl;
pub(crate) mod leb128;
pub mod manifest;
pub mod marks;
pub mod methods;
pub mod names;
pub mod raw;
pub mod test_notes;
pub mod threads;
