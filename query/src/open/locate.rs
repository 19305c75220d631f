//! Where the traces of a run are.

use std::path::{Path, PathBuf};

use flow_codec::read::Trace;

use super::paths::{further_among, is_container_name, without_dot};
use super::recordings::{Newest, Recordings};
use crate::Error;

/// The traces of a run, and how they were found.
#[derive(Clone, Debug)]
pub struct Located {
    /// The path of the run: of a folder of recordings, that of its newest run.
    pub path: PathBuf,
    /// The paths of the traces.
    pub traces: Vec<PathBuf>,
    /// The folder of recordings from which the run was taken.
    pub chosen: Option<Chosen>,
}

/// What is known about a run that was taken from a folder of recordings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chosen {
    /// The folder.
    pub folder: PathBuf,
    /// How many runs it has.
    pub runs: usize,
    /// The runs after this one, which have no calls.
    pub without_calls: Vec<PathBuf>,
}

/// Returns where the traces of a run are. `DIR/.` names the trace in DIR itself, without those inside, and `FILE/.` that of the
/// first JVM. A folder of recordings names its newest run with calls.
///
/// # Errors
/// There is no trace, or the directory cannot be listed.
pub fn locate(path: &Path) -> Result<Located, Error> {
    let is_alone = path.as_os_str().as_encoded_bytes().ends_with(b"/.");
    let file = without_dot(path);
    let found = Trace::directories(if file.is_file() { &file } else { path });
    if (!is_alone || found.is_err())
        && let Some(recordings) = Recordings::of(path)
        && let Some(Newest { run, without_calls, .. }) = recordings.newest()
    {
        let without_calls = without_calls.iter().map(|run| run.path().to_path_buf());
        let chosen = Chosen {
            folder: path.to_path_buf(),
            runs: recordings.runs().len(),
            without_calls: without_calls.collect(),
        };
        return Ok(Located {
            path: run.path().to_path_buf(),
            traces: run.traces().to_vec(),
            chosen: Some(chosen),
        });
    }
    let traces = match found {
        Ok(mut found) => {
            // The trace in the directory itself comes first, if there is one.
            if is_alone && found.first().is_some_and(|first| *first == file) {
                found.truncate(1);
            }
            found
        }
        Err(error @ flow_codec::Error::NoTrace { .. }) => match traces_inside(path) {
            traces if traces.is_empty() => return Err(error.into()),
            traces => return Err(Error::TracesInside { path: path.to_path_buf(), traces }),
        },
        Err(error) => return Err(error.into()),
    };
    Ok(Located { path: path.to_path_buf(), traces, chosen: None })
}

/// The directories and files with traces that are directly in a directory without one, in order.
fn traces_inside(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let has_trace = |path: &PathBuf| match path.is_dir() {
        true => Trace::directories(path).is_ok(),
        false => is_container_name(path) && Trace::is_container(path),
    };
    let mut found: Vec<_> = entries.map(|entry| entry.path()).filter(has_trace).collect();
    let with_first: Vec<_> = found.iter().flat_map(|first| further_among(first, &found)).collect();
    found.retain(|path| !with_first.contains(path));
    found.sort();
    found
}
