//! Work that takes longer than a person should wait for a key: a few milliseconds of it at a time.

use std::collections::HashMap;
use std::sync::mpsc::TryRecvError;
use std::time::Duration;

use flow_codec::{Error, Offset};
use flow_query::tree::SelectedTree;

use super::super::calls::Calls;
use super::super::forest::Forest;
use super::super::opening::{Opening, Then};
use super::state::{Job, Page, View};
use crate::failure::Status;
use crate::input::place::From;
use crate::output::{flow_command, grouped, percent, plural};

/// If the thread that opens a thread has panicked.
const NOT_OPENED: &str = "the thread cannot be opened";

impl View<'_> {
    /// What is being done, and how far it is.
    pub(in super::super) fn progress(&self) -> Option<String> {
        let part = |done: u64, all: u64| percent(done, all).trim().to_owned();
        let what = match self.job.as_ref()? {
            Job::Open(opening) => {
                let (_, file) = self.threads.get(opening.thread)?;
                let read = opening.read.get();
                format!("reading the thread, {}", part(read, file.bytes()))
            }
            Job::Search(searching) => {
                let all = self.calls.as_ref()?.thread()?.1.all;
                let (now, all) = (grouped(searching.number), grouped(all));
                format!(
                    "searching: call {now} of {all}; {} makes this fast",
                    flow_command("check --index")
                )
            }
            Job::Neighbours(neighbours) => {
                let all = self.calls.as_ref()?.thread()?.1.file.bytes();
                let read = neighbours.position().map_or(all, Offset::get);
                let index = flow_command("check --index");
                format!("adding up calls: {}; {index} makes this fast", part(read, all))
            }
        };
        Some(format!("{what} (Esc ends it)"))
    }

    /// For how long there is nothing to do without an input.
    pub(in super::super) fn patience(&self) -> Duration {
        match self.job {
            None if self.counting.is_some() => Duration::from_millis(100),
            None => Duration::from_secs(3600),
            Some(Job::Open(_)) => Duration::from_millis(50),
            Some(_) => Duration::ZERO,
        }
    }

    /// Continues what is being done.
    pub(in super::super) fn step(&mut self) {
        self.receive_counts();
        match self.job.take() {
            None => {}
            Some(Job::Open(opening)) => match opening.tree.try_recv() {
                Ok(tree) => self.opened(opening.thread, tree, &opening.then),
                Err(TryRecvError::Empty) => self.job = Some(Job::Open(opening)),
                Err(TryRecvError::Disconnected) => {
                    self.message = Some(NOT_OPENED.to_owned());
                }
            },
            Some(Job::Search(mut searching)) => {
                let (Some(calls), Some(wanted)) = (&mut self.calls, &self.wanted) else { return };
                let Some(tree) = calls.forest.tree(searching.thread) else { return };
                match wanted.step(&mut tree.selected, &mut searching) {
                    Ok(None) => self.job = Some(Job::Search(searching)),
                    Ok(Some(found)) => self.found(found, searching),
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

    /// Shows how many calls threads made, as far as they were counted.
    fn receive_counts(&mut self) {
        let Some(counting) = &self.counting else { return };
        let mut counts = HashMap::new();
        loop {
            match counting.counts.try_recv() {
                Ok((thread, calls)) => drop(counts.insert(thread, calls)),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.counting = None;
                    break;
                }
            }
        }
        if !counts.is_empty() {
            self.list.add_calls(&counts);
        }
    }

    /// Does all that is being done.
    pub(in super::super) fn finish(&mut self) {
        if let Some(counting) = self.counting.take() {
            self.list.add_calls(&counting.counts.iter().collect());
        }
        while let Some(job) = self.job.take() {
            match job {
                Job::Open(opening) => match opening.tree.recv() {
                    Ok(tree) => self.opened(opening.thread, tree, &opening.then),
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
    pub(super) fn open(&mut self, thread: usize, then: Option<From>) {
        let Some((_, file)) = self.threads.get(thread) else { return };
        let is_open = |calls: &Calls<'_>| {
            let of = calls.thread().filter(|_| calls.request.is_none());
            of.is_some_and(|(_, of)| std::ptr::eq(of.part, *file))
        };
        if self.calls.as_ref().is_some_and(is_open) {
            self.is_on_threads = false;
            self.go_to(then.as_ref());
            return;
        }
        self.begin_to_open(thread, Then::Show(then));
    }

    /// Shows the request as one tree.
    pub(super) fn open_request(&mut self) {
        let Some((request, title)) = self.request else { return };
        let Some((trace, _)) = self.threads.first() else { return };
        let place_of = |id| self.threads.iter().position(|(_, file)| file.id() == id);
        let forest = Forest::of_request(request, place_of);
        self.shown_filter = self.filter.clone();
        self.calls = Some(Calls::of_request(trace, forest, title.clone(), self.areas.rows()));
        (self.is_on_threads, self.exception, self.details) = (false, None, None);
        self.open_missing();
    }

    /// Opens a thread of the request that has rows to be shown, if one is not open.
    pub(super) fn open_missing(&mut self) {
        if self.job.is_some() {
            return;
        }
        let Some(thread) = self.calls.as_ref().and_then(Calls::missing) else { return };
        self.begin_to_open(thread, Then::Add);
    }

    /// Opens a thread in the background.
    pub(super) fn begin_to_open(&mut self, thread: usize, then: Then) {
        let Some((trace, file)) = self.threads.get(thread) else { return };
        let selection = self.filter.selection(trace);
        self.job = Some(Job::Open(Opening::begin(thread, file, selection, then)));
    }

    /// Opens the thread that is shown once more, with the methods that are selected now.
    pub(super) fn open_again(&mut self) {
        let Some(calls) = self.calls.as_ref().filter(|_| !self.is_on_threads) else { return };
        if calls.request.is_some() {
            return self.open_request();
        }
        let Some((thread, _)) = calls.thread() else { return };
        let then = Then::Show(calls.row().map(|row| From::Call(row.number())));
        self.begin_to_open(thread, then);
    }

    fn opened(&mut self, thread: usize, tree: Result<SelectedTree, Error>, then: &Then) {
        let Some((trace, file)) = self.threads.get(thread) else { return };
        let opened = tree.and_then(|mut tree| {
            let damaged = tree.whole().index().map_or(0, |index| index.damage().places().len());
            match (then, &mut self.calls) {
                (Then::Show(_), _) => {
                    let height = self.areas.rows();
                    let calls = Calls::of_thread(trace, (thread, file), tree, height)?;
                    Ok((Some(calls), damaged))
                }
                (Then::Add | Then::Search(_), Some(calls)) if calls.request.is_some() => {
                    calls.add((thread, file), tree).map(|()| (None, damaged))
                }
                (Then::Add | Then::Search(_), _) => Ok((None, 0)),
            }
        });
        let damaged = match opened {
            Ok((Some(calls), damaged)) => {
                if let Some(nothing) = self.nothing_in(&calls) {
                    self.message = Some(nothing.to_owned());
                    self.filter = self.shown_filter.clone();
                    return;
                }
                self.shown_filter = self.filter.clone();
                self.calls = Some(calls);
                (self.is_on_threads, self.exception, self.details) = (false, None, None);
                damaged
            }
            Ok((None, damaged)) => damaged,
            Err(error) => {
                self.status = Status::Damaged;
                self.message = Some(error.to_string());
                return;
            }
        };
        if let Some(wanted) = &mut self.wanted {
            wanted.forget_thread();
        }
        if damaged > 0 {
            self.status = Status::Damaged;
            let places = plural(damaged as u64, "place");
            self.message = Some(format!(
                "{places} of this thread cannot be read: {} shows more",
                flow_command("check")
            ));
        }
        match then {
            Then::Show(then) => self.go_to(then.as_ref()),
            Then::Add => self.open_missing(),
            Then::Search(searching) => self.search_in(*searching),
        }
    }

    /// Why there are no calls of a thread to be shown, if so.
    fn nothing_in(&self, calls: &Calls<'_>) -> Option<&'static str> {
        let (_, thread) = calls.thread()?;
        (thread.count == 0).then(|| match (thread.all, thread.part.parts()) {
            (0, _) => "this thread has no calls",
            (_, Some(_)) if self.filter.is_all() => "this test called nothing here",
            _ => "no call of this thread is one of the selected methods",
        })
    }
}
