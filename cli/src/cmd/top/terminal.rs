//! Shows on a terminal what happens, until a person ends it.

use std::time::{Duration, Instant};

use super::draw::draw;
use super::view::{Next, View};
use super::watch::Watch;
use crate::args::TopArgs;
use crate::failure::{Failure, Status};
use crate::terminal::{Display, Input, Mouse};
use flow_query::ask::Refresh;

/// The first refresh after the beginning comes soon.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// From one refresh to the next it takes at least this many times as long as a refresh and its drawing.
const SHARE: u32 = 20;

pub(super) fn run(watch: &mut Watch, args: &TopArgs) -> Result<Status, Failure> {
    // Before the screen changes, so that an error is read where commands are.
    watch.refresh()?;
    let mut display = Display::open(Mouse::OfTerminal)?;
    show(&mut display, watch, args)
}

fn show(display: &mut Display, watch: &mut Watch, args: &TopArgs) -> Result<Status, Failure> {
    let mut view = View { sort: args.sort, ..View::default() };
    let (mut refresh, mut said) = (Refresh::default(), None);
    let mut next = Instant::now() + FIRST_PAUSE.min(args.interval());
    loop {
        if watch.is_interrupted() {
            return Ok(Status::Done);
        }
        let begun = Instant::now();
        if begun >= next {
            let found = (watch.refresh()?, watch.said());
            if !view.is_frozen {
                (refresh, said) = found;
            }
        }
        display.draw(|frame| draw(frame, &refresh, &view, said.as_deref()))?;
        if begun >= next {
            next = next_refresh(args, begun);
        }
        while let Some(input) = display.input(next.saturating_duration_since(Instant::now()))? {
            if let Input::Key(key) = input
                && view.press(key, &refresh) == Next::End
            {
                return Ok(Status::Done);
            }
            display.draw(|frame| draw(frame, &refresh, &view, said.as_deref()))?;
        }
    }
}

/// When the next refresh is due, after one that began at an instant and is shown.
fn next_refresh(args: &TopArgs, begun: Instant) -> Instant {
    begun + args.interval().max(begun.elapsed().saturating_mul(SHARE))
}
