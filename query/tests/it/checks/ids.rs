//! Arbitrary bytes as `ids.properties`: each line counts by itself, and its content can be written again.

use std::collections::BTreeMap;

use flow_codec::format::{ids, names};

use super::lines::{assert_damaged, whole_lines};
use super::scratch;

pub(super) fn check(bytes: &[u8]) {
    let mut expected = BTreeMap::new();
    let mut bad = Vec::new();
    let lines = whole_lines(bytes);
    for (line, number) in lines.iter().zip(1..) {
        match ids::decode_line(line) {
            Err(_) => bad.push(number),
            Ok(None) => assert!(line.is_empty() || line.starts_with('#')),
            Ok(Some((key, id))) => {
                let mut again = String::new();
                ids::encode_line(&key, id, &mut again);
                assert_eq!(again.pop(), Some('\n'));
                assert!(!again.contains('\n'));
                assert_eq!(ids::decode_line(&again), Ok(Some((key.clone(), id))));
                // Of two lines with the same id, the first one counts.
                expected.entry(id).or_insert(key);
            }
        }
    }

    let trace = scratch::opened(&[(names::IDS, bytes)]);
    assert_damaged(trace.damage(), names::IDS, &bad);
    assert_eq!(trace.methods().len(), expected.len());
    for ((id, method), (expected_id, key)) in trace.methods().iter().zip(&expected) {
        assert_eq!(id, *expected_id);
        assert!(method.has_key() && !method.is_described());
        let info = method.info();
        let again = ids::key(&info.class, &info.name, &info.descriptor);
        assert_eq!(again, if key.contains('#') { key.to_string() } else { format!("#{key}") });
        assert_eq!(trace.methods().display(id), method.to_string());
    }
}
