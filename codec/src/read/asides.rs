//! What marks say beside times, for those that read events in order.

use std::io::Read;

use super::{Marks, Parts};
use crate::Result;
use crate::format::marks::{Mark, Position};

/// Hands on the marks of a thread that are no times, as its events are read, and knows which exits were
/// by exception.
#[derive(Debug)]
pub struct Asides<R> {
    marks: Marks<R>,
    /// What is read, if not all.
    parts: Option<Parts>,
    next: Option<(Position, Mark)>,
    is_open: bool,
    /// Exits that were by exception: the first one, and how many of this run and by what.
    unwound: Option<(Position, u64, Option<String>)>,
}

impl<R: Read> Asides<R> {
    /// Of these marks. Of parts only what stands between two of their events: what is said where a part begins
    /// or ends may be said of its neighbour.
    pub fn new(marks: Marks<R>, parts: Option<Parts>) -> Self {
        Self { marks, parts, next: None, is_open: true, unwound: None }
    }

    /// The next mark that stands before the event at `position`, and where: to be asked until there is none.
    /// Exits by exception and times are not among them.
    ///
    /// # Errors
    /// The marks cannot be read further: then there are no more.
    pub fn next_before(&mut self, position: Position) -> Result<Option<(Position, Mark)>> {
        loop {
            if self.next.is_none() && self.is_open {
                self.next = self.marks.next_mark().inspect_err(|_| self.is_open = false)?;
                self.is_open = self.next.is_some();
            }
            match self.next.take_if(|(at, _)| *at <= position) {
                None => return Ok(None),
                Some((_, Mark::Time { .. } | Mark::Instant { .. } | Mark::Unknown(_))) => {}
                Some((at, Mark::Unwound { exits, thrown })) => {
                    self.unwound = Some((at, exits.get(), thrown));
                }
                Some((at, mark)) if self.is_inside(at) => return Ok(Some((at, mark))),
                Some(_) => {}
            }
        }
    }

    fn is_inside(&self, at: Position) -> bool {
        let Some(parts) = &self.parts else { return true };
        let is_in = |start, end| start < at && at < end;
        parts.ranges.iter().any(|range| *range == Parts::ALL || is_in(range.start, range.end))
    }

    /// Whether the exit at `position` was by exception, and the class of that where it is known; when
    /// [`next_before`](Self::next_before) it has answered that there is nothing more.
    #[must_use]
    pub fn unwound(&self, position: Position) -> Option<Option<&str>> {
        let (first, exits, thrown) = self.unwound.as_ref()?;
        let is_it = first.offset == position.offset
            && position.exits.checked_sub(first.exits).is_some_and(|number| number < *exits);
        is_it.then_some(thrown.as_deref())
    }

    /// The first exit behind this one of the same run that is known to be another kind of exit: up to it
    /// nothing has to be asked.
    #[must_use]
    pub fn until(&self) -> Option<Position> {
        self.next.as_ref().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;
    use std::path::Path;

    use super::*;
    use crate::Offset;
    use crate::format::marks::{HEADER, MarkEncoder};

    #[test]
    fn marks_come_before_their_events_and_exits_by_exception_are_known() {
        let position = |offset, exits| Position { offset: Offset::new(offset), exits };
        let two = NonZeroU64::new(2).unwrap();
        let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
        for (at, mark) in [
            (position(0, 0), Mark::Note("first".into())),
            (position(1, 0), Mark::Note("one".into())),
            (position(1, 0), Mark::Time { by_ns: 1, from_ns: 1 }),
            (position(4, 1), Mark::Unwound { exits: two, thrown: Some("x.Oops".into()) }),
            (position(4, 5), Mark::Unwound { exits: two, thrown: None }),
            (position(9, 0), Mark::Paused),
        ] {
            encoder.encode(at, &mark, &mut bytes);
        }
        let marks = || Marks::new(&bytes[..], Path::new(""));
        // What is said before the first event of a whole thread belongs to it, but not to a part that begins there.
        let part = |end| Parts { title: String::new(), ranges: [Parts::ALL.start..end].into() };
        for (end, notes) in [(Parts::ALL.end, 2), (position(2, 0), 1)] {
            let mut asides = Asides::new(marks(), Some(part(end)));
            for _ in 0..notes {
                assert!(asides.next_before(position(1, 0)).unwrap().is_some());
            }
            assert_eq!(asides.next_before(position(1, 0)).unwrap(), None);
        }
        let mut asides = Asides::new(marks(), None);
        let first = (position(0, 0), Mark::Note("first".into()));
        assert_eq!(asides.next_before(position(0, 0)).unwrap(), Some(first));
        let note = (position(1, 0), Mark::Note("one".into()));
        assert_eq!(asides.next_before(position(3, 0)).unwrap(), Some(note));
        let mut unwound = Vec::new();
        for exit in 0..8 {
            assert_eq!(asides.next_before(position(4, exit)).unwrap(), None);
            unwound.push(
                asides.unwound(position(4, exit)).map(|class| class.unwrap_or("?").to_owned()),
            );
        }
        let [oops, unknown] = [Some("x.Oops".to_owned()), Some("?".to_owned())];
        let expected = [&None, &oops, &oops, &None, &None, &unknown, &unknown, &None];
        assert_eq!(unwound.iter().collect::<Vec<_>>(), expected);
        let paused = (position(9, 0), Mark::Paused);
        assert_eq!(asides.next_before(position(10, 0)).unwrap(), Some(paused));
        assert_eq!(asides.next_before(position(11, 0)).unwrap(), None);
    }
}
