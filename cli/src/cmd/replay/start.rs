//! `flow replay --from`: finds the position at which to begin.

use std::num::NonZeroU64;

use flow_codec::index::Place;
use flow_codec::read::{EventKind, ReadRecords, Selection, ThreadFile, Trace, Visit};
use flow_codec::{Error, Glob, MethodId, Offset};
use flow_query::dag::{Dag, Kind, ShapeId, Step, Walk};

use crate::failure::Failure;
use crate::input::place::From;
use crate::output::{Progress, flow_command, plural};
use flow_query::reading::{Listener as _, Reading, open_tree, stored_shapes};

/// The position at which a replay begins, and the open frames, the outermost first.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) place: Place,
    pub(super) frames: Vec<MethodId>,
    /// The versions of their methods; those that are missing are 0.
    pub(super) versions: Vec<u16>,
}

/// The failure if a position in one thread is named, and there are several, or none.
pub(super) fn of_one_thread(from: &From, threads: usize, traces: usize) -> Failure {
    let threads = plural(threads as u64, "thread");
    let of = if traces > 1 { format!(" in {traces} traces") } else { String::new() };
    let one = if traces > 1 { "name one trace's directory, or choose" } else { "choose" };
    Failure::Usage(format!(
        "--from {from} is a position in one thread, and there are {threads}{of}: {one} one with --thread"
    ))
}

/// The failure if no thread has the position at which a replay begins.
pub(super) fn no_such_place(from: &From) -> Failure {
    Failure::Failed(format!(
        "there is no {from} ({} shows how many calls there are)",
        flow_command("info")
    ))
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
            Self::Path(path) => {
                let path = selections(trace, path);
                // Of damaged events there are none.
                let found = match stored_shapes(file) {
                    Some(dag) => first_in_shapes(&dag, path),
                    None => first_like(file, path, progress, &mut before)?,
                };
                match found {
                    Some(number) => Self::Call(number),
                    None => return Ok((None, before)),
                }
            }
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
            Self::Time(_) | Self::Path(_) | Self::CallIn(..) => None,
        };
        let start = match place {
            Some(place) => {
                let frames = tree.open_methods(place)?;
                let versions = versions(trace, file, place, &frames)?;
                Some(Start { place, frames, versions })
            }
            None => None,
        };
        if before.is_sound()
            && let Some(index) = tree.index()
        {
            // Only now: a stored index has no damage until it has turned out to be wrong.
            before = match place {
                // The replay reports damage after the position.
                Some(place) => {
                    let damage = index.damage().before(place.offset);
                    Reading::skipped(file, &damage)
                }
                None => Reading::of_content(file, index.damage(), tree.content()),
            };
        }
        Ok((start, before))
    }
}

/// Returns the versions of the methods of the frames that are open at a position. If a method has several, the timeline is
/// read up to there, because only that has them.
fn versions(
    trace: &Trace,
    file: &ThreadFile,
    place: Place,
    frames: &[MethodId],
) -> Result<Vec<u16>, Error> {
    let mut versions = Vec::new();
    let methods = frames.iter().filter_map(|method| trace.methods().get(*method));
    if !{ methods }.any(|method| method.versions().nth(1).is_some()) {
        return Ok(versions);
    }
    for event in file.whole().timeline()?.with_lines() {
        let event = match event {
            Ok(event) => event,
            Err(error @ Error::Io { .. }) => return Err(error),
            // Damage before the position is reported elsewhere.
            Err(_) => continue,
        };
        let (offset, is_call) = (
            event.position.offset,
            matches!(event.kind, EventKind::Enter(_) | EventKind::Exit { .. }),
        );
        if offset > place.offset || (offset == place.offset && is_call) {
            break;
        }
        match event.kind {
            EventKind::Enter(_) => versions.push(0),
            EventKind::Exit { count, .. } => {
                let left = usize::try_from(count.get()).unwrap_or(usize::MAX);
                versions.truncate(versions.len().saturating_sub(left));
            }
            EventKind::Version(version) => {
                if let Some(last) = versions.last_mut() {
                    *last = version;
                }
            }
            _ => {}
        }
    }
    versions.truncate(frames.len());
    Ok(versions)
}

/// The methods that match each part of a path.
fn selections(trace: &Trace, path: &[Glob]) -> Vec<Selection> {
    let pattern = |glob: &Glob| Selection::new(trace.methods(), std::slice::from_ref(glob), &[]);
    path.iter().map(pattern).collect()
}

/// The number of the first call at the end of a path.
fn first_like(
    file: &ThreadFile,
    path: Vec<Selection>,
    progress: &mut Progress,
    reading: &mut Reading,
) -> Result<Option<u64>, Error> {
    let mut search = PathSearch::new(path);
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

/// The same from shapes: calls in which there is no method of the next part of the path are skipped.
fn first_in_shapes(dag: &Dag, path: Vec<Selection>) -> Option<u64> {
    let shapes = dag.shapes();
    // By part of the path: whether a call of the shape matches it, or one inside.
    let has = path.iter().map(|part| {
        let mut has: Vec<bool> = Vec::with_capacity(shapes.len());
        for shape in shapes.iter() {
            let is_it =
                matches!(shapes.kind(shape), Kind::Call(method, _) if part.contains(method));
            let is_in = |(callee, _): (ShapeId, u64)| has.get(callee.index()) == Some(&true);
            has.push(is_it || shapes.totals(shape).any(is_in));
        }
        has
    });
    let has: Vec<Vec<bool>> = has.collect();
    let (mut search, mut walk) = (PathSearch::new(path), Walk::new(dag, Offset::default()));
    while search.found.is_none() {
        match walk.next()? {
            Step::Exit(count) => search.exit(count),
            Step::Enter(entry) => {
                let before = search.depths.len();
                search.enter(entry.method);
                let part = has.get(search.depths.len()).zip(entry.shape);
                let is_none =
                    |(has, shape): (&Vec<bool>, ShapeId)| has.get(shape.index()) == Some(&false);
                if part.is_some_and(is_none) {
                    let is_part = search.depths.len() > before;
                    let skipped = if is_part { walk.skip_call() } else { walk.skip_equal() };
                    search.calls = search.calls.saturating_add(skipped);
                }
            }
        }
    }
    search.found
}

struct PathSearch {
    path: Vec<Selection>,
    /// The depths of the open frames that match the first parts of the path.
    depths: Vec<u64>,
    frames: u64,
    calls: u64,
    found: Option<u64>,
}

impl PathSearch {
    fn new(path: Vec<Selection>) -> Self {
        Self { path, depths: Vec::new(), frames: 0, calls: 0, found: None }
    }
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
