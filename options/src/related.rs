//! Patterns of `include` that are about what a class is, instead of its name: what it extends, or how it is annotated.

use flow_codec::Glob;

use super::tracked::Text;

/// The beginning of a pattern for supertypes.
const EXTENDS: &str = "extends:";
/// The beginning of a pattern for annotations.
const ANNOTATED: char = '@';

/// A pattern for methods of an application by their class's supertypes, or by annotations. It selects no constructors or static
/// initialisers: whether a constructor that another one calls is recorded must be known by its name alone.
#[derive(Clone, Debug)]
pub struct Related {
    text: String,
    about: About,
    /// Of the names of classes.
    classes: Glob,
    /// The text that is a class without its package.
    simple: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum About {
    Supertypes,
    Annotations,
}

impl Related {
    /// Parses a pattern; `None` if it is one of names.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (about, classes) = match text.strip_prefix(EXTENDS) {
            Some(classes) => (About::Supertypes, classes),
            None => (About::Annotations, text.strip_prefix(ANNOTATED)?),
        };
        let simple = (!classes.contains(['.', '*', '?'])).then(|| classes.to_owned());
        Some(Self { text: text.to_owned(), about, classes: Glob::new(classes), simple })
    }

    /// Returns whether it is about annotations.
    #[must_use]
    pub fn is_about_annotations(&self) -> bool {
        self.about == About::Annotations
    }

    /// Returns whether it is about supertypes, and this is one.
    #[must_use]
    pub fn is_about_type(&self, class: &str) -> bool {
        self.about == About::Supertypes && self.names(class)
    }

    /// Returns whether it may select methods of a class with these supertypes, as far as they are known. Annotations are not
    /// looked at.
    #[must_use]
    pub(crate) fn may_select(&self, class: &str, types: &[String]) -> bool {
        match self.about {
            About::Supertypes => self.names(class) || types.iter().any(|name| self.names(name)),
            About::Annotations => true,
        }
    }

    /// Returns whether it selects the methods of a class with these supertypes, or a method with these annotations.
    #[must_use]
    pub(crate) fn selects(&self, class: &str, types: &[String], annotations: &[String]) -> bool {
        match self.about {
            About::Supertypes => self.may_select(class, types),
            About::Annotations => annotations.iter().any(|name| self.names(name)),
        }
    }

    fn names(&self, class: &str) -> bool {
        match &self.simple {
            Some(simple) => class.rsplit(['.', '$']).next() == Some(simple),
            None => self.classes.matches_all_of(class),
        }
    }
}

impl Text for Related {
    fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn related(text: &str) -> Related {
        Related::parse(text).expect("a pattern of this kind")
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn supertypes_are_named_with_their_package_or_without() {
        let types = names(&["com.app.Base", "com.app.Outer$Api"]);
        for text in ["extends:Base", "extends:com.app.Base", "extends:com.**", "extends:Api"] {
            assert!(related(text).selects("com.app.A", &types, &[]), "{text}");
        }
        for text in ["extends:Bas", "extends:app.Base", "extends:com.*", "@Base"] {
            assert!(!related(text).selects("com.app.A", &types, &[]), "{text}");
        }
        assert!(related("extends:Base").selects("com.app.Base", &[], &[]), "the class itself");
    }

    #[test]
    fn annotations_are_named_with_their_package_or_without() {
        let found = names(&["org.x.Transactional"]);
        for text in ["@Transactional", "@org.x.*", "@org.x.Transactional", "@**.Trans*"] {
            assert!(related(text).selects("com.app.A", &[], &found), "{text}");
            assert!(related(text).may_select("com.app.A", &[]), "{text}");
        }
        assert!(!related("@Trans").selects("com.app.A", &[], &found));
        assert!(!related("@Transactional").selects("org.x.Transactional", &[], &[]));
        assert!(Related::parse("com.app.**").is_none());
    }
}
