//! Arguments of `flow export`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueHint};

use crate::export::Target;
use crate::input::flags::{DEFAULT_DIR, PartArgs, TimeArgs, WeightArgs};
use crate::input::values::positive;

#[derive(ClapArgs, Debug)]
pub(crate) struct ExportArgs {
    /// The trace: a directory, a .flowtrace file, or - for such a file on standard input
    #[arg(value_name = "DIR", default_value = DEFAULT_DIR, value_hint = ValueHint::AnyPath)]
    pub(crate) dir: PathBuf,
    /// What to write
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Target,
    /// Where to write it [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
    /// Write the samples of a trace, even if it has calls: as collapsed, svg, pprof or hpl
    #[arg(long)]
    pub(crate) samples: bool,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Write only the N outermost calls of a stack
    ///
    /// Deeper calls count for these.
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) depth: Option<u64>,
    #[command(flatten)]
    pub(crate) weight: WeightArgs,
    #[command(flatten)]
    pub(crate) when: TimeArgs,
    /// Write the file even if it is too large for its viewer
    #[arg(long)]
    pub(crate) force: bool,
    /// Print how large the file would be, and write nothing
    #[arg(long)]
    pub(crate) estimate: bool,
}
