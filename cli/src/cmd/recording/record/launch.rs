//! The command with the changes that load the agent into its JVMs.

use std::env;
use std::ffi::{OsStr, OsString};
use std::time::Duration;

use super::argument::quote;
use super::defaults::Defaults;
use super::gradle;
use crate::args::RecordArgs;
use crate::cmd::recording::agent::{file_name, is_java};
use crate::failure::Failure;
use crate::own::{self, Surroundings};

/// Options for every JVM that is started.
const JAVA_TOOL_OPTIONS: &str = "JAVA_TOOL_OPTIONS";
/// Identifies the JVMs of one `flow record` to the agent: they keep each other's traces.
const SESSION: &str = "FLOW_SESSION";

/// Makes a JVM use only its first compiler.
const QUICK: &str = "-XX:TieredStopAtLevel=1";
/// Parts of options of JVMs that choose compilers, too.
const COMPILERS: [&str; 3] = ["TieredStopAtLevel", "TieredCompilation", "CompilationMode"];

/// A command line, and the environment variables to add.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) command: Vec<OsString>,
    pub(super) variables: Vec<(&'static str, OsString)>,
}

impl Launch {
    /// Adds the agent to the command. `agent` is the argument for a JVM.
    pub(super) fn new(
        args: &RecordArgs,
        agent: &str,
        defaults: &Defaults,
        started: Duration,
    ) -> Result<Self, Failure> {
        let quick = args.quick.then_some(QUICK);
        if quick.is_some() {
            expect_no_compiler(&args.command)?;
        }
        let mut command = args.command.clone();
        let mut variables = defaults.variables.clone();
        variables.push((SESSION, format!("{}-{}", std::process::id(), started.as_nanos()).into()));
        if args.gradle {
            let script = gradle::init_script(agent, quick, &variables)?;
            command.extend(["--init-script".into(), defaults.keep("flow.gradle", &script)?.into()]);
            // A daemon that the command starts would keep these after the recording.
            variables.clear();
        } else if let [program, arguments @ ..] = command.as_slice()
            && is_java(program)
        {
            // A class passes through agents in the order in which they are named: those before this one see no probes.
            let after = own::words_to_last_agent(arguments, &Surroundings::of_children());
            command.insert(1 + after, agent.into());
            command.splice(1..1, quick.map(OsString::from));
        } else {
            let options = tool_options(quick, env::var_os(JAVA_TOOL_OPTIONS), agent);
            variables.push((JAVA_TOOL_OPTIONS, options));
        }
        Ok(Self { command, variables })
    }

    /// Returns the command without the agent.
    pub(super) fn unrecorded(args: &RecordArgs) -> Self {
        Self { command: args.command.clone(), variables: Vec::new() }
    }
}

/// Variables with options of JVMs, in the order in which a JVM reads them.
pub(super) const VARIABLES: [&str; 3] = [JAVA_TOOL_OPTIONS, "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];

/// Returns the variable through which JVMs load an agent of flow, if there is one.
pub(super) fn other_agent() -> Option<&'static str> {
    let has_agent = |name: &&str| {
        let options = env::var_os(name).unwrap_or_default();
        options.to_string_lossy().contains(&format!("/{}", file_name()))
    };
    VARIABLES.into_iter().find(has_agent)
}

/// The option among some words for a JVM that chooses compilers, if there is one.
pub(super) fn compiler_option(words: &str) -> Option<&'static str> {
    COMPILERS.into_iter().find(|option| words.contains(option))
}

/// Refuses --quick if the JVMs get an option about compilers already: the trace would say what is not true.
fn expect_no_compiler(command: &[OsString]) -> Result<(), Failure> {
    let of_variables = VARIABLES.into_iter().filter_map(env::var_os);
    for words in of_variables.chain(command.iter().cloned()) {
        if let Some(option) = compiler_option(&words.to_string_lossy()) {
            return Err(Failure::Usage(format!(
                "--quick: the JVM gets an option with {option} already; leave out one of the two"
            )));
        }
    }
    Ok(())
}

/// Options of flow that others may override, those that are set already, and the agent.
fn tool_options(quick: Option<&str>, existing: Option<OsString>, agent: &str) -> OsString {
    let existing = existing.filter(|options| !options.is_empty());
    let all = quick.map(OsString::from).into_iter().chain(existing).chain([quote(agent).into()]);
    all.collect::<Vec<_>>().join(OsStr::new(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_others_stay() {
        assert_eq!(tool_options(None, None, "-a"), "-a");
        assert_eq!(tool_options(None, Some(OsString::new()), "-a"), "-a");
        assert_eq!(tool_options(None, Some("-Xmx1g".into()), "-a b"), "-Xmx1g '-a b'");
        assert_eq!(tool_options(Some(QUICK), None, "-a"), "-XX:TieredStopAtLevel=1 -a");
        assert_eq!(
            tool_options(Some(QUICK), Some("-Xmx1g".into()), "-a"),
            "-XX:TieredStopAtLevel=1 -Xmx1g -a"
        );
    }

    #[test]
    fn compilers_are_chosen_once() {
        let expect = |words: &[&str]| {
            expect_no_compiler(&words.iter().map(OsString::from).collect::<Vec<_>>())
        };
        assert!(expect(&["java", "-Xmx1g", "Main"]).is_ok());
        for option in ["-XX:-TieredCompilation", "-DargLine=-XX:TieredStopAtLevel=4"] {
            assert!(matches!(expect(&["mvn", option]), Err(Failure::Usage(_))), "{option}");
        }
    }
}
