//! The table of `xtask bench-read`.

use crate::base::process::Usage;
use crate::measure::markdown::Align::{Left, Right};
use crate::measure::markdown::Table;
use crate::measure::stats::{Spread, ratio};
use crate::measure::{Run, grouped};

/// One run of a command.
#[derive(Clone, Debug)]
pub(super) struct ReadRun {
    pub(super) trace: String,
    /// What the table calls the command.
    pub(super) title: String,
    pub(super) calls: u64,
    pub(super) usage: Usage,
}

impl Run for ReadRun {
    /// Returns trace, command, calls of the trace, wall ns, CPU ns, KiB.
    fn line(&self) -> String {
        let Self { trace, title, calls, usage: Usage { wall_ns, cpu_ns, rss_kib } } = self;
        format!("{trace}\t{title}\t{calls}\t{wall_ns}\t{cpu_ns}\t{rss_kib}")
    }
}

/// Returns the table as Markdown, with a line for each trace and command in the order in which they ran.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
pub(super) fn render(runs: &[ReadRun]) -> String {
    let mut table = Table::new([
        ("trace", Left),
        ("command", Left),
        ("M calls/s", Left),
        ("wall, s", Right),
        ("CPU, s", Right),
        ("RSS, MiB", Right),
        ("runs", Right),
    ]);
    let rows = grouped(runs, |run| (&run.trace, &run.title));
    for row in rows {
        let spread = |of: &dyn Fn(&ReadRun) -> f64| {
            Spread::of(row.iter().map(|run| of(run))).expect("a row has at least one run")
        };
        table.push([
            row[0].trace.clone(),
            row[0].title.clone(),
            spread(&|run| ratio(run.calls as f64, run.usage.wall_ns as f64) * 1e3).to_string(),
            format!("{:.3}", spread(&|run| run.usage.wall_ns as f64 / 1e9).median),
            format!("{:.3}", spread(&|run| run.usage.cpu_ns as f64 / 1e9).median),
            format!("{:.1}", spread(&|run| run.usage.rss_kib as f64 / 1024.0).max),
            row.len().to_string(),
        ]);
    }
    format!(
        "{table}\nM calls/s: smallest / **median** / largest, of the whole command. \
         Wall and CPU: median; RSS: largest.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_command_are_one_line_of_rates_medians_and_the_largest_memory() {
        let run = |title: &str, wall_ns: u64, rss_kib| ReadRun {
            trace: "100M calls".to_owned(),
            title: title.to_owned(),
            calls: 100_000_000,
            usage: Usage { wall_ns, cpu_ns: wall_ns / 2, rss_kib },
        };
        let second = 1_000_000_000;
        let runs =
            [run("info", second, 2048), run("cat", second, 1024), run("info", 2 * second, 1024)];
        let text = render(&runs);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[2],
            "| 100M calls | info | 50.00 / **75.00** / 100.00 | 1.500 | 0.750 | 2.0 | 2 |"
        );
        assert_eq!(
            lines[3],
            "| 100M calls | cat | 100.00 / **100.00** / 100.00 | 1.000 | 0.500 | 1.0 | 1 |"
        );
        assert_eq!(lines.len(), 6);
    }

    #[test]
    fn a_line_has_a_column_for_each_figure() {
        let usage = Usage { wall_ns: 5, cpu_ns: 6, rss_kib: 7 };
        let run = ReadRun { trace: "1G".to_owned(), title: "cat".to_owned(), calls: 4, usage };
        assert_eq!(run.line(), "1G\tcat\t4\t5\t6\t7");
    }
}
