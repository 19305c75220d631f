//! What threads or tests did, as names of shapes: a few kilobytes, to compare later runs with.
//!
//! A text of lines, each an array in JSON. The first one has the version:
//!
//! | place | value |
//! |---:|---|
//! | 0 | `flow-baseline` |
//! | 1 | [`VERSION`] |
//!
//! Each *unit* follows, a thread or a test on one thread:
//!
//! | place | value |
//! |---:|---|
//! | 0 | `thread` or `test` |
//! | 1 | its name |
//! | 2 | the number of its calls |
//! | 3 | the [name](super::shape_name) of all it did, 32 digits |
//!
//! and after it an *outline* of its largest calls, each after its caller:
//!
//! | place | value |
//! |---:|---|
//! | 0 | its level: 1 for an outermost call, 2 for one that this makes |
//! | 1 | how many consecutive calls of this shape |
//! | 2 | the number of calls in one of them, itself included |
//! | 3 | the name of its shape |
//! | 4 | its method, in full |
//!
//! Either all calls that a call makes are in the outline, or none of them.
//!
//! A reader refuses another version, and a line that is none of these.
//!
//! # Example
//!
//! ```text
//! ["flow-baseline",1]
//! ["thread","main",3,"2e823b0e4b0bfd6165bb58e3dd2c5079"]
//! [1,1,3,"1ac906bc5c63e9daec25dec3b855ed89","x.A.f()V"]
//! [2,2,1,"2e823b0e4b0bfd6165bb58e3dd2c5079","x.A.g()V"]
//! ```

use std::fmt::Write as _;

/// The word in the first line.
pub const MAGIC: &str = "flow-baseline";
/// The version of this format.
pub const VERSION: u64 = 1;

/// What a run did.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Baseline {
    /// Its threads, or its tests.
    pub units: Vec<Unit>,
}

/// What a unit is.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnitKind {
    /// A thread.
    Thread,
    /// A test, on one thread.
    Test,
}

/// A thread or a test.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unit {
    /// Which of them.
    pub kind: UnitKind,
    /// Its name.
    pub name: String,
    /// The number of its calls.
    pub calls: u64,
    /// The digits of the name of all it did.
    pub shape: String,
    /// Its largest calls, each after its caller.
    pub outline: Vec<OutlinedCall>,
}

/// Consecutive calls of one shape.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutlinedCall {
    /// 1 for outermost calls.
    pub level: u64,
    /// How many.
    pub count: u64,
    /// The calls in one of them.
    pub calls: u64,
    /// The digits of the name of their shape.
    pub shape: String,
    /// Their method, in full.
    pub method: String,
}

impl UnitKind {
    /// The word in the file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Test => "test",
        }
    }
}

impl Baseline {
    /// Returns whether a file begins like a baseline.
    #[must_use]
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.strip_prefix(b"[\"").is_some_and(|rest| rest.starts_with(MAGIC.as_bytes()))
    }

    /// The lines of the file.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut text = format!("[\"{MAGIC}\",{VERSION}]\n");
        let quoted = |text: &str| serde_json::Value::from(text);
        for unit in &self.units {
            let Unit { kind, name, calls, shape, outline } = unit;
            let (kind, name, shape) = (quoted(kind.word()), quoted(name), quoted(shape));
            // Writing to a string does not fail.
            let _ = writeln!(text, "[{kind},{name},{calls},{shape}]");
            for OutlinedCall { level, count, calls, shape, method } in outline {
                let (shape, method) = (quoted(shape), quoted(method));
                let _ = writeln!(text, "[{level},{count},{calls},{shape},{method}]");
            }
        }
        text
    }

    /// Reads the lines of a file.
    ///
    /// # Errors
    /// The number of the line that cannot be read, from 1 on.
    pub fn decode(text: &str) -> Result<Self, usize> {
        let mut lines = (1..).zip(text.lines());
        let version: Option<(String, u64)> =
            lines.next().and_then(|(_, line)| serde_json::from_str(line).ok());
        if version != Some((MAGIC.to_owned(), VERSION)) {
            return Err(1);
        }
        let mut units: Vec<Unit> = Vec::new();
        for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
            if let Ok((kind, name, calls, shape)) =
                serde_json::from_str::<(String, String, u64, String)>(line)
            {
                let kinds = [UnitKind::Thread, UnitKind::Test];
                let kind = kinds.into_iter().find(|is| is.word() == kind).ok_or(number)?;
                units.push(Unit { kind, name, calls, shape, outline: Vec::new() });
                continue;
            }
            let call = serde_json::from_str::<(u64, u64, u64, String, String)>(line);
            let (level, count, calls, shape, method) = call.map_err(|_| number)?;
            let unit = units.last_mut().ok_or(number)?;
            let before = unit.outline.last().map_or(0, |call| call.level);
            if level == 0 || level > before.saturating_add(1) {
                return Err(number);
            }
            unit.outline.push(OutlinedCall { level, count, calls, shape, method });
        }
        Ok(Self { units })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_read_and_written() {
        let example = "[\"flow-baseline\",1]\n\
            [\"thread\",\"main\",3,\"2e823b0e4b0bfd6165bb58e3dd2c5079\"]\n\
            [1,1,3,\"1ac906bc5c63e9daec25dec3b855ed89\",\"x.A.f()V\"]\n\
            [2,2,1,\"2e823b0e4b0bfd6165bb58e3dd2c5079\",\"x.A.g()V\"]\n";
        let page = include_str!("baseline.rs");
        for line in example.lines() {
            assert!(page.contains(&format!("//! {line}\n")), "{line}");
        }
        let baseline = Baseline::decode(example).unwrap();
        assert!(Baseline::is_one(example.as_bytes()));
        assert_eq!((baseline.units.len(), baseline.units[0].outline.len()), (1, 2));
        assert_eq!(baseline.encode(), example);
    }

    #[test]
    fn what_is_no_baseline_is_refused_with_its_line() {
        let read = |lines: &str| Baseline::decode(lines);
        assert_eq!(read(""), Err(1));
        assert_eq!(read("[\"flow-baseline\",2]"), Err(1));
        let first = "[\"flow-baseline\",1]\n";
        assert_eq!(read(&format!("{first}[1,1,3,\"a\",\"b\"]")), Err(2));
        assert_eq!(read(&format!("{first}[\"method\",\"main\",3,\"a\"]")), Err(2));
        let unit = format!("{first}[\"test\",\"a \\\" b\",3,\"a\"]\n");
        assert_eq!(read(&format!("{unit}[2,1,3,\"a\",\"b\"]")), Err(3));
        assert_eq!(read(&format!("{unit}{{}}")), Err(3));
        assert_eq!(read(&unit).unwrap().encode(), unit);
    }
}
