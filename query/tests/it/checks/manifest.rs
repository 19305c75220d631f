//! Arbitrary bytes as `trace.json`: it has the content of its JSON, or is refused by name.

use flow_codec::Error;
use flow_codec::format::manifest::{Manifest, VERSION};
use flow_codec::format::names;
use flow_codec::read::Trace;

use super::scratch;

pub(super) fn check(bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).ok();
    let json = text.and_then(|text| serde_json::from_str::<Manifest>(text).ok());
    let expected = json.filter(|manifest| manifest.format_version <= VERSION);
    let dir = scratch::filled(&[(names::MANIFEST, bytes)]);
    let opened = Trace::open(&dir);
    match Trace::manifest_of(&dir) {
        Ok(manifest) => {
            assert_eq!(manifest, expected);
            let again = serde_json::to_string(&manifest).expect("plain fields");
            assert_eq!(serde_json::from_str::<Option<Manifest>>(&again).expect("ours"), manifest);
            let trace = opened.expect("it opens");
            assert!(trace.damage().is_empty() && trace.manifest() == manifest.as_ref());
        }
        Err(error) => {
            assert_eq!(expected, None);
            let message = error.to_string();
            assert!(message.contains(names::MANIFEST), "{message}");
            match error {
                Error::UnsupportedVersion { found, .. } => {
                    assert!(found > VERSION && opened.is_err());
                }
                _ => {
                    let trace = opened.expect("it opens without");
                    assert!(trace.damage().len() == 1 && trace.manifest().is_none());
                }
            }
        }
    }
}
