//! The Java programs of the harness, compiled once for all tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

use crate::{Golden, jdks};

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

/// Compiles a program of the harness for Java 8 into a directory.
///
/// # Panics
/// No JDK has a compiler, or the program does not compile for Java 8.
pub fn compile_for_java_8(program: &str, into: &Path) {
    let jdk = jdks().iter().find(|jdk| jdk.has_module("jdk.compiler")).expect("a JDK with javac");
    let sources = root().join("java-harness/src/main/java");
    let mut javac = Command::new(jdk.tool("javac"));
    javac.args(["--release", "8", "-g", "-nowarn", "-proc:none", "-d"]).arg(into);
    javac.arg("-sourcepath").arg(&sources).arg(sources.join(format!("harness/{program}.java")));
    let output = javac.output().expect("javac runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} does not compile for Java 8:\n{text}");
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
