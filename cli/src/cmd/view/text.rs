//! The rows of calls as text.

use super::calls::Calls;
use super::clock::Span;
use super::tree::Row;
use crate::output::{escaped, grouped, rough_duration, shortened};

/// The rows of calls as text, in columns.
#[derive(Debug, Default)]
pub(super) struct Cells {
    pub(super) rows: Vec<RowCells>,
    /// The widths of the numbers, and of all.
    widths: [usize; 3],
    width: usize,
}

/// A row.
#[derive(Debug, Default)]
pub(super) struct RowCells {
    /// The numbers, with blanks around them.
    pub(super) numbers: String,
    /// The indentation, whether it has callees, and how many calls it is.
    pub(super) start: String,
    pub(super) name: String,
    /// How it ended, if not as usual.
    pub(super) end: String,
}

impl RowCells {
    fn line(&self) -> String {
        format!("{}{}{}{}", self.numbers, self.start, self.name, self.end)
    }
}

/// The titles of the numbers.
const TITLES: [&str; 3] = ["duration", "self", "calls"];
/// Names have at least this width, whatever the indentation.
const NARROWEST: usize = 16;

impl Cells {
    /// The rows on the screen, in lines of this width.
    pub(super) fn of(calls: &mut Calls<'_>, width: usize) -> Self {
        let numbers: Vec<_> = calls.rows.iter().map(|row| numbers(calls, row)).collect();
        let widest = |column: usize| {
            let cells = numbers.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let has = |column: usize| widest(column) > 0;
        let width_of = |column: usize| match (has(column), TITLES.get(column)) {
            (true, Some(title)) => widest(column).max(title.len()),
            _ => 0,
        };
        let widths = [width_of(0), width_of(1), width_of(2)];
        let taken: usize = widths.iter().filter(|width| **width > 0).map(|width| width + 2).sum();
        let room = width.saturating_sub(taken);
        let base = calls.rows.iter().map(|row| row.depth).min().unwrap_or(0);
        let rows = calls.rows.clone();
        let rows = rows.iter().zip(&numbers).map(|(row, numbers)| {
            let depth = usize::try_from(row.depth - base).unwrap_or(usize::MAX);
            let indent = depth.saturating_mul(2).min(room.saturating_sub(NARROWEST + 2));
            let marker = match (row.has_callees(), row.is_unfolded) {
                (false, _) => "  ",
                (true, false) => "▸ ",
                (true, true) => "▾ ",
            };
            let count = match row.count {
                1 => String::new(),
                count => format!("×{} ", grouped(count)),
            };
            let end = match calls.times(row).and_then(|times| times.all.unwound.as_ref()) {
                _ if row.left.is_none() => "  still open".to_owned(),
                None => String::new(),
                Some(by) => {
                    let class = by.class.as_deref().unwrap_or("?");
                    let class = class.rsplit('.').next().unwrap_or(class);
                    format!("  ! {}", escaped(class))
                }
            };
            let part = calls.part_title(row).unwrap_or_default();
            let start = format!("{:indent$}{marker}{part}{count}", "");
            let others = start.chars().count() + end.chars().count();
            let name = calls.labels.get(row.method());
            let name = shortened(name, room.saturating_sub(others).max(1)).into_owned();
            RowCells { numbers: joined(numbers, widths), start, name, end }
        });
        Self { rows: rows.collect(), widths, width }
    }
}

/// The titles of the columns and the rows, as lines without styles.
pub(super) fn plain_lines(calls: &mut Calls<'_>, width: usize) -> Vec<String> {
    let cells = Cells::of(calls, width);
    let header = header_of(calls, &cells);
    let rows = cells.rows.iter().map(RowCells::line);
    std::iter::once(header).chain(rows).map(|line| line.trim_end().to_owned()).collect()
}

/// The titles of the columns; if the outermost calls are above the screen, with the callers of those on it.
pub(super) fn header_of(calls: &Calls<'_>, cells: &Cells) -> String {
    let titles = joined(&TITLES.map(str::to_owned), cells.widths);
    if calls.callers.is_empty() {
        return format!("{titles}  call");
    }
    let room = cells.width.saturating_sub(titles.chars().count() + "  call, in ".len()).max(1);
    let callers = calls.callers.join(" > ");
    format!("{titles}  call, in {}", shortened(&escaped(&callers), room))
}

fn joined(numbers: &[String; 3], widths: [usize; 3]) -> String {
    let columns = numbers.iter().zip(widths).filter(|(_, width)| *width > 0);
    columns.map(|(number, width)| format!("{number:>width$}  ")).collect()
}

/// Duration, self time, and calls below.
fn numbers(calls: &Calls<'_>, row: &Row) -> [String; 3] {
    let times = calls.times(row).filter(|times| times.all.start.estimate_ns.is_some());
    let shown = |span: Span| rough_duration(span.ns, (span.bounds.from_ns, span.bounds.by_ns));
    let total = times.map(|times| shown(times.total())).unwrap_or_default();
    let of_self = times.and_then(|times| times.of_self).map(shown).unwrap_or_default();
    [total, of_self, grouped(row.all_calls())]
}
