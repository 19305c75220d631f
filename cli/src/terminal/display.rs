//! Sets up the terminal for a program that fills it, and restores it at the end.

use std::io::{self, Write};
use std::time::Duration;

use ratatui::crossterm::event::{self, DisableMouseCapture, EnableMouseCapture};
use ratatui::crossterm::execute;
use ratatui::{DefaultTerminal, Frame};

use super::Input;

/// Whether the mouse belongs to the program, or to the terminal, which selects text with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mouse {
    OfProgram,
    OfTerminal,
}

/// The terminal in another screen, without echo. It is as before when this is dropped, and after a panic.
#[derive(Debug)]
pub(crate) struct Display {
    terminal: DefaultTerminal,
    mouse: Mouse,
}

impl Display {
    pub(crate) fn open(mouse: Mouse) -> io::Result<Self> {
        let terminal = ratatui::try_init()?;
        let display = Self { terminal, mouse };
        if mouse == Mouse::OfProgram {
            // The library's hook restores the rest.
            let restore = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                let _ = execute!(io::stdout(), DisableMouseCapture);
                restore(panic);
            }));
            execute!(io::stdout(), EnableMouseCapture)?;
        }
        Ok(display)
    }

    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(draw).map(drop)
    }

    /// What the person does next, if that is before a timeout.
    pub(crate) fn input(&self, timeout: Duration) -> io::Result<Option<Input>> {
        Ok(if event::poll(timeout)? { Input::of(&event::read()?) } else { None })
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if self.mouse == Mouse::OfProgram {
            let _ = execute!(io::stdout(), DisableMouseCapture);
        }
        ratatui::restore();
        let _ = io::stdout().flush();
    }
}
