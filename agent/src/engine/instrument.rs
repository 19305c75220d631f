//! `engine=instrument`: classes are rewritten as the JVM loads them, so that methods record themselves.
//!
//! ```text
//! class bytes ─▶ filter ─▶ ids, names on disk ─▶ rewriter ─▶ class bytes with probes
//!                                                     probe ─▶ chunk (in Java, no call into the agent)
//!                                                       └─ no room ─▶ recorder
//! ```
//!
//! Code stays compiled, and a call costs a few nanoseconds. Native methods and hidden classes have no bytes
//! to rewrite: the manifest names them, and every method that the rewriter refuses.

use std::sync::{Arc, Once};

use flow_codec::format::ids::key;
use flow_codec::format::manifest::Order;
use flow_codec::format::methods::{MethodInfo, flag_names};
use flow_codec::format::raw::words_of;
use flow_codec::format::roles::{MethodRole, PresetRole, ValueSource};
use flow_codec::{MethodId, Name, ThreadId};

use super::{Jvm, skip_list, starting_thread};
use crate::filter::{Candidate, FilterSpec, LineRecording, LoaderKind, Reason, Verdict};
use crate::recorder::{
    Assigned, ControlPlace, Loader, MethodFacts, MethodTable, OpenAt, Recorder, SideBand,
    ThreadRecorder,
};
use crate::rewrite::{
    self, Accessed, Choice, ClassFile, ConstructorCall, Detail, Extent, FieldName, Ids, LineProbes,
    Method, Parameter, Plan, Probes, Skip, Steps, Values,
};
use crate::sink::SinkError;
use crate::sys::allocator;
use crate::sys::control_block;
use crate::text::binary_name;

/// `ACC_NATIVE` (JVMS §4.6).
const NATIVE: u16 = 0x0100;

/// Used as the name of a class that has none before it is defined.
const UNNAMED_CLASS: &str = "(unnamed)";

/// Used as the name of a parameter that is the text of an operation, where the class has no names of parameters.
const TEXT_OF_OPERATION: &str = "text";

/// Returns the bytes of a class that is being loaded or changed, with probes; `None` to leave it unchanged.
/// `name` is the internal one, if the JVM knows it already. `known_types` are supertypes of the class that the filter is about, if
/// the class is loaded.
pub fn on_class_file(
    recorder: &Recorder,
    filter: &FilterSpec,
    loader: &Loader,
    name: Option<&[u8]>,
    known_types: &[String],
    bytes: &[u8],
) -> Option<Vec<u8>> {
    let methods = recorder.methods();
    if loader.kind == LoaderKind::Jdk && !filter.reaches_boot_classes() {
        return None;
    }
    let class = match ClassFile::parse(bytes) {
        Ok(class) => class,
        Err(error) => {
            leave_out_class(methods, filter, loader, name, &error);
            return None;
        }
    };
    let name = class.name();
    let types = types_of(&class, known_types, filter);
    if class.has_probes()
        || skip_list::is_probe_class(&name)
        || !filter.may_select(&name, &types, loader.kind)
    {
        return None;
    }
    if allocator::check_room(room_for(bytes)).is_err() {
        methods.leave_out("out-of-memory", key(&name, "*", ""));
        return None;
    }
    let probes = match (recorder.side_band(), recorder.order()) {
        (SideBand::ExactTimes, _) => Probes::Timed,
        (_, Order::Total) => Probes::Numbered,
        (_, Order::Time) => Probes::Plain,
    };
    let (class, name, types) = (&class, &*name, &*types);
    let rewriting = Rewriting { methods, filter, loader, class, name, types, probes };
    rewriting.run().unwrap_or_else(|error| {
        recorder.stop_storing(&error);
        None
    })
}

/// Returns the supertypes of a class that the filter is about: those that are `known`, and those that the class file names. Of a
/// class that is not loaded yet, those of its supertypes are missing; see [`lacks_types`].
fn types_of(class: &ClassFile<'_>, known: &[String], filter: &FilterSpec) -> Vec<String> {
    if !filter.needs_types() {
        return Vec::new();
    }
    let direct = class.supertypes();
    filter.relevant(known.iter().chain(&direct).map(String::as_str))
}

/// Returns whether a class that is being prepared was judged without a supertype that the filter is about. `direct` are those that
/// its class file names, `all` also theirs.
#[must_use]
pub fn lacks_types(filter: &FilterSpec, direct: &[String], all: &[String]) -> bool {
    let relevant = |types: &[String]| filter.relevant(types.iter().map(String::as_str));
    relevant(direct) != relevant(all)
}

/// Names a class with an unknown structure. Most likely the JVM refuses it too; or it is newer than this
/// agent.
fn leave_out_class(
    methods: &MethodTable,
    filter: &FilterSpec,
    loader: &Loader,
    name: Option<&[u8]>,
    error: &rewrite::Malformed,
) {
    static WARNING: Once = Once::new();
    let name = name.map_or_else(|| UNNAMED_CLASS.to_owned(), binary_name);
    if *error == rewrite::Malformed::NotAClass || !filter.may_select(&name, &[], loader.kind) {
        return;
    }
    WARNING.call_once(|| {
        log::warn!(
            "class {name} is not recorded: {error}; trace.json names all such classes \
             (unknown-class-file)"
        );
    });
    methods.leave_out("unknown-class-file", key(&name, "*", ""));
}

/// Returns the name of a class: `known`, or the one in its bytes if the JVM does not know it before the
/// definition.
pub fn class_name(known: Option<&[u8]>, bytes: &[u8]) -> Option<String> {
    let parsed = || ClassFile::parse(bytes).ok().map(|class| class.name());
    known.map(binary_name).or_else(parsed)
}

/// Returns the most memory that rewriting a class takes, unless the class is hostile.
fn room_for(class: &[u8]) -> usize {
    64 * 1024 + class.len().saturating_mul(16)
}

/// Returns whether a class may get probes, judged by its name.
pub fn may_rewrite(recorder: &Recorder, loader: &Loader, bytes: &[u8]) -> bool {
    let filter = recorder.methods().filter();
    ClassFile::parse(bytes).is_ok_and(|class| {
        filter.may_select(&class.name(), &types_of(&class, &[], &filter), loader.kind)
    })
}

/// Handles a class whose loader does not find the probe class. With probes, the class could not run.
pub fn on_class_without_probes(
    methods: &MethodTable,
    filter: &FilterSpec,
    loader: &Loader,
    bytes: &[u8],
) {
    if let Ok(class) = ClassFile::parse(bytes)
        && filter.may_select(&class.name(), &types_of(&class, &[], filter), loader.kind)
    {
        methods.leave_out("loader-refuses-probes", key(&class.name(), "*", ""));
    }
}

/// A probe of the current thread had no room for an event, or the thread has no chunk yet.
pub fn on_no_room<'a>(recorder: &Recorder, vm: &impl Jvm<'a>, id: ThreadId, event: &[u8]) {
    let Some(thread) = current_thread(recorder, vm, id) else { return };
    let is_entry = matches!(event.first(), Some(0x80..));
    let is_counted = recorder.look_at_frames(&thread, || {
        // The frame of an entry exists already.
        Some(recorded_frames(recorder, vm)?.saturating_sub(is_entry.into()))
    });
    recorder.append(&thread, event);
    if is_counted {
        recorder.forget_frames(&thread);
    }
}

/// Returns how many recorded frames the current thread has, at most: some of those that count may not be recorded. `None` if
/// that is not known, as for virtual threads and those that carry them: frames of both are on one stack.
fn recorded_frames<'a>(recorder: &Recorder, vm: &impl Jvm<'a>) -> Option<u32> {
    /// Naming the methods of a deep stack takes long.
    const MAX_FRAMES: u32 = 1000;
    if vm.current_frames() > MAX_FRAMES {
        return None;
    }
    let stack = vm.current_stack();
    let mounts = |facts: &MethodFacts| {
        let starts = |name| facts.info.class.starts_with(name);
        starts("java.lang.VirtualThread") || starts("jdk.internal.vm.Continuation")
    };
    if stack.is_empty() || stack.iter().flatten().any(mounts) {
        return None;
    }
    let methods = recorder.methods();
    let may_be_recorded = |facts: &MethodFacts| {
        let MethodFacts { info, loader, types, native, hidden, .. } = facts;
        // Other names may be spelled differently in the class file.
        !info.class.is_ascii()
            || !native && !hidden && may_have_probes(methods, &info.class, types, *loader)
    };
    let recorded = stack.iter().filter(|facts| facts.as_ref().is_none_or(may_be_recorded));
    u32::try_from(recorded.count()).ok()
}

/// Returns whether any filter of the recording gives probes to a class.
fn may_have_probes(
    methods: &MethodTable,
    class: &str,
    types: &[String],
    loader: LoaderKind,
) -> bool {
    methods.may_have_selected(class, types, loader)
        && !skip_list::is_probe_class(class)
        && !(loader == LoaderKind::Jdk
            && skip_list::is_skipped(class)
            && !methods.filter().presets.may_select(class, types, loader))
}

/// A probe of the current thread found a value that it cannot store itself: these are its bytes.
pub fn on_value<'a>(recorder: &Recorder, vm: &impl Jvm<'a>, id: ThreadId, value: &[u8]) {
    if let Some(thread) = current_thread(recorder, vm, id) {
        words_of(value).for_each(|word| recorder.append(&thread, &word));
    }
}

/// A probe of the current thread reached a place of lines that may not be recorded yet.
pub fn on_place<'a>(recorder: &Recorder, vm: &impl Jvm<'a>, id: ThreadId, place: u32) {
    if let Some(thread) = current_thread(recorder, vm, id) {
        recorder.reach(&thread, place);
    }
}

/// Returns the current thread's recorder, created if there is none, and resumed if it was paused.
pub fn current_thread<'a>(
    recorder: &Recorder,
    vm: &impl Jvm<'a>,
    id: ThreadId,
) -> Option<Arc<ThreadRecorder>> {
    let Some(thread) = recorder.thread(id) else { return start_thread(recorder, vm, id) };
    recorder.expect_exits(&thread, || vm.current_frames());
    Some(thread)
}

fn start_thread<'a>(
    recorder: &Recorder,
    vm: &impl Jvm<'a>,
    id: ThreadId,
) -> Option<Arc<ThreadRecorder>> {
    if !recorder.is_on() {
        return None;
    }
    if id.get() == 0 {
        // Only code of the JDK, in the constructor of a thread that runs already: a native thread that
        // attaches to the JVM.
        let methods = recorder.methods();
        methods.leave_out("thread-without-id", key("java.lang.Thread", "<init>", "*"));
        return None;
    }
    let control = control_block(id).map_err(|why| recorder.stop(&format!("thread {id}: {why}")));
    let control = control.ok().filter(|control| !control.has_ended())?;
    recorder.start_thread(&starting_thread(recorder, vm)?, ControlPlace::Table(control))
}

/// The current thread ends; it runs nothing recordable after this.
pub fn on_thread_end<'a>(recorder: &Recorder, vm: &impl Jvm<'a>, id: ThreadId) {
    if let Some(thread) = recorder.thread(id) {
        match recorder.is_on() {
            true => recorder.end_thread(thread, vm.current_thread_facts().as_ref()),
            false => recorder.leave_thread(&thread),
        }
    }
}

/// A hidden class is about to become usable. It cannot be rewritten, but it can be named.
pub fn on_hidden_class(recorder: &Recorder, loader: &Loader, name: &str) {
    let methods = recorder.methods();
    if methods.filter().may_select(name, &[], loader.kind) {
        // The number after the name differs from run to run.
        let (class, _) = name.split_once('/').unwrap_or((name, ""));
        methods.leave_out("hidden-class", key(class, "*", ""));
    }
}

/// Passes classes that are already loaded through the class file hook: all that any filter of the recording selects. Returns
/// how many they are.
pub fn rewrite_loaded<'a>(recorder: &Recorder, vm: &impl Jvm<'a>) -> usize {
    let methods = recorder.methods();
    let selected =
        |name: &str, types: &[String], loader| may_have_probes(methods, name, types, loader);
    let classes = vm.loaded_classes(selected);
    log::debug!("{} loaded classes are rewritten", classes.len());
    for refused in retransform(vm, &classes) {
        methods.leave_out("class-refused", key(&vm.name_of(refused), "*", ""));
    }
    classes.len()
}

/// Restores the code of classes that have probes. Recording is over.
pub fn restore_loaded<'a>(recorder: &Recorder, vm: &impl Jvm<'a>) {
    let methods = recorder.methods();
    let selected =
        |name: &str, types: &[String], loader| methods.may_have_selected(name, types, loader);
    retransform(vm, &vm.loaded_classes(selected));
}

/// This many classes are changed at a time: the JVM stops all threads meanwhile.
const BATCH: usize = 256;

/// Retransforms classes and returns those that the JVM refuses.
fn retransform<'a, J: Jvm<'a>>(vm: &J, classes: &[J::Class]) -> Vec<J::Class> {
    let change = |batch: &[J::Class]| vm.retransform(batch).is_ok();
    classes.chunks(BATCH).flat_map(|batch| refused_of(batch, &change)).collect()
}

/// Changes a batch of classes, and returns those that are refused. `change` changes all classes or none. Each successful change
/// makes the JVM visit all loaded classes and all compiled code, so a batch is not changed one by one because of one class.
fn refused_of<C: Copy>(batch: &[C], change: &impl Fn(&[C]) -> bool) -> Vec<C> {
    if change(batch) {
        return Vec::new();
    }
    match batch.split_at(batch.len() / 2) {
        ([], refused) => refused.to_vec(),
        (first, second) => [refused_of(first, change), refused_of(second, change)].concat(),
    }
}

/// Records which frames of live threads run code of their methods without probes, though the filter in force selects them:
/// their exits will not be seen.
pub fn note_open_frames<'a>(recorder: &Recorder, vm: &impl Jvm<'a>) {
    let methods = recorder.methods();
    if !methods.filter().line_recording.has_calls() {
        return;
    }
    let filter = methods.filter_changes();
    let (when, earlier) = match filter.checked_sub(1) {
        None => (OpenAt::Start, None),
        // What this one selected has probes in any code.
        earlier => (OpenAt::Change, earlier),
    };
    let is_open = |facts: &&MethodFacts| {
        methods.is_selected_by(filter, facts)
            && !earlier.is_some_and(|earlier| methods.is_selected_by(earlier, facts))
    };
    for (thread, frames) in vm.replaced_frames() {
        let keys = frames.iter().filter(is_open);
        let keys =
            keys.map(|MethodFacts { info, .. }| key(&info.class, &info.name, &info.descriptor));
        recorder.note_open_frames(thread, when, keys.collect());
    }
}

/// Parts of a recording that a filter may leave out.
#[derive(Clone, Copy, Default)]
struct MethodKind<'a> {
    annotations: &'a [String],
    native: bool,
    synthetic: bool,
    accessor: bool,
}

/// One class while it is being rewritten.
struct Rewriting<'a> {
    methods: &'a MethodTable,
    filter: &'a FilterSpec,
    loader: &'a Loader,
    class: &'a ClassFile<'a>,
    name: &'a str,
    /// Supertypes that the filter is about.
    types: &'a [String],
    probes: Probes,
}

impl Rewriting<'_> {
    fn run(&self) -> Result<Option<Vec<u8>>, SinkError> {
        let planned: Vec<_> = self
            .class
            .methods()
            .enumerate()
            .filter_map(|(index, method)| Some((index, self.plan(index, &method)?, method)))
            .collect();
        if planned.is_empty() {
            return Ok(None);
        }
        let source = self.class.source_file();
        let map = self.class.source_map();
        let proxied = self.class.proxied();
        let infos = planned.iter().map(|(index, plan, method)| {
            let mut info = MethodInfo {
                lines: plan.lines(),
                parameters: plan.values.as_ref().map_or_else(Vec::new, Values::names),
                code: plan.steps.as_ref().map(|steps| Box::new(steps.code.clone())),
                interface: proxied.get(index).map(|name| name.as_str().into()),
                ..self.info(method, source.as_deref())
            };
            if let Some(map) = &map {
                map.locate(&self.class.line_numbers(*index), &mut info);
            }
            info
        });
        let assigned = self.methods.assign_all(infos.collect())?;
        let mut chosen = Vec::with_capacity(planned.len());
        for ((index, plan, described), Assigned { id: method, version }) in
            planned.into_iter().zip(assigned)
        {
            let plan = match version {
                Some(0) => Some(plan),
                version => self.plan_version(index, &described, version),
            };
            let Some(plan) = plan else { continue };
            let (plan, first_place) = match self.first_place(method, version, &plan) {
                Some(first) => (plan, first),
                None => match self.plan_without_lines(index, &described, version) {
                    Some(plan) => (plan, 0),
                    None => continue,
                },
            };
            let callees = plan.calls.iter().map(|call| self.callee(call));
            let callees = callees.collect::<Result<_, _>>()?;
            let fields = plan.fields.iter().map(|FieldName { class, name, .. }| {
                self.methods.assign_field(class.clone(), name)
            });
            let fields = fields.collect::<Result<_, _>>()?;
            chosen.push((index, plan, Ids { method, callees, fields, first_place }));
        }
        let (bytes, refused) = rewrite::rewrite(self.class, chosen, self.probes);
        for (index, why) in refused {
            if let Some(method) = self.class.methods().nth(index) {
                self.leave_out(why.name(), &method);
            }
        }
        Ok(bytes)
    }

    /// Returns the number of the first place of a method whose lines are recorded once; `None` if there are too many places.
    fn first_place(&self, method: MethodId, version: Option<u16>, plan: &Plan<'_>) -> Option<u32> {
        let places = plan.places();
        if places.is_empty() {
            return Some(0);
        }
        let has_no_calls = plan.detail().lines == LineProbes::Alone;
        self.methods.reached().assign(method, version.unwrap_or(0), has_no_calls, places)
    }

    /// Plans what is inserted into a method, if it is selected and can be rewritten.
    fn plan(&self, index: usize, method: &Method<'_>) -> Option<Plan<'_>> {
        let native = method.access & NATIVE != 0;
        let name = Name::new(self.name, &method.name, &method.descriptor);
        let annotations = match self.filter.needs_annotations() {
            true => self.class.annotations(index),
            false => Vec::new(),
        };
        let kind = MethodKind {
            annotations: &annotations,
            native,
            synthetic: !self.filter.synthetic && self.class.is_synthetic(index),
            accessor: self.filter.skips_accessors && self.class.is_accessor(index),
        };
        match self.verdict(name, kind, self.loader.kind) {
            Verdict::Exclude => return None,
            Verdict::NotRecorded(reason) => {
                self.leave_out(reason.name(), method);
                return None;
            }
            // The filter selects it, but only the other engine could record it.
            Verdict::Record if native => {
                self.leave_out(Reason::Native.name(), method);
                return None;
            }
            Verdict::Record => {}
        }
        if !method.has_code {
            return None;
        }
        if method.annotated && self.loader.kind == LoaderKind::Jdk {
            self.leave_out(Reason::Protected.name(), method);
            return None;
        }
        let detail = self.detail(name);
        if !self.filter.line_recording.has_calls() && detail.lines == LineProbes::None {
            return None;
        }
        let plan = self.plan_with(index, name, detail);
        let plan = plan.map_err(|why| self.leave_out(why.name(), method)).ok()?;
        if plan.detail().lines != detail.lines {
            self.leave_out(Skip::WithoutLines.name(), method);
        }
        if !self.filter.line_recording.has_calls() && plan.detail().lines == LineProbes::None {
            return None;
        }
        if plan.detail().instructions != detail.instructions {
            self.leave_out(Skip::WithoutInstructions.name(), method);
        }
        if plan.has_other_handlers {
            self.leave_out(Skip::WithoutExceptions.name(), method);
        }
        Some(plan)
    }

    /// Returns what the filter records of a method.
    fn detail(&self, name: Name<'_>) -> Detail {
        let filter = self.filter;
        Detail {
            lines: match filter.line_recording {
                _ if !filter.has_lines_of(name) => LineProbes::None,
                LineRecording::Each => LineProbes::Each,
                LineRecording::Once => LineProbes::Once,
                LineRecording::Alone => LineProbes::Alone,
            },
            values: filter.has_values_of(name, self.types, self.loader.kind),
            instructions: filter.has_instructions_of(name),
            accesses: !filter.fields.is_empty(),
            exceptions: filter.has_exceptions_of(name),
            version: 0,
        }
    }

    fn plan_with(&self, index: usize, name: Name<'_>, detail: Detail) -> Result<Plan<'_>, Skip> {
        let choose = |accessed: &Accessed| self.choose(accessed, name);
        let mut plan = self.class.plan_with(index, detail, &choose)?;
        if let Some(steps) = &mut plan.steps {
            self.redact_constants(steps, name);
        }
        if let Some(values) = &mut plan.values {
            self.redact(values, name);
        }
        plan.redacts_handled = detail.exceptions && self.filter.redacts_all_of(name);
        Ok(plan)
    }

    /// Plans a version of a method other than the first one: its calls are marked with the version. If there are too many
    /// versions, only calls, accesses and exceptions are recorded of this one.
    fn plan_version(
        &self,
        index: usize,
        method: &Method<'_>,
        version: Option<u16>,
    ) -> Option<Plan<'_>> {
        let name = Name::new(self.name, &method.name, &method.descriptor);
        let wanted = self.detail(name);
        let detail = match version {
            Some(version) => Detail { version, ..wanted },
            None => Detail {
                accesses: wanted.accesses,
                exceptions: wanted.exceptions,
                ..Detail::default()
            },
        };
        let left_out = [
            (wanted.lines != LineProbes::None, Skip::WithoutLines),
            (wanted.values, Skip::WithoutValues),
            (wanted.instructions, Skip::WithoutInstructions),
        ];
        for (_, why) in left_out.into_iter().filter(|(wanted, _)| *wanted && version.is_none()) {
            self.leave_out(why.name(), method);
        }
        if version.is_none() && !self.filter.line_recording.has_calls() {
            return None;
        }
        let plan = self.plan_with(index, name, detail);
        plan.map_err(|why| self.leave_out(why.name(), method)).ok()
    }

    /// Plans a method for whose lines there are no places left. `None` if only lines are recorded.
    fn plan_without_lines(
        &self,
        index: usize,
        method: &Method<'_>,
        version: Option<u16>,
    ) -> Option<Plan<'_>> {
        self.leave_out(Skip::WithoutLines.name(), method);
        if !self.filter.line_recording.has_calls() {
            return None;
        }
        let name = Name::new(self.name, &method.name, &method.descriptor);
        let (lines, version) = (LineProbes::None, version.unwrap_or_default());
        let plan = self.plan_with(index, name, Detail { lines, version, ..self.detail(name) });
        plan.map_err(|why| self.leave_out(why.name(), method)).ok()
    }

    /// Chooses what is recorded of an access in a method.
    fn choose(&self, accessed: &Accessed, method: Name<'_>) -> Choice {
        let filter = self.filter;
        let is_recorded = match accessed {
            Accessed::Field(FieldName { class, name, .. }) => {
                filter.has_field(Name::new(class, name, ""))
            }
            Accessed::Element => filter.has_elements_of(method),
        };
        if !is_recorded {
            return Choice::Nothing;
        }
        // Every filter checks the method, so that each pattern that matches is recorded as matched.
        let is_redacted = match accessed {
            Accessed::Field(FieldName { class, name, of }) => {
                filter.redacts(class)
                    | filter.redacts_all_of(Name::new(class, name, ""))
                    | filter.redacts_parameter(Some(name), of)
            }
            // They have no names.
            Accessed::Element => filter.redacts_parameter(None, ""),
        };
        match is_redacted | filter.redacts_all_of(method) {
            true => Choice::Redacted,
            false => Choice::All,
        }
    }

    /// Notes which values are left out.
    fn redact(&self, values: &mut Values, method: Name<'_>) {
        let filter = self.filter;
        let all = filter.redacts_all_of(method);
        values.redacts_messages = all;
        let roles = filter.roles_of(method, self.types, self.loader.kind);
        for (number, Parameter { name, typed, .. }) in (0..=u8::MAX).zip(&mut values.parameters) {
            // The text of a statement is no password, whatever a class without names of parameters calls it.
            let is_text = roles.iter().any(|role| role.is_text(ValueSource::Argument(number)));
            let name = name.as_deref().or(is_text.then_some(TEXT_OF_OPERATION));
            typed.is_redacted = filter.redacts_parameter(name, &typed.class) | all;
        }
        if let Some(result) = &mut values.result {
            result.is_redacted = filter.redacts(&result.class) | all;
        }
        let is_named = filter.names_values_of(method);
        let is_joined = !roles.is_empty() && roles.iter().all(MethodRole::joins_threads);
        // Hand-overs are many. What `redact=` leaves out depends on the class of each object, which only the agent judges.
        let may_identify = filter.redact.is_empty() && !is_named;
        values.limit(|value| {
            let mut needed = roles.iter().filter(|role| role.needs(value)).peekable();
            match needed.peek().map(|role| role.role()) {
                Some(PresetRole::Start) => Extent::Thread,
                None if is_joined && !is_named => Extent::Nothing,
                Some(_) if may_identify && needed.all(|role| role.needs_identity(value)) => {
                    Extent::Identity
                }
                _ => Extent::All,
            }
        });
    }

    /// Leaves out constants whose values are left out.
    fn redact_constants(&self, steps: &mut Steps, method: Name<'_>) {
        const TEXT: &str = "String";
        if !(self.filter.redacts_all_of(method) | self.filter.redacts("java.lang.String")) {
            return;
        }
        for instruction in &mut steps.code.instructions {
            if let [text, kind] = &mut instruction.operands[..]
                && kind == TEXT
            {
                text.clear();
                "redacted".clone_into(kind);
            }
        }
    }

    /// Returns the id of a constructor that another one calls, if it is recorded. Found by name, because its
    /// class may not be loaded yet.
    fn callee(&self, call: &ConstructorCall) -> Result<Option<MethodId>, SinkError> {
        let is_jdk = |prefix: &str| call.class.starts_with(prefix);
        let loader = match self.loader.kind {
            LoaderKind::Application
                if ["java.", "javax.", "jdk.", "sun."].into_iter().any(is_jdk) =>
            {
                LoaderKind::Jdk
            }
            kind => kind,
        };
        let name = Name::new(&call.class, "<init>", &call.descriptor);
        match self.verdict(name, MethodKind::default(), loader) {
            Verdict::Record => {
                self.methods.reserve(&key(&call.class, "<init>", &call.descriptor)).map(Some)
            }
            Verdict::Exclude | Verdict::NotRecorded(_) => Ok(None),
        }
    }

    fn verdict(&self, name: Name<'_>, kind: MethodKind<'_>, loader: LoaderKind) -> Verdict {
        let Name { class, name: method, descriptor, .. } = name;
        let MethodKind { annotations, native, synthetic, accessor } = kind;
        let hidden = false;
        let types = self.types_of(class);
        let candidate = Candidate {
            class,
            method,
            descriptor,
            types,
            annotations,
            native,
            synthetic,
            accessor,
            hidden,
            loader,
        };
        match self.filter.verdict(candidate) {
            Verdict::Record
                if loader == LoaderKind::Jdk
                    && skip_list::is_skipped_method(class, method, || {
                        self.filter.presets.select(name, types, loader)
                    }) =>
            {
                Verdict::NotRecorded(Reason::Protected)
            }
            verdict => verdict,
        }
    }

    /// The supertypes of a class that the filter is about: only those of this class are known.
    fn types_of(&self, class: &str) -> &[String] {
        if class == self.name { self.types } else { &[] }
    }

    fn info(&self, method: &Method<'_>, source: Option<&str>) -> MethodInfo {
        let name = Name::new(self.name, &method.name, &method.descriptor);
        MethodInfo {
            class: self.name.to_owned(),
            name: method.name.to_string(),
            descriptor: method.descriptor.to_string(),
            source: source.map(str::to_owned),
            line: method.first_line,
            loader: self.loader.label.clone(),
            flags: flag_names(method.access.into()),
            roles: self.filter.roles_of(name, self.types, self.loader.kind),
            ..MethodInfo::default()
        }
    }

    fn leave_out(&self, reason: &'static str, method: &Method<'_>) {
        self.methods.leave_out(reason, key(self.name, &method.name, &method.descriptor));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn one_class_that_is_refused_does_not_split_a_batch_into_single_classes() {
        let changed = RefCell::new(Vec::new());
        let change = |batch: &[usize]| {
            let may = !batch.contains(&100);
            if may {
                changed.borrow_mut().push(batch.to_vec());
            }
            may
        };
        let batch: Vec<_> = (0..BATCH).collect();
        assert_eq!(refused_of(&batch, &change), [100]);
        let changed = changed.into_inner();
        assert_eq!(changed.len(), 8, "one of each size, from the half on: {changed:?}");
        let all: Vec<_> = batch.iter().copied().filter(|class| *class != 100).collect();
        assert_eq!(changed.concat(), all);
    }

    #[test]
    fn classes_that_are_all_refused_are_all_named() {
        assert_eq!(refused_of(&[1, 2, 3], &|_| false), [1, 2, 3]);
        assert!(refused_of::<u8>(&[], &|_| false).is_empty());
    }
}
