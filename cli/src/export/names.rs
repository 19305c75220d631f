//! What methods are called in other tools.

use flow_codec::read::Methods;
use flow_codec::{MethodId, MethodMap, MethodNames, NameForm};

use crate::output::{Memo, neutral};

/// The names of a trace's methods, each made once: `pkg.Class.method(String, int)`. A descriptor has
/// semicolons, which end a frame in some formats, and is too long for a bar.
#[derive(Debug)]
pub(super) struct Names<'a> {
    /// How the format writes a name.
    form: fn(&str) -> String,
    memo: Memo<'a>,
}

impl<'a> Names<'a> {
    /// The names as a format writes them.
    pub(super) fn new(methods: &'a Methods, form: fn(&str) -> String) -> Self {
        Self { form, memo: Memo::new(methods) }
    }

    /// The name of a method.
    pub(super) fn get(&mut self, id: MethodId) -> &str {
        self.memo.get(id, |names| (self.form)(&name(names, id)))
    }
}

/// The name of a method; ids without one show as `?#7`.
pub(super) fn name(names: &MethodNames<'_>, id: MethodId) -> String {
    neutral(&names.get(id, NameForm::Readable)).into_owned()
}

/// Numbers methods in the order in which they are met, from 0. Memory: some bytes a method.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// One more than the number; 0 is none.
    known: MethodMap<u32>,
    methods: Vec<MethodId>,
}

impl Numbers {
    /// The number of a method, and whether it is new.
    pub(crate) fn get(&mut self, method: MethodId) -> (u32, bool) {
        let number = self.known.or_default(method);
        let is_new = *number == 0;
        if is_new {
            self.methods.push(method);
            *number = u32::try_from(self.methods.len()).unwrap_or(u32::MAX);
        }
        (*number - 1, is_new)
    }

    /// The methods, in the order of their numbers.
    pub(crate) fn methods(&self) -> &[MethodId] {
        &self.methods
    }
}
