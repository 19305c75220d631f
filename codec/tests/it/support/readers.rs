//! What readers of the crate find in bytes, in the terms of the model.

use std::num::NonZeroU64;

use flow_codec::format::flow;
use flow_codec::read::{ReadRecords, Tail, Visit};
use flow_codec::{Error, MethodId};
use flow_model::{End, Record, Stream};

/// Reads everything from a reader of the crate.
pub(crate) fn read_all(mut reader: impl ReadRecords) -> Stream {
    let mut records = Vec::new();
    let mut damage = Vec::new();
    loop {
        let position = reader.position().get();
        match reader.next_record() {
            Ok(Some((offset, record))) => {
                assert!(position <= offset.get(), "a record begins at the position or later");
                let seen = match record {
                    flow::Record::Enter(method) => Record::Enter(method.get()),
                    flow::Record::Exit(count) => Record::Exits(count.get()),
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
            // The file does not reach to where the journal continues.
            Err(Error::Gap { end, next, .. }) => damage.push((end.get(), next.get())),
            Err(error) => panic!("bytes in memory cannot fail with: {error}"),
        }
    }
}

/// Reads the same records through a visitor, which gets no offsets.
pub(crate) fn visit_all(mut reader: impl ReadRecords) -> (Vec<Record>, Vec<(u64, u64)>, End) {
    struct All(Vec<Record>);
    impl Visit for All {
        fn enter(&mut self, method: MethodId) {
            self.0.push(Record::Enter(method.get()));
        }
        fn exit(&mut self, count: NonZeroU64) {
            self.0.push(Record::Exits(count.get()));
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
            // The file does not reach to where the journal continues.
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
