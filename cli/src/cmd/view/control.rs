//! The state of the view, and how keys and the mouse change it.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::TryRecvError;
use std::time::Duration;

use flow_codec::format::marks::Position;
use flow_codec::read::{ThreadFile, Trace};
use flow_codec::tree::LazyTree;
use flow_codec::{Error, MethodId, Offset, ThreadId};
use ratatui::layout::Rect;

use super::calls::Calls;
use super::layout::{Areas, Pane};
use super::list::{List, Target};
use super::neighbours::Neighbours;
use super::opening::Opening;
use super::search::{Found, Searching, Wanted, find_exception};
use super::tree::Row;
use crate::args::ViewArgs;
use crate::failure::Status;
use crate::input::place::From;
use crate::input::source::{Source, thread_title};
use crate::input::sources::{Sources, source_folders};
use crate::input::state::State;
use crate::output::{grouped, percent, plural};
use crate::terminal::{Input, Key};

/// What follows from an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    Stay,
    End,
    /// The trace is read again.
    Reload,
}

/// Where a view begins.
#[derive(Clone, Debug, Default)]
pub(super) struct Start {
    /// The directory of the trace and the thread; the list of threads without it.
    pub(super) thread: Option<(PathBuf, ThreadId)>,
    pub(super) from: Option<From>,
    pub(super) pane: Pane,
}

/// What lies over the calls or the threads.
#[derive(Debug)]
pub(super) enum Page {
    Help,
    List(List),
}

/// What a text is typed for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Prompt {
    Find,
    GoTo,
}

/// Work that takes longer than a person should wait for a key.
enum Job {
    Open(Opening),
    Search(Searching),
    Neighbours(Box<Neighbours>),
}

/// If the thread that opens a thread has panicked.
const NOT_OPENED: &str = "the thread cannot be opened";

/// A thread of one of the traces.
type OfTrace<'a> = (&'a Trace, &'a ThreadFile);

/// The state of the view.
pub(super) struct View<'a> {
    source: &'a Source,
    threads: Vec<OfTrace<'a>>,
    /// Whether a JVM was still writing when the trace was opened.
    is_recorded: bool,
    pub(super) list: List,
    /// The thread whose calls are shown, or were.
    pub(super) calls: Option<Calls<'a>>,
    /// Whether the list of threads is shown.
    pub(super) is_on_threads: bool,
    pub(super) page: Option<Page>,
    pub(super) prompt: Option<(Prompt, String)>,
    /// What happened last.
    pub(super) message: Option<String>,
    /// The worst of what was found in the threads that were opened.
    pub(super) status: Status,
    job: Option<Job>,
    wanted: Option<Wanted>,
    /// The call that the last exception ended, and where.
    exception: Option<(u64, Position)>,
    pub(super) pane: Pane,
    /// The details that were shown last, and of which row.
    pub(super) details: Option<(Row, Vec<String>)>,
    pub(super) folders: Vec<PathBuf>,
    pub(super) sources: Sources,
    pub(super) areas: Areas,
}

impl<'a> View<'a> {
    pub(super) fn new(source: &'a Source, args: &ViewArgs, start: Start) -> Self {
        let files = |trace: &'a Trace| trace.files.iter().map(move |file| (trace, file));
        let threads: Vec<_> = source.traces.iter().flat_map(files).collect();
        let folders = source_folders(&args.sources);
        let mut view = Self {
            source,
            is_recorded: source.traces.iter().any(|trace| State::of(trace) == State::Recording),
            list: List::default(),
            calls: None,
            is_on_threads: true,
            page: None,
            prompt: None,
            message: None,
            status: Status::Done,
            job: None,
            wanted: None,
            exception: None,
            pane: start.pane,
            details: None,
            sources: Sources::new(&folders),
            folders,
            areas: Areas::default(),
            threads,
        };
        view.list = List::of_threads(source, &view.threads);
        let is_it = |(trace, file): &OfTrace<'_>| {
            start.thread.as_ref().is_some_and(|(dir, id)| trace.dir == *dir && file.id == *id)
        };
        let thread = view.threads.iter().position(is_it);
        let only = (view.threads.len() == 1).then_some(0);
        if let Some(thread) = thread.or(only) {
            view.list.chosen = thread;
            view.open(thread, start.from);
        }
        view
    }

    /// The first line: what is shown.
    pub(super) fn heading(&self) -> String {
        let name = |trace: &Trace| trace.dir.display().to_string();
        let Some(calls) = self.calls.as_ref().filter(|_| !self.is_on_threads) else {
            let names: Vec<_> = self.source.traces.iter().take(1).map(name).collect();
            let more = match self.source.traces.len() {
                0 | 1 => String::new(),
                traces => format!(" and {}", plural(traces as u64 - 1, "more trace")),
            };
            let threads = plural(self.threads.len() as u64, "thread");
            return format!("{}{more}, {threads}{}", names.concat(), self.state());
        };
        let all = plural(calls.tree.lazy.end().enters, "call");
        let thread = thread_title(calls.trace, calls.file.id);
        format!("{}, thread {thread}, {all}{}", name(calls.trace), self.state())
    }

    /// Whether more may come.
    fn state(&self) -> &'static str {
        if self.is_recorded { ", still recorded (r reads more)" } else { "" }
    }

    /// From now on, the screen has this size.
    pub(super) fn resize(&mut self, screen: Rect) {
        self.areas = Areas::of(screen, self.shown_pane());
        let height = self.areas.rows();
        if let Some(calls) = &mut self.calls {
            let outcome = calls.resize(height);
            self.report(outcome);
        }
    }

    /// The pane below the calls, where there are any.
    fn shown_pane(&self) -> Pane {
        let has_calls = !self.is_on_threads && self.page.is_none() && self.calls.is_some();
        if has_calls { self.pane } else { Pane::Nothing }
    }

    fn report(&mut self, outcome: Result<(), Error>) {
        if let Err(error) = outcome {
            self.message = Some(error.to_string());
        }
    }

    /// What is being done, and how far it is.
    pub(super) fn progress(&self) -> Option<String> {
        let part = |done: u64, all: u64| percent(done, all).trim().to_owned();
        let what = match self.job.as_ref()? {
            Job::Open(opening) => {
                let (_, file) = self.threads.get(opening.thread)?;
                let read = opening.read.load(Ordering::Relaxed);
                format!("reading the thread, {}", part(read, file.bytes))
            }
            Job::Search(searching) => {
                let all = self.calls.as_ref()?.tree.lazy.end().enters;
                let (now, all) = (grouped(searching.number), grouped(all));
                format!("searching: call {now} of {all}; flow index makes this fast")
            }
            Job::Neighbours(neighbours) => {
                let all = self.calls.as_ref()?.file.bytes;
                let read = neighbours.position().map_or(all, Offset::get);
                format!("adding up calls: {}; flow index makes this fast", part(read, all))
            }
        };
        Some(format!("{what} (Esc ends it)"))
    }

    /// For how long there is nothing to do without an input.
    pub(super) fn patience(&self) -> Duration {
        match self.job {
            None => Duration::from_secs(3600),
            Some(Job::Open(_)) => Duration::from_millis(50),
            Some(_) => Duration::ZERO,
        }
    }

    /// Continues what is being done.
    pub(super) fn step(&mut self) {
        match self.job.take() {
            None => {}
            Some(Job::Open(opening)) => match opening.tree.try_recv() {
                Ok(tree) => self.opened(opening.thread, tree, opening.then.as_ref()),
                Err(TryRecvError::Empty) => self.job = Some(Job::Open(opening)),
                Err(TryRecvError::Disconnected) => {
                    self.message = Some(NOT_OPENED.to_owned());
                }
            },
            Some(Job::Search(mut searching)) => {
                let (Some(calls), Some(wanted)) = (&mut self.calls, &self.wanted) else { return };
                match wanted.step(&mut calls.tree.lazy, &mut searching) {
                    Ok(None) => self.job = Some(Job::Search(searching)),
                    Ok(Some(found)) => self.found(found, searching.is_next),
                    Err(error) => self.message = Some(error.to_string()),
                }
            }
            Some(Job::Neighbours(mut neighbours)) => {
                let Some(calls) = &mut self.calls else { return };
                match neighbours.step() {
                    Ok(false) => self.job = Some(Job::Neighbours(neighbours)),
                    Ok(true) => self.page = Some(Page::List(neighbours.list(&mut calls.labels))),
                    Err(error) => self.message = Some(error.to_string()),
                }
            }
        }
    }

    /// Does all that is being done.
    pub(super) fn finish(&mut self) {
        while let Some(job) = self.job.take() {
            match job {
                Job::Open(opening) => match opening.tree.recv() {
                    Ok(tree) => self.opened(opening.thread, tree, opening.then.as_ref()),
                    Err(_) => self.message = Some(NOT_OPENED.to_owned()),
                },
                job => {
                    self.job = Some(job);
                    self.step();
                }
            }
        }
    }

    /// Opens a thread, in the background: of a large one without index and shapes, all events are read.
    fn open(&mut self, thread: usize, then: Option<From>) {
        let Some((trace, file)) = self.threads.get(thread) else { return };
        let is_open = |calls: &Calls<'_>| calls.file.id == file.id && calls.trace.dir == trace.dir;
        if self.calls.as_ref().is_some_and(is_open) {
            self.is_on_threads = false;
            self.go_to(then.as_ref());
            return;
        }
        self.job = Some(Job::Open(Opening::begin(thread, file, then)));
    }

    fn opened(&mut self, thread: usize, tree: Result<LazyTree, Error>, then: Option<&From>) {
        let Some((trace, file)) = self.threads.get(thread) else { return };
        let damaged = |tree: &LazyTree| tree.index().map_or(0, |index| index.damage().places.len());
        let opened = tree.and_then(|tree| {
            let damaged = damaged(&tree);
            Calls::new(trace, file, tree, self.areas.rows()).map(|calls| (calls, damaged))
        });
        match opened {
            Ok((calls, _)) if calls.tree.is_empty() => {
                self.message = Some("this thread has no calls".to_owned());
            }
            Ok((calls, damaged)) => {
                self.calls = Some(calls);
                (self.is_on_threads, self.exception, self.details) = (false, None, None);
                if let Some(wanted) = &mut self.wanted {
                    wanted.forget_thread();
                }
                if damaged > 0 {
                    self.status = Status::Damaged;
                    let places = plural(damaged as u64, "place");
                    self.message = Some(format!(
                        "{places} of this thread cannot be read: flow check shows more"
                    ));
                }
                self.go_to(then);
            }
            Err(error) => {
                self.status = Status::Damaged;
                self.message = Some(error.to_string());
            }
        }
    }

    /// Does what a person's input means.
    pub(super) fn on(&mut self, input: Input) -> Next {
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

    /// The list on the screen, if it is one.
    pub(super) fn shown_list(&mut self) -> Option<&mut List> {
        match &mut self.page {
            Some(Page::List(list)) => Some(list),
            Some(Page::Help) => None,
            None if self.is_on_threads => Some(&mut self.list),
            None => None,
        }
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

    /// Does something with the calls on the screen.
    fn with_calls(&mut self, act: impl FnOnce(&mut Calls<'a>) -> Result<(), Error>) {
        if self.is_on_threads || matches!(self.page, Some(Page::Help)) {
            return;
        }
        let outcome = self.calls.as_mut().map_or(Ok(()), act);
        self.report(outcome);
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
            Key::Char('[') => self.with_calls(|calls| calls.go_to_sibling(false)),
            Key::Char(']') => self.with_calls(|calls| calls.go_to_sibling(true)),
            Key::Char('x') => self.with_calls(Calls::collapse),
            Key::Char('/') => self.prompt = Some((Prompt::Find, String::new())),
            Key::Char('g') => self.prompt = Some((Prompt::GoTo, String::new())),
            Key::Char('n') => self.search(true),
            Key::Char('N') => self.search(false),
            Key::Char('e') => self.go_to_exception(true),
            Key::Char('E') => self.go_to_exception(false),
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
            Target::Test(trace, thread, offset) => {
                let of = self.source.traces.get(trace);
                let is_it = |(trace, file): &OfTrace<'_>| {
                    file.id == thread && of.is_some_and(|of| of.dir == trace.dir)
                };
                self.page = None;
                match self.threads.iter().position(is_it) {
                    Some(thread) => self.open(thread, Some(From::Offset(offset.get()))),
                    None => {
                        self.message = Some(
                            "the thread of this test was not chosen: leave out --thread".to_owned(),
                        )
                    }
                }
            }
            Target::Method(method) => {
                self.page = None;
                self.want(method);
                self.search(true);
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
        if text.is_empty() {
            return;
        }
        match prompt {
            Prompt::Find => {
                let Some(calls) = &self.calls else { return };
                let wanted = Wanted::like(text, &calls.trace.methods);
                if wanted.count == 0 {
                    self.message =
                        Some(format!("no method name has '{text}' in it, or matches it"));
                    return;
                }
                self.wanted = Some(wanted);
                self.search(true);
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

    /// Goes to a position of the thread that is shown.
    fn go_to(&mut self, position: Option<&From>) {
        let (Some(position), Some(calls)) = (position, &mut self.calls) else { return };
        if let From::Path(_) = position {
            self.message = Some("to go to a method, search for it with /".to_owned());
            return;
        }
        match calls.go_to_position(position) {
            Ok(true) => {}
            Ok(false) => self.message = Some(format!("this thread has no {position}")),
            Err(error) => self.message = Some(error.to_string()),
        }
    }

    /// Searches for the next call of what was searched for last, or the one before.
    fn search(&mut self, is_next: bool) {
        let (Some(calls), Some(wanted)) = (&mut self.calls, &mut self.wanted) else {
            self.message = Some("search for a method with / first".to_owned());
            return;
        };
        let Some(row) = calls.row() else { return };
        match wanted.find(&mut calls.tree.lazy, row.number(), is_next) {
            Ok(Ok(found)) => self.found(found, is_next),
            Ok(Err(searching)) => self.job = Some(Job::Search(searching)),
            Err(error) => self.message = Some(error.to_string()),
        }
    }

    fn found(&mut self, found: Found, is_next: bool) {
        let (Some(calls), Some(wanted)) = (&mut self.calls, &self.wanted) else { return };
        let what = match wanted.count {
            1 => wanted.text.clone(),
            count => format!("{} methods like {}", grouped(count as u64), wanted.text),
        };
        let node = match found {
            Found::Nothing => {
                let way = if is_next { "after" } else { "before" };
                self.message = Some(format!("no call of {what} {way} this one"));
                return;
            }
            Found::Call(node) => node,
            Found::CallOf(node, rank, all) => {
                let (rank, all) = (grouped(rank), grouped(all));
                self.message = Some(format!("{rank} of {all} calls of {what}"));
                node
            }
        };
        let outcome = calls.go_to(&node);
        self.report(outcome);
    }

    fn go_to_exception(&mut self, is_next: bool) {
        let Some(calls) = &mut self.calls else { return };
        let Some(row) = calls.row() else { return };
        let last = self.exception.filter(|(number, _)| *number == row.number());
        let from = last.map_or(Position::before(row.node.place.offset), |(_, at)| at);
        match find_exception(calls.file, &mut calls.tree.lazy, from, is_next) {
            Ok(Some((at, node))) => {
                self.exception = Some((node.place.enters, at));
                let outcome = calls.go_to(&node);
                self.report(outcome);
            }
            Ok(None) => {
                let way = if is_next { "after" } else { "before" };
                self.message = Some(format!("no call is ended by an exception {way} this one"));
            }
            Err(error) => self.message = Some(error.to_string()),
        }
    }

    fn show_neighbours(&mut self) {
        let Some(calls) = &self.calls else { return };
        let Some(row) = calls.row() else { return };
        match Neighbours::new(row.method(), calls.file, &calls.tree.lazy) {
            Ok(neighbours) => self.job = Some(Job::Neighbours(Box::new(neighbours))),
            Err(error) => self.message = Some(error.to_string()),
        }
        self.step();
    }

    fn show_tests(&mut self) {
        let (list, damage) = List::of_tests(self.source);
        self.message = damage.map(|error| error.to_string());
        match list.rows.is_empty() {
            true => self.message = Some("no tests are marked in this trace".to_owned()),
            false => self.page = Some(Page::List(list)),
        }
    }

    /// Where the next view of the same trace begins.
    pub(super) fn start(&self) -> Start {
        let calls = self.calls.as_ref().filter(|_| !self.is_on_threads);
        let thread = calls.map(|calls| (calls.trace.dir.clone(), calls.file.id));
        let from = calls.and_then(Calls::row).map(|row| From::Call(row.number()));
        Start { thread, from, pane: self.pane }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::num::NonZeroU64;

    use clap::Parser;
    use flow_codec::format::marks::{HEADER, Mark, MarkEncoder};
    use flow_codec::format::test_marks::{Outcome, TestMark};
    use tempfile::TempDir;

    use super::super::draw::draw;
    use super::super::text::plain_lines;
    use super::*;
    use crate::args::{Args, SourceArgs, Verb};
    use crate::output::Format;

    /// A trace of a thread, and a screen on which it is shown.
    struct Shown {
        _dir: TempDir,
        source: Source,
        args: ViewArgs,
    }

    const WIDTH: u16 = 60;
    const HEIGHT: u16 = 12;

    impl Shown {
        fn new(events: &[u8], marks: &[(u64, u64, Mark)]) -> Self {
            Self::with(&["view"], events, marks)
        }

        fn with(words: &[&str], events: &[u8], marks: &[(u64, u64, Mark)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let names = "a.B#main()V=1\na.B#run()V=2\na.B#leaf()V=3\na.B#other()V=4\n";
            fs::write(dir.path().join("ids.properties"), names).unwrap();
            fs::write(dir.path().join("thread-1.flow"), events).unwrap();
            if !marks.is_empty() {
                let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
                for (offset, exits, mark) in marks {
                    let position = Position { offset: Offset::new(*offset), exits: *exits };
                    encoder.encode(position, mark, &mut bytes);
                }
                encoder.finish(&mut bytes);
                fs::write(dir.path().join("thread-1.marks"), bytes).unwrap();
            }
            let args = Args::parse_from([&["flow"], words].concat());
            let Verb::View(args) = args.verb else { panic!("another verb") };
            let of = SourceArgs { dir: dir.path().to_path_buf(), format: Format::Text };
            Self { source: Source::open(&of).unwrap(), args, _dir: dir }
        }

        fn view(&self) -> View<'_> {
            let start = Start { from: self.args.from.clone(), ..Start::default() };
            let mut view = View::new(&self.source, &self.args, start);
            view.resize(Rect::new(0, 0, WIDTH, HEIGHT));
            view.finish();
            view
        }
    }

    /// `main` calls `run` twice, which calls `leaf` twice; then `run`, which calls `leaf` and `other`.
    const EVENTS: &[u8] = &[
        0x81, 0x82, 0x83, 0x00, 0x83, 0x01, 0x82, 0x83, 0x00, 0x83, 0x01, 0x82, 0x83, 0x00, 0x84,
        0x02,
    ];

    /// The same events in a form that has no shapes: two records in place of one for two exits.
    fn without_shapes() -> Vec<u8> {
        [&EVENTS[..EVENTS.len() - 1], &[0x01, 0x00]].concat()
    }

    fn press(view: &mut View<'_>, keys: &str) {
        for key in keys.chars() {
            let key = match key {
                '→' => Key::Right,
                '←' => Key::Left,
                '↑' => Key::Up,
                '↓' => Key::Down,
                '⏎' => Key::Enter,
                '⎋' => Key::Escape,
                '⇱' => Key::Home,
                '⇲' => Key::End,
                key => Key::Char(key),
            };
            assert_eq!(view.on(Input::Key(key)), Next::Stay, "{key:?}");
            view.finish();
        }
    }

    /// The rows of the calls without their numbers; `>` is before the chosen one.
    fn rows(view: &mut View<'_>) -> Vec<String> {
        let calls = view.calls.as_mut().unwrap();
        let lines = plain_lines(calls, WIDTH.into());
        let tree = lines[0].find("    call").unwrap() + 2;
        let rows = lines[1..].iter().enumerate();
        let chosen = calls.chosen;
        let row = |(at, line): (usize, &String)| {
            let text: String = line.chars().skip(tree).collect();
            format!("{}{}", if at == chosen { ">" } else { " " }, text)
        };
        rows.map(row).collect()
    }

    #[test]
    fn equal_calls_are_one_line_until_one_of_them_is_unfolded() {
        let shown = Shown::new(EVENTS, &[]);
        let mut view = shown.view();
        assert_eq!(rows(&mut view), [">▾ a.B.main()", "   ▸ ×2 a.B.run()", "   ▸ a.B.run()"]);
        press(&mut view, "↓→");
        assert_eq!(
            rows(&mut view),
            [
                " ▾ a.B.main()",
                ">  ▾ a.B.run()",
                "       ×2 a.B.leaf()",
                "   ▸ a.B.run()",
                "   ▸ a.B.run()"
            ]
        );
        press(&mut view, "←");
        assert_eq!(rows(&mut view), [" ▾ a.B.main()", ">  ▸ ×2 a.B.run()", "   ▸ a.B.run()"]);
        press(&mut view, "x");
        assert_eq!(
            rows(&mut view),
            [" ▾ a.B.main()", ">  ▸ a.B.run()", "   ▸ a.B.run()", "   ▸ a.B.run()"]
        );
        press(&mut view, "⇲");
        assert!(rows(&mut view)[3].starts_with('>'));
        press(&mut view, "←");
        assert!(rows(&mut view)[0].starts_with('>'), "it goes to the caller");
    }

    #[test]
    fn a_search_finds_each_call_of_a_method_with_shapes_and_without() {
        for events in [EVENTS.to_vec(), without_shapes()] {
            let shown = Shown::new(&events, &[]);
            let mut view = shown.view();
            let has_shapes = view.calls.as_ref().unwrap().tree.lazy.shapes().is_some();
            assert_eq!(has_shapes, events == EVENTS);
            let number = |view: &View<'_>| view.calls.as_ref().unwrap().row().unwrap().number();
            press(&mut view, "/LEAF⏎");
            let mut found = vec![number(&view)];
            for _ in 0..4 {
                press(&mut view, "n");
                found.push(number(&view));
            }
            assert_eq!(found, [2, 3, 5, 6, 8], "{has_shapes}");
            press(&mut view, "n");
            let nothing = "no call of a.B.leaf() after this one";
            assert!(view.message.as_ref().unwrap().contains("after this one"), "{nothing}");
            press(&mut view, "NNNNN");
            assert_eq!(number(&view), 2);
            press(&mut view, "/no such method⏎");
            assert!(view.message.as_ref().unwrap().starts_with("no method name has"));
            assert_eq!(number(&view), 2);
        }
    }

    #[test]
    fn a_found_call_is_shown_below_its_callers_alone() {
        let shown = Shown::new(EVENTS, &[]);
        let mut view = shown.view();
        press(&mut view, "g3⏎");
        assert_eq!(
            rows(&mut view),
            [
                " ▾ a.B.main()",
                "   ▾ a.B.run()",
                "       a.B.leaf()",
                ">      a.B.leaf()",
                "   ▸ a.B.run()",
                "   ▸ a.B.run()"
            ]
        );
        press(&mut view, "goffset:13⏎");
        assert_eq!(view.calls.as_ref().unwrap().row().unwrap().number(), 8, "an exit");
        press(&mut view, "g100%⏎");
        assert!(rows(&mut view).last().unwrap().starts_with('>'));
        press(&mut view, "g99⏎");
        assert_eq!(view.message.as_deref(), Some("this thread has no call 99"));
        press(&mut view, "gx y⏎");
        assert!(view.message.is_some());
    }

    #[test]
    fn a_caller_of_many_calls_is_scrolled_and_only_the_screen_is_kept() {
        for is_shaped in [true, false] {
            let mut events = vec![0x81];
            for n in 0..100_000_u32 {
                events.extend(if n % 2 == 0 { [0x82, 0x00] } else { [0x83, 0x00] });
            }
            events.extend(if is_shaped { &[0x84, 0x01][..] } else { &[0x84, 0x00, 0x00] });
            let shown = Shown::new(&events, &[]);
            let mut view = shown.view();
            press(&mut view, "⇲");
            let all = rows(&mut view);
            assert_eq!(all.len(), usize::from(HEIGHT) - 3, "{all:?}");
            assert_eq!(all.last().unwrap(), ">  a.B.other()");
            press(&mut view, "g50%⏎");
            let number = view.calls.as_ref().unwrap().row().unwrap().number();
            assert!((49_990..50_010).contains(&number), "{number}");
            press(&mut view, "⇱");
            assert_eq!(rows(&mut view)[0], ">▾ a.B.main()");
            for _ in 0..30 {
                press(&mut view, "↓");
            }
            assert_eq!(view.calls.as_ref().unwrap().row().unwrap().number(), 30);
            assert_eq!(view.calls.as_ref().unwrap().rows.len(), usize::from(HEIGHT) - 3);
            view.resize(Rect::new(0, 0, WIDTH, 30));
            let calls = view.calls.as_ref().unwrap();
            assert_eq!((calls.row().unwrap().number(), calls.rows.len()), (30, 27));
        }
    }

    fn time(at: u64) -> Mark {
        Mark::Time { by_ns: at, from_ns: at, ran_us: None }
    }

    /// A time before each event of `main`, `run`, its exception, and `run`.
    fn timed() -> Shown {
        let unwound = Mark::Unwound { exits: NonZeroU64::MIN, thrown: Some("x.Oops".to_owned()) };
        let events = &[0x81, 0x82, 0x83, 0x01, 0x82, 0x00, 0x82, 0x01];
        let marks = [
            (0, 0, time(1_000)),
            (1, 0, time(2_000)),
            (2, 0, time(4_000)),
            (3, 0, time(9_000)),
            (3, 0, unwound.clone()),
            (3, 1, time(10_000)),
            (4, 0, time(20_000)),
            (5, 0, time(40_000)),
            (6, 0, time(41_000)),
            (7, 0, time(43_000)),
            (7, 0, unwound),
            (7, 1, time(90_000)),
            (8, 0, time(90_000)),
        ];
        Shown::new(events, &marks)
    }

    #[test]
    fn exceptions_are_found_one_after_the_other() {
        let shown = timed();
        let mut view = shown.view();
        let number = |view: &View<'_>| view.calls.as_ref().unwrap().row().unwrap().number();
        press(&mut view, "e");
        assert_eq!(number(&view), 2);
        assert!(rows(&mut view).iter().any(|row| row.ends_with("a.B.leaf()  ! Oops")));
        press(&mut view, "e");
        assert_eq!(number(&view), 4);
        press(&mut view, "e");
        assert_eq!(number(&view), 4);
        assert_eq!(
            view.message.as_deref(),
            Some("no call is ended by an exception after this one")
        );
        press(&mut view, "E");
        assert_eq!(number(&view), 2);
    }

    #[test]
    fn rows_have_durations_and_times_are_found() {
        let shown = timed();
        let mut view = shown.view();
        press(&mut view, "↓→");
        let lines = plain_lines(view.calls.as_mut().unwrap(), 60);
        assert_eq!(lines[0], "duration      self  calls    call");
        // From the times around the events, which do not show when between them they happened.
        assert!(lines[1].trim_start().starts_with("89.0 µs"), "{lines:#?}");
        press(&mut view, "g21us⏎");
        assert_eq!(view.calls.as_ref().unwrap().row().unwrap().number(), 3);
        press(&mut view, "g1s⏎");
        assert!(view.message.as_ref().unwrap().contains("1.000000 s"), "{:?}", view.message);
    }

    #[test]
    fn callers_and_callees_lead_to_calls() {
        for events in [EVENTS.to_vec(), without_shapes()] {
            let shown = Shown::new(&events, &[]);
            let mut view = shown.view();
            press(&mut view, "↓c");
            let list = view.shown_list().unwrap();
            let rows: Vec<_> = list.rows.iter().map(|(text, _)| text.trim_start()).collect();
            assert_eq!(rows[0], "callers: 1");
            assert!(rows[1].ends_with("a.B.main()") && rows[1].starts_with("3  "), "{rows:?}");
            assert_eq!(rows[2], "callees: 2");
            assert!(rows[3].ends_with("a.B.leaf()") && rows[3].starts_with("5  "), "{rows:?}");
            press(&mut view, "↓↓⏎");
            assert_eq!(view.calls.as_ref().unwrap().row().unwrap().number(), 2);
        }
    }

    #[test]
    fn tests_lead_to_what_they_called() {
        let test = |outcome| {
            let (name, detail) = ("a.BTest.runs()".to_owned(), String::new());
            Mark::Test(TestMark { outcome, name, detail })
        };
        let marks = [(6, 0, test(None)), (11, 0, test(Some(Outcome::Passed)))];
        let shown = Shown::new(EVENTS, &marks);
        let mut view = shown.view();
        press(&mut view, "t");
        let list = view.shown_list().unwrap();
        let rows: Vec<_> = list.rows.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(rows, ["passed                  a.BTest.runs()"]);
        press(&mut view, "⏎");
        assert_eq!(view.calls.as_ref().unwrap().row().unwrap().number(), 4);
        let shown = Shown::new(EVENTS, &[]);
        let mut view = shown.view();
        press(&mut view, "t");
        assert_eq!(view.message.as_deref(), Some("no tests are marked in this trace"));
    }

    #[test]
    fn clicks_choose_and_unfold_and_the_wheel_scrolls() {
        let shown = Shown::new(EVENTS, &[]);
        let mut view = shown.view();
        let top = view.areas.body.y;
        view.on(Input::Click(5, top + 1));
        assert!(rows(&mut view)[1].starts_with('>'));
        view.on(Input::Click(5, top + 1));
        assert_eq!(rows(&mut view).len(), 5);
        for input in [Input::Click(5, top + 9), Input::Click(0, 0), Input::Click(200, 200)] {
            view.on(input);
        }
        assert!(rows(&mut view)[1].starts_with('>'), "there is nothing");
        view.on(Input::WheelDown);
        assert_eq!(rows(&mut view).len(), 5, "all of it is on the screen");
    }

    #[test]
    fn every_page_fits_on_every_screen() {
        let shown = Shown::with(&["view", "--source", "."], EVENTS, &[]);
        let mut view = shown.view();
        for keys in ["", "d", "s", "?", "⎋/x", "⎋c", "⎋t", "⎋⎋"] {
            press(&mut view, keys);
            for (width, height) in [(1, 1), (20, 5), (80, 24), (200, 60)] {
                crate::terminal::shown(width, height, |frame| {
                    view.resize(frame.area());
                    draw(frame, &mut view);
                });
            }
        }
        assert!(view.is_on_threads);
        assert_eq!(view.on(Input::Key(Key::Char('r'))), Next::Reload);
        assert_eq!(view.on(Input::Key(Key::Char('q'))), Next::End);
    }

    #[test]
    fn damaged_and_empty_threads_are_reported() {
        let shown = Shown::new(
            &[0x81, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x82],
            &[],
        );
        let view = shown.view();
        assert!(
            view.message.as_ref().unwrap().contains("1 place of this thread cannot be read"),
            "{:?}",
            view.message
        );
        let shown = Shown::new(&[], &[]);
        let view = shown.view();
        assert!(view.calls.is_none() && view.is_on_threads);
    }
}
