//! Recognises JVMs that write an archive of their classes (class data sharing). HotSpot refuses to start such a JVM with a
//! native agent: "CDS dumping does not support native JVMTI agent". The refusal comes before the agent is loaded.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::launch::VARIABLES;
use super::wrapped::java_arguments;
use crate::own::{self, Surroundings};

/// Options with which a JVM writes an archive. With the last one it does so if no archive exists that it can use, which only
/// the JVM finds out.
const OPTIONS: [&str; 4] = [
    "-XX:ArchiveClassesAtExit=",
    "-Xshare:dump",
    "-XX:+RecordDynamicDumpInfo",
    "-XX:+AutoCreateSharedArchive",
];

/// A script is the first word of a command, or the second one after a shell. Only this many bytes of it are searched.
const SCRIPT_WORDS: usize = 2;
const SCRIPT_BYTES: u64 = 256 * 1024;

/// Returns the option because of which the only JVM of a command cannot have an agent, without its value.
pub(super) fn option_of(command: &[OsString]) -> Option<&'static str> {
    let arguments = java_arguments(command)?;
    let variables = VARIABLES.iter().filter_map(|name| env::var(name).ok()).collect::<Vec<_>>();
    let variables = variables.iter().flat_map(|options| options.split_whitespace());
    let options = own::options_of_java(&arguments, &Surroundings::of_children());
    variables.chain(options.iter().map(String::as_str)).find_map(option)
}

/// Returns such an option of any JVM that a command names, perhaps in a line of a shell or in a script.
pub(super) fn option_in(command: &[OsString]) -> Option<&'static str> {
    let scripts = command.iter().take(SCRIPT_WORDS).filter_map(script);
    let words = command.iter().map(|word| word.to_string_lossy().into_owned());
    let texts: Vec<_> = words.chain(scripts).collect();
    let find = |option: &&str| texts.iter().any(|text| text.contains(*option));
    OPTIONS.into_iter().find(find).map(without_value)
}

/// Returns the text of a script.
fn script(word: &OsString) -> Option<String> {
    let path = Path::new(word);
    let mut bytes = Vec::new();
    if !path.is_file() {
        return None;
    }
    File::open(path).ok()?.take(SCRIPT_BYTES).read_to_end(&mut bytes).ok()?;
    bytes.starts_with(b"#!").then(|| String::from_utf8_lossy(&bytes).into_owned())
}

fn option(word: &str) -> Option<&'static str> {
    OPTIONS.into_iter().find(|option| word.starts_with(option)).map(without_value)
}

fn without_value(option: &'static str) -> &'static str {
    option.trim_end_matches('=')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_jvm_that_writes_an_archive_is_recognized() {
        for (line, option) in [
            ("java -XX:ArchiveClassesAtExit=a.jsa -jar x.jar", "-XX:ArchiveClassesAtExit"),
            ("nice /jdk/bin/java -Xshare:dump", "-Xshare:dump"),
            ("java -XX:+AutoCreateSharedArchive A", "-XX:+AutoCreateSharedArchive"),
        ] {
            assert_eq!(option_of(&words(line)), Some(option), "{line}");
        }
        for other in ["java -Xshare:auto A", "java A -Xshare:dump", "mvn -Xshare:dump"] {
            assert_eq!(option_of(&words(other)), None, "{other}");
        }
        let script = ["sh".into(), "-c".into(), "java -Xshare:dump | tail".into()];
        assert_eq!((option_of(&script), option_in(&script)), (None, Some("-Xshare:dump")));
        assert_eq!(option_in(&words("mvn test")), None);
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("train");
        std::fs::write(&script, "#!/bin/sh\njava -XX:ArchiveClassesAtExit=a.jsa A\n").unwrap();
        let found = option_in(&["sh".into(), script.into_os_string()]);
        assert_eq!(found, Some("-XX:ArchiveClassesAtExit"));
    }
}
