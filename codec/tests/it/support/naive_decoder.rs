//! A second decoder of `.flow`, for comparison: slow, obvious, and sharing no code with the crate.
//!
//! It keeps every bit of a number in a list and weighs them at the end, and it sees all bytes at
//! once. The fuzz targets use it too.

use std::num::NonZeroU64;

use flow_codec::format::flow::Record;
use flow_codec::read::{ReadRecords, Tail, Visit};
use flow_codec::{Error, MethodId};

/// One record, in plain numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    Enter(u64),
    /// This many exits.
    Exits(u64),
}

/// How the records end. The offset is where the record in question begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Complete,
    Truncated(u64),
}

/// All there is in some bytes: each record with its offset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Stream {
    pub(crate) records: Vec<(u64, Seen)>,
    /// From where to where there is damage.
    pub(crate) damage: Vec<(u64, u64)>,
    pub(crate) end: End,
}

/// Decodes a whole thread file.
pub(crate) fn decode_all(bytes: &[u8]) -> Stream {
    let mut records = Vec::new();
    let mut damage = Vec::new();
    let mut at = 0;
    let end = loop {
        if at == bytes.len() {
            break End::Complete;
        }
        let first = bytes[at];
        let is_enter = first & 0b1000_0000 != 0;
        let mut more = first & 0b0100_0000 != 0;
        // Bits of the value, the lowest first.
        let mut bits: Vec<bool> = (0..6).map(|bit| first >> bit & 1 == 1).collect();
        let mut next = at + 1;
        while more && next < bytes.len() && next - at < 10 {
            let byte = bytes[next];
            bits.extend((0..7).map(|bit| byte >> bit & 1 == 1));
            more = byte & 0b1000_0000 != 0;
            next += 1;
        }
        let is_too_large = bits.iter().skip(63).any(|&bit| bit);
        let wants_an_eleventh = more && next - at == 10;
        if is_too_large || wants_an_eleventh {
            // Only below 40 is a byte the last of its record whether it is the first or not.
            let last = bytes[at..].iter().take_while(|&&byte| byte >= 0x40).count();
            let resumed = (at + last + 1).min(bytes.len());
            damage.push((at as u64, resumed as u64));
            at = resumed;
            continue;
        }
        if more {
            break End::Truncated(at as u64);
        }
        let value = bits.iter().rev().fold(0_u128, |sum, &bit| sum * 2 + u128::from(bit));
        let value = u64::try_from(value).expect("63 bits");
        let seen = if is_enter { Seen::Enter(value) } else { Seen::Exits(value + 1) };
        records.push((at as u64, seen));
        at = next;
    };
    Stream { records, damage, end }
}

/// What a reader of the crate makes of its input, in the same terms.
pub(crate) fn read_all(mut reader: impl ReadRecords) -> Stream {
    let mut records = Vec::new();
    let mut damage = Vec::new();
    loop {
        let position = reader.position().get();
        match reader.next_record() {
            Ok(Some((offset, record))) => {
                assert!(position <= offset.get(), "a record begins behind the position");
                let seen = match record {
                    Record::Enter(method) => Seen::Enter(method.get()),
                    Record::Exit(count) => Seen::Exits(count.get()),
                };
                records.push((offset.get(), seen));
            }
            Ok(None) => {
                let end = match reader.tail() {
                    Tail::Complete => End::Complete,
                    Tail::Truncated { offset } => End::Truncated(offset.get()),
                };
                assert!(matches!(reader.next_record(), Ok(None)), "the end is final");
                return Stream { records, damage, end };
            }
            Err(Error::OversizedNumber { offset, next, .. }) => {
                assert_eq!(reader.position(), next);
                damage.push((offset.get(), next.get()));
            }
            // The file does not reach to where the journal goes on.
            Err(Error::Gap { end, next, .. }) => damage.push((end.get(), next.get())),
            Err(error) => panic!("bytes in memory cannot fail with: {error}"),
        }
    }
}

/// The same of the records as they are handed on together, where they begin left out.
pub(crate) fn visit_all(mut reader: impl ReadRecords) -> (Vec<Seen>, Vec<(u64, u64)>, End) {
    struct All(Vec<Seen>);
    impl Visit for All {
        fn enter(&mut self, method: MethodId) {
            self.0.push(Seen::Enter(method.get()));
        }
        fn exit(&mut self, count: NonZeroU64) {
            self.0.push(Seen::Exits(count.get()));
        }
    }
    let (mut all, mut damage) = (All(Vec::new()), Vec::new());
    loop {
        match reader.visit_some(&mut all) {
            Ok(true) => {}
            Ok(false) => break,
            Err(Error::OversizedNumber { offset, next, .. }) => {
                damage.push((offset.get(), next.get()));
            }
            // The file does not reach to where the journal goes on.
            Err(Error::Gap { end, next, .. }) => damage.push((end.get(), next.get())),
            Err(error) => panic!("bytes in memory cannot fail with: {error}"),
        }
    }
    let end = match reader.tail() {
        Tail::Complete => End::Complete,
        Tail::Truncated { offset } => End::Truncated(offset.get()),
    };
    (all.0, damage, end)
}
