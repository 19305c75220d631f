//! Names as class files have them.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::format::methods::MethodInfo;

/// What identifies a method in any trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Name<'a> {
    /// Binary class name: `com.app.Orders$Line`.
    pub class: &'a str,
    /// Method name.
    pub name: &'a str,
    /// JVM descriptor.
    pub descriptor: &'a str,
    /// What is known of its source.
    #[doc(hidden)]
    pub origin: Origin<'a>,
}

/// What the source file and the flags of a method show, where its name alone is not certain. It does not identify a method:
/// any two are equal.
#[derive(Clone, Copy, Eq, Default, Debug)]
pub struct Origin<'a>(pub(super) Source<'a>);

impl PartialEq for Origin<'_> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Ord for Origin<'_> {
    fn cmp(&self, _: &Self) -> Ordering {
        Ordering::Equal
    }
}

impl PartialOrd for Origin<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Origin<'_> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<'a> From<&'a MethodInfo> for Origin<'a> {
    fn from(info: &'a MethodInfo) -> Self {
        match &info.interface {
            Some(interface) => Self(Source::Proxy(interface)),
            None => Self(source_of(info)),
        }
    }
}

fn source_of(info: &MethodInfo) -> Source<'static> {
    let source = info.source.as_deref().unwrap_or_default();
    let has = |flag: &str| info.flags.iter().any(|other| other == flag);
    let is_local = || has("static") && !has("public") && !has("protected");
    if source.ends_with(".scala") {
        Source::Scala
    } else if source.ends_with(".kt") && (is_local() || info.name.starts_with("access$")) {
        Source::KotlinLocal
    } else {
        Source::Unknown
    }
}

/// An [`Origin`] that outlives what is known about its method. Any two are equal, too.
#[derive(Clone, Default, Debug)]
pub struct KeptOrigin {
    source: Source<'static>,
    interface: Option<Box<str>>,
}

impl KeptOrigin {
    /// Returns what it keeps.
    #[must_use]
    pub fn origin(&self) -> Origin<'_> {
        Origin(self.interface.as_deref().map_or(self.source, Source::Proxy))
    }
}

impl From<&MethodInfo> for KeptOrigin {
    fn from(info: &MethodInfo) -> Self {
        Self { source: source_of(info), interface: info.interface.clone() }
    }
}

impl PartialEq for KeptOrigin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for KeptOrigin {}

impl Ord for KeptOrigin {
    fn cmp(&self, _: &Self) -> Ordering {
        Ordering::Equal
    }
}

impl PartialOrd for KeptOrigin {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for KeptOrigin {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Source<'a> {
    #[default]
    Unknown,
    /// Of Kotlin, and no method that others may call by its name.
    KotlinLocal,
    Scala,
    /// Of a proxy: the method implements this interface.
    Proxy(&'a str),
}

impl<'a> From<&'a MethodInfo> for Name<'a> {
    fn from(info: &'a MethodInfo) -> Self {
        Self::new(&info.class, &info.name, &info.descriptor).of(Origin::from(info))
    }
}

impl fmt::Display for Name<'_> {
    /// The full form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.class.is_empty() { "" } else { "." };
        write!(f, "{}{dot}{}{}", self.class, self.name, self.descriptor)
    }
}

impl<'a> Name<'a> {
    /// A name of whose source nothing is known.
    #[must_use]
    pub fn new(class: &'a str, name: &'a str, descriptor: &'a str) -> Self {
        Self { class, name, descriptor, origin: Origin::default() }
    }

    /// Returns the name with what is known of its source.
    #[doc(hidden)]
    #[must_use]
    pub fn of(self, origin: Origin<'a>) -> Self {
        Self { origin, ..self }
    }

    /// Splits the full form.
    #[must_use]
    pub fn parse(full: &'a str) -> Self {
        // A descriptor has one parenthesis that opens; a name may have some.
        let (name, descriptor) = full.split_at(full.rfind('(').unwrap_or(full.len()));
        let (class, name) = name.rsplit_once('.').unwrap_or(("", name));
        Self::new(class, name, descriptor)
    }
}
