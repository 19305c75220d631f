//! What the JVM knows about a method, and how it is asked.

use flow_codec::format::methods::MethodInfo;

use crate::filter::LoaderKind;

/// What the JVM passes for a method; meaningless once the class is unloaded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RawMethod(pub usize);

/// The loader that defined a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loader {
    /// Whether its classes belong to the JDK.
    pub kind: LoaderKind,
    /// Name of the loader in `methods.jsonl`.
    pub label: String,
}

impl Loader {
    /// Returns the class of the loader: the label of one of the program also has a number.
    pub fn class(&self) -> &str {
        self.label.rsplit_once('@').map_or(&self.label, |(class, _)| class)
    }
}

/// What the JVM knows about a method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MethodFacts {
    /// The fields of `methods.jsonl`, except source and line.
    pub info: MethodInfo,
    /// Who defined the class.
    pub loader: LoaderKind,
    /// Supertypes of the class that the filter is about.
    pub types: Vec<String>,
    /// Whether the method is native.
    pub native: bool,
    /// Whether the method is synthetic, apart from visibility bridges, which only make a method of a superclass visible.
    pub synthetic: bool,
    /// Whether the method is an accessor. May be `false` if the filter leaves none of these out.
    pub accessor: bool,
    /// Whether the class is hidden.
    pub hidden: bool,
}

/// Asks the JVM about one method, whose class is alive.
pub trait DescribeMethod {
    /// Returns the names and flags of the method; `None` if the JVM does not know them.
    fn facts(&self) -> Option<MethodFacts>;
    /// Sets the source file, the first line, and the lines that come from other code. Called only for methods that are
    /// recorded.
    fn locate(&self, info: &mut MethodInfo);
}
