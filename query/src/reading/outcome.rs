//! How reading a thread ended: everything that could be read was read, and what is wrong is kept.

use std::ops::{ControlFlow, Range};

use flow_codec::read::{Content, Tail, ThreadFile};
use flow_codec::scan::Damage;
use flow_codec::{Error, Offset};

use super::Listener;

/// Whether a result has everything that was recorded. What is missing or damaged was reported to the [`Listener`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Soundness {
    /// Nothing is missing.
    #[default]
    Whole,
    /// Something is missing; the rest is right.
    Partial,
    /// Something is damaged; the rest is right.
    Damaged,
}

impl Soundness {
    /// Returns the worse of two.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.max(other)
    }

    /// Reports what was skipped because it is damaged. Returns whether that is nothing.
    #[must_use]
    pub fn skipping<'e>(
        damage: impl IntoIterator<Item = &'e Error>,
        listener: &impl Listener,
    ) -> Self {
        let mut soundness = Self::Whole;
        for error in damage {
            listener.damage(error);
            soundness = Self::Damaged;
        }
        soundness
    }
}

/// How the reading of a thread file ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ending {
    /// At its end, after a whole record.
    #[default]
    Whole,
    /// At its end, inside a record that begins here.
    Truncated(Offset),
    /// At an I/O error.
    Failed,
    /// Before its end, because the visitor stopped.
    Stopped,
}

impl From<Tail> for Ending {
    fn from(tail: Tail) -> Self {
        match tail {
            Tail::Complete => Self::Whole,
            Tail::Truncated { offset } => Self::Truncated(offset),
        }
    }
}

/// If a file has more places of damage than this, the others are only counted.
const NAMED_DAMAGE: usize = 8;

/// How the reading of a thread file went: how it ended, and what was damaged.
#[derive(Debug, Default)]
pub struct Reading {
    ending: Ending,
    /// The errors, in order. Everything in between was read.
    damage: Vec<Error>,
    /// The number of further places of damage.
    more_damage: u64,
    /// The error in the marks, if they were read. Later marks are unknown.
    marks: Option<Error>,
    non_canonical: u64,
}

impl Reading {
    /// Nothing can be read.
    #[doc(hidden)]
    pub fn failed(error: Error) -> Self {
        Self { damage: vec![error], ..Self::ended(Ending::Failed) }
    }

    /// A sound thread that was read up to here.
    #[doc(hidden)]
    pub fn ended(ending: impl Into<Ending>) -> Self {
        Self { ending: ending.into(), ..Self::default() }
    }

    /// Returns how it ended.
    #[doc(hidden)]
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// Sets how it ended.
    #[doc(hidden)]
    pub fn set_ending(&mut self, ending: impl Into<Ending>) {
        self.ending = ending.into();
    }

    /// Keeps the error in the marks, if there is one. Later marks are unknown.
    #[doc(hidden)]
    pub fn add_marks(&mut self, damage: Option<Error>) {
        self.marks = self.marks.take().or(damage);
    }

    /// Sets the number of records that flow would have written differently.
    pub(super) fn set_non_canonical(&mut self, records: u64) {
        self.non_canonical = records;
    }

    /// Returns the number of records that flow would have written differently, if they were read one by one.
    pub(crate) fn non_canonical(&self) -> u64 {
        self.non_canonical
    }

    /// Notes how the events end, and the error of the marks.
    #[doc(hidden)]
    pub fn end(&mut self, tail: Tail, marks: Option<Error>) {
        if self.ending != Ending::Failed {
            self.ending = tail.into();
        }
        self.add_marks(marks);
    }

    /// Everything was read except these places.
    #[doc(hidden)]
    pub fn skipped(file: &ThreadFile, damage: &Damage) -> Self {
        let error = |place: &Range<Offset>| {
            let Range { start: offset, end: next } = *place;
            Error::OversizedNumber { path: file.path(), offset, next }
        };
        let more = damage.places().len().saturating_sub(NAMED_DAMAGE) as u64;
        let places = damage.places().iter().take(NAMED_DAMAGE).map(error).collect();
        Self { damage: places, more_damage: damage.more() + more, ..Self::default() }
    }

    /// Everything was read except these places, and a journal that does not fit to the end of the file.
    #[doc(hidden)]
    pub fn of_content(file: &ThreadFile, damage: &Damage, content: &Content) -> Self {
        let mut reading = Self::skipped(file, damage);
        reading.damage.extend(content.gap(file));
        reading
    }

    /// Adds errors of an earlier reading, of the events before.
    #[doc(hidden)]
    pub fn following(mut self, before: Self) -> Self {
        self.damage.splice(..0, before.damage);
        self.more_damage = self.more_damage.saturating_add(before.more_damage);
        self
    }

    /// Keeps an error. Returns whether reading can continue after it.
    #[doc(hidden)]
    pub fn note(&mut self, error: Error) -> ControlFlow<()> {
        let flow = match error {
            Error::Io { .. } => {
                self.ending = Ending::Failed;
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        };
        if self.damage.len() < NAMED_DAMAGE || flow == ControlFlow::Break(()) {
            self.damage.push(error);
        } else {
            self.more_damage += 1;
        }
        flow
    }

    /// Returns whether there was no damage in the events.
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty()
    }

    /// Returns whether there was damage in the events or in the marks.
    pub fn is_damaged(&self) -> bool {
        !self.is_sound() || self.marks.is_some()
    }

    /// Returns whether there is nothing to report.
    pub(super) fn is_plain(&self) -> bool {
        !self.is_damaged() && self.ending == Ending::Whole
    }

    /// Returns the damage of the events as texts: the first places, and how many more there are.
    pub(crate) fn damage_texts(&self) -> impl Iterator<Item = String> {
        self.damage.iter().map(ToString::to_string).chain(self.more())
    }

    /// `… and 7 more places of damage`, if there are more than are named.
    fn more(&self) -> Option<String> {
        match self.more_damage {
            0 => None,
            1 => Some("… and 1 more place of damage".to_owned()),
            more => Some(format!("… and {more} more places of damage")),
        }
    }

    /// Reports what is wrong, if anything is.
    pub fn report(&self, file: &ThreadFile, listener: &impl Listener) -> Soundness {
        let soundness = Soundness::skipping(&self.damage, listener);
        if let Some(more) = self.more() {
            listener.message(&format!("{}: {more}", file.path().display()));
        }
        if let Some(error) = &self.marks {
            listener.message(&format!("{error}; later times are unknown"));
        }
        match self.ending {
            _ if self.is_damaged() => Soundness::Damaged,
            Ending::Truncated(offset) => {
                let path = file.path();
                listener.message(&format!(
                    "{}: ends inside a record at offset {offset}; everything before it was read",
                    path.display()
                ));
                Soundness::Partial
            }
            Ending::Whole | Ending::Stopped | Ending::Failed => soundness,
        }
    }
}
