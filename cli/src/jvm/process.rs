//! A JVM of the same user, as `/proc` shows it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flow_codec::format::names;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::failure::Failure;

/// The library of OpenJ9, which also loads a `libjvm.so`, but has another attach protocol.
const OPENJ9: &str = "libj9vm";
const HOTSPOT: &str = "libjvm.so";
const DEBUGGER_AGENT: &str = "libjdwp.so";
/// The suffix in `/proc` of a file that has been removed or replaced.
const DELETED: &str = " (deleted)";

/// A JVM that can be attached to, as far as can be determined from outside.
#[derive(Debug)]
pub(crate) struct Process {
    pid: Pid,
    status: Status,
    /// The files that it has mapped.
    mapped: Vec<String>,
}

impl Process {
    /// The JVMs that this user can attach to.
    pub(crate) fn all() -> Vec<Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(|pid| Self::find(pid).ok()).collect()
    }

    /// Finds a process, and checks that it is a JVM of the same user.
    pub(crate) fn find(pid: i32) -> Result<Self, Failure> {
        let refuse = |reason: &str| Failure::Failed(format!("process {pid}: {reason}"));
        let root = format!("/proc/{pid}");
        let status = fs::read_to_string(format!("{root}/status"));
        let status = status.ok().and_then(|text| Status::parse(&text));
        let (Some(status), Some(pid)) = (status, Pid::from_raw(pid)) else {
            return Err(refuse("no such process"));
        };
        let ours = geteuid();
        let not_ours =
            || refuse(&format!("it belongs to user {}; run flow as that user", status.user));
        if !ours.is_root() && ours.as_raw() != status.user {
            return Err(not_ours());
        }
        let maps = fs::read(format!("{root}/maps")).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied if ours.as_raw() == status.user => refuse(
                "its libraries cannot be listed: permission denied; a container needs the capability SYS_PTRACE",
            ),
            ErrorKind::PermissionDenied => not_ours(),
            _ => refuse(&format!("its libraries cannot be listed: {error}")),
        })?;
        let mapped = mapped(&String::from_utf8_lossy(&maps));
        if mapped.iter().any(|path| file_name(path).starts_with(OPENJ9)) {
            return Err(refuse("it is an OpenJ9 JVM; flow attaches to HotSpot only"));
        }
        if !mapped.iter().any(|path| file_name(path) == HOTSPOT) {
            return Err(refuse("not a JVM: it has not loaded libjvm.so"));
        }
        Ok(Self { pid, status, mapped })
    }

    /// Returns whether the process has loaded the agent through which debuggers work.
    pub(crate) fn has_debugger_agent(&self) -> bool {
        self.mapped.iter().any(|path| file_name(path) == DEBUGGER_AGENT)
    }

    /// Its id in our namespace.
    pub(crate) fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Its id in its own namespace, which differs in a container.
    pub(crate) fn own_pid(&self) -> i32 {
        self.status.own_pid
    }

    /// The user it acts as.
    pub(super) fn user(&self) -> u32 {
        self.status.user
    }

    /// The group it acts as.
    pub(super) fn group(&self) -> u32 {
        self.status.group
    }

    /// Its command line, empty if the system does not show it.
    pub(crate) fn command(&self) -> Vec<OsString> {
        self.strings("cmdline")
    }

    /// A variable of the environment that it was started with.
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        let prefix = format!("{name}=").into_bytes();
        let value = |variable: OsString| {
            variable
                .as_bytes()
                .strip_prefix(prefix.as_slice())
                .map(|v| OsStr::from_bytes(v).to_owned())
        };
        self.strings("environ").into_iter().find_map(value)
    }

    fn strings(&self, file: &str) -> Vec<OsString> {
        let bytes = fs::read(format!("/proc/{}/{file}", self.pid())).unwrap_or_default();
        let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
        bytes.split(|byte| *byte == 0).map(|text| OsStr::from_bytes(text).to_owned()).collect()
    }

    /// The program that it runs; in a container, too.
    pub(crate) fn program(&self) -> PathBuf {
        format!("/proc/{}/exe", self.pid()).into()
    }

    /// Its root directory.
    pub(crate) fn root(&self) -> PathBuf {
        format!("/proc/{}/root", self.pid()).into()
    }

    /// Returns the path by which this process finds a file that the JVM finds by `path`. If the JVM has another file system, as
    /// in a container, the path leads through `/proc`, and is valid until the JVM ends.
    pub(crate) fn seen_here(&self, path: &Path) -> PathBuf {
        let inside = self.root().join(path.strip_prefix("/").unwrap_or(path));
        let identity = |path: &Path| fs::metadata(path).ok().map(|of| (of.dev(), of.ino()));
        match identity(&inside) {
            there @ Some(_) if identity(path) != there => inside,
            _ => path.to_path_buf(),
        }
    }

    /// Its working directory.
    pub(crate) fn directory(&self) -> PathBuf {
        format!("/proc/{}/cwd", self.pid()).into()
    }

    /// The trace that it writes: it keeps the lock of its directory open, or the file.
    pub(crate) fn recorded_trace(&self) -> Option<PathBuf> {
        let open = fs::read_dir(format!("/proc/{}/fd", self.pid())).ok()?;
        let open: Vec<_> = open.flatten().filter_map(|fd| fs::read_link(fd.path()).ok()).collect();
        let has_name =
            |path: &Path, name: &str| path.file_name().is_some_and(|found| found == name);
        let directory =
            open.iter().find(|path| has_name(path, names::LOCK)).and_then(|lock| lock.parent());
        let is_file =
            |path: &&PathBuf| path.extension().is_some_and(|end| end == names::CONTAINER_EXTENSION);
        let found = directory.or_else(|| open.iter().find(is_file).map(PathBuf::as_path));
        found.map(|place| self.seen_here(place))
    }

    /// Its `/tmp`: in a container, another directory than ours.
    pub(super) fn tmp(&self) -> Result<Tmp, Failure> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(format!("/proc/{}/root", self.pid()), flags, Mode::empty());
        let tmp = root.and_then(tmp_in).or_else(|_| rustix::fs::open("/tmp", flags, Mode::empty()));
        tmp.map(Tmp)
            .map_err(|error| Failure::Failed(format!("process {}: its /tmp: {error}", self.pid())))
    }

    /// The path of the loaded library with this file name, if any. Of several, one whose file still exists: it passes
    /// requests to the one that records.
    pub(crate) fn loaded(&self, name: &str) -> Result<Option<&str>, Failure> {
        let of_this_name = || self.mapped.iter().filter(|path| file_name(path) == name);
        let there = of_this_name().find(|path| !path.ends_with(DELETED));
        let Some(path) = there.or_else(|| of_this_name().next()) else {
            return Ok(None);
        };
        if path.ends_with(DELETED) {
            // A file of that name would be another library, which knows nothing about the recording.
            return Err(Failure::Failed(format!(
                "process {}: the agent library it has loaded was deleted: {path}; it is recorded until it ends",
                self.pid()
            )));
        }
        Ok(Some(path))
    }

    /// Returns whether it handles the QUIT signal now: not while it starts, and not with `-Xrs`. `None` if it
    /// has ended.
    pub(super) fn handles_quit(&self) -> Option<bool> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).ok()?;
        Some(Status::parse(&status)?.handles_quit)
    }

    /// Returns whether a signal has stopped the process.
    pub(super) fn is_stopped(&self) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid()));
        status.is_ok_and(|status| status.lines().any(|line| line.starts_with("State:\tT")))
    }

    /// Sends it the QUIT signal.
    pub(super) fn signal_quit(&self) -> Result<(), Failure> {
        kill_process(self.pid, Signal::QUIT)
            .map_err(|error| Failure::Failed(format!("process {}: {error}", self.pid())))
    }
}

/// A directory that was opened once, so that no link can redirect later accesses.
#[derive(Debug)]
pub(super) struct Tmp(OwnedFd);

impl Tmp {
    /// A file in it. The path is valid as long as this value lives.
    pub(super) fn join(&self, name: &str) -> PathBuf {
        format!("/proc/self/fd/{}/{name}", self.0.as_raw_fd()).into()
    }
}

/// Opens the `/tmp` of processes with this root. Links inside a container, absolute ones too, do not lead out of it.
fn tmp_in(root: OwnedFd) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat2(&root, "tmp", flags, Mode::empty(), ResolveFlags::IN_ROOT) {
        // Before Linux 5.6, or in a sandbox: then it must not be a link at all.
        Err(Errno::NOSYS | Errno::PERM) => {
            openat(&root, "tmp", flags | OFlags::NOFOLLOW, Mode::empty())
        }
        opened => opened,
    }
}

/// The content of `/proc/PID/status`.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Status {
    user: u32,
    group: u32,
    own_pid: i32,
    handles_quit: bool,
}

impl Status {
    fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
        };
        // Real, effective, saved and file system id, of which the JVM compares the second.
        let effective = |name| field(name)?.split_whitespace().nth(1)?.parse().ok();
        // From our namespace inwards. Old kernels have only one.
        let own_pid = field("NSpid").or(field("Pid"))?.split_whitespace().next_back()?;
        // A bit for each signal, the lowest for signal 1.
        let caught = u64::from_str_radix(field("SigCgt")?, 16).ok()?;
        Some(Self {
            user: effective("Uid")?,
            group: effective("Gid")?,
            own_pid: own_pid.parse().ok()?,
            handles_quit: caught >> (Signal::QUIT.as_raw() - 1) & 1 == 1,
        })
    }
}

/// The files of `/proc/PID/maps`, each once: nothing before a path has a slash.
fn mapped(maps: &str) -> Vec<String> {
    let paths = maps.lines().filter_map(|line| line.find('/').and_then(|at| line.get(at..)));
    let mut paths: Vec<_> = paths.map(str::to_owned).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

fn file_name(path: &str) -> &str {
    let path = path.strip_suffix(DELETED).unwrap_or(path);
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tjava\nPid:\t4711\nUid:\t1000\t1001\t1000\t1000\n\
        Gid:\t100\t101\t100\t100\nNSpid:\t4711\t7\nSigIgn:\t0000000000000002\n\
        SigCgt:\t0000000181005ccf\n";

    #[test]
    fn a_hostile_tmp_does_not_lead_out_of_its_container() {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
        for made in [&root, &outside] {
            fs::create_dir(made).unwrap();
        }
        let open = || {
            let flags = OFlags::PATH | OFlags::DIRECTORY;
            tmp_in(rustix::fs::open(&root, flags, Mode::empty()).unwrap()).map(Tmp)
        };
        std::os::unix::fs::symlink(&outside, root.join("tmp")).unwrap();
        assert!(open().is_err(), "there is no such directory in the container");
        fs::remove_file(root.join("tmp")).unwrap();
        std::os::unix::fs::symlink("../../../outside", root.join("tmp")).unwrap();
        assert!(open().is_err(), "nor by the way up");
        let inside = root.join("private");
        fs::create_dir(&inside).unwrap();
        fs::remove_file(root.join("tmp")).unwrap();
        std::os::unix::fs::symlink("/private", root.join("tmp")).unwrap();
        fs::write(open().unwrap().join("answer"), "").unwrap();
        assert!(inside.join("answer").exists());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }

    #[test]
    fn in_a_container_a_process_has_an_id_of_its_own() {
        let status = Status::parse(STATUS).unwrap();
        assert_eq!(status, Status { user: 1001, group: 101, own_pid: 7, handles_quit: true });
        let old_kernel = STATUS.replace("NSpid:\t4711\t7\n", "");
        assert_eq!(Status::parse(&old_kernel).unwrap().own_pid, 4711);
        assert_eq!(Status::parse("Name:\tjava\n"), None);
    }

    #[test]
    fn a_process_that_would_die_of_the_signal_is_recognized() {
        // As `java -Xrs` has it.
        let status = STATUS.replace("181005ccf", "181005cc8");
        assert!(!Status::parse(&status).unwrap().handles_quit);
    }

    #[test]
    fn mapped_files_are_found_whatever_their_names() {
        let maps = "7f0000000000-7f0000001000 r-xp 00000000 08:01 42    /jdk 17/lib/libjvm.so\n\
            7f0000001000-7f0000002000 r--p 00001000 08:01 42    /jdk 17/lib/libjvm.so\n\
            7f0000003000-7f0000004000 rw-p 00000000 00:00 0 \n\
            7f0000005000-7f0000006000 rw-p 00000000 00:00 0    [stack]\n\
            7f0000007000-7f0000008000 r-xp 00000000 08:01 43    /l/libx.so (deleted)\n";
        assert_eq!(mapped(maps), ["/jdk 17/lib/libjvm.so", "/l/libx.so (deleted)"]);
        assert_eq!(file_name("/jdk 17/lib/libjvm.so"), "libjvm.so");
        assert_eq!(file_name("/l/libx.so (deleted)"), "libx.so");
    }
}
