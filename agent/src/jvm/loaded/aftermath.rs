//! What follows a recording: the program gets its original code back, as requested or after a fault.
//!
//! As soon as a callback finds that a fault has stopped the recording, a thread of the agent does what `flow detach`
//! does. The JVM lets only its own threads change classes, so this thread becomes one for a moment.
//!
//! Probes stay in place, and record nothing, if the JVM cannot change classes yet or any more, and if memory
//! has run out: changing classes needs some, and the JVM ends the process if it gets none.

use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::bounded;
use jni::sys::jclass;

use super::{refilter, unprepared};
use crate::engine::{Jvm as _, instrument};
use crate::jvm::jvmti::Jvmti;
use crate::jvm::vm::Retransforming;
use crate::jvm::{Vm, environment, own_threads, state};
use crate::lifecycle::{self, Agent};
use crate::options::EngineKind;
use crate::recorder::Timeout;
use crate::sys::{allocator, helper};

/// Threads of the JVM need more stack than the agent's others: the JVM checks its guard zones.
const STACK_BYTES: usize = 1 << 20;

/// Ends the recording that a fault has stopped, on a thread of the agent.
#[cold]
pub(in crate::jvm) fn begin(stopped: &Agent) {
    if stopped.engine() != EngineKind::Instrument
        || stopped.is_abandoned()
        || allocator::is_short()
        || state::is_ending()
        || !state::is_live()
        || !stopped.first_to_clean_up()
    {
        return;
    }
    let Some(agent) = lifecycle::agent().filter(|agent| ptr::eq(&raw const **agent, stopped))
    else {
        return;
    };
    if let Err(error) =
        helper::spawn_with_stack(c"flow-end", STACK_BYTES, move || end_in_thread_of_jvm(agent))
    {
        log::warn!("cannot start the thread that removes the probes from the program: {error}");
    }
}

/// Passes a class that is being prepared through the class file hook, because it may have probes of an
/// earlier recording, or because the filter is about one of its supertypes, which was not known before. Waits until that is done, but no longer than `timeout`. Another thread does it: this
/// one holds the lock of the class, and would wait for ever for a thread that changes the class and waits for
/// that lock.
#[cold]
pub(in crate::jvm) fn clean_class(vm: &Vm<'_>, class: jclass, timeout: Option<Duration>) {
    if Vm::retransforming() != Retransforming::No || allocator::is_short() || state::is_ending() {
        return;
    }
    let Some(class) = vm.keep_class(class) else { return };
    let (done, is_done) = bounded::<()>(0);
    let spawned = helper::spawn_with_stack(c"flow-class", STACK_BYTES, move || {
        let cleaned = own_threads::as_thread_of_jvm(|vm, _| {
            let refused = vm.retransform(&[class]).is_err();
            if refused {
                log::warn!("{} keeps the probes that it has", vm.name_of(class));
            }
            vm.forget_kept(class);
        });
        drop(done);
        if let Err(why) = cleaned {
            log::warn!("a class keeps the probes that it has: {why}");
        }
    });
    match spawned {
        Ok(()) => {
            // Nothing is ever sent: the wait ends when the sender is dropped.
            let _ = timeout.map(|timeout| is_done.recv_timeout(timeout));
        }
        Err(error) => log::warn!("a class keeps the probes that it has: {error}"),
    }
}

fn end_in_thread_of_jvm(agent: Arc<Agent>) {
    let ended = own_threads::as_thread_of_jvm(|vm, jvmti| end(vm, jvmti, agent));
    if let Err(why) = ended {
        log::warn!("the probes stay in the program: {why}");
    }
}

/// Completes the trace, removes the probes from the program, and frees what the recording held.
pub(in crate::jvm) fn end(vm: &Vm<'_>, jvmti: Jvmti, agent: Arc<Agent>) {
    let _filter_stays = refilter::forbid();
    agent.finish(Timeout::Long);
    if agent.engine() == EngineKind::Instrument {
        // A journal that must stay must not get the exits of frames that call methods without probes from now
        // on.
        agent.recorder().journal().leave_file();
        unprepared::recording_ended();
        instrument::restore_loaded(agent.recorder(), vm);
    }
    lifecycle::release(agent, |agent| environment::unsubscribe(agent, jvmti));
}
