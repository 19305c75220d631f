//! Tables of text: aligned columns without rules.

use std::io::{self, Write};

use comfy_table::Cell;
pub(crate) use comfy_table::CellAlignment as Align;
use comfy_table::presets::NOTHING;

use super::{Out, escaped};

/// Rows of cells, all of one width per column.
#[derive(Debug)]
pub(crate) struct Table {
    rows: comfy_table::Table,
    alignment: Vec<Align>,
}

impl Table {
    /// A table with these columns.
    pub(crate) fn new(columns: &[(&str, Align)]) -> Self {
        let alignment = columns.iter().map(|(_, align)| *align).collect();
        let mut rows = comfy_table::Table::new();
        rows.load_style(NOTHING);
        let mut table = Self { rows, alignment };
        let titles = columns.iter().map(|(title, _)| *title);
        let cells = table.cells(titles);
        table.rows.set_header(cells);
        for column in table.rows.column_iter_mut() {
            column.set_padding((0, 2));
        }
        table
    }

    /// Adds a row. Cells are [escaped].
    pub(crate) fn row<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let cells = self.cells(cells);
        self.rows.add_row(cells);
    }

    fn cells<S: AsRef<str>>(&self, cells: impl IntoIterator<Item = S>) -> Vec<Cell> {
        cells
            .into_iter()
            .zip(&self.alignment)
            .map(|(text, align)| Cell::new(escaped(text.as_ref())).set_alignment(*align))
            .collect()
    }

    /// Prints the table, the titles as a heading.
    pub(crate) fn print(&self, out: &mut Out) -> io::Result<()> {
        for (number, line) in self.rows.lines().enumerate() {
            match number {
                0 => out.heading(line.trim_end())?,
                _ => writeln!(out, "{}", line.trim_end())?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_names_escaped() {
        let mut table = Table::new(&[("calls", Align::Right), ("method", Align::Left)]);
        table.row(["7", "a.B.m()V"]);
        table.row(["1,234,567", "odd\nname"]);
        let lines: Vec<_> = table.rows.lines().map(|line| line.trim_end().to_owned()).collect();
        assert_eq!(lines, ["    calls  method", "        7  a.B.m()V", r"1,234,567  odd\u{a}name"]);
    }
}
