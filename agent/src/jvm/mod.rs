//! UNSAFE, the top floor: the only access to the JVM.
//!
//! | module | what |
//! |---|---|
//! | `entry` | `Agent_OnLoad`, `Agent_OnAttach`, `Agent_OnUnload` |
//! | `attach` | loading into a running JVM, and detaching (safe) |
//! | `aftermath` | takes the probes out after a fault |
//! | `copies` | other copies of this library in the same process |
//! | `environment` | the JVMTI environment: capabilities, and the requested events |
//! | `callbacks` | what the JVM calls; guards around every body |
//! | `ending` | notices that the JVM begins to end (safe) |
//! | `vm` | what a callback may ask the JVM, as safe functions |
//! | `jvmti` | the JVMTI function table |
//! | `sampling` | walks stacks in signal handlers, and announces threads and classes for that |
//! | `signature` | class signatures to names (safe) |
//! | `api` | the native methods of the Java API |
//! | `probe` | the class of the probes, and what it calls |
//! | `unprepared` | classes with probes that are still being defined (safe) |
//! | `vm_structs` | where the JVM has its fields, as it exports that |
//! | `hotspot` | names of parameters in the memory of the JVM |
//! | `exports` | keeps foreign symbols out of the export table |
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

mod aftermath;
mod api;
mod attach;
mod callbacks;
mod copies;
mod ending;
mod entry;
mod environment;
mod exports;
mod hotspot;
mod jvmti;
mod probe;
mod refilter;
mod sampling;
mod signature;
mod triggers;
mod unprepared;
mod values;
mod vm;
mod vm_structs;

pub use vm::{LoadedClass, MethodHandle, Vm};
