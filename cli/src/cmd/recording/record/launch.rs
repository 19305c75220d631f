//! The command with the changes that load the agent into its JVMs.

use std::env;
use std::ffi::OsString;
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
        let mut command = args.command.clone();
        let mut variables = defaults.variables.clone();
        variables.push((SESSION, format!("{}-{}", std::process::id(), started.as_nanos()).into()));
        if args.gradle {
            let script = gradle::init_script(agent, &variables)?;
            command.extend(["--init-script".into(), defaults.keep("flow.gradle", &script)?.into()]);
            // A daemon that the command starts would keep these after the recording.
            variables.clear();
        } else if let [program, arguments @ ..] = command.as_slice()
            && is_java(program)
        {
            // A class passes through agents in the order in which they are named: those before this one see no probes.
            let after = own::words_to_last_agent(arguments, &Surroundings::of_children());
            command.insert(1 + after, agent.into());
        } else {
            let options = tool_options(env::var_os(JAVA_TOOL_OPTIONS), agent);
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

fn tool_options(existing: Option<OsString>, agent: &str) -> OsString {
    let mut options = existing.unwrap_or_default();
    if !options.is_empty() {
        options.push(" ");
    }
    options.push(quote(agent));
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_others_stay() {
        assert_eq!(tool_options(None, "-a"), "-a");
        assert_eq!(tool_options(Some(OsString::new()), "-a"), "-a");
        assert_eq!(tool_options(Some("-Xmx1g".into()), "-a b"), "-Xmx1g '-a b'");
    }
}
