//! The agent on a JVM's command line: where the library is, and how it is told what to do.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};

use super::{absolute, as_text};
use crate::failure::Failure;

/// Finds the agent library: where the user says, or beside this program.
pub(super) fn library(given: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(given) = given {
        if given.is_file() {
            return absolute(given);
        }
        let reason = if given.exists() { "not a file" } else { "no such file" };
        return Err(Failure::Failed(format!(
            "--agent {}: {reason}; expected the agent library {}",
            given.display(),
            file_name()
        )));
    }
    let program = std::env::current_exe()
        .map_err(|error| Failure::Failed(format!("where this program is: {error}; use --agent")))?;
    let places = places(&program);
    places.iter().find(|place| place.is_file()).cloned().ok_or_else(|| {
        let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
        Failure::Failed(format!(
            "the agent library is missing: neither {}; build it with cargo build --release, or say \
             where it is with --agent PATH",
            places.join(" nor ")
        ))
    })
}

fn file_name() -> String {
    format!("{DLL_PREFIX}flowagent{DLL_SUFFIX}")
}

fn places(program: &Path) -> Vec<PathBuf> {
    let beside = program.parent().unwrap_or(Path::new("."));
    // An installed program stands in bin.
    let lib = beside.parent().unwrap_or(beside).join("lib");
    vec![beside.join(file_name()), lib.join(file_name())]
}

/// The argument that loads the agent into a JVM.
pub(super) fn argument(library: &Path, options: &str) -> Result<String, Failure> {
    let library = as_text(library)?;
    if library.contains('=') {
        return Err(Failure::Failed(format!(
            "{library}: a JVM takes what follows '=' for options; move the agent library to a path \
             without it"
        )));
    }
    Ok(format!("-agentpath:{library}={options}"))
}

/// Options of the agent.
#[derive(Default, Debug)]
pub(super) struct AgentOptions(Vec<(String, String)>);

impl AgentOptions {
    /// Adds an option, which must be new.
    pub(super) fn add(&mut self, key: &str, value: &str) -> Result<(), Failure> {
        if self.0.iter().any(|(known, _)| known == key) {
            return Err(Failure::Usage(format!(
                "the agent's option '{key}' is set twice; keep one"
            )));
        }
        self.0.push((key.to_owned(), value.to_owned()));
        Ok(())
    }

    /// The option string: `key=value`, separated by commas. A comma in a value is escaped with a
    /// backslash; a backslash has no escape, so a value that ends in one has to stand last.
    pub(super) fn encode(mut self) -> Result<String, Failure> {
        let ends_badly = |(_, value): &(String, String)| value.ends_with('\\');
        let (mut options, last): (Vec<_>, Vec<_>) =
            self.0.drain(..).partition(|option| !ends_badly(option));
        if let [(first, _), (second, _), ..] = last.as_slice() {
            return Err(Failure::Usage(format!(
                "the agent's options '{first}' and '{second}' both end in a backslash; only one can"
            )));
        }
        options.extend(last);
        let options: Vec<_> = options
            .iter()
            .map(|(key, value)| format!("{key}={}", value.replace(',', "\\,")))
            .collect();
        Ok(options.join(","))
    }
}

/// An option as one word of `JAVA_TOOL_OPTIONS`: HotSpot splits at blanks, takes what stands between
/// quotes of either kind as it is, and knows no escape.
pub(super) fn quote(option: &str) -> String {
    let blank = |c: char| c.is_ascii_whitespace() || c == '\u{b}';
    if !option.contains(|c| blank(c) || c == '\'' || c == '"') {
        return option.to_owned();
    }
    let mut out = String::with_capacity(option.len() + 8);
    for part in option.split_inclusive('\'') {
        let plain = part.strip_suffix('\'').unwrap_or(part);
        if !plain.is_empty() {
            out.extend(["'", plain, "'"]);
        }
        if plain.len() < part.len() {
            out.push_str("\"'\"");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> Result<String, Failure> {
        let mut options = AgentOptions::default();
        for (key, value) in pairs {
            options.add(key, value)?;
        }
        options.encode()
    }

    #[test]
    fn commas_are_escaped_and_a_last_backslash_stands_last() {
        assert_eq!(
            options(&[("out", "/t,r\\x\\,y"), ("target", "a.")]).unwrap(),
            r"out=/t\,r\x\\,y,target=a."
        );
        assert_eq!(options(&[("out", "/t\\"), ("log", "info")]).unwrap(), r"log=info,out=/t\");
        assert!(options(&[("out", "a\\"), ("ids", "b\\")]).is_err());
        assert!(options(&[("log", "info"), ("log", "warn")]).is_err());
    }

    /// What HotSpot does with `JAVA_TOOL_OPTIONS` (`Arguments::parse_options_buffer`).
    fn hotspot(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut chars = text.chars().peekable();
        loop {
            while chars.next_if(char::is_ascii_whitespace).is_some() {}
            if chars.peek().is_none() {
                return words;
            }
            let mut word = String::new();
            while let Some(c) = chars.next_if(|c| !c.is_ascii_whitespace()) {
                match c {
                    '\'' | '"' => word.extend(chars.by_ref().take_while(|next| *next != c)),
                    c => word.push(c),
                }
            }
            words.push(word);
        }
    }

    #[test]
    fn quoted_options_come_out_of_the_jvm_as_they_went_in() {
        for option in [
            "-agentpath:/a/lib.so=out=/tmp/t",
            "-agentpath:/my libs/lib.so=out=/t\tx",
            "-agentpath:/it's/\"quoted\" here/lib.so=out=''",
            "'",
            "\"",
        ] {
            assert_eq!(hotspot(&quote(option)), [option]);
            assert_eq!(hotspot(&format!("-Xmx1g {}", quote(option))), ["-Xmx1g", option]);
        }
        assert_eq!(quote("-agentpath:/a=b"), "-agentpath:/a=b");
    }

    #[test]
    fn the_library_stands_beside_the_program_or_in_lib() {
        let names: Vec<_> = places(Path::new("/opt/flow/bin/flow"))
            .iter()
            .map(|place| place.parent().unwrap().display().to_string())
            .collect();
        assert_eq!(names, ["/opt/flow/bin", "/opt/flow/lib"]);
    }

    #[test]
    fn a_library_a_jvm_would_cut_short_is_refused() {
        assert!(argument(Path::new("/a=b/lib.so"), "out=x").is_err());
        assert_eq!(argument(Path::new("/a/l.so"), "out=x").unwrap(), "-agentpath:/a/l.so=out=x");
    }
}
