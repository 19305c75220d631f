//! The names of the methods of a trace.

use std::cell::OnceCell;

use crate::name::Overloads;
use crate::read::{Method, Methods};
use crate::{MethodId, Name, NameForm};

/// The names of a trace's methods.
#[derive(Clone, Debug)]
pub struct MethodNames<'a> {
    methods: &'a Methods,
    /// Computed when the first readable name is requested.
    overloads: OnceCell<Overloads<MethodId>>,
}

impl<'a> MethodNames<'a> {
    /// The names of these methods.
    #[must_use]
    pub fn new(methods: &'a Methods) -> Self {
        Self { methods, overloads: OnceCell::new() }
    }

    /// The methods.
    #[must_use]
    pub fn methods(&self) -> &'a Methods {
        self.methods
    }

    /// The name of a method in one form. Ids without a name show as `?#7`.
    #[must_use]
    pub fn get(&self, id: MethodId, form: NameForm) -> String {
        let Some(method) = self.methods.get(id) else { return self.methods.display(id) };
        let name = Name::from(&method.info);
        match form {
            NameForm::Short => name.short(self.methods.has_raw_names()),
            NameForm::Full => name.to_string(),
            NameForm::Readable => {
                let name_of = |id| self.methods.get(id).map(|method| Name::from(&method.info));
                self.overloads().readable(id, name, name_of)
            }
        }
    }

    fn overloads(&self) -> &Overloads<MethodId> {
        self.overloads.get_or_init(|| {
            let name = |(id, method): (MethodId, &'a Method)| (id, Name::from(&method.info));
            Overloads::new(self.methods.iter().map(name), self.methods.has_raw_names())
        })
    }

    /// The names of frames whose full form is all that is known.
    #[must_use]
    pub fn frames(&self, frames: &[String], form: NameForm) -> Vec<String> {
        let is_raw = self.methods.has_raw_names();
        let names = || frames.iter().map(|frame| Name::parse(frame));
        let overloads = Overloads::new(names().enumerate(), is_raw);
        let form = |(at, name): (usize, Name<'_>)| match form {
            NameForm::Short => name.short(is_raw),
            NameForm::Full => name.to_string(),
            NameForm::Readable => {
                let name_of = |at: usize| frames.get(at).map(|frame| Name::parse(frame));
                overloads.readable(at, name, name_of)
            }
        };
        names().enumerate().map(form).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::methods::MethodInfo;

    #[test]
    fn the_source_file_shows_what_a_name_alone_does_not() {
        let mut methods = Methods::default();
        for (id, (class, name, source, flags)) in (0..).zip([
            ("shop.Main", "main", "Main.scala", &["public", "static"][..]),
            ("shop.Main$", "main", "Main.scala", &["public"]),
            ("shop.Main$", "run", "Main.scala", &["public"]),
            ("shop.Java$", "run", "Java.java", &["public"]),
            ("shop.Cart", "load$sum", "Cart.kt", &["private", "static", "final"]),
            // Of an internal function, in the module `main`.
            ("shop.Cart", "load$main", "Cart.kt", &["public", "final"]),
        ]) {
            let info = MethodInfo {
                class: class.to_owned(),
                name: name.to_owned(),
                descriptor: "(I)V".to_owned(),
                source: Some(source.to_owned()),
                flags: flags.iter().map(|flag| (*flag).into()).collect(),
                ..MethodInfo::default()
            };
            methods.insert(MethodId::new(id).unwrap(), info);
        }
        let names = MethodNames::new(&methods);
        let names = methods.iter().map(|(id, _)| names.get(id, NameForm::Readable));
        assert_eq!(
            names.collect::<Vec<_>>(),
            [
                "shop.Main.main(int)",
                // The former calls it.
                "shop.Main$.main(int)",
                "shop.Main.run(int)",
                "shop.Java$.run(int)",
                "shop.Cart.load fun sum(int)",
                "shop.Cart.load$main(int)",
            ]
        );
    }

    #[test]
    fn frames_have_names_too() {
        let frames = ["a.B.get()La/X;", "a.B.get()La/Y;", "a.B.get()La/X;", "odd", "a.B.m(I)V"];
        let frames = frames.map(str::to_owned);
        let methods = Methods::default();
        let names = MethodNames::new(&methods);
        let readable = names.frames(&frames, NameForm::Readable);
        assert_eq!(readable, ["a.B.get(): X", "a.B.get(): Y", "a.B.get(): X", "odd", "a.B.m(int)"]);
        assert_eq!(names.frames(&frames, NameForm::Full), frames);
    }
}
