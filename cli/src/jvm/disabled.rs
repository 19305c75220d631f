//! Finds out whether a JVM refuses to be attached to (`-XX:+DisableAttachMechanism`). The signal that asks a JVM to listen
//! would make such a JVM print its threads instead, on the standard output of the program.

use std::fs;
use std::io::Read;

use super::Process;

const FLAG: &str = "DisableAttachMechanism";
/// Variables with options of JVMs, in the order in which a JVM reads them. [`LAST_VARIABLE`] is read after the command line.
const VARIABLES: [&str; 2] = ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"];
const LAST_VARIABLE: &str = "_JAVA_OPTIONS";
/// The most bytes that are read; the file of any JVM has fewer.
const MAX_BYTES: u64 = 1 << 20;

/// Returns whether the JVM was started with the flag, as far as it is known from outside.
pub(super) fn is_attach_disabled(process: &Process) -> bool {
    match options_of_jvm(process).as_deref().and_then(last_setting) {
        Some(is_set) => is_set,
        // The flag is not in the file, or there is none. The file lacks options from some sources.
        None => {
            options_outside(process).iter().rev().find_map(|text| last_setting(text)) == Some(true)
        }
    }
}

/// Returns the options of a JVM, as the JVM itself shows them in a file for monitoring programs.
fn options_of_jvm(process: &Process) -> Option<String> {
    let tmp = process.root().join("tmp");
    let of_users = fs::read_dir(tmp)
        .ok()?
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("hsperfdata_"));
    let mut files = of_users.map(|dir| dir.path().join(process.own_pid().to_string()));
    let file = files.find(|file| file.is_file())?;
    let mut bytes = Vec::new();
    fs::File::open(file).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the options that a JVM was given, in the order in which it reads them.
fn options_outside(process: &Process) -> Vec<String> {
    let variable = |name| process.variable(name).map(|text| text.to_string_lossy().into_owned());
    let words = process.command();
    let words = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
    // The words after a jar are arguments of the program.
    let options = words.take_while(|word| word != "-jar");
    let before = VARIABLES.iter().filter_map(|name| variable(name));
    before.chain(options).chain(variable(LAST_VARIABLE)).collect()
}

/// Returns how the last option in a text sets the flag.
fn last_setting(text: &str) -> Option<bool> {
    let before = text.get(..text.rfind(FLAG)?)?;
    match before.strip_suffix("-XX:+") {
        Some(_) => Some(true),
        None => before.strip_suffix("-XX:-").map(|_| false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_option_decides() {
        for (text, expected) in [
            ("-Xint -XX:+DisableAttachMechanism -cp x", Some(true)),
            ("-XX:+DisableAttachMechanism -XX:-DisableAttachMechanism", Some(false)),
            ("\0java.rt.vmArgs\0-XX:+DisableAttachMechanism\0", Some(true)),
            ("DisableAttachMechanism", None),
            ("-Xint", None),
        ] {
            assert_eq!(last_setting(text), expected, "{text}");
        }
    }
}
