//! Tables of text: aligned columns without rules. On a terminal with colours, shares have a bar.

use std::io::{self, Write};

use flow_query::rows::Cell;
use unicode_width::UnicodeWidthStr;

use super::super::{Out, bytes, duration, escaped, grouped, percent, signed_duration};

/// The narrowest terminals with bars, and the width of bars. In narrower ones, names need the room.
const BARS: [(usize, usize); 2] = [(140, 12), (100, 6)];

/// Columns of cells, all of one width per column.
#[derive(Debug, Default)]
pub(crate) struct Table<'a> {
    pub(super) columns: Vec<Column<'a>>,
    /// Lines between rows, with text in the last column only: after how many rows they are.
    notes: Vec<(usize, String)>,
    /// The shares of self of rows, if there is no column of them.
    of_self: Vec<Cell<'a>>,
}

#[derive(Debug)]
pub(super) struct Column<'a> {
    pub(super) title: &'a str,
    pub(super) cells: Vec<Cell<'a>>,
}

impl<'a> Table<'a> {
    /// Adds a column. Numbers are aligned at the right.
    pub(crate) fn column(&mut self, title: &'a str, cells: impl IntoIterator<Item = Cell<'a>>) {
        self.columns.push(Column { title, cells: cells.into_iter().collect() });
    }

    /// Adds a line after this many rows, with text in the last column only.
    pub(crate) fn note(&mut self, rows: usize, text: String) {
        self.notes.push((rows, text));
    }

    /// Sets the shares of self of all rows, of which the heavy parts of bars consist. Without a column of these
    /// shares, each row has one.
    pub(crate) fn self_shares(&mut self, shares: impl IntoIterator<Item = Cell<'a>>) {
        self.of_self.extend(shares);
    }

    /// Prints the table, the titles as a heading.
    pub(crate) fn print(&self, out: &mut Out) -> io::Result<()> {
        let width = out.is_styled().then(|| out.columns().unwrap_or(usize::MAX));
        let bars =
            BARS.into_iter().find(|(narrowest, _)| width.is_some_and(|width| width >= *narrowest));
        for (number, line) in self.lines(bars.map(|(_, width)| width)).into_iter().enumerate() {
            match number {
                0 => out.heading(&line)?,
                _ => writeln!(out, "{line}")?,
            }
        }
        Ok(())
    }

    /// The lines, the titles first.
    fn lines(&self, bars: Option<usize>) -> Vec<String> {
        let rows = self.columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
        let mut lines = vec![String::new(); 1 + rows];
        let mut notes: Vec<_> = self.notes.iter().map(|_| String::new()).collect();
        let mut shares = self.columns.iter().filter(|column| column.has_shares());
        let (total, of_self) = (shares.next(), shares.next());
        let of_self = of_self.map_or(&self.of_self, |column| &column.cells);
        let last = self.columns.len().saturating_sub(1);
        for (number, column) in self.columns.iter().enumerate() {
            let is_right = column.is_right();
            let mut texts = vec![column.title.to_owned()];
            texts.extend(column.cells.iter().map(shown));
            let gap = if number == 0 { "" } else { "  " };
            if number == last {
                let before = " ".repeat(lines[0].width());
                let text =
                    self.notes.iter().map(|(_, text)| format!("{before}{gap}{}", escaped(text)));
                notes = text.collect();
            }
            append(&mut lines, gap, &texts, is_right);
            if let Some(width) =
                bars.filter(|_| total.is_some_and(|total| std::ptr::eq(total, column)))
            {
                let bars = column.cells.iter().enumerate().map(|(row, cell)| {
                    let of_self = of_self.get(row).and_then(share).unwrap_or(0.0);
                    share(cell).map_or(String::new(), |total| bar(total, of_self, width))
                });
                let bars: Vec<_> = std::iter::once(String::new()).chain(bars).collect();
                append(&mut lines, "  ", &bars, false);
            }
        }
        for ((rows, _), note) in self.notes.iter().zip(notes).rev() {
            lines.insert((1 + rows).min(lines.len()), note);
        }
        lines.iter().map(|line| line.trim_end().to_owned()).collect()
    }
}

/// Appends a column of one width to lines.
fn append(lines: &mut [String], gap: &str, texts: &[String], is_right: bool) {
    let width = texts.iter().map(|text| text.width()).max().unwrap_or(0);
    for (line, text) in lines.iter_mut().zip(texts) {
        let blanks = " ".repeat(width - text.width());
        let (before, after) = if is_right { (&*blanks, "") } else { ("", &*blanks) };
        line.extend([gap, before, text, after]);
    }
}

impl Column<'_> {
    pub(super) fn is_right(&self) -> bool {
        self.cells.iter().any(Cell::is_number)
    }

    fn has_shares(&self) -> bool {
        self.cells.iter().any(|cell| matches!(cell, Cell::Share { .. } | Cell::Percent(_)))
    }
}

/// A value as text, harmless to a terminal.
pub(super) fn shown(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Count(number) => grouped(*number),
        Cell::Nanos(ns) => duration(*ns),
        Cell::SignedNanos(ns) => signed_duration(*ns),
        Cell::Bytes(number) => bytes(*number),
        Cell::Share { part, whole } => percent(*part, *whole),
        Cell::Percent(percent) => format!("{percent:.1}%"),
        _ => escaped(&cell.raw()).into_owned(),
    }
}

/// A share in percent, as it is shown.
fn share(cell: &Cell<'_>) -> Option<f64> {
    shown(cell).strip_suffix('%')?.parse().ok()
}

/// `━━╾──╴`: a bar of the total, of which the heavy part is self, in half columns.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a percentage of a width in columns"
)]
fn bar(total: f64, of_self: f64, width: usize) -> String {
    let halves = |share: f64| (share.clamp(0.0, 100.0) * width as f64 / 50.0).round() as usize;
    let total = halves(total);
    let heavy = halves(of_self).min(total);
    let column = |at: usize| match (heavy.saturating_sub(2 * at), total.saturating_sub(2 * at)) {
        (2.., _) => '━',
        (1, 1) => '╸',
        (1, _) => '╾',
        (_, 1) => '╴',
        (..) => '─',
    };
    (0..total.div_ceil(2)).map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(percents: &[u64]) -> Vec<Cell<'static>> {
        percents.iter().map(|part| Cell::Share { part: *part, whole: 100 }).collect()
    }

    #[test]
    fn columns_are_aligned_and_names_escaped() {
        let mut table = Table::default();
        table.column("calls", [7, 1_234_567].map(Cell::Count));
        table.column("method", ["a.B.m()V", "odd\nname"].map(Cell::method));
        table.note(1, "in a".to_owned());
        assert_eq!(
            table.lines(None),
            [
                "    calls  method",
                "        7  a.B.m()V",
                "           in a",
                r"1,234,567  odd\u{a}name"
            ]
        );
    }

    #[test]
    fn bars_show_total_and_self() {
        for (total, of_self, expected) in [
            (100.0, 100.0, "━━━━━━"),
            (100.0, 0.0, "──────"),
            (50.0, 25.0, "━╾─"),
            (40.0, 0.0, "──╴"),
            (8.0, 8.0, "╸"),
            (0.3, 0.3, ""),
            (400.0, 0.0, "──────"),
        ] {
            assert_eq!(bar(total, of_self, 6), expected);
        }
        let mut table = Table::default();
        table.column("%", shares(&[50]));
        table.column("self", [Cell::Count(2)]);
        table.column("%", shares(&[25]));
        table.column("x", [Cell::text("y")]);
        table.note(1, "in z".to_owned());
        let lines = table.lines(Some(6));
        assert_eq!(lines[0], "    %       self      %  x");
        assert_eq!(lines[1], "50.0%  ━╾─     2  25.0%  y");
        assert_eq!(lines[2].trim_start(), "in z");
        // Without a column of self.
        let mut table = Table::default();
        table.column("%", shares(&[50]));
        table.column("x", [Cell::text("y")]);
        table.self_shares(shares(&[25]));
        assert_eq!(table.lines(Some(6))[1], "50.0%  ━╾─  y");
    }
}
