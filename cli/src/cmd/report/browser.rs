//! Opens a page in a browser.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::output::message;

/// How long an opener may take to fail. One that still runs is a browser.
const PATIENCE: Duration = Duration::from_secs(3);
const STEP: Duration = Duration::from_millis(20);
/// Opens a file with the program that the user's desktop has for it.
const DESKTOP_OPENER: &str = if cfg!(windows) {
    "explorer"
} else if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

/// Opens a page, and prints where it is. A machine without a browser is no failure.
pub(super) fn open(page: &Path) {
    let named = std::env::var("BROWSER").unwrap_or_default();
    let has_desktop = cfg!(any(windows, target_os = "macos"))
        || ["DISPLAY", "WAYLAND_DISPLAY"]
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    let place = page.display();
    let mut why = "no browser is known here (BROWSER names one)".to_owned();
    for words in commands(&named, has_desktop, page) {
        match started(&words) {
            Ok(()) => return message(&format!("the page is {place}, and opens in the browser")),
            Err(error) => {
                let program = words.first().map(|word| word.to_string_lossy().into_owned());
                why = format!("{} did not open it: {error}", program.unwrap_or_default());
            }
        }
    }
    message(&format!("the page is {place}; {why}"));
}

/// The commands to try, in order, as words: those that BROWSER names, separated by colons, each with `%s` for the page
/// or with the page at its end; then that of the desktop.
fn commands(named: &str, has_desktop: bool, page: &Path) -> Vec<Vec<OsString>> {
    let of_user = named.split(':').filter(|command| !command.trim().is_empty());
    of_user
        .chain(has_desktop.then_some(DESKTOP_OPENER))
        .map(|command| {
            let is_page = |word: &str| word == "%s";
            let word = |word: &str| if is_page(word) { page.into() } else { OsString::from(word) };
            let mut words: Vec<_> = command.split_whitespace().map(word).collect();
            if !command.split_whitespace().any(is_page) {
                words.push(page.into());
            }
            words
        })
        .collect()
}

/// Starts a command that lives on when flow ends. Fails if the command fails at once.
fn started(words: &[OsString]) -> io::Result<()> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C in the terminal is meant for flow.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    failure(&mut child).map_or(Ok(()), |text| Err(io::Error::other(text)))
}

/// Waits a little for a process. Returns how it failed, if it did.
fn failure(child: &mut Child) -> Option<String> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        match child.try_wait() {
            Ok(Some(status)) => return (!status.success()).then(|| status.to_string()),
            Ok(None) => std::thread::sleep(STEP),
            Err(error) => return Some(error.to_string()),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browser_of_the_user_comes_before_that_of_the_desktop() {
        let commands = |named, has_desktop| {
            let words = |words: Vec<OsString>| words.join(" ".as_ref()).into_string().unwrap();
            let found = commands(named, has_desktop, "/tmp/a b".as_ref());
            found.into_iter().map(words).collect::<Vec<_>>()
        };
        assert_eq!(
            commands("firefox --new-tab:lynx %s -x", true),
            [
                "firefox --new-tab /tmp/a b",
                "lynx /tmp/a b -x",
                &format!("{DESKTOP_OPENER} /tmp/a b")
            ]
        );
        assert_eq!(commands("", true), [format!("{DESKTOP_OPENER} /tmp/a b")]);
        assert!(commands(" : ", false).is_empty());
    }
}
