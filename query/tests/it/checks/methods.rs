//! Arbitrary bytes as `methods.jsonl`: each line counts by itself, and its content can be written again.

use std::collections::{BTreeMap, BTreeSet};

use flow_codec::format::methods::MethodLine;
use flow_codec::format::names;

use super::lines::{assert_damaged, whole_lines};
use super::scratch;

pub(super) fn check(bytes: &[u8]) {
    let mut expected: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let mut bad = Vec::new();
    for (text, number) in whole_lines(bytes).iter().zip(1..) {
        let Ok(line) = serde_json::from_str::<MethodLine>(text) else {
            bad.push(number);
            continue;
        };
        let again = serde_json::to_string(&line).expect("plain fields");
        assert!(!again.contains('\n'));
        assert_eq!(serde_json::from_str::<MethodLine>(&again).expect("our own line"), line);
        expected.entry(line.id).or_default().push(line.method);
    }

    let trace = scratch::opened(&[(names::METHODS, bytes)]);
    assert_damaged(trace.damage(), names::METHODS, &bad);
    assert_eq!(trace.methods().len(), expected.len());
    for ((id, method), (expected_id, infos)) in trace.methods().iter().zip(&expected) {
        let (info, first) = (method.info(), &infos[0]);
        assert_eq!((id, info.version), (*expected_id, first.version));
        assert_eq!([&info.class, &info.name], [&first.class, &first.name]);
        assert_eq!([&info.descriptor, &info.loader], [&first.descriptor, &first.loader]);
        assert!(method.is_described() && !method.has_key());
        // Each loader and each version of the other lines is there.
        let loaders: BTreeSet<_> = method.other_loaders().iter().chain([&info.loader]).collect();
        let expected: BTreeSet<_> = infos.iter().map(|info| &info.loader).collect();
        assert_eq!(loaders, expected);
        let versions: BTreeSet<_> = method.versions().map(|info| info.version).collect();
        let expected: BTreeSet<_> = infos.iter().map(|info| info.version).collect();
        assert_eq!(versions, expected);
    }
}
