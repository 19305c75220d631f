//! Input from the terminal: keys, and the mouse.

use ratatui::crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};

/// A key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Key {
    Char(char),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Tab,
    Enter,
    Escape,
    Backspace,
    /// Ctrl-C.
    Interrupt,
}

/// A key, or something else that changes the screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Input {
    Key(Key),
    /// The left button, in a column and a row of the screen from 0.
    Click(u16, u16),
    /// The wheel, up or down by one notch.
    WheelUp,
    WheelDown,
    /// The terminal has another size.
    Resize,
}

impl Input {
    /// What an event means; `None` if nothing.
    pub(super) fn of(event: &Event) -> Option<Self> {
        match event {
            Event::Key(key) => key_of(*key).map(Self::Key),
            Event::Mouse(mouse) => Self::of_mouse(*mouse),
            Event::Resize(..) => Some(Self::Resize),
            _ => None,
        }
    }

    fn of_mouse(mouse: MouseEvent) -> Option<Self> {
        match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => Some(Self::Click(mouse.column, mouse.row)),
            MouseEventKind::ScrollUp => Some(Self::WheelUp),
            MouseEventKind::ScrollDown => Some(Self::WheelDown),
            _ => None,
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
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Tab => Key::Tab,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}
