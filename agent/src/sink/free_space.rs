//! Ends a recording before the disk is full, because others need it too.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use flow_options::MinFree;

use super::SinkError;

/// The free space is read again after this many bytes.
const STEP_BYTES: u64 = 8 << 20;
/// The least that [`MinFree::Default`] leaves of a large disk.
const DEFAULT_BYTES: u64 = 1 << 30;
/// What it leaves in percent.
const DEFAULT_PERCENT: u64 = 5;

/// How much of a disk must stay free.
#[derive(Debug)]
pub(super) struct FreeSpace {
    path: PathBuf,
    least: u64,
    written: AtomicU64,
}

impl FreeSpace {
    /// For the disk with this directory; `None` if all of it may be used, or if nothing is known about it.
    pub(super) fn of(path: &Path, wanted: MinFree) -> Option<Self> {
        let (total, free) = space(path)?;
        let least = match wanted {
            MinFree::None => return None,
            MinFree::Bytes(bytes) => bytes,
            MinFree::Percent(percent) => part(total, percent),
            MinFree::Default => default_least(total, free),
        };
        Some(Self { path: path.to_path_buf(), least, written: AtomicU64::new(0) })
    }

    /// Counts bytes that are about to be written, and reads the free space now and then.
    pub(super) fn check(&self, bytes: usize) -> Result<(), SinkError> {
        let before = self.written.fetch_add(bytes as u64, Ordering::Relaxed);
        let after = before.saturating_add(bytes as u64);
        if before / STEP_BYTES == after / STEP_BYTES { Ok(()) } else { self.read() }
    }

    /// Reads the free space.
    pub(super) fn read(&self) -> Result<(), SinkError> {
        match space(&self.path) {
            Some((_, free)) if free < self.least => Err(SinkError::limit(format!(
                "the disk has {} left, less than min-free, {} (the option min-free sets another limit)",
                in_units(free),
                in_units(self.least)
            ))),
            _ => Ok(()),
        }
    }
}

/// 5 % and at least 1 GB. On a disk that has not much more than that, half of what is free: something can be recorded
/// everywhere.
fn default_least(total: u64, free: u64) -> u64 {
    part(total, DEFAULT_PERCENT).max(DEFAULT_BYTES).min(free / 2)
}

fn part(total: u64, percent: u64) -> u64 {
    total / 100 * percent
}

/// The bytes of the disk, and those that are free for this user.
fn space(path: &Path) -> Option<(u64, u64)> {
    let found = rustix::fs::statvfs(path).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Some((bytes(found.f_blocks), bytes(found.f_bavail)))
}

/// `20 GB`, `1.5 MB`: powers of 1024.
pub(super) fn in_units(bytes: u64) -> String {
    let units = [("GB", 30), ("MB", 20), ("KB", 10)];
    let unit = units.into_iter().find(|(_, shift)| bytes >> shift > 0);
    let Some((unit, shift)) = unit else { return format!("{bytes} B") };
    let (whole, rest) = (bytes >> shift, bytes & ((1 << shift) - 1));
    match (rest * 10) >> shift {
        0 => format!("{whole} {unit}"),
        tenths => format!("{whole}.{tenths} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_leaves_some_of_every_disk() {
        const GB: u64 = 1 << 30;
        assert_eq!(default_least(1000 * GB, 500 * GB) / GB, 50, "5 % of a large disk");
        assert_eq!(default_least(10 * GB, 5 * GB), GB, "1 GB of a small one");
        assert_eq!(default_least(1000 * GB, 10 * GB), 5 * GB, "half of what is left");
        assert_eq!(default_least(1 << 16, 1 << 15), 1 << 14);
    }

    #[test]
    fn the_free_space_is_read_after_each_step() {
        let dir = tempfile::tempdir().unwrap();
        let of = |wanted| FreeSpace::of(dir.path(), wanted);
        assert!(of(MinFree::None).is_none());
        assert!(of(MinFree::Default).unwrap().check(1 << 30).is_ok());
        let all = of(MinFree::Bytes(u64::MAX)).unwrap();
        assert!(all.check(100).is_ok(), "not read");
        let error = all.check(8 << 20).unwrap_err();
        assert!(error.to_string().contains(" left, less than min-free, "), "{error}");
        assert!(all.check(100).is_ok(), "not read");
        assert!(of(MinFree::Percent(100)).unwrap().read().is_err(), "nothing may be used");
    }
}
