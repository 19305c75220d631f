//! Prints profiles, and the differences of two.

use std::collections::HashSet;
use std::io::Write;

use flow_codec::format::hpl::NATIVE_BCI;
use flow_query::profile::{Profile, ProfileFrame, ProfileRow, ProfileThread};
use flow_query::rows::{
    Cell, Figures, FiguresAfter, Percent, ProfileChange, ProfileColumns, RowNames,
};

use super::rows::{Limits, Selected, pair};
use crate::args::{Format, ProfileArgs, ProfileBy};
use crate::cmd::line_limit;
use crate::failure::Failure;
use crate::input::profile::{Added, Origin};
use crate::output::{
    Labels, Out, Records, Table, Unit, grouped, indent, left_out, plural, signed_duration,
};

/// The limits of text by default: of a list, and of a tree.
const DEFAULT_MAX: u64 = 40;
const DEFAULT_TREE_MAX: u64 = 100;
const DEFAULT_TREE_PERCENT: f64 = 1.0;

/// Prints a profile of one run, or of two.
pub(super) struct Print<'a> {
    pub(super) args: &'a ProfileArgs,
    pub(super) profile: &'a Profile,
    /// What was added for each run.
    pub(super) added: &'a [Added],
}

impl Print<'_> {
    pub(super) fn all(&self, out: &mut Out) -> Result<(), Failure> {
        let limits = self.limits();
        let profile = limits.filtered(self.profile, self.args);
        let labels = Labels::new(profile.methods(), self.args.format, self.args.verbose);
        let name = |row: &ProfileRow<'_>| {
            row.frame.map_or(String::new(), |frame| labels.name(frame.method))
        };
        let selected = limits.select(&profile, self.args, name);
        match self.args.format {
            Format::Text => self.text(&limits, &profile, &selected, out)?,
            _ => self.lines(&limits, &profile, &selected, out)?,
        }
        let Selected { deeper, smaller, more, .. } = selected;
        let what = |count, flag: &str| format!("… {} left out ({flag})", plural(count, "more row"));
        let depth = what(deeper, &format!("--depth {}", limits.depth));
        let min = what(smaller, &format!("--min {}; 0 for all", limits.min_percent));
        let max = left_out(&plural(more, "more row"), limits.max);
        for (count, remark) in [(deeper, depth), (smaller, min), (more, max)] {
            if count > 0 {
                out.remark(self.args.format, None, &remark)?;
            }
        }
        Ok(())
    }

    fn limits(&self) -> Limits {
        let Self { args, added, .. } = *self;
        let has_times =
            added.iter().all(|added| matches!(added.origin, Origin::Calls(unit) if unit.is_time()));
        let by = args.by.unwrap_or(if has_times { ProfileBy::Time } else { ProfileBy::Count });
        let is_text = args.format == Format::Text;
        let (min, max) = match args.is_tree() {
            true => (if is_text { DEFAULT_TREE_PERCENT } else { 0.0 }, DEFAULT_TREE_MAX),
            false => (0.0, DEFAULT_MAX),
        };
        let depth = args.depth.and_then(|depth| usize::try_from(depth).ok());
        Limits {
            by,
            of: args.percent_of,
            sort: args.sort,
            is_diff: added.len() > 1,
            depth: depth.unwrap_or(usize::MAX),
            min_percent: args.min.unwrap_or(min),
            max: line_limit(args.max, args.format, max),
        }
    }

    /// What is counted, and what the times are.
    fn words(&self) -> (&'static str, &'static str) {
        match self.added.first().map(|added| added.origin) {
            Some(Origin::Calls(Unit::Cpu)) => ("calls", "cpu"),
            Some(Origin::Calls(_)) => ("calls", "time"),
            Some(Origin::Samples { unit: Unit::Cpu, .. }) => ("samples", "cpu"),
            _ => ("samples", "time"),
        }
    }

    /// The sums of a run: `1,234 samples (12 failed) in 5 threads lasted 12.3 s, added up`.
    fn summary(&self, run: usize) -> Option<String> {
        let Added { origin, threads, .. } = self.added.get(run)?;
        let numbers = self.profile.whole()[run];
        let threads = plural(*threads, "thread");
        let time = signed_duration(numbers.total_ns);
        let waiting = Some(numbers.waiting_ns).filter(|ns| *ns != 0).map(signed_duration);
        Some(match origin {
            Origin::Samples { failed, unit } => {
                let failed = match failed {
                    0 => String::new(),
                    failed => format!(" ({} failed)", grouped(*failed)),
                };
                let lasted = match numbers.total_ns {
                    0 => String::new(),
                    _ if *unit == Unit::Cpu => format!(" ran for {time}"),
                    _ => {
                        let waiting = waiting.map(|time| format!(", {time} of it waiting"));
                        format!(" lasted {time}, added up{}", waiting.unwrap_or_default())
                    }
                };
                format!("{}{failed} in {threads}{lasted}", plural(numbers.total_count, "sample"))
            }
            Origin::Calls(unit) => {
                let calls = plural(numbers.total_count, "call");
                match unit {
                    Unit::Calls => format!("{calls} in {threads}"),
                    Unit::Nanos => format!("{calls} in {threads} took {time}, added up"),
                    Unit::Cpu => {
                        let waiting = waiting.map(|time| format!(" and waited for {time}"));
                        format!(
                            "{calls} in {threads} ran for {time}{}",
                            waiting.unwrap_or_default()
                        )
                    }
                }
            }
        })
    }

    fn text(
        &self,
        limits: &Limits,
        profile: &Profile,
        selected: &Selected<'_>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        for (run, what) in [(0, "before"), (1, "after")] {
            let Some(summary) = self.summary(run) else { continue };
            match limits.is_diff {
                true => writeln!(out, "{what:<6}  {summary}")?,
                false => writeln!(out, "{summary}")?,
            }
        }
        let labels = Labels::new(profile.methods(), Format::Text, self.args.verbose);
        let mut rows = selected.rows.iter().peekable();
        while let Some(thread) = rows.next() {
            let mut of_thread = Vec::new();
            while let Some(row) = rows.next_if(|row| row.frame.is_some()) {
                of_thread.push(row);
            }
            // A thread without rows that are shown would be a heading without anything below it.
            if of_thread.is_empty() {
                continue;
            }
            writeln!(out)?;
            if thread.thread.name.is_some() {
                out.heading(&self.title(limits, thread, profile))?;
            }
            self.table(limits, profile, &labels, &of_thread).print(out)?;
        }
        Ok(())
    }

    /// `thread 7 main  1,234 samples, 40.1%`.
    fn title(&self, limits: &Limits, row: &ProfileRow<'_>, profile: &Profile) -> String {
        let runs = if limits.is_diff { 0..2 } else { 0..1 };
        let figures = runs.map(|run| {
            let [total, _] = pair(row.numbers[run], limits.by);
            let whole = pair(profile.whole()[run], limits.by)[0];
            let noun = if limits.by == ProfileBy::Count { self.words().0 } else { "" };
            let share = percent(total, whole);
            format!("{} {noun}, {share}", show(total, limits.by)).replace(" ,", ",")
        });
        let figures: Vec<_> = figures.collect();
        format!("thread {}  {}", thread_title(row.thread), figures.join(", after: "))
    }

    fn table(
        &self,
        limits: &Limits,
        profile: &Profile,
        labels: &Labels<'_>,
        rows: &[&ProfileRow<'_>],
    ) -> Table<'static> {
        let (counts, times) = self.words();
        let (main, other) = match limits.by {
            ProfileBy::Count => (counts, times),
            ProfileBy::Time => (times, counts),
        };
        let amounts = |run: usize, index: usize| {
            rows.iter().map(move |row| {
                Cell::number(show(pair(row.numbers[run], limits.by)[index], limits.by))
            })
        };
        let share = |row: &ProfileRow<'_>, run: usize, index: usize| {
            // Rounded down, as in reports.
            let share = limits.shares(row, run, profile)[index];
            Cell::Percent((share * 10.0 + 1e-6).floor() / 10.0)
        };
        let shares = |run, index| rows.iter().map(move |row| share(row, run, index));
        let mut table = Table::default();
        if limits.is_diff {
            let changes = |index| {
                rows.iter().map(move |row| {
                    let [before, after] = [0, 1].map(|run| limits.shares(row, run, profile)[index]);
                    Cell::number(signed(after - before))
                })
            };
            table.column("before", amounts(0, 0));
            table.column("%", shares(0, 0));
            table.column("after", amounts(1, 0));
            table.column("%", shares(1, 0));
            table.column("change", changes(0));
            table.column("self change", changes(1));
        } else {
            table.column(main, amounts(0, 0));
            table.column(if self.args.is_tree() { "     %" } else { "%" }, shares(0, 0));
            table.column("self", amounts(0, 1));
            if self.args.is_tree() {
                table.self_shares(shares(0, 1));
            } else {
                table.column("%", shares(0, 1));
            }
        }
        if self.has_other(limits) {
            table.column(
                other,
                rows.iter().map(|row| match limits.by {
                    ProfileBy::Count => Cell::SignedNanos(row.numbers[0].total_ns),
                    ProfileBy::Time => Cell::Count(row.numbers[0].total_count),
                }),
            );
        }
        if !limits.is_diff && self.has_waiting() {
            let waiting = rows.iter().map(|row| Cell::SignedNanos(row.numbers[0].waiting_ns));
            table.column("waiting", waiting);
        }
        table
            .column("method", rows.iter().map(|row| Cell::method(self.name(row, profile, labels))));
        table
    }

    /// Whether the figure that is not compared has a column.
    fn has_other(&self, limits: &Limits) -> bool {
        let has_times = self.profile.whole().iter().any(|numbers| numbers.total_ns != 0);
        !limits.is_diff && (limits.by == ProfileBy::Time || has_times)
    }

    /// Whether it is known for how long threads did not run.
    fn has_waiting(&self) -> bool {
        self.profile.whole().iter().any(|numbers| numbers.waiting_ns != 0)
    }

    /// The name of a frame, indented in a tree, and where in the method it is.
    fn name(&self, row: &ProfileRow<'_>, profile: &Profile, labels: &Labels<'_>) -> String {
        let Some(frame) = row.frame else { return String::new() };
        let mut name = String::new();
        if self.args.is_tree() {
            indent(row.depth, &mut name);
        }
        name.push_str(&labels.name(frame.method));
        if let (source, Some(line)) = place_of(frame, profile) {
            name.push_str(&format!("  {}:{line}", source.unwrap_or("line")));
        }
        name.extend(frame.bci.map(|bci| match bci {
            NATIVE_BCI => "  native".to_owned(),
            bci => format!(" @{bci}"),
        }));
        name
    }

    fn lines(
        &self,
        limits: &Limits,
        profile: &Profile,
        selected: &Selected<'_>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let format = self.args.format;
        let mut records = match limits.is_diff {
            true => Records::new::<ProfileChange<'_>>(format, false, out)?,
            false => Records::new::<ProfileColumns<'_>>(format, false, out)?,
        };
        let (count_unit, times) = self.words();
        let has_times = self.profile.whole().iter().any(|numbers| numbers.total_ns != 0);
        let time_unit = if times == "cpu" { Unit::Cpu } else { Unit::Nanos };
        let time_unit = has_times.then_some(time_unit.word());
        let parents: HashSet<u32> =
            selected.rows.iter().filter(|row| row.frame.is_some()).map(|row| row.number).collect();
        /// The figures of a run, whose columns have these names.
        macro_rules! figures {
            ($columns:ident, $row:expr, $run:expr) => {{
                let numbers = $row.numbers[$run];
                let [total_percent, self_percent] = limits.shares($row, $run, profile).map(Percent);
                $columns {
                    total_count: numbers.total_count,
                    self_count: numbers.self_count,
                    total_ns: has_times.then_some(numbers.total_ns),
                    self_ns: has_times.then_some(numbers.self_ns),
                    waiting_ns: (has_times && self.has_waiting()).then_some(numbers.waiting_ns),
                    total_percent,
                    self_percent,
                }
            }};
        }
        let mut names = RowNames::new(profile.methods());
        for row in &selected.rows {
            let Some(frame) = row.frame else { continue };
            let (source, line) = place_of(frame, profile);
            let before = ProfileColumns {
                thread: row.thread.id,
                thread_name: row.thread.name.as_deref(),
                row: row.number,
                parent: parents.get(&row.parent).copied(),
                depth: row.depth,
                method: names.get(frame.method),
                source,
                line,
                bci: frame.bci,
                count_unit,
                time_unit,
                figures: figures!(Figures, row, 0),
            };
            if limits.is_diff {
                let after = figures!(FiguresAfter, row, 1);
                records.row(&ProfileChange { before, after }, out)?;
            } else {
                records.row(&before, out)?;
            }
        }
        Ok(())
    }
}

/// The source file and the line of a frame, as far as they are known.
fn place_of(frame: ProfileFrame, profile: &Profile) -> (Option<&str>, Option<u32>) {
    let method = profile.methods().get(frame.method);
    method.map_or((None, frame.line), |method| method.info.named_place(frame.line))
}

/// `7 main`; only the name of threads that are one; `without a name`.
fn thread_title(thread: &ProfileThread) -> String {
    let name = thread.name.as_deref().unwrap_or_default();
    match thread.id {
        Some(id) if name != format!("thread {id}") => format!("{id} {name}"),
        Some(id) => id.to_string(),
        None if name.is_empty() => "without a name".to_owned(),
        None => name.strip_prefix("thread ").unwrap_or(name).to_owned(),
    }
}

/// A count or a time as text.
fn show(amount: i64, by: ProfileBy) -> String {
    match by {
        ProfileBy::Count => grouped(amount.unsigned_abs()),
        ProfileBy::Time => signed_duration(amount),
    }
}

/// `+1.2`, `-0.5`, `0.0`: a difference in percentage points.
fn signed(points: f64) -> String {
    let text = format!("{points:+.1}");
    if matches!(text.as_str(), "+0.0" | "-0.0") { "0.0".to_owned() } else { text }
}

fn percent(part: i64, whole: i64) -> String {
    let clamp = |number: i64| u64::try_from(number).unwrap_or(0);
    crate::output::percent(clamp(part), clamp(whole))
}
