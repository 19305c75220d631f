//! `flow calls --around`: the callers, callees and neighbours of a call.

use std::io::Write;

use flow_query::ask::{Around, CallRun, Surroundings};
use flow_query::rows::{AroundRow, RowNames};
use flow_query::select::file_title;

use crate::args::{AroundArgs, Format};
use crate::cmd::line_limit;
use crate::cmd::replay::overview::{line, overview_row};
use crate::failure::{Failure, Status};
use crate::input::place::From;
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::output::{Labels, Out, Progress};

/// Neighbours on each side that text shows by default, and callees.
const DEFAULT_MAX: u64 = 10;

pub(super) fn run(mut args: AroundArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut call = Some(args.call);
    From::choose_thread(&mut call, &mut args.part.threads);
    let Some(From::Call(number)) = call else {
        let text = "--around takes a call, THREAD:N, as flow calls shows it";
        return Err(Failure::Usage(text.to_owned()));
    };
    let mut source = Source::open(&args.source)?;
    source.choose_part(&args.part)?;
    source.expect_calls()?;
    let threads =
        source.traces.iter().flat_map(|trace| trace.files().iter().map(move |file| (trace, file)));
    let threads: Vec<_> = threads.collect();
    let [(trace, file)] = threads[..] else {
        return Err(Failure::Usage(format!(
            "--around {number} is a call of one thread, and there are {}: write THREAD:{number}, with its id, or choose one \
             trace, thread or test",
            threads.len()
        )));
    };
    let most = line_limit(args.max, args.source.format, DEFAULT_MAX);
    let mut answer = Answer::new::<AroundRow<'_>>(&source, args.source.format, most, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let selection = args.part.filter.selection(trace);
    let around = Around { call: number, most }.of_thread(file, &selection, &mut progress)?;
    drop(progress);
    let Some(found) = around else {
        return Err(Failure::Failed(format!(
            "thread {} has no call {number} that is selected",
            file_title(trace, file)
        )));
    };
    answer.begin(trace, out)?;
    let places = places(&found);
    if !answer.is_text() {
        let mut names = RowNames::new(trace.methods());
        let rows =
            places.iter().flat_map(|(place, _, runs)| runs.iter().map(move |run| (*place, run)));
        let rows: Vec<_> = rows
            .map(|(place, run)| AroundRow { place, run: overview_row(run, file, &mut names) })
            .collect();
        answer.rows(rows, out)?;
        return Ok(source.status);
    }
    let labels = Labels::new(trace.methods(), Format::Text, args.verbose);
    out.heading(&format!("call {}:{number} of thread {}", file.id(), file_title(trace, file)))?;
    for (_, title, runs) in places.iter().filter(|(.., runs)| !runs.is_empty()) {
        out.heading(title)?;
        for run in *runs {
            let mut text = line(run, 1, file, &labels);
            if run.left_out == 0 {
                text += &format!("  [{}:{}]", file.id(), run.number);
            }
            writeln!(out, "{text}")?;
        }
    }
    Ok(source.status)
}

/// The calls by their place: its word, its title in text, and the calls.
fn places(found: &Surroundings) -> [(&'static str, &'static str, &[CallRun]); 7] {
    let Surroundings { callers, before, call, callees, after, previous, next, .. } = found;
    [
        ("caller", "callers, the outermost first", callers),
        ("before", "before it, of the same caller", before),
        ("call", "the call", std::slice::from_ref(call)),
        ("callee", "what it called", callees),
        ("after", "after it, of the same caller", after),
        ("previous", "the call of this method before", previous.as_slice()),
        ("next", "the next call of this method", next.as_slice()),
    ]
}
