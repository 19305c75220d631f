//! What keys, clicks and typed texts do.

use flow_codec::MethodId;
use flow_query::tree::Direction;

use super::super::calls::Calls;
use super::super::layout::Pane;
use super::super::list::Target;
use super::super::search::Wanted;
use super::state::{Next, OfTrace, Page, Prompt, View};
use crate::input::place::From;
use crate::terminal::{Input, Key};

impl View<'_> {
    /// Does what a person's input means.
    pub(in super::super) fn on(&mut self, input: Input) -> Next {
        match input {
            Input::Key(key) => self.press(key),
            Input::Click(column, row) => {
                self.click(column, row);
                Next::Stay
            }
            Input::WheelUp => self.wheel(-3),
            Input::WheelDown => self.wheel(3),
            Input::Resize => Next::Stay,
        }
    }

    fn wheel(&mut self, rows: isize) -> Next {
        match self.shown_list() {
            Some(list) => list.move_by(rows),
            None => self.with_calls(|calls| calls.scroll_by(rows)),
        }
        Next::Stay
    }

    fn click(&mut self, column: u16, row: u16) {
        let body = self.areas.body;
        if !body.contains((column, row).into()) || self.prompt.is_some() {
            return;
        }
        let line = usize::from(row - body.y);
        let height = usize::from(body.height);
        if let Some(list) = self.shown_list() {
            let line = list.top(height) + line;
            let was_chosen = list.chosen == line;
            if line < list.rows.len() {
                list.chosen = line;
                if was_chosen {
                    self.enter();
                }
            }
        } else if self.page.is_none() {
            self.with_calls(|calls| {
                if line < calls.rows.len() && calls.choose(line) {
                    return calls.toggle();
                }
                Ok(())
            });
        }
    }

    fn press(&mut self, key: Key) -> Next {
        if key == Key::Interrupt {
            return Next::End;
        }
        self.message = None;
        if let Some((prompt, text)) = &mut self.prompt {
            match key {
                Key::Char(c) => text.push(c),
                Key::Backspace => drop(text.pop()),
                Key::Escape => self.prompt = None,
                Key::Enter => {
                    let (prompt, text) = (*prompt, std::mem::take(text));
                    self.prompt = None;
                    self.typed(prompt, text.trim());
                }
                _ => {}
            }
            return Next::Stay;
        }
        match key {
            Key::Char('q') => return Next::End,
            Key::Char('r') => return Next::Reload,
            Key::Char('?' | 'h') => self.page = Some(Page::Help),
            Key::Char('t') => self.show_tests(),
            Key::Escape => self.back(),
            Key::Tab => self.is_on_threads = !self.is_on_threads || self.calls.is_none(),
            _ if self.shown_list().is_some() => self.press_in_list(key),
            _ if self.page.is_none() => self.press_in_calls(key),
            _ => {}
        }
        Next::Stay
    }

    /// Ends what is being done, or closes what is on top.
    fn back(&mut self) {
        if let Some(list) = self.shown_list().filter(|list| list.filtered_by().is_some()) {
            return list.filter("");
        }
        if self.job.take().is_none() && self.page.take().is_none() {
            self.is_on_threads = true;
        }
    }

    fn press_in_list(&mut self, key: Key) {
        let page = isize::try_from(self.areas.rows().saturating_sub(1)).unwrap_or(isize::MAX);
        let Some(list) = self.shown_list() else { return };
        match key {
            Key::Up | Key::Char('k') => list.move_by(-1),
            Key::Down | Key::Char('j') => list.move_by(1),
            Key::PageUp => list.move_by(-page),
            Key::PageDown => list.move_by(page),
            Key::Home => list.move_by(isize::MIN),
            Key::End => list.move_by(isize::MAX),
            Key::Enter | Key::Right => self.enter(),
            Key::Left => self.back(),
            Key::Char('/') => self.prompt = Some((Prompt::Filter, String::new())),
            Key::Char('s') => list.sort_by_next(),
            _ => {}
        }
    }

    fn press_in_calls(&mut self, key: Key) {
        match key {
            Key::Up | Key::Char('k') => self.with_calls(|calls| calls.move_by(-1)),
            Key::Down | Key::Char('j') => self.with_calls(|calls| calls.move_by(1)),
            Key::PageUp => self.with_calls(|calls| calls.move_by(-calls.page())),
            Key::PageDown => self.with_calls(|calls| calls.move_by(calls.page())),
            Key::Home => self.with_calls(Calls::go_to_first),
            Key::End => self.with_calls(Calls::go_to_last),
            Key::Right | Key::Char('l' | '+') => self.with_calls(Calls::unfold),
            Key::Left | Key::Char('-') => self.with_calls(Calls::fold),
            Key::Enter | Key::Char(' ') => self.with_calls(Calls::toggle),
            Key::Char('[') => self.with_calls(|calls| calls.go_to_sibling(Direction::Backwards)),
            Key::Char(']') => self.with_calls(|calls| calls.go_to_sibling(Direction::Forwards)),
            Key::Char('u') => self.with_calls(Calls::unfold_largest),
            Key::Char('p') => self.show_hot_path(),
            Key::Char('o') => self.toggle_own(),
            Key::Char('f') => self.prompt = Some((Prompt::Only, String::new())),
            Key::Char('x') => self.with_calls(Calls::collapse),
            Key::Char('/') => self.prompt = Some((Prompt::Find, String::new())),
            Key::Char('g') => self.prompt = Some((Prompt::GoTo, String::new())),
            Key::Char('n') => self.search(Direction::Forwards),
            Key::Char('N') => self.search(Direction::Backwards),
            Key::Char('e') => self.go_to_exception(Direction::Forwards),
            Key::Char('E') => self.go_to_exception(Direction::Backwards),
            Key::Char('c') => self.show_neighbours(),
            Key::Char('d') => self.pane = self.pane.toggled(Pane::Details),
            Key::Char('s') => self.pane = self.pane.toggled(Pane::Source),
            _ => {}
        }
    }

    /// Follows the chosen row of a list.
    fn enter(&mut self) {
        let Some(target) = self.shown_list().map(|list| list.target()) else { return };
        match target {
            Target::Nothing => {}
            Target::Thread(thread) => self.open(thread, None),
            Target::Request => self.open_request(),
            Target::Test(trace, thread, offset) => {
                let of = self.source.traces.get(trace);
                let is_it = |(trace, file): &OfTrace<'_>| {
                    file.id() == thread
                        && of.is_some_and(|of| of.dir() == trace.dir())
                        && file.parts().is_none_or(|parts| {
                            parts.ranges().iter().any(|range| range.start.offset == offset)
                        })
                };
                self.page = None;
                match self.threads.iter().position(is_it) {
                    Some(thread) => self.open(thread, Some(From::Offset(offset.get()))),
                    None => {
                        self.message = Some(
                            "this test was not chosen: leave out --thread and --test".to_owned(),
                        )
                    }
                }
            }
            Target::Method(method) => {
                self.page = None;
                self.want(method);
                self.search(Direction::Forwards);
            }
        }
    }

    fn want(&mut self, method: MethodId) {
        let Some(calls) = &mut self.calls else { return };
        let name = calls.labels.get(method).to_owned();
        self.wanted = Some(Wanted::method(method, &name));
    }

    /// Does what a text was typed for.
    fn typed(&mut self, prompt: Prompt, text: &str) {
        if prompt == Prompt::Filter {
            if let Some(list) = self.shown_list() {
                list.filter(text);
            }
            return;
        }
        if prompt == Prompt::Only {
            self.filter.include = if text.is_empty() { Vec::new() } else { vec![text.to_owned()] };
            return self.open_again();
        }
        if text.is_empty() {
            return;
        }
        match prompt {
            Prompt::Filter | Prompt::Only => {}
            Prompt::Find => {
                let Some(calls) = &self.calls else { return };
                let wanted = Wanted::like(text, calls.trace.methods());
                if wanted.count == 0 {
                    self.message =
                        Some(format!("no method name has '{text}' in it, or matches it"));
                    return;
                }
                self.wanted = Some(wanted);
                self.search(Direction::Forwards);
            }
            Prompt::GoTo => match text.strip_suffix('%').map(|text| text.trim().parse::<u64>()) {
                Some(Ok(percent)) => {
                    self.with_calls(|calls| calls.go_to_percent(percent).map(drop));
                }
                _ => match text.parse() {
                    Ok(position) => self.go_to(Some(&position)),
                    Err(expected) => self.message = Some(expected),
                },
            },
        }
    }
}
