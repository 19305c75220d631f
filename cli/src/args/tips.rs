//! Tips after the errors of the parser: where an option exists that was used with the wrong verb, and what replaces a verb or
//! flag that is gone.

use std::ffi::{OsStr, OsString};

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};

use super::moved;
use crate::output::{flow_command, shell_quoted};

/// Options that are less similar, from 0 to 1, are not proposed.
const LEAST_SIMILARITY: f64 = 0.85;

/// Names the new form of a verb or flag that is gone, and replaces the tip to pass an unknown option as a value, which is
/// never meant. `command` is all of flow, `words` the command line.
pub(super) fn with_tips(mut error: Error, command: &Command, words: &[OsString]) -> Error {
    if let Some(moved) = moved(&error, command, words) {
        return moved;
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    error.remove(ContextKind::Suggested);
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    if let Some(tip) = value_apart(command, words) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
        return error;
    }
    let option = option.trim_start_matches('-').to_owned();
    let Some(tip) = tip(command, &option) else { return error };
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

/// The error that names the new form of a verb or flag, if flow once had it.
fn moved(error: &Error, command: &Command, words: &[OsString]) -> Option<Error> {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (old, new) = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let old = context(ContextKind::InvalidSubcommand)?;
            let at = words.iter().position(|word| word == old)?;
            (old.to_owned(), moved::verb(old, words.get(at + 1..)?)?)
        }
        ErrorKind::UnknownArgument => {
            let flag = context(ContextKind::InvalidArg)?;
            let is_verb = |word: &String| command.find_subcommand(word).is_some();
            let at = words.iter().position(is_verb)?;
            let verb = words.get(at)?;
            (format!("{verb} {flag}"), moved::flag(verb, flag, words.get(at + 1..)?)?)
        }
        ErrorKind::InvalidValue => {
            let flag = context(ContextKind::InvalidArg)?.split(' ').next()?;
            let value = context(ContextKind::InvalidValue)?;
            let new = moved::value(flag, value)?;
            let text = format!("there is no `{flag} {value}` any more; use `{flag} {new}`\n");
            return Some(Error::raw(error.kind(), text));
        }
        _ => return None,
    };
    let (old, new) = (flow_command(&old), flow_command(&new));
    let text = format!("there is no `{old}` any more; use `{new}`\n");
    Some(Error::raw(error.kind(), text))
}

/// What to type for an option whose value can be left out, if a word follows it that may have been meant as the value.
fn value_apart(command: &Command, words: &[OsString]) -> Option<String> {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let verb = words.iter().find_map(|word| command.find_subcommand(&**word))?;
    words.windows(2).find_map(|pair| {
        let [option, value] = pair else { return None };
        let option = option.strip_prefix("--")?;
        let is_it = |argument: &&Arg| {
            argument.get_long() == Some(option) && argument.is_require_equals_set()
        };
        verb.get_arguments().find(is_it).filter(|_| !value.starts_with('-'))?;
        Some(format!(
            "if '{value}' is the value of --{option}, write --{option}={}",
            shell_quoted(value)
        ))
    })
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
    use clap::{CommandFactory, Parser};

    use super::super::Args;
    use super::*;

    #[test]
    fn an_option_of_another_verb_is_found_there() {
        for (line, tip) in [
            (&["flow", "tests", "--method", "x"][..], "tip: replay and report have --method\n"),
            (&["flow", "report", "--all"], "tip: record, attach and info have --all\n"),
            (&["flow", "tests", "--dept", "3"], "have --depth\n"),
            (&["flow", "info", "--html", "x"], "tip: report and diff have --html\n"),
            (&["flow", "report", "--verbos"], "similar argument exists: '--verbose'\n"),
            (&["flow", "report", "--quux"], "unexpected argument '--quux' found\n\nUsage"),
        ] {
            let error = Args::try_parse_from(line).unwrap_err();
            let error = with_tips(error, &Args::command(), &[]).to_string();
            assert!(error.contains(tip), "{line:?}: {error}");
            assert!(!error.contains("as a value"), "{error}");
        }
    }

    #[test]
    fn a_value_that_must_follow_an_equals_sign_is_recognised() {
        let line = ["flow", "tests", "--lock", "a.lock", "trace"];
        let words: Vec<_> = line.iter().map(OsString::from).collect();
        let error = Args::try_parse_from(line).unwrap_err();
        let error = with_tips(error, &Args::command(), &words).to_string();
        let tip = "tip: if 'a.lock' is the value of --lock, write --lock=a.lock\n";
        assert!(error.contains("'trace' found") && error.contains(tip), "{error}");
    }

    #[test]
    fn what_is_gone_has_a_new_form() {
        for (line, message) in [
            ("flow graph t", "there is no `flow graph` any more; use `flow report --tree t`"),
            (
                "flow --color never dump t",
                "there is no `flow dump` any more; use `flow check --records t`",
            ),
            (
                "flow report --slowest 20 t",
                "there is no `flow report --slowest` any more; use `flow calls --slowest 20 t`",
            ),
            (
                "flow report --wall t",
                "there is no `flow report --wall` any more; use `flow report --by wall t`",
            ),
            ("flow top --once --json", "use `flow top --once --format json`"),
            ("flow listen unix:x --jsonl", "use `flow listen unix:x --report calls --format json`"),
            ("flow report --by time", "there is no `--by time` any more; use `--by wall`"),
            ("flow calls A#m --outcome unwound", "use `--outcome exception`"),
            ("flow record --natives -- java A", "use `flow record -O natives=true -- java A`"),
            ("flow attach 1 --chunk=8k", "use `flow attach 1 -O chunk=8k`"),
        ] {
            let words: Vec<_> = line.split(' ').map(OsString::from).collect();
            let error = Args::try_parse_from(&words).unwrap_err();
            let error = with_tips(error, &Args::command(), &words);
            assert_eq!(error.exit_code(), 2);
            let error = error.to_string().replace(flow_command("").trim_end(), "flow");
            assert!(error.starts_with("error: ") && error.contains(message), "{line}: {error}");
            assert!(error.ends_with("`\n"), "{error}");
        }
    }
}
