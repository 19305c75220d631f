//! Commands of flow that messages suggest, as this user types them.

use std::env;
use std::sync::LazyLock;

use super::escaped;

/// How flow was started, if that is not by the command `flow`. `Main.java` of the launcher sets it, quoted for a shell.
pub(crate) const STARTED_AS: &str = "FLOW_STARTED_AS";

/// Returns a command to type: `report DIR` becomes `flow report DIR`, or `java -jar flow-all.jar report DIR`.
pub(crate) fn flow_command(arguments: &str) -> String {
    format!("{} {arguments}", *STARTED)
}

/// Returns how flow was started, if another program passed it.
pub(crate) fn started_as() -> Option<&'static str> {
    (*STARTED != FLOW).then_some(&**STARTED)
}

const FLOW: &str = "flow";

static STARTED: LazyLock<String> = LazyLock::new(|| shown(env::var(STARTED_AS).ok()));

fn shown(variable: Option<String>) -> String {
    let given = variable.filter(|text| !text.trim().is_empty());
    given.map_or_else(|| FLOW.to_owned(), |text| escaped(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_variable_the_command_is_flow() {
        assert_eq!(shown(None), "flow");
        assert_eq!(shown(Some(" ".to_owned())), "flow");
    }

    #[test]
    fn the_command_of_a_launcher_is_kept_and_is_harmless() {
        let given = "java -jar '/a b/flow-all.jar'";
        assert_eq!(shown(Some(given.to_owned())), given);
        assert_eq!(shown(Some("java\u{1b}[31m".to_owned())), r"java\u{1b}[31m");
    }
}
