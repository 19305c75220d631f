//! Tables of text: aligned columns without rules. On a terminal with colours, shares have a bar.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::{Out, escaped};

/// The alignment of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Align {
    Left,
    Right,
}

/// The title of columns with shares.
const SHARE: &str = "%";

/// The narrowest terminals with bars, and the width of bars. In narrower ones, names need the room.
const BARS: [(usize, usize); 2] = [(140, 12), (100, 6)];

/// Rows of cells, all of one width per column.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
    /// The shares of self of rows, if there is no column of them.
    of_self: Vec<String>,
}

impl Table {
    /// A table with these columns.
    pub(crate) fn new(columns: &[(&str, Align)]) -> Self {
        let columns = columns.iter().map(|(title, align)| ((*title).to_owned(), *align));
        Self { columns: columns.collect(), rows: Vec::new(), of_self: Vec::new() }
    }

    /// Adds a row. Cells are [escaped].
    pub(crate) fn row<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let cells = cells.into_iter().map(|cell| escaped(cell.as_ref()).into_owned());
        self.rows.push(cells.collect());
    }

    /// Adds a row with text in the last column only.
    pub(crate) fn remark(&mut self, text: &str) {
        let blank = self.columns.len().saturating_sub(1);
        self.row(std::iter::repeat_n("", blank).chain([text]));
    }

    /// Sets the share of self of the next row, of which the heavy part of its bar consists. Without a column of these
    /// shares, each row has one.
    pub(crate) fn self_share(&mut self, share: String) {
        self.of_self.push(share);
    }

    /// Prints the table, the titles as a heading.
    pub(crate) fn print(mut self, out: &mut Out) -> io::Result<()> {
        if out.is_styled() {
            let columns = out.columns().unwrap_or(usize::MAX);
            if let Some((_, width)) = BARS.into_iter().find(|(narrowest, _)| columns >= *narrowest)
            {
                self.add_bars(width);
            }
        }
        for (number, line) in self.lines().enumerate() {
            match number {
                0 => out.heading(&line)?,
                _ => writeln!(out, "{line}")?,
            }
        }
        Ok(())
    }

    fn lines(&self) -> impl Iterator<Item = String> {
        let titles: Vec<_> = self.columns.iter().map(|(title, _)| title.clone()).collect();
        let mut widths: Vec<_> = titles.iter().map(|title| title.width()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.width().max(*width);
            }
        }
        let line = move |cells: &[String]| {
            let mut line = String::new();
            for (number, ((cell, width), (_, align))) in
                cells.iter().zip(&widths).zip(&self.columns).enumerate()
            {
                line.push_str(if number == 0 { "" } else { "  " });
                let blanks = std::iter::repeat_n(' ', width.saturating_sub(cell.width()));
                match align {
                    Align::Left => {
                        line.push_str(cell);
                        line.extend(blanks);
                    }
                    Align::Right => {
                        line.extend(blanks);
                        line.push_str(cell);
                    }
                }
            }
            line.truncate(line.trim_end().len());
            line
        };
        let rows = std::iter::once(titles).chain(self.rows.iter().cloned());
        rows.map(move |cells| line(&cells))
    }

    /// Adds a column of bars after the first share. A second column of shares is that of self: the heavy part of the
    /// bar.
    fn add_bars(&mut self, width: usize) {
        let is_share = |(_, (title, _)): &(usize, &(String, Align))| title == SHARE;
        let mut shares = self.columns.iter().enumerate().filter(is_share).map(|(at, _)| at);
        let Some(total) = shares.next() else { return };
        let column = shares.next();
        let share = |text: &String| text.trim_start().strip_suffix('%')?.parse::<f64>().ok();
        for (number, row) in self.rows.iter_mut().enumerate() {
            let of_self = column.map_or_else(|| self.of_self.get(number), |at| row.get(at));
            let of_self = of_self.and_then(share).unwrap_or(0.0);
            let total_share = row.get(total).and_then(share);
            row.insert(
                total + 1,
                total_share.map_or(String::new(), |all| bar(all, of_self, width)),
            );
        }
        self.columns.insert(total + 1, (String::new(), Align::Left));
    }
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

    #[test]
    fn columns_are_aligned_and_names_escaped() {
        let mut table = Table::new(&[("calls", Align::Right), ("method", Align::Left)]);
        table.row(["7", "a.B.m()V"]);
        table.row(["1,234,567", "odd\nname"]);
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines, ["    calls  method", "        7  a.B.m()V", r"1,234,567  odd\u{a}name"]);
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
        let right = Align::Right;
        let mut table = Table::new(&[("%", right), ("self", right), ("%", right), ("x", right)]);
        table.row(["50.0%", "2", "25.0%", "y"]);
        table.row(["", "", "", "in z"]);
        table.add_bars(6);
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines[0], "    %       self      %     x");
        assert_eq!(lines[1], "50.0%  ━╾─     2  25.0%     y");
        assert_eq!(lines[2].trim_start(), "in z");
        // Without a column of self.
        let mut table = Table::new(&[("%", right), ("x", Align::Left)]);
        table.self_share("25.0%".to_owned());
        table.row(["50.0%", "y"]);
        table.add_bars(6);
        assert_eq!(table.lines().nth(1).unwrap(), "50.0%  ━╾─  y");
    }
}
