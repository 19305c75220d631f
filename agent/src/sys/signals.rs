//! Signals that end the JVM. Safe.

use std::fs;

/// HotSpot runs the handler of each signal in a thread of this name.
const HANDLERS: [&str; 3] = ["SIGTERM handler", "SIGINT handler", "SIGHUP handler"];

/// Returns whether the JVM handles a signal that ends it. Reads the names of all threads of this process, as the system has them.
pub(crate) fn is_signal_handled() -> bool {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return false };
    let mut names =
        threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    names.any(|name| HANDLERS.contains(&name.trim_end()))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_handler_is_known_by_the_name_of_its_thread() {
        assert!(!is_signal_handled());
        let handler = thread::Builder::new().name(HANDLERS[0].to_owned());
        assert!(handler.spawn(is_signal_handled).unwrap().join().unwrap());
    }
}
