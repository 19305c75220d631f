//! What libraries did for the program, by the rules of a preset: SQL statements, HTTP requests, log messages.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::rc::Rc;

use flow_codec::format::roles::{MethodRole, PresetRole, TextSource};
use flow_codec::format::values::{CallValue, Identity, ObjectContent, Role, Value};
use flow_codec::read::{
    CallTimes, EventKind, Methods, Stamp, TimelineEvent, Trace, Unwound, VisitTimeline,
};
use flow_codec::{Glob, MethodId, MethodMap, ThreadId};

use crate::Error;
use crate::text::ValueTexts;

/// An operation of a preset: a statement, a request or a message.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Operation {
    /// The thread.
    pub thread: ThreadId,
    /// How many calls of the thread began before it.
    pub number: u64,
    /// The method of the library that was called.
    pub method: MethodId,
    /// When it began, and how long it lasted.
    pub times: CallTimes,
    /// Whether it had not ended when the trace did.
    pub is_open: bool,
    /// The class of the exception that ended it; `?` if the class is unknown.
    pub thrown: Option<Rc<str>>,
    /// The text, if it was recorded.
    pub text: Option<Rc<str>>,
    /// Whether only the beginning of the text was recorded.
    pub is_cut: bool,
    /// The parameters, in order.
    pub parameters: Vec<Parameter>,
    /// The nearest caller of the program's own code.
    pub caller: Option<MethodId>,
    /// The outermost caller of the program's own code.
    pub request: Option<MethodId>,
    /// The first method of the program's own code that it called, if it has no such caller: what served a request.
    pub served_by: Option<MethodId>,
}

/// A parameter of an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// The name or number.
    pub name: String,
    /// The value, as Java would write it.
    pub value: String,
}

/// The most parameters of an operation that are kept.
const MAX_PARAMETERS: usize = 100;
/// More objects with a text than twice as many are not remembered: the program has most likely done with the first of them.
const MANY_OBJECTS: usize = 1 << 18;

/// More operations do not wait for the text of their object.
const MANY_WAITING: usize = 1 << 16;

/// Finds the operations of a preset in the timelines of threads, which are read [with
/// values](flow_codec::read::Timeline::with_values). An operation inside another one is a part of it: libraries wrap each other.
/// Memory: a few words for each open frame, and what is known about the last objects that were made with a text.
#[derive(Debug)]
pub(crate) struct FindOperations<'a, F> {
    methods: &'a Methods,
    roles: HashMap<MethodId, MethodRole>,
    own: Own,
    thread: ThreadId,
    open: Vec<MethodId>,
    /// Open calls of the preset, the innermost last.
    calls: Vec<PresetCall>,
    objects: Objects,
    /// Operations on an object of which no text is known yet: it may have been made in a thread that is read later.
    waiting: Vec<(Key, Operation)>,
    each: F,
}

/// Which methods are the program's own.
#[derive(Debug)]
pub(super) struct Own {
    /// None if that is not known.
    globs: Vec<Glob>,
    known: MethodMap<Option<bool>>,
}

/// A call of a method that has a role.
#[derive(Debug)]
struct PresetCall {
    method: MethodId,
    /// How many frames are open, its own included.
    frames: usize,
    /// Whether it is an operation, and none is around it.
    is_operation: bool,
    begun: Stamp,
    /// The first method of the program's own code that was called in it.
    inner: Option<MethodId>,
    values: Vec<CallValue>,
    /// Parts of the text that calls inside it have, by the names of their methods.
    parts: Vec<(Rc<str>, Piece)>,
}

/// A part of a text.
#[derive(Clone, Debug)]
struct Piece {
    text: String,
    is_cut: bool,
    /// The object that has it.
    object: Option<Key>,
}

/// An object.
pub(super) type Key = (Option<MethodId>, u32);

/// What is known about an object.
#[derive(Clone, Default, Debug)]
struct Known {
    text: Option<Rc<str>>,
    is_cut: bool,
    parameters: Vec<Parameter>,
}

/// The objects that were made last, and those before them.
#[derive(Default, Debug)]
struct Objects {
    last: HashMap<Key, Known>,
    before: HashMap<Key, Known>,
}

impl Objects {
    fn get(&self, key: Key) -> Option<&Known> {
        self.last.get(&key).or_else(|| self.before.get(&key))
    }

    fn change(&mut self, key: Key) -> &mut Known {
        if self.last.len() >= MANY_OBJECTS {
            self.before = std::mem::take(&mut self.last);
        }
        let before = &mut self.before;
        self.last.entry(key).or_insert_with(|| before.remove(&key).unwrap_or_default())
    }
}

impl Own {
    pub(super) fn new(patterns: &[String]) -> Self {
        let globs = patterns.iter().map(|pattern| Glob::new(pattern)).collect();
        Self { globs, known: MethodMap::default() }
    }

    pub(super) fn has(&mut self, method: MethodId, methods: &Methods, is_preset: bool) -> bool {
        let Self { globs, known } = self;
        *known.or_default(method).get_or_insert_with(|| {
            methods.get(method).is_some_and(|method| {
                let info = method.info();
                match globs.is_empty() {
                    true => !is_preset,
                    false => globs.iter().any(|glob| glob.matches(&info.class, &info.name)),
                }
            })
        })
    }
}

/// Returns the roles that methods of a trace have for a preset.
#[must_use]
pub(crate) fn roles_in(trace: &Trace, preset: &str) -> HashMap<MethodId, MethodRole> {
    let mut found = HashMap::new();
    for (id, method) in trace.methods().iter() {
        let roles = method.versions().flat_map(|info| &info.roles);
        if let Some(role) = roles.filter(|role| role.preset() == preset).last() {
            found.insert(id, role.clone());
        }
    }
    found
}

/// Returns the roles that methods of a trace have for a preset, without which there is no answer. There are none if the preset was recorded, but
/// no class with such a method was loaded.
///
/// # Errors
/// The trace was not recorded with the preset.
pub(crate) fn recorded_roles(
    trace: &Trace,
    preset: &str,
    what: &'static str,
    flag: &'static str,
) -> Result<HashMap<MethodId, MethodRole>, Error> {
    let roles = roles_in(trace, preset);
    let is_recorded = trace.manifest().is_some_and(|manifest| manifest.is_set("presets", preset));
    match roles.is_empty() && !is_recorded {
        true => Err(Error::NotRecorded { path: trace.dir().to_path_buf(), what, flag }),
        false => Ok(roles),
    }
}

impl<'a, F: FnMut(Operation)> FindOperations<'a, F> {
    /// Passes the operations of a trace to `each`. `roles` are those of the preset; `own` are patterns for the program's own
    /// classes.
    pub(crate) fn new(
        methods: &'a Methods,
        roles: HashMap<MethodId, MethodRole>,
        own: &[String],
        each: F,
    ) -> Self {
        Self {
            methods,
            roles,
            own: Own::new(own),
            thread: ThreadId::new(0),
            open: Vec::new(),
            calls: Vec::new(),
            objects: Objects::default(),
            waiting: Vec::new(),
            each,
        }
    }

    /// Begins a thread.
    pub(crate) fn begin_thread(&mut self, thread: ThreadId) {
        self.thread = thread;
    }

    /// Ends a thread, with the calls that are open at its end.
    pub(crate) fn end_thread(&mut self, now: Stamp) {
        self.leave(0, now, None, true);
    }

    /// Ends the trace: passes the operations on objects that were made in another thread.
    pub(crate) fn end(&mut self) {
        for (key, mut operation) in std::mem::take(&mut self.waiting) {
            if let Some(known) = self.objects.get(key) {
                (operation.text, operation.is_cut) = (known.text.clone(), known.is_cut);
            }
            (self.each)(operation);
        }
    }

    /// Returns whether calls of a method are operations that no other one is around.
    fn is_run(&self, method: MethodId) -> bool {
        self.roles.get(&method).is_some_and(|role| role.role() == PresetRole::Run)
    }

    /// Forgets calls of which the rest is missing.
    fn interrupt(&mut self) {
        self.open.clear();
        self.calls.clear();
    }

    fn leave(&mut self, frames: usize, at: Stamp, unwound: Option<&Unwound>, is_open: bool) {
        while self.calls.last().is_some_and(|call| call.frames > frames) {
            let Some(call) = self.calls.pop() else { break };
            self.finish(call, at, unwound, is_open);
        }
        self.open.truncate(frames);
    }

    fn finish(&mut self, call: PresetCall, at: Stamp, unwound: Option<&Unwound>, is_open: bool) {
        let Some(role) = self.roles.get(&call.method).cloned() else { return };
        match role.role() {
            PresetRole::Run if call.is_operation && lacks_fields(&role, &call.values) => {}
            PresetRole::Run | PresetRole::Send if call.is_operation => {
                self.operation(&role, call, at, unwound, is_open)
            }
            PresetRole::Made => {
                let made = call.values.iter().find(|value| value.role == Role::Result);
                let Some(made) = made.and_then(|made| key_of(&made.value)) else { return };
                let piece = self.text(&role, &call);
                let known = self.objects.change(made);
                *known = Known::default();
                if let Some(piece) = piece {
                    (known.text, known.is_cut) = (Some(piece.text.into()), piece.is_cut);
                }
            }
            PresetRole::Set => {
                let this = call.values.iter().find(|value| value.role == Role::This);
                let Some(this) = this.and_then(|this| key_of(&this.value)) else { return };
                let parameter = match call.values.iter().any(|value| value.value == Value::Redacted)
                {
                    // Which one it is is left out, too. That there are some is not.
                    true => Parameter { name: "?".to_owned(), value: "(redacted)".to_owned() },
                    false => {
                        let name = self.text(&role, &call).map(|piece| piece.text);
                        let value = self.parameters(&role, &call).into_iter().next();
                        let Some(Parameter { value, .. }) = value else { return };
                        Parameter { name: name.unwrap_or_default(), value }
                    }
                };
                let parameters = &mut self.objects.change(this).parameters;
                match parameters.iter().position(|known| known.name == parameter.name) {
                    Some(number) => parameters[number] = parameter,
                    None if parameters.len() < MAX_PARAMETERS => {
                        parameters.push(parameter);
                    }
                    None => {}
                }
            }
            PresetRole::Part => {
                let Some(piece) = self.text(&role, &call) else { return };
                let name = self.methods.get(call.method).map(|method| &*method.info().name);
                let name: Rc<str> = name.unwrap_or_default().into();
                let around = self.calls.iter_mut().rev().find(|around| around.is_operation);
                if let Some(around) = around
                    && around.parts.iter().all(|(known, _)| *known != name)
                {
                    around.parts.push((name, piece));
                }
            }
            _ => {}
        }
    }

    fn operation(
        &mut self,
        role: &MethodRole,
        mut call: PresetCall,
        at: Stamp,
        unwound: Option<&Unwound>,
        is_open: bool,
    ) {
        let mut pieces: Vec<_> =
            role.text().iter().filter_map(|source| self.piece(source, &call)).collect();
        call.parts.sort_by(|(one, _), (other, _)| one.cmp(other));
        pieces.extend(call.parts.iter().map(|(_, piece)| piece.clone()));
        let object = pieces.iter().find_map(|piece| piece.object);
        let mut parameters = object
            .and_then(|key| self.objects.get(key))
            .map_or_else(Vec::new, |known| known.parameters.clone());
        parameters.sort_by_key(|parameter| parameter.name.parse::<u32>().unwrap_or(u32::MAX));
        parameters.extend(self.parameters(role, &call));
        let is_cut = pieces.iter().any(|piece| piece.is_cut);
        let texts: Vec<_> = pieces.into_iter().map(|piece| piece.text).collect();
        let text = (!texts.is_empty()).then(|| texts.join(" ").into());
        let mut callers = self.open.get(..call.frames - 1).unwrap_or_default().iter().copied();
        let (own, roles, methods) = (&mut self.own, &self.roles, self.methods);
        let mut is_own = |method: &MethodId| own.has(*method, methods, roles.contains_key(method));
        let request = callers.clone().find(&mut is_own);
        let caller = callers.rfind(&mut is_own);
        let begun = call.begun.time;
        let duration_ns = at.time.estimate_ns.zip(begun.estimate_ns);
        let times = CallTimes {
            start: begun,
            duration: begun.bounds.until(at.time.bounds),
            duration_ns: duration_ns.map_or(0, |(end, start)| end.saturating_sub(start)),
            unwound: unwound.cloned(),
        };
        let class = |unwound: &Unwound| unwound.class.as_deref().unwrap_or("?").into();
        let operation = Operation {
            thread: self.thread,
            number: call.begun.calls,
            method: call.method,
            times,
            is_open,
            thrown: unwound.map(class),
            text,
            is_cut,
            parameters,
            caller,
            request,
            served_by: call.inner.filter(|_| caller.is_none()),
        };
        let unknown =
            || role.text().iter().find_map(|source| key_of(value_of(source, &call.values)?));
        match operation.text.is_none().then(unknown).flatten() {
            Some(key) if self.waiting.len() < MANY_WAITING => self.waiting.push((key, operation)),
            _ => (self.each)(operation),
        }
    }

    /// The text that the sources of a role have in a call.
    fn text(&self, role: &MethodRole, call: &PresetCall) -> Option<Piece> {
        let mut pieces = role.text().iter().filter_map(|source| self.piece(source, call));
        let mut whole = pieces.next()?;
        for piece in pieces {
            whole.text = whole.text + " " + &piece.text;
            whole.is_cut |= piece.is_cut;
        }
        Some(whole)
    }

    fn piece(&self, source: &TextSource, call: &PresetCall) -> Option<Piece> {
        let plain = |text: String| Some(Piece { text, is_cut: false, object: None });
        let value = match source {
            TextSource::Literal(text) => return plain(text.clone()),
            TextSource::Value(..) => value_of(source, &call.values)?,
        };
        match value {
            Value::Text { units, beginning } => {
                let is_cut = (beginning.encode_utf16().count() as u64) < *units;
                Some(Piece { text: beginning.clone(), is_cut, object: None })
            }
            Value::Content { content: ObjectContent::Text(text), .. } => plain(text.clone()),
            Value::Object(_) | Value::Content { .. } => {
                let key = key_of(value)?;
                match self.objects.get(key) {
                    Some(known) => {
                        let text = known.text.as_deref()?.to_owned();
                        Some(Piece { text, is_cut: known.is_cut, object: Some(key) })
                    }
                    // Which one it is says nothing, and would make all texts different.
                    None => None,
                }
            }
            value => plain(self.shown(value, call.method)),
        }
    }

    /// The parameters that a call has itself: of a list, each element is one.
    fn parameters(&self, role: &MethodRole, call: &PresetCall) -> Vec<Parameter> {
        let mut parameters = Vec::new();
        let mut add = |value: String| {
            if parameters.len() < MAX_PARAMETERS {
                let name = (parameters.len() + 1).to_string();
                parameters.push(Parameter { name, value });
            }
        };
        for source in role.parameters() {
            if let TextSource::Literal(text) = source {
                add(text.clone());
                continue;
            }
            match value_of(source, &call.values) {
                Some(Value::Content {
                    content: ObjectContent::Elements { elements, .. }, ..
                }) => elements.iter().for_each(|value| add(self.shown(value, call.method))),
                Some(Value::Null) if matches!(role.role(), PresetRole::Run | PresetRole::Send) => {}
                Some(value) => add(self.shown(value, call.method)),
                None => {}
            }
        }
        parameters
    }

    fn shown(&self, value: &Value, method: MethodId) -> String {
        ValueTexts::new(self.methods, Some(method)).text(value)
    }
}

/// Returns whether the text of a call consists of fields, none of which its objects have: then it is of another kind.
fn lacks_fields(role: &MethodRole, values: &[CallValue]) -> bool {
    let is_of_field = |source: &TextSource| match source {
        TextSource::Value(_, fields) => !fields.is_empty(),
        TextSource::Literal(_) => false,
    };
    let has_object = values.iter().any(|value| value.role != Role::Result);
    let text = role.text();
    has_object
        && !text.is_empty()
        && text.iter().all(|source| is_of_field(source) && value_of(source, values).is_none())
}

/// The value that a source names.
pub(super) fn value_of<'v>(source: &TextSource, values: &'v [CallValue]) -> Option<&'v Value> {
    let TextSource::Value(of, fields) = source else { return None };
    let value = &values.iter().find(|value| value.role == of.role())?.value;
    fields.iter().try_fold(value, |value, name| {
        let Value::Content { content: ObjectContent::Fields { fields, .. }, .. } = first_of(value)?
        else {
            return None;
        };
        fields.iter().find(|(field, _)| field == name).map(|(_, value)| value)
    })
}

/// The first element of a list, if it has one; what is no list is its own.
pub(super) fn first_of(value: &Value) -> Option<&Value> {
    match value {
        Value::Content { content: ObjectContent::Elements { elements, .. }, .. } => {
            elements.first()
        }
        value => Some(value),
    }
}

pub(super) fn key_of(value: &Value) -> Option<Key> {
    match value {
        Value::Object(Identity { class, hash })
        | Value::Content { object: Identity { class, hash }, .. } => Some((*class, *hash)),
        _ => None,
    }
}

impl<F: FnMut(Operation)> VisitTimeline for FindOperations<'_, F> {
    #[inline]
    fn enter(&mut self, method: MethodId, at: Stamp) -> bool {
        self.open.push(method);
        if let Some(role) = self.roles.get(&method) {
            let mut around = self.calls.iter().filter(|call| call.is_operation);
            let is_operation = match role.role() {
                PresetRole::Run => around.next().is_none(),
                // A request that is sent while another one is answered.
                PresetRole::Send => around.all(|call| self.is_run(call.method)),
                _ => false,
            };
            let (frames, values, parts) = (self.open.len(), Vec::new(), Vec::new());
            let (begun, inner) = (at, None);
            let call = PresetCall { method, frames, is_operation, begun, inner, values, parts };
            self.calls.push(call);
        } else if let Some(call) = self.calls.iter_mut().rev().find(|call| call.is_operation)
            && call.inner.is_none()
            && self.own.has(method, self.methods, false)
        {
            call.inner = Some(method);
        }
        true
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64, at: Stamp, unwound: Option<&Unwound>) -> bool {
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        self.leave(self.open.len().saturating_sub(count), at, unwound, false);
        true
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        match event.kind {
            EventKind::Values(values) => {
                let frames = self.open.len();
                if let Some(call) = self.calls.last_mut().filter(|call| call.frames == frames) {
                    call.values.extend(values.into_iter().filter(|value| !value.role.is_access()));
                }
            }
            EventKind::Pause | EventKind::Resume => self.interrupt(),
            _ => {}
        }
        true
    }
}
