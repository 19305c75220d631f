//! UNSAFE, the top floor: the only access to the JVM.
//!
//! From top to bottom; each module uses only what is below it.
//!
//! | module | what |
//! |---|---|
//! | `load/` | the entry points, attaching and detaching, other copies of the library |
//! | `callbacks` | what the JVM calls |
//! | `natives/` | the class of the probes, the values they pass, the Java API, and what threads wait for |
//! | `guard` | guards around every callback |
//! | `loaded/` | loaded classes: probes taken out after a fault, or inserted by another filter (safe) |
//! | `environment` | capabilities and callbacks of the environment, and the requested events |
//! | `sampling` | walks stacks in signal handlers, and announces threads and classes for that |
//! | `triggers` | methods whose calls a snapshot is taken on (safe) |
//! | `ending` | notices that the JVM begins to end (safe) |
//! | `own_threads` | threads of the agent that are threads of the JVM for a while |
//! | `vm/` | what a callback may ask the JVM, as safe functions |
//! | `hotspot/` | structures in the memory of HotSpot |
//! | `state` | the environment, and what is known about the JVM |
//! | `jvmti` | the JVMTI function table |
//!
//! No type of `jni` or `jvmti-rs` leaves this folder. Of `jvmti-rs` only the `sys` layer is used, which
//! matches `jvmti.h`: its safe wrapper frees strings before it returns them.
//!
//! # Rules of every callback
//!
//! - **No panic reaches the JVM.** Bodies run in `catch_unwind`; a panic ends the recording.
//! - **No recursion.** What we call may itself cause events on the same thread; a flag of the OS thread
//!   makes those return at once. Nothing in a callback parks a virtual thread, so the flag never
//!   changes threads while it is set.
//! - **No Java.** Callbacks call JVMTI functions and access fields, but never call a Java method. (Four
//!   exceptions: the probe class is initialised once, in VMStart or after an attach; an attach draws a thread
//!   id; if there is an `api=` jar, VMInit checks whether the JVM runs tests; and a class loader of the
//!   program is asked for the probe class while its first class is defined.)
//! - **No lock across a JVM call**: the JVM may stop us inside it.
//! - **Ended means ended.** Callbacks still arrive after VMDeath; they check
//!   [`Recorder::is_on`](crate::recorder::Recorder::is_on) first.

mod callbacks;
mod ending;
mod environment;
mod guard;
mod hotspot;
mod jvmti;
mod load;
mod loaded;
mod mounts;
mod natives;
mod own_threads;
mod sampling;
mod state;
mod triggers;
mod vm;

pub use vm::{LoadedClass, MethodHandle, Vm};
