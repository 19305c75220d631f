//! How often lines were reached.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU64;

use flow_codec::MethodId;
use flow_codec::format::methods::MethodInfo;
use flow_codec::read::{EventKind, Methods, Stamp, TimelineEvent, Unwound, VisitTimeline};

/// Counts the lines of any number of threads, from their timelines [with lines](flow_codec::read::Timeline::with_lines).
/// Memory: 16 bytes for each open frame, and the result.
#[derive(Debug, Default)]
pub(crate) struct LineCounts {
    /// For each method, its versions.
    methods: HashMap<MethodId, Vec<MethodLines>>,
    /// The open frames, each with the version of its method.
    open: Vec<(MethodId, u16)>,
    unplaced: u64,
}

/// A version of a method whose lines are recorded.
#[derive(Clone, Default, Debug)]
pub(crate) struct MethodLines {
    /// The version of the method.
    pub(crate) version: u16,
    /// How many calls of it began.
    pub(crate) calls: u64,
    /// How often each of its lines was reached: also those that never were.
    pub(crate) lines: BTreeMap<u16, u64>,
}

impl LineCounts {
    /// Begins with the lines of all methods, which were not reached yet.
    pub(crate) fn new(methods: &Methods) -> Self {
        let mut counts = Self::default();
        for (id, method) in methods.iter() {
            let lines = |info: &MethodInfo| MethodLines {
                version: info.version,
                calls: 0,
                lines: info.lines.iter().map(|line| (*line, 0)).collect(),
            };
            let with_lines = method.versions().filter(|info| !info.lines.is_empty());
            let versions: Vec<_> = with_lines.map(lines).collect();
            if !versions.is_empty() {
                counts.methods.insert(id, versions);
            }
        }
        counts
    }

    /// Ends a thread, after all its events.
    pub(crate) fn end_thread(&mut self) {
        self.open.clear();
    }

    /// Returns the versions of a method whose lines are recorded.
    pub(crate) fn get(&self, method: MethodId) -> &[MethodLines] {
        self.methods.get(&method).map_or(&[], Vec::as_slice)
    }

    /// How many lines were reached by frames of which it is not known what they are: they were entered before recording
    /// began or was resumed.
    pub(crate) fn unplaced(&self) -> u64 {
        self.unplaced
    }

    /// Notes that the topmost frame, whose call was counted, is of this version.
    fn set_version(&mut self, version: u16) {
        let Some((method, known)) = self.open.last_mut() else { return };
        let before = std::mem::replace(known, version);
        let versions = self.methods.get_mut(method).map_or(&mut [][..], Vec::as_mut_slice);
        for lines in versions {
            if lines.version == before {
                lines.calls = lines.calls.saturating_sub(1);
            }
            if lines.version == version {
                lines.calls += 1;
            }
        }
    }

    /// Returns how often the topmost frame has reached a line. If the version is not known, because the frame was entered in a
    /// part that is not read, the line may be one of another version.
    fn count_of(&mut self, line: u16) -> Option<&mut u64> {
        let (method, version) = self.open.last()?;
        let versions = self.methods.get_mut(method)?;
        let has = |lines: &MethodLines| lines.lines.contains_key(&line);
        let place = versions.iter().position(|lines| lines.version == *version && has(lines));
        let place = place.or_else(|| versions.iter().position(has))?;
        versions.get_mut(place)?.lines.get_mut(&line)
    }
}

impl VisitTimeline for LineCounts {
    #[inline]
    fn enter(&mut self, method: MethodId, _at: Stamp) -> bool {
        let versions = self.methods.get_mut(&method);
        if let Some(lines) = versions.and_then(|all| all.iter_mut().find(|it| it.version == 0)) {
            lines.calls += 1;
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
        let mut counts = LineCounts::default();
        let version = |version, lines: &[u16]| MethodLines {
            version,
            calls: 0,
            lines: lines.iter().map(|line| (*line, 0)).collect(),
        };
        counts.methods.insert(id(1), vec![version(0, &[12, 13])]);
        counts.methods.insert(id(2), vec![version(0, &[12, 13])]);
        counts.methods.insert(id(4), vec![version(0, &[12, 13]), version(1, &[13, 14, 15])]);
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
        let found = |method| -> Vec<(u64, BTreeMap<u16, u64>)> {
            counts.get(id(method)).iter().map(|of| (of.calls, of.lines.clone())).collect()
        };
        assert_eq!(found(1), [(2, [(12, 2), (13, 3)].into())]);
        assert_eq!(found(2), [(1, [(12, 1), (13, 0)].into())]);
        // Before anything, in a method without lines, one that does not exist, after everything.
        assert_eq!((found(3), counts.unplaced()), (Vec::new(), 4));
        // A line that only the other version has counts for that version.
        let versions = [(2, [(12, 2), (13, 2)].into()), (1, [(13, 2), (14, 1), (15, 1)].into())];
        assert_eq!(found(4), versions);
    }
}
