//! Which run is shown if a folder of recordings is named, or nothing.

use std::path::{Path, PathBuf};

use flow_codec::read::Trace;
use flow_query::open::{Chosen, Newest, Recordings};

use super::empty_run;
use crate::failure::Failure;
use crate::output::{alarm, flow_command, message, plural, shell_quoted};

/// Reports which run was chosen, if there are several, and that later ones have no calls.
pub(super) fn report(chosen: &Chosen, run: &Path) {
    let Chosen { folder, runs, without_calls } = chosen;
    let shown = folder.display();
    if let Some(last) = without_calls.last() {
        let (last, run) = (name(last), name(run));
        alarm(&format!(
            "{shown}: the newest run, {last}, recorded 0 calls; this is the run before it, {run}"
        ));
        return;
    }
    let start = Trace::manifest_of(run).ok().flatten().map(|manifest| manifest.start_unix_ns);
    if let Some(warning) = start.and_then(|start| empty_run::warning_in(folder, run, start)) {
        alarm(&warning);
    } else if *runs > 1 {
        let (all, run) = (flow_command("info --all"), name(run));
        let runs = plural(*runs as u64, "run");
        message(&format!("{shown} has {runs}; this is the newest, {run} ({all} lists them)"));
    }
}

/// The last two runs with calls in a folder of recordings, the older one first, which are reported; `None` if a path is no such
/// folder.
pub(crate) fn last_two(folder: &Path) -> Result<Option<[PathBuf; 2]>, Failure> {
    let Some(recordings) = Recordings::of(folder) else { return Ok(None) };
    let Some(Newest { run, before, without_calls }) = recordings.newest() else { return Ok(None) };
    let shown = folder.display();
    let Some(before) = before else {
        return Err(Failure::Usage(format!(
            "{shown} has only one run with calls, {}: record another one, name a second trace, or give --test or --thread twice",
            name(run.path())
        )));
    };
    if let Some(last) = without_calls.last() {
        alarm(&format!("{shown}: the newest run, {}, recorded 0 calls", name(last.path())));
    }
    let names = [before, run].map(|run| name(run.path()));
    message(&format!("{shown}: comparing the last two runs, {} and {}", names[0], names[1]));
    Ok(Some([before, run].map(|run| run.path().to_path_buf())))
}

/// The name of the file of a run.
fn name(run: &Path) -> String {
    let name = run.file_name().unwrap_or(run.as_os_str());
    shell_quoted(&name.to_string_lossy())
}
