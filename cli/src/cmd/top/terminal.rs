//! Shows looks on a terminal until a person ends it.

use std::time::{Duration, Instant};

use super::draw::draw;
use super::look::Look;
use super::next_look;
use super::view::{Next, View};
use super::watch::Watch;
use crate::args::TopArgs;
use crate::failure::{Failure, Status};
use crate::terminal::{Display, Input, Mouse};

/// The first look after the beginning comes soon.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

pub(super) fn run(watch: &mut Watch<'_>, args: &TopArgs) -> Result<Status, Failure> {
    // Before the screen changes, so that an error is read where commands are.
    watch.look()?;
    let mut display = Display::open(Mouse::OfTerminal)?;
    show(&mut display, watch, args)
}

fn show(display: &mut Display, watch: &mut Watch<'_>, args: &TopArgs) -> Result<Status, Failure> {
    let mut view = View { sort: args.sort, ..View::default() };
    let mut look = Look::default();
    let mut next = Instant::now() + FIRST_PAUSE.min(args.interval());
    loop {
        if watch.is_interrupted() {
            return Ok(Status::Done);
        }
        let begun = Instant::now();
        if begun >= next {
            let found = watch.look()?;
            if !view.is_frozen {
                look = found;
            }
        }
        display.draw(|frame| draw(frame, &look, &view))?;
        if begun >= next {
            next = next_look(args, begun);
        }
        while let Some(input) = display.input(next.saturating_duration_since(Instant::now()))? {
            if let Input::Key(key) = input
                && view.press(key, &look) == Next::End
            {
                return Ok(Status::Done);
            }
            display.draw(|frame| draw(frame, &look, &view))?;
        }
    }
}
