//! `flow snapshot`: writes what a running JVM has recorded until now to a file of its own.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use flow_query::open::is_container_name;

use crate::args::SnapshotArgs;
use crate::cmd::recording::agent::shown;
use crate::cmd::recording::detach::loaded_library;
use crate::cmd::recording::{choose, dump};
use crate::failure::{Failure, Status};
use crate::jvm::{self, Refusal};
use crate::output::{message, shell_quoted};

pub(crate) fn run(args: &SnapshotArgs) -> Result<Status, Failure> {
    let process = choose::jvm(Some(&args.pid))?;
    let library = loaded_library(&process, args.library.as_deref())?;
    let file = Path::new(&args.name);
    let file = Some(file).filter(|file| is_container_name(file) || args.name.contains('/'));
    let name = match file {
        Some(file) => {
            refuse(file)?;
            file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
        }
        None => args.name.clone(),
    };
    let answer = Refusal::create(&process)?;
    let (key, path) = answer.option();
    let name = name.replace(',', r"\,");
    jvm::load(&process, &library, &format!("snapshot={name},{key}={path}"), &answer)?;
    let made = answer.reason().unwrap_or_default();
    let here = process.seen_here(Path::new(&made));
    let (place, made) = match file {
        Some(file) => {
            put(&here, file)?;
            (file, shell_quoted(&file.to_string_lossy()))
        }
        None => (&*here, shown(Path::new(&made))),
    };
    // The snapshot is complete without it.
    if let Err(failure) = dump::store(&process, place) {
        message(&format!("{failure}; what threads wait for is not stored"));
    }
    message(&format!("{made} has what was recorded until now; recording continues"));
    Ok(Status::Done)
}

/// Refuses a file that is there, and one of another kind.
fn refuse(file: &Path) -> Result<(), Failure> {
    let shown = shell_quoted(&file.to_string_lossy());
    if !is_container_name(file) {
        let text = format!(
            "{shown}: expected a file whose name ends in .flowtrace, or a name without '/'"
        );
        return Err(Failure::Usage(text));
    }
    match file.symlink_metadata() {
        Ok(_) => Err(Failure::Failed(format!("{shown}: exists; name another file"))),
        Err(_) => Ok(()),
    }
}

/// Moves a snapshot from where the JVM has written it.
fn put(made: &Path, file: &Path) -> Result<(), Failure> {
    let fail = |error: std::io::Error| {
        let file = shell_quoted(&file.to_string_lossy());
        Failure::Failed(format!("{file}: {error}; the snapshot is {}", shown(made)))
    };
    // A link never replaces a file, as a rename would.
    let moved = fs::hard_link(made, file).and_then(|()| fs::remove_file(made));
    match moved.map_err(|error| (error.kind(), error)) {
        Ok(()) => Ok(()),
        Err((ErrorKind::AlreadyExists | ErrorKind::NotFound, error)) => Err(fail(error)),
        // Another file system, or one without links.
        Err(_) => copy(made, file).and_then(|()| fs::remove_file(made)).map_err(fail),
    }
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    std::io::copy(&mut fs::File::open(from)?, &mut to).map(drop)
}
