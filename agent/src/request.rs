//! Requests to the agent in a running JVM.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use flow_options::split;

/// A request to the agent in a running JVM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// To record.
    Record {
        /// The agent's option string.
        options: String,
    },
    /// To end the recording.
    Detach,
    /// To take a snapshot with this name.
    Snapshot {
        /// Its name.
        name: String,
    },
}

/// A request, and where the agent reports why it refuses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// What is requested.
    pub action: Action,
    answer: Option<PathBuf>,
}

impl Request {
    /// Reads an option string that may have the items `detach`, `snapshot=NAME` and `answer=FILE` in addition to
    /// options.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (mut special, mut answer, mut options) = (None, None, Vec::new());
        for item in split(text) {
            match item.trim().split_once('=') {
                None if item.trim() == "detach" => special = Some(Action::Detach),
                Some(("snapshot", name)) => {
                    special = Some(Action::Snapshot { name: name.to_owned() });
                }
                Some(("answer", file)) => answer = Some(file.into()),
                _ => options.push(item.replace(',', r"\,")),
            }
        }
        let action = special.unwrap_or_else(|| Action::Record { options: options.join(",") });
        Self { action, answer }
    }

    /// Reports the reason of a refusal: in the file that the request named, which must exist, or else on
    /// stderr.
    pub fn refuse(&self, refusal: &str) {
        let refusal = crate::logging::one_line(refusal);
        if !self.answer(&refusal) {
            let _ = writeln!(io::stderr(), "{} {refusal}", crate::logging::PREFIX);
        }
    }

    /// Writes an answer into the file that the request named. Returns whether there is one.
    pub fn answer(&self, text: &str) -> bool {
        self.answer.as_ref().is_some_and(|file| {
            let file = fs::OpenOptions::new().write(true).truncate(true).open(file);
            file.is_ok_and(|mut file| writeln!(file, "{text}").is_ok())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_may_be_to_detach_and_name_a_place_for_the_answer() {
        let request = Request::parse(r"out=/tmp/a\,b,answer=/tmp/x\,y,chunk=1k");
        assert_eq!(
            request.action,
            Action::Record { options: r"out=/tmp/a\,b,chunk=1k".to_owned() }
        );
        assert_eq!(request.answer, Some("/tmp/x,y".into()));
        assert_eq!(Request::parse("detach").action, Action::Detach);
        let name = "before login".to_owned();
        let action = Action::Snapshot { name };
        assert_eq!(Request::parse("snapshot=before login,answer=/tmp/x").action, action);
        assert_eq!(Request::parse("").action, Action::Record { options: String::new() });
    }
}
