//! Records other methods while the program runs: classes are rewritten again, by the new filter.
//!
//! A frame that is open at this moment keeps its code. So its exit is recorded if its entry was, and only then.

use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};

use super::unprepared;
use crate::engine::instrument;
use crate::filter::FilterSpec;
use crate::jvm::{Vm, own_threads, state, triggers};
use crate::lifecycle::Agent;
use crate::options::EngineKind;

/// Held while the filter changes, and while a recording ends and its probes are removed.
static CHANGING: Mutex<()> = Mutex::new(());

/// Waits until the filter does not change, and keeps it as it is.
pub(in crate::jvm) fn forbid() -> MutexGuard<'static, ()> {
    CHANGING.lock()
}

/// Replaces the filter of a recording, on a thread of the agent. Returns what that has changed.
///
/// # Errors
/// Nothing has changed, and why.
pub(in crate::jvm) fn change(agent: &Agent, filter: FilterSpec) -> Result<String, String> {
    let over = || "nothing is being recorded any more".to_owned();
    let recorder = agent.recorder();
    let _alone = CHANGING.try_lock().ok_or_else(over)?;
    if !recorder.is_on() || agent.is_abandoned() {
        return Err(over());
    }
    let methods = recorder.methods();
    match agent.engine() {
        EngineKind::None => {
            Err("engine=none records no methods; start with engine=instrument".to_owned())
        }
        EngineKind::Events if !filter.synthetic && !state::knows_bridges() => Err(
            "synthetic=false needs bytecodes and constant pools, which this JVM does not offer; \
                 leave it out, or record with engine=instrument"
                .to_owned(),
        ),
        EngineKind::Events => {
            methods.change_filter(filter, || {}).map(|()| "the filter has changed".to_owned())
        }
        EngineKind::Instrument if state::is_ending() => Err(over()),
        EngineKind::Instrument => {
            let begun = Instant::now();
            let starting = "the JVM is starting, so its classes cannot change yet; try again";
            let mut changed = Err(starting.to_owned());
            let attached = own_threads::as_thread_of_jvm_called(c"flow-filter", |vm, _| {
                // Only a thread of the JVM learns this.
                if state::is_live() {
                    let change = vm
                        .check_parameters()
                        .and_then(|()| methods.change_filter(filter, unprepared::filter_changed));
                    changed = change.map(|()| rewrite(agent, vm));
                }
            });
            // The JVM refuses threads before it has started.
            attached.map_err(|why| format!("{why}; try again when the JVM has started"))?;
            let (classes, ms) = (changed?, begun.elapsed().as_millis());
            Ok(format!(
                "the filter has changed; {classes} loaded classes were passed through it in {ms} ms"
            ))
        }
    }
}

/// Passes the loaded classes through the new filter. Returns how many they are.
fn rewrite(agent: &Agent, vm: &Vm<'_>) -> usize {
    let recorder = agent.recorder();
    let classes = instrument::rewrite_loaded(recorder, vm);
    instrument::note_open_frames(recorder, vm);
    // A method that is rewritten is no longer watched, and its lines are elsewhere.
    triggers::watch_loaded(agent, vm);
    agent.stacks().iter().for_each(|stacks| stacks.forget_lines());
    recorder.check_memory();
    classes
}
