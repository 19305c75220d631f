//! Arguments of `flow view`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueHint};

use crate::input::flags::{DEFAULT_DIR, PartArgs};
use crate::input::place::From;

#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct ViewArgs {
    /// The trace: a directory, a .flowtrace file, or the process id of a JVM that is recorded
    #[arg(value_name = "SOURCE", default_value = DEFAULT_DIR, value_hint = ValueHint::AnyPath)]
    pub(crate) source: String,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Begin at this position of the thread
    ///
    /// The number of a call, THREAD:N (with the id of its thread), event:N, offset:N, or a time such as 1.5s. If the trace has
    /// several threads, choose one with --thread.
    #[arg(long, value_name = "POSITION")]
    pub(crate) from: Option<From>,
    /// Show source files below this folder; repeatable [default: src/main/java and the like, here]
    #[arg(long = "source", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) sources: Vec<PathBuf>,
    /// Print the first screen and end
    #[arg(long)]
    pub(crate) once: bool,
    /// Lines of the screen, with --once
    #[arg(long, value_name = "N", default_value = "24", requires = "once")]
    #[arg(value_parser = clap::value_parser!(u16).range(5..))]
    pub(crate) height: u16,
}
