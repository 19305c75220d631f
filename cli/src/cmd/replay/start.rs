//! `flow replay --from`: where in a thread to begin.

use std::num::NonZeroU64;
use std::str::FromStr;

use flow_codec::index::Place;
use flow_codec::read::{ReadRecords, Selection, ThreadFile, Trace, Visit};
use flow_codec::{Error, Glob, MethodId, Offset};

use crate::args::nanoseconds;
use crate::at_once::open_tree;
use crate::output::{Progress, grouped, instant};
use crate::reading::Reading;

/// What `--from` says.
#[derive(Clone, Debug)]
pub(crate) enum From {
    /// The call of this number in its thread, from 0.
    Call(u64),
    /// The event of this number in its thread, from 0: entries and exits count alike.
    Event(u64),
    /// The first record at this offset, or behind it.
    Offset(u64),
    /// The last time mark that was not later, in nanoseconds since the start of the trace.
    Time(u64),
    /// The first call like the last of these patterns, below one like the one before, and so on.
    Path(Vec<Glob>),
}

impl FromStr for From {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "expected a number, event:N, offset:N, a time such as 1.5s or a pattern such as \
                 pkg.Class#method, found '{text}'"
            )
        };
        let number = |digits: &str| digits.replace(['_', ','], "").parse().map_err(|_| expected());
        match text.split_once(':') {
            Some(("call", digits)) => Ok(Self::Call(number(digits)?)),
            Some(("event", digits)) => Ok(Self::Event(number(digits)?)),
            Some(("offset", digits)) => Ok(Self::Offset(number(digits)?)),
            _ if text.starts_with(|c: char| c.is_ascii_digit()) => match nanoseconds(text) {
                Ok(at_ns) => Ok(Self::Time(at_ns)),
                Err(_) => Ok(Self::Call(number(text)?)),
            },
            _ => {
                // The names of constructors and static initialisers end with the character, too.
                let names =
                    text.replace("<init>", "<init\u{0}").replace("<clinit>", "<clinit\u{0}");
                let parts = names.split('>').map(|part| part.trim().replace('\u{0}', ">"));
                // Names may have colons, but this is what the numbers above look like.
                let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphabetic());
                let is_number = text.split_once(':').is_some_and(|(word, _)| is_word(word));
                if is_number || parts.clone().any(|part| part.is_empty()) {
                    return Err(expected());
                }
                Ok(Self::Path(parts.map(|part| Glob::new(&part)).collect()))
            }
        }
    }
}

impl std::fmt::Display for From {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Call(number) => write!(f, "call {}", grouped(*number)),
            Self::Event(number) => write!(f, "event {}", grouped(*number)),
            Self::Offset(offset) => write!(f, "offset {offset}"),
            Self::Time(at_ns) => write!(f, "event at {}", instant(*at_ns)),
            Self::Path(_) => f.write_str("such call"),
        }
    }
}

/// Where a replay begins, and the frames that are open there, the outermost first.
pub(super) struct Start {
    pub(super) place: Place,
    pub(super) frames: Vec<MethodId>,
}

impl From {
    /// Whether it means a place of one thread.
    pub(super) fn is_number(&self) -> bool {
        !matches!(self, Self::Path(_) | Self::Time(_))
    }

    /// Finds the place in a thread; `None` where it has none. Also what is wrong with the events before it, which
    /// numbers and open frames depend on.
    pub(super) fn find(
        &self,
        trace: &Trace,
        file: &ThreadFile,
        progress: &mut Progress,
    ) -> Result<(Option<Start>, Reading), Error> {
        let mut before = Reading::new();
        let number = match self {
            Self::Path(path) => match first_like(trace, file, path, progress, &mut before)? {
                Some(number) => Self::Call(number),
                None => return Ok((None, before)),
            },
            // Asked of the marks first: most threads of a trace may be over by then.
            Self::Time(at_ns) => match file.offset_at(*at_ns)? {
                Some(offset) => Self::Offset(offset.get()),
                None => return Ok((None, before)),
            },
            number => number.clone(),
        };
        let mut tree = open_tree(file, progress)?;
        let place = match number {
            Self::Call(number) => tree.call(number)?.map(|node| node.place),
            Self::Event(number) => tree.event(number)?,
            Self::Offset(offset) => tree.offset(Offset::new(offset))?,
            Self::Time(_) | Self::Path(_) => None,
        };
        let start = match place {
            Some(place) => Some(Start { place, frames: tree.open_methods(place)? }),
            None => None,
        };
        if before.is_sound() {
            // Only now: a stored index that turned out to be wrong knows of none.
            before = match place {
                // What is behind the place is told by the replay.
                Some(place) => {
                    let damage = tree.index().damage().before(place.offset);
                    Reading::passed_over(&file.path, &damage)
                }
                None => Reading::of_content(&file.path, tree.index().damage(), tree.content()),
            };
        }
        Ok((start, before))
    }
}

/// The number of the first call that stands at the end of a path.
fn first_like(
    trace: &Trace,
    file: &ThreadFile,
    path: &[Glob],
    progress: &mut Progress,
    reading: &mut Reading,
) -> Result<Option<u64>, Error> {
    let pattern = |glob: &Glob| Selection::new(&trace.methods, std::slice::from_ref(glob), &[]);
    let mut search = Search {
        path: path.iter().map(pattern).collect(),
        met: Vec::new(),
        frames: 0,
        calls: 0,
        found: None,
    };
    let mut events = file.events()?;
    while search.found.is_none() {
        progress.at(events.position());
        match events.visit_some(&mut search) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error @ Error::Io { .. }) => return Err(error),
            // Of what is wrong behind the call the replay tells.
            Err(error) if search.found.is_none() => {
                reading.note(error);
            }
            Err(_) => {}
        }
    }
    Ok(search.found)
}

struct Search {
    path: Vec<Selection>,
    /// At which depths the first parts of the path have been met; the frames there are open.
    met: Vec<u64>,
    frames: u64,
    calls: u64,
    found: Option<u64>,
}

impl Visit for Search {
    #[inline]
    fn enter(&mut self, method: MethodId) {
        if self.path.get(self.met.len()).is_some_and(|part| part.contains(method)) {
            self.met.push(self.frames);
            if self.met.len() == self.path.len() && self.found.is_none() {
                self.found = Some(self.calls);
            }
        }
        self.frames += 1;
        self.calls += 1;
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64) {
        self.frames = self.frames.saturating_sub(count.get());
        while self.met.last().is_some_and(|depth| *depth >= self.frames) {
            self.met.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_paths_are_told_apart() {
        assert!(matches!("900_000".parse(), Ok(From::Call(900_000))));
        assert!(matches!("call:7".parse(), Ok(From::Call(7))));
        assert!(matches!("event:1,024".parse(), Ok(From::Event(1024))));
        assert!(matches!("offset:12".parse(), Ok(From::Offset(12))));
        assert!(matches!("a.B#m > **#n".parse(), Ok(From::Path(path)) if path.len() == 2));
        assert!(matches!("1.5s".parse(), Ok(From::Time(1_500_000_000))));
        // Names may have colons.
        assert!(matches!("a.B#it: works".parse(), Ok(From::Path(path)) if path.len() == 1));
        for bad in ["12x", "event:x", "offset:", "", "a >", "> a", "time:1.5s"] {
            assert!(bad.parse::<From>().is_err(), "{bad}");
        }
    }
}
