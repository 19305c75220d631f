//! Goes to calls: to positions, to what is searched for, and to exceptions; and lists from which one is chosen.

use flow_codec::format::marks::Position;
use flow_query::select::own_patterns;
use flow_query::tree::Direction;

use super::super::list::List;
use super::super::neighbours::Neighbours;
use super::super::opening::Then;
use super::super::search::{Found, Searching, find_exception};
use super::state::{Job, Page, View};
use crate::input::place::From;
use crate::output::grouped;

impl View<'_> {
    /// Goes to a position of the thread that is shown.
    pub(super) fn go_to(&mut self, position: Option<&From>) {
        let (Some(position), Some(calls)) = (position, &mut self.calls) else { return };
        if let From::Path(_) = position {
            self.message = Some("to go to a method, search for it with /".to_owned());
            return;
        }
        match calls.go_to_position(position) {
            Ok(true) => {
                let found = calls.row().map(|row| row.number());
                if let From::Call(number) = position
                    && found != Some(*number)
                {
                    let number = grouped(*number);
                    self.message =
                        Some(format!("call {number} is not selected; the nearest one that is"));
                }
            }
            Ok(false) => self.message = Some(format!("this thread has no {position}")),
            Err(error) => self.message = Some(error.to_string()),
        }
    }

    /// Searches for the next call of what was searched for last, or the one before.
    pub(super) fn search(&mut self, direction: Direction) {
        let (Some(calls), Some(_)) = (&self.calls, &self.wanted) else {
            self.message = Some("search for a method with / first".to_owned());
            return;
        };
        let Some((thread, _)) = calls.thread() else { return };
        let Some(number) = calls.row().map(|row| row.number()) else { return };
        let number = match direction {
            Direction::Forwards => number.saturating_add(1),
            Direction::Backwards => number,
        };
        self.search_in(Searching { thread, number, direction });
    }

    /// Searches a thread, which is opened if it is not.
    pub(super) fn search_in(&mut self, searching: Searching) {
        let (Some(calls), Some(wanted)) = (&mut self.calls, &mut self.wanted) else { return };
        let Some(tree) = calls.forest.tree(searching.thread) else {
            return self.begin_to_open(searching.thread, Then::Search(searching));
        };
        match wanted.find(&mut tree.selected, searching) {
            Ok(Some(found)) => self.found(found, searching),
            Ok(None) => self.job = Some(Job::Search(searching)),
            Err(error) => self.message = Some(error.to_string()),
        }
    }

    pub(super) fn found(&mut self, found: Found, Searching { thread, direction, .. }: Searching) {
        let (Some(calls), Some(wanted)) = (&mut self.calls, &self.wanted) else { return };
        if let Found::Nothing = found
            && let Some(next) = calls.forest.thread_beside(thread, direction)
        {
            return self.search_in(Searching::all(next, direction));
        }
        let what = match wanted.count {
            1 => wanted.text.clone(),
            count => format!("{} methods like {}", grouped(count as u64), wanted.text),
        };
        let node = match found {
            Found::Nothing => {
                let way = way(direction);
                let here = match direction {
                    _ if calls.request.is_none() => "",
                    Direction::Forwards => ", in this thread or a later one",
                    Direction::Backwards => ", in this thread or an earlier one",
                };
                self.message = Some(format!("no call of {what} {way} this one{here}"));
                return;
            }
            Found::Call(node) => node,
            Found::CallOf(node, rank, all) => {
                let (rank, all) = (grouped(rank), grouped(all));
                let here = if calls.request.is_some() { " in this thread" } else { "" };
                self.message = Some(format!("{rank} of {all} calls of {what}{here}"));
                node
            }
        };
        let outcome = calls.go_to(thread, &node);
        self.report(outcome);
        self.open_missing();
    }

    pub(super) fn go_to_exception(&mut self, direction: Direction) {
        let Some(calls) = &mut self.calls else { return };
        let Some(row) = calls.row() else { return };
        let last = self.exception.filter(|(number, _)| *number == row.number());
        let from = last.map_or(Position::before(row.node.place.offset), |(_, at)| at);
        let Some((tree, thread)) = calls.here() else { return };
        match find_exception(&thread.file, &mut tree.selected, from, direction) {
            Ok(Some((at, node))) => {
                self.exception = Some((node.place.enters, at));
                let outcome = calls.go_to_here(&node);
                self.report(outcome);
            }
            Ok(None) => {
                let way = way(direction);
                let here = if calls.request.is_some() { " in this thread" } else { "" };
                let none = format!("no call was left by an exception {way} this one{here}");
                self.message = Some(none);
            }
            Err(error) => self.message = Some(error.to_string()),
        }
    }

    /// Unfolds the longest callees, one below the other, to where the time of the chosen call was spent.
    pub(super) fn show_hot_path(&mut self) {
        let Some(calls) = &mut self.calls else { return };
        match calls.go_to_hot() {
            Ok(end) => self.message = end.map(str::to_owned),
            Err(error) => self.message = Some(error.to_string()),
        }
    }

    /// Shows only calls of the application, or all again.
    pub(super) fn toggle_own(&mut self) {
        let Some(calls) = &self.calls else { return };
        if own_patterns(calls.trace).is_empty() {
            let message = "the trace does not name the application's packages: use f to name them";
            self.message = Some(message.to_owned());
            return;
        }
        self.filter.own ^= true;
        self.open_again();
    }

    pub(super) fn show_neighbours(&mut self) {
        let Some(calls) = &mut self.calls else { return };
        let Some(row) = calls.row() else { return };
        let Some((tree, thread)) = calls.here() else { return };
        match Neighbours::new(row.method(), thread.part, &mut tree.selected) {
            Ok(neighbours) => self.job = Some(Job::Neighbours(Box::new(neighbours))),
            Err(error) => self.message = Some(error.to_string()),
        }
        self.step();
    }

    pub(super) fn show_tests(&mut self) {
        let (list, damage) = List::of_tests(self.source);
        self.message = damage.map(|error| error.to_string());
        match list.rows.is_empty() {
            true => self.message = Some("no tests are marked in this trace".to_owned()),
            false => self.page = Some(Page::List(list)),
        }
    }
}

fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Forwards => "after",
        Direction::Backwards => "before",
    }
}
