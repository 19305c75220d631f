//! Contexts: what a thread works for at a time, such as an order, a user or a trace id, by the rules of a preset.
//!
//! ```text
//! calls that put and drop a value ─▶ for each key the spans of a thread in which it has a value
//! ```

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU64;
use std::ops::Range;
use std::rc::Rc;

use flow_codec::format::marks::Position;
use flow_codec::format::roles::{MethodRole, PresetRole, TextSource};
use flow_codec::format::values::{CallValue, ObjectContent, Role, Value};
use flow_codec::read::{EventKind, Methods, Stamp, TimelineEvent, Unwound, VisitTimeline, When};
use flow_codec::{MethodId, Offset, ThreadId};

use super::role_calls::{RoleCall, RoleCalls};
use crate::analysis::operations::{Key as Object, first_of, key_of, value_of};
use crate::text::ValueTexts;

/// The preset whose roles say what the context of a thread is.
pub(crate) const CONTEXT: &str = "context";

/// The last field of a source that is the name of a class.
const CLASS: &str = "class";
/// Literals that join their neighbours without a blank. The empty one joins two parts of a path, with one `/` instead of two.
const JOINS: [&str; 2] = [".", ""];

/// A part of a thread in which a key has a value.
#[derive(Clone, Debug)]
pub(crate) struct ContextSpan {
    /// The thread.
    pub(crate) thread: ThreadId,
    /// The key, such as `order`.
    pub(crate) key: Rc<str>,
    /// The value.
    pub(crate) value: Rc<str>,
    /// The events.
    pub(crate) range: Range<Position>,
    /// The numbers of the calls that began in it.
    pub(crate) calls: Range<u64>,
    /// When it began.
    pub(crate) begun: When,
    /// When it ended.
    pub(crate) ended: When,
    /// How many exceptions ended calls in it.
    pub(crate) thrown: u64,
}

/// Finds the contexts of threads in their timelines, which are read [with values](flow_codec::read::Timeline::with_values).
#[derive(Debug)]
pub(crate) struct FindContexts<'a> {
    methods: &'a Methods,
    roles: Rc<HashMap<MethodId, MethodRole>>,
    of_thread: ThreadContexts,
    made: MadeTexts,
    found: Vec<ContextSpan>,
}

/// The texts of objects that were made with one.
pub(crate) type MadeTexts = HashMap<Object, Rc<str>>;

/// What is known of a thread at one of its events.
#[derive(Debug)]
pub(crate) struct ThreadContexts {
    thread: ThreadId,
    /// The open calls, and whether the value of a [`While`](PresetRole::While) has begun.
    calls: RoleCalls<bool>,
    current: BTreeMap<Rc<str>, Current>,
    /// What was pushed, the last one last.
    pushed: Vec<Pushed>,
    /// The keys that have a value while a call is open, the innermost call last.
    during: Vec<During>,
    thrown: u64,
}

/// A key that has a value while a call is open.
#[derive(Debug)]
struct During {
    key: Rc<str>,
    /// How many frames are open with the call.
    frames: usize,
    since: Stamp,
    thrown: u64,
    /// The value of the key before.
    before: Option<(Rc<str>, MethodId)>,
    /// A part has given the key its value.
    has_part: bool,
}

/// A value that was pushed.
#[derive(Debug)]
struct Pushed {
    key: Rc<str>,
    /// The value of the key before.
    before: Option<(Rc<str>, MethodId)>,
    /// The object that was pushed, such as a context.
    object: Option<Object>,
    /// The object that ends it, if that is known.
    scope: Option<Object>,
}

/// The value of a key, since when it has it, and the method that set it.
#[derive(Clone, Debug)]
struct Current {
    value: Rc<str>,
    since: Stamp,
    thrown: u64,
    by: MethodId,
}

impl<'a> FindContexts<'a> {
    /// Begins with the roles of methods.
    pub(crate) fn new(methods: &'a Methods, roles: Rc<HashMap<MethodId, MethodRole>>) -> Self {
        Self {
            methods,
            roles,
            of_thread: ThreadContexts::of(ThreadId::new(0)),
            made: HashMap::new(),
            found: Vec::new(),
        }
    }

    /// Begins with texts of objects that are known.
    pub(crate) fn with_made(self, made: MadeTexts) -> Self {
        Self { made, ..self }
    }

    /// Begins a thread.
    pub(crate) fn begin_thread(&mut self, thread: ThreadId) {
        self.of_thread = ThreadContexts::of(thread);
    }

    /// Replaces what is known of a thread by what is known of another one, which is read from now on.
    pub(crate) fn change_thread(&mut self, to: ThreadContexts) -> ThreadContexts {
        std::mem::replace(&mut self.of_thread, to)
    }

    /// Ends a thread.
    pub(crate) fn end_thread(&mut self, now: Stamp) {
        self.leave(0, now);
        let end = Position { offset: Offset::new(u64::MAX), exits: u64::MAX };
        self.drop_those(Stamp { position: end, ..now }, |_, _| true);
    }

    /// Begins with the first thread again. The objects that were made are known now.
    pub(crate) fn begin_again(&mut self) {
        self.found.clear();
    }

    /// Returns what was found, and the texts of objects.
    pub(crate) fn end(self) -> (Vec<ContextSpan>, MadeTexts) {
        (self.found, self.made)
    }

    fn leave(&mut self, frames: usize, at: Stamp) {
        while let Some(call) = self.of_thread.calls.pop_above(frames) {
            self.finish(call, at);
        }
        self.of_thread.calls.set_open(frames);
    }

    /// Ends a call that has a role.
    fn finish(&mut self, call: RoleCall<bool>, at: Stamp) {
        let roles = Rc::clone(&self.roles);
        let Some(role) = roles.get(&call.method) else { return };
        let text = |sources: &[TextSource]| self.text(sources, &call.values, call.method);
        match role.role() {
            PresetRole::Put if role.parameters().is_empty() => self.put_entries(role, &call, at),
            PresetRole::Only => self.put_entries(role, &call, at),
            PresetRole::Put => {
                if let Some(key) = text(role.text()) {
                    let value = text(role.parameters());
                    self.set(key, value.map(|value| (value, call.method)), call.begun);
                }
            }
            PresetRole::Push => {
                let pushed = role.parameters().iter().find_map(|of| value_of(of, &call.values));
                let object = pushed.and_then(key_of);
                // Nothing, or what is there already: the library makes no scope that is closed later.
                let is_there = object.is_some()
                    && self.of_thread.pushed.last().is_some_and(|last| last.object == object);
                let Some(key) = text(role.text()) else { return };
                if is_there || pushed.is_none_or(|pushed| *pushed == Value::Null) {
                    return;
                }
                let before = self.of_thread.current.get(&key);
                let before = before.map(|current| (current.value.clone(), current.by));
                let (value, scope) = match role.parameters() {
                    [value, scope] => (std::slice::from_ref(value), value_of(scope, &call.values)),
                    value => (value, None),
                };
                let (value, scope) = (text(value), scope.and_then(key_of));
                self.of_thread.pushed.push(Pushed { key: key.clone(), before, object, scope });
                self.set(key, value.map(|value| (value, call.method)), call.begun);
            }
            PresetRole::Pop => {
                let scope = role.text().iter().find_map(|of| value_of(of, &call.values));
                let scope = scope.and_then(key_of);
                // A library ignores a scope that is closed twice, or not in its turn.
                let is_last = |last: &mut Pushed| {
                    last.scope.is_none() || scope.is_none() || last.scope == scope
                };
                if let Some(Pushed { key, before, .. }) = self.of_thread.pushed.pop_if(is_last) {
                    self.set(key, before, call.begun);
                }
            }
            PresetRole::While => self.end_during(&call, at),
            PresetRole::Part => {
                let value = text(role.parameters()).map(|value| (value, call.method));
                if let Some((key, value)) = text(role.text()).zip(value) {
                    self.set_part(&key, value);
                }
            }
            PresetRole::Drop if role.text().is_empty() => self.drop_of_class(call.method, at),
            PresetRole::Drop => {
                let elements = role.text().iter().find_map(|of| elements_of(of, &call.values));
                let keys: Vec<_> = match elements {
                    Some(keys) => {
                        keys.iter().filter_map(|key| self.text_of(key, call.method)).collect()
                    }
                    None => text(role.text()).into_iter().collect(),
                };
                keys.into_iter().for_each(|key| self.set(key, None, at));
            }
            PresetRole::Made => {
                let made = call.values.iter().find(|value| value.role == Role::Result);
                let made = made.and_then(|made| key_of(&made.value));
                if let Some((made, text)) = made.zip(text(role.text())) {
                    self.made.insert(made, text);
                }
            }
            _ => {}
        }
    }

    /// Gives a key its value while the topmost call is open, which has all its values now.
    fn begin_during(&mut self) {
        let open = self.of_thread.calls.open();
        let Some(call) = self.of_thread.calls.last_mut().filter(|call| call.frames == open) else {
            return;
        };
        let roles = Rc::clone(&self.roles);
        let role = roles.get(&call.method).filter(|role| role.role() == PresetRole::While);
        let (Some(role), false) = (role, std::mem::replace(&mut call.of, true)) else { return };
        let (method, frames, since) = (call.method, call.frames, call.begun);
        let values = std::mem::take(&mut call.values);
        let text = |sources| self.text(sources, &values, method);
        let (key, value) = (text(role.text()), text(role.parameters()));
        let value = value.map(|value| (value, method));
        let Some(key) = key else { return };
        if let Some(around) = self.of_thread.during.iter().find(|around| around.key == key) {
            if !self.of_thread.current.contains_key(&key) {
                let since = around.since;
                self.set(key, value, since);
            }
            return;
        }
        let before = self.of_thread.current.get(&key);
        let before = before.map(|current| (current.value.clone(), current.by));
        let thrown = self.of_thread.thrown;
        let during = During { key: key.clone(), frames, since, thrown, before, has_part: false };
        self.of_thread.during.push(during);
        self.set(key, value, since);
    }

    /// Gives a key that has a value while a call is open another one for the whole call, unless a part did so before.
    fn set_part(&mut self, key: &Rc<str>, (value, by): (Rc<str>, MethodId)) {
        let mut around = self.of_thread.during.iter_mut();
        let Some(during) = around.find(|during| during.key == *key && !during.has_part) else {
            return;
        };
        during.has_part = true;
        let (since, thrown) = (during.since, during.thrown);
        self.of_thread.current.insert(key.clone(), Current { value, since, thrown, by });
    }

    /// Ends the value that a key had while a call was open.
    fn end_during(&mut self, call: &RoleCall<bool>, at: Stamp) {
        let is_of_call = |during: &mut During| during.frames == call.frames;
        if let Some(During { key, before, .. }) = self.of_thread.during.pop_if(is_of_call) {
            let left = (self.of_thread.calls.open() + 1).saturating_sub(call.frames) as u64;
            let position = Position { exits: at.position.exits + left, ..at.position };
            self.set(key, before, Stamp { position, ..at });
        }
    }

    /// Gives the keys of a map their values; of a role that sets all keys, others lose theirs.
    fn put_entries(&mut self, role: &MethodRole, call: &RoleCall<bool>, at: Stamp) {
        let map = role.text().iter().find_map(|of| value_of(of, &call.values));
        let entries = match map {
            Some(Value::Content { content: ObjectContent::Entries { entries, .. }, .. }) => {
                entries.as_slice()
            }
            _ => &[],
        };
        let text = |value| self.text_of(value, call.method);
        let entries = entries.iter().filter_map(|(key, value)| Some((text(key)?, text(value))));
        let entries: BTreeMap<_, _> = entries.collect();
        if role.role() == PresetRole::Only {
            // A map may have more entries than were recorded: what other keys have is not known then.
            let methods = self.methods;
            let class = class_in(methods, call.method);
            self.drop_those(at, |key, current| {
                class_in(methods, current.by) == class && !entries.contains_key(key)
            });
        }
        for (key, value) in entries {
            self.set(key, value.map(|value| (value, call.method)), call.begun);
        }
    }

    /// Gives a key a value that a method sets, or none.
    fn set(&mut self, key: Rc<str>, value: Option<(Rc<str>, MethodId)>, since: Stamp) {
        let new = value.as_ref().map(|(value, _)| value);
        if self.of_thread.current.get(&key).map(|current| &current.value) == new {
            return;
        }
        if let Some(before) = self.of_thread.current.remove(&key) {
            self.end_span(key.clone(), before, since);
        }
        if let Some((value, by)) = value {
            self.of_thread
                .current
                .insert(key, Current { value, since, thrown: self.of_thread.thrown, by });
        }
    }

    /// Ends the values that methods of the class of this one have set.
    fn drop_of_class(&mut self, method: MethodId, at: Stamp) {
        let methods = self.methods;
        let dropped = class_in(methods, method);
        self.drop_those(at, |_, current| class_in(methods, current.by) == dropped);
    }

    fn drop_those(&mut self, at: Stamp, is_dropped: impl Fn(&str, &Current) -> bool) {
        for (key, current) in std::mem::take(&mut self.of_thread.current) {
            match is_dropped(&key, &current) {
                true => self.end_span(key, current, at),
                false => drop(self.of_thread.current.insert(key, current)),
            }
        }
    }

    fn end_span(&mut self, key: Rc<str>, current: Current, at: Stamp) {
        let Current { value, since, thrown, .. } = current;
        self.found.push(ContextSpan {
            thread: self.of_thread.thread,
            key,
            value,
            range: since.position..at.position,
            calls: since.calls..at.calls,
            begun: since.time,
            ended: at.time,
            thrown: self.of_thread.thrown - thrown,
        });
    }

    /// The text that sources have in a call of a method; none if none of them has one.
    fn text(
        &self,
        sources: &[TextSource],
        values: &[CallValue],
        method: MethodId,
    ) -> Option<Rc<str>> {
        let (mut text, mut joins, mut has_text) = (String::new(), None, false);
        let mut has_value = sources.iter().all(|of| matches!(of, TextSource::Literal(_)));
        for source in sources {
            let part = match source {
                TextSource::Literal(join) if JOINS.contains(&join.as_str()) => {
                    joins = has_text.then_some(join.as_str());
                    continue;
                }
                TextSource::Literal(part) => Some(part.as_str().into()),
                TextSource::Value(..) => self.text_of_source(source, values, method),
            };
            has_text = part.is_some();
            let Some(part) = part else { continue };
            has_value |= matches!(source, TextSource::Value(..));
            let has_slash = joins == Some("") && (text.ends_with('/') || &*part == "/");
            match joins.take() {
                Some(join) => text.push_str(join),
                None if text.is_empty() => {}
                None => text.push(' '),
            }
            text.push_str(part.strip_prefix('/').filter(|_| has_slash).unwrap_or(&part));
        }
        (has_value && !text.is_empty()).then(|| text.into())
    }

    /// The text that a value of a call has, or one in it.
    fn text_of_source(
        &self,
        source: &TextSource,
        values: &[CallValue],
        method: MethodId,
    ) -> Option<Rc<str>> {
        if let TextSource::Value(of, fields) = source
            && let Some((CLASS, fields)) = fields.split_last().map(|(last, rest)| (&**last, rest))
        {
            let source = TextSource::Value(*of, fields.to_vec());
            let (class, _) = key_of(value_of(&source, values)?)?;
            return self.methods.class(class?).map(Rc::from);
        }
        self.text_of(first_of(value_of(source, values)?)?, method)
    }

    /// The text of a value; none if it is null or not known.
    fn text_of(&self, value: &Value, method: MethodId) -> Option<Rc<str>> {
        Some(match value {
            Value::Null => return None,
            Value::Text { beginning, .. } => beginning.as_str().into(),
            Value::Content { content: ObjectContent::Text(text), .. } => text.as_str().into(),
            Value::Object(_) | Value::Content { .. } => self.made.get(&key_of(value)?)?.clone(),
            value => ValueTexts::new(self.methods, Some(method)).text(value).into(),
        })
    }
}

/// The class of a method.
fn class_in(methods: &Methods, method: MethodId) -> Option<&str> {
    methods.get(method).map(|method| &*method.info().class)
}

/// The elements of a list that a source names.
fn elements_of<'v>(source: &TextSource, values: &'v [CallValue]) -> Option<&'v [Value]> {
    match value_of(source, values)? {
        Value::Content { content: ObjectContent::Elements { elements, .. }, .. } => Some(elements),
        _ => None,
    }
}

impl ThreadContexts {
    /// At the beginning of a thread.
    pub(crate) fn of(thread: ThreadId) -> Self {
        Self {
            thread,
            calls: RoleCalls::default(),
            current: BTreeMap::new(),
            pushed: Vec::new(),
            during: Vec::new(),
            thrown: 0,
        }
    }
}

impl VisitTimeline for FindContexts<'_> {
    fn enter(&mut self, method: MethodId, at: Stamp) -> bool {
        self.begin_during();
        match self.roles.contains_key(&method) {
            true => self.of_thread.calls.enter_role(method, at, false),
            false => self.of_thread.calls.enter(),
        }
        true
    }

    fn exit(&mut self, count: NonZeroU64, at: Stamp, unwound: Option<&Unwound>) -> bool {
        self.begin_during();
        self.of_thread.thrown += unwound.map_or(0, |_| count.get());
        self.leave(self.of_thread.calls.after_exits(count), at);
        true
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        if let EventKind::Gap { .. } | EventKind::Pause = event.kind {
            // What changes meanwhile is not known.
            let TimelineEvent { position, time, calls, .. } = event;
            self.drop_those(Stamp { position, time, calls }, |_, _| true);
            self.of_thread.pushed.clear();
            self.of_thread.during.clear();
            self.of_thread.calls.forget();
            return true;
        }
        self.of_thread.calls.add_values(event);
        true
    }
}
