//! What belongs together across threads, by the rules of presets: what they hand to each other, what
//! they work for, and the parts of coroutines.

mod contexts;
mod coroutines;
mod handed;
mod named_parts;
mod role_calls;

pub(crate) use self::contexts::{CONTEXT, ContextSpan, FindContexts, MadeTexts, ThreadContexts};
pub(crate) use self::coroutines::{COROUTINES, Coroutine, FindCoroutines, SuspendMethods};
#[cfg(test)]
pub(crate) use self::handed::tests as handed_tests;
pub(crate) use self::handed::{FindHandOvers, Give, HANDOVERS, HandOvers, Section};
pub(crate) use self::named_parts::{NameParts, NamedPart, ThreadPart};
