//! Draws the view: a heading, the calls or a list, what is below them, and a line with the keys.

use flow_codec::Error;
use ratatui::Frame;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Borders, Paragraph};

use super::control::{Page, Prompt, View};
use super::details::{details, not_found, source_of};
use super::layout::Pane;
use super::list::List;
use super::text::{Cells, header_of};
use crate::args::VIEW_KEYS;
use crate::terminal::{BOLD, CHOSEN, DIM, draw_page, safe};

const KEYS_OF_CALLS: &str =
    " ↑↓ choose  → unfold  ← fold  / find  p hot path  o own  t tests  ? help  q end";
const KEYS_OF_LIST: &str =
    " ↑↓ choose  Enter open  s sort  / filter  Esc back  t tests  ? help  q end";
const RED: Style = Style::new().fg(Color::Red);

/// Draws all of it.
pub(super) fn draw(frame: &mut Frame<'_>, view: &mut View<'_>) {
    let areas = view.areas;
    frame.render_widget(Line::styled(safe(&view.heading()), BOLD), areas.heading);
    let has_list = view.shown_list().is_some();
    match (&view.page, has_list) {
        (Some(Page::Help), _) => draw_help(frame, view),
        (Some(Page::List(list)), _) => draw_list(frame, list, view),
        (None, true) => draw_list(frame, &view.list, view),
        (None, false) => draw_calls(frame, view),
    }
    let keys = if has_list { KEYS_OF_LIST } else { KEYS_OF_CALLS };
    let (text, style) = match (&view.prompt, view.progress(), &view.message) {
        (Some((prompt, text)), ..) => (prompt_line(*prompt, text), BOLD),
        (None, Some(progress), _) => (format!(" {progress}"), BOLD),
        (None, None, Some(message)) => (format!(" {}", safe(message)), BOLD),
        (None, None, None) => (keys.to_owned(), DIM),
    };
    frame.render_widget(Line::styled(text, style), areas.footer);
}

fn prompt_line(prompt: Prompt, text: &str) -> String {
    let text = safe(text);
    match prompt {
        Prompt::Find => {
            format!(" find a method: {text}_   Enter goes to its next call, Esc ends it")
        }
        Prompt::Filter => {
            format!(" rows with: {text}_   Enter shows them, all rows without a text")
        }
        Prompt::Only => format!(
            " only methods like: {text}_   such as com.app.** or Orders; all without a text"
        ),
        Prompt::GoTo => format!(" go to call, event:N, offset:N, 1.5s or 50%: {text}_"),
    }
}

fn draw_list(frame: &mut Frame<'_>, list: &List, view: &View<'_>) {
    let areas = view.areas;
    let filter = list.filtered_by().map(|text| format!("  (with '{}')", safe(text)));
    let order = list.sorted_by().map(|order| format!("  (by {order})"));
    let header =
        format!("{}{}{}", list.header, order.unwrap_or_default(), filter.unwrap_or_default());
    frame.render_widget(Line::styled(header, BOLD), areas.header);
    let top = list.top(areas.rows());
    let rows = list.rows.iter().enumerate().skip(top).take(areas.rows());
    let rows = rows.map(|(at, row)| {
        let style = if at == list.chosen { CHOSEN } else { Style::new() };
        let text = list.line(&row.text, areas.body.width.into());
        Line::styled(padded(&text, areas.body.width), style)
    });
    frame.render_widget(Paragraph::new(Text::from_iter(rows)), areas.body);
}

/// The text with blanks up to a width, so that a chosen row is one from edge to edge.
fn padded(text: &str, width: u16) -> String {
    format!("{text:<width$}", width = usize::from(width))
}

fn draw_calls(frame: &mut Frame<'_>, view: &mut View<'_>) {
    let areas = view.areas;
    let Some(calls) = &mut view.calls else { return };
    let width = usize::from(areas.body.width);
    let cells = Cells::of(calls, width);
    frame.render_widget(Line::styled(header_of(calls, &cells), BOLD), areas.header);
    let rows = cells.rows.iter().zip(&calls.rows).enumerate().map(|(at, (cells, row))| {
        let is_own = calls.own.as_ref().is_some_and(|own| own.contains(row.method()));
        let name = if is_own { BOLD } else { Style::new() };
        let line = Line::from_iter([
            Span::styled(cells.numbers.clone(), Style::new()),
            Span::styled(cells.start.clone(), DIM),
            Span::styled(cells.name.clone(), name),
            Span::styled(cells.end.clone(), RED),
        ]);
        if at == calls.chosen { line.style(CHOSEN) } else { line }
    });
    frame.render_widget(Paragraph::new(Text::from_iter(rows)), areas.body);
    let outcome = match view.pane {
        Pane::Nothing => Ok(()),
        Pane::Details => draw_details(frame, view),
        Pane::Source => {
            draw_source(frame, view);
            Ok(())
        }
    };
    if let Err(error) = outcome {
        view.message = Some(error.to_string());
    }
}

fn draw_details(frame: &mut Frame<'_>, view: &mut View<'_>) -> Result<(), Error> {
    let Some(calls) = &view.calls else { return Ok(()) };
    let row = calls.row();
    if view.details.as_ref().is_none_or(|(of, _)| Some(*of) != row) {
        view.details = row.map(|row| details(calls, &row).map(|lines| (row, lines))).transpose()?;
    }
    let lines = view.details.iter().flat_map(|(_, lines)| lines).map(|line| Line::raw(&**line));
    draw_page(frame, view.areas.pane, lines.collect());
    Ok(())
}

fn draw_source(frame: &mut Frame<'_>, view: &mut View<'_>) {
    let area = view.areas.pane;
    let row = view.calls.as_ref().and_then(|calls| Some((calls.trace, calls.row()?)));
    let source = row.and_then(|(trace, row)| source_of(trace, &row));
    let Some((file, first)) = source else {
        return draw_page(
            frame,
            area,
            vec![Line::raw("the source file of this method is not known")],
        );
    };
    let Some(text) = view.sources.lines(&file) else {
        return draw_page(frame, area, vec![Line::raw(safe(&not_found(&file, &view.folders)))]);
    };
    let height = usize::from(area.height.saturating_sub(1));
    let first = usize::try_from(first.unwrap_or(1)).unwrap_or(1);
    // The line before has the name of the method, mostly.
    let top = first.saturating_sub(height / 4 + 2).min(text.len().saturating_sub(height));
    let lines = text.iter().enumerate().skip(top).take(height).map(|(at, line)| {
        let style = if at + 1 == first { BOLD } else { Style::new() };
        Line::from_iter([
            Span::styled(format!("{:>6}  ", at + 1), DIM),
            Span::styled(safe(line), style),
        ])
    });
    let block =
        Block::new().borders(Borders::TOP).border_style(DIM).title(format!(" {} ", safe(&file)));
    frame.render_widget(Paragraph::new(Text::from_iter(lines)).block(block), area);
}

fn draw_help(frame: &mut Frame<'_>, view: &View<'_>) {
    // This page is what `?` shows.
    let keys = VIEW_KEYS.lines().filter(|line| !line.starts_with("  ?"));
    let keys = keys.map(|line| line.strip_prefix("  ").unwrap_or(line));
    let about = "
▸ has callees that are not shown, ×N are N calls in a row that did the same.
~ marks an imprecise duration: its range is wider than half of it; d shows it.
self is empty for calls with more than 32 shown callees.
Methods of the application are bold if the trace has its packages.";
    let lines = keys.chain(about.lines());
    draw_page(frame, view.areas.page, lines.map(Line::raw).collect());
}
