//! What a person chose to see, and the keys for it.

use std::cmp::Reverse;

use crate::args::TopKey;
use crate::output::{bytes, duration, grouped, percent, plural};
use crate::terminal::Key;
use flow_query::ask::{ActiveMethod, ActiveThread, Refresh};

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
    pub(super) fn methods(&self, refresh: &Refresh) -> Vec<usize> {
        let is_wanted =
            |row: &usize| refresh.methods.get(*row).is_some_and(|m| self.wants(&m.name));
        let mut rows: Vec<_> = (0..refresh.methods.len()).filter(is_wanted).collect();
        order(refresh, self.sort, &mut rows);
        rows
    }

    /// The threads to show, in order: by id, so that they stay where they are.
    pub(super) fn threads<'a>(&self, refresh: &'a Refresh) -> Vec<&'a ActiveThread> {
        let is_wanted = |thread: &&ActiveThread| {
            self.wants(&title(thread)) || thread.stack.iter().any(|name| self.wants(name))
        };
        refresh.threads.iter().filter(is_wanted).collect()
    }

    fn wants(&self, name: &str) -> bool {
        self.wanted.is_empty() || name.to_lowercase().contains(&self.wanted.to_lowercase())
    }

    /// The names of the rows that keys go to.
    fn names(&self, refresh: &Refresh) -> Vec<String> {
        match self.focus {
            Focus::Methods => {
                let rows = self.methods(refresh);
                rows.into_iter()
                    .filter_map(|row| Some(refresh.methods.get(row)?.name.clone()))
                    .collect()
            }
            Focus::Threads => self.threads(refresh).into_iter().map(title).collect(),
        }
    }

    /// The selected row of a table among these names.
    pub(super) fn selected(&self, focus: Focus, names: &[String]) -> Option<usize> {
        let selected = self.selected[focus as usize].as_ref()?;
        names.iter().position(|name| name == selected)
    }

    fn move_by(&mut self, by: isize, refresh: &Refresh) {
        let names = self.names(refresh);
        let Some(last) = names.len().checked_sub(1) else { return };
        let row = match self.selected(self.focus, &names) {
            Some(row) => row.saturating_add_signed(by).min(last),
            None => 0,
        };
        self.selected[self.focus as usize] = names.into_iter().nth(row);
    }

    /// Does what a key means.
    pub(super) fn press(&mut self, key: Key, refresh: &Refresh) -> Next {
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
            Key::Char('s') => self.sort = Some(next_key(self.sort, refresh)),
            Key::Tab => {
                self.focus =
                    if self.focus == Focus::Methods { Focus::Threads } else { Focus::Methods };
            }
            Key::Up | Key::Char('k') => self.move_by(-1, refresh),
            Key::Down | Key::Char('j') => self.move_by(1, refresh),
            Key::PageUp => self.move_by(-PAGE, refresh),
            Key::PageDown => self.move_by(PAGE, refresh),
            Key::Enter => {
                if self.selected[self.focus as usize].is_none() {
                    self.move_by(0, refresh);
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
fn next_key(key: Option<TopKey>, refresh: &Refresh) -> TopKey {
    match key.unwrap_or_else(|| default_key(refresh)) {
        TopKey::SelfTime => TopKey::Calls,
        TopKey::Calls => TopKey::Name,
        TopKey::Name if refresh.has_times() => TopKey::SelfTime,
        TopKey::Name => TopKey::Calls,
    }
}

/// The column by which methods are sorted if none was chosen.
pub(super) fn default_key(refresh: &Refresh) -> TopKey {
    if refresh.has_times() { TopKey::SelfTime } else { TopKey::Calls }
}

/// Sorts rows of methods.
pub(super) fn order(refresh: &Refresh, key: Option<TopKey>, rows: &mut [usize]) {
    let row = |number: &usize| refresh.methods.get(*number);
    let calls = |number: &usize| Reverse(row(number).map_or(0, |row| row.calls));
    let has_cpu = refresh.has_cpu;
    // Of methods in which nobody was seen to run, those with more time come first.
    let weight = |row: &ActiveMethod| (row.weight_ns(has_cpu), row.self_ns);
    let self_ns = |number: &usize| Reverse(row(number).map(weight));
    let name = |number: &usize| row(number).map_or("", |row| &row.name);
    rows.sort_by(|a, b| {
        let by_name = || name(a).cmp(name(b));
        match key.unwrap_or_else(|| default_key(refresh)) {
            TopKey::SelfTime => self_ns(a).cmp(&self_ns(b)).then_with(|| calls(a).cmp(&calls(b))),
            TopKey::Calls => calls(a).cmp(&calls(b)),
            TopKey::Name => by_name(),
        }
        .then_with(by_name)
    });
}

/// The first line: what is recorded, and how much happens.
pub(super) fn heading(refresh: &Refresh) -> String {
    let state = match (refresh.is_recording, refresh.age_ns) {
        (true, Some(age)) => format!("for {}", duration(age)),
        (true, None) => "recording".to_owned(),
        (false, _) => "not recording".to_owned(),
    };
    let about = if refresh.is_estimate() { "about " } else { "" };
    let mut heading = format!(
        "{}, {state}: {about}{} calls/s in {}",
        refresh.title,
        grouped(refresh.rate(refresh.calls)),
        plural(refresh.threads.len() as u64, "thread"),
    );
    if refresh.is_estimate() {
        let part = percent(refresh.read_bytes, refresh.bytes);
        heading += &format!(", of which {} of {} were read", part.trim(), bytes(refresh.bytes));
    }
    if refresh.gaps > 0 {
        heading += &format!(", events lost in {}", plural(refresh.gaps, "place"));
    }
    if refresh.pauses > 0 {
        heading += ", suspended meanwhile";
    }
    heading
}

/// The id and name of a thread, and its trace if there are several.
pub(super) fn title(thread: &ActiveThread) -> String {
    let trace = if thread.trace.is_empty() { String::new() } else { format!("{} ", thread.trace) };
    format!("{trace}{} {}", thread.id, thread.name).trim_end().to_owned()
}

/// The innermost open call of a thread.
pub(super) fn now_in(thread: &ActiveThread) -> String {
    match (thread.stack.last(), thread.is_partial) {
        (Some(top), _) => top.clone(),
        (None, true) => "…".to_owned(),
        (None, false) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use flow_codec::{MethodId, ThreadId};

    use super::*;

    fn refresh() -> Refresh {
        let method = |name: &str, calls, ns| ActiveMethod {
            trace: 0,
            id: MethodId::MAX,
            name: name.to_owned(),
            calls,
            self_ns: Some(ns),
            cpu_ns: None,
            silent_ns: 0,
        };
        let thread = |id, name: &str| ActiveThread {
            trace: String::new(),
            id: ThreadId::new(id),
            name: name.to_owned(),
            calls: 0,
            stack: vec!["a.B.run()".to_owned()],
            is_partial: false,
            idle_ns: None,
        };
        Refresh {
            methods: vec![method("b", 5, 10), method("a", 9, 10), method("c", 1, 90)],
            threads: vec![thread(1, "main"), thread(2, "worker")],
            ..Refresh::default()
        }
    }

    fn names(view: &View, refresh: &Refresh) -> Vec<String> {
        view.methods(refresh).into_iter().map(|row| refresh.methods[row].name.clone()).collect()
    }

    #[test]
    fn methods_are_sorted_by_one_column_after_the_other() {
        let (mut view, refresh) = (View::default(), refresh());
        assert_eq!(names(&view, &refresh), ["c", "a", "b"]);
        for expected in [["a", "b", "c"], ["a", "b", "c"], ["c", "a", "b"]] {
            view.press(Key::Char('s'), &refresh);
            assert_eq!(names(&view, &refresh), expected, "{:?}", view.sort);
        }
    }

    #[test]
    fn a_selected_row_keeps_its_name_when_rows_move() {
        let (mut view, mut refresh) = (View::default(), refresh());
        view.press(Key::Down, &refresh);
        view.press(Key::Down, &refresh);
        assert_eq!(view.selected[0].as_deref(), Some("a"));
        refresh.methods[1].self_ns = Some(1000);
        assert_eq!(view.selected(Focus::Methods, &names(&view, &refresh)), Some(0));
        view.press(Key::Enter, &refresh);
        assert_eq!(view.page, Some(Page::Method("a".to_owned())));
        view.press(Key::Escape, &refresh);
        view.press(Key::Tab, &refresh);
        view.press(Key::PageDown, &refresh);
        view.press(Key::PageDown, &refresh);
        view.press(Key::Enter, &refresh);
        assert_eq!(view.page, Some(Page::Thread("2 worker".to_owned())));
        assert_eq!(view.press(Key::Char('q'), &refresh), Next::End);
    }

    #[test]
    fn typed_text_finds_methods_and_threads_and_is_no_command() {
        let (mut view, refresh) = (View::default(), refresh());
        view.press(Key::Char('/'), &refresh);
        for key in "QRun".chars() {
            assert_eq!(view.press(Key::Char(key), &refresh), Next::Stay);
        }
        assert!(view.threads(&refresh).is_empty());
        for _ in 0..4 {
            view.press(Key::Backspace, &refresh);
        }
        for key in "RUN".chars() {
            view.press(Key::Char(key), &refresh);
        }
        assert_eq!((view.threads(&refresh).len(), names(&view, &refresh).len()), (2, 0));
        view.press(Key::Enter, &refresh);
        view.press(Key::Escape, &refresh);
        assert_eq!((view.wanted.as_str(), names(&view, &refresh).len()), ("", 3));
    }
}
