//! Shows looks on a terminal until a person ends it.

use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::draw::draw;
use super::look::Look;
use super::next_look;
use super::view::{Key, Next, View};
use super::watch::Watch;
use crate::args::TopArgs;
use crate::failure::{Failure, Status};

/// The first look after the beginning comes soon.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

pub(super) fn run(watch: &mut Watch<'_>, args: &TopArgs) -> Result<Status, Failure> {
    // Before the screen changes, so that an error is read where commands are.
    watch.look()?;
    let mut terminal = ratatui::try_init().map_err(Failure::Output)?;
    let outcome = show(&mut terminal, watch, args);
    ratatui::restore();
    outcome
}

fn show(
    terminal: &mut DefaultTerminal,
    watch: &mut Watch<'_>,
    args: &TopArgs,
) -> Result<Status, Failure> {
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
        terminal.draw(|frame| draw(frame, &look, &view)).map_err(Failure::Output)?;
        if begun >= next {
            next = next_look(args, begun);
        }
        while event::poll(next.saturating_duration_since(Instant::now()))
            .map_err(Failure::Output)?
        {
            let event = event::read().map_err(Failure::Output)?;
            if let Event::Key(key) = event
                && let Some(key) = key_of(key)
                && view.press(key, &look) == Next::End
            {
                return Ok(Status::Done);
            }
            terminal.draw(|frame| draw(frame, &look, &view)).map_err(Failure::Output)?;
        }
    }
}

/// The key of an event.
fn key_of(key: KeyEvent) -> Option<Key> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    Some(match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Key::Interrupt,
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Tab => Key::Tab,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}
