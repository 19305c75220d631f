//! `.flow`: entries and runs of exits.

/// One event of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// Entry of the method with this id.
    Enter(u64),
    /// Exit of the topmost frame.
    Exit,
}

/// One record of a thread file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record {
    /// Entry of the method with this id.
    Enter(u64),
    /// A run of this many exits.
    Exits(u64),
}

/// How the records end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// With a whole record.
    Complete,
    /// With a record that begins at this offset and is cut off.
    Truncated(u64),
}

/// What some bytes contain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stream {
    /// The records, each with its offset.
    pub records: Vec<(u64, Record)>,
    /// Start and end of each damaged range.
    pub damage: Vec<(u64, u64)>,
    /// How they end.
    pub end: End,
}

/// The number at the start of a record.
pub(crate) enum Number {
    Whole { value: u64, len: usize },
    CutOff,
    TooLarge,
}

/// Six bits in the first byte, whose bit 6 says that more follow; then seven bits a byte, the lowest first.
pub(crate) fn number(bytes: &[u8]) -> Number {
    let mut value = u128::from(bytes[0] & 0b0011_1111);
    let mut more = bytes[0] & 0b0100_0000 != 0;
    let mut len = 1;
    while more {
        if len == 10 {
            return Number::TooLarge;
        }
        let Some(byte) = bytes.get(len) else {
            return Number::CutOff;
        };
        value |= u128::from(byte & 0b0111_1111) << (7 * len - 1);
        more = byte & 0b1000_0000 != 0;
        len += 1;
    }
    match u64::try_from(value) {
        Ok(value) if value >> 63 == 0 => Number::Whole { value, len },
        _ => Number::TooLarge,
    }
}

/// Decodes any bytes.
#[must_use]
pub fn decode(bytes: &[u8]) -> Stream {
    let (mut records, mut damage) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < bytes.len() {
        match number(&bytes[at..]) {
            Number::Whole { value, len } => {
                let is_enter = bytes[at] & 0b1000_0000 != 0;
                let record = if is_enter { Record::Enter(value) } else { Record::Exits(value + 1) };
                records.push((at as u64, record));
                at += len;
            }
            Number::CutOff => {
                return Stream { records, damage, end: End::Truncated(at as u64) };
            }
            Number::TooLarge => {
                // A byte below 40 ends a record, whether it is its first byte or a later one.
                let boundary = bytes[at..].iter().position(|byte| *byte < 0x40);
                let next = boundary.map_or(bytes.len(), |boundary| at + boundary + 1);
                damage.push((at as u64, next as u64));
                at = next;
            }
        }
    }
    Stream { records, damage, end: End::Complete }
}

/// Decodes bytes that flow wrote.
///
/// # Panics
/// They are not canonical, or end inside a record.
#[must_use]
pub fn decode_canonical(bytes: &[u8]) -> Vec<Event> {
    let Stream { records, damage, end } = decode(bytes);
    assert_eq!((damage, end), (Vec::new(), End::Complete), "damage in a file that flow wrote");
    let mut events = Vec::new();
    for (_, record) in records {
        match record {
            Record::Enter(method) => events.push(Event::Enter(method)),
            Record::Exits(count) => events.extend((0..count).map(|_| Event::Exit)),
        }
    }
    // No superfluous byte in a number, and no two runs of exits in a row.
    assert!(encode(&events) == bytes, "not canonical: {bytes:02X?}");
    events
}

/// The canonical bytes of events.
#[must_use]
pub fn encode(events: &[Event]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for run in events.chunk_by(|one, next| (one, next) == (&Event::Exit, &Event::Exit)) {
        match run[0] {
            Event::Enter(method) => put_number(0b1000_0000, method, &mut bytes),
            Event::Exit => put_number(0, run.len() as u64 - 1, &mut bytes),
        }
    }
    bytes
}

/// Appends a number. `flag` is bit 7 of its first byte.
pub(crate) fn put_number(flag: u8, value: u64, bytes: &mut Vec<u8>) {
    let low = flag + u8::try_from(value % 64).expect("six bits");
    let mut rest = value / 64;
    bytes.push(if rest > 0 { low + 64 } else { low });
    while rest > 0 {
        let group = u8::try_from(rest % 128).expect("seven bits");
        rest /= 128;
        bytes.push(if rest > 0 { group + 128 } else { group });
    }
}
