//! What agents report to `flow record` outside of traces.

use std::fs;
use std::path::PathBuf;

use flow_codec::format::manifest::Unmatched;
use flow_options::{NOTICES, Notice};

use super::defaults::Defaults;
use crate::failure::Failure;

/// The file, which exists as long as the command runs.
#[derive(Debug)]
pub(super) struct NoticesFile(PathBuf);

/// What agents reported.
#[derive(Default, Debug)]
pub(super) struct Notices {
    /// Why JVMs were not recorded, each reason once.
    pub(super) refused: Vec<String>,
    /// Directories in which the earlier trace replaced one without calls.
    pub(super) without_calls: Vec<String>,
    /// The patterns that matched nothing, of each such recording.
    pub(super) unmatched: Vec<Vec<Unmatched>>,
}

impl NoticesFile {
    /// Creates the file and adds the variable.
    pub(super) fn create(defaults: &mut Defaults) -> Result<Self, Failure> {
        let path = defaults.keep("notices", "")?;
        defaults.variables.push((NOTICES, path.clone().into()));
        Ok(Self(path))
    }

    /// Reads what is in it.
    pub(super) fn read(&self) -> Notices {
        let mut notices = Notices::default();
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        for (notice, text) in text.lines().filter_map(Notice::parse) {
            let list = match notice {
                Notice::Refused => &mut notices.refused,
                Notice::NoCalls => &mut notices.without_calls,
                Notice::Unmatched => {
                    notices.unmatched.extend(serde_json::from_str(text).ok());
                    continue;
                }
            };
            if !list.iter().any(|known| known == text) {
                list.push(text.to_owned());
            }
        }
        notices
    }
}
