//! `flow replay --follow --merged`: the calls of all threads in one order of time, while they are recorded.

use std::collections::BTreeMap;
use std::path::PathBuf;

use flow_codec::Error;

use super::lines::Printed;
use super::merged::{MergedReplay, Replayed, Shared};
use super::read::Selections;
use super::start::no_such_place;
use crate::args::ReplayArgs;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::growing::{Follow, Pass};
use crate::output::{Out, Progress};

/// Shows the calls of all threads of each trace in one order.
#[derive(Debug)]
pub(super) struct FollowMerged<'a> {
    args: &'a ReplayArgs,
    printed: Printed,
    traces: BTreeMap<PathBuf, MergedReplay>,
    selections: Selections,
    status: Status,
    is_found: bool,
    /// Whether a limit has been reached, or everything was shown.
    is_over: bool,
}

impl<'a> FollowMerged<'a> {
    pub(super) fn new(args: &'a ReplayArgs) -> Self {
        Self {
            args,
            printed: Printed::new(args),
            traces: BTreeMap::new(),
            selections: Selections::default(),
            status: Status::Done,
            is_found: false,
            is_over: false,
        }
    }
}

impl Follow for FollowMerged<'_> {
    fn pass(
        &mut self,
        source: &mut Source,
        is_growing: bool,
        out: &mut Out,
    ) -> Result<Pass, Failure> {
        let args = self.args;
        args.part.filter.filter().expect_own(&source.traces)?;
        let mut pass = Pass::Nothing;
        let mut progress = Progress::without_results(0);
        for trace in &source.traces {
            let selections = self.selections.of(args, trace)?;
            let name = source.name(trace.dir());
            let place = if source.several { format!("trace {name}, ") } else { String::new() };
            let replayed =
                Replayed { trace, name: &name, place: &place, selections, samples: None };
            let (printed, progress) = (&mut self.printed, &mut progress);
            let shared = Shared { args, printed, progress, out };
            let replay = self.traces.entry(trace.dir().to_path_buf());
            let replay = replay.or_insert_with(|| MergedReplay::new(args));
            let done = replay.pass(shared, replayed, is_growing)?;
            self.status = self.status.and(done.status);
            self.is_found |= done.is_found;
            if done.is_full {
                self.is_over = true;
                return Ok(Pass::Enough);
            }
            if done.is_any {
                pass = Pass::Events;
            }
        }
        self.is_over = !is_growing;
        Ok(pass)
    }

    fn end(
        &mut self,
        source: &mut Source,
        unreadable: &[(PathBuf, Error)],
        out: &mut Out,
    ) -> Result<Status, Failure> {
        let status = source.report_damage(unreadable);
        source.expect_calls()?;
        if !self.is_over {
            // Ctrl-C, while events wait for those of other threads.
            self.pass(source, false, out)?;
        }
        self.printed.report_left_out(self.args, out)?;
        let status = status.and(self.status);
        match self.args.from.as_ref().filter(|_| !self.is_found && status == Status::Done) {
            Some(from) => Err(no_such_place(from)),
            None => Ok(status),
        }
    }
}
