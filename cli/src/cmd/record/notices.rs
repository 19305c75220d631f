//! What agents report to `flow record` outside of traces: `FLOW_NOTICES` names a file to which each appends lines.

use std::fs;
use std::path::PathBuf;

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
}

impl NoticesFile {
    /// Creates the file and adds the variable.
    pub(super) fn create(defaults: &mut Defaults) -> Result<Self, Failure> {
        let path = defaults.keep("notices", "")?;
        defaults.variables.push(("FLOW_NOTICES", path.clone().into()));
        Ok(Self(path))
    }

    /// Reads what is in it.
    pub(super) fn read(&self) -> Notices {
        let mut notices = Notices::default();
        for line in fs::read_to_string(&self.0).unwrap_or_default().lines() {
            let list = match line.split_once(' ') {
                Some(("refused", text)) => (&mut notices.refused, text),
                Some(("no-calls", text)) => (&mut notices.without_calls, text),
                _ => continue,
            };
            if !list.0.iter().any(|known| known == list.1) {
                list.0.push(list.1.to_owned());
            }
        }
        notices
    }
}
