//! Standard output, and messages on stderr.

use flow_query::reading::MOST_PATHS;
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::path::PathBuf;
use std::time::Duration;

use flow_codec::read::Methods;
use indicatif::ProgressBar;

use super::styled::links::{LinkTo, Links};
use super::styled::paint::Style;
use super::styled::screen::{Look, Screen};
use super::{ColorWhen, Format, escaped, grouped, plural};

const BUFFER_BYTES: usize = 128 * 1024;

/// `… 3 more threads left out (--max 40; 0 for all)`: the text of a [remark](Out::remark).
pub(crate) fn left_out(what: &str, max: impl Display) -> String {
    format!("… {what} left out (--max {max}; 0 for all)")
}

/// `… 3 calls on further paths not counted (…)`: the same of calls for whose paths there was no room.
pub(crate) fn beyond(calls: u64, what: &str) -> String {
    let (calls, most) = (plural(calls, "call"), grouped((MOST_PATHS - 1).into()));
    format!(
        "… {calls} on further paths not {what} (at most {most} are kept; --thread, --include and --exclude choose fewer)"
    )
}

/// Standard output, buffered.
#[derive(Debug)]
pub(crate) struct Out {
    writer: BufWriter<Screen<StdoutLock<'static>>>,
    styled: bool,
    terminal: bool,
}

impl Out {
    /// Locks standard output. Text is shortened to a `width`, by default that of a terminal.
    pub(crate) fn new(color: ColorWhen, width: Option<usize>) -> Self {
        let terminal = io::stdout().is_terminal();
        let styled = match color {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => terminal && environment_has_colors(),
        };
        let screen = Screen::new(io::stdout().lock(), terminal, Look { styled, width });
        Self { writer: BufWriter::with_capacity(BUFFER_BYTES, screen), styled, terminal }
    }

    /// From now on, lines that go to a terminal are shortened to its width, and have colours and links, by default those
    /// that suit the terminal.
    pub(crate) fn show_to_people(&mut self, link_to: Option<LinkTo>) {
        let screen = self.writer.get_mut();
        screen.show_to_people();
        if self.styled {
            screen.links = Links::new(link_to.unwrap_or_else(LinkTo::of_terminal));
        }
    }

    /// From now on, results are JSON: what could act on a terminal is escaped in it, wherever it comes from.
    pub(crate) fn show_json(&mut self) {
        self.writer.get_mut().show_json();
    }

    /// Returns whether names of methods may have links to source files.
    pub(crate) fn has_links(&self) -> bool {
        self.writer.get_ref().links.are_on()
    }

    /// From now on, the names of these methods have links to the files that `find` returns for their paths. Methods that have
    /// a link already keep it.
    pub(crate) fn link(&mut self, methods: &Methods, find: impl FnMut(&str) -> Option<PathBuf>) {
        self.writer.get_mut().links.add(methods, find);
    }

    /// Returns whether results have colours.
    pub(super) fn is_styled(&self) -> bool {
        self.styled
    }

    /// The width of lines, if it is limited.
    pub(crate) fn columns(&self) -> Option<usize> {
        self.writer.get_ref().columns()
    }

    /// Returns whether results go to a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Shares the terminal with a bar, which is shown until results appear.
    pub(super) fn share_with(&mut self, bar: &ProgressBar) {
        self.writer.get_mut().share_with(bar);
    }

    /// Prints a heading, in bold if allowed.
    pub(crate) fn heading(&mut self, text: &str) -> io::Result<()> {
        let text = escaped(text);
        if self.styled {
            writeln!(self, "{}", Style::Bold.of(&text))
        } else {
            writeln!(self, "{text}")
        }
    }

    /// Prints a remark on the results. In text it is one of the lines, with `… ` in front if something is
    /// left out. JSON and CSV are read by programs, so there it goes to stderr, with the `place` it is about.
    pub(crate) fn remark(
        &mut self,
        format: Format,
        place: Option<&str>,
        text: &str,
    ) -> io::Result<()> {
        if format == Format::Text {
            return writeln!(self, "{}", escaped(text));
        }
        let text = text.trim_start_matches([' ', '…']);
        let place = place.map_or(String::new(), |place| format!("{place}: "));
        self.note(&format!("{place}{text}"))
    }

    /// Prints a message about the results to stderr.
    pub(crate) fn note(&mut self, text: &str) -> io::Result<()> {
        // On a terminal that shows both, it follows the results it is about.
        if self.terminal {
            self.flush()?;
        }
        self.writer.get_ref().without_bar(|| message(text));
        Ok(())
    }

    /// Waits until the timeout, or until the reader of the output is gone. Returns whether there still is a reader. A
    /// program that waits for events has nothing to write, and would not notice otherwise.
    #[cfg(unix)]
    pub(crate) fn wait(&self, timeout: Duration) -> io::Result<bool> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        use rustix::io::Errno;

        let timeout = Timespec::try_from(timeout).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        let stdout = io::stdout();
        let mut closed = [PollFd::new(&stdout, PollFlags::empty())];
        match poll(&mut closed, Some(&timeout)) {
            Ok(ready) => Ok(ready == 0),
            Err(Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the timeout. Windows does not report that a reader is gone until something is written.
    #[cfg(windows)]
    pub(crate) fn wait(&self, timeout: Duration) -> io::Result<bool> {
        std::thread::sleep(timeout);
        Ok(true)
    }

    /// Flushes the buffer.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Write for Out {
    #[inline]
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.writer.write(buffer)
    }

    #[inline]
    fn write_all(&mut self, buffer: &[u8]) -> io::Result<()> {
        self.writer.write_all(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Returns whether the environment allows colours on a terminal.
fn environment_has_colors() -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    // Consoles of Windows know them since 2016, but only if a program asks for them.
    #[cfg(windows)]
    let dumb = dumb || !ratatui::crossterm::ansi_support::supports_ansi();
    !no_color && !dumb
}

/// Prints a message to stderr, in red on a terminal.
pub(crate) fn alarm(text: &str) {
    if !(io::stderr().is_terminal() && environment_has_colors()) {
        return message(text);
    }
    let line = format!("flow: {}\n", Style::Red.of(&escaped(text)));
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Prints a message to stderr, at once: others may write there too, or read what is there already.
pub(crate) fn message(text: &str) {
    let line = format!("flow: {}\n", escaped(text));
    // If stderr is closed, there is no other place to report to.
    let _ = io::stderr().write_all(line.as_bytes());
}
