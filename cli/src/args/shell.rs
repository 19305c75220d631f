//! Arguments of `flow help`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use clap_complete::Shell;

use super::help::{COMPLETIONS_HELP, MAN_HELP};

#[derive(ClapArgs, Debug)]
#[command(
    disable_help_subcommand = true,
    subcommand_value_name = "VERB",
    subcommand_help_heading = "Topics"
)]
pub(crate) struct HelpArgs {
    #[command(subcommand)]
    pub(crate) topic: Option<HelpTopic>,
}

/// What to explain.
#[derive(Subcommand, Debug)]
pub(crate) enum HelpTopic {
    /// Print the manual in the format of man
    #[command(after_long_help = MAN_HELP)]
    Man(ManArgs),
    /// Print a script that completes commands in a shell
    #[command(after_long_help = COMPLETIONS_HELP)]
    Completions(CompletionsArgs),
    /// A verb of flow.
    #[command(external_subcommand)]
    Verb(Vec<String>),
}

#[derive(ClapArgs, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ManArgs {
    /// Print the page of this verb
    pub(crate) verb: Option<String>,
    /// Write all pages into this directory
    #[arg(short, long, value_name = "DIR", conflicts_with = "verb")]
    pub(crate) out: Option<PathBuf>,
}
