//! `flow replay --from`: finds the position at which to begin.

use std::num::NonZeroU64;

use flow_codec::index::Place;
use flow_codec::read::{ReadRecords, Selection, ThreadFile, Trace, Visit};
use flow_codec::{Error, Glob, MethodId, Offset};

use crate::input::parallel::open_tree;
use crate::input::place::From;
use crate::input::reading::Reading;
use crate::output::Progress;

/// The position at which a replay begins, and the open frames, the outermost first.
pub(super) struct Start {
    pub(super) place: Place,
    pub(super) frames: Vec<MethodId>,
}

impl From {
    /// Finds the position in a thread; `None` if the thread does not have it. Also returns the errors in the
    /// events before it, on which numbers and open frames depend.
    pub(super) fn find(
        &self,
        trace: &Trace,
        file: &ThreadFile,
        progress: &mut Progress,
    ) -> Result<(Option<Start>, Reading), Error> {
        let mut before = Reading::default();
        let number = match self {
            Self::Path(path) => match first_like(trace, file, path, progress, &mut before)? {
                Some(number) => Self::Call(number),
                None => return Ok((None, before)),
            },
            // By the marks first: most threads of a trace may have ended by then, and need not be read.
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
            // Only now: a stored index has no damage until it has turned out to be wrong.
            before = match place {
                // The replay reports damage after the position.
                Some(place) => {
                    let damage = tree.index().damage().before(place.offset);
                    Reading::skipped(file, &damage)
                }
                None => Reading::of_content(file, tree.index().damage(), tree.content()),
            };
        }
        Ok((start, before))
    }
}

/// The number of the first call at the end of a path.
fn first_like(
    trace: &Trace,
    file: &ThreadFile,
    path: &[Glob],
    progress: &mut Progress,
    reading: &mut Reading,
) -> Result<Option<u64>, Error> {
    let pattern = |glob: &Glob| Selection::new(&trace.methods, std::slice::from_ref(glob), &[]);
    let mut search = PathSearch {
        path: path.iter().map(pattern).collect(),
        depths: Vec::new(),
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
            // The replay reports damage after the call.
            Err(error) if search.found.is_none() => {
                let _ = reading.note(error);
            }
            Err(_) => {}
        }
    }
    Ok(search.found)
}

struct PathSearch {
    path: Vec<Selection>,
    /// The depths of the open frames that match the first parts of the path.
    depths: Vec<u64>,
    frames: u64,
    calls: u64,
    found: Option<u64>,
}

impl Visit for PathSearch {
    #[inline]
    fn enter(&mut self, method: MethodId) {
        if self.path.get(self.depths.len()).is_some_and(|part| part.contains(method)) {
            self.depths.push(self.frames);
            if self.depths.len() == self.path.len() && self.found.is_none() {
                self.found = Some(self.calls);
            }
        }
        self.frames += 1;
        self.calls += 1;
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64) {
        self.frames = self.frames.saturating_sub(count.get());
        while self.depths.last().is_some_and(|depth| *depth >= self.frames) {
            self.depths.pop();
        }
    }
}
