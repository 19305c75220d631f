//! The command line.

use std::path::PathBuf;

use crate::shapes::Shape;

/// Shown when the command line is wrong.
pub(crate) const USAGE: &str = "usage: generate [--calls N] [--shape real|fib|deep|wide|tests] \
                                [--threads T] [--seed S] [--methods M] [--clock NANOSECONDS] DIR";

/// What to write, and where.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) calls: u64,
    pub(crate) shape: Shape,
    pub(crate) threads: u64,
    pub(crate) seed: u64,
    pub(crate) methods: u32,
    /// Nanoseconds between two time marks.
    pub(crate) clock: Option<u64>,
    pub(crate) dir: PathBuf,
}

impl Options {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            calls: 100_000_000,
            shape: Shape::Real,
            threads: 1,
            seed: 1,
            methods: 5_000,
            clock: None,
            dir: PathBuf::new(),
        };
        while let Some(word) = words.next() {
            if !word.starts_with("--") {
                if !options.dir.as_os_str().is_empty() {
                    return Err(format!("a second directory: {word}"));
                }
                options.dir = word.into();
                continue;
            }
            let value = words.next().ok_or_else(|| format!("{word} wants a value"))?;
            let bad = || format!("{word} cannot be {value}");
            match &*word {
                "--calls" => options.calls = count(&value).ok_or_else(bad)?,
                "--shape" => options.shape = Shape::parse(&value).ok_or_else(bad)?,
                "--threads" => options.threads = count(&value).ok_or_else(bad)?,
                "--clock" => options.clock = Some(count(&value).ok_or_else(bad)?),
                "--seed" => options.seed = value.parse().map_err(|_| bad())?,
                "--methods" => {
                    let methods = count(&value).and_then(|count| u32::try_from(count).ok());
                    options.methods = methods.filter(|&count| count <= 1 << 24).ok_or_else(bad)?;
                }
                _ => return Err(format!("unknown option {word}")),
            }
        }
        if options.dir.as_os_str().is_empty() {
            return Err("no directory".to_owned());
        }
        Ok(options)
    }
}

/// A number from 1 on, with or without a suffix `k`, `M` or `G`.
fn count(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        b'G' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|&count| count > 0)
}
