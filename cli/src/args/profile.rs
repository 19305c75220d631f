//! Questions about samples, and about calls that are shown like them: of `flow report` and `flow diff`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use flow_query::profile::{FrameGrouping, GapRule, ThreadGrouping};

use super::given::{Given, given};
use crate::failure::Failure;
use crate::input::conditions::Condition;
use crate::input::flags::{By, ORDER, PartArgs, SAMPLES, VIEWS};
use crate::input::values::percentage;
use crate::output::Format;

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
    ///
    /// With --callers or --callees: these as a tree.
    #[arg(long, help_heading = VIEWS)]
    pub(crate) tree: bool,
    /// Show the callers of methods that match this pattern, and how often they call them; repeatable
    ///
    /// Patterns are those of --include.
    #[arg(long, value_name = "GLOB", group = "instead", help_heading = VIEWS)]
    pub(crate) callers: Vec<String>,
    /// Show the callees of methods that match this pattern; repeatable
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
    /// Show only rows with at least this share of the whole [default: 1 for trees in text, else 0]
    #[arg(long, value_name = "PERCENT", value_parser = percentage, help_heading = ORDER)]
    pub(crate) min: Option<f64>,
    /// Show samples, also of a trace that has calls
    #[arg(long, conflicts_with = "calls", help_heading = SAMPLES)]
    pub(crate) samples: bool,
    /// Show calls, also of a log or a trace that has only samples: they are guessed from these
    #[arg(long, help_heading = SAMPLES)]
    pub(crate) calls: bool,
    /// Which frames are one: those of a method, at a line of it, or at an instruction [default: method]
    #[arg(long, value_name = "WHAT", help_heading = SAMPLES)]
    pub(crate) frames: Option<FramesBy>,
    /// Show only rows that meet this condition, and in trees their callers; repeatable, then all must be met
    ///
    /// A text (name, class, method, source, thread) and is, starts, ends, contains or matches (a regular expression); or
    /// a figure (total-count, self-count, total-time, self-time, total-percent, self-percent) and <, <=, =, >= or >. not
    /// before the comparison negates it. Also for calls.
    #[arg(long = "where", value_name = "CONDITION", help_heading = SAMPLES)]
    pub(crate) conditions: Vec<Condition>,
    /// What percentages are shares of: everything, the thread, or the row above; also of calls [default: all]
    #[arg(long, value_name = "WHAT", help_heading = SAMPLES)]
    pub(crate) percent_of: Option<PercentOf>,
    /// How long a sample of a log lasts: until the next one of its thread, or of any thread [default: thread]
    #[arg(long, value_name = "RULE", help_heading = SAMPLES)]
    pub(crate) gaps: Option<Gaps>,
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

    /// Returns whether rows are selected by figures, or have other shares than those of everything.
    pub(crate) fn selects(&self) -> bool {
        !self.conditions.is_empty() || self.percent_of.is_some()
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

/// Samples or calls of one run, or of two, added up.
#[derive(Debug)]
pub(crate) struct ProfileArgs {
    pub(crate) before: PathBuf,
    pub(crate) after: Option<PathBuf>,
    pub(crate) format: Format,
    pub(crate) part: PartArgs,
    pub(crate) counted: Counted,
    pub(crate) frames: FramesBy,
    pub(crate) grouping: ThreadsBy,
    pub(crate) tree: bool,
    pub(crate) callers: Vec<String>,
    pub(crate) callees: Vec<String>,
    pub(crate) conditions: Vec<Condition>,
    /// What was requested, and whether that is a time.
    pub(crate) weight: Option<By>,
    pub(crate) by: Option<ProfileBy>,
    pub(crate) percent_of: PercentOf,
    pub(crate) sort: ProfileKey,
    pub(crate) gaps: Gaps,
    pub(crate) depth: Option<u64>,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<u64>,
    pub(crate) verbose: bool,
}

/// What is added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Counted {
    Samples,
    Calls,
}

/// Which frames are one.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FramesBy {
    Method,
    Line,
    Bci,
}

/// Which threads are one: all, those with the same name, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ThreadsBy {
    Merged,
    Name,
    Id,
}

/// What is compared: numbers of samples or calls, or times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProfileBy {
    Count,
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProfileKey {
    Total,
    SelfWeight,
    Name,
}

impl ProfileKey {
    /// # Errors
    /// A profile has no such column.
    pub(super) fn of(key: SortKey) -> Result<Self, Failure> {
        match key {
            SortKey::Total => Ok(Self::Total),
            SortKey::SelfWeight => Ok(Self::SelfWeight),
            SortKey::Name => Ok(Self::Name),
            SortKey::Calls => Err(Failure::Usage(
                "--sort calls is for a list or a tree of calls; here, choose total, self or name"
                    .to_owned(),
            )),
        }
    }
}

/// How long a sample lasts.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gaps {
    Thread,
    Global,
}

impl ProfileArgs {
    /// The rows of one source, or of two.
    ///
    /// # Errors
    /// They cannot be sorted like this.
    pub(super) fn new(
        [before, after]: [Option<&PathBuf>; 2],
        part: &PartArgs,
        format: Format,
        rows: &RowArgs,
        weight: Option<By>,
        counted: Counted,
    ) -> Result<Self, Failure> {
        Ok(Self {
            before: before.cloned().unwrap_or_default(),
            after: after.cloned(),
            format,
            part: part.clone(),
            counted,
            frames: rows.frames.unwrap_or(FramesBy::Method),
            grouping: match (rows.per_thread, rows.per_thread_name) {
                (true, _) => ThreadsBy::Id,
                (_, true) => ThreadsBy::Name,
                _ => ThreadsBy::Merged,
            },
            tree: rows.tree,
            callers: rows.callers.clone(),
            callees: rows.callees.clone(),
            conditions: rows.conditions.clone(),
            weight,
            by: weight.map(|by| match by {
                By::Calls => ProfileBy::Count,
                By::Cpu | By::Wall => ProfileBy::Time,
            }),
            percent_of: rows.percent_of.unwrap_or(PercentOf::All),
            sort: ProfileKey::of(rows.sort())?,
            gaps: rows.gaps.unwrap_or(Gaps::Thread),
            depth: None,
            min: rows.min,
            max: None,
            verbose: false,
        })
    }

    /// What the rows are, for messages.
    pub(super) fn what(&self) -> &'static str {
        match (self.counted, self.is_tree()) {
            (Counted::Samples, true) => "a tree of samples",
            (Counted::Samples, false) => "a list of samples",
            (Counted::Calls, true) => "this tree of calls",
            (Counted::Calls, false) => "this list of calls",
        }
    }

    /// The flags that the rows have.
    pub(super) fn flags(&self) -> Vec<Given> {
        let mut flags =
            vec!["--sort", "--by", "--max", "--min", "--where", "--percent-of", "--verbose"];
        flags.extend(["--per-thread", "--per-thread-name"]);
        if self.is_tree() {
            flags.push("--depth");
        }
        if self.counted == Counted::Samples {
            flags.extend(["--frames", "--gaps"]);
        }
        flags
    }

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
