//! Where an exception was created: the top of its stack trace.
//!
//! The JVM keeps a stack trace in arrays, which identify the method and the instruction of each frame. They are read as any
//! arrays, and whatever they hold, no more than a wrong name comes of it. The first time that such a place is seen, a native
//! method of `StackTraceElement` makes names of the trace. It gets an exception of our own with the same arrays: another thread
//! may change the program's while it runs. No Java code runs, and the program's exception stays as it is.

#![expect(unsafe_code, reason = "calls through the function table of JNI")]

use std::collections::HashMap;
use std::ffi::CStr;
use std::ptr;
use std::sync::Arc;

use flow_codec::format::values::{Primitive, kind};
use jni::sys::{JNI_VERSION_19, jobject, jvalue};
use once_cell::sync::OnceCell;
use parking_lot::RwLock;

use super::Vm;
use super::content::{KnownField, field};
use super::handle::Versions as _;

static BACKTRACE: KnownField = field(c"java/lang/Throwable", c"backtrace", c"Ljava/lang/Object;");
static DEPTH: KnownField = field(c"java/lang/Throwable", c"depth", c"I");
static CLASS: KnownField =
    field(c"java/lang/StackTraceElement", c"declaringClass", c"Ljava/lang/String;");
static METHOD: KnownField =
    field(c"java/lang/StackTraceElement", c"methodName", c"Ljava/lang/String;");
static LINE: KnownField = field(c"java/lang/StackTraceElement", c"lineNumber", c"I");

/// In the arrays of a stack trace: the numbers of methods in their classes, places in their code with the version of that, and
/// the classes.
const METHODS: usize = 0;
const PLACES: usize = 1;
const CLASSES: usize = 2;
/// The names of deeper stack traces are not made. The JVM stores 1,024 frames by default.
const MAX_DEPTH: usize = 4_096;
/// The names of more places are made each time.
const MAX_PLACES: usize = 1 << 16;
/// The most characters of a name.
const MAX_NAME: usize = 1_000;
/// Elements after those that the trace needs, and of which each is null. If the trace is longer than it seemed, the JVM finds one
/// of these, and gives up.
const SPARE: usize = 1_024;

/// Where an exception was created.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Created {
    /// The class and the method, with a dot in between.
    pub(super) method: String,
    /// The line, if the class has line numbers.
    pub(super) line: Option<u32>,
}

/// What identifies a place in a class.
type Place = (u32, i16, i32);

/// A place whose name was made before.
#[derive(Debug)]
struct Seen {
    /// A weak reference to its class.
    class: usize,
    created: Option<Arc<Created>>,
}

static PLACES_SEEN: OnceCell<RwLock<HashMap<Place, Seen>>> = OnceCell::new();

/// What makes names of a stack trace.
#[derive(Clone, Copy, Debug)]
struct Naming {
    /// References that stay: to `Throwable`, to `StackTraceElement`, and to the classes of arrays.
    throwable: usize,
    element: usize,
    shorts: usize,
    ints: usize,
    objects: usize,
    /// The native method.
    method: usize,
    form: Form,
}

/// What the native method is passed.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Elements, and an exception.
    Exception,
    /// Elements, arrays of a trace, and how many frames it has. Came with JDK 19 or 20.
    Trace,
}

static NAMING: OnceCell<Option<Naming>> = OnceCell::new();

impl Vm<'_> {
    /// Returns where an exception was created. `None` if it has no stack trace, or this JVM stores it in another way.
    pub(super) fn created(&self, thrown: jobject) -> Option<Arc<Created>> {
        let naming = *NAMING.get_or_init(|| self.find_naming());
        let naming = naming?;
        let trace = self.object_field(thrown, &BACKTRACE)?;
        let top = self.top(trace, &naming);
        let created = top.and_then(|(place, class)| {
            let created = self.seen(place, class).unwrap_or_else(|| {
                let created = self.name_top(thrown, trace, &naming).map(Arc::new);
                self.keep_place(place, class, created.clone());
                created
            });
            self.forget(class);
            created
        });
        self.forget(trace);
        created
    }

    /// The place of the topmost frame in the arrays of a stack trace, and a reference to its class.
    fn top(&self, trace: jobject, naming: &Naming) -> Option<(Place, jobject)> {
        if !self.is_a(trace, naming.objects) || self.length(trace) <= CLASSES {
            return None;
        }
        let part = |index, of| {
            let part = self.element(trace, index).filter(|part| !part.is_null())?;
            match self.is_a(part, of) && self.length(part) > 0 {
                true => Some(part),
                false => {
                    self.forget(part);
                    None
                }
            }
        };
        let number = |index, of, kind| {
            let part = part(index, of)?;
            let (_, first) = self.elements(part, kind, 1);
            self.forget(part);
            first.first().copied()
        };
        let Primitive::Short(method) = number(METHODS, naming.shorts, kind::SHORT)? else {
            return None;
        };
        let Primitive::Int(place) = number(PLACES, naming.ints, kind::INT)? else { return None };
        let classes = part(CLASSES, naming.objects)?;
        let class = self.element(classes, 0).filter(|class| !class.is_null());
        self.forget(classes);
        let class = class?;
        Some(((self.identity(class), method, place), class))
    }

    /// What was found of a place before, if it was.
    fn seen(&self, place: Place, class: jobject) -> Option<Option<Arc<Created>>> {
        let seen = PLACES_SEEN.get()?.read();
        let known = seen.get(&place)?;
        let same = ptr::with_exposed_provenance_mut(known.class);
        // SAFETY: a reference, and a weak one that is kept as long as the entry.
        let is_same = unsafe { (self.jni().v1_1().IsSameObject)(self.jni, class, same) };
        is_same.then(|| known.created.clone())
    }

    fn keep_place(&self, place: Place, class: jobject, created: Option<Arc<Created>>) {
        let mut seen = PLACES_SEEN.get_or_init(RwLock::default).write();
        if seen.len() >= MAX_PLACES && !seen.contains_key(&place) {
            return;
        }
        // SAFETY: a reference.
        let class = unsafe { (self.jni().v1_2().NewWeakGlobalRef)(self.jni, class) };
        if !self.unless_failed(!class.is_null()) {
            return;
        }
        let known = Seen { class: class.expose_provenance(), created };
        if let Some(Seen { class, .. }) = seen.insert(place, known) {
            // Of a class that was unloaded, or of another one with the same identity hash.
            let class = ptr::with_exposed_provenance_mut(class);
            // SAFETY: a weak reference that nobody else finds: the table is locked.
            unsafe { (self.jni().v1_2().DeleteWeakGlobalRef)(self.jni, class) };
        }
    }

    /// Makes the name of the topmost frame of a stack trace.
    fn name_top(&self, thrown: jobject, trace: jobject, naming: &Naming) -> Option<Created> {
        let depth = usize::try_from(self.int_field(thrown, &DEPTH)?).ok()?;
        if depth == 0 || depth > MAX_DEPTH {
            return None;
        }
        let length = i32::try_from(depth + SPARE).ok()?;
        let ours = self.new_object(naming.throwable)?;
        let named = self.stack_elements(depth, length, naming).and_then(|elements| {
            let named = self.make_names(elements, (ours, trace, length), naming);
            let first = named.then(|| self.element(elements, 0)).flatten();
            self.forget(elements);
            let created = first.and_then(|first| self.created_of(first));
            first.into_iter().for_each(|first| self.forget(first));
            created
        });
        self.forget(ours);
        named
    }

    /// Calls the native method. Returns whether it succeeded.
    fn make_names(
        &self,
        elements: jobject,
        (ours, trace, length): (jobject, jobject, i32),
        naming: &Naming,
    ) -> bool {
        let (Some(backtrace), Some(depth)) = (self.known(&BACKTRACE), self.known(&DEPTH)) else {
            return false;
        };
        let jni = self.jni().v1_1();
        let [backtrace, depth] =
            [backtrace, depth].map(|id| ptr::with_exposed_provenance_mut(id.0));
        // SAFETY: an exception of our own, whose field this is, and a reference that it may hold.
        unsafe { (jni.SetObjectField)(self.jni, ours, backtrace, trace) };
        // SAFETY: as above, of this type.
        unsafe { (jni.SetIntField)(self.jni, ours, depth, length) };
        let class = ptr::with_exposed_provenance_mut(naming.element);
        let method = ptr::with_exposed_provenance_mut(naming.method);
        let arguments = match naming.form {
            Form::Exception => [jvalue { l: elements }, jvalue { l: ours }, jvalue { i: 0 }],
            Form::Trace => [jvalue { l: elements }, jvalue { l: trace }, jvalue { i: length }],
        };
        // SAFETY: a static native method of this class, and arguments as its descriptor says; one more is not read.
        unsafe { (jni.CallStaticVoidMethodA)(self.jni, class, method, arguments.as_ptr()) };
        self.unless_called(()).is_some()
    }

    /// An array of this length, whose first elements are empty stack trace elements.
    fn stack_elements(&self, depth: usize, length: i32, naming: &Naming) -> Option<jobject> {
        let jni = self.jni().v1_1();
        let class = ptr::with_exposed_provenance_mut(naming.element);
        // SAFETY: a class, and null as the initial elements.
        let array = unsafe { (jni.NewObjectArray)(self.jni, length, class, ptr::null_mut()) };
        let array = self.unless_thrown(array)?;
        for index in (0..length).take(depth) {
            let Some(element) = self.new_object(naming.element) else {
                self.forget(array);
                return None;
            };
            // SAFETY: an index within this array, and an element of its type.
            unsafe { (jni.SetObjectArrayElement)(self.jni, array, index, element) };
            self.forget(element);
        }
        Some(array)
    }

    fn created_of(&self, element: jobject) -> Option<Created> {
        let text = |field| {
            let text = self.object_field(element, field)?;
            let found = self.text(text, MAX_NAME);
            self.forget(text);
            found.map(|(_, text)| text)
        };
        let class = text(&CLASS)?;
        // The number of a hidden class differs from run to run.
        let class = class.split('/').next().unwrap_or_default();
        let method = format!("{class}.{}", text(&METHOD)?);
        let line = self.int_field(element, &LINE).and_then(|line| u32::try_from(line).ok());
        Some(Created { method, line: line.filter(|line| *line > 0) })
    }

    /// Allocates an object of a class; no constructor runs.
    fn new_object(&self, class: usize) -> Option<jobject> {
        let class = ptr::with_exposed_provenance_mut(class);
        // SAFETY: a reference to a class that is not abstract.
        let object = unsafe { (self.jni().v1_1().AllocObject)(self.jni, class) };
        self.unless_thrown(object)
    }

    fn is_a(&self, object: jobject, class: usize) -> bool {
        let class = ptr::with_exposed_provenance_mut(class);
        // SAFETY: references to an object and to a class.
        unsafe { (self.jni().v1_1().IsInstanceOf)(self.jni, object, class) }
    }

    fn find_naming(&self) -> Option<Naming> {
        let kept = |name: &CStr| {
            let class = self.find_class(name)?;
            let kept = self.keep(class);
            self.forget(class);
            Some(kept?.expose_provenance())
        };
        let element = kept(c"java/lang/StackTraceElement")?;
        let find = |descriptor: &CStr| {
            let class = ptr::with_exposed_provenance_mut(element);
            let name = c"initStackTraceElements";
            let function = self.jni().v1_1().GetStaticMethodID;
            // SAFETY: a class, and NUL-terminated strings.
            let method = unsafe { function(self.jni, class, name.as_ptr(), descriptor.as_ptr()) };
            self.unless_thrown(method).map(|method| method.expose_provenance())
        };
        let of_trace = || find(c"([Ljava/lang/StackTraceElement;Ljava/lang/Object;I)V");
        let of_trace = match self.version() >= JNI_VERSION_19 {
            true => of_trace(),
            false => None,
        };
        let (method, form) = match of_trace {
            Some(method) => (method, Form::Trace),
            None => {
                let descriptor = c"([Ljava/lang/StackTraceElement;Ljava/lang/Throwable;)V";
                (find(descriptor)?, Form::Exception)
            }
        };
        Some(Naming {
            throwable: kept(c"java/lang/Throwable")?,
            element,
            shorts: kept(c"[S")?,
            ints: kept(c"[I")?,
            objects: kept(c"[Ljava/lang/Object;")?,
            method,
            form,
        })
    }
}
