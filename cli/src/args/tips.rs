//! Tips after the errors of the parser: where an option exists that was used with the wrong verb.

use std::ffi::OsStr;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Error};

use super::Args;

/// Options that are less similar, from 0 to 1, are not proposed.
const LEAST_SIMILARITY: f64 = 0.85;

/// Replaces the tip to pass an unknown option as a value, which is never meant.
pub(super) fn with_tips(mut error: Error) -> Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    error.remove(ContextKind::Suggested);
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let (command, option) = (Args::command(), option.trim_start_matches('-').to_owned());
    let Some(tip) = tip(&command, &option) else { return error };
    // What another verb has by this very name is meant, not what is similar here.
    let mut options = command.get_subcommands().flat_map(Command::get_arguments);
    if options.any(|argument| argument.get_long() == Some(&option)) {
        error.remove(ContextKind::SuggestedArg);
    }
    if error.get(ContextKind::SuggestedArg).is_none() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    error
}

/// The verbs that have an option, or the one that is most similar.
fn tip(command: &Command, option: &str) -> Option<String> {
    let names = || command.get_subcommands().flat_map(|verb| verb.get_arguments());
    let similarity = |name: &str| strsim::jaro_winkler(name, option);
    let nearest = names()
        .filter_map(|argument| argument.get_long())
        .max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    if similarity(nearest) < LEAST_SIMILARITY {
        return None;
    }
    let has = |verb: &&Command| {
        verb.get_arguments()
            .any(|argument| argument.get_long().map(OsStr::new) == Some(nearest.as_ref()))
    };
    let verbs: Vec<_> = command.get_subcommands().filter(has).map(Command::get_name).collect();
    Some(match &verbs[..] {
        [verb] => format!("{verb} has --{nearest}"),
        [first @ .., last] => format!("{} and {last} have --{nearest}", first.join(", ")),
        [] => return None,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn an_option_of_another_verb_is_found_there() {
        for (line, tip) in [
            (&["flow", "report", "--method", "x"][..], "tip: replay and graph have --method\n"),
            (&["flow", "report", "--all"], "tip: record and attach have --all\n"),
            (&["flow", "report", "--dept", "3"], "have --depth\n"),
            (&["flow", "info", "--html", "x"], "tip: report and diff have --html\n"),
            (&["flow", "report", "--verbos"], "similar argument exists: '--verbose'\n"),
            (&["flow", "report", "--quux"], "unexpected argument '--quux' found\n\nUsage"),
        ] {
            let error = with_tips(Args::try_parse_from(line).unwrap_err()).to_string();
            assert!(error.contains(tip), "{line:?}: {error}");
            assert!(!error.contains("as a value"), "{error}");
        }
    }
}
