//! Flags of rows of methods: of `flow report` and `flow diff`.

use clap::{Args as ClapArgs, ValueEnum};
use flow_query::profile::{FrameGrouping, GapRule};

use super::given::{Given, given};
use crate::input::conditions::Condition;
use crate::input::flags::{ORDER, SAMPLES, VIEWS};
use crate::input::values::{one_of, percentage};

/// Which frames are one.
const FRAMES: [(&str, FrameGrouping); 3] =
    [("method", FrameGrouping::Method), ("line", FrameGrouping::Line), ("bci", FrameGrouping::Bci)];
/// How long a sample lasts.
const GAPS: [(&str, GapRule); 2] = [("thread", GapRule::Thread), ("global", GapRule::Global)];

/// Columns to sort a report by.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SortKey {
    Calls,
    Total,
    #[value(name = "self")]
    SelfWeight,
    Name,
}

/// Rows of methods: how they are made, selected and sorted.
#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct RowArgs {
    /// Show calls and time by path, as a tree
    #[arg(long, help_heading = VIEWS)]
    pub(crate) tree: bool,
    /// Show the callers of methods that match this pattern, and how often they call them, as a tree; repeatable
    ///
    /// Patterns are those of --include.
    #[arg(long, value_name = "GLOB", group = "instead", help_heading = VIEWS)]
    pub(crate) callers: Vec<String>,
    /// Show the callees of methods that match this pattern, as a tree; repeatable
    #[arg(long, value_name = "GLOB", group = "instead", help_heading = VIEWS)]
    pub(crate) callees: Vec<String>,
    /// Show each thread alone
    #[arg(long, conflicts_with = "per_thread_name", help_heading = VIEWS)]
    pub(crate) per_thread: bool,
    /// Show threads with the same name as one, and others alone
    #[arg(long, help_heading = VIEWS)]
    pub(crate) per_thread_name: bool,
    /// Sort by this column [default: total]
    ///
    /// calls: how often the method was called; total: the time it was on the stack, or without times the calls made
    /// meanwhile; self: total without the callees; name.
    #[arg(long, value_name = "COLUMN", help_heading = ORDER)]
    pub(crate) sort: Option<SortKey>,
    /// Show only rows with at least this share of the whole [default: 1 for the tree of all calls in text, else 0]
    #[arg(long, value_name = "PERCENT", value_parser = percentage, help_heading = ORDER)]
    pub(crate) min: Option<f64>,
    /// Show samples, also of a trace that has calls
    #[arg(long, conflicts_with = "calls", help_heading = SAMPLES)]
    pub(crate) samples: bool,
    /// Show calls, also of a log or a trace that has only samples: they are guessed from these
    #[arg(long, help_heading = SAMPLES)]
    pub(crate) calls: bool,
    /// Which frames are one: those of a method, at a line of it, or at an instruction [default: method]
    #[arg(long, value_name = "WHAT", value_parser = one_of(&FRAMES), help_heading = SAMPLES)]
    pub(crate) frames: Option<FrameGrouping>,
    /// Show only rows that meet this condition, and in trees their callers; repeatable, then all must be met
    ///
    /// A text (name, class, method, source, thread) and is, starts, ends, contains or matches (a regular expression); or
    /// a figure (calls, total-samples, self-samples, total-time, self-time, total-percent, self-percent) and <, <=, >= or >.
    /// =, ==, != and is compare both. not before the comparison negates it. Also for calls.
    #[arg(long = "where", value_name = "CONDITION", help_heading = SAMPLES)]
    pub(crate) conditions: Vec<Condition>,
    /// What percentages are shares of: all threads together, the thread, or the row above [default: the table]
    #[arg(long, value_name = "WHAT", help_heading = SAMPLES)]
    pub(crate) percent_of: Option<PercentOf>,
    /// How long a sample of a log lasts: until the next one of its thread, or of any thread [default: thread]
    #[arg(long, value_name = "RULE", value_parser = one_of(&GAPS), help_heading = SAMPLES)]
    pub(crate) gaps: Option<GapRule>,
}

impl RowArgs {
    /// The column that rows are sorted by.
    pub(crate) fn sort(&self) -> SortKey {
        self.sort.unwrap_or(SortKey::Total)
    }

    /// Returns whether callers or callees are requested.
    pub(crate) fn has_sides(&self) -> bool {
        !self.callers.is_empty() || !self.callees.is_empty()
    }

    /// Returns whether rows are those of a tree.
    pub(crate) fn is_tree(&self) -> bool {
        self.tree || self.has_sides()
    }

    /// Which frames of samples are one.
    pub(crate) fn grouping(&self) -> FrameGrouping {
        self.frames.unwrap_or(FrameGrouping::Method)
    }

    /// Which threads are one.
    pub(crate) fn threads(&self) -> ThreadsBy {
        match (self.per_thread, self.per_thread_name) {
            (true, _) => ThreadsBy::Id,
            (_, true) => ThreadsBy::Name,
            _ => ThreadsBy::Merged,
        }
    }

    /// How long a sample of a log lasts.
    pub(crate) fn gaps(&self) -> GapRule {
        self.gaps.unwrap_or(GapRule::Thread)
    }

    /// The methods whose callers or callees are requested.
    pub(crate) fn sides(&self) -> Vec<String> {
        self.callers.iter().chain(&self.callees).cloned().collect()
    }

    /// The flags that are given, without those that choose between samples and calls.
    pub(crate) fn given(&self) -> Vec<Given> {
        given(&[
            ("--per-thread", self.per_thread),
            ("--per-thread-name", self.per_thread_name),
            ("--sort", self.sort.is_some()),
            ("--min", self.min.is_some()),
            ("--frames", self.frames.is_some()),
            ("--where", !self.conditions.is_empty()),
            ("--percent-of", self.percent_of.is_some()),
            ("--gaps", self.gaps.is_some()),
        ])
    }
}

/// Which threads are one: all, those with the same name, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ThreadsBy {
    Merged,
    Name,
    Id,
}

/// What percentages are shares of.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PercentOf {
    All,
    Thread,
    Parent,
}
