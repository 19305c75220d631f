//! Arguments of `flow profile`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};
use flow_query::profile::{FrameGrouping, GapRule, ThreadGrouping};

use super::analyse::percentage;
use crate::input::conditions::Condition;
use crate::input::flags::{DEFAULT_DIR, PartArgs};
use crate::input::values::{count, positive};
use crate::output::Format;

#[derive(ClapArgs, Debug)]
pub(crate) struct ProfileArgs {
    /// The samples: an .hpl file; or a trace, as for the other verbs
    #[arg(value_name = "SOURCE", default_value = DEFAULT_DIR, value_hint = ValueHint::AnyPath)]
    pub(crate) before: PathBuf,
    /// Those of another run, to compare with
    #[arg(value_name = "AFTER", value_hint = ValueHint::AnyPath)]
    pub(crate) after: Option<PathBuf>,
    /// Output format; json writes one object per line
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Count the calls of a trace, even if it has samples
    #[arg(long)]
    pub(crate) calls: bool,
    /// Which frames are one: those of a method, at a line of it, or at an instruction
    #[arg(long, value_name = "WHAT", default_value = "method")]
    pub(crate) frames: FramesBy,
    /// Which threads are one: all, those with the same name, or none
    #[arg(long = "threads", value_name = "HOW", default_value = "merged")]
    pub(crate) grouping: ThreadsBy,
    /// Show who called whom, from the outermost frames on
    #[arg(long, group = "view")]
    pub(crate) tree: bool,
    /// Show the callers of methods that match this pattern, as a tree; repeatable
    ///
    /// Patterns are those of flow report --include.
    #[arg(long, value_name = "GLOB", group = "view")]
    pub(crate) callers: Vec<String>,
    /// Show the callees of methods that match this pattern, as a tree; repeatable
    #[arg(long, value_name = "GLOB", group = "view")]
    pub(crate) callees: Vec<String>,
    /// Show only rows that meet this condition, and in trees their callers; repeatable, then all must be met
    ///
    /// A text (name, class, method, source, thread) and is, starts, ends, contains or matches (a regular expression); or
    /// a figure (total-count, self-count, total-time, self-time, total-percent, self-percent) and <, <=, =, >= or >. not
    /// before the comparison negates it.
    #[arg(long = "where", value_name = "CONDITION")]
    pub(crate) conditions: Vec<Condition>,
    /// Compare counts or times [default: time where calls were recorded with times, else count]
    #[arg(long, value_name = "WHAT")]
    pub(crate) by: Option<ProfileBy>,
    /// What percentages are shares of: everything, the thread, or the row above
    #[arg(long, value_name = "WHAT", default_value = "all")]
    pub(crate) percent_of: PercentOf,
    /// Sort by this column
    #[arg(long, value_name = "COLUMN", default_value = "total")]
    pub(crate) sort: ProfileKey,
    /// How long a sample lasts: until the next one of its thread, or of any thread
    #[arg(long, value_name = "RULE", default_value = "thread")]
    pub(crate) gaps: Gaps,
    /// Show only the N outermost rows of a tree
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) depth: Option<u64>,
    /// Show rows with at least this share of everything [default: 1 for trees in text, else 0]
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub(crate) min: Option<f64>,
    /// Show at most N rows; 0 for all [default: 40 in text, 100 of a tree, else all]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max: Option<u64>,
    /// Show the JVM descriptor of each method
    #[arg(long)]
    pub(crate) verbose: bool,
}

/// Which frames are one.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FramesBy {
    Method,
    Line,
    Bci,
}

/// Which threads are one.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ThreadsBy {
    Merged,
    Name,
    Id,
}

/// What is compared.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProfileBy {
    /// Samples, or calls
    Count,
    /// Time
    Time,
}

/// What percentages are shares of.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PercentOf {
    All,
    Thread,
    Parent,
}

/// Columns to sort a profile by.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProfileKey {
    Total,
    #[value(name = "self")]
    SelfWeight,
    Name,
}

/// How long a sample lasts.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gaps {
    Thread,
    Global,
}

impl ProfileArgs {
    /// Which frames are one.
    pub(crate) fn frame_grouping(&self) -> FrameGrouping {
        match self.frames {
            FramesBy::Method => FrameGrouping::Method,
            FramesBy::Line => FrameGrouping::Line,
            FramesBy::Bci => FrameGrouping::Bci,
        }
    }

    /// Which threads are one.
    pub(crate) fn thread_grouping(&self) -> ThreadGrouping {
        match self.grouping {
            ThreadsBy::Merged => ThreadGrouping::Merged,
            ThreadsBy::Name => ThreadGrouping::Name,
            ThreadsBy::Id => ThreadGrouping::Id,
        }
    }

    /// How long a sample lasts.
    pub(crate) fn gap_rule(&self) -> GapRule {
        match self.gaps {
            Gaps::Thread => GapRule::Thread,
            Gaps::Global => GapRule::Global,
        }
    }

    /// Returns whether rows are below one another.
    pub(crate) fn is_tree(&self) -> bool {
        self.tree || !self.callers.is_empty() || !self.callees.is_empty()
    }
}
