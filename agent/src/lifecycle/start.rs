//! Starts a recording.

use std::sync::Arc;

use flow_codec::format::manifest::{Jvm, Timing};

use super::current::{CURRENT, OF_EVENTS, STARTING, release_alone, wait_for_clean_up};
use super::opening::{Start, StartError, environment};
use super::{Agent, agent};
use crate::options::{EngineKind, OnError, Options};
use crate::recorder::{Timeout, sampler};
use crate::sys::allocator::{self, OutOfMemory};

/// Names of machines are looked up with this stack.
const STREAM_STACK_BYTES: usize = 1 << 20;

/// Returns what a failure to start means for the JVM.
#[must_use]
pub fn on_error(option_text: &str) -> OnError {
    Options::on_error(option_text, environment)
}

/// Starts a recording: parses options, prepares the JVM, takes the trace directory, writes the manifest.
/// Returns `None` if the options exclude a JVM that runs `command`: one that is started this way, not one
/// that is attached to.
///
/// # Errors
/// A recording is running already, an option is wrong, the JVM cannot be prepared, or the directory or a file
/// that it names cannot be used.
pub fn start(
    option_text: &str,
    when: Start,
    command: Option<&str>,
    prepare: impl FnOnce(&Options) -> Result<Jvm, String>,
) -> Result<Option<Arc<Agent>>, StartError> {
    wait_for_clean_up();
    let _one_at_a_time = STARTING.lock();
    if let Some(earlier) = agent() {
        if earlier.recorder.is_on() {
            let path = earlier.directory.path().display();
            return Err(StartError(format!("this process is already being recorded, into {path}")));
        }
        // A fault has ended it.
        earlier.finish(Timeout::Long);
        release_alone(earlier);
    }
    let options =
        Options::parse(option_text, environment).map_err(|e| StartError(e.to_string()))?;
    if when == Start::Attached && options.engine == EngineKind::Events {
        let why = "engine=events cannot record a running JVM, because method events must be requested when \
                   it starts; use engine=instrument, or start the JVM with -agentpath";
        return Err(StartError(why.to_owned()));
    }
    crate::logging::init(options.log);
    if when == Start::WithJvm && !options.mains.select(command) {
        // The main class; arguments may hold secrets.
        let main = command.unwrap_or_default().split(' ').next().unwrap_or_default();
        log::info!("not recorded (only-main): {main}");
        return Ok(None);
    }
    let no_memory = |error: OutOfMemory| StartError(error.to_string());
    allocator::start().map_err(no_memory)?;
    let jvm = prepare(&options).map_err(StartError)?;
    let agent = Arc::new(Agent::open(&options, when, jvm)?);
    if allocator::is_short() {
        return Err(no_memory(OutOfMemory));
    }
    log::info!("recording into {}", agent.directory.path().display());
    if agent.engine == EngineKind::Events {
        let _ = OF_EVENTS.set(Arc::clone(&agent));
    }
    CURRENT.put(Arc::clone(&agent));
    if agent.recorder.has_queue()
        && let Err(error) = agent.spawn(c"flow-writer", |agent| agent.recorder.run_writer())
    {
        agent.recorder.stop(&format!("cannot start the thread that writes chunks: {error}"));
    }
    if agent.recorder.encodes_ahead()
        && let Err(error) = agent.spawn(c"flow-encoder", |agent| agent.recorder.run_encoder())
    {
        log::warn!("no thread that encodes chunks ahead ({error}); the program does it");
    }
    if agent.syncer.is_some()
        && let Err(error) = agent.spawn(c"flow-sync", |agent| agent.run_syncer())
    {
        agent.recorder.stop(&format!("cannot start the thread for durability=system: {error}"));
    }
    if agent.streamer.is_some()
        && let Err(error) =
            agent.spawn_with_stack(c"flow-stream", STREAM_STACK_BYTES, Agent::run_streamer)
    {
        agent.recorder.stop(&format!("cannot start the thread that sends the trace: {error}"));
    }
    if options.snapshot_on.is_wanted()
        && let Err(error) = agent.spawn(c"flow-snapshot", Agent::run_snapshots)
    {
        log::warn!("cannot start the thread for snapshot-on: {error}; it has no effect");
    }
    if let Timing::Sampled { period } = options.clock
        && let Err(error) =
            agent.spawn(c"flow-sampler", move |agent| sampler::run(&agent.recorder, period))
    {
        log::warn!("no thread that samples times ({error}); the trace has few times");
    }
    Ok(Some(agent))
}
