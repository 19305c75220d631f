//! How often lines were reached.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU64;

use flow_codec::MethodId;
use flow_codec::format::methods::MethodInfo;
use flow_codec::read::{EventKind, Methods, Stamp, TimelineEvent, Unwound, VisitTimeline};

/// Counts the lines of any number of threads, from their timelines [with lines](flow_codec::read::Timeline::with_lines).
/// Memory: 16 bytes for each open frame, and the result.
#[derive(Debug, Default)]
pub(crate) struct LineCounts<'t> {
    /// The versions of methods whose lines are recorded.
    known: HashMap<MethodId, Vec<&'t MethodInfo>>,
    reached: ReachedLines,
    /// The open frames, each with the version of its method.
    open: Vec<(MethodId, u16)>,
    unplaced: u64,
}

/// What was called and reached, by method and version.
pub(crate) type ReachedLines = HashMap<(MethodId, u16), MethodLines>;

/// A version of a method of which a call began or a line was reached.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct MethodLines {
    /// How many calls of it began.
    pub(crate) calls: u64,
    /// The count of each line that was reached.
    pub(crate) lines: BTreeMap<u16, u64>,
}

impl MethodLines {
    /// Adds what was called and reached elsewhere.
    pub(crate) fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        for (line, count) in &other.lines {
            let all = self.lines.entry(*line).or_default();
            *all = all.saturating_add(*count);
        }
    }
}

impl<'t> LineCounts<'t> {
    /// Begins with methods of which no line was reached yet.
    pub(crate) fn new(methods: &'t Methods) -> Self {
        let mut counts = Self::default();
        for (id, method) in methods.iter() {
            let versions: Vec<_> = method.versions().filter(|of| !of.lines.is_empty()).collect();
            if !versions.is_empty() {
                counts.known.insert(id, versions);
            }
        }
        counts
    }

    /// Ends a thread, or a range of it, after all its events.
    pub(crate) fn end_thread(&mut self) {
        self.open.clear();
    }

    /// Takes what was reached until now.
    pub(crate) fn take(&mut self) -> ReachedLines {
        std::mem::take(&mut self.reached)
    }

    /// The methods whose lines are recorded, each with its versions.
    pub(crate) fn known(&self) -> impl Iterator<Item = (MethodId, &'t MethodInfo)> {
        self.known.iter().flat_map(|(id, versions)| versions.iter().map(|info| (*id, *info)))
    }

    /// How many lines were reached by frames of which it is not known what they are: they were entered before recording
    /// began or was resumed.
    pub(crate) fn unplaced(&self) -> u64 {
        self.unplaced
    }

    /// The calls of a version of a method, if its lines are recorded.
    fn calls(&mut self, method: MethodId, version: u16) -> Option<&mut u64> {
        let versions = self.known.get(&method)?;
        let is_known = versions.iter().any(|known| known.version == version);
        is_known.then(|| &mut self.reached.entry((method, version)).or_default().calls)
    }

    /// Notes that the topmost frame, whose call was counted, is of this version.
    fn set_version(&mut self, version: u16) {
        let Some((method, known)) = self.open.last_mut() else { return };
        let (method, before) = (*method, std::mem::replace(known, version));
        if let Some(calls) = self.calls(method, before) {
            *calls = calls.saturating_sub(1);
        }
        if let Some(calls) = self.calls(method, version) {
            *calls += 1;
        }
    }

    /// Returns how often the topmost frame has reached a line. If the version is not known, because the frame was entered in a
    /// part that is not read, the line may be one of another version.
    fn count_of(&mut self, line: u16) -> Option<&mut u64> {
        let (method, version) = self.open.last()?;
        let versions = self.known.get(method)?;
        let has = |known: &&&MethodInfo| known.lines.binary_search(&line).is_ok();
        let own = versions.iter().find(|known| known.version == *version && has(known));
        let version = own.or_else(|| versions.iter().find(has))?.version;
        Some(self.reached.entry((*method, version)).or_default().lines.entry(line).or_default())
    }
}

impl VisitTimeline for LineCounts<'_> {
    #[inline]
    fn enter(&mut self, method: MethodId, _at: Stamp) -> bool {
        if let Some(calls) = self.calls(method, 0) {
            *calls += 1;
        }
        self.open.push((method, 0));
        true
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64, _at: Stamp, _unwound: Option<&Unwound>) -> bool {
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        self.open.truncate(self.open.len().saturating_sub(count));
        true
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        match event.kind {
            EventKind::Version(version) => self.set_version(version),
            EventKind::Line(line) => match self.count_of(line) {
                Some(count) => *count += 1,
                None => self.unplaced += 1,
            },
            _ => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow_codec::Offset;
    use flow_codec::format::marks::Position;
    use flow_codec::read::When;

    #[test]
    fn a_line_is_one_of_the_topmost_frame() {
        let id = |number| MethodId::new(number).unwrap();
        let at =
            Stamp { position: Position::before(Offset::new(0)), time: When::UNKNOWN, calls: 0 };
        let version = |version, lines: &[u16]| MethodInfo {
            version,
            lines: lines.to_vec(),
            ..MethodInfo::default()
        };
        let versions = [version(0, &[12, 13]), version(1, &[13, 14, 15])];
        let [first, second] = &versions;
        let known = [(1, vec![first]), (2, vec![first]), (4, vec![first, second])]
            .map(|(number, versions)| (id(number), versions))
            .into();
        let mut counts = LineCounts { known, ..LineCounts::default() };
        // Letters are lines from 12 on. A comma shows that the topmost frame is of the second version.
        for event in "a 1ab2a)a3a)bc))a 1b 4ab4,bc4abd)b))".chars() {
            match event {
                ',' => drop(counts.other(TimelineEvent {
                    position: at.position,
                    time: at.time,
                    calls: at.calls,
                    number: None,
                    kind: EventKind::Version(1),
                })),
                '1'..='9' => drop(counts.enter(id(event.to_digit(10).unwrap().into()), at)),
                ')' => drop(counts.exit(NonZeroU64::MIN, at, None)),
                ' ' => counts.end_thread(),
                line => {
                    let line = u16::try_from(u32::from(line) - u32::from('a') + 12).unwrap();
                    let Stamp { position, time, calls } = at;
                    let kind = EventKind::Line(line);
                    counts.other(TimelineEvent { position, time, calls, number: None, kind });
                }
            }
        }
        let unplaced = counts.unplaced();
        let reached = counts.take();
        let found = |method, version| {
            reached.get(&(id(method), version)).map(|of| (of.calls, of.lines.clone()))
        };
        assert_eq!(found(1, 0), Some((2, [(12, 2), (13, 3)].into())));
        assert_eq!(found(2, 0), Some((1, [(12, 1)].into())));
        // Before anything, in a method without lines, one that does not exist, after everything.
        assert_eq!((found(3, 0), unplaced), (None, 4));
        // A line that only the other version has counts for that version.
        assert_eq!(found(4, 0), Some((2, [(12, 2), (13, 2)].into())));
        assert_eq!(found(4, 1), Some((1, [(13, 2), (14, 1), (15, 1)].into())));
        assert_eq!((counts.take(), counts.unplaced()), (ReachedLines::new(), 4));
    }
}
