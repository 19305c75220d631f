//! Affected tests by class, as tools that run tests select them.

use std::collections::{BTreeMap, BTreeSet};

use super::files::{ChangedFile, FileEffect};
use super::spread::Reach;
use crate::rows::AffectedRow;

/// Why a test is affected.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Why {
    /// The class of the test is in an affected file.
    Class(Reach),
    /// The test called a class of an affected file.
    Calls(Reach),
    /// Such a class was called outside of tests, and may have left state.
    Outside,
    /// The test did not run to its end in the recording, so what it calls is not known.
    NotRun,
    /// A file changed that may affect everything.
    Everything,
}

impl Why {
    /// The reason, as a word.
    fn word(&self) -> &'static str {
        match self {
            Self::Class(Reach::Changed) => "test-class",
            Self::Class(reach) | Self::Calls(reach) => match reach {
                Reach::Changed => "calls",
                Reach::Subtype => "subtype",
                Reach::Constants => "constants",
                Reach::Initialiser => "initialiser",
                Reach::Names => "names",
            },
            Self::Outside => "outside",
            Self::NotRun => "not-run",
            Self::Everything => "everything",
        }
    }
}

/// A test that is affected, or a class of tests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct AffectedTest {
    /// The name of the test or, if `is_class`, of the class.
    pub(super) name: String,
    /// Whether it is a class all of whose tests are affected, also those that the recording does not have.
    pub(super) is_class: bool,
    /// Why it is affected.
    pub(super) why: Why,
    /// The affected class that it called; empty if that is not the reason.
    pub(super) through: String,
    /// The changed file; empty if none is the reason.
    pub(super) file: String,
}

impl AffectedTest {
    /// The test as a row.
    fn row(&self) -> AffectedRow<'_> {
        AffectedRow {
            test: &self.name,
            kind: if self.is_class { "class" } else { "test" },
            why: self.why.word(),
            through: &self.through,
            file: &self.file,
        }
    }
}

/// What a change affects.
#[derive(Clone, Default, Debug)]
pub struct Affected {
    /// What each changed file affects.
    pub(super) files: Vec<(ChangedFile, FileEffect)>,
    /// The affected classes of tests, then the affected tests, in the order in which they ran.
    pub(super) tests: Vec<AffectedTest>,
    /// The names of all tests, in the order in which they ran.
    pub(super) all: Vec<String>,
    /// Whether a change may affect everything, also tests that the recording does not have.
    pub(super) is_everything: bool,
    /// Classes in files with tests of which the recording has none.
    pub(super) unknown: Vec<String>,
}

/// A class of tests to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SelectedClass {
    /// Name of the class: `com.app.OrderTest$Large`.
    pub class: String,
    /// The methods to run, without parameters, each once, in order; empty for all.
    pub methods: Vec<String>,
}

impl Affected {
    /// What each changed file affects.
    #[must_use]
    pub fn files(&self) -> &[(ChangedFile, FileEffect)] {
        &self.files
    }

    /// The names of all tests, in the order in which they ran.
    #[must_use]
    pub fn all(&self) -> &[String] {
        &self.all
    }

    /// Returns whether a change may affect everything, also tests that the recording does not have.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.is_everything
    }

    /// Classes in files with tests of which the recording has none.
    #[must_use]
    pub fn unknown(&self) -> &[String] {
        &self.unknown
    }

    /// How many of all tests are affected.
    #[must_use]
    pub fn count(&self) -> usize {
        let classes: BTreeSet<&str> = self.of_kind(true).collect();
        let tests: BTreeSet<&str> = self.of_kind(false).collect();
        let is_affected = |name: &&String| {
            let class = parts_of_name(name).map(|(class, _)| class);
            tests.contains(name.as_str()) || class.is_some_and(|class| classes.contains(class))
        };
        self.all.iter().filter(is_affected).count()
    }

    /// The affected classes of tests, then the affected tests, in the order in which they ran.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = AffectedRow<'_>> {
        self.tests.iter().map(AffectedTest::row)
    }

    fn of_kind(&self, is_class: bool) -> impl Iterator<Item = &str> {
        let tests = self.tests.iter().filter(move |test| test.is_class == is_class);
        tests.map(|test| &*test.name)
    }

    /// The classes of the affected tests, with their affected methods unless all are. A test whose name is not that of a method
    /// is left out: see [`without_class`](Self::without_class).
    #[must_use]
    pub fn by_class(&self) -> Vec<SelectedClass> {
        let mut all: BTreeMap<&str, BTreeSet<Option<&str>>> = BTreeMap::new();
        for (class, method) in self.all.iter().filter_map(|name| parts_of_name(name)) {
            all.entry(class).or_default().insert(method);
        }
        let mut selected: BTreeMap<&str, BTreeSet<Option<&str>>> = BTreeMap::new();
        for class in self.of_kind(true) {
            selected.entry(class).or_default().insert(None);
        }
        for (class, method) in self.of_kind(false).filter_map(parts_of_name) {
            selected.entry(class).or_default().insert(method);
        }
        let classes = selected.into_iter().map(|(class, methods)| {
            let is_whole = methods.contains(&None) || all.get(class) == Some(&methods);
            let methods = if is_whole { BTreeSet::new() } else { methods };
            let methods = methods.into_iter().flatten().map(str::to_owned).collect();
            SelectedClass { class: class.to_owned(), methods }
        });
        classes.collect()
    }

    /// The affected tests whose names do not have the form `pkg.Class.method`.
    pub fn without_class(&self) -> impl Iterator<Item = &str> {
        self.of_kind(false).filter(|name| parts_of_name(name).is_none())
    }
}

/// The class and the method of a test that is named `pkg.Class.method(int)[2]`. No method if the name has another form after
/// that of the class.
pub(in crate::ask) fn parts_of_name(name: &str) -> Option<(&str, Option<&str>)> {
    // Suites of Scala: `shop.CartSuite > adds all prices`.
    if let Some((class, _)) = name.split_once(" > ") {
        return Some((class, None));
    }
    let method = name.split(['(', '[']).next().unwrap_or_default();
    let (class, method) = method.rsplit_once('.')?;
    let is_class = !class.is_empty() && !class.contains(char::is_whitespace);
    // Brackets in a name with blanks may be part of it.
    let method = Some(method).filter(|method| !method.is_empty() && !method.ends_with(' '));
    is_class.then_some((class, method))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_classes_and_methods() {
        for (name, parts) in [
            ("com.app.ATest.one", Some(("com.app.ATest", Some("one")))),
            ("com.app.ATest.one(int)[2]", Some(("com.app.ATest", Some("one")))),
            ("com.app.ATest$In.one(java.lang.String)", Some(("com.app.ATest$In", Some("one")))),
            ("com.app.ATest.adds two", Some(("com.app.ATest", Some("adds two")))),
            ("com.app.ATest.adds two (slowly)", Some(("com.app.ATest", None))),
            ("shop.CartSuite > adds 1.5", Some(("shop.CartSuite", None))),
            ("a title. Of a test", None),
            ("title", None),
        ] {
            assert_eq!(parts_of_name(name), parts, "{name}");
        }
    }

    #[test]
    fn a_class_whose_tests_are_all_affected_is_selected_as_one() {
        let test = |name: &str, is_class| AffectedTest {
            name: name.to_owned(),
            is_class,
            why: Why::NotRun,
            through: String::new(),
            file: String::new(),
        };
        let all =
            ["a.A.one", "a.A.two(int)[1]", "a.A.two(int)[2]", "a.B.one", "a.B.two", "a.C.one"];
        let tests = vec![
            test("a.C", true),
            test("a.New", true),
            test("a.A.two(int)[2]", false),
            test("a.A.one", false),
            test("a.B.two", false),
            test("odd", false),
        ];
        let all = all.map(str::to_owned).to_vec();
        let found = Affected { tests, all, ..Affected::default() };
        let class = |class: &str, methods: &[&str]| SelectedClass {
            class: class.to_owned(),
            methods: methods.iter().map(|method| (*method).to_owned()).collect(),
        };
        let expected =
            [class("a.A", &[]), class("a.B", &["two"]), class("a.C", &[]), class("a.New", &[])];
        assert_eq!(found.by_class(), expected);
        assert_eq!(found.without_class().collect::<Vec<_>>(), ["odd"]);
        assert_eq!(found.count(), 4);
    }
}
