//! Arguments of `flow report`, and the questions that it asks with them.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};
use flow_query::profile::FrameGrouping;

use super::given::{Given, expect, given};
use super::rows::{RowArgs, SortKey};
use crate::failure::Failure;
use crate::input::flags::{ORDER, OUTPUT, PartArgs, SourceArgs, TimeArgs, VIEWS, WeightArgs};
use crate::input::values::{count, positive};
use crate::output::Format;

/// A choice of paths.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PathsKind {
    /// From the outermost call on, always the callee with the most time, or the most calls
    Longest,
    /// The stack with the most frames
    Deepest,
    /// The stacks on which most calls were made; by time, those with the most self time
    Frequent,
}

/// What waits are added up by.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WaitsKind {
    /// By what the threads waited for
    Object,
    /// By the nearest method of the program's own code
    Place,
}

#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) part: PartArgs,
    #[command(flatten)]
    pub(crate) when: TimeArgs,
    #[command(flatten)]
    pub(crate) weight: WeightArgs,
    #[command(flatten)]
    pub(crate) rows: RowArgs,
    #[command(flatten)]
    pub(crate) view: ReportViewArgs,
    /// Show at most N rows, the largest; 0 for all [default: 40 in text, 100 of a tree, else all]
    #[arg(long, value_name = "N", value_parser = count, help_heading = ORDER)]
    pub(crate) max: Option<u64>,
    /// Show only the N outermost calls of a tree
    #[arg(long, value_name = "N", value_parser = positive, help_heading = ORDER)]
    pub(crate) depth: Option<u64>,
    /// Show the JVM descriptor of each method
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Views that only a report has.
#[derive(ClapArgs, Clone, Debug)]
#[command(next_help_heading = VIEWS)]
pub(crate) struct ReportViewArgs {
    /// With --tree: show only what methods that match this pattern call; repeatable
    ///
    /// Patterns are those of --include.
    #[arg(long = "method", value_name = "GLOB", requires = "tree", conflicts_with = "instead")]
    pub(crate) methods: Vec<String>,
    /// Show one path of calls, or several
    #[arg(long, value_name = "WHICH", group = "instead", conflicts_with_all = ["tree", "samples"])]
    pub(crate) paths: Option<PathsKind>,
    /// Show how often each line was reached, if lines were recorded; else the lines in which samples found each method
    ///
    /// With --samples, always the latter, beside calls if there are some.
    #[arg(long, group = "instead", conflicts_with = "tree")]
    pub(crate) lines: bool,
    /// With --lines: show the text of lines, from source files below this folder; repeatable
    #[arg(long = "source", value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(requires = "lines", conflicts_with = "samples")]
    pub(crate) sources: Vec<PathBuf>,
    /// Show which exceptions ended calls, and of record --exceptions also those that reached handlers: where they were thrown,
    /// passed through, and caught
    #[arg(long, group = "instead", conflicts_with_all = ["tree", "samples"])]
    pub(crate) exceptions: bool,
    /// Show what threads waited for, if that was recorded (record --waits): locks, notifications, parks, sleeps, sockets and files;
    /// what had not ended, deadlocks and lock convoys
    ///
    /// Added up by object, or with --waits=place by the nearest method of the program's own code.
    #[arg(long, value_name = "BY", group = "instead", conflicts_with_all = ["tree", "samples"])]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "object")]
    pub(crate) waits: Option<WaitsKind>,
    /// Show how often each suspend function of Kotlin was called and resumed: other views count each resumption as a call
    ///
    /// Counts are exact, of whole threads. Functions that never wait, and suspend lambdas, are not in the list. With --tree: the
    /// tree without what only passes resumptions on, so that each is directly below what caused it.
    #[arg(long, group = "instead", conflicts_with = "samples")]
    pub(crate) coroutines: bool,
    /// Show how long half of the calls of each method lasted at most, 90 and 99 of 100, and the longest
    ///
    /// Of calls that ended. Durations of microseconds need a recording with flow record --clock exact; others are known between
    /// two bounds. The methods with the longest 99th percentile come first.
    #[arg(long, group = "instead", conflicts_with_all = ["tree", "samples"])]
    pub(crate) percentiles: bool,
    /// Show methods that were recorded and never called: in none of the JVMs and, with --test, by none of the tests
    ///
    /// Methods of classes that no JVM loaded are not known.
    #[arg(long, group = "instead", conflicts_with_all = ["tree", "samples"])]
    pub(crate) never_called: bool,
    /// Write a page for a browser, with threads, calls in order, flame graph and methods; - writes
    /// to standard output
    #[arg(long, value_name = "FILE", group = "instead", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["tree", "samples", "format"])]
    pub(crate) html: Option<PathBuf>,
    /// Write that page, to a temporary file without --html, and open it: with $BROWSER, or else on a desktop
    /// with xdg-open
    #[arg(long, conflicts_with_all = ["callers", "callees", "paths", "lines", "exceptions", "coroutines"])]
    #[arg(conflicts_with_all = ["never_called", "percentiles", "waits"])]
    #[arg(conflicts_with_all = ["tree", "samples", "format"])]
    pub(crate) open: bool,
}

/// How often each line was reached.
#[derive(Debug)]
pub(crate) struct LinesArgs {
    pub(crate) source: SourceArgs,
    pub(crate) part: PartArgs,
    pub(crate) sources: Vec<PathBuf>,
}

/// Flags of all tables of calls.
const OF_CALLS: [&str; 3] = ["--time", "--min-duration", "--verbose"];
/// Flags of all tables of samples.
pub(super) const OF_SAMPLES: [&str; 3] = ["--frames", "--gaps", "--verbose"];
/// Flags of trees of methods.
pub(super) const OF_TREES: [&str; 9] = [
    "--by",
    "--sort",
    "--max",
    "--min",
    "--where",
    "--percent-of",
    "--per-thread",
    "--per-thread-name",
    "--depth",
];
/// Flags of lists of methods: those of trees, without the last one.
pub(super) const OF_ROWS: &[&str] = OF_TREES.split_at(8).0;

impl ReportArgs {
    /// Returns the format of what is printed; `None` if that is a page.
    pub(crate) fn format(&self) -> Option<Format> {
        (!self.writes_page()).then_some(self.source.format)
    }

    /// Returns whether the page is requested.
    pub(crate) fn writes_page(&self) -> bool {
        self.view.html.is_some() || self.view.open
    }

    /// The column that rows are sorted by.
    pub(crate) fn sort(&self) -> SortKey {
        self.rows.sort()
    }

    /// Returns whether the view is one of samples, too: methods as a list or a tree, or lines.
    pub(crate) fn can_show_samples(&self) -> bool {
        let view = &self.view;
        let is_table = view.exceptions
            || view.waits.is_some()
            || view.coroutines
            || view.percentiles
            || view.never_called;
        let is_of_calls = view.paths.is_some() || is_table || !view.sources.is_empty();
        !is_of_calls && !self.writes_page()
    }

    /// Which frames of samples are one, if that is requested.
    pub(crate) fn frames(&self) -> Option<FrameGrouping> {
        self.rows.frames.or(self.view.lines.then_some(FrameGrouping::Line))
    }

    /// Which frames of samples are one.
    pub(crate) fn frame_grouping(&self) -> FrameGrouping {
        self.frames().unwrap_or(FrameGrouping::Method)
    }

    /// The flags that are given and that some views do not have.
    fn given(&self) -> Vec<Given> {
        let mut all = self.when.given();
        all.extend(self.rows.given());
        all.extend(given(&[
            ("--by", self.weight.by.is_some()),
            ("--max", self.max.is_some()),
            ("--depth", self.depth.is_some()),
            ("--verbose", self.verbose),
        ]));
        all
    }

    /// Refuses flags that the requested view, of samples or of calls, does not have.
    pub(crate) fn expect_flags_of_view(&self, of_samples: bool) -> Result<(), Failure> {
        if let ([method, ..], true) = (&self.view.methods[..], of_samples) {
            return Err(Failure::Usage(format!(
                "--method is for a tree of calls; here, use --callees {method}"
            )));
        }
        let view = &self.view;
        let is_tree = self.rows.is_tree();
        let (what, flags): (_, &[&str]) = if self.writes_page() {
            ("the page", &["--by"])
        } else if view.lines && !of_samples {
            ("lines of samples beside calls", &["--by", "--sort", "--max"])
        } else if view.never_called {
            return expect("--never-called", &self.given(), &["--max", "--verbose"]);
        } else if view.exceptions {
            ("--exceptions", &["--max"])
        } else if view.percentiles {
            ("--percentiles", &["--max"])
        } else if view.waits.is_some() {
            ("--waits", &["--max"])
        } else if view.paths.is_some() {
            ("--paths", &["--by", "--max"])
        } else {
            match (of_samples, is_tree) {
                (false, false) => ("a list of methods by their calls", OF_ROWS),
                (false, true) => ("a tree of calls", &OF_TREES),
                (true, false) => ("a list of samples", OF_ROWS),
                (true, true) => ("a tree of samples", &OF_TREES),
            }
        };
        if view.coroutines && !is_tree {
            return expect("--coroutines", &self.given(), &["--max", "--verbose"]);
        }
        let of_source: &[&str] = if of_samples { &OF_SAMPLES } else { &OF_CALLS };
        expect(what, &self.given(), &[of_source, flags].concat())
    }

    /// The lines that were recorded.
    ///
    /// # Errors
    /// Flags are given that they do not have.
    pub(crate) fn lines(&self) -> Result<LinesArgs, Failure> {
        expect("recorded lines", &self.given(), &[])?;
        Ok(LinesArgs {
            source: self.source.clone(),
            part: self.part.clone(),
            sources: self.view.sources.clone(),
        })
    }
}
