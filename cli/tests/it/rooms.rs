//! The rooms of the sources import in one direction.

use std::fs;
use std::path::{Path, PathBuf};

/// From the top down: a room may import those after it. `main.rs` is above them all.
const ROOMS: [&str; 9] =
    ["cmd", "args", "html", "export", "repair", "jvm", "input", "output", "failure"];

fn sources(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

#[test]
fn rooms_import_only_rooms_below_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let floor = |name: &str| ROOMS.iter().position(|room| *room == name);
    let mut imports = 0;
    for path in sources(&root) {
        let inside = path.strip_prefix(&root).unwrap().with_extension("");
        assert!(!inside.iter().any(|part| part == "tests"), "{}: no test", path.display());
        let room = inside.iter().next().unwrap().to_str().unwrap();
        if room == "main" {
            continue;
        }
        let own = floor(room).unwrap_or_else(|| panic!("{room}: a room without a floor"));
        let text = fs::read_to_string(&path).unwrap();
        for import in text.split("crate::").skip(1) {
            let end = import.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let name = &import[..end.unwrap_or(import.len())];
            let Some(other) = floor(name) else { continue };
            assert!(own <= other, "{}: imports {name}", path.display());
            imports += 1;
        }
    }
    assert!(imports > 100, "{imports} imports were found");
}
