//! Arguments of `flow calls`, and the questions that it asks with them.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, ValueEnum};
use flow_query::ask::{Calls, Contexts};
use flow_query::dag::Outcome;

use super::given::{Given, expect, given};
use crate::failure::Failure;
use crate::input::flags::{
    DEFAULT_DIR, ORDER, OUTPUT, PartArgs, SELECTION, SourceArgs, TestArgs, ThreadArgs, TimeArgs,
    VIEWS,
};
use crate::input::place::From;
use crate::input::values::{count, positive};
use flow_query::select::ValueCondition;

/// How a call was left.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HowLeft {
    /// By returning
    Returned,
    /// By an exception
    #[value(name = "exception")]
    Unwound,
    /// Recording was suspended
    Cut,
}

/// What calls are grouped by.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GroupBy {
    /// What the calls did: the calls that they made, and how they were left
    Shape,
    /// Of statements, requests and messages: the nearest method of the program's own code
    Caller,
    /// Of statements, requests and messages: the outermost method of the program's own code
    Request,
    /// The values of each key of a context, such as order=17 (flow record --context)
    Context,
}

impl HowLeft {
    /// The outcome that is meant.
    pub(crate) fn outcome(self) -> Outcome {
        match self {
            Self::Returned => Outcome::Returned,
            Self::Unwound => Outcome::Unwound,
            Self::Cut => Outcome::Cut,
        }
    }
}

#[derive(ClapArgs, Debug)]
pub(crate) struct CallsArgs {
    /// The name of a shape, which --by shape shows, or methods: a pattern as for --include; with --sql, --http, --log and --preset
    /// a text; with --by context a key, such as order
    ///
    /// --slowest, --follow, --coroutines, --by context and presets do not need it: without it, they show all. Then a single word is the trace, if there is one
    /// of this name.
    #[arg(value_name = "SHAPE|METHOD", required_unless_present_any = ["by", "slowest", "around", "follow", "coroutines", "presets"])]
    pub(crate) what: Option<String>,
    /// Show calls in groups: by what they did, by who called them, or by what threads worked for
    #[arg(long, value_name = "WHAT", group = "calls_view", help_heading = VIEWS)]
    pub(crate) by: Option<GroupBy>,
    /// With --by shape: show the rarest first; with --by context, first the values for which something else was done than for most
    #[arg(long, requires = "by", help_heading = VIEWS)]
    pub(crate) odd: bool,
    /// With --by shape: show how long the calls of each shape lasted together, and the slowest
    ///
    /// Of whole threads. Takes a while for millions of calls.
    #[arg(long, requires = "by", help_heading = VIEWS)]
    pub(crate) durations: bool,
    /// Show the N longest calls
    #[arg(long, value_name = "N", value_parser = positive, group = "calls_view", help_heading = VIEWS)]
    pub(crate) slowest: Option<u64>,
    /// Show what is around a call, THREAD:N: callers, callees, calls before and after it, and the nearest calls of its method
    #[arg(long, value_name = "CALL", group = "calls_view", help_heading = VIEWS)]
    #[arg(conflicts_with_all = ["values", "conditions", "outcome"])]
    pub(crate) around: Option<From>,
    /// Show the SQL statements that were recorded with flow record --sql: each once, with how often and from where; with a TEXT
    /// in the place of METHOD only those that contain it, with --values one by one
    ///
    /// Give one of --sql, --http, --log and --preset at a time. They go with --values or --by caller|request, and with --time,
    /// --min-duration, --thread, --test and --in.
    #[arg(long, group = "presets", help_heading = VIEWS)]
    pub(crate) sql: bool,
    /// Show the HTTP requests that were recorded with flow record --http, as --sql does
    #[arg(long, group = "presets", help_heading = VIEWS)]
    pub(crate) http: bool,
    /// Show the log messages that were recorded with flow record --log, as --sql does
    #[arg(long, group = "presets", help_heading = VIEWS)]
    pub(crate) log: bool,
    /// Show what was recorded for this preset, as --sql does
    #[arg(long, value_name = "NAME", group = "presets", help_heading = VIEWS)]
    pub(crate) preset: Option<String>,
    /// Show calls with their recorded values, thread by thread, in the order in which they began; with --slowest, only the longest
    #[arg(long, help_heading = VIEWS)]
    pub(crate) values: bool,
    /// Show each call when it has ended, while the trace is being recorded, until the recording ends or Ctrl-C
    ///
    /// The calls of all threads in the order in which they ended, with the calls that ended before. Text has values, if they are recorded;
    /// other formats with --values. A call whose events arrive more than half a second late is printed out of order.
    /// With --by context, show each value when a thread no longer has it, without what the thread handed to others.
    #[arg(long, conflicts_with_all = ["slowest", "around", "within", "request", "context", "presets"], help_heading = VIEWS)]
    pub(crate) follow: bool,
    /// Show calls of suspend functions and lambdas of Kotlin, each once with all its resumptions: from the first entry to the last exit
    ///
    /// In the order in which they began, with --slowest the longest. Needs a recording with flow record --coroutines.
    #[arg(long, conflicts_with_all = ["by", "around", "follow", "presets"], help_heading = VIEWS)]
    pub(crate) coroutines: bool,
    /// Show only calls with a value such as 'arg0 == null', with their values; repeatable, then all must hold
    #[arg(long = "where", value_name = "CONDITION", help_heading = SELECTION)]
    #[arg(conflicts_with = "by")]
    pub(crate) conditions: Vec<ValueCondition>,
    /// Show only calls that were left in this way; not with --by and --around
    #[arg(long, value_name = "HOW", conflicts_with_all = ["by", "around"])]
    #[arg(help_heading = SELECTION)]
    pub(crate) outcome: Option<HowLeft>,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    #[command(flatten)]
    pub(crate) when: TimeArgs,
    /// Show at most N calls, or N shapes of a method; 0 for all [default: 20 in text, 100 with values, else all]
    #[arg(long, value_name = "N", value_parser = count, help_heading = ORDER)]
    pub(crate) max: Option<u64>,
    /// Show the JVM descriptor of each method, and all callers
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// What is asked about calls.
#[derive(Debug)]
pub(crate) enum CallsQuestion {
    OfPreset(PresetArgs),
    Listed(FindArgs),
    WithValues(GrepArgs),
    ByShape(ShapesArgs),
    Slowest(SlowestArgs),
    Coroutines(GrepArgs),
    Around(AroundArgs),
    Followed(FollowArgs),
    Contexts(ContextsArgs),
}

/// What threads worked for.
#[derive(Debug)]
pub(crate) struct ContextsArgs {
    pub(crate) asked: Contexts,
    /// Whether each is shown as it ends.
    pub(crate) follow: bool,
    pub(crate) source: SourceArgs,
    pub(crate) max: Option<u64>,
}

/// Calls that are shown as they end.
#[derive(Clone, Debug)]
pub(crate) struct FollowArgs {
    /// Whose calls; all if there are none.
    pub(crate) methods: Vec<String>,
    pub(crate) source: SourceArgs,
    pub(crate) part: PartArgs,
    pub(crate) when: TimeArgs,
    pub(crate) conditions: Vec<ValueCondition>,
    pub(crate) outcome: Option<HowLeft>,
    /// Whether rows for programs have values.
    pub(crate) has_values: bool,
    pub(crate) max: Option<u64>,
    pub(crate) verbose: bool,
}

/// What is around a call.
#[derive(Debug)]
pub(crate) struct AroundArgs {
    pub(crate) call: From,
    pub(crate) source: SourceArgs,
    pub(crate) part: PartArgs,
    pub(crate) max: Option<u64>,
    pub(crate) verbose: bool,
}

/// Statements, requests or messages.
#[derive(Debug)]
pub(crate) struct PresetArgs {
    pub(crate) preset: String,
    /// What their texts contain, if only some are asked for.
    pub(crate) containing: Option<String>,
    pub(crate) source: SourceArgs,
    pub(crate) part: PartArgs,
    pub(crate) when: TimeArgs,
    pub(crate) by_request: bool,
    /// Whether they are shown one by one.
    pub(crate) each: bool,
    pub(crate) max: Option<u64>,
    pub(crate) verbose: bool,
}

/// The calls of a shape or of methods.
#[derive(Debug)]
pub(crate) struct FindArgs {
    pub(crate) what: String,
    pub(crate) source: SourceArgs,
    pub(crate) threads: ThreadArgs,
    pub(crate) tests: TestArgs,
    pub(crate) when: TimeArgs,
    pub(crate) outcome: Option<HowLeft>,
    pub(crate) max: Option<u64>,
    pub(crate) verbose: bool,
}

/// Calls of methods with their values.
#[derive(Debug)]
pub(crate) struct GrepArgs {
    /// Whose calls; all if it is not set.
    pub(crate) method: Option<String>,
    pub(crate) source: SourceArgs,
    pub(crate) part: PartArgs,
    pub(crate) when: TimeArgs,
    /// How many of the longest calls, if these are asked for.
    pub(crate) slowest: Option<u64>,
    pub(crate) conditions: Vec<ValueCondition>,
    pub(crate) outcome: Option<HowLeft>,
    /// Whether values are shown.
    pub(crate) has_values: bool,
    pub(crate) max: Option<u64>,
    pub(crate) verbose: bool,
}

/// The shapes of methods.
#[derive(Debug)]
pub(crate) struct ShapesArgs {
    pub(crate) method: String,
    pub(crate) source: SourceArgs,
    pub(crate) part: PartArgs,
    pub(crate) outliers: bool,
    pub(crate) time: bool,
    pub(crate) max: Option<u64>,
    pub(crate) verbose: bool,
}

/// The longest calls.
#[derive(Debug)]
pub(crate) struct SlowestArgs {
    pub(crate) count: u64,
    /// Whose calls; all if it is not set.
    pub(crate) method: Option<String>,
    pub(crate) source: SourceArgs,
    pub(crate) part: PartArgs,
    pub(crate) when: TimeArgs,
    pub(crate) outcome: Option<HowLeft>,
    pub(crate) verbose: bool,
}

impl CallsArgs {
    /// What is asked.
    ///
    /// # Errors
    /// Flags are given that do not apply to it.
    pub(crate) fn question(&self) -> Result<CallsQuestion, Failure> {
        let Self { part, max, verbose, .. } = self;
        let (max, verbose) = (*max, *verbose);
        if let Some(preset) = self.preset() {
            return self.of_preset(preset);
        }
        self.refuse_grouping()?;
        if self.by == Some(GroupBy::Context) {
            return self.contexts();
        }
        if self.coroutines {
            return self.of_coroutines();
        }
        if let Some(count) = self.slowest {
            self.expect("the slowest calls", &["--test", "--include", "--exclude", "--own"], true)?;
            let (method, source) = self.method_and_source();
            let (part, when) = (part.clone(), self.when.clone());
            if self.values || !self.conditions.is_empty() {
                let asked = self.with_values(method, source);
                let asked = GrepArgs { slowest: Some(count), max: None, ..asked };
                return Ok(CallsQuestion::WithValues(asked));
            }
            let outcome = self.outcome;
            let slowest = SlowestArgs { count, method, source, part, when, outcome, verbose };
            return Ok(CallsQuestion::Slowest(slowest));
        }
        if let Some(call) = &self.around {
            return self.around(call);
        }
        if self.follow {
            return self.followed().map(CallsQuestion::Followed);
        }
        let what = self.expect_what()?;
        let (source, threads) = (self.source.clone(), part.threads.clone());
        Ok(if self.by.is_some() {
            let flags = ["--test", "--include", "--exclude", "--own", "--max"];
            self.expect("the shapes of calls", &flags, false)?;
            let (part, outliers, time) = (part.clone(), self.odd, self.durations);
            let method = what;
            CallsQuestion::ByShape(ShapesArgs {
                method,
                source,
                part,
                outliers,
                time,
                max,
                verbose,
            })
        } else if self.values || !self.conditions.is_empty() {
            self.expect("calls with values", &["--max"], true)?;
            CallsQuestion::WithValues(self.with_values(Some(what), source))
        } else {
            self.expect("this list of calls", &["--test", "--max"], true)?;
            if part.is_of_one_call() || part.context.is_some() {
                let text = "--in, --request and --context need --values, --where, --slowest N, --by shape or a preset: this list is of whole threads";
                return Err(Failure::Usage(text.to_owned()));
            }
            let (tests, when, outcome) = (part.tests.clone(), self.when.clone(), self.outcome);
            let listed = FindArgs { what, source, threads, tests, when, outcome, max, verbose };
            CallsQuestion::Listed(listed)
        })
    }

    /// The shape or the methods, without which there is no answer.
    fn expect_what(&self) -> Result<String, Failure> {
        let Some(what) = self.what.clone() else {
            let text = "--by shape needs a METHOD: a pattern as for --include";
            return Err(Failure::Usage(text.to_owned()));
        };
        let is_default = self.source.dir == Path::new(DEFAULT_DIR);
        if is_default && !self.source.dir.exists() && Path::new(&what).exists() {
            let by = if self.by.is_some() { "--by shape " } else { "" };
            return Err(Failure::Usage(format!(
                "METHOD is missing: flow calls {by}METHOD {what}; without one: --slowest N"
            )));
        }
        Ok(what)
    }

    /// Coroutines, each with all its parts.
    fn of_coroutines(&self) -> Result<CallsQuestion, Failure> {
        self.expect("coroutines", &["--max"], true)?;
        let part = &self.part;
        let others = given(&[
            ("--thread", !part.threads.patterns.is_empty()),
            ("--in", part.within.is_some()),
            ("--request", part.request.is_some()),
            ("--context", part.context.is_some()),
            ("--slowest with --max", self.slowest.is_some() && self.max.is_some()),
        ]);
        expect("coroutines", &others, &[])?;
        let (method, source) = self.method_and_source();
        let asked = self.with_values(method, source);
        Ok(CallsQuestion::Coroutines(GrepArgs { slowest: self.slowest, ..asked }))
    }

    /// Asks for calls with their values.
    fn with_values(&self, method: Option<String>, source: SourceArgs) -> GrepArgs {
        GrepArgs {
            method,
            source,
            part: self.part.clone(),
            when: self.when.clone(),
            slowest: None,
            conditions: self.conditions.clone(),
            outcome: self.outcome,
            has_values: self.values || !self.conditions.is_empty(),
            max: self.max,
            verbose: self.verbose,
        }
    }

    /// Refuses to group calls that are not added up.
    fn refuse_grouping(&self) -> Result<(), Failure> {
        if let Some(by @ (GroupBy::Caller | GroupBy::Request)) = self.by {
            let text = format!(
                "--by {}: needs --sql, --http, --log or --preset NAME",
                if by == GroupBy::Caller { "caller" } else { "request" }
            );
            return Err(Failure::Usage(text));
        }
        if self.by == Some(GroupBy::Shape) && self.follow {
            let text = "--by shape is of whole traces: leave out --follow";
            return Err(Failure::Usage(text.to_owned()));
        }
        if self.by == Some(GroupBy::Shape) && self.values {
            let text = "--by shape shows no values: leave out --values";
            return Err(Failure::Usage(text.to_owned()));
        }
        Ok(())
    }

    /// What threads worked for.
    fn contexts(&self) -> Result<CallsQuestion, Failure> {
        const WHAT: &str = "what threads worked for";
        self.expect(WHAT, &["--max"], false)?;
        let part = &self.part;
        let others = given(&[
            ("--thread", !part.threads.patterns.is_empty()),
            ("--in", part.within.is_some()),
            ("--request", part.request.is_some()),
            ("--context", part.context.is_some()),
            ("--values", self.values),
            ("--where", !self.conditions.is_empty()),
            ("--outcome", self.outcome.is_some()),
        ]);
        expect(WHAT, &others, &[])?;
        if self.follow && self.odd {
            let text = "--odd: it is not known what is usual while a trace is recorded; leave out --follow";
            return Err(Failure::Usage(text.to_owned()));
        }
        let (key, source) = self.method_and_source();
        let mut asked = key.map_or_else(Contexts::all, |key| Contexts::of_key(&key));
        if self.odd {
            asked = asked.odd_first();
        }
        Ok(CallsQuestion::Contexts(ContextsArgs {
            asked,
            follow: self.follow,
            source,
            max: self.max,
        }))
    }

    /// What is around a call.
    fn around(&self, call: &From) -> Result<CallsQuestion, Failure> {
        self.expect("one call", &["--test", "--include", "--exclude", "--own", "--max"], false)?;
        let (method, source) = self.method_and_source();
        if let Some(method) = method {
            let text = format!("--around has the call already: leave out {method}");
            return Err(Failure::Usage(text));
        }
        let (call, part) = (call.clone(), self.part.clone());
        let (max, verbose) = (self.max, self.verbose);
        Ok(CallsQuestion::Around(AroundArgs { call, source, part, max, verbose }))
    }

    /// The preset that is asked for.
    fn preset(&self) -> Option<&str> {
        match (self.sql, self.http, self.log) {
            (true, ..) => Some("sql"),
            (_, true, _) => Some("http"),
            (_, _, true) => Some("log"),
            _ => self.preset.as_deref(),
        }
    }

    fn of_preset(&self, preset: &str) -> Result<CallsQuestion, Failure> {
        let Self { part, max, verbose, .. } = self;
        self.expect("statements, requests and messages", &["--test", "--max"], true)?;
        let others = given(&[
            ("--slowest", self.slowest.is_some()),
            ("--around", self.around.is_some()),
            ("--where", !self.conditions.is_empty()),
            ("--outcome", self.outcome.is_some()),
            ("--by shape", self.by == Some(GroupBy::Shape)),
            ("--by with --values", self.by.is_some() && self.values),
            ("--odd", self.odd),
            ("--durations", self.durations),
        ]);
        expect("statements, requests and messages", &others, &[])?;
        let (containing, source) = self.method_and_source();
        Ok(CallsQuestion::OfPreset(PresetArgs {
            preset: preset.to_owned(),
            containing,
            source,
            part: part.clone(),
            when: self.when.clone(),
            by_request: self.by == Some(GroupBy::Request),
            each: self.values,
            max: *max,
            verbose: *verbose,
        }))
    }

    /// What is asked with `--follow`.
    fn followed(&self) -> Result<FollowArgs, Failure> {
        self.expect("calls that end now", &["--test", "--max"], true)?;
        let (method, source) = self.method_and_source();
        if let Some(name) = method.as_deref().filter(|what| Calls::of(what).is_of_shape()) {
            return Err(Failure::Usage(format!(
                "--follow {name}: calls have shapes when a trace is whole; name a method"
            )));
        }
        Ok(FollowArgs {
            methods: method.into_iter().collect(),
            source,
            part: self.part.clone(),
            when: self.when.clone(),
            conditions: self.conditions.clone(),
            outcome: self.outcome,
            has_values: self.values || !self.conditions.is_empty(),
            max: self.max,
            verbose: self.verbose,
        })
    }

    /// Refuses flags that do not apply to what is shown.
    fn expect(&self, what: &str, flags: &[Given], has_times: bool) -> Result<(), Failure> {
        let PartArgs { tests, filter, .. } = &self.part;
        let mut all = given(&[
            ("--test", !tests.patterns.is_empty()),
            ("--include", !filter.include.is_empty()),
            ("--exclude", !filter.exclude.is_empty()),
            ("--own", filter.own),
            ("--max", self.max.is_some()),
        ]);
        if !has_times {
            all.extend(self.when.given());
        }
        expect(what, &all, flags)
    }

    /// The method and the trace of the slowest calls. A single word is the trace if there is such a file.
    fn method_and_source(&self) -> (Option<String>, SourceArgs) {
        let (what, source) = (self.what.clone(), self.source.clone());
        let is_trace = |word: &String| word == "-" || Path::new(word).exists();
        match what {
            Some(word) if source.dir == Path::new(DEFAULT_DIR) && is_trace(&word) => {
                (None, SourceArgs { dir: PathBuf::from(word), ..source })
            }
            what => (what, source),
        }
    }
}
