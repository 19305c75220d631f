//! The independent counting agent, `counter.c`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;

use crate::Jdk;
use crate::compiled::Compiled;

/// Entries of each method, by key.
pub type Counts = BTreeMap<String, u64>;

/// The counting agent, compiled for a JDK.
#[derive(Debug)]
pub struct Counter(Compiled);

impl Counter {
    /// Compiles the agent.
    ///
    /// # Panics
    /// There is no C compiler, or the JDK has no headers.
    #[must_use]
    pub fn build(jdk: &Jdk) -> Self {
        Self(Compiled::agent("counter", jdk))
    }

    /// The argument that loads it.
    #[must_use]
    pub fn jvm_arg(&self) -> OsString {
        self.0.jvm_arg()
    }

    /// Reads what it counted, after the JVM has ended.
    ///
    /// # Panics
    /// It wrote nothing, or something else.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let text = fs::read_to_string(self.0.output()).expect("the counter has written its file");
        text.lines()
            .map(|line| {
                let (key, enters) =
                    line.split_once('\t').unwrap_or_else(|| panic!("two columns in {line:?}"));
                (key.to_owned(), enters.parse().expect("a count"))
            })
            .collect()
    }
}
