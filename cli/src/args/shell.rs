//! What shells and manuals are made of.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap_complete::Shell;

#[derive(ClapArgs, Debug)]
pub(crate) struct CompletionsArgs {
    /// Of which shell
    pub(crate) shell: Shell,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ManArgs {
    /// The page of this verb
    pub(crate) verb: Option<String>,
    /// Write all pages into this directory
    #[arg(short, long, value_name = "DIR", conflicts_with = "verb")]
    pub(crate) out: Option<PathBuf>,
}
