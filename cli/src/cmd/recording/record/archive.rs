//! Recognises JVMs that write an archive of their classes (class data sharing). HotSpot refuses to start such a JVM with a
//! native agent: "CDS dumping does not support native JVMTI agent". The refusal comes before the agent is loaded.
//!
//! An AOT cache (JDK 24 and later) is neither used nor complete if an agent changes classes, as `engine=instrument` does.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::launch::VARIABLES;
use super::wrapped::java_arguments;
use crate::output::message;
use crate::own::{self, Surroundings};

/// Options with which a JVM writes an archive. With the last one it does so if no archive exists that it can use, which only
/// the JVM finds out.
const OPTIONS: [&str; 4] = [
    "-XX:ArchiveClassesAtExit=",
    "-Xshare:dump",
    "-XX:+RecordDynamicDumpInfo",
    "-XX:+AutoCreateSharedArchive",
];

/// Options for AOT caches that a JVM whose classes are changed does not follow, if all are given, and what to do instead.
const OF_CACHES: [(&[&str], &str); 3] = [
    (
        &["-XX:AOTMode=on", "-XX:AOTCache="],
        "the JVM does not start without its AOT cache, which it does not use while an agent changes classes: add \
         -O engine=events, or use -XX:AOTMode=auto",
    ),
    (&["-XX:AOTMode=record"], INCOMPLETE),
    (&["-XX:AOTCacheOutput="], INCOMPLETE),
];
const INCOMPLETE: &str = "the AOT cache will lack the recorded classes, because an agent changes them: make it without flow, or add \
                          -O engine=events";

/// A script is the first word of a command, or the second one after a shell. Only this many bytes of it are searched.
const SCRIPT_WORDS: usize = 2;
const SCRIPT_BYTES: u64 = 256 * 1024;

/// Returns the option because of which the only JVM of a command cannot have an agent, without its value.
pub(super) fn option_of(command: &[OsString]) -> Option<&'static str> {
    options_of_jvm(command).iter().find_map(|word| option(word))
}

/// Prints what to know about the AOT cache of the only JVM of a command, unless the agent's options leave classes unchanged.
pub(super) fn remark(command: &[OsString], options: &str) {
    if let Some(remark) = remark_of(command)
        && !options.split(',').any(|option| option == "engine=events")
    {
        message(&remark);
    }
}

fn remark_of(command: &[OsString]) -> Option<String> {
    let options = options_of_jvm(command);
    let is_there = |option: &&str| options.iter().any(|word| word.starts_with(*option));
    let (given, remark) = OF_CACHES.into_iter().find(|(given, _)| given.iter().all(is_there))?;
    Some(format!("with {} {remark}", without_value(given.first()?)))
}

/// The options of the only JVM of a command: those in variables, then its own.
fn options_of_jvm(command: &[OsString]) -> Vec<String> {
    let Some(arguments) = java_arguments(command) else { return Vec::new() };
    let variables = VARIABLES.iter().filter_map(|name| env::var(name).ok());
    let words = |options: String| options.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut options: Vec<_> = variables.flat_map(words).collect();
    options.extend(own::options_of_java(&arguments, &Surroundings::of_children()));
    options
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

    #[test]
    fn an_aot_cache_that_cannot_be_used_or_made_is_remarked() {
        let remark = |line: &str| remark_of(&words(line));
        let start = |line: &str| remark(line).unwrap()[..40].to_owned();
        assert_eq!(
            start("java -XX:AOTCache=a.aot -XX:AOTMode=on A"),
            "with -XX:AOTMode=on the JVM does not sta"
        );
        assert_eq!(
            start("java -XX:AOTCacheOutput=a.aot A"),
            "with -XX:AOTCacheOutput the AOT cache wi"
        );
        assert_eq!(remark("java -XX:AOTCache=a.aot -XX:AOTMode=auto A"), None);
        assert_eq!(remark("java -XX:AOTMode=on A -XX:AOTCache=a.aot"), None);
    }
}
