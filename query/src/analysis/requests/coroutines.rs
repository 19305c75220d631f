//! Coroutines of Kotlin: the parts of each call of a suspend function or lambda, by the rules of a preset.
//!
//! A suspend function that waits is left, and entered again when it continues, often in another thread. The compiler makes a class
//! for the state of a call of `C.f`, `C$f$1`, whose method `invokeSuspend` does nothing but call `C.f` once more. A suspend lambda is
//! an object with its own state, whose `invokeSuspend` is the code.
//!
//! ```text
//! C.f                                 a call: the beginning
//!   C.g(…, state of C.f)              passes the state: `keep`
//! C$f$1.invokeSuspend, of the state   continues a call: `take`
//!   C.f                               the next part of that call
//! ```
//!
//! So a state belongs to the nearest call of its function around the call that it is passed to: that is the beginning of the parts that
//! continue with it.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU64;

use flow_codec::MethodId;
use flow_codec::format::roles::{MethodRole, PresetRole, TextSource};
use flow_codec::read::{EventKind, Methods, Stamp, TimelineEvent, Unwound, VisitTimeline, When};

use crate::analysis::operations::{Key, key_of, value_of};

/// The preset whose roles say which call a resumption continues.
pub(crate) const COROUTINES: &str = "coroutines";

/// The method of a state that continues a call.
const RESUME: &str = "invokeSuspend";
/// Methods of the classes of suspend lambdas: these have the same names as states, and call anything.
const OF_LAMBDAS: [&str; 2] = ["create", "invoke"];
/// What stands before the name of a private method where another class calls it.
const ACCESS: &str = "access$";
/// What follows the name of an open function, in the method that has its code.
const OF_OPEN: &str = "$suspendImpl";
/// The class with the code of functions of an interface.
const OF_INTERFACE: &str = "$DefaultImpls";
const CONSTRUCTOR: &str = "<init>";
/// How many frames are at most between a function and a method to which its state is passed.
const MOST_FRAMES: usize = 64;

/// The methods of which coroutines consist.
#[derive(Clone, Default, Debug)]
pub(crate) struct SuspendMethods {
    /// `invokeSuspend` of states.
    pub(crate) states: HashSet<MethodId>,
    /// The suspend functions with states, and the accessors of private ones.
    pub(crate) functions: HashMap<MethodId, SuspendMethod>,
    /// `invokeSuspend` of lambdas.
    pub(crate) lambdas: HashSet<MethodId>,
}

/// A suspend function, or an accessor of it.
#[derive(Clone, Debug)]
pub(crate) struct SuspendMethod {
    /// The function.
    pub(crate) method: MethodId,
    /// `C$f` of `C.f`, as in the name of the class of its state.
    name: String,
}

impl SuspendMethods {
    /// Finds them by their names.
    pub(crate) fn of(methods: &Methods) -> Self {
        let infos = || methods.iter().map(|(id, method)| (id, method.info()));
        let of_lambdas: HashSet<&str> = infos()
            .filter(|(_, info)| OF_LAMBDAS.contains(&&*info.name))
            .map(|(_, info)| &*info.class)
            .collect();
        let (mut found, mut names) = (Self::default(), HashSet::new());
        for (id, info) in infos().filter(|(_, info)| info.name == RESUME) {
            if of_lambdas.contains(&*info.class) {
                found.lambdas.insert(id);
            } else if let Some(function) = function_of(&info.class) {
                found.states.insert(id);
                names.insert(function);
            }
        }
        let mut accesses = Vec::new();
        for (id, info) in infos() {
            let class = info.class.strip_suffix(OF_INTERFACE).unwrap_or(&info.class);
            let (name, is_access) = match info.name.strip_prefix(ACCESS) {
                Some(name) => (name, true),
                None => (&*info.name, false),
            };
            let name = name.strip_suffix(OF_OPEN).unwrap_or(name);
            // A hash of types that are inlined.
            let name = name.split('-').next().unwrap_or(name);
            let function = format!("{class}${name}");
            if !names.contains(&*function) {
                continue;
            }
            if is_access {
                accesses.push((id, info, function));
            } else {
                found.functions.insert(id, SuspendMethod { method: id, name: function });
            }
        }
        for (id, access, function) in accesses {
            let name = access.name.strip_prefix(ACCESS).unwrap_or(&access.name);
            let target = infos().find(|(_, info)| info.class == access.class && info.name == name);
            let target = target.map(|(method, _)| SuspendMethod { method, name: function });
            found.functions.extend(target.map(|target| (id, target)));
        }
        found
    }

    /// The function of an entered method, unless that only passes a call on.
    fn function(&self, method: MethodId) -> Option<&SuspendMethod> {
        self.functions.get(&method).filter(|function| function.method == method)
    }
}

/// `C$f` of `C$f$1`.
fn function_of(state: &str) -> Option<&str> {
    let (function, number) = state.rsplit_once('$')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(function)
}

/// A call of a suspend function or lambda.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Coroutine {
    /// The function, or `invokeSuspend` of the lambda.
    pub(crate) method: MethodId,
    /// The number of the thread among those that were read, and of the call in the thread, for each part in order.
    pub(crate) parts: Vec<(usize, u64)>,
    /// Whether the first of these is where it began; otherwise that is not known.
    pub(crate) has_beginning: bool,
}

/// A part of a coroutine.
#[derive(Clone, Copy, Debug)]
struct Part {
    method: MethodId,
    thread: usize,
    number: u64,
    time: When,
}

/// Finds the parts of coroutines in the timelines of threads, which are read [with values](flow_codec::read::Timeline::with_values).
#[derive(Debug)]
pub(crate) struct FindCoroutines<'a> {
    methods: &'a Methods,
    known: SuspendMethods,
    roles: HashMap<MethodId, MethodRole>,
    thread: usize,
    open: Vec<Open>,
    /// Where calls of functions begin.
    begun: Vec<Part>,
    /// For each state, the calls below which it was passed, by their places in `begun`.
    owners: HashMap<Key, Vec<usize>>,
    /// What continues with a state; without a known one, nobody knows what that continues.
    resumed: HashMap<Option<Key>, Vec<Part>>,
    /// The parts of lambdas, by their objects.
    lambdas: HashMap<Option<Key>, Vec<Part>>,
}

/// An open call.
#[derive(Clone, Copy, Debug)]
struct Open {
    method: MethodId,
    begun: Stamp,
    what: What,
}

/// What an open call is to coroutines.
#[derive(Clone, Copy, Debug)]
enum What {
    Nothing,
    /// The beginning of a call of a function, by its place in `begun`.
    Begins(usize),
    /// Another part of a call of a function.
    Continues,
    /// `invokeSuspend` of a state.
    State(Option<Key>),
    /// `invokeSuspend` of a lambda.
    Lambda(Option<Key>),
}

impl<'a> FindCoroutines<'a> {
    /// Begins with the roles of methods.
    pub(crate) fn new(methods: &'a Methods, roles: HashMap<MethodId, MethodRole>) -> Self {
        Self {
            methods,
            known: SuspendMethods::of(methods),
            roles,
            thread: 0,
            open: Vec::new(),
            begun: Vec::new(),
            owners: HashMap::new(),
            resumed: HashMap::new(),
            lambdas: HashMap::new(),
        }
    }

    /// Begins the thread with this number among those of the trace that have events.
    pub(crate) fn begin_thread(&mut self, number: usize) {
        self.thread = number;
    }

    /// Ends a thread.
    pub(crate) fn end_thread(&mut self) {
        self.leave(0);
    }

    /// Returns the coroutines.
    pub(crate) fn end(mut self) -> Vec<Coroutine> {
        let mut parts: Vec<Vec<Part>> = self.begun.iter().map(|begun| vec![*begun]).collect();
        let mut others = Vec::new();
        for (state, resumed) in std::mem::take(&mut self.resumed) {
            let mut owners = state.and_then(|state| self.owners.remove(&state)).unwrap_or_default();
            owners.sort_by_key(|owner| self.begun.get(*owner).map(Part::order));
            let mut without_owner = Vec::new();
            for part in resumed {
                // Several only if the numbers of two objects are equal: the last one that is not later.
                let is_later = |owner: &&usize| {
                    self.begun.get(**owner).is_some_and(|begun| begun.order() > part.order())
                };
                let owner = owners.iter().rev().find(|owner| !is_later(owner)).or(owners.first());
                match owner.and_then(|owner| parts.get_mut(*owner)) {
                    Some(parts) => parts.push(part),
                    None if state.is_none() => others.push((vec![part], false)),
                    None => without_owner.push(part),
                }
            }
            others.push((without_owner, false));
        }
        for (object, parts) in self.lambdas {
            match object {
                Some(_) => others.push((parts, true)),
                None => others.extend(parts.into_iter().map(|part| (vec![part], true))),
            }
        }
        // What is known to be the beginning comes first, whatever the times are.
        let begun = parts.into_iter().map(|parts| (parts, true, 1));
        let others = others.into_iter().map(|(parts, has_beginning)| (parts, has_beginning, 0));
        begun
            .chain(others)
            .filter_map(|(mut parts, has_beginning, sorted_from)| {
                parts.get_mut(sorted_from..).unwrap_or_default().sort_by_key(Part::order);
                let method = parts.first()?.method;
                let parts = parts.iter().map(|part| (part.thread, part.number)).collect();
                Some(Coroutine { method, parts, has_beginning })
            })
            .collect()
    }

    fn leave(&mut self, frames: usize) {
        for call in self.open.drain(frames.min(self.open.len())..) {
            if let What::Lambda(object) = call.what {
                self.lambdas.entry(object).or_default().push(call.part(self.thread));
            }
        }
    }

    /// What a call is that is made now.
    fn what(&mut self, method: MethodId, at: Stamp) -> What {
        if self.known.states.contains(&method) {
            return What::State(None);
        }
        if self.known.lambdas.contains(&method) {
            return What::Lambda(None);
        }
        let Some(function) = self.known.function(method) else { return What::Nothing };
        let is_accessor = |call: &&Open| {
            let function = self.known.functions.get(&call.method);
            function.is_some_and(|function| function.method != call.method)
        };
        let caller = self.open.iter().rev().find(|call| !is_accessor(call));
        let part = Open { method, begun: at, what: What::Nothing }.part(self.thread);
        match caller.map(|caller| (caller.what, self.methods.get(caller.method))) {
            Some((What::State(state), Some(of)))
                if function_of(&of.info().class) == Some(&*function.name) =>
            {
                self.resumed.entry(state).or_default().push(part);
                What::Continues
            }
            _ => {
                self.begun.push(part);
                What::Begins(self.begun.len() - 1)
            }
        }
    }

    /// Finds the owner of a state that is passed: the nearest call of its function.
    fn own(&mut self, state: Key) {
        let class = state.0.and_then(|class| self.methods.class(class));
        let Some(wanted) = class.and_then(function_of) else { return };
        // A function that makes its own state passes that of its caller.
        let mut making = None;
        for call in self.open.iter().rev().take(MOST_FRAMES) {
            let Some(function) = self.known.function(call.method) else {
                let of = self.methods.get(call.method).map(|method| method.info());
                let of = of.filter(|of| of.name == CONSTRUCTOR);
                making = of.and_then(|of| function_of(&of.class)).or(making);
                continue;
            };
            if making.take_if(|making| *making == function.name).is_some() {
                continue;
            }
            if function.name == wanted {
                if let What::Begins(number) = call.what {
                    let owners = self.owners.entry(state).or_default();
                    if owners.last() != Some(&number) {
                        owners.push(number);
                    }
                }
                return;
            }
        }
    }
}

impl Open {
    fn part(&self, thread: usize) -> Part {
        Part { method: self.method, thread, number: self.begun.calls, time: self.begun.time }
    }
}

impl Part {
    /// When it began, and for equal times its place.
    fn order(&self) -> (Option<u64>, usize, u64) {
        (self.time.estimate_ns, self.thread, self.number)
    }
}

impl VisitTimeline for FindCoroutines<'_> {
    fn enter(&mut self, method: MethodId, at: Stamp) -> bool {
        let what = self.what(method, at);
        self.open.push(Open { method, begun: at, what });
        true
    }

    fn exit(&mut self, count: NonZeroU64, _: Stamp, _: Option<&Unwound>) -> bool {
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        self.leave(self.open.len().saturating_sub(count));
        true
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        let EventKind::Values(values) = event.kind else { return true };
        let Some(call) = self.open.last_mut() else { return true };
        let Some(role) = self.roles.get(&call.method) else { return true };
        let source = role.text().iter().find(|source| matches!(source, TextSource::Value(..)));
        let Some(key) = source.and_then(|source| value_of(source, &values)).and_then(key_of) else {
            return true;
        };
        match (role.role(), &mut call.what) {
            (PresetRole::Take, What::State(of) | What::Lambda(of)) => *of = Some(key),
            (PresetRole::Keep, _) => self.own(key),
            _ => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use flow_codec::Offset;
    use flow_codec::format::marks::Position;
    use flow_codec::format::values::{CallValue, Identity, Role, Value};
    use flow_codec::read::Trace;

    use super::*;

    const F: u64 = 0;
    const G: u64 = 1;
    const OF_F: u64 = 2;
    const OF_G: u64 = 3;
    const LAMBDA: u64 = 4;
    const MAKE_F: u64 = 5;
    const KEEP: u64 = 6;
    const ACCESS_F: u64 = 7;
    const NAMES: [&str; 9] = [
        "a.C#f()V",
        "a.C#g()V",
        "a.C$f$1#invokeSuspend()V",
        "a.C$g$1#invokeSuspend()V",
        "a.C$f$2#invokeSuspend()V",
        "a.C$f$1#<init>()V",
        "k.Base#<init>()V",
        "a.C#access$f()V",
        "a.C$f$2#create()V",
    ];
    /// Ids of classes.
    const STATE_OF_F: u64 = 20;
    const STATE_OF_G: u64 = 21;
    const LAMBDA_OF_F: u64 = 22;
    const CLASSES: [&str; 3] = ["a.C$f$1", "a.C$g$1", "a.C$f$2"];

    /// What happens in a thread.
    #[derive(Clone, Copy)]
    enum Step {
        /// A method is entered.
        In(u64),
        /// A method with a role is entered, with an object of a class.
        With(u64, u64, u32),
        /// A method is left.
        Out,
    }
    use Step::{In, Out, With};

    /// A call: its method, its parts with their numbers, and whether its beginning is known.
    type Shown = (u64, Vec<(usize, u64)>, bool);

    /// The parts of coroutines in threads, one after the other: their methods, and whether their beginning is known.
    fn coroutines(threads: &[&[Step]]) -> Vec<Shown> {
        let dir = tempfile::tempdir().unwrap();
        let methods = NAMES.iter().zip(0..).map(|(name, id)| format!("{name}={id}\n"));
        let classes = CLASSES.iter().zip(20..).map(|(name, id)| format!("{name}#<class>={id}\n"));
        fs::write(dir.path().join("ids.properties"), methods.chain(classes).collect::<String>())
            .unwrap();
        let trace = Trace::open(dir.path()).unwrap();
        let id = |number| MethodId::new(number).unwrap();
        let roles = [OF_F, OF_G, LAMBDA].map(|of| (id(of), "coroutines take this"));
        let roles = roles.into_iter().chain([(id(KEEP), "coroutines keep arg0")]);
        let roles = roles.map(|(id, role)| (id, MethodRole::parse(role).unwrap()));
        let mut find = FindCoroutines::new(trace.methods(), roles.collect());
        let mut now = 0;
        for (number, thread) in threads.iter().enumerate() {
            find.begin_thread(number);
            let mut calls = 0;
            for step in *thread {
                now += 1;
                let mut time = When::UNKNOWN;
                time.estimate_ns = Some(now);
                let position = Position::before(Offset::new(0));
                let at = Stamp { position, time, calls };
                let (method, object) = match *step {
                    Out => {
                        find.exit(NonZeroU64::MIN, at, None);
                        continue;
                    }
                    In(method) => (method, None),
                    With(method, class, hash) => (method, Some((class, hash))),
                };
                find.enter(id(method), at);
                calls += 1;
                let Some((class, hash)) = object else { continue };
                let role = if method == KEEP { Role::Argument(0) } else { Role::This };
                let value = Value::Object(Identity { class: MethodId::new(class), hash });
                let kind = EventKind::Values(vec![CallValue::new(role, value)]);
                find.other(TimelineEvent { position, time, calls, number: None, kind });
            }
            find.end_thread();
        }
        let mut found = find.end();
        found.sort_by_key(|of| (of.method, of.parts.clone()));
        let found = found.into_iter();
        found.map(|of| (of.method.get(), of.parts, of.has_beginning)).collect()
    }

    #[test]
    fn a_resumption_belongs_to_the_call_below_which_its_state_was_passed() {
        let keep = |hash| [With(KEEP, STATE_OF_F, hash), Out];
        let call = |hash| [&[In(F)][..], &keep(hash), &[Out]].concat();
        let resume = |hash| vec![With(OF_F, STATE_OF_F, hash), In(F), Out, Out];
        let first = [call(1), call(2), vec![In(F), Out], resume(2)].concat();
        let second = [resume(1), resume(2), resume(3)].concat();
        assert_eq!(
            coroutines(&[&first, &second]),
            [
                (F, vec![(0, 0), (1, 1)], true),
                (F, vec![(0, 2), (0, 6), (1, 3)], true),
                (F, vec![(0, 4)], true),
                // Where this one began was not recorded.
                (F, vec![(1, 5)], false),
            ]
        );
    }

    #[test]
    fn a_private_function_is_resumed_by_its_accessor() {
        let thread = [
            In(F),
            With(KEEP, STATE_OF_F, 1),
            Out,
            Out,
            With(OF_F, STATE_OF_F, 1),
            In(ACCESS_F),
            In(F),
        ];
        assert_eq!(coroutines(&[&thread]), [(F, vec![(0, 0), (0, 4)], true)]);
    }

    #[test]
    fn a_function_that_makes_its_state_passes_that_of_its_caller() {
        // f calls itself, then g. Each makes its state with that of its caller.
        let thread = [
            In(F),
            In(F),
            In(MAKE_F),
            With(KEEP, STATE_OF_F, 1),
            Out,
            Out,
            In(G),
            With(KEEP, STATE_OF_F, 2),
            Out,
            Out,
            Out,
            Out,
            With(OF_G, STATE_OF_G, 5),
            In(G),
            Out,
            Out,
            With(OF_F, STATE_OF_F, 2),
            In(F),
            Out,
            Out,
            With(OF_F, STATE_OF_F, 1),
            In(F),
        ];
        assert_eq!(
            coroutines(&[&thread]),
            [
                (F, vec![(0, 0), (0, 11)], true),
                (F, vec![(0, 1), (0, 9)], true),
                (G, vec![(0, 4)], true),
                (G, vec![(0, 7)], false),
            ]
        );
    }

    #[test]
    fn the_parts_of_a_lambda_have_its_object() {
        let first = [With(LAMBDA, LAMBDA_OF_F, 1), In(F), Out, Out, With(LAMBDA, LAMBDA_OF_F, 2)];
        let second = [With(LAMBDA, LAMBDA_OF_F, 1), Out];
        assert_eq!(
            coroutines(&[&first, &second]),
            [
                (F, vec![(0, 1)], true),
                (LAMBDA, vec![(0, 0), (1, 0)], true),
                (LAMBDA, vec![(0, 2)], true),
            ]
        );
    }
}
