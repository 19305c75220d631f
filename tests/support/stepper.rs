//! The independent agent that reports instructions, `stepper.c`.

use std::ffi::OsString;
use std::fs;

use crate::Jdk;
use crate::compiled::Compiled;

/// An instruction that ran: the key of its method, its index, its opcode.
pub type Stepped = (String, u16, u8);

/// The agent, compiled for a JDK.
#[derive(Debug)]
pub struct Stepper(Compiled);

impl Stepper {
    /// Compiles the agent.
    ///
    /// # Panics
    /// There is no C compiler, or the JDK has no headers.
    #[must_use]
    pub fn build(jdk: &Jdk) -> Self {
        Self(Compiled::agent("stepper", jdk))
    }

    /// The argument that loads it, for classes whose internal names begin with `prefix`.
    #[must_use]
    pub fn jvm_arg(&self, prefix: &str) -> OsString {
        let mut arg = self.0.jvm_arg();
        arg.push(",");
        arg.push(prefix);
        arg
    }

    /// Reads what the thread `main` did, after the JVM has ended.
    ///
    /// # Panics
    /// The agent wrote nothing, or something else.
    #[must_use]
    pub fn steps(&self) -> Vec<Stepped> {
        let text = fs::read_to_string(self.0.output()).expect("the agent has written its file");
        text.lines()
            .map(|line| {
                let mut columns = line.split('\t');
                let mut column = || columns.next().expect("three columns");
                let key = column().to_owned();
                let at = column().parse().expect("an index");
                (key, at, column().parse().expect("an opcode"))
            })
            .collect()
    }
}
