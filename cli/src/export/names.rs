//! The names of methods in exports.

use flow_codec::read::Methods;
use flow_codec::{MethodId, MethodMap, MethodNames, NameForm};

use crate::output::{Memo, escaped};

/// The names of a trace's methods, each rendered once: `pkg.Class.method(String, int)`. A descriptor would be too
/// long for a bar, and has semicolons, which separate frames in some formats.
#[derive(Debug)]
pub(super) struct ExportNames<'a> {
    /// Renders a name as the format writes it.
    form: fn(&str) -> String,
    memo: Memo<'a>,
}

impl<'a> ExportNames<'a> {
    /// The names, in the form that `form` renders.
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
    escaped(&names.get(id, NameForm::Readable)).into_owned()
}

/// Numbers methods in the order in which they are first seen, from 0. Memory: a few bytes for each method.
#[derive(Debug, Default)]
pub(crate) struct MethodNumbers {
    /// One more than the number of each method; 0 without a number.
    known: MethodMap<u32>,
    methods: Vec<MethodId>,
}

impl MethodNumbers {
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
