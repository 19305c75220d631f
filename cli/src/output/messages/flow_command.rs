//! Commands of flow that messages suggest, as this user types them.

use std::env;
use std::ffi::OsString;
use std::path::MAIN_SEPARATOR;
use std::sync::LazyLock;

use super::super::{escaped, shell_quoted};

/// How flow was started, if that is not by the command `flow`. `Main.java` of the launcher sets it, quoted for a shell.
pub(crate) const STARTED_AS: &str = "FLOW_STARTED_AS";

/// Returns a command to type: `report DIR` becomes `flow report DIR`, or `java -jar flow-all.jar report DIR`.
pub(crate) fn flow_command(arguments: &str) -> String {
    format!("{} {arguments}", *STARTED)
}

/// Returns how flow was started, if that is not by the command `flow`.
pub(crate) fn started_as() -> Option<&'static str> {
    (*STARTED != FLOW).then_some(&**STARTED)
}

const FLOW: &str = "flow";

static STARTED: LazyLock<String> = LazyLock::new(|| {
    let is_found = || {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path).any(|dir| dir.join(FLOW).is_file())
    };
    shown(env::var(STARTED_AS).ok(), env::args_os().next(), is_found)
});

/// How to start flow: as the variable says, or by the path that was typed if the shell does not find flow without it.
fn shown(
    variable: Option<String>,
    typed: Option<OsString>,
    is_found: impl FnOnce() -> bool,
) -> String {
    if let Some(given) = variable.filter(|text| !text.trim().is_empty()) {
        return escaped(&given).into_owned();
    }
    let typed = typed.and_then(|typed| typed.into_string().ok());
    match typed.filter(|typed| typed.contains(MAIN_SEPARATOR)) {
        Some(typed) if !is_found() => escaped(&shell_quoted(&typed)).into_owned(),
        _ => FLOW.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(variable: Option<&str>, typed: &str, is_found: bool) -> String {
        shown(variable.map(str::to_owned), Some(typed.into()), || is_found)
    }

    #[test]
    fn a_command_that_the_shell_finds_is_flow() {
        assert_eq!(started(None, "flow", false), "flow");
        assert_eq!(started(None, "/usr/bin/flow", true), "flow");
        assert_eq!(started(Some(" "), "/usr/bin/flow", true), "flow");
        assert_eq!(shown(None, None, || false), "flow");
    }

    #[test]
    fn another_one_is_the_path_that_was_typed() {
        assert_eq!(started(None, "target/release/flow", false), "target/release/flow");
        assert_eq!(started(None, "/my tools/flow", false), "'/my tools/flow'");
    }

    #[test]
    fn the_command_of_a_launcher_is_kept_and_is_harmless() {
        let given = "java -jar '/a b/flow-all.jar'";
        assert_eq!(started(Some(given), "/cache/flow", false), given);
        assert_eq!(started(Some("java\u{1b}[31m"), "flow", true), r"java\u{1b}[31m");
    }
}
