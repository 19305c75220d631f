//! Shows the view on a terminal until a person ends it.

use std::time::Duration;

use super::control::{Next, Start, View};
use super::draw::draw;
use super::opening::Opened;
use crate::args::ViewArgs;
use crate::failure::Failure;
use crate::terminal::{Display, Mouse};

/// Shows a trace. Returns where to begin if it is to be read again.
pub(super) fn show(
    opened: &Opened,
    args: &ViewArgs,
    start: Start,
) -> Result<Option<Start>, Failure> {
    let mut display = Display::open(Mouse::OfProgram)?;
    let mut view = View::new(opened, args, start);
    loop {
        display.draw(|frame| {
            view.resize(frame.area());
            draw(frame, &mut view);
        })?;
        // All that is there, before the screen is drawn again.
        let mut patience = view.patience();
        while let Some(input) = display.input(patience)? {
            match view.on(input) {
                Next::Stay => {}
                Next::End => return Ok(None),
                Next::Reload => return Ok(Some(view.start())),
            }
            patience = Duration::ZERO;
        }
        view.step();
    }
}
