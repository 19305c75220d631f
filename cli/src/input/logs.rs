//! Logs of samples, in the place of traces: what is shown as calls are frames that were sampled again and again.

use std::path::Path;

use flow_codec::Error;
use flow_codec::read::{HplReader, Trace};
use flow_codec::write::{Compression, ContainerWriter};
use flow_query::profile::{write_calls_of_log, write_calls_of_samples};

use crate::failure::Failure;
use crate::output::{flow_command, message};

/// The extension of logs.
const EXTENSION: &str = "hpl";

/// Returns whether a path names a log of samples.
pub(crate) fn is_log(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == EXTENSION)
}

/// Reads a log as a trace, and what is damaged.
pub(super) fn trace(path: &Path) -> Result<(Trace, Option<Error>), Failure> {
    let mut log = HplReader::open(path)?;
    let mut file = tempfile::tempfile().map_err(Failure::temporary_file)?;
    let damage = match write_calls_of_log(&mut log, &mut file) {
        Ok(_) => None,
        Err(error @ Error::BadLog { .. }) => Some(error),
        Err(error) => return Err(error.into()),
    };
    Ok((Trace::from_file(file, path)?, damage))
}

/// A trace without calls in the place of a log, whose samples are read from it.
pub(super) fn without_calls(path: &Path) -> Result<Trace, Failure> {
    let file = tempfile::tempfile().map_err(Failure::temporary_file)?;
    let container = ContainerWriter::new(&file, Compression::Off);
    container.and_then(ContainerWriter::finish).map_err(Failure::temporary_file)?;
    Ok(Trace::from_file(file, path)?)
}

/// The trace with calls in the place of its samples, if it has samples and no calls; `None` otherwise.
pub(super) fn with_calls(trace: &Trace) -> Result<Option<Trace>, Failure> {
    if trace.files.iter().any(|file| file.bytes > 0) {
        return Ok(None);
    }
    let Some(mut samples) = trace.samples()? else { return Ok(None) };
    guessed(&trace.dir);
    let mut file = tempfile::tempfile().map_err(Failure::temporary_file)?;
    let (_, damage) = write_calls_of_samples(trace, &mut samples, &mut file)?;
    damage.iter().for_each(|error| message(&error.to_string()));
    Ok(Some(Trace::from_file(file, &trace.dir)?))
}

pub(super) fn guessed(path: &Path) {
    message(&format!(
        "{}: calls are guessed from samples: a method in consecutive samples of a thread is one call; {} \
         shows samples",
        path.display(),
        flow_command("report")
    ));
}
