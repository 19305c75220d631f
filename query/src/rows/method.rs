//! The columns of a method.

use std::rc::Rc;

use flow_codec::read::Methods;
use flow_codec::{MethodId, MethodMap, MethodNames, Name, NameForm, ThreadId};

use super::Chain;

crate::rows! {
    /// A method by its names.
    pub struct NameColumns<'a> {
        class: Option<&'a str>,
        name: Option<&'a str>,
        descriptor: Option<&'a str>,
        /// `com.app.Orders$Line`, `total`, `(I)V` and `com.app.Orders$Line.total(int)`
        readable: Option<Rc<str>>,
    }

    /// The thread of a row, or its threads that are one.
    pub struct GroupColumns<'a> {
        thread: Option<ThreadId>,
        /// the thread: its id with `--per-thread`, its name with `--per-thread-name` too
        thread_name: Option<&'a str>,
    }

    /// The name of the threads of a row.
    pub struct ThreadNameColumns<'a> {
        /// with `--per-thread` and `--per-thread-name`
        thread_name: Option<&'a str>,
    }

    /// Where in a method a frame is.
    pub struct PlaceColumns<'a> {
        source: Option<&'a str>,
        line: Option<u32>,
        /// with `--frames line` the source file and the line, with `bci` the bytecode index too, -3 in a native method
        bci: Option<i32>,
    }

    /// A method of a trace; all is unknown if there is none, and the names of one whose names were not recorded.
    pub struct MethodColumns<'a> {
        /// its number in this trace
        method: Option<MethodId>,
        #[serde(flatten)]
        names: NameColumns<'a>,
    }
}

impl<'a> NameColumns<'a> {
    /// No names, because there is no method, or its names were not recorded.
    pub const NOTHING: Self = Self { class: None, name: None, descriptor: None, readable: None };

    /// The names of a method.
    #[must_use]
    pub fn new(name: Name<'a>, readable: impl Into<Rc<str>>) -> Self {
        Self {
            class: Some(name.class),
            name: Some(name.name),
            descriptor: Some(name.descriptor),
            readable: Some(readable.into()),
        }
    }
}

impl<'a> MethodColumns<'a> {
    /// The columns of a method.
    #[must_use]
    pub fn new(method: MethodId, names: &MethodNames<'a>) -> Self {
        Self::with(method, names, || names.get(method, NameForm::Readable).into())
    }

    fn with(method: MethodId, names: &MethodNames<'a>, readable: impl FnOnce() -> Rc<str>) -> Self {
        let known = names.methods().get(method);
        let columns = known.map(|known| NameColumns::new(Name::from(known.info()), readable()));
        Self { method: Some(method), names: columns.unwrap_or(NameColumns::NOTHING) }
    }
}

/// The names of methods in rows. Readable names are made once for each method.
#[derive(Debug)]
pub struct RowNames<'a> {
    names: MethodNames<'a>,
    readable: MethodMap<Option<Rc<str>>>,
}

impl<'a> RowNames<'a> {
    /// The names of these methods.
    #[must_use]
    pub fn new(methods: &'a Methods) -> Self {
        Self { names: MethodNames::new(methods), readable: MethodMap::default() }
    }

    /// The columns of a method, or of none.
    pub fn get(&mut self, method: impl Into<Option<MethodId>>) -> MethodColumns<'a> {
        let Some(method) = method.into() else {
            return MethodColumns { method: None, names: NameColumns::NOTHING };
        };
        let Self { names, readable } = self;
        MethodColumns::with(method, names, || {
            let known = readable.or_default(method);
            Rc::clone(known.get_or_insert_with(|| names.get(method, NameForm::Readable).into()))
        })
    }

    /// The full names of the methods on a stack.
    #[must_use]
    pub fn chain(&self, stack: &[MethodId]) -> Chain {
        Chain(stack.iter().map(|method| self.names.get(*method, NameForm::Full)).collect())
    }
}
