//! The init script that adds the agent to Gradle's workers.
//!
//! A Gradle daemon that is already running may keep its old environment, and then our variables do not reach the JVMs
//! that it starts. Options of the `gradle` command always do.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::cmd::recording::agent::as_text;
use crate::failure::Failure;

/// The file names of Gradle's commands: the wrapper, or an installed one.
const NAMES: [&str; 3] = ["gradlew", "gradle", "gw"];

/// Returns whether a command runs Gradle itself, perhaps through `env` or `nice`, so that Gradle's options can be
/// appended.
pub(super) fn is_gradle(command: &[OsString]) -> bool {
    command.iter().any(|word| {
        let name = Path::new(word).file_name().unwrap_or_default();
        NAMES.into_iter().any(|known| name == known)
    })
}

/// Refuses commands that do not run Gradle, for which appended options would mean something else.
pub(super) fn expect_gradle(command: &[OsString]) -> Result<(), Failure> {
    if is_gradle(command) {
        return Ok(());
    }
    let program = command.first().map(OsString::as_os_str).unwrap_or_default();
    Err(Failure::Usage(format!(
        "--gradle: expected a command that runs gradle or gradlew itself, found {}",
        program.display()
    )))
}

/// An init script that loads the agent into each JVM that runs tests or a program, with an option before all others and these
/// environment variables. It works with Gradle 4.4 to 9. While a task runs, it accesses neither the project nor the
/// script, as a configuration cache requires.
pub(super) fn init_script(
    agent: &str,
    first: Option<&str>,
    variables: &[(&str, OsString)],
) -> Result<String, Failure> {
    // Options of the build come later, and count.
    let first = first.map_or_else(String::new, |option| {
        format!("                jvmArgs = [{}] + jvmArgs\n", text(option))
    });
    let mut environment = String::new();
    for (name, value) in variables {
        let value = as_text(Path::new(OsStr::new(value)))?;
        let line = format!("                environment {}, {}\n", text(name), text(value));
        environment.push_str(&line);
    }
    Ok(format!(
        "\
// Made by flow record --gradle.
allprojects {{
    [Test, JavaExec].each {{ type ->
        tasks.withType(type) {{
            // Tasks that are up to date or in the build cache would not run.
            outputs.upToDateWhen {{ false }}
            outputs.doNotCacheIf('it is recorded') {{ true }}
            // Last of all: until then a build may replace the arguments.
            doFirst {{
{first}                jvmArgs {agent}
{environment}            }}
        }}
    }}
}}
",
        agent = text(agent)
    ))
}

/// A Groovy string literal.
fn text(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    out.push('\'');
    for c in value.chars() {
        match c {
            '\\' | '\'' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            _ => out.push(c),
        }
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_string_is_one_groovy_string() {
        let script = init_script(
            "-agentpath:/it's/lib.so=out=/a\\b,include=a$b.**",
            Some("-XX:One"),
            &[("FLOW_SESSION", "1\n'; System.exit(1)".into())],
        )
        .unwrap();
        assert!(script.contains("  jvmArgs = ['-XX:One'] + jvmArgs\n"), "{script}");
        assert!(script.contains(r"  jvmArgs '-agentpath:/it\'s/lib.so=out=/a\\b,include=a$b.**'"));
        assert!(
            script.contains(r"  environment 'FLOW_SESSION', '1\n\'; System.exit(1)'"),
            "{script}"
        );
    }

    #[test]
    fn braces_of_the_script_are_closed() {
        let script = init_script("-agentpath:/lib.so", None, &[]).unwrap();
        assert_eq!(script.matches('{').count(), script.matches('}').count(), "{script}");
    }

    #[test]
    fn only_gradle_takes_gradles_options() {
        let is = |words: &[&str]| is_gradle(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert!(is(&["./gradlew", "test"]) && is(&["env", "CI=1", "/opt/gradle/bin/gradle"]));
        assert!(!is(&["sh", "-c", "./gradlew test"]) && !is(&["mvn", "test"]) && !is(&[]));
    }
}
