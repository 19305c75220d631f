//! Markdown tables.

use std::fmt;

/// How a column is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A table with a title for each column.
#[derive(Debug)]
pub(crate) struct Table<const N: usize> {
    columns: [(&'static str, Align); N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    /// Creates an empty table.
    pub(crate) fn new(columns: [(&'static str, Align); N]) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Appends a row.
    pub(crate) fn push(&mut self, row: [String; N]) {
        self.rows.push(row);
    }

    /// Returns whether the table has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (title, _) in self.columns {
            write!(f, "| {title} ")?;
        }
        writeln!(f, "|")?;
        for (_, align) in self.columns {
            f.write_str(if align == Align::Right { "|--:" } else { "|---" })?;
        }
        writeln!(f, "|")?;
        for row in &self.rows {
            for cell in row {
                write!(f, "| {cell} ")?;
            }
            writeln!(f, "|")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_titles_alignment_and_rows() {
        let mut table = Table::new([("what", Align::Left), ("ns", Align::Right)]);
        assert!(table.is_empty());
        table.push(["call".to_owned(), "2.1".to_owned()]);
        assert_eq!(table.to_string(), "| what | ns |\n|---|--:|\n| call | 2.1 |\n");
    }
}
