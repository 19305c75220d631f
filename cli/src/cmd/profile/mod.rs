//! `flow profile`: where time goes, from samples or from calls.

mod print;
mod rows;

use flow_codec::Glob;
use flow_query::analysis::Run;
use flow_query::profile::{Profile, ProfileFrame};

use crate::args::{ProfileArgs, ProfileBy};
use crate::failure::{Failure, Status};
use crate::input::pattern::unmatched;
use crate::input::profile::{Added, Input, Origin};
use crate::input::sources;
use crate::output::Out;
use print::Print;

pub(crate) fn run(args: &ProfileArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut profile = Profile::new(args.frame_grouping(), args.thread_grouping());
    let mut status = Status::Done;
    let mut added = Vec::new();
    let runs = [(Run::Before, Some(&args.before)), (Run::After, args.after.as_ref())];
    for (run, path) in runs {
        let Some(path) = path else { continue };
        let input = Input {
            path,
            part: &args.part,
            gaps: args.gap_rule(),
            only_calls: args.calls,
            only_counts: args.by == Some(ProfileBy::Count),
        };
        let of_run = input.add_to(&mut profile, run, out)?;
        status = status.and(of_run.status);
        added.push(of_run);
    }
    let is_sampled = |added: &Added| matches!(added.origin, Origin::Samples { .. });
    if added.iter().any(is_sampled) && !added.iter().all(is_sampled) {
        return Err(Failure::Usage("samples and calls cannot be compared".to_owned()));
    }
    let view = viewed(profile, args)?;
    sources::link(view.methods(), &[], out);
    Print { args, profile: &view, added: &added }.all(out)?;
    Ok(status)
}

/// The requested view of a profile.
fn viewed(profile: Profile, args: &ProfileArgs) -> Result<Profile, Failure> {
    let globs: Vec<_> =
        args.callers.iter().chain(&args.callees).map(|pattern| Glob::new(pattern)).collect();
    let methods = profile.methods().clone();
    let matches = |glob: &Glob, frame: &ProfileFrame| {
        let method = methods.get(frame.method);
        method.is_some_and(|method| glob.matches_name((&method.info).into()))
    };
    for glob in &globs {
        let mut all = methods.iter();
        if !all.any(|(_, method)| glob.matches_name((&method.info).into())) {
            return Err(unmatched(glob, std::iter::once(&methods)));
        }
    }
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
