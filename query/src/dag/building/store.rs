//! The stored shapes of a thread, next to its file.

use std::hash::{Hash, Hasher};

use super::build::Built;
use crate::dag::MAX_SIZE;
use crate::dag::memory::most_words;
use crate::dag::shape::kinds::{Break, Outcome};
use crate::dag::shape::loops::{self, Part, Parts};
use crate::dag::shape::of_thread::Dag;
use crate::dag::shape::table::Words;
use crate::dag::shape::word::{self, MAX_COUNT, MAX_NUMBER, Word};
use flow_codec::derived::{self, Origin};
use flow_codec::format::container::StreamKind;
use flow_codec::format::dag::{
    BodyReader, DagBody, DagFile, Head, StoredRoot, StoredRun, most_body_bytes,
};
use flow_codec::format::names::EventFormat;
use flow_codec::index::SMALLEST_INDEXED_BYTES;
use flow_codec::parallel::BytesRead;
use flow_codec::read::{Content, Tail, ThreadFile};
use flow_codec::{Error, MethodId, Result};

impl Dag {
    /// Returns the shapes of a thread: the stored ones if they are usable, or new ones, if they fit into [`MAX_SIZE`] words.
    /// `progress` counts the bytes that have been read.
    ///
    /// # Errors
    /// The events cannot be read.
    pub fn open(
        file: &ThreadFile,
        content: &Content,
        progress: &BytesRead,
    ) -> Result<(Built, Origin)> {
        Self::open_within(file, content, MAX_SIZE, progress)
    }

    /// Returns the shapes of a thread as [`open`](Self::open) does, if they fit into this many words, as [`MAX_SIZE`] counts
    /// them. Shapes that are too many to be stored are built if they fit.
    ///
    /// # Errors
    /// The events cannot be read.
    pub(crate) fn open_within(
        file: &ThreadFile,
        content: &Content,
        max_size: usize,
        progress: &BytesRead,
    ) -> Result<(Built, Origin)> {
        let origin = match load(file, content, max_size) {
            Ok(Err(most_words)) if max_size as u64 > most_words => Origin::Built,
            Ok(dag) => {
                let dag = dag.ok().filter(|dag| dag.size() <= max_size);
                return Ok((Built::sound(dag, max_size), Origin::Stored));
            }
            Err(None) => Origin::Built,
            Err(Some(reason)) => Origin::Rebuilt(reason),
        };
        Ok((Self::build_within(file, content, max_size, progress)?, origin))
    }

    /// Returns the stored shapes of a thread, without reading its events; `None` if there are none, or if they are
    /// unusable.
    #[must_use]
    pub fn open_stored(file: &ThreadFile) -> Option<Self> {
        StoredDag::open(file)?.decode(most_words())
    }

    /// The same, if it takes less time to add them up than to read this many bytes of the events: if these are many,
    /// and `repeats` times as many as the stored bytes.
    #[must_use]
    pub(crate) fn open_small(file: &ThreadFile, bytes: u64, repeats: u64) -> Option<Self> {
        let is_small = bytes < SMALLEST_INDEXED_BYTES;
        if is_small || Self::stored_bytes(file).saturating_mul(repeats) > bytes {
            return None;
        }
        Self::open_stored(file)
    }

    /// The bytes of the stored shapes; 0 if there are none.
    #[must_use]
    pub fn stored_bytes(file: &ThreadFile) -> u64 {
        derived::stored_bytes(file, StreamKind::Dag)
    }

    /// Where the shapes of a thread are stored.
    #[must_use]
    pub fn path(file: &ThreadFile) -> std::path::PathBuf {
        file.path_beside(StreamKind::Dag)
    }
}

/// The stored shapes of a thread, before they are decoded: equal ones are decoded to equal shapes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StoredDag {
    body: DagBody,
    /// How many bytes the events have.
    bytes: u64,
}

impl Hash for StoredDag {
    /// Those of different threads have different sizes, mostly.
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.bytes, self.body.shapes, self.body.roots).hash(state);
    }
}

impl StoredDag {
    /// Reads the stored shapes of a thread; `None` if there are none, or if they belong to other events.
    #[must_use]
    pub(crate) fn open(file: &ThreadFile) -> Option<Self> {
        read(file, &Content::open(file).ok()?).ok()?.ok()
    }

    /// Returns the most words that the shapes may need, as [`MAX_SIZE`] counts them: a stored word takes a byte or more.
    #[must_use]
    pub(crate) fn most_words(&self) -> usize {
        self.body
            .bytes
            .len()
            .saturating_add(usize::try_from(self.body.shapes).unwrap_or(usize::MAX))
    }

    /// Returns the shapes; `None` if they violate the format, do not add up, or need more than this many words.
    #[must_use]
    pub(crate) fn decode(&self, max_size: usize) -> Option<Dag> {
        self.dag(max_size).ok().flatten()
    }

    /// Decodes the shapes; `Ok(None)` if they need more words.
    fn dag(&self, max_size: usize) -> std::result::Result<Option<Dag>, &'static str> {
        let (shapes, roots) = match decode(&self.body, max_size) {
            Ok(decoded) => decoded,
            Err(Refused::TooLarge) => return Ok(None),
            Err(Refused::Invalid) => return Err("its shapes violate the format"),
        };
        // Each shape occurs, and each call has a byte: so no list of runs takes longer to read than the events.
        let repeated =
            shapes.iter().map(|(_, words)| loops::repeated(words.get(1..).unwrap_or_default()));
        if repeated.fold(0, u64::saturating_add) > self.bytes {
            return Err("its shapes do not add up");
        }
        let dag = Dag::new(shapes, roots);
        if dag.bytes() != self.bytes {
            return Err("its shapes do not add up");
        }
        Ok(Some(dag))
    }
}

impl Built {
    fn sound(dag: Option<Dag>, max_size: usize) -> Self {
        Self { dag, max_size, damage: Default::default(), tail: Tail::Complete, marks: None }
    }

    /// Returns why the shapes cannot be stored, if they cannot: because what they were made of is damaged, or still
    /// changes.
    #[must_use]
    pub fn not_stored(&self, file: &ThreadFile, content: &Content) -> Option<&'static str> {
        let bytes = self.dag.as_ref().map_or(content.len(), Dag::bytes);
        Some(match () {
            () if file.open_chunk().is_some() => "events are in the journal",
            () if file.format() != EventFormat::Binary => "events are stored as JSON",
            () if !self.damage.is_empty() || self.marks.is_some() => "damaged",
            () if self.tail != Tail::Complete => "cut short",
            () if bytes != content.len() => "events are not in canonical form",
            () => return None,
        })
    }

    /// Stores the shapes next to the thread's file, or that there are too many. Returns the size in bytes; 0 if they have more than
    /// the format allows, and nothing is stored. The caller has checked that they [can be stored](Self::not_stored).
    ///
    /// # Errors
    /// The file cannot be written, or the events not be read.
    pub fn store(&self, file: &ThreadFile, content: &Content) -> Result<u64> {
        let io_error = |source| Error::Io { path: file.path(), source };
        let [events, marks] = derived::fingerprints(file, content).map_err(io_error)?;
        let body = self.dag.as_ref().map(encode).ok_or(self.max_size as u64);
        if body.as_ref().is_ok_and(|body| body.bytes.len() as u64 > most_body_bytes(events.bytes)) {
            return Ok(0);
        }
        let stored = DagFile { thread: file.id(), events, marks, body };
        derived::store(file, StreamKind::Dag, &stored.encode().map_err(io_error)?)
    }
}

/// Shapes; if there are too many to be stored, the most words that they were allowed to take.
type OrTooMany<T> = std::result::Result<T, u64>;

/// The stored shapes, if they fit into this many words. `Err(None)` if there are none, otherwise the reason why they are unusable.
fn load(
    file: &ThreadFile,
    content: &Content,
    max_size: usize,
) -> std::result::Result<OrTooMany<Dag>, Option<&'static str>> {
    Ok(match read(file, content)? {
        Ok(stored) => stored.dag(max_size)?.ok_or(max_size as u64),
        Err(most_words) => Err(most_words),
    })
}

/// The same without decoding them.
fn read(
    file: &ThreadFile,
    content: &Content,
) -> std::result::Result<OrTooMany<StoredDag>, Option<&'static str>> {
    let (stored, _) = derived::read_shapes(file, content)?;
    Ok(stored.body.map(|body| StoredDag { body, bytes: content.len() }))
}

fn encode(dag: &Dag) -> DagBody {
    let mut body = DagBody::default();
    for (shape, words) in dag.shapes.words.iter() {
        let Some((head, runs)) = words.split_first() else { continue };
        let head = match Word::of(*head) {
            Word::Method(method, Outcome::Returned) => Head::Returned(method),
            Word::Method(method, Outcome::Unwound) => Head::Unwound(method),
            Word::Method(method, Outcome::Cut) => Head::Cut(method),
            Word::Special(number) if number == Break::Pause as u64 => Head::Pause,
            Word::Special(_) | Word::Run(..) | Word::Loop(..) => Head::Gap,
        };
        let run = |run: &u64| match Word::of(*run) {
            Word::Loop(period, times) => StoredRun::Loop(period as u64, times.into()),
            _ => {
                let back = u64::from(shape - word::shape_of(*run));
                StoredRun::Calls(back, word::count_of(*run).into())
            }
        };
        body.add_shape(head, runs.iter().map(run));
    }
    encode_roots(dag, &mut body);
    body
}

fn encode_roots(dag: &Dag, body: &mut DagBody) {
    for root in &dag.roots {
        body.add_root(match Word::of(*root) {
            Word::Run(shape, count) => StoredRoot::Calls(shape.0.into(), count.into()),
            Word::Method(method, _) => StoredRoot::Open(method),
            Word::Special(exits) => {
                let (outcome, count) = word::exits_of(exits);
                StoredRoot::UnseenExits(count, outcome as u64)
            }
            // Only shapes have loops.
            Word::Loop(..) => continue,
        });
    }
}

/// Why a body is not decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Refused {
    /// The body violates the format.
    Invalid,
    /// The shapes need more words than are allowed.
    TooLarge,
}

fn decode(body: &DagBody, max_size: usize) -> std::result::Result<(Words, Vec<u64>), Refused> {
    let mut reader = body.reader();
    let mut shapes = Words::default();
    // A word takes a byte or more. What is not needed is never touched, so it takes no memory.
    shapes.reserve(body.bytes.len().min(max_size));
    for number in 0..body.shapes {
        decode_shape(&mut reader, number, &mut shapes).ok_or(Refused::Invalid)?;
        if shapes.size() > max_size {
            return Err(Refused::TooLarge);
        }
    }
    let mut roots = Vec::new();
    for _ in 0..body.roots {
        roots.push(decode_root(&mut reader, body.shapes, &roots).ok_or(Refused::Invalid)?);
        if roots.len() > max_size {
            return Err(Refused::TooLarge);
        }
    }
    if reader.is_at_end() { Ok((shapes, roots)) } else { Err(Refused::Invalid) }
}

/// Adds the next shape, which gets this number.
fn decode_shape(reader: &mut BodyReader<'_>, number: u64, shapes: &mut Words) -> Option<()> {
    let (head, runs) = reader.shape()?;
    let header = |method: MethodId, outcome| {
        (method.get() <= MAX_NUMBER).then(|| word::left(word::header(method.get()), outcome))
    };
    let header = match head {
        Head::Returned(method) => header(method, Outcome::Returned)?,
        Head::Unwound(method) => header(method, Outcome::Unwound)?,
        Head::Cut(method) => header(method, Outcome::Cut)?,
        Head::Gap => word::break_header(Break::Gap),
        Head::Pause => word::break_header(Break::Pause),
    };
    let mut has_loops = false;
    let added = shapes.push_with(|words| {
        words.push(header);
        // The first run of a loop, and how many are left of it.
        let (mut first, mut left) = (0, 0);
        for _ in 0..runs {
            match reader.run()? {
                StoredRun::Loop(..) if left > 0 => return None,
                StoredRun::Loop(period, times) => {
                    let (period, times) =
                        (usize::try_from(period).ok()?, u32::try_from(times).ok()?);
                    has_loops = true;
                    (first, left) = (words.len() + 1, period);
                    words.push(word::of_loop(period, times));
                }
                StoredRun::Calls(back, count) => {
                    let shape = number.checked_sub(back)?;
                    push_run(words, shape, count)?;
                    if left > 0 {
                        left -= 1;
                        let of_first = words.get(first).map(|word| word::shape_of(*word))?;
                        if left == 0 && u64::from(of_first) == shape {
                            return None;
                        }
                    }
                }
            }
        }
        (left == 0).then_some(())
    })?;
    let in_loops = |part: &Part<'_>| part.times > 1;
    let is_call =
        |part: Part<'_>| part.words().iter().all(|run| shapes.is_call(word::shape_of(*run)));
    let runs = shapes.get(added).get(1..).unwrap_or_default();
    (!has_loops || Parts::of(runs).filter(in_loops).all(is_call)).then_some(())
}

/// The next root after others.
fn decode_root(reader: &mut BodyReader<'_>, shapes: u64, before: &[u64]) -> Option<u64> {
    Some(match reader.root()? {
        StoredRoot::Calls(shape, count) => {
            run_after(before, Some(shape).filter(|shape| *shape < shapes)?, count)?
        }
        StoredRoot::Open(method) => {
            word::header(Some(method.get()).filter(|number| *number <= MAX_NUMBER)?)
        }
        StoredRoot::UnseenExits(count, outcome) => {
            let outcomes = [Outcome::Returned, Outcome::Unwound, Outcome::Cut];
            let outcome = outcomes.into_iter().find(|is| *is as u64 == outcome)?;
            word::unseen_exits(outcome, count)
        }
    })
}

/// Adds a run after others; `None` if it would be joined with the one before.
fn push_run(words: &mut Vec<u64>, shape: u64, count: u64) -> Option<()> {
    let run = run_after(words, shape, count)?;
    words.push(run);
    Some(())
}

/// A run after others; `None` if it would be joined with the one before.
fn run_after(words: &[u64], shape: u64, count: u64) -> Option<u64> {
    let (shape, count) = (u32::try_from(shape).ok()?, u32::try_from(count).ok()?);
    let is_joined = words
        .last()
        .is_some_and(|last| word::shape_of(*last) == shape && word::count_of(*last) < MAX_COUNT);
    (!is_joined).then(|| word::run(shape, count))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use flow_codec::read::Trace;

    fn trace(dir: &Path) -> (ThreadFile, Content) {
        let file = Trace::open(dir).unwrap().take_files().remove(0);
        let content = Content::open(&file).unwrap();
        (file, content)
    }

    fn opened(dir: &Path) -> (Option<Dag>, Origin) {
        let (file, content) = trace(dir);
        let (built, origin) = Dag::open(&file, &content, &BytesRead::default()).unwrap();
        (built.dag, origin)
    }

    /// A trace, and its shapes.
    fn written(dir: &Path, events: &[u8]) -> Dag {
        fs::write(dir.join("ids.properties"), "").unwrap();
        fs::write(dir.join("thread-1.flow"), events).unwrap();
        let (dag, origin) = opened(dir);
        assert_eq!(origin, Origin::Built);
        dag.unwrap()
    }

    fn stored(dir: &Path) {
        let (file, content) = trace(dir);
        let built = Dag::build(&file, &content, &BytesRead::default()).unwrap();
        assert_eq!(built.not_stored(&file, &content), None);
        let bytes = built.store(&file, &content).unwrap();
        assert_eq!(bytes, Dag::stored_bytes(&file));
    }

    /// Calls, exits without entries, and open frames.
    fn events() -> Vec<u8> {
        let mut events = vec![0x81, 0x02];
        for round in 0..50_u8 {
            events.extend([0x83, 0x84, 0x00, 0x84, 0x00, 0x85 + round % 3, 0x01]);
        }
        // 6 calls 4 and 5 many times.
        events.push(0x86);
        events.extend([0x84, 0x00, 0x85, 0x00].repeat(9));
        events.extend([0x84, 0x00, 0x85, 0x01]);
        events.extend([0x8A, 0x84, 0x00, 0x84, 0x00, 0x8B]);
        events
    }

    #[test]
    fn stored_shapes_are_those_that_were_built() {
        let dir = tempfile::tempdir().unwrap();
        let dag = written(dir.path(), &events());
        stored(dir.path());
        assert_eq!(opened(dir.path()), (Some(dag), Origin::Stored));
    }

    #[test]
    fn shapes_of_other_events_or_marks_are_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let dag = written(dir.path(), &events());
        stored(dir.path());
        let place = dir.path().join("thread-1.dag");
        let bytes = fs::read(&place).unwrap();
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            fs::write(&place, &other).unwrap();
            let (found, origin) = opened(dir.path());
            assert_eq!(found.as_ref(), Some(&dag), "{at}");
            assert!(matches!(origin, Origin::Rebuilt(_)), "{at}");
        }
        fs::write(&place, &bytes).unwrap();
        let other = Origin::Rebuilt("it belongs to other events");
        fs::write(dir.path().join("thread-1.marks"), flow_codec::format::marks::HEADER).unwrap();
        assert_eq!(opened(dir.path()).1, other);
        fs::remove_file(dir.path().join("thread-1.marks")).unwrap();
        assert_eq!(opened(dir.path()).1, Origin::Stored);
        let mut longer = events();
        longer.push(0x81);
        for events in [&longer[..], &events()[1..]] {
            fs::write(dir.path().join("thread-1.flow"), events).unwrap();
            assert_eq!(opened(dir.path()).1, other);
        }
    }

    #[test]
    fn a_body_that_violates_the_format_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let body = encode(&written(dir.path(), &events()));
        let decode = |body: &DagBody| decode(body, MAX_SIZE).ok();
        let (shapes, roots) = decode(&body).unwrap();
        assert_eq!(encode(&Dag::new(shapes, roots)), body);
        for end in 0..body.bytes.len() {
            let bytes = body.bytes[..end].to_vec();
            assert_eq!(decode(&DagBody { bytes, ..body }), None, "{end}");
        }
        let mut adjacent = DagBody::default();
        adjacent.add_shape(Head::Gap, [].into_iter());
        adjacent.add_root(StoredRoot::Calls(0, 1));
        assert!(decode(&adjacent).is_some());
        adjacent.add_root(StoredRoot::Calls(0, 1));
        assert_eq!(decode(&adjacent), None);
        let mut missing = DagBody::default();
        missing.add_root(StoredRoot::Calls(0, 1));
        assert_eq!(decode(&missing), None);
        let mut before = DagBody::default();
        before.add_shape(Head::Gap, [].into_iter());
        let returned = |method| Head::Returned(MethodId::new(method).unwrap());
        before.add_shape(returned(1), [StoredRun::Calls(2, 1)].into_iter());
        assert_eq!(decode(&before), None);
        // Loops: of calls, with all their runs, none in another, and none that continues in what follows.
        let with = |runs: &[StoredRun]| {
            let mut body = DagBody::default();
            body.add_shape(Head::Gap, [].into_iter());
            body.add_shape(returned(1), [].into_iter());
            body.add_shape(returned(2), [].into_iter());
            body.add_shape(returned(3), runs.iter().copied());
            decode(&body).is_some()
        };
        let (gap, one, two) =
            (StoredRun::Calls(3, 1), StoredRun::Calls(2, 1), StoredRun::Calls(1, 1));
        let of = |period| StoredRun::Loop(period, 9);
        assert!(with(&[of(2), one, two]));
        assert!(!with(&[of(2), one, gap]));
        assert!(!with(&[of(3), one, two]));
        assert!(!with(&[of(3), of(2), one, two]));
        assert!(!with(&[of(3), one, two, one]));
    }

    #[test]
    fn a_thread_that_is_given_up_is_not_read_again() {
        let dir = tempfile::tempdir().unwrap();
        written(dir.path(), &events());
        let (file, content) = trace(dir.path());
        Built::sound(None, MAX_SIZE).store(&file, &content).unwrap();
        assert_eq!(opened(dir.path()), (None, Origin::Stored));
    }

    #[test]
    fn shapes_that_repeat_more_than_the_events_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        written(dir.path(), &events());
        let (file, content) = trace(dir.path());
        let dag = Dag::build(&file, &content, &BytesRead::default()).unwrap().dag.unwrap();
        let mut body = encode(&dag);
        // A shape that never occurs, and would take hours to read.
        let runs = [StoredRun::Loop(2, 1 << 31), StoredRun::Calls(1, 1), StoredRun::Calls(2, 1)];
        let mut other = DagBody { bytes: Vec::new(), ..body.clone() };
        let roots = body.bytes.len() - {
            let mut only = DagBody::default();
            encode_roots(&dag, &mut only);
            only.bytes.len()
        };
        other.bytes.extend(&body.bytes[..roots]);
        other.add_shape(Head::Returned(MethodId::new(1).unwrap()), runs.into_iter());
        other.bytes.extend(&body.bytes[roots..]);
        for (body, is_sound) in [(std::mem::take(&mut body), true), (other, false)] {
            let stored = StoredDag { body, bytes: content.len() };
            assert_eq!(stored.decode(MAX_SIZE).is_some(), is_sound);
        }
    }

    #[test]
    fn shapes_that_were_too_many_to_be_stored_are_built_if_they_fit() {
        let dir = tempfile::tempdir().unwrap();
        let dag = written(dir.path(), &events());
        let (file, content) = trace(dir.path());
        let progress = BytesRead::default();
        let built = Dag::build_within(&file, &content, 8, &progress).unwrap();
        assert!(built.dag.is_none());
        built.store(&file, &content).unwrap();
        let open = |max_size| Dag::open_within(&file, &content, max_size, &progress).unwrap();
        assert_eq!((open(8).0.dag, open(8).1), (None, Origin::Stored));
        assert_eq!((open(9).0.dag, open(9).1), (None, Origin::Built));
        assert_eq!(open(MAX_SIZE).0.dag, Some(dag));
        // What is stored, but needs more than the caller allows, is not used.
        let built = Dag::build_within(&file, &content, MAX_SIZE, &progress).unwrap();
        built.store(&file, &content).unwrap();
        // Shapes may take as much, and so may roots.
        let size = built.dag.as_ref().map(|dag| dag.size().max(dag.roots.len())).unwrap();
        assert_eq!((open(size).0.dag, open(size).1), (built.dag, Origin::Stored));
        assert_eq!((open(size - 1).0.dag, open(size - 1).1), (None, Origin::Stored));
        assert!(StoredDag::open(&file).unwrap().most_words() >= size);
    }

    #[test]
    fn what_is_damaged_or_not_canonical_is_not_stored() {
        let dir = tempfile::tempdir().unwrap();
        let reason = |events: &[u8]| {
            fs::write(dir.path().join("ids.properties"), "").unwrap();
            fs::write(dir.path().join("thread-1.flow"), events).unwrap();
            let (file, content) = trace(dir.path());
            let built = Dag::build(&file, &content, &BytesRead::default()).unwrap();
            built.not_stored(&file, &content)
        };
        assert_eq!(reason(&[0x81, 0x00]), None);
        assert_eq!(reason(&[0x81, 0x82, 0x00, 0x00]), Some("events are not in canonical form"));
        assert_eq!(reason(&[0x81, 0xC0]), Some("cut short"));
        assert_eq!(reason(&[[0xFF; 12], [0; 12]].concat()), Some("damaged"));
    }
}
