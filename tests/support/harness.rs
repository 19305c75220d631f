//! The Java programs of the harness, compiled once for all tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

use crate::Golden;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ has a parent").to_path_buf()
}

/// The directory of the harness, its classes built and up to date.
///
/// # Panics
/// Maven is missing, or the build fails.
#[must_use]
pub fn harness() -> &'static Path {
    static HARNESS: OnceLock<PathBuf> = OnceLock::new();
    HARNESS.get_or_init(|| {
        let dir = root().join("java-harness");
        let stamp = dir.join("target/built-for-tests");
        let built = fs::metadata(&stamp).and_then(|stamp| stamp.modified()).ok();
        let newest = newest(&dir.join("src")).max(newest(&dir.join("pom.xml")));
        if built.is_none_or(|built| built < newest) {
            // The JUnit tests of the harness itself are run by scripts/test.sh.
            let maven = Command::new("mvn")
                .args(["-q", "-B", "-DskipTests", "package"])
                .current_dir(&dir)
                .output()
                .unwrap_or_else(|error| {
                    panic!("cannot run mvn: {error}; run scripts/setup.sh to see what is missing")
                });
            let text = String::from_utf8_lossy(&maven.stdout);
            assert!(maven.status.success(), "the harness does not build:\n{text}");
            fs::write(&stamp, "").expect("target/ can be written");
        }
        dir
    })
}

/// A library by others, which the harness has as a test subject.
#[must_use]
pub fn lib(name: &str) -> PathBuf {
    harness().join("target/lib").join(name)
}

/// Reads the expected tree of a harness program.
///
/// # Panics
/// There is none of this name.
#[must_use]
pub fn golden(program: &str) -> Golden {
    let path = root().join("tests/golden/trees").join(format!("{program}.tree"));
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Golden::parse(&text)
}

fn newest(path: &Path) -> SystemTime {
    let own = fs::metadata(path).and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let inside = fs::read_dir(path).into_iter().flatten().flatten();
    inside.map(|entry| newest(&entry.path())).max().unwrap_or(own).max(own)
}
