//! Finds JDKs to test on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// An installed JDK.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Jdk {
    /// Its directory.
    pub home: PathBuf,
    /// Its feature version: 17, 25, ….
    pub version: u32,
}

impl Jdk {
    /// Returns whether the JDK has a module. Some builds come without a compiler.
    #[must_use]
    pub fn has_module(&self, name: &str) -> bool {
        let release = fs::read_to_string(self.home.join("release")).unwrap_or_default();
        let modules = release.lines().find_map(|line| line.strip_prefix("MODULES="));
        // Full JDKs of some distributions do not list their modules, but have a file for each.
        modules.is_some_and(|list| list.trim_matches('"').split(' ').any(|module| module == name))
            || self.home.join("jmods").join(format!("{name}.jmod")).is_file()
    }

    /// The directory of the JDK's C headers: its own, or those of another JDK on this machine, which are the
    /// same.
    ///
    /// # Panics
    /// No JDK has headers.
    #[must_use]
    pub fn include(&self) -> PathBuf {
        std::iter::once(self.home.clone())
            .chain(installed())
            .map(|home| home.join("include"))
            .find(|include| include.join("jvmti.h").is_file())
            .expect("a JDK with headers (Debian: openjdk-17-jdk-headless)")
    }

    /// A program of the JDK, such as `java`.
    #[must_use]
    pub fn tool(&self, name: &str) -> PathBuf {
        self.home.join("bin").join(name)
    }

    fn at(home: &Path) -> Option<Self> {
        let home = fs::canonicalize(home).ok()?;
        let release = fs::read_to_string(home.join("release")).ok()?;
        let line = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
        let mut parts = line.trim_matches('"').split(['.', '-', '_']);
        let version = match parts.next()? {
            "1" => parts.next()?,
            feature => feature,
        };
        let version = version.parse().ok()?;
        home.join("bin/java").is_file().then_some(Self { home, version })
    }
}

/// The oldest version on which every test runs.
const OLDEST: u32 = 11;

/// Finds JDKs from version 11 on, one of each version: those of `FLOW_TEST_JDKS` (directories separated by `:`), or else
/// `JAVA_HOME`, the `java` on the PATH, and those installed under `/usr/lib/jvm`.
///
/// # Panics
/// There is none: a test run without a JVM would prove nothing.
#[must_use]
pub fn jdks() -> &'static [Jdk] {
    static JDKS: OnceLock<Vec<Jdk>> = OnceLock::new();
    JDKS.get_or_init(|| {
        let mut by_version = BTreeMap::new();
        let found = candidates().into_iter().filter_map(|home| Jdk::at(&home));
        for jdk in found.filter(|jdk| jdk.version >= OLDEST) {
            by_version.entry(jdk.version).or_insert(jdk);
        }
        let found: Vec<_> = by_version.into_values().collect();
        assert!(
            !found.is_empty(),
            "no JDK found; install one (Debian: apt-get install openjdk-17-jdk-headless), or name \
             its directory in JAVA_HOME or FLOW_TEST_JDKS"
        );
        found
    })
}

/// Finds a JDK 8, in the same places. On it, flow records with `engine=events` only, so that most tests do not run there.
#[must_use]
pub fn jdk_8() -> Option<Jdk> {
    let found = candidates().into_iter().filter_map(|home| Jdk::at(&home));
    found.into_iter().find(|jdk| jdk.version == 8)
}

fn candidates() -> Vec<PathBuf> {
    match std::env::var_os("FLOW_TEST_JDKS") {
        Some(named) => std::env::split_paths(&named).collect(),
        None => installed(),
    }
}

fn installed() -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> =
        std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path =
        std::env::split_paths(&path).map(|dir| dir.join("java")).find(|java| java.is_file());
    if let Some(java) = on_path.and_then(|java| fs::canonicalize(java).ok()) {
        homes.extend(java.ancestors().nth(2).map(Path::to_path_buf));
    }
    if let Ok(installed) = fs::read_dir("/usr/lib/jvm") {
        let mut installed: Vec<_> = installed.flatten().map(|entry| entry.path()).collect();
        installed.sort();
        homes.extend(installed);
    }
    homes
}
