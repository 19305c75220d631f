//! The JVMTI environment: its capabilities, and the requested events.

use flow_codec::format::manifest::Jvm;
use jvmti_rs::sys;

use super::jvmti::{
    CallbackTable, Jvmti, VIRTUAL_THREAD_END, VIRTUAL_THREAD_START, no_capabilities,
};
use super::{mounts, sampling, state};
use crate::lifecycle::Agent;
use crate::options::{EngineKind, Options};
use crate::sys::blocks;

/// The first version of JVMTI in which VMStart comes after `java.lang` has been initialized.
const STARTS_WITH_CLASSES: u32 = 9;

/// Bits of `jvmtiCapabilities` that the agent requests.
mod capability {
    pub(super) const TAG_OBJECTS: usize = 0;
    pub(super) const BYTECODES: usize = 3;
    pub(super) const SOURCE_FILE_NAME: usize = 11;
    pub(super) const MONITOR_INFO: usize = 7;
    pub(super) const LINE_NUMBERS: usize = 12;
    pub(super) const SOURCE_DEBUG_EXTENSION: usize = 13;
    /// Available at the start only.
    pub(super) const EXCEPTIONS: usize = 17;
    /// Available at the start only.
    pub(super) const BREAKPOINTS: usize = 19;
    pub(super) const METHOD_ENTRY: usize = 24;
    pub(super) const METHOD_EXIT: usize = 25;
    pub(super) const MONITOR_EVENTS: usize = 28;
    pub(super) const NATIVE_BINDINGS: usize = 30;
    pub(super) const ALL_CLASS_FILE_HOOKS: usize = 26;
    pub(super) const CONSTANT_POOL: usize = 35;
    pub(super) const RETRANSFORM: usize = 37;
    pub(super) const OUT_OF_MEMORY: usize = 39;
    /// Available at the start only.
    pub(super) const EARLY_CLASS_FILE_HOOKS: usize = 42;
    pub(super) const RETRANSFORM_ANY: usize = 38;
    /// Came with JDK 21.
    pub(super) const VIRTUAL_THREADS: usize = 44;
}

/// Takes the capabilities that an engine needs, and sets the callbacks.
///
/// # Errors
/// The JVM lacks a capability that the engine needs.
pub(super) fn prepare(
    jvmti: Jvmti,
    options: &Options,
    callbacks: &CallbackTable,
) -> Result<(), String> {
    let engine = options.engine;
    let name = jvmti.system_property(c"java.vm.name").unwrap_or_default();
    let is_hotspot = is_hotspot(&name);
    if engine == EngineKind::Instrument && !is_hotspot && !options.set.contains_key("engine") {
        return Err(format!(
            "'{name}' is not HotSpot, for which engine=instrument is made; use engine=events, or set \
             engine=instrument to try it anyway"
        ));
    }
    let failed = |error| format!("JVMTI error {error} while asking for the version");
    let starts_without_classes = jvmti.version().map_err(failed)? < STARTS_WITH_CLASSES;
    state::note_kind(is_hotspot, starts_without_classes);
    if engine == EngineKind::Instrument && starts_without_classes {
        return Err("this JVM is older than Java 11, for which engine=instrument is made; use \
                    engine=events"
            .to_owned());
    }
    if options.waits && starts_without_classes {
        return Err("waits=on needs Java 11 or later; leave it out".to_owned());
    }
    state::record_waits(options.waits);
    sampling::prepare(state::jvm(), options)?;
    if engine == EngineKind::Instrument || options.waits {
        blocks::table()?;
    }
    let failed = |error| format!("JVMTI error {error} while requesting capabilities");
    let potential = jvmti.potential_capabilities().map_err(failed)?;
    let wanted = wanted(options, &potential)?;
    jvmti.add_capabilities(&wanted).map_err(failed)?;
    let knows_bridges = [capability::BYTECODES, capability::CONSTANT_POOL]
        .iter()
        .all(|bit| wanted._bitfield_1.get_bit(*bit));
    state::note_bridges(knows_bridges);
    jvmti
        .set_callbacks(callbacks)
        .map_err(|error| format!("JVMTI error {error} while setting callbacks"))
}

/// Returns the capabilities to request, of those that the JVM offers.
fn wanted(
    options: &Options,
    potential: &sys::jvmtiCapabilities,
) -> Result<sys::jvmtiCapabilities, String> {
    use capability::*;
    let engine = options.engine;
    let (needed, useful): (&[(usize, &str)], &[usize]) = match engine {
        EngineKind::Events => (
            &[(METHOD_ENTRY, "method entry events"), (METHOD_EXIT, "method exit events")],
            &[
                TAG_OBJECTS,
                SOURCE_FILE_NAME,
                LINE_NUMBERS,
                SOURCE_DEBUG_EXTENSION,
                EXCEPTIONS,
                VIRTUAL_THREADS,
                // For a filter with synthetic=false, which may come while the program runs.
                BYTECODES,
                CONSTANT_POOL,
            ],
        ),
        EngineKind::Instrument => (
            &[(ALL_CLASS_FILE_HOOKS, "class file hooks"), (RETRANSFORM, "retransformation")],
            &[TAG_OBJECTS, CONSTANT_POOL, RETRANSFORM_ANY, VIRTUAL_THREADS],
        ),
        EngineKind::None => (&[], &[TAG_OBJECTS, VIRTUAL_THREADS]),
    };
    let of_samples: &[usize] = match options.sampling {
        Some(_) => &[SOURCE_FILE_NAME, LINE_NUMBERS, SOURCE_DEBUG_EXTENSION],
        None => &[],
    };
    let mut wanted = no_capabilities();
    let on = &options.snapshot_on;
    let for_methods = (!on.methods.is_empty()).then_some(&(
        BREAKPOINTS,
        "breakpoints, which snapshot-on needs for methods and exceptions and which exist only from the start of the JVM",
    ));
    let for_accessors = options.filter.skips_accessors;
    let for_accessors = for_accessors.then_some(&(BYTECODES, "bytecodes for skip=accessors"));
    let for_synthetic: &[_] = match engine {
        EngineKind::Events if !options.filter.synthetic => &[
            (BYTECODES, "bytecodes for synthetic=false"),
            (CONSTANT_POOL, "constant pools for synthetic=false"),
        ],
        _ => &[],
    };
    let for_handlers = engine == EngineKind::Events && !options.filter.exceptions.is_empty();
    let for_handlers = for_handlers.then_some(&(
        EXCEPTIONS,
        "exception events, which exceptions= needs with engine=events and which exist only from the start of the JVM",
    ));
    let for_memory = on.oom.then_some(&(OUT_OF_MEMORY, "events for snapshot-on=oom"));
    let for_waits: &[_] = match options.waits {
        true => &[
            (MONITOR_EVENTS, "events of monitors, which waits=on needs"),
            (MONITOR_INFO, "owners of monitors, which waits=on needs"),
            (NATIVE_BINDINGS, "bindings of native methods, which waits=on needs"),
        ],
        false => &[],
    };
    let for_options =
        for_methods.into_iter().chain(for_waits).chain(for_memory).chain(for_accessors);
    for (bit, what) in needed.iter().chain(for_options).chain(for_handlers).chain(for_synthetic) {
        if !potential._bitfield_1.get_bit(*bit) {
            return Err(format!("this JVM offers no {what}; another agent may hold them"));
        }
        wanted._bitfield_1.set_bit(*bit, true);
    }
    if options.filter.needs_types() {
        state::need_types();
    }
    // From JDK 24 on, classes in the shared archive may hold calls that are resolved to the code that methods
    // of the JDK had before we rewrote them. With this capability the JVM does not use the archive.
    let early = engine == EngineKind::Instrument && options.filter.names_jdk();
    let early = early.then_some(&EARLY_CLASS_FILE_HOOKS);
    for bit in useful.iter().chain(of_samples).chain(early) {
        wanted._bitfield_1.set_bit(*bit, potential._bitfield_1.get_bit(*bit));
    }
    Ok(wanted)
}

/// Returns whether a JVM of this name is HotSpot, in the builds of OpenJDK, Oracle, GraalVM, Azul (Zulu) and
/// others. On another JVM (OpenJ9, Zing, native images of GraalVM) rewritten classes may not work: probes
/// depend on the location of a thread's id, and on how HotSpot verifies and compiles.
fn is_hotspot(name: &str) -> bool {
    name.starts_with("OpenJDK ") || name.contains("HotSpot")
}

/// The events that an engine needs while it records.
fn events(engine: EngineKind) -> &'static [sys::jvmtiEvent] {
    match engine {
        EngineKind::Events => &[sys::JVMTI_EVENT_METHOD_ENTRY, sys::JVMTI_EVENT_METHOD_EXIT],
        EngineKind::Instrument => &[sys::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK],
        EngineKind::None => &[],
    }
}

/// The events of the beginning and end of threads, classes and the JVM.
const LIFE_EVENTS: [sys::jvmtiEvent; 6] = [
    sys::JVMTI_EVENT_VM_START,
    sys::JVMTI_EVENT_VM_INIT,
    sys::JVMTI_EVENT_VM_DEATH,
    sys::JVMTI_EVENT_THREAD_START,
    sys::JVMTI_EVENT_THREAD_END,
    sys::JVMTI_EVENT_CLASS_PREPARE,
];

/// Requests the events. If the recording starts with the JVM, this must happen in `Agent_OnLoad`: method
/// events cannot be enabled between that and VMInit.
///
/// # Errors
/// The JVM refuses.
pub(super) fn subscribe(agent: &Agent, jvmti: Jvmti) -> Result<(), String> {
    let failed = |error| format!("JVMTI error {error} while requesting events");
    let on = agent.snapshots().on();
    let of_methods = (!on.methods.is_empty()).then_some(&sys::JVMTI_EVENT_BREAKPOINT);
    let of_memory = on.oom.then_some(&sys::JVMTI_EVENT_RESOURCE_EXHAUSTED);
    let more = of_methods.into_iter().chain(of_memory);
    for event in LIFE_EVENTS.iter().chain(events(agent.engine())).chain(more) {
        jvmti.enable(*event).map_err(failed)?;
    }
    // Refused before JDK 21, which has no virtual threads.
    for event in [VIRTUAL_THREAD_START, VIRTUAL_THREAD_END] {
        let _ = jvmti.enable(event);
    }
    if state::records_waits() {
        for event in WAIT_EVENTS {
            jvmti.enable(event).map_err(failed)?;
        }
    }
    if agent.recorder().samples_times() || state::records_waits() {
        mounts::subscribe(jvmti);
    }
    if agent.engine() == EngineKind::Events {
        // Refused if another agent has the capability: then the classes of exceptions are unknown.
        let _ = jvmti.enable(sys::JVMTI_EVENT_EXCEPTION);
        if !agent.recorder().methods().filter().exceptions.is_empty() {
            jvmti.enable(sys::JVMTI_EVENT_EXCEPTION_CATCH).map_err(failed)?;
        }
    }
    Ok(())
}

/// Disables the events that cost time, once for each recording. Not for a recording that has been released,
/// because the next one needs these events.
#[cold]
pub(super) fn unsubscribe(agent: &Agent, jvmti: Jvmti) {
    if agent.first_to_unsubscribe() {
        // Refused after VMDeath, when it no longer matters.
        let of_exceptions = [&sys::JVMTI_EVENT_EXCEPTION, &sys::JVMTI_EVENT_EXCEPTION_CATCH];
        // Those of waits even if they were not requested: the next recording, which has no waits, may have started.
        let all = events(agent.engine()).iter().chain(of_exceptions).chain(&WAIT_EVENTS);
        for event in all {
            let _ = jvmti.disable(*event);
        }
        mounts::unsubscribe(jvmti);
    }
}

/// The events for waits.
const WAIT_EVENTS: [sys::jvmtiEvent; 5] = [
    sys::JVMTI_EVENT_MONITOR_CONTENDED_ENTER,
    sys::JVMTI_EVENT_MONITOR_CONTENDED_ENTERED,
    sys::JVMTI_EVENT_MONITOR_WAIT,
    sys::JVMTI_EVENT_MONITOR_WAITED,
    sys::JVMTI_EVENT_NATIVE_METHOD_BIND,
];

/// Describes the JVM for the manifest.
pub(super) fn jvm_facts(jvmti: Jvmti) -> Jvm {
    let property = |name| jvmti.system_property(name).unwrap_or_default();
    Jvm {
        name: property(c"java.vm.name"),
        version: property(c"java.vm.version"),
        home: property(c"java.home"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hotspot_is_known_by_its_names() {
        for name in [
            "OpenJDK 64-Bit Server VM",
            "OpenJDK Client VM",
            "Java HotSpot(TM) 64-Bit Server VM",
            "OpenJDK GraalVM CE 64-Bit Server VM",
        ] {
            assert!(is_hotspot(name), "{name}");
        }
        for name in ["Eclipse OpenJ9 VM", "IBM J9 VM", "Substrate VM", "Zing 64-Bit Tiered VM", ""]
        {
            assert!(!is_hotspot(name), "{name}");
        }
    }
}
