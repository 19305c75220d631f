//! The tables of `xtask bench`.
//!
//! A run is compared with the run of the program alone in the same turn, never with that of another turn,
//! because machines drift.

use super::rounds::JvmRun;
use super::workload::{Variant, Workload};
use crate::base::arguments::name_of;
use crate::measure::grouped;
use crate::measure::markdown::Align::{Left, Right};
use crate::measure::markdown::Table;
use crate::measure::stats::{Spread, ratio};

/// Fewer calls are mostly the start of the recording: figures a call would mislead.
const MANY_CALLS: f64 = 1e6;

/// The runs of one line of a table, each with the run of the program alone that it is compared with.
struct Row<'a> {
    workload: &'static Workload,
    jdk: u32,
    variant: Variant,
    pairs: Vec<Pair<'a>>,
}

#[derive(Clone, Copy)]
struct Pair<'a> {
    run: &'a JvmRun,
    alone: &'a JvmRun,
}

impl Row<'_> {
    fn spread(&self, of: impl Fn(&Pair<'_>) -> f64) -> Spread {
        Spread::of(self.pairs.iter().map(of)).expect("a row has at least one pair")
    }

    fn median(&self, of: impl Fn(&Pair<'_>) -> f64) -> f64 {
        self.spread(of).median
    }
}

/// Returns the tables as Markdown.
pub(super) fn render(runs: &[JvmRun]) -> String {
    let rows = rows(runs);
    let mut text = costs(&rows).to_string();
    text += "\nRatios: smallest / **median** / largest, each against the program alone in the same turn.\n";
    let figures = figures(&rows);
    if !figures.is_empty() {
        text += &format!("\n{figures}");
    }
    text
}

/// Returns the runs by workload, JDK and variant, in the order in which they first ran.
fn rows(runs: &[JvmRun]) -> Vec<Row<'_>> {
    let pairs = runs.iter().filter_map(|run| {
        let is_alone = |other: &&JvmRun| {
            other.variant == Variant::None
                && (other.workload.name, other.jdk, other.turn)
                    == (run.workload.name, run.jdk, run.turn)
        };
        runs.iter().find(is_alone).map(|alone| Pair { run, alone })
    });
    let pairs: Vec<Pair<'_>> = pairs.collect();
    let groups = grouped(&pairs, |pair| (pair.run.workload.name, pair.run.jdk, pair.run.variant));
    let mut rows = Vec::new();
    for group in groups {
        let JvmRun { workload, jdk, variant, .. } = *group[0].run;
        rows.push(Row { workload, jdk, variant, pairs: group.into_iter().copied().collect() });
    }
    rows
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn costs(rows: &[Row<'_>]) -> Table<11> {
    let mut table = Table::new([
        ("workload", Left),
        ("JDK", Left),
        ("variant", Left),
        ("wall, s", Right),
        ("wall ratio", Left),
        ("CPU ratio", Left),
        ("ns a call added", Right),
        ("calls", Right),
        ("bytes a call", Right),
        ("RSS ratio", Right),
        ("runs", Right),
    ]);
    for row in rows {
        let [wall_ratio, cpu_ratio, added, calls, bytes, rss] = relative_cost(row);
        table.push([
            row.workload.name.to_owned(),
            row.jdk.to_string(),
            name_of(row.variant),
            format!("{:.2}", row.median(|pair| pair.run.usage.wall_ns as f64 / 1e9)),
            wall_ratio,
            cpu_ratio,
            added,
            calls,
            bytes,
            rss,
            row.pairs.len().to_string(),
        ]);
    }
    table
}

/// Returns the cells that compare a row with the program alone.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn relative_cost(row: &Row<'_>) -> [String; 6] {
    if row.variant == Variant::None {
        return ["1", "1", "-", "-", "-", "1"].map(str::to_owned);
    }
    let wall = |run: &JvmRun| run.usage.wall_ns as f64;
    let cpu = |run: &JvmRun| run.usage.cpu_ns as f64;
    let rss = |run: &JvmRun| run.usage.rss_kib as f64;
    let calls = |run: &JvmRun| run.recorded.calls as f64;
    let median_calls = row.median(|pair| calls(pair.run));
    let has_many = median_calls >= MANY_CALLS;
    let a_call = |of: &dyn Fn(&Pair<'_>) -> f64| {
        let value = row.median(|pair| ratio(of(pair), calls(pair.run)));
        if has_many { format!("{value:.2}") } else { "-".to_owned() }
    };
    [
        row.spread(|pair| ratio(wall(pair.run), wall(pair.alone))).to_string(),
        row.spread(|pair| ratio(cpu(pair.run), cpu(pair.alone))).to_string(),
        a_call(&|pair| cpu(pair.run) - cpu(pair.alone)),
        match row.variant {
            _ if has_many => format!("{:.1} M", median_calls / 1e6),
            Variant::Again => "-".to_owned(),
            _ => median_calls.to_string(),
        },
        a_call(&|pair| pair.run.recorded.bytes as f64),
        format!("{:.2}", row.median(|pair| ratio(rss(pair.run), rss(pair.alone)))),
    ]
}

fn figures(rows: &[Row<'_>]) -> Table<8> {
    let mut table = Table::new([
        ("workload", Left),
        ("JDK", Left),
        ("variant", Left),
        ("what", Left),
        ("alone", Right),
        ("recorded", Right),
        ("added", Right),
        ("ratio", Right),
    ]);
    for row in rows.iter().filter(|row| row.variant != Variant::None) {
        let Some(what) = row.workload.figure else { continue };
        let figure = |run: &JvmRun| run.figure.unwrap_or_default();
        let cell = |of: &dyn Fn(&Pair<'_>) -> f64| format!("{:.2}", row.median(of));
        table.push([
            row.workload.name.to_owned(),
            row.jdk.to_string(),
            name_of(row.variant),
            what.title(),
            cell(&|pair| figure(pair.alone)),
            cell(&|pair| figure(pair.run)),
            cell(&|pair| figure(pair.run) - figure(pair.alone)),
            cell(&|pair| ratio(figure(pair.run), figure(pair.alone))),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::rounds::{Recorded, Turn};
    use super::super::workload::named;
    use super::*;
    use crate::base::process::Usage;

    fn run(workload: &str, variant: Variant, round: u32, seconds: u64, calls: u64) -> JvmRun {
        JvmRun {
            workload: named(workload).unwrap()[0],
            jdk: 17,
            variant,
            turn: Turn { round, number: round - 1 },
            usage: Usage {
                wall_ns: seconds * 1_000_000_000,
                cpu_ns: seconds * 2_000_000_000,
                rss_kib: seconds * 1000,
            },
            recorded: Recorded { calls, bytes: calls * 3 },
            figure: Some(seconds as f64 * 10.0),
        }
    }

    #[test]
    fn ratios_are_of_pairs_of_the_same_turn() {
        // The machine becomes ten times slower; within each turn the ratio is 2, then 3.
        let runs = [
            run("javac", Variant::None, 1, 1, 0),
            run("javac", Variant::Instrument, 1, 2, 2_000_000),
            run("javac", Variant::Instrument, 2, 30, 4_000_000),
            run("javac", Variant::None, 2, 10, 0),
        ];
        let text = render(&runs);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2], "| javac | 17 | none | 5.50 | 1 | 1 | - | - | - | 1 | 2 |");
        assert_eq!(
            lines[3],
            "| javac | 17 | instrument | 16.00 | 2.00 / **2.50** / 3.00 | 2.00 / **2.50** / 3.00 \
             | 5500.00 | 3.0 M | 3.00 | 2.50 | 2 |"
        );
        assert_eq!(lines.len(), 6, "javac has no figure of its own: {text}");
    }

    #[test]
    fn few_calls_have_no_figures_a_call() {
        let runs = [
            run("startup", Variant::None, 1, 2, 0),
            run("startup", Variant::Again, 1, 2, 0),
            run("startup", Variant::Instrument, 1, 3, 5),
        ];
        let text = render(&runs);
        let again = "| startup | 17 | again | 2.00 | 1.00 / **1.00** / 1.00 | 1.00 / **1.00** / 1.00 \
                     | - | - | - | 1.00 | 1 |";
        let recorded = "| startup | 17 | instrument | 3.00 | 1.50 / **1.50** / 1.50 \
                        | 1.50 / **1.50** / 1.50 | - | 5 | - | 1.50 | 1 |";
        assert!(text.contains(again) && text.contains(recorded), "{text}");
    }

    #[test]
    fn a_workload_with_a_figure_of_its_own_has_a_second_table() {
        let runs = [run("fib", Variant::None, 1, 2, 0), run("fib", Variant::Untimed, 1, 3, 5)];
        let what = named("fib").unwrap()[0].figure.unwrap().title();
        let row = format!("| fib | 17 | untimed | {what} | 20.00 | 30.00 | 10.00 | 1.50 |\n");
        let text = render(&runs);
        assert!(text.ends_with(&row), "{text}");
    }

    #[test]
    fn a_run_without_one_alone_in_its_turn_is_left_out() {
        let runs = [
            run("javac", Variant::None, 1, 1, 0),
            run("javac", Variant::Instrument, 2, 2, 2_000_000),
        ];
        assert!(!render(&runs).contains("instrument"));
    }
}
