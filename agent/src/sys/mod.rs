//! UNSAFE, the ground floor: memory, threads and clocks of the system. Knows no JVM.
//!
//! | module | what |
//! |---|---|
//! | `allocator` | the allocator of the library, with a reserve |
//! | `probes/` | memory that probes read and write: control blocks, classes of exceptions, places of lines, sequence numbers |
//! | `region` | memory for chunks |
//! | `fence` | makes stores of probes visible to other threads |
//! | `destructors` | destructors of thread-local variables, for musl |
//! | `ending` | whether the JVM is ending (safe) |
//! | `helper` | a thread of the agent |
//! | `shared` | a value that is freed when the last thread releases it |
//! | `sampling` | signals that interrupt threads to sample their stacks |
//! | `stack_ring` | the memory for these stacks |
//! | `stubs` | code without frames, and who called it |
//! | `unbuilt` | compiled methods that have not built their frame yet, or not any more (safe) |
//! | `clock` | clocks of the system (safe) |

pub(crate) mod allocator;
pub(crate) mod clock;
#[cfg(any(target_env = "musl", test))]
mod destructors;
pub(crate) mod ending;
mod fence;
pub(crate) mod helper;
mod probes;
mod region;
pub(crate) mod sampling;
mod shared;
pub(crate) mod stack_ring;
pub(crate) mod stubs;
pub(crate) mod unbuilt;

pub(crate) use blocks::abandon as abandon_blocks;
pub(crate) use fence::{can_settle_stores, settle_stores};
pub(crate) use helper::spawn;
pub use probes::blocks::{HeldBlock, control_block, shared_block};
pub use probes::control::Control;
pub use probes::place::ControlPlace;
pub(crate) use probes::{blocks, classes, counter, places};
pub(crate) use region::{GrowingFile, OpenMemory, Region};
pub(crate) use shared::Shared;
