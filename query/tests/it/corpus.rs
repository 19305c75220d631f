//! Runs the checks on the inputs that the fuzzer found and that are kept, without a fuzzer.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::checks::CHECKS;

const MOST_FILES: usize = 100;
const MOST_BYTES: usize = 200 << 10;

fn fuzz_dir(folder: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(folder)
}

fn file_stems(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(fuzz_dir(folder)).expect("the folder is there");
    let stem = |path: &Path| path.file_stem()?.to_str().map(str::to_owned);
    entries.map(|entry| stem(&entry.expect("it can be listed").path()).expect("UTF-8")).collect()
}

#[test]
fn every_check_has_a_fuzz_target_and_a_corpus() {
    let names: BTreeSet<_> = CHECKS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(file_stems("fuzz_targets"), names);
    assert_eq!(file_stems("corpus"), names);
    let manifest = fs::read_to_string(fuzz_dir("Cargo.toml")).unwrap();
    for name in names {
        assert!(manifest.contains(&format!("name = \"{name}\"\npath")), "{name}");
    }
}

#[test]
fn every_file_of_the_corpus_passes_its_check() {
    for (name, check) in CHECKS {
        let (mut files, mut bytes) = (0, 0);
        for entry in fs::read_dir(fuzz_dir("corpus").join(name)).unwrap() {
            let path = entry.unwrap().path();
            // Shown if the check fails.
            println!("{}", path.display());
            let content = fs::read(path).unwrap();
            check(&content);
            files += 1;
            bytes += content.len();
        }
        assert!(files > 0 && files < MOST_FILES && bytes < MOST_BYTES, "{name}: {files}, {bytes}");
    }
}
