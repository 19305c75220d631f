//! What the agent does for requests in a running JVM.

use std::path::PathBuf;

use super::copies;
use super::process::guard_process;
use crate::engine::instrument;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::loaded::aftermath;
use crate::jvm::natives::{api, probe};
use crate::jvm::{Vm, callbacks, environment, own_threads, sampling};
use crate::lifecycle::{self, Agent, Start};
use crate::options::EngineKind;
use crate::sys::blocks;

/// Starts a recording.
///
/// # Errors
/// The recording cannot start; the program is unchanged.
pub(super) fn record(vm: &Vm<'_>, jvmti: Jvmti, option_text: &str) -> Result<(), String> {
    if let Some(other) = copies::other_recording() {
        return Err(format!(
            "another copy of flow, {}, is already recording this process, into {}; detach that one first",
            other.library,
            other.out.display()
        ));
    }
    let agent = lifecycle::start(option_text, Start::Attached, None, |options| {
        if options.waits {
            return Err("waits=on needs the start of the JVM, where the methods that wait can be wrapped; use \
                        'flow record --waits'"
                .to_owned());
        }
        environment::prepare(jvmti, options, &callbacks::table())?;
        vm.prepare();
        if options.streaming.is_some() {
            vm.prepare_for_end();
        }
        own_threads::find_group(vm, jvmti);
        if options.engine == EngineKind::Instrument {
            vm.check_parameters()?;
            probe::watch(jvmti)?;
            let defined = probe::define(vm);
            probe::unwatch(jvmti);
            defined?;
        }
        Ok(environment::jvm_facts(jvmti))
    })
    .map_err(|error| error.to_string())?;
    let Some(agent) = agent else { return Ok(()) };
    guard_process();
    if let Err(refusal) = announce_threads(vm, jvmti, &agent) {
        aftermath::end(vm, jvmti, agent);
        return Err(refusal);
    }
    api::bind_loaded(vm);
    if agent.engine() == EngineKind::Instrument {
        instrument::rewrite_loaded(agent.recorder(), vm);
        instrument::note_open_frames(agent.recorder(), vm);
    }
    sampling::start(&agent, vm);
    agent.recorder().check_memory();
    Ok(())
}

/// Requests the events, and prepares for the threads that are running.
fn announce_threads(vm: &Vm<'_>, jvmti: Jvmti, agent: &Agent) -> Result<(), String> {
    environment::subscribe(agent, jvmti)?;
    if agent.engine() != EngineKind::Instrument {
        return Ok(());
    }
    // From here on the start of each thread is announced. Virtual threads cannot be listed.
    if vm.has_virtual_threads() {
        blocks::expect_threads(vm.next_thread_id())?;
    }
    vm.platform_threads().iter().for_each(|facts| callbacks::make_block(agent, Some(facts.id)));
    Ok(())
}

/// Ends the recording, and gives the program its original code back.
///
/// # Errors
/// Nothing is being recorded.
pub(super) fn detach(vm: &Vm<'_>, jvmti: Jvmti) -> Result<(), String> {
    let agent = lifecycle::agent()
        .filter(|agent| agent.recorder().is_on())
        .ok_or("nothing is being recorded in this process")?;
    agent.recorder().note_names(vm.platform_threads());
    aftermath::end(vm, jvmti, agent);
    Ok(())
}

/// Takes a snapshot. Returns where it is.
///
/// # Errors
/// Nothing is being recorded, or it cannot be written.
pub(super) fn snapshot(name: &str) -> Result<PathBuf, String> {
    let agent = lifecycle::agent().ok_or("nothing is being recorded in this process")?;
    agent.snapshot(name)
}
