//! Names of directories and files.

/// Replaces `%p` (process), `%t` (start time), `%h` (host) and `%%` in the `out` option.
#[must_use]
pub fn expand(out: &str) -> String {
    let mut path = String::with_capacity(out.len());
    let mut chars = out.chars();
    while let Some(c) = chars.next() {
        match c {
            '%' => match chars.next() {
                Some('p') => path.push_str(&std::process::id().to_string()),
                Some('t') => path.push_str(&start_time()),
                Some('h') => path.push_str(&host()),
                Some('%') => path.push('%'),
                Some(other) => path.extend(['%', other]),
                None => path.push('%'),
            },
            c => path.push(c),
        }
    }
    path
}

/// The name of this host.
#[must_use]
pub fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The current time, as used in file names: `20260131T235959Z`.
fn start_time() -> String {
    humantime::format_rfc3339_seconds(std::time::SystemTime::now())
        .to_string()
        .replace(['-', ':'], "")
}

/// A name for a file or directory of this process.
pub(in crate::sink) fn unique_name(prefix: &str) -> String {
    format!("{prefix}{}-{}", std::process::id(), start_time())
}
