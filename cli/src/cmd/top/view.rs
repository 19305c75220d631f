//! What a person chose to see of a look, and the keys for it.

use std::cmp::Reverse;

use super::look::{Look, ThreadRow};
use crate::args::TopKey;
use crate::output::{bytes, duration, grouped, percent, plural};
use crate::terminal::Key;

/// The table that keys go to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Focus {
    #[default]
    Methods,
    Threads,
}

/// What is shown instead of the tables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Page {
    Help,
    /// Callers and callees of a method.
    Method(String),
    /// The stack of a thread, by its title.
    Thread(String),
}

/// What a person chose.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) focus: Focus,
    pub(super) sort: Option<TopKey>,
    pub(super) page: Option<Page>,
    /// What names must contain.
    pub(super) wanted: String,
    /// Whether keys go to `wanted`.
    pub(super) is_typing: bool,
    pub(super) is_frozen: bool,
    /// The selected method and the selected thread, by name: rows move.
    pub(super) selected: [Option<String>; 2],
}

/// What follows from a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    Stay,
    End,
}

impl View {
    /// The methods to show, in order.
    pub(super) fn methods(&self, look: &Look) -> Vec<usize> {
        let is_wanted = |row: &usize| look.methods.get(*row).is_some_and(|m| self.wants(&m.name));
        let mut rows: Vec<_> = (0..look.methods.len()).filter(is_wanted).collect();
        order(look, self.sort, &mut rows);
        rows
    }

    /// The threads to show, in order: by id, so that they stay where they are.
    pub(super) fn threads<'a>(&self, look: &'a Look) -> Vec<&'a ThreadRow> {
        let is_wanted = |thread: &&ThreadRow| {
            self.wants(&thread.title()) || thread.stack.iter().any(|name| self.wants(name))
        };
        look.threads.iter().filter(is_wanted).collect()
    }

    fn wants(&self, name: &str) -> bool {
        self.wanted.is_empty() || name.to_lowercase().contains(&self.wanted.to_lowercase())
    }

    /// The names of the rows that keys go to.
    fn names(&self, look: &Look) -> Vec<String> {
        match self.focus {
            Focus::Methods => {
                let rows = self.methods(look);
                rows.into_iter()
                    .filter_map(|row| Some(look.methods.get(row)?.name.clone()))
                    .collect()
            }
            Focus::Threads => self.threads(look).into_iter().map(ThreadRow::title).collect(),
        }
    }

    /// The selected row of a table among these names.
    pub(super) fn selected(&self, focus: Focus, names: &[String]) -> Option<usize> {
        let selected = self.selected[focus as usize].as_ref()?;
        names.iter().position(|name| name == selected)
    }

    fn move_by(&mut self, by: isize, look: &Look) {
        let names = self.names(look);
        let Some(last) = names.len().checked_sub(1) else { return };
        let row = match self.selected(self.focus, &names) {
            Some(row) => row.saturating_add_signed(by).min(last),
            None => 0,
        };
        self.selected[self.focus as usize] = names.into_iter().nth(row);
    }

    /// Does what a key means.
    pub(super) fn press(&mut self, key: Key, look: &Look) -> Next {
        /// Rows of a page.
        const PAGE: isize = 10;
        if key == Key::Interrupt {
            return Next::End;
        }
        if self.is_typing {
            match key {
                Key::Char(c) => self.wanted.push(c),
                Key::Backspace => drop(self.wanted.pop()),
                Key::Enter => self.is_typing = false,
                Key::Escape => (self.is_typing, self.wanted) = (false, String::new()),
                _ => {}
            }
            return Next::Stay;
        }
        match key {
            Key::Char('q') => return Next::End,
            Key::Escape if self.page.is_some() => self.page = None,
            Key::Escape => self.wanted.clear(),
            Key::Char('?' | 'h') => self.page = Some(Page::Help),
            Key::Char('/') => (self.is_typing, self.page) = (true, None),
            Key::Char(' ') => self.is_frozen ^= true,
            Key::Char('s') => self.sort = Some(next_key(self.sort, look)),
            Key::Tab => {
                self.focus =
                    if self.focus == Focus::Methods { Focus::Threads } else { Focus::Methods };
            }
            Key::Up | Key::Char('k') => self.move_by(-1, look),
            Key::Down | Key::Char('j') => self.move_by(1, look),
            Key::PageUp => self.move_by(-PAGE, look),
            Key::PageDown => self.move_by(PAGE, look),
            Key::Enter => {
                if self.selected[self.focus as usize].is_none() {
                    self.move_by(0, look);
                }
                let selected = self.selected[self.focus as usize].clone();
                self.page = selected.map(|name| match self.focus {
                    Focus::Methods => Page::Method(name),
                    Focus::Threads => Page::Thread(name),
                });
            }
            _ => {}
        }
        Next::Stay
    }
}

/// The column after this one.
fn next_key(key: Option<TopKey>, look: &Look) -> TopKey {
    match key.unwrap_or_else(|| default_key(look)) {
        TopKey::SelfTime => TopKey::Calls,
        TopKey::Calls => TopKey::Name,
        TopKey::Name if look.has_times() => TopKey::SelfTime,
        TopKey::Name => TopKey::Calls,
    }
}

/// The column by which methods are sorted if none was chosen.
pub(super) fn default_key(look: &Look) -> TopKey {
    if look.has_times() { TopKey::SelfTime } else { TopKey::Calls }
}

/// Sorts rows of methods.
pub(super) fn order(look: &Look, key: Option<TopKey>, rows: &mut [usize]) {
    let row = |number: &usize| look.methods.get(*number);
    let calls = |number: &usize| Reverse(row(number).map_or(0, |row| row.calls));
    let self_ns = |number: &usize| Reverse(row(number).and_then(|row| row.self_ns));
    let name = |number: &usize| row(number).map_or("", |row| &row.name);
    rows.sort_by(|a, b| {
        let by_name = || name(a).cmp(name(b));
        match key.unwrap_or_else(|| default_key(look)) {
            TopKey::SelfTime => self_ns(a).cmp(&self_ns(b)).then_with(|| calls(a).cmp(&calls(b))),
            TopKey::Calls => calls(a).cmp(&calls(b)),
            TopKey::Name => by_name(),
        }
        .then_with(by_name)
    });
}

/// The first line: what is recorded, and how much happens.
pub(super) fn heading(look: &Look) -> String {
    let state = match (look.is_recording, look.age_ns) {
        (true, Some(age)) => format!("for {}", duration(age)),
        (true, None) => "recording".to_owned(),
        (false, _) => "not recording".to_owned(),
    };
    let about = if look.is_estimate() { "about " } else { "" };
    let mut heading = format!(
        "{}, {state}: {about}{} calls/s in {}",
        look.title,
        grouped(look.rate(look.calls)),
        plural(look.threads.len() as u64, "thread"),
    );
    if look.is_estimate() {
        let part = percent(look.read_bytes, look.bytes);
        heading += &format!(", of which {} of {} were read", part.trim(), bytes(look.bytes));
    }
    if look.gaps > 0 {
        heading += &format!(", events lost in {}", plural(look.gaps, "place"));
    }
    if look.pauses > 0 {
        heading += ", suspended meanwhile";
    }
    heading
}

impl ThreadRow {
    /// Its id and name.
    pub(super) fn title(&self) -> String {
        let trace = if self.trace.is_empty() { String::new() } else { format!("{} ", self.trace) };
        format!("{trace}{} {}", self.id, self.name).trim_end().to_owned()
    }

    /// The innermost open call.
    pub(super) fn now_in(&self) -> String {
        match (self.stack.last(), self.is_partial) {
            (Some(top), _) => top.clone(),
            (None, true) => "…".to_owned(),
            (None, false) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::look::MethodRow;
    use super::*;

    fn look() -> Look {
        let method = |name: &str, calls, ns| MethodRow {
            name: name.to_owned(),
            json: String::new(),
            calls,
            self_ns: Some(ns),
        };
        let thread = |id, name: &str| ThreadRow {
            trace: String::new(),
            id,
            name: name.to_owned(),
            calls: 0,
            stack: vec!["a.B.run()".to_owned()],
            is_partial: false,
            idle_ns: None,
        };
        Look {
            methods: vec![method("b", 5, 10), method("a", 9, 10), method("c", 1, 90)],
            threads: vec![thread(1, "main"), thread(2, "worker")],
            ..Look::default()
        }
    }

    fn names(view: &View, look: &Look) -> Vec<String> {
        view.methods(look).into_iter().map(|row| look.methods[row].name.clone()).collect()
    }

    #[test]
    fn methods_are_sorted_by_one_column_after_the_other() {
        let (mut view, look) = (View::default(), look());
        assert_eq!(names(&view, &look), ["c", "a", "b"]);
        for expected in [["a", "b", "c"], ["a", "b", "c"], ["c", "a", "b"]] {
            view.press(Key::Char('s'), &look);
            assert_eq!(names(&view, &look), expected, "{:?}", view.sort);
        }
    }

    #[test]
    fn a_selected_row_keeps_its_name_when_rows_move() {
        let (mut view, mut look) = (View::default(), look());
        view.press(Key::Down, &look);
        view.press(Key::Down, &look);
        assert_eq!(view.selected[0].as_deref(), Some("a"));
        look.methods[1].self_ns = Some(1000);
        assert_eq!(view.selected(Focus::Methods, &names(&view, &look)), Some(0));
        view.press(Key::Enter, &look);
        assert_eq!(view.page, Some(Page::Method("a".to_owned())));
        view.press(Key::Escape, &look);
        view.press(Key::Tab, &look);
        view.press(Key::PageDown, &look);
        view.press(Key::PageDown, &look);
        view.press(Key::Enter, &look);
        assert_eq!(view.page, Some(Page::Thread("2 worker".to_owned())));
        assert_eq!(view.press(Key::Char('q'), &look), Next::End);
    }

    #[test]
    fn typed_text_finds_methods_and_threads_and_is_no_command() {
        let (mut view, look) = (View::default(), look());
        view.press(Key::Char('/'), &look);
        for key in "QRun".chars() {
            assert_eq!(view.press(Key::Char(key), &look), Next::Stay);
        }
        assert!(view.threads(&look).is_empty());
        for _ in 0..4 {
            view.press(Key::Backspace, &look);
        }
        for key in "RUN".chars() {
            view.press(Key::Char(key), &look);
        }
        assert_eq!((view.threads(&look).len(), names(&view, &look).len()), (2, 0));
        view.press(Key::Enter, &look);
        view.press(Key::Escape, &look);
        assert_eq!((view.wanted.as_str(), names(&view, &look).len()), ("", 3));
    }
}
