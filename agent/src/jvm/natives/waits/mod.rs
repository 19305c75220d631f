//! What threads wait for, with `waits=on`: contended monitors and `Object.wait` by events of JVMTI, parks of virtual threads by
//! events of HotSpot, and what else waits by wrapping native methods of the JDK.
//!
//! The thread that waits stores the begin before it waits, and the end after that. Threads that have recorded no call store
//! nothing. Not used without the option: no event is requested, no native method wrapped. Methods stay wrapped if a later
//! recording in the same JVM does not have the option; their wrappers then only call them.

pub(in crate::jvm) mod monitors;
pub(in crate::jvm) mod natives;
pub(in crate::jvm) mod parks;

use std::ptr;

use flow_codec::ThreadId;
use flow_codec::format::values::waits::WaitKind;
use flow_codec::format::values::{BegunWait, Identity};
use jni::sys::jobject;

use crate::engine::{exceptions, waits};
use crate::jvm::guard::guarded;
use crate::jvm::{Vm, state};
use crate::lifecycle::{self, Agent};

/// A wait of the current thread that has begun.
#[derive(Clone, Copy, Debug)]
struct Begun(ThreadId);

/// Runs the body while waits are recorded.
fn while_recording(body: impl FnOnce(&Agent)) {
    if !state::records_waits() {
        return;
    }
    if let Some(agent) = lifecycle::agent().filter(|agent| !agent.is_abandoned()) {
        guarded(&agent, || body(&agent));
    }
}

/// The thread of the callback begins to wait, at this time if it is not now. `object` may be null; `holder` is asked for the
/// thread that holds it.
fn begin(
    vm: &Vm<'_>,
    agent: &Agent,
    kind: WaitKind,
    object: jobject,
    at_ns: Option<u64>,
    holder: impl FnOnce() -> Option<ThreadId>,
) -> Option<Begun> {
    let id = vm.current_thread_id()?;
    let recorder = agent.recorder();
    let describe = || {
        let at_ns = at_ns.unwrap_or_else(|| recorder.elapsed_ns());
        let object = (!object.is_null()).then(|| {
            let class = exceptions::class_of(recorder, vm.class_of_thrown(object));
            Identity { class, hash: vm.hash_of(object).unwrap_or_default() }
        });
        let wait = BegunWait { kind, object, holder: holder() };
        let mut bytes = Vec::with_capacity(64);
        wait.began(at_ns).encode(&mut bytes);
        bytes
    };
    waits::on_wait(recorder, agent.engine(), vm, id, describe).then_some(Begun(id))
}

/// The wait of the current thread ends. An exception may be pending: nothing is asked of JNI.
fn end(vm: &Vm<'_>, agent: &Agent, Begun(id): Begun) {
    let recorder = agent.recorder();
    waits::on_wait(recorder, agent.engine(), vm, id, || {
        let mut bytes = Vec::with_capacity(16);
        BegunWait::ended(recorder.elapsed_ns()).encode(&mut bytes);
        bytes
    });
}

/// No object.
const NOTHING: jobject = ptr::null_mut();
