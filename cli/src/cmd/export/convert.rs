//! `flow export --to flowtrace` and `--to flow`: a trace directory to one file, and back.

use flow_query::reading::Listener as _;
use std::fs;
use std::path::{Path, PathBuf};

use flow_codec::convert::{to_container, to_directory};
use flow_codec::format::names::CONTAINER_EXTENSION;
use flow_codec::read::Trace;
use flow_codec::{Error, Offset};

use crate::args::{ConvertArgs, Format};
use crate::failure::{Failure, Status};
use crate::input::flags::SourceArgs;
use crate::input::source::Source;
use crate::output::{Out, Progress, bytes, message};
use flow_query::open::State;
use flow_query::open::is_container_name;

pub(crate) fn run(args: &ConvertArgs, out: &mut Out) -> Result<Status, Failure> {
    let source = Source::open(&SourceArgs { dir: args.dir.clone(), format: Format::Text })?;
    if args.out.as_os_str() == "-" {
        return Err(Failure::Usage(format!(
            "-: cannot write to standard output; name a file that ends in .{CONTAINER_EXTENSION}, or a directory"
        )));
    }
    let is_file = args.is_file;
    if is_file != is_container_name(&args.out) {
        let place = args.out.display();
        return Err(Failure::Usage(match is_file {
            true => {
                format!("{place}: the name of a trace in one file ends in .{CONTAINER_EXTENSION}")
            }
            false => format!(
                "{place}: a directory has another name, because .{CONTAINER_EXTENSION} is for files"
            ),
        }));
    }
    if !is_file && args.compress.is_some() {
        return Err(Failure::Usage("--compress is for --to flowtrace".to_owned()));
    }
    let places: Vec<_> = source
        .traces
        .iter()
        .enumerate()
        .map(|(number, trace)| match number {
            0 => args.out.clone(),
            _ => beside(&args.out, &source.name(trace.dir()), is_file),
        })
        .collect();
    if let Some(taken) = places.iter().find(|place| place.symlink_metadata().is_ok()) {
        return Err(Failure::Failed(format!(
            "{}: exists already; remove it, or choose another name",
            taken.display()
        )));
    }
    let mut progress = Progress::new(source.bytes(), out);
    for (trace, place) in source.traces.iter().zip(&places) {
        let mut read = 0_u64;
        let mut advance = |more: u64| {
            read += more;
            progress.at(Offset::new(read));
        };
        let written = convert(trace, place, args, is_file, &mut advance)?;
        progress.file_done(read);
        report(trace, place, written, &progress);
    }
    Ok(source.status)
}

/// The place of a further trace: app-jvm-1-2.flowtrace beside app.flowtrace, or a directory inside the first.
fn beside(first: &Path, name: &str, is_file: bool) -> PathBuf {
    if !is_file {
        return first.join(name);
    }
    let stem = first.file_stem().unwrap_or_default().to_string_lossy();
    first.with_file_name(format!("{stem}-{name}.{CONTAINER_EXTENSION}"))
}

/// Writes under another name first, so that nothing half-written has the wanted one. Returns the size of a file.
fn convert(
    trace: &Trace,
    place: &Path,
    args: &ConvertArgs,
    is_file: bool,
    progress: &mut dyn FnMut(u64),
) -> Result<Option<u64>, Failure> {
    let mut name = place.as_os_str().to_owned();
    name.push(".part");
    let part = PathBuf::from(name);
    let remove = || {
        let _ = if is_file { fs::remove_file(&part) } else { fs::remove_dir_all(&part) };
    };
    let written = match is_file {
        true => to_container(trace, &part, args.compress.unwrap_or_default(), progress).map(Some),
        false => to_directory(trace, &part, progress).map(|()| None),
    };
    let written = written.and_then(|written| {
        let io_error = |source| Error::Io { path: place.to_path_buf(), source };
        fs::rename(&part, place).map(|()| written).map_err(io_error)
    });
    // What was there before is not ours.
    let is_ours = |error: &Error| !matches!(error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists);
    Ok(written.inspect_err(|error| {
        if is_ours(error) {
            remove();
        }
    })?)
}

fn report(trace: &Trace, place: &Path, written: Option<u64>, progress: &Progress) {
    let events = trace.files().iter().fold(0_u64, |sum, file| sum.saturating_add(file.bytes()));
    let size = match written {
        Some(written) => format!("{}, with {} of events", bytes(written), bytes(events)),
        None => format!("{} of events", bytes(events)),
    };
    progress.message(&format!("{}: {size}", place.display()));
    if State::of(trace) == State::Recording {
        let text = "still records: the copy ends where it was when it was read";
        message(&format!("{}: {text}", trace.dir().display()));
    }
}
