//! Standard output that shares a terminal with a bar.

use std::borrow::Cow;
use std::io::{self, Write};

use indicatif::ProgressBar;

use super::super::escape::JsonEscaper;
use super::fit::{columns, fit};
use super::links::Links;
use super::paint::paint;

/// How text for people looks.
#[derive(Clone, Copy, Debug)]
pub(in crate::output) struct Look {
    /// Whether lines have colours.
    pub(in crate::output) styled: bool,
    /// The width to which lines are shortened, if it does not depend on the terminal.
    pub(in crate::output) width: Option<usize>,
}

/// The kind of text that is written.
#[derive(Debug)]
enum Kind {
    /// Any bytes, written as they are.
    Bytes,
    /// Text for people, written with the [`Look`].
    Text,
    /// JSON, escaped so that it is harmless to a terminal.
    Json(JsonEscaper),
}

/// Writes results. If they go to a terminal, the bar disappears before the first result and does not return, because
/// both would be on one line.
#[derive(Debug)]
pub(in crate::output) struct Screen<W> {
    inner: W,
    is_terminal: bool,
    look: Look,
    kind: Kind,
    /// The start of a line that is not complete yet.
    line: Vec<u8>,
    pub(in crate::output) links: Links,
    bar: Option<ProgressBar>,
}

impl<W> Screen<W> {
    pub(in crate::output) fn new(inner: W, is_terminal: bool, look: Look) -> Self {
        let (line, links) = (Vec::new(), Links::default());
        Self { inner, is_terminal, look, kind: Kind::Bytes, line, links, bar: None }
    }

    /// From now on, lines are shortened to the width of the terminal, and have colours.
    pub(in crate::output) fn show_to_people(&mut self) {
        self.kind = Kind::Text;
    }

    /// From now on, results are JSON, in which nothing acts on a terminal.
    pub(in crate::output) fn show_json(&mut self) {
        self.kind = Kind::Json(JsonEscaper::default());
    }

    /// The width of lines, if it is limited.
    pub(in crate::output) fn columns(&self) -> Option<usize> {
        self.look.width.or_else(|| self.is_terminal.then(columns).flatten())
    }

    /// Sets the bar that is on the same terminal.
    pub(in crate::output) fn share_with(&mut self, bar: &ProgressBar) {
        self.bar = Some(bar.clone());
    }

    /// Runs an action that writes to the terminal, with the bar hidden.
    pub(in crate::output) fn without_bar(&self, action: impl FnOnce()) {
        match self.bar.as_ref().filter(|bar| !bar.is_finished()) {
            Some(bar) => bar.suspend(action),
            None => action(),
        }
    }
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        if self.is_terminal
            && let Some(bar) = self.bar.take_if(|bar| !bar.is_finished())
        {
            bar.finish_and_clear();
        }
        let (columns, styled) = (self.columns(), self.look.styled);
        match &mut self.kind {
            Kind::Json(escaper) => {
                self.inner.write_all(&escaper.escape(buffer))?;
                return Ok(buffer.len());
            }
            Kind::Text if columns.is_some() || styled => {}
            _ => return self.inner.write(buffer),
        }
        for part in buffer.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if let Some(line) = self.line.strip_suffix(b"\n") {
                let line = String::from_utf8_lossy(line);
                let fitted = columns.map_or(Cow::Borrowed(&*line), |columns| fit(&line, columns));
                let painted = match styled {
                    true => paint(&fitted, &self.links.of_line(&line, &fitted)),
                    false => fitted,
                };
                writeln!(self.inner, "{painted}")?;
                self.line.clear();
            }
        }
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.write_all(&std::mem::take(&mut self.line))?;
        if let Kind::Json(escaper) = &mut self.kind {
            self.inner.write_all(&escaper.rest())?;
        }
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufWriter;

    use super::*;

    #[test]
    fn a_bar_disappears_when_results_reach_a_terminal_and_not_before() {
        for is_terminal in [true, false] {
            let bar = ProgressBar::hidden();
            let mut screen =
                Screen::new(Vec::new(), is_terminal, Look { styled: false, width: None });
            screen.share_with(&bar);
            let mut out = BufWriter::new(screen);
            out.write_all(b"thread 1\n").unwrap();
            assert!(!bar.is_finished());
            out.flush().unwrap();
            assert_eq!(bar.is_finished(), is_terminal);
            assert_eq!(out.get_ref().inner, b"thread 1\n");
        }
    }
}
