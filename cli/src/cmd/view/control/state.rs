//! The state of the view.

use std::path::PathBuf;

use flow_codec::format::marks::Position;
use flow_codec::read::{ThreadFile, Trace};
use flow_codec::{Error, ThreadId};
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr as _;

use super::super::calls::Calls;
use super::super::layout::{Areas, Pane};
use super::super::list::{List, Target};
use super::super::neighbours::Neighbours;
use super::super::opening::{Counting, Opened, Opening};
use super::super::search::{Searching, Wanted};
use super::super::tree::Row;
use crate::args::ViewArgs;
use crate::failure::Status;
use crate::input::flags::FilterArgs;
use crate::input::place::From;
use crate::input::source::Source;
use crate::input::sources::{Sources, source_folders};
use crate::output::{grouped, plural};
use flow_query::open::{Request, State};
use flow_query::select::test_of;

/// What follows from an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Next {
    Stay,
    End,
    /// The trace is read again.
    Reload,
}

/// A thread, or what a test called on it: the directory of the trace, the thread, and the name of the test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in super::super) struct ThreadKey(PathBuf, ThreadId, Option<String>);

impl ThreadKey {
    pub(in super::super) fn new(trace: &Trace, file: &ThreadFile) -> Self {
        let test = file.parts().map(|parts| test_of(parts.title()).to_owned());
        Self(trace.dir().to_path_buf(), file.id(), test)
    }
}

/// Where a view begins.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Start {
    /// The thread; the list of threads without it.
    pub(in super::super) thread: Option<ThreadKey>,
    pub(in super::super) from: Option<From>,
    pub(in super::super) pane: Pane,
}

/// What lies over the calls or the threads.
#[derive(Debug)]
pub(in super::super) enum Page {
    Help,
    List(List),
}

/// What a text is typed for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Prompt {
    Find,
    Filter,
    /// Only calls of some methods are shown.
    Only,
    GoTo,
}

/// Work that takes longer than a person should wait for a key.
pub(super) enum Job {
    Open(Opening),
    Search(Searching),
    Neighbours(Box<Neighbours>),
}

/// A thread of one of the traces, or what a test called on it.
pub(super) type OfTrace<'a> = (&'a Trace, &'a ThreadFile);

/// The state of the view.
pub(in super::super) struct View<'a> {
    pub(super) source: &'a Source,
    pub(super) threads: Vec<OfTrace<'a>>,
    /// The request that is shown as one tree, and its name.
    pub(super) request: Option<&'a (Request, String)>,
    /// The calls that are selected.
    pub(super) filter: FilterArgs,
    /// The filter of the calls that were opened last.
    pub(super) shown_filter: FilterArgs,
    /// Whether a JVM was still writing when the trace was opened.
    pub(super) is_recorded: bool,
    pub(in super::super) list: List,
    /// The thread whose calls are shown, or were.
    pub(in super::super) calls: Option<Calls<'a>>,
    /// Whether the list of threads is shown.
    pub(in super::super) is_on_threads: bool,
    pub(in super::super) page: Option<Page>,
    pub(in super::super) prompt: Option<(Prompt, String)>,
    /// What happened last.
    pub(in super::super) message: Option<String>,
    /// The worst of what was found in the threads that were opened.
    pub(in super::super) status: Status,
    pub(super) job: Option<Job>,
    /// Counts the calls of the threads.
    pub(super) counting: Option<Counting>,
    pub(super) wanted: Option<Wanted>,
    /// The call that the last exception ended, and where.
    pub(super) exception: Option<(u64, Position)>,
    pub(in super::super) pane: Pane,
    /// The details that were shown last, and of which row.
    pub(in super::super) details: Option<(Row, Vec<String>)>,
    pub(in super::super) folders: Vec<PathBuf>,
    pub(in super::super) sources: Sources,
    pub(in super::super) areas: Areas,
}

impl<'a> View<'a> {
    pub(in super::super) fn new(opened: &'a Opened, args: &'a ViewArgs, start: Start) -> Self {
        let Opened { source, request } = opened;
        let files = |trace: &'a Trace| trace.files().iter().map(move |file| (trace, file));
        let threads: Vec<_> = source.traces.iter().flat_map(files).collect();
        let folders = source_folders(&args.sources);
        let mut view = Self {
            source,
            request: request.as_ref(),
            filter: args.part.filter.clone(),
            shown_filter: args.part.filter.clone(),
            is_recorded: source.traces.iter().any(|trace| State::of(trace) == State::Recording),
            list: List::default(),
            calls: None,
            is_on_threads: true,
            page: None,
            prompt: None,
            message: None,
            status: Status::Done,
            job: None,
            counting: None,
            wanted: None,
            exception: None,
            pane: start.pane,
            details: None,
            sources: Sources::new(&folders),
            folders,
            areas: Areas::default(),
            threads,
        };
        let request = view.request.map(|(_, title)| &**title);
        view.list = List::of_threads(source, &view.threads, request);
        let files = view.threads.iter().map(|(_, file)| (*file).clone()).collect();
        view.counting = (view.threads.len() > 1).then(|| Counting::begin(files));
        let is_it = |(trace, file): &OfTrace<'_>| {
            start.thread.as_ref().is_some_and(|thread| *thread == ThreadKey::new(trace, file))
        };
        let thread = view.threads.iter().position(is_it);
        let only = (view.threads.len() == 1).then_some(0);
        match thread.or(only) {
            _ if view.request.is_some() && thread.is_none() => view.open_request(),
            Some(thread) => {
                view.list.choose(Target::Thread(thread));
                view.open(thread, start.from);
            }
            None => {}
        }
        view
    }

    /// The first line: what is shown. On a narrow screen, traces have their names alone, without folders.
    pub(in super::super) fn heading(&self) -> String {
        let whole = self.heading_with(|trace| trace.dir().display().to_string());
        let file = |trace: &Trace| trace.dir().file_name().map(|name| name.display().to_string());
        match whole.width() > usize::from(self.areas.heading.width) {
            true => self.heading_with(|trace| file(trace).unwrap_or_default()),
            false => whole,
        }
    }

    fn heading_with(&self, name: impl Fn(&Trace) -> String) -> String {
        let Some(calls) = self.calls.as_ref().filter(|_| !self.is_on_threads) else {
            let names: Vec<_> = self.source.traces.iter().take(1).map(&name).collect();
            let more = match self.source.traces.len() {
                0 | 1 => String::new(),
                traces => format!(" and {}", plural(traces as u64 - 1, "more trace")),
            };
            let threads = plural(self.threads.len() as u64, "thread");
            return format!("{}{more}, {threads}{}", names.concat(), self.state());
        };
        if let Some(title) = &calls.request {
            let parts = plural(calls.forest.parts() as u64, "part");
            return format!("{}, {title}, {parts}{}", name(calls.trace), self.state());
        }
        let Some((_, thread)) = calls.thread() else { return name(calls.trace) };
        let (all, title) = (plural(thread.all, "call"), &thread.title);
        let some =
            if thread.count < thread.all { grouped(thread.count) + " of " } else { String::new() };
        let FilterArgs { include, own, .. } = &self.shown_filter;
        let own = own.then(|| "the application".to_owned());
        let only: Vec<_> = own.into_iter().chain(include.iter().cloned()).collect();
        let of = if only.is_empty() { String::new() } else { format!(" of {}", only.join(", ")) };
        format!("{}, thread {title}, {some}{all}{of}{}", name(calls.trace), self.state())
    }

    /// Whether more may come.
    fn state(&self) -> &'static str {
        if self.is_recorded { ", still recorded (r reads more)" } else { "" }
    }

    /// From now on, the screen has this size.
    pub(in super::super) fn resize(&mut self, screen: Rect) {
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

    /// The list on the screen, if it is one.
    pub(in super::super) fn shown_list(&mut self) -> Option<&mut List> {
        match &mut self.page {
            Some(Page::List(list)) => Some(list),
            Some(Page::Help) => None,
            None if self.is_on_threads => Some(&mut self.list),
            None => None,
        }
    }

    /// Does something with the calls on the screen.
    pub(super) fn with_calls(&mut self, act: impl FnOnce(&mut Calls<'a>) -> Result<(), Error>) {
        if self.is_on_threads || matches!(self.page, Some(Page::Help)) {
            return;
        }
        let outcome = self.calls.as_mut().map_or(Ok(()), act);
        self.report(outcome);
        self.open_missing();
    }

    pub(super) fn report(&mut self, outcome: Result<(), Error>) {
        if let Err(error) = outcome {
            self.message = Some(error.to_string());
        }
    }

    /// Where the next view of the same trace begins.
    pub(in super::super) fn start(&self) -> Start {
        let calls = self.calls.as_ref().filter(|_| !self.is_on_threads);
        let thread = calls.filter(|calls| calls.request.is_none()).and_then(Calls::thread);
        let thread = calls.zip(thread);
        let thread = thread.map(|(calls, (_, thread))| ThreadKey::new(calls.trace, thread.part));
        let from = calls
            .filter(|_| thread.is_some())
            .and_then(Calls::row)
            .map(|row| From::Call(row.number()));
        Start { thread, from, pane: self.pane }
    }
}
