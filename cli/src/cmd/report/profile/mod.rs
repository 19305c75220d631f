//! `flow report` and `flow diff` of samples, or of calls in rows like these.

mod print;
mod rows;

use flow_codec::Glob;
use flow_query::analysis::Run;
use flow_query::profile::{Profile, ProfileFrame};

use crate::args::{Counted, ProfileArgs};
use crate::failure::{Failure, Status};
use crate::input::pattern::methods_of;
use crate::input::profile::{Input, Takes};
use crate::input::source::Source;
use crate::input::sources;
use crate::output::Out;
use print::Print;

/// Shows rows of one source or two, of which those that are opened already are passed.
pub(crate) fn run(
    args: &ProfileArgs,
    opened: [Option<Source>; 2],
    out: &mut Out,
) -> Result<Status, Failure> {
    let mut profile = Profile::new(args.frame_grouping(), args.thread_grouping());
    let mut status = Status::Done;
    let mut added = Vec::new();
    let runs = [(Run::Before, Some(&args.before)), (Run::After, args.after.as_ref())];
    for ((run, path), opened) in runs.into_iter().zip(opened) {
        let Some(path) = path else { continue };
        let input = Input {
            path,
            part: &args.part,
            gaps: args.gap_rule(),
            takes: match args.counted {
                Counted::Samples => Takes::Samples,
                Counted::Calls => Takes::Calls,
            },
            by: args.weight,
        };
        let of_run = input.add_to(&mut profile, run, opened, out)?;
        status = status.and(of_run.status);
        added.push(of_run);
    }
    let view = viewed(profile, args)?;
    sources::link(view.methods(), &[], out);
    Print { args, profile: &view, added: &added }.all(out)?;
    Ok(status)
}

/// The requested view of a profile.
fn viewed(profile: Profile, args: &ProfileArgs) -> Result<Profile, Failure> {
    let methods = profile.methods().clone();
    let patterns = args.callers.iter().chain(&args.callees);
    let globs: Vec<_> = patterns
        .map(|pattern| methods_of(pattern, || std::iter::once(&methods)))
        .collect::<Result<_, _>>()?;
    let matches = |glob: &Glob, frame: &ProfileFrame| {
        let method = methods.get(frame.method);
        method.is_some_and(|method| glob.matches_name((&method.info).into()))
    };
    let is_chosen = |frame: &ProfileFrame| globs.iter().any(|glob| matches(glob, frame));
    Ok(if !args.callers.is_empty() {
        profile.callers(is_chosen)
    } else if !args.callees.is_empty() {
        profile.callees(is_chosen)
    } else if args.tree {
        profile
    } else {
        profile.flat()
    })
}
