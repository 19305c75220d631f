//! Sequence diagrams as text, for Mermaid and PlantUML: classes as participants, calls as messages.
//!
//! ```text
//! calls of threads ─▶ collect ────┐
//!                                 ├▶ Step (a tree; what repeats is a loop) ─▶ Diagram (participants, lines) ─▶ Syntax (text)
//! Comparison of shapes ─▶ Drawn ─┘
//! ```
//!
//! What a call handed to another thread is below that call, as an asynchronous message. A diagram with hundreds of messages cannot be
//! read, and the programs that draw it refuse it: deep calls are left out until the rest is few enough.

mod collect;
mod diagram;
mod difference;
mod steps;
mod syntax;

pub(super) use self::collect::Sequence;
pub(crate) use self::diagram::MAX_MESSAGES;
pub(crate) use self::difference::{DifferenceDiagram, DrawnThread};
