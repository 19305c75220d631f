//! Earlier traces: `DIR.old` has the trace that was in DIR before, `DIR.old.2` the one before that, and so on.
//!
//! A trace is moved by links: every file is in its new place before the first one leaves its old place, so a kill at any
//! instant leaves a whole trace in one of them. [`settle`] completes or undoes a move that was interrupted.
//!
//! With `keep=N`, the trace that leaves the N kept ones stays as one more until the recording has calls: a recording
//! without calls puts all of them back.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flow_codec::format::manifest::{End, Manifest};
use flow_codec::format::names;
use flow_codec::read::{Trace, is_journal_elsewhere};
use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};
use rustix::io::{Errno, retry_on_intr};

use super::locks::{DIRECTORY_MODE, make_and_open};

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
    /// There was none, or it had no calls.
    Nothing,
    Away,
    NotPossible(String),
}

/// The place of an earlier trace: 1 for the one before the trace in the directory itself, which has 0.
fn place(path: &Path, number: usize) -> PathBuf {
    let mut place = path.as_os_str().to_owned();
    place.push(old_suffix(number));
    place.into()
}

/// What the name of an earlier trace ends with.
pub(super) fn old_suffix(number: usize) -> String {
    match number {
        0 => String::new(),
        1 => ".old".to_owned(),
        number => format!(".old.{number}"),
    }
}

/// The place of the trace that was in the directory before.
pub(super) fn place_of_earlier(path: &Path) -> PathBuf {
    place(path, 1)
}

/// Moves the files of an earlier trace to `DIR.old`, and what is there one place further, to `DIR.old.2`. A trace
/// without calls is removed instead.
pub(super) fn move_earlier_trace(path: &Path, fd: &OwnedFd, keep: usize) -> Result<Moved, String> {
    let cannot_list = |error: io::Error| format!("cannot be listed: {error}");
    for name in list(path, |name, _| names::is_trace_file(name)).map_err(cannot_list)? {
        let kind = fs::symlink_metadata(path.join(&name)).map_err(cannot_list)?.file_type();
        if !kind.is_file() {
            return Err(format!("{name} in it is not a regular file; remove it"));
        }
    }
    let first = place(path, 1);
    let outcome = settle(path).and_then(|()| {
        if !has_trace(fd) {
            return Ok(Moved::Nothing);
        }
        if has_no_calls(path) {
            remove_trace(fd, 0).map_err(|error| io::Error::from(error).to_string())?;
            return Ok(Moved::Nothing);
        }
        remove_beyond(path, keep);
        let free = (1..).find(|number| open_earlier(&place(path, *number)).is_none()).unwrap_or(1);
        for number in (1..free).rev() {
            move_trace(path, number, number + 1)?;
        }
        move_trace(path, 0, 1).map(|()| Moved::Away)
    });
    Ok(outcome.unwrap_or_else(|why| {
        Moved::NotPossible(format!("moving it to {}: {why}", first.display()))
    }))
}

/// Removes the traces after the first `keep` earlier ones.
pub(super) fn remove_beyond(path: &Path, keep: usize) {
    for number in keep + 1.. {
        let place = place(path, number);
        let Some(fd) = open_earlier(&place) else { return };
        remove_journals_elsewhere(&place);
        if remove_trace(&fd, 0).is_err() {
            return;
        }
        remove_directory(&place, &fd);
    }
}

/// Replaces the trace of this directory, which has no calls, by the one that was moved away for it.
pub(super) fn put_back(path: &Path, fd: &OwnedFd) -> Result<(), String> {
    remove_trace(fd, 0).map_err(|error| io::Error::from(error).to_string())?;
    let mut number = 1;
    while open_earlier(&place(path, number)).is_some() {
        move_trace(path, number, number - 1)?;
        number += 1;
    }
    Ok(())
}

/// Returns whether the traces in a directory have no events, and lost none.
fn has_no_calls(path: &Path) -> bool {
    let has_none = |dir: &Path| match Trace::manifest_of(dir) {
        Ok(Some(Manifest { end: Some(end), .. })) => is_without_calls(&end),
        // Of a killed JVM. What it recorded last is in the journal.
        Ok(Some(_)) => {
            let has_bytes = |entry: &fs::DirEntry| entry.metadata().map_or(true, |it| it.len() > 0);
            let of_thread = |name: &str, entry: &fs::DirEntry| {
                name.starts_with("thread-") && names::is_trace_file(name) && has_bytes(entry)
            };
            list(dir, of_thread).is_ok_and(|files| files.is_empty())
                && Trace::open(dir).is_ok_and(|trace| {
                    trace.damage().is_empty()
                        && trace.missing_journal().is_none()
                        && trace.files().iter().all(|file| file.bytes() == 0)
                })
        }
        _ => false,
    };
    has_none(path) && further_traces(path).iter().all(|name| has_none(&path.join(name)))
}

/// Returns whether a recording has no events and lost none.
pub(in crate::sink) fn is_without_calls(end: &End) -> bool {
    let End { totals, lost, samples, .. } = end;
    totals.enters == 0
        && *samples == 0
        && totals.bytes == 0
        && totals.threads == 0
        && lost.events == 0
        && lost.reasons.is_empty()
}

/// The directory of an earlier trace, if there is one in it.
fn open_earlier(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let fd = retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty())).ok()?;
    has_trace(&fd).then_some(fd)
}

fn has_trace(fd: &OwnedFd) -> bool {
    let is_of_trace = |name: &str| names::is_trace_file(name) || names::is_trace_directory(name);
    names_in(fd, is_of_trace).is_ok_and(|names| !names.is_empty())
}

/// Removes a directory that has nothing but our own locks.
fn remove_directory(path: &Path, fd: &OwnedFd) {
    let is_other = |name: &str| !matches!(name, "." | ".." | names::LOCK | names::GATE);
    if names_in(fd, is_other).is_ok_and(|others| others.is_empty()) {
        for lock in [names::LOCK, names::GATE] {
            let _ = unlinkat(fd, lock, AtFlags::empty());
        }
        let _ = fs::remove_dir(path);
    }
}

/// Completes or undoes a move that a kill has interrupted: two neighbouring places then share files.
fn settle(path: &Path) -> Result<(), String> {
    let text = |error: Errno| io::Error::from(error).to_string();
    let mut number = 0;
    loop {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let open = |number| rustix::fs::open(place(path, number), flags, Mode::empty());
        let (Ok(near), Ok(far)) = (open(number), open(number + 1)) else { return Ok(()) };
        if share_files(&near, &far) {
            // The manifest is linked last, and after that files are removed.
            let is_whole = |fd: &OwnedFd| inode(fd, names::MANIFEST).is_some();
            let (partial, whole) = if is_whole(&far) { (&near, &far) } else { (&far, &near) };
            if is_whole(whole) {
                remove_trace(partial, 0).map_err(text)?;
            }
        }
        number += 1;
    }
}

fn share_files(one: &OwnedFd, other: &OwnedFd) -> bool {
    let is_shared =
        |name: &String| inode(one, name).is_some_and(|it| inode(other, name) == Some(it));
    names_in(one, names::is_trace_file).is_ok_and(|names| names.iter().any(is_shared))
}

fn inode(dir: &OwnedFd, name: &str) -> Option<(u64, u64)> {
    let found = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((found.st_dev, found.st_ino))
}

/// Moves the trace at one place to another. A trace there is removed.
fn move_trace(path: &Path, from: usize, to: usize) -> Result<(), String> {
    let (from, to) = (place(path, from), place(path, to));
    let (from_fd, to_fd) = (make_and_open(&from)?, make_and_open(&to)?);
    let text = |error: Errno| io::Error::from(error).to_string();
    remove_journals_elsewhere(&to);
    remove_trace(&to_fd, 0).map_err(text)?;
    // Without a manifest, an interrupted move could not be recognised.
    if inode(&from_fd, names::MANIFEST).is_some() && link_trace(&from_fd, &to_fd, 0).is_ok() {
        remove_trace(&from_fd, 0).map_err(text)?;
    } else {
        // A file system without links.
        remove_trace(&to_fd, 0).map_err(text)?;
        rename_trace(&from_fd, &to_fd)?;
    }
    if from != path {
        remove_directory(&from, &from_fd);
    }
    Ok(())
}

/// Links the files of a trace, and those of traces inside it, into another directory: the manifest last.
fn link_trace(from: &OwnedFd, to: &OwnedFd, depth: u32) -> rustix::io::Result<()> {
    for name in names_in(from, names::is_trace_directory)? {
        let inside = open_directory_at(from, &name)?;
        if depth == MAX_DEPTH {
            return Err(Errno::LOOP);
        }
        rustix::fs::mkdirat(to, &name, DIRECTORY_MODE)?;
        let copy = open_directory_at(to, &name)?;
        match name == names::BEFORE_REPAIR {
            true => link_files(&inside, &copy, names::is_kept_file)?,
            false => link_trace(&inside, &copy, depth + 1)?,
        }
    }
    link_files(from, to, |name| names::is_trace_file(name) && name != names::MANIFEST)?;
    link_files(from, to, |name| name == names::MANIFEST)
}

fn link_files(
    from: &OwnedFd,
    to: &OwnedFd,
    wanted: impl Fn(&str) -> bool,
) -> rustix::io::Result<()> {
    for name in names_in(from, wanted)? {
        rustix::fs::linkat(from, &name, to, &name, AtFlags::empty())?;
    }
    Ok(())
}

fn rename_trace(from: &OwnedFd, to: &OwnedFd) -> Result<(), String> {
    let is_of_trace = |name: &str| names::is_trace_file(name) || names::is_trace_directory(name);
    let names = names_in(from, is_of_trace).map_err(|error| io::Error::from(error).to_string())?;
    // The manifest last: what remains after an interrupted move is then still recognised as a trace.
    let (manifest, rest): (Vec<_>, Vec<_>) =
        names.iter().partition(|name| *name == names::MANIFEST);
    for name in rest.into_iter().chain(manifest) {
        rustix::fs::renameat(from, name, to, name)
            .map_err(|error| format!("{name}: {}", io::Error::from(error)))?;
    }
    Ok(())
}

/// Removes the journal of a trace, and its blocks in memory, if they are not in the trace's directory and the trace is our
/// own: in a directory of another user, `trace.json` may name any file.
pub(super) fn remove_journal_elsewhere(path: &Path) {
    let place = if path.is_dir() { &path.join(names::MANIFEST) } else { path };
    let owner = fs::metadata(place).map(|found| found.uid());
    let is_own = owner.is_ok_and(|owner| owner == rustix::process::geteuid().as_raw());
    let manifest = Trace::manifest_of(path).ok().flatten().filter(|_| is_own);
    let Some(journal) = manifest.and_then(|manifest| manifest.journal) else { return };
    for file in [names::memory_file(&journal), journal] {
        if is_journal_elsewhere(path, &file) {
            let _ = fs::remove_file(file);
        }
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
