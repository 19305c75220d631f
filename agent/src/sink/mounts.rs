//! On which file systems a journal is mapped.
//!
//! A store into a mapped page that has no space on disk, or whose server is gone, kills the program. On the
//! file systems in this list, reserved space stays reserved, so that cannot happen. All others are refused,
//! known or not: those that copy on write (btrfs, zfs, bcachefs, f2fs), network and cluster file systems
//! (nfs, cifs, ceph, gfs2, ocfs2, gpfs, beegfs, lustre), those that a virtual machine shares with its host
//! (9p, vboxsf, vmhgfs, virtiofs), and those on top of others (fuse, ecryptfs).
//!
//! An overlay, as every container has, is as safe as the file system of its upper directory. xfs copies on
//! write only extents that were shared by a copy (`cp --reflink`) during the recording; the disk would also
//! have to be full.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{fstatfs, statfs};

/// The numbers of file systems, as in `statfs(2)`.
const SAFE: [(u64, &str); 4] = [
    // Also ext2 and ext3.
    (0xEF53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x0102_1994, "tmpfs"),
    (0x8584_58F6, "ramfs"),
];
const OVERLAY: u64 = 0x794C_7630;
/// Where container engines mount files of theirs, which they keep in the same place as the upper directory.
const OF_ENGINE: [&str; 3] = ["/etc/hosts", "/etc/hostname", "/etc/resolv.conf"];

/// Returns an error that names the file system if a file cannot be mapped safely.
pub(super) fn expect_safe(file: &File) -> Result<(), String> {
    // `statfs` fails only where the system is unusual, and that is no reason to refuse.
    let Ok(system) = fstatfs(file) else { return Ok(()) };
    let kind = type_of(&system);
    if is_safe(kind) {
        return Ok(());
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mount = mount_id(file).and_then(|id| Mount::find(&mounts, |mount| mount.id == id));
    let name = mount.as_ref().map_or("an unknown file system", |mount| mount.kind).to_owned();
    if kind != OVERLAY {
        return Err(format!("files on {name} are not known to be safe to map"));
    }
    let upper = mount.and_then(|mount| mount.upper_directory());
    let is_safe = upper.as_deref().is_some_and(|upper| match statfs(Path::new(upper)) {
        Ok(system) => is_safe(type_of(&system)),
        Err(_) => is_safe_beside(upper, &mounts),
    });
    match (is_safe, upper) {
        (true, _) => Ok(()),
        (false, Some(upper)) => Err(format!(
            "files on an overlay are not known to be safe to map: the file \
             system of {upper} is unknown or is not ext4, xfs or tmpfs; use a mounted volume"
        )),
        (false, None) => Err("files on an overlay of unknown kind".to_owned()),
    }
}

#[expect(clippy::cast_sign_loss, reason = "a number that systems give a sign or not")]
fn type_of(system: &rustix::fs::StatFs) -> u64 {
    system.f_type as u64 & u64::from(u32::MAX)
}

fn is_safe(kind: u64) -> bool {
    SAFE.iter().any(|(safe, _)| *safe == kind)
}

/// The mount that a file was opened through.
fn mount_id(file: &File) -> Option<u64> {
    let facts = fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).ok()?;
    facts.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok())
}

/// A line of `/proc/self/mountinfo`.
#[derive(Debug)]
struct Mount<'a> {
    id: u64,
    /// The mounted directory or file of the file system.
    root: &'a str,
    place: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    fn find(mounts: &'a str, wanted: impl Fn(&Self) -> bool) -> Option<Self> {
        // Of several mounts at one place, the last one is visible.
        mounts.lines().rev().filter_map(Self::parse).find(wanted)
    }

    fn parse(line: &'a str) -> Option<Self> {
        let (mount, system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ');
        let id = mount.next()?.parse().ok()?;
        let (root, place) = (mount.nth(2)?, mount.next()?);
        let mut system = system.split(' ');
        let (kind, options) = (system.next()?, system.nth(1)?);
        Some(Self { id, root, place, kind, options })
    }

    fn upper_directory(&self) -> Option<String> {
        let upper = self.options.split(',').find_map(|option| option.strip_prefix("upperdir="))?;
        // Blanks, commas and the like are written as three octal digits.
        (!upper.contains('\\')).then(|| upper.to_owned())
    }
}

/// Returns whether an upper directory that is invisible inside a container is on a safe file system: the one
/// that holds the engine's own files, which are mounted in every container and kept in the same directory,
/// such as `/var/lib/docker`.
fn is_safe_beside(upper: &str, mounts: &str) -> bool {
    let of_engine = |mount: &Mount<'_>| {
        let engine = mount.root.split_once("/containers/").map(|(engine, _)| engine);
        let name = engine.and_then(|engine| engine.rsplit('/').next());
        OF_ENGINE.contains(&mount.place)
            && name.is_some_and(|name| !name.is_empty() && upper.split('/').any(|of| of == name))
    };
    Mount::find(mounts, of_engine)
        .is_some_and(|mount| SAFE.iter().any(|(_, name)| *name == mount.kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 0:44 / / rw,relatime master:1 - overlay overlay rw,lowerdir=/l/A:/l/B,upperdir=/var/lib/docker/overlay2/x/diff,workdir=/w
30 22 8:1 /var/lib/docker/containers/c/hosts /etc/hosts rw - ext4 /dev/sda1 rw
31 22 0:50 / /dev/shm rw shared:2 - tmpfs shm rw,size=65536k
bad line
";

    #[test]
    fn an_overlay_is_as_safe_as_the_file_system_of_its_upper_directory() {
        let root = Mount::find(MOUNTS, |mount| mount.id == 22).unwrap();
        assert_eq!((root.kind, root.place), ("overlay", "/"));
        let upper = root.upper_directory().unwrap();
        assert_eq!(upper, "/var/lib/docker/overlay2/x/diff");
        assert!(is_safe_beside(&upper, MOUNTS));
        assert!(!is_safe_beside(&upper, &MOUNTS.replace("ext4", "btrfs")));
        assert!(!is_safe_beside("/var/lib/containerd/x/fs", MOUNTS), "another directory");
        let other = MOUNTS.replace("/docker/containers/c/hosts", "/kubelet/pods/c/etc-hosts");
        assert!(!is_safe_beside(&upper, &other), "a file of another program");
        assert!(!is_safe_beside(&upper, ""));
        assert!(Mount::find(MOUNTS, |mount| mount.id == 31).unwrap().upper_directory().is_none());
    }

    #[test]
    fn a_file_knows_its_mount() {
        let file = tempfile::tempfile().unwrap();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let id = mount_id(&file).unwrap();
        assert!(Mount::find(&mounts, |mount| mount.id == id).is_some());
        let error = expect_safe(&File::open("/proc/self/status").unwrap()).unwrap_err();
        assert!(error.contains("proc"), "{error}");
    }
}
