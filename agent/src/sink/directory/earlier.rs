//! Earlier traces in a directory: moves them away, and removes what was there.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flow_codec::format::names;
use flow_codec::read::{Trace, is_journal_elsewhere};
use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};
use rustix::io::retry_on_intr;

use super::locks::make_and_open;

/// Returns whether all JVMs that wrote into directories inside this one have ended. While one lives, the
/// trace that it belongs to is not moved. None can start meanwhile: we hold the gate.
pub(super) fn no_further_jvm_is_live(path: &Path) -> bool {
    // A FIFO in the place of the lock would block, and a link could lead to the lock of another directory.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let lock = |name: &String| {
        let lock = path.join(name).join(names::LOCK);
        retry_on_intr(|| rustix::fs::open(&lock, flags, Mode::empty())).map(File::from)
    };
    further_traces(path).iter().all(|name| lock(name).map_or(true, |lock| lock.try_lock().is_ok()))
}

/// Returns whether the directory's trace belongs to this session.
pub(super) fn holds_trace_of(path: &Path, session: Option<&str>) -> bool {
    session.is_some()
        && Trace::manifest_of(path)
            .ok()
            .flatten()
            .is_some_and(|manifest| manifest.session.as_deref() == session)
}

pub(super) fn further_traces(path: &Path) -> Vec<String> {
    directories(path, |name| name.starts_with(names::JVM_PREFIX))
}

fn directories(path: &Path, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    list(path, |name, entry| wanted(name) && entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .unwrap_or_default()
}

fn list(path: &Path, wanted: impl Fn(&str, &fs::DirEntry) -> bool) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if let Some(name) = entry.file_name().to_str()
            && wanted(name, &entry)
        {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

pub(super) enum Moved {
    Away,
    NotPossible(String),
}

/// Moves the files of an earlier trace to `DIR.old`, and removes the trace that was there.
pub(super) fn move_earlier_trace(path: &Path, fd: &OwnedFd) -> Result<Moved, String> {
    let cannot_list = |error: io::Error| format!("cannot be listed: {error}");
    for name in list(path, |name, _| names::is_trace_file(name)).map_err(cannot_list)? {
        let kind = fs::symlink_metadata(path.join(&name)).map_err(cannot_list)?.file_type();
        if !kind.is_file() {
            return Err(format!("{name} in it is not a regular file; remove it"));
        }
    }
    let files = list(path, |name, _| names::is_trace_file(name)).map_err(cannot_list)?;
    let further = directories(path, names::is_trace_directory);
    if files.is_empty() && further.is_empty() {
        return Ok(Moved::Away);
    }
    let mut old = path.as_os_str().to_owned();
    old.push(".old");
    let old = PathBuf::from(old);
    let outcome = make_and_open(&old).and_then(|old_fd| {
        let cannot = |name: &str, error: io::Error| format!("{name}: {error}");
        remove_journals_elsewhere(&old);
        remove_trace(&old_fd, 0).map_err(|error| cannot(".old", error.into()))?;
        // The manifest last: what remains after an interrupted move is then still recognised as a trace.
        let (manifest, rest): (Vec<_>, Vec<_>) =
            files.iter().chain(&further).partition(|name| *name == names::MANIFEST);
        for name in rest.into_iter().chain(manifest) {
            rustix::fs::renameat(fd, name, &old_fd, name)
                .map_err(|error| cannot(name, error.into()))?;
        }
        Ok(())
    });
    Ok(match outcome {
        Ok(()) => Moved::Away,
        Err(why) => Moved::NotPossible(format!("moving it to {}: {why}", old.display())),
    })
}

/// Removes the journal of a trace if it is not in the trace's directory and the trace is our own: in a
/// directory of another user, `trace.json` may name any file.
fn remove_journal_elsewhere(path: &Path) {
    let owner = fs::metadata(path.join(names::MANIFEST)).map(|found| found.uid());
    let is_own = owner.is_ok_and(|owner| owner == rustix::process::geteuid().as_raw());
    let manifest = Trace::manifest_of(path).ok().flatten().filter(|_| is_own);
    if let Some(journal) = manifest.and_then(|manifest| manifest.journal)
        && is_journal_elsewhere(path, &journal)
    {
        let _ = fs::remove_file(journal);
    }
}

fn remove_journals_elsewhere(path: &Path) {
    remove_journal_elsewhere(path);
    further_traces(path).iter().for_each(|name| remove_journal_elsewhere(&path.join(name)));
}

/// Traces of further JVMs are not nested; a hostile directory may be.
const MAX_DEPTH: u32 = 4;

/// Removes the files of a trace, and nothing else. Never follows a link: each directory is opened from its
/// parent, which may belong to another user.
fn remove_trace(dir: &OwnedFd, depth: u32) -> rustix::io::Result<()> {
    let file = |dir: &OwnedFd, name: &str| unlinkat(dir, name, AtFlags::empty());
    let directory = |name: &str| unlinkat(dir, name, AtFlags::REMOVEDIR);
    for name in names_in(dir, names::is_trace_file)? {
        file(dir, &name)?;
    }
    if let Ok(kept) = open_directory_at(dir, names::BEFORE_REPAIR) {
        for name in names_in(&kept, names::is_kept_file)? {
            file(&kept, &name)?;
        }
        let _ = directory(names::BEFORE_REPAIR);
    }
    for name in names_in(dir, |name| name.starts_with(names::JVM_PREFIX))? {
        let Ok(further) = open_directory_at(dir, &name) else { continue };
        if depth < MAX_DEPTH {
            remove_trace(&further, depth + 1)?;
        }
        let _ = file(&further, names::LOCK);
        // Stays if it contains other files.
        let _ = directory(&name);
    }
    Ok(())
}

/// Opens a directory inside another one, unless it is a link.
fn open_directory_at(dir: &OwnedFd, name: &str) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    retry_on_intr(|| openat(dir, name, flags, Mode::empty()))
}

fn names_in(dir: &OwnedFd, wanted: impl Fn(&str) -> bool) -> rustix::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(dir)? {
        if let Ok(name) = entry?.file_name().to_str()
            && wanted(name)
        {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}
