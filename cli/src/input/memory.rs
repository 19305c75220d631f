//! Limits the memory of verbs for what grows with the trace.

use std::fs;
use std::sync::OnceLock;

use flow_codec::dag::MAX_SIZE;

/// Divisor: the shapes of a thread may take an eighth of the available memory. Open frames and joined shapes may take as much again.
const PART: u64 = 8;
/// The most words of shapes that can be numbered.
const MOST_WORDS: usize = 1 << 31;

static MOST: OnceLock<usize> = OnceLock::new();

/// Sets how many bytes the shapes of a thread may take. Takes effect before [`most_words`] is first called.
pub(crate) fn set_most(bytes: u64) {
    let _ = MOST.set(words(bytes).min(MOST_WORDS));
}

/// Returns the most words for the shapes of a thread, and for all shapes that are joined: as the user allows, or else
/// [`MAX_SIZE`], or more if there is memory for them.
pub(crate) fn most_words() -> usize {
    *MOST.get_or_init(|| words(available().unwrap_or(0) / PART).clamp(MAX_SIZE, MOST_WORDS))
}

fn words(bytes: u64) -> usize {
    usize::try_from(bytes / size_of::<u64>() as u64).unwrap_or(usize::MAX)
}

/// Returns the memory that processes may still use, in bytes: of the machine, and of the control group if it has a limit.
fn available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let of_machine = of_meminfo(&text)?;
    let number =
        |name| fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse().ok();
    let of_group = number("memory.max")
        .map(|most: u64| most.saturating_sub(number("memory.current").unwrap_or(0)));
    Some(of_group.map_or(of_machine, |of_group| of_machine.min(of_group)))
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
    }
}
