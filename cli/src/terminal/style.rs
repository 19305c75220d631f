//! How text, tables and pages look: only with the colours that a terminal has for text, so that they can be read on any
//! background.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Borders, Cell, Paragraph, Row, Table, TableState, Wrap};

use crate::output::escaped;

pub(crate) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
pub(crate) const DIM: Style = Style::new().add_modifier(Modifier::DIM);
pub(crate) const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);

/// Draws a table with a line above it, which is bold if keys go to the table.
pub(crate) fn draw_table<'a, const N: usize>(
    frame: &mut Frame<'_>,
    area: Rect,
    (header, widths): ([Cell<'a>; N], [Constraint; N]),
    rows: impl Iterator<Item = Row<'a>>,
    (selected, has_focus): (Option<usize>, bool),
) {
    let rule = if has_focus { BOLD } else { DIM };
    let block = Block::new().borders(Borders::TOP).border_style(rule);
    let table = Table::new(rows, widths)
        .header(Row::new(header).style(BOLD))
        .column_spacing(2)
        .row_highlight_style(if has_focus { CHOSEN } else { BOLD })
        .block(block);
    let mut state = TableState::new().with_selected(selected);
    frame.render_stateful_widget(table, area, &mut state);
}

/// Draws text with a line above it.
pub(crate) fn draw_page(frame: &mut Frame<'_>, area: Rect, lines: Vec<Line<'_>>) {
    let block = Block::new().borders(Borders::TOP).border_style(DIM);
    let page = Paragraph::new(Text::from(lines)).wrap(Wrap { trim: false }).block(block);
    frame.render_widget(page, area);
}

/// A cell of a table.
pub(crate) fn left(text: &str) -> Cell<'static> {
    Cell::new(safe(text))
}

/// The same for numbers.
pub(crate) fn right(text: &str) -> Cell<'static> {
    Cell::new(Line::raw(safe(text)).right_aligned())
}

/// Names may contain anything.
pub(crate) fn safe(text: &str) -> String {
    escaped(text).into_owned()
}

/// What a terminal of this size shows, without blanks at the ends of lines.
#[cfg(test)]
pub(crate) fn shown(width: u16, height: u16, draw: impl FnOnce(&mut Frame<'_>)) -> Vec<String> {
    let backend = ratatui::backend::TestBackend::new(width, height);
    let mut terminal = ratatui::Terminal::new(backend).unwrap();
    terminal.draw(draw).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let line = |row: u16| (0..width).map(|column| buffer[(column, row)].symbol()).collect();
    (0..height).map(line).map(|line: String| line.trim_end().to_owned()).collect()
}
