//! Prints profiles, and the differences of two.

use std::io::Write;

use flow_codec::format::hpl::NATIVE_BCI;
use flow_query::profile::{Numbers, Profile, ProfileRow, ProfileThread};

use super::rows::{Limits, Selected, pair};
use crate::args::{Format, ProfileArgs, ProfileBy};
use crate::cmd::line_limit;
use crate::failure::Failure;
use crate::input::profile::{Added, Origin};
use crate::output::{
    Align, Labels, Out, Table, Unit, csv_fields, grouped, indent, left_out, plural, signed_duration,
};

/// The limits of text by default: of a list, and of a tree.
const DEFAULT_MAX: u64 = 40;
const DEFAULT_TREE_MAX: u64 = 100;
const DEFAULT_TREE_PERCENT: f64 = 1.0;

/// The columns of CSV that are there for each run.
const COLUMNS_OF_RUN: [&str; 7] = [
    "total_count",
    "self_count",
    "total_ns",
    "self_ns",
    "waiting_ns",
    "total_percent",
    "self_percent",
];

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
        let mut labels = Labels::new(profile.methods(), Format::Text, self.args.verbose);
        let mut rows = selected.rows.iter().peekable();
        while let Some(thread) = rows.next() {
            let mut table = self.table(limits);
            let mut is_empty = true;
            while let Some(row) = rows.next_if(|row| row.frame.is_some()) {
                is_empty = false;
                self.row(limits, row, profile, &mut labels, &mut table);
            }
            // A thread without rows that are shown would be a heading without anything below it.
            if is_empty {
                continue;
            }
            writeln!(out)?;
            if thread.thread.name.is_some() {
                out.heading(&self.title(limits, thread, profile))?;
            }
            table.print(out)?;
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

    fn table(&self, limits: &Limits) -> Table {
        let (counts, times) = self.words();
        let (main, other) = match limits.by {
            ProfileBy::Count => (counts, times),
            ProfileBy::Time => (times, counts),
        };
        let numbers: &[&str] = match (limits.is_diff, self.args.is_tree()) {
            (true, _) => &["before", "%", "after", "%", "change", "self change"],
            (false, true) => &[main, "%", "self"],
            (false, false) => &[main, "%", "self", "%"],
        };
        let other = self.has_other(limits).then_some(other);
        let waiting = (!limits.is_diff && self.has_waiting()).then_some("waiting");
        let columns =
            numbers.iter().copied().chain(other).chain(waiting).map(|title| (title, Align::Right));
        Table::new(&columns.chain([("method", Align::Left)]).collect::<Vec<_>>())
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

    fn row(
        &self,
        limits: &Limits,
        row: &ProfileRow<'_>,
        profile: &Profile,
        labels: &mut Labels<'_>,
        table: &mut Table,
    ) {
        let Some(frame) = row.frame else { return };
        let mut name = String::new();
        if self.args.is_tree() {
            indent(row.depth, &mut name);
        }
        name.push_str(labels.get(frame.method));
        let info = profile.methods().get(frame.method).map(|method| &method.info);
        let place = info.map_or((None, frame.line), |info| info.named_place(frame.line));
        if let (source, Some(line)) = place {
            name.push_str(&format!("  {}:{line}", source.unwrap_or("line")));
        }
        name.extend(frame.bci.map(|bci| match bci {
            NATIVE_BCI => "  native".to_owned(),
            bci => format!(" @{bci}"),
        }));
        let shares = [0, 1].map(|run| limits.shares(row, run, profile));
        let [total, of_self] = pair(row.numbers[0], limits.by);
        // Rounded down, as in reports.
        let share = |share: f64| format!("{:.1}%", (share * 10.0 + 1e-6).floor() / 10.0);
        let mut cells = if limits.is_diff {
            let [after, _] = pair(row.numbers[1], limits.by);
            let change = |index: usize| signed(shares[1][index] - shares[0][index]);
            vec![
                show(total, limits.by),
                share(shares[0][0]),
                show(after, limits.by),
                share(shares[1][0]),
                change(0),
                change(1),
            ]
        } else if self.args.is_tree() {
            table.self_share(share(shares[0][1]));
            vec![
                show(total, limits.by),
                format!("{:>6}", share(shares[0][0])),
                show(of_self, limits.by),
            ]
        } else {
            vec![
                show(total, limits.by),
                share(shares[0][0]),
                show(of_self, limits.by),
                share(shares[0][1]),
            ]
        };
        if self.has_other(limits) {
            cells.push(match limits.by {
                ProfileBy::Count => signed_duration(row.numbers[0].total_ns),
                ProfileBy::Time => grouped(row.numbers[0].total_count),
            });
        }
        if !limits.is_diff && self.has_waiting() {
            cells.push(signed_duration(row.numbers[0].waiting_ns));
        }
        cells.push(name);
        table.row(cells);
    }

    fn lines(
        &self,
        limits: &Limits,
        profile: &Profile,
        selected: &Selected<'_>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let format = self.args.format;
        let mut labels = Labels::new(profile.methods(), format, self.args.verbose);
        let runs: &[(usize, &str)] =
            if limits.is_diff { &[(0, ""), (1, "after_")] } else { &[(0, "")] };
        let columns: Vec<String> = runs
            .iter()
            .flat_map(|(_, prefix)| COLUMNS_OF_RUN.map(|column| format!("{prefix}{column}")))
            .collect();
        if format == Format::Csv {
            let (method, of_runs) = (Labels::COLUMNS, columns.join(","));
            writeln!(
                out,
                "thread,thread_name,row,parent,depth,{method},source,line,bci,count_unit,time_unit,{of_runs}"
            )?;
        }
        let (counts, times) = self.words();
        let time_unit =
            match (times, self.profile.whole().iter().any(|numbers| numbers.total_ns != 0)) {
                (_, false) => None,
                ("cpu", true) => Some(Unit::Cpu.word()),
                (_, true) => Some(Unit::Nanos.word()),
            };
        let parents: std::collections::HashSet<u32> =
            selected.rows.iter().filter(|row| row.frame.is_some()).map(|row| row.number).collect();
        for row in &selected.rows {
            let Some(frame) = row.frame else { continue };
            let info = profile.methods().get(frame.method).map(|method| &method.info);
            let (source, line) =
                info.map_or((None, frame.line), |info| info.named_place(frame.line));
            let label = labels.get(frame.method);
            let parent = parents.get(&row.parent);
            let values = runs.iter().flat_map(|(run, _)| {
                let Numbers { total_count, self_count, total_ns, self_ns, waiting_ns } =
                    row.numbers[*run];
                let [total, of_self] = limits.shares(row, *run, profile).map(|s| format!("{s:.3}"));
                let time = |ns: i64| time_unit.map(|_| ns.to_string());
                [
                    Some(total_count.to_string()),
                    Some(self_count.to_string()),
                    time(total_ns),
                    time(self_ns),
                    time(waiting_ns).filter(|_| self.has_waiting()),
                    Some(total),
                    Some(of_self),
                ]
            });
            let ProfileThread { id, name, .. } = row.thread;
            if format == Format::Json {
                let text = |text: Option<&str>| serde_json::Value::from(text).to_string();
                let number = |number: Option<String>| number.unwrap_or_else(|| "null".to_owned());
                let of_runs: Vec<_> = columns
                    .iter()
                    .zip(values)
                    .map(|(column, value)| format!("\"{column}\":{}", number(value)))
                    .collect();
                writeln!(
                    out,
                    "{{\"thread\":{},\"thread_name\":{},\"row\":{},\"parent\":{},\"depth\":{},{label},\
                     \"source\":{},\"line\":{},\"bci\":{},\"count_unit\":\"{counts}\",\"time_unit\":{},{}}}",
                    number(id.map(|id| id.to_string())),
                    text(name.as_deref()),
                    row.number,
                    number(parent.map(u32::to_string)),
                    row.depth,
                    text(source),
                    number(line.map(|line| line.to_string())),
                    number(frame.bci.map(|bci| bci.to_string())),
                    text(time_unit),
                    of_runs.join(","),
                )?;
            } else {
                let number = |number: Option<String>| number.unwrap_or_default();
                let text =
                    |text: Option<&str>| text.map_or(String::new(), |text| csv_fields([text]));
                let (names, source) = (text(name.as_deref()), text(source));
                let of_runs: Vec<_> = values.map(number).collect();
                writeln!(
                    out,
                    "{},{names},{},{},{},{label},{source},{},{},{counts},{},{}",
                    number(id.map(|id| id.to_string())),
                    row.number,
                    number(parent.map(u32::to_string)),
                    row.depth,
                    number(line.map(|line| line.to_string())),
                    number(frame.bci.map(|bci| bci.to_string())),
                    time_unit.unwrap_or_default(),
                    of_runs.join(","),
                )?;
            }
        }
        Ok(())
    }
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
