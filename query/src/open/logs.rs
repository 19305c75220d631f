//! Logs of samples, in the place of traces: what is shown as calls are frames that were sampled again and again.

use std::path::Path;

use flow_codec::read::{HplReader, Trace};
use flow_codec::write::{Compression, ContainerWriter};

use crate::Error;
use crate::profile::{write_calls_of_log, write_calls_of_samples};

/// The extension of logs.
const EXTENSION: &str = "hpl";

/// Returns whether a path names a log of samples.
#[must_use]
pub fn is_log(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == EXTENSION)
}

/// Reads a log as a trace, and what is damaged.
pub(super) fn trace_of_log(path: &Path) -> Result<(Trace, Option<flow_codec::Error>), Error> {
    let mut log = HplReader::open(path)?;
    let mut file = tempfile::tempfile().map_err(Error::TemporaryFile)?;
    let damage = match write_calls_of_log(&mut log, &mut file) {
        Ok(_) => None,
        Err(error @ flow_codec::Error::BadLog { .. }) => Some(error),
        Err(error) => return Err(error.into()),
    };
    Ok((Trace::from_file(file, path)?, damage))
}

/// A trace without calls in the place of a log, whose samples are read from it.
pub(super) fn without_calls(path: &Path) -> Result<Trace, Error> {
    let file = tempfile::tempfile().map_err(Error::TemporaryFile)?;
    let container = ContainerWriter::new(&file, Compression::Off);
    container.and_then(ContainerWriter::finish).map_err(Error::TemporaryFile)?;
    Ok(Trace::from_file(file, path)?)
}

/// The trace with calls in the place of its samples, and what is damaged; `None` if it has calls, or no samples.
pub(super) fn with_calls(trace: &Trace) -> Result<Option<(Trace, Vec<flow_codec::Error>)>, Error> {
    if trace.files().iter().any(|file| file.bytes() > 0) {
        return Ok(None);
    }
    let Some(mut samples) = trace.samples()? else { return Ok(None) };
    let mut file = tempfile::tempfile().map_err(Error::TemporaryFile)?;
    write_calls_of_samples(trace, &mut samples, &mut file)?;
    Ok(Some((Trace::from_file(file, trace.dir())?, samples.into_damage())))
}
