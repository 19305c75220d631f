//! Prints the first screen.

use std::io::Write;

use ratatui::layout::Rect;

use super::control::{Start, View};
use super::opening::Opened;
use super::text::plain_lines;
use crate::args::ViewArgs;
use crate::failure::{Failure, Status};
use crate::output::{Out, escaped, message};

/// The width of a screen that is no terminal.
const WIDTH: u16 = 100;

pub(super) fn print(
    opened: &Opened,
    args: &ViewArgs,
    start: Start,
    out: &mut Out,
) -> Result<Status, Failure> {
    let width = out.columns().and_then(|width| u16::try_from(width).ok()).unwrap_or(WIDTH);
    let mut view = View::new(opened, args, start);
    view.resize(Rect::new(0, 0, width, args.height));
    view.finish();
    out.heading(&escaped(&view.heading()))?;
    let lines = match view.calls.as_mut().filter(|_| !view.is_on_threads) {
        Some(calls) => plain_lines(calls, usize::from(width)),
        None => {
            let rows = view.list.rows.iter().take(view.areas.rows());
            let rows = rows.map(|row| row.text.clone());
            std::iter::once(view.list.header.clone()).chain(rows).collect()
        }
    };
    let mut lines = lines.into_iter();
    lines.next().map_or(Ok(()), |header| out.heading(&header))?;
    lines.try_for_each(|line| writeln!(out, "{line}"))?;
    if let Some(text) = &view.message {
        message(text);
    }
    Ok(opened.source.status.and(view.status))
}
