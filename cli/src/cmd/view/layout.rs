//! Where things are on the screen.

use ratatui::layout::{Constraint, Layout, Rect};

/// What is shown beside the calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Pane {
    #[default]
    Nothing,
    Details,
    Source,
}

impl Pane {
    /// This pane, or none if it is this one already.
    pub(super) fn toggled(self, pane: Self) -> Self {
        if self == pane { Self::Nothing } else { pane }
    }
}

/// From this width on, source is beside the calls and not below them.
const WIDE: u16 = 140;
/// The lines of details, with the rule above them.
const DETAILS: u16 = 9;

/// The parts of the screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Areas {
    pub(super) heading: Rect,
    /// The titles of the columns.
    pub(super) header: Rect,
    /// The rows below them.
    pub(super) body: Rect,
    pub(super) pane: Rect,
    /// The line at the bottom.
    pub(super) footer: Rect,
    /// Heading excepted, everything above the footer.
    pub(super) page: Rect,
}

impl Areas {
    pub(super) fn of(screen: Rect, pane: Pane) -> Self {
        let line = Constraint::Length(1);
        let [heading, page, footer] =
            Layout::vertical([line, Constraint::Min(0), line]).areas(screen);
        let is_beside = pane == Pane::Source && screen.width >= WIDE;
        let (rows, pane) = match pane {
            Pane::Nothing => (page, Rect::default()),
            Pane::Source if is_beside => {
                let halves = [Constraint::Fill(1), Constraint::Fill(1)];
                let [rows, pane] = Layout::horizontal(halves).areas(page);
                (rows, pane)
            }
            Pane::Source => Self::above(page, page.height / 2),
            Pane::Details => Self::above(page, DETAILS.min(page.height / 2)),
        };
        let [header, body] = Layout::vertical([line, Constraint::Min(0)]).areas(rows);
        Self { heading, header, body, pane, footer, page }
    }

    /// Divides an area so that this many lines are at its bottom.
    fn above(page: Rect, below: u16) -> (Rect, Rect) {
        let [rows, pane] =
            Layout::vertical([Constraint::Min(0), Constraint::Length(below)]).areas(page);
        (rows, pane)
    }

    /// How many rows fit.
    pub(super) fn rows(&self) -> usize {
        usize::from(self.body.height)
    }
}
