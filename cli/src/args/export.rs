//! Arguments of `flow export`.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::builder::PossibleValue;
use clap::{Args as ClapArgs, ValueEnum, ValueHint};
use flow_codec::write::Compression;

use super::given::{expect, given};
use crate::export::{CoverageFormat, Target};
use crate::failure::Failure;
use crate::input::flags::{DEFAULT_DIR, ORDER, OUTPUT, PartArgs, TimeArgs, WeightArgs};
use crate::input::values::positive;

/// What is written: the whole trace in another form, or calls in the format of a tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum To {
    /// One file.
    Flowtrace,
    /// A directory of `.flow` files.
    Flow,
    /// What threads or tests did, to compare other runs with.
    Baseline,
    /// Tables of behaviours.
    Shapes,
    /// Which lines were reached.
    Coverage(CoverageFormat),
    Tool(Target),
}

impl ValueEnum for To {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<To>> = LazyLock::new(|| {
            let tools = Target::value_variants().iter().copied().map(To::Tool);
            let coverage = CoverageFormat::value_variants().iter().copied().map(To::Coverage);
            let own = [To::Shapes, To::Flowtrace, To::Flow, To::Baseline];
            tools.chain(coverage).chain(own).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let value = |name, help| Some(PossibleValue::new(name).help(help));
        match self {
            Self::Flowtrace => {
                value("flowtrace", "The whole trace as one small file, which every verb reads")
            }
            Self::Flow => value(
                "flow",
                "The whole trace as a directory of .flow files, the same as were recorded",
            ),
            Self::Baseline => value(
                "baseline",
                "What each thread did, or with --test each test, for flow diff --exact FILE DIR",
            ),
            Self::Shapes => value(
                "parquet-shapes",
                "Small tables of what threads and tests did, to compare many runs and machines in a database",
            ),
            Self::Coverage(format) => format.to_possible_value(),
            Self::Tool(target) => target.to_possible_value(),
        }
    }
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ExportArgs {
    /// The trace: a .flowtrace file, - for such a file on standard input, a directory, the newest run in a folder of recordings, or an
    /// .hpl log of samples
    #[arg(value_name = "TRACE", default_value = DEFAULT_DIR, value_hint = ValueHint::AnyPath)]
    pub(crate) dir: PathBuf,
    /// What to write
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: To,
    /// Where to write it: a file, or a new directory for tables [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
    /// Write the samples of a trace, even if it has calls: as collapsed, svg, pprof, otlp-profile or hpl
    #[arg(long)]
    pub(crate) samples: bool,
    /// For lcov and cobertura: the folders with source files, repeatable [default: those of the project in this directory]
    #[arg(long = "source", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) sources: Vec<PathBuf>,
    /// For parquet and parquet-shapes: the name of the program in each row [default: -Dotel.service.name of its command, or else its
    /// main class or jar]
    #[arg(long, value_name = "NAME")]
    pub(crate) service: Option<String>,
    /// For parquet and parquet-shapes: the commit of the program in each row, such as "$(git rev-parse HEAD)"
    #[arg(long, value_name = "ID")]
    pub(crate) commit: Option<String>,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    #[command(flatten)]
    pub(crate) when: TimeArgs,
    /// Write only the N outermost calls of a stack
    ///
    /// Deeper calls count for these.
    #[arg(long, value_name = "N", value_parser = positive, help_heading = ORDER)]
    pub(crate) depth: Option<u64>,
    #[command(flatten)]
    pub(crate) weight: WeightArgs,
    /// How to compress a flowtrace: off, lz4, or zstd:N with a level N from 1 to 19 [default: zstd:6]
    #[arg(long, value_name = "HOW", help_heading = OUTPUT)]
    pub(crate) compress: Option<Compression>,
    /// Write the file even if it is too large for its viewer
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) force: bool,
    /// Print how large the file would be, and write nothing
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) estimate: bool,
}

/// A trace to write in another form.
#[derive(Debug)]
pub(crate) struct ConvertArgs {
    pub(crate) dir: PathBuf,
    pub(crate) out: PathBuf,
    /// Whether one file is written, not a directory.
    pub(crate) is_file: bool,
    pub(crate) compress: Option<Compression>,
}

/// What threads or tests did, to write to a file or to standard output.
#[derive(Debug)]
pub(crate) struct BaselineArgs {
    pub(crate) dir: PathBuf,
    pub(crate) out: Option<PathBuf>,
    pub(crate) part: PartArgs,
}

/// What threads and tests did, to write as tables.
#[derive(Debug)]
pub(crate) struct ShapeTablesArgs {
    pub(crate) dir: PathBuf,
    pub(crate) out: PathBuf,
    pub(crate) part: PartArgs,
    pub(crate) service: Option<String>,
    pub(crate) commit: Option<String>,
}

/// Which lines were reached, to write to a file or to standard output.
#[derive(Debug)]
pub(crate) struct CoverageArgs {
    pub(crate) dir: PathBuf,
    pub(crate) out: Option<PathBuf>,
    pub(crate) part: PartArgs,
    pub(crate) sources: Vec<PathBuf>,
}

impl ExportArgs {
    /// Refuses flags that do not apply to what is written.
    fn expect(&self, what: &str, has_part: bool, has_sources: bool) -> Result<(), Failure> {
        let PartArgs { threads, tests, filter, within, request, context } = &self.part;
        let mut all = self.when.given();
        all.extend(given(&[
            ("--thread", !has_part && !threads.patterns.is_empty()),
            ("--test", !has_part && !tests.patterns.is_empty()),
            ("--in", within.is_some()),
            ("--request", request.is_some()),
            ("--context", context.is_some()),
            ("--include", !has_part && !filter.include.is_empty()),
            ("--exclude", !has_part && !filter.exclude.is_empty()),
            ("--own", !has_part && filter.own),
            ("--depth", self.depth.is_some()),
            ("--by", self.weight.by.is_some()),
            ("--samples", self.samples),
            ("--force", self.force),
            ("--estimate", self.estimate),
            ("--source", !has_sources && !self.sources.is_empty()),
        ]));
        expect(what, &all, &[])
    }

    /// The trace in another form.
    ///
    /// # Errors
    /// Nothing says where to write, or flags are given that do not apply.
    pub(crate) fn convert(&self, is_file: bool) -> Result<ConvertArgs, Failure> {
        self.expect("a whole trace, which --to flowtrace and --to flow write", false, false)?;
        let Some(out) = self.out.clone() else {
            let what = if is_file { "FILE.flowtrace" } else { "DIR" };
            return Err(Failure::Usage(format!("name what is written with -o {what}")));
        };
        Ok(ConvertArgs { dir: self.dir.clone(), out, is_file, compress: self.compress })
    }

    /// What threads or tests did.
    ///
    /// # Errors
    /// Flags are given that do not apply.
    pub(crate) fn baseline(&self) -> Result<BaselineArgs, Failure> {
        self.expect_no_compression()?;
        self.expect("a baseline", true, false)?;
        let (dir, out, part) = (self.dir.clone(), self.out.clone(), self.part.clone());
        Ok(BaselineArgs { dir, out, part })
    }

    /// Tables of what threads and tests did.
    ///
    /// # Errors
    /// Nothing says where to write, or flags are given that do not apply.
    pub(crate) fn shapes(&self) -> Result<ShapeTablesArgs, Failure> {
        self.expect_no_compression()?;
        self.expect("tables of shapes", true, false)?;
        let out = self.new_directory("parquet-shapes")?.to_path_buf();
        let (service, commit) = (self.service.clone(), self.commit.clone());
        Ok(ShapeTablesArgs { dir: self.dir.clone(), out, part: self.part.clone(), service, commit })
    }

    /// Which lines were reached.
    ///
    /// # Errors
    /// Flags are given that do not apply.
    pub(crate) fn coverage(&self) -> Result<CoverageArgs, Failure> {
        self.expect_no_compression()?;
        self.expect("coverage", true, true)?;
        let Self { dir, out, part, sources, .. } = self;
        let (dir, out, part) = (dir.clone(), out.clone(), part.clone());
        Ok(CoverageArgs { dir, out, part, sources: sources.clone() })
    }

    /// Refuses folders of source files for formats that do not name them.
    pub(crate) fn expect_no_sources(&self) -> Result<(), Failure> {
        let sources = given(&[("--source", !self.sources.is_empty())]);
        expect("what is not --to lcov, cobertura or jacoco", &sources, &[])
    }

    /// The directory of tables in a format.
    ///
    /// # Errors
    /// Nothing says where to write.
    pub(crate) fn new_directory(&self, format: &str) -> Result<&Path, Failure> {
        let missing = || Failure::Usage(format!("{format} needs a new directory: --out DIR"));
        self.out.as_deref().ok_or_else(missing)
    }

    /// Refuses to name an origin in what has no column for it.
    pub(crate) fn expect_no_origin(&self) -> Result<(), Failure> {
        let origin =
            given(&[("--service", self.service.is_some()), ("--commit", self.commit.is_some())]);
        expect("what is not --to parquet or parquet-shapes", &origin, &[])
    }

    /// Refuses to compress what is not a trace.
    pub(crate) fn expect_no_compression(&self) -> Result<(), Failure> {
        expect(
            "what is not --to flowtrace",
            &given(&[("--compress", self.compress.is_some())]),
            &[],
        )
    }
}
