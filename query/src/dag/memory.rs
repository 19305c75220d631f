//! How much memory the shapes of threads may take.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use super::MAX_SIZE;

/// Divisor: the shapes of threads may take an eighth of the available memory. Open frames and joined shapes may take as much again.
const PART: u64 = 8;
/// The most words of shapes that can be numbered.
const MOST_WORDS: usize = 1 << 31;
/// The most memory for the shapes of a recording that is being made, in bytes.
const MOST_WHILE_RECORDING: u64 = 1 << 30;

static MOST: OnceLock<usize> = OnceLock::new();

/// Lets the shapes of all threads that are held at the same time take at most this many bytes in this process. Only the first limit
/// counts, and none once shapes were read.
pub fn limit_memory(bytes: u64) {
    let _ = MOST.set(words_of(bytes));
}

/// Returns the most words for the shapes of all threads that are held at the same time, and as many for all shapes that are
/// joined: as [limited](limit_memory), or else [`MAX_SIZE`], or more if there is memory for them when shapes are first read.
#[must_use]
pub fn most_words() -> usize {
    *MOST.get_or_init(|| words_of(available().unwrap_or(0) / PART).max(MAX_SIZE))
}

/// Returns how much memory the shapes of a recording may take while it is made, in bytes: an eighth of what is available now, with
/// the `used` bytes that they take, but [`MAX_SIZE`] words at least, and at most 1 GiB.
#[must_use]
pub fn most_bytes_while_recording(used: u64) -> u64 {
    let least = (MAX_SIZE * size_of::<u64>()) as u64;
    let part = available().unwrap_or(0).saturating_add(used) / PART;
    part.clamp(least, MOST_WHILE_RECORDING)
}

/// Returns how many words of shapes fit in this memory.
#[must_use]
pub fn words_of(bytes: u64) -> usize {
    let words = usize::try_from(bytes / size_of::<u64>() as u64);
    words.map_or(MOST_WORDS, |words| words.min(MOST_WORDS))
}

/// Returns the memory that this process may still use, in bytes: of the machine, and of its control groups if they have a limit.
fn available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let of_machine = of_meminfo(&text)?;
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_groups = of_groups(Path::new("/sys/fs/cgroup"), &groups);
    Some(of_groups.map_or(of_machine, |of_groups| of_machine.min(of_groups)))
}

/// Returns the least that the groups of a process, and all that contain them, leave of their limits; `None` without a limit.
/// `groups` is the text of `/proc/self/cgroup`. In a container, the path of a group may not exist; the outermost group is then
/// that of the container.
fn of_groups(mounted: &Path, groups: &str) -> Option<u64> {
    let left = |line: &str| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        let (root, names) = match controllers {
            "" => (mounted.to_path_buf(), ["memory.max", "memory.current"]),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                (mounted.join("memory"), ["memory.limit_in_bytes", "memory.usage_in_bytes"])
            }
            _ => return None,
        };
        let inner = root.join(group.trim_start_matches('/'));
        let outer = inner.ancestors().take_while(|group| group.starts_with(&root));
        let left = outer.filter_map(|group| {
            let number = |name| fs::read_to_string(group.join(name)).ok()?.trim().parse().ok();
            let [most, used]: [Option<u64>; 2] = names.map(number);
            Some(most?.saturating_sub(used.unwrap_or(0)))
        });
        left.min()
    };
    groups.lines().filter_map(left).min()
}

fn of_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_may_take_a_part_of_the_available_memory() {
        let text = "MemTotal:       24000000 kB\nMemAvailable:   16000000 kB\n";
        assert_eq!(of_meminfo(text), Some(16_384_000_000));
        assert_eq!(of_meminfo("MemTotal: 5 kB\n"), None);
        assert!((MAX_SIZE..=MOST_WORDS).contains(&most_words()));
        assert_eq!((words_of(80), words_of(u64::MAX)), (10, MOST_WORDS));
    }

    #[test]
    fn the_limit_of_an_outer_group_counts() {
        let dir = tempfile::tempdir().unwrap();
        let write = |group: &str, names: [&str; 2], [most, used]: [&str; 2]| {
            let group = dir.path().join(group);
            fs::create_dir_all(&group).unwrap();
            fs::write(group.join(names[0]), most).unwrap();
            fs::write(group.join(names[1]), used).unwrap();
        };
        let names = ["memory.max", "memory.current"];
        let left = |groups: &str| of_groups(dir.path(), groups);
        write("a.slice/b.slice/c.scope", names, ["max\n", "5\n"]);
        assert_eq!(left("0::/a.slice/b.slice/c.scope\n"), None);
        write("a.slice", names, ["1000\n", "300\n"]);
        assert_eq!(left("0::/a.slice/b.slice/c.scope\n"), Some(700));
        assert_eq!(left("0::/other\n"), None);
        write("a.slice/b.slice", names, ["500\n", "100\n"]);
        assert_eq!(left("0::/a.slice/b.slice/c.scope\n"), Some(400));
        write("a.slice/b.slice/c.scope", names, ["2000\n", "5\n"]);
        assert_eq!(left("0::/a.slice/b.slice/c.scope\n"), Some(400));
        // A group that is more than full.
        write("a.slice/b.slice", names, ["500\n", "600\n"]);
        assert_eq!(left("0::/a.slice/b.slice/c.scope\n"), Some(0));
        // In a container, the paths are those of the machine.
        write("", names, ["90\n", "10\n"]);
        assert_eq!(left("0::/../../other\n"), Some(80));
        // The first version has a hierarchy for memory.
        let names = ["memory.limit_in_bytes", "memory.usage_in_bytes"];
        write("memory/x", names, ["70\n", "30\n"]);
        write("memory/x/y", names, ["9223372036854771712\n", "30\n"]);
        assert_eq!(left("5:cpu,cpuacct:/x\n4:memory:/x/y\n"), Some(40));
    }
}
