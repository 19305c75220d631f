//! The fold again, from the specification alone and as plainly as it can be: every event is parsed,
//! and the whole output stands in memory.

use std::fmt;

/// One raw event; what is none is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RawEvent {
    Enter(u64),
    Exit,
    Begin(u64),
    BeginUnknown,
    End,
    Catch,
    UnwoundExit,
    Time(u64),
}

impl fmt::Display for RawEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enter(id) => write!(f, "ENTER {id}"),
            Self::Exit => f.write_str("EXIT"),
            Self::Begin(id) => write!(f, "BEGIN {id}"),
            Self::BeginUnknown => f.write_str("BEGIN-UNKNOWN"),
            Self::End => f.write_str("END"),
            Self::Catch => f.write_str("CATCH"),
            Self::UnwoundExit => f.write_str("UNWOUND EXIT"),
            Self::Time(time) => write!(f, "TIME {time}"),
        }
    }
}

/// What a fold writes, before exits are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Happened {
    Enter(u64),
    Exit,
}

/// A number as `.flow` has it.
fn number(flag: u8, value: u64) -> Vec<u8> {
    let more = if value > 63 { 0x40 } else { 0 };
    let mut bytes = vec![flag | more | (value & 63) as u8];
    let mut rest = value >> 6;
    while rest > 0 {
        let more = if rest > 127 { 0x80 } else { 0 };
        bytes.push(more | (rest & 127) as u8);
        rest >>= 7;
    }
    bytes
}

/// What a probe appends.
pub(crate) fn raw_bytes(event: RawEvent) -> Vec<u8> {
    match event {
        RawEvent::Enter(id) => number(0x80, id),
        RawEvent::Exit => vec![0x00],
        RawEvent::Begin(id) => [vec![0x7B], number(0x80, id)].concat(),
        RawEvent::BeginUnknown => vec![0x7C],
        RawEvent::End => vec![0x7D],
        RawEvent::Catch => vec![0x7E],
        RawEvent::UnwoundExit => vec![0x7F],
        RawEvent::Time(time) => [&[0x7A][..], &time.to_le_bytes()[..7]].concat(),
    }
}

/// The canonical bytes of a stream.
pub(crate) fn canonical_bytes(happened: &[Happened]) -> Vec<u8> {
    let runs = happened.chunk_by(|one, next| (one, next) == (&Happened::Exit, &Happened::Exit));
    let records = runs.map(|run| match run[0] {
        Happened::Enter(id) => number(0x80, id),
        Happened::Exit => number(0, run.len() as u64 - 1),
    });
    records.flatten().collect()
}

/// The length of the number that `bytes` begin with, or of what stands in its place; and its value,
/// where it is one that `.flow` may hold.
fn parse_number(bytes: &[u8]) -> (usize, Option<u64>) {
    if bytes[0] & 0x40 == 0 {
        return (1, Some(u64::from(bytes[0] & 63)));
    }
    let Some(last) = bytes.iter().skip(1).position(|byte| byte & 0x80 == 0) else {
        // It may go on in superfluous high bits up to the end; what follows is never reached.
        return (bytes.len(), None);
    };
    let len = last + 2;
    if len > 10 || bytes[len - 1] == 0 {
        return (len, None);
    }
    let groups = bytes[1..len].iter().rev();
    let high = groups.fold(0_u128, |sum, byte| sum << 7 | u128::from(byte & 0x7F));
    let value = high << 6 | u128::from(bytes[0] & 63);
    (len, u64::try_from(value).ok().filter(|&value| value >> 63 == 0))
}

/// All events of a chunk.
pub(crate) fn parse(chunk: &[u8]) -> Vec<RawEvent> {
    let mut events = Vec::new();
    let mut rest = chunk;
    while let Some(&kind) = rest.first() {
        let (len, event) = match kind {
            0x80.. => {
                let (len, id) = parse_number(rest);
                (len, id.map(RawEvent::Enter))
            }
            0x7B if rest.len() > 1 && rest[1] >= 0x80 => match parse_number(&rest[1..]) {
                (len, Some(id)) => (1 + len, Some(RawEvent::Begin(id))),
                (_, None) => (1, Some(RawEvent::BeginUnknown)),
            },
            0x7B | 0x7C => (1, Some(RawEvent::BeginUnknown)),
            0x00 => (1, Some(RawEvent::Exit)),
            0x7D => (1, Some(RawEvent::End)),
            0x7E => (1, Some(RawEvent::Catch)),
            0x7F => (1, Some(RawEvent::UnwoundExit)),
            0x7A => match rest.first_chunk() {
                Some(bytes) => (8, Some(RawEvent::Time(u64::from_le_bytes(*bytes) >> 8))),
                None => (rest.len(), None),
            },
            _ => (1, None),
        };
        events.extend(event);
        rest = &rest[len..];
    }
    events
}

struct Note {
    depth: i64,
    /// The constructor that must come first, if it is known.
    callee: Option<u64>,
    met: bool,
}

#[derive(Default)]
struct NaiveFold {
    depth: i64,
    notes: Vec<Note>,
    time: Option<u64>,
    happened: Vec<(Happened, Moment)>,
}

/// What is known of an event beside its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moment {
    pub(crate) time: Option<u64>,
    pub(crate) is_unwound: bool,
}

impl NaiveFold {
    fn exit(&mut self, is_unwound: bool) {
        self.happened.push((Happened::Exit, Moment { time: self.time, is_unwound }));
        self.depth -= 1;
    }

    fn on_top(&self) -> Option<&Note> {
        self.notes.last().filter(|note| note.depth == self.depth)
    }

    fn bury_all(&mut self) {
        while self.on_top().is_some() {
            self.notes.pop();
            self.exit(true);
        }
    }

    fn bury_met(&mut self) {
        while self.on_top().is_some_and(|note| note.met) {
            self.notes.pop();
            self.exit(true);
        }
    }

    fn on(&mut self, event: RawEvent) {
        match event {
            RawEvent::Enter(id) => {
                self.bury_met();
                let depth = self.depth;
                if let Some(note) = self.notes.last_mut().filter(|note| note.depth == depth) {
                    note.met = note.callee == Some(id);
                    note.callee = None;
                }
                let moment = Moment { time: self.time, is_unwound: false };
                self.happened.push((Happened::Enter(id), moment));
                self.depth += 1;
            }
            RawEvent::Exit => {
                self.bury_all();
                self.exit(false);
            }
            RawEvent::UnwoundExit => {
                self.bury_all();
                self.exit(true);
                self.bury_met();
            }
            RawEvent::Catch => self.bury_all(),
            RawEvent::Time(time) => self.time = Some(time),
            RawEvent::Begin(_) | RawEvent::BeginUnknown => {
                self.bury_all();
                let callee = if let RawEvent::Begin(id) = event { Some(id) } else { None };
                self.notes.push(Note { depth: self.depth, callee, met: false });
            }
            RawEvent::End => {
                self.notes.pop();
            }
        }
    }
}

/// What raw chunks fold to.
pub(crate) fn naive_fold<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Happened> {
    naive_marked(chunks).into_iter().map(|(event, _)| event).collect()
}

/// The same, with what is known beside.
pub(crate) fn naive_marked<'a>(
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<(Happened, Moment)> {
    let mut fold = NaiveFold::default();
    for event in chunks.into_iter().flat_map(parse) {
        fold.on(event);
    }
    fold.happened
}
