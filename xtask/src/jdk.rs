//! The JDKs of this machine.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::base::failure::{Failure, Result};
use crate::base::process::{self, clean, is_executable};
use crate::base::project::entries_of;

/// Where Linux distributions install JDKs.
const INSTALLED: &str = "/usr/lib/jvm";

/// A JDK, or a runtime without a compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Jdk {
    pub(crate) home: PathBuf,
    /// The feature version: 8, 11, 17.
    pub(crate) version: u32,
}

impl Jdk {
    /// Returns the JDK at `home`, if there is one.
    pub(crate) fn at(home: &Path) -> Option<Self> {
        let release = fs::read_to_string(home.join("release")).ok()?;
        let version = version_in(&release)?;
        is_executable(&home.join("bin/java")).then(|| Self { home: home.to_owned(), version })
    }

    /// Returns the JDK at `home`.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub(crate) fn named(home: &str) -> Result<Self> {
        let found = fs::canonicalize(home).ok().and_then(|home| Self::at(&home));
        found.ok_or_else(|| Failure::Usage(format!("not a JDK: {home}")))
    }

    /// Returns a program of the JDK, such as `java`.
    pub(crate) fn tool(&self, name: &str) -> Command {
        clean(self.home.join("bin").join(name))
    }

    /// Returns whether it has `javac`; runtimes have none.
    pub(crate) fn has_compiler(&self) -> bool {
        is_executable(&self.home.join("bin/javac"))
    }

    /// Returns the full version of the virtual machine, such as `17.0.9+9`.
    pub(crate) fn vm_version(&self) -> String {
        let settings = self.tool("java").args(["-XshowSettings:properties", "-version"]).output();
        let text = settings.map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
        let property = |text: &str| {
            text.lines().find_map(|line| Some(line.split_once("java.vm.version = ")?.1.to_owned()))
        };
        text.ok().as_deref().and_then(property).unwrap_or_else(|| "unknown".to_owned())
    }
}

/// Returns one JDK of each version: the first in `JAVA_HOME`, on the PATH, or under `/usr/lib/jvm`.
pub(crate) fn installed() -> Vec<Jdk> {
    first_of_each_version(homes().iter().filter_map(|home| Jdk::at(home)))
}

/// Returns all JDKs that have a compiler, in the order in which they are preferred.
pub(crate) fn with_compiler() -> impl Iterator<Item = Jdk> {
    homes().into_iter().filter_map(|home| Jdk::at(&home)).filter(Jdk::has_compiler)
}

/// Returns where JDKs may be, in the order in which they are preferred.
fn homes() -> Vec<PathBuf> {
    let mut homes = Vec::new();
    if let Some(home) = env::var_os("JAVA_HOME") {
        homes.push(PathBuf::from(home));
    }
    if let Some(java) = process::on_path("java").and_then(|java| fs::canonicalize(java).ok()) {
        homes.extend(java.ancestors().nth(2).map(Path::to_owned));
    }
    homes.extend(entries_of(Path::new(INSTALLED)).unwrap_or_default());
    homes
}

fn first_of_each_version(found: impl IntoIterator<Item = Jdk>) -> Vec<Jdk> {
    let mut jdks: Vec<Jdk> = Vec::new();
    for jdk in found {
        if jdks.iter().all(|known| known.version != jdk.version) {
            jdks.push(jdk);
        }
    }
    jdks
}

/// Returns the feature version in the `release` file of a JDK: 8 for `1.8.0_292`.
fn version_in(release: &str) -> Option<u32> {
    let line = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION=\""))?;
    let line = line.strip_prefix("1.").unwrap_or(line);
    let end = line.find(|c: char| !c.is_ascii_digit()).unwrap_or(line.len());
    line[..end].parse().ok()
}

/// Returns the `java.class.path` of some files.
pub(crate) fn class_path<P: AsRef<Path>>(files: impl IntoIterator<Item = P>) -> String {
    let names: Vec<String> =
        files.into_iter().map(|file| file.as_ref().to_string_lossy().into_owned()).collect();
    names.join(":")
}

/// Returns the jars of a directory, sorted by name.
pub(crate) fn jars_in(dir: &Path) -> Vec<PathBuf> {
    let mut jars = entries_of(dir).unwrap_or_default();
    jars.retain(|path| path.extension().is_some_and(|end| end == "jar"));
    jars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_in_their_old_and_new_form() {
        let release =
            |version| format!("IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"{version}\"\nOS_NAME=\"y\"\n");
        assert_eq!(version_in(&release("17.0.9")), Some(17));
        assert_eq!(version_in(&release("25")), Some(25));
        assert_eq!(version_in(&release("1.8.0_292")), Some(8));
        assert_eq!(version_in("OS_NAME=\"y\"\n"), None);
        assert_eq!(version_in(&release("ea")), None);
    }

    #[test]
    fn the_first_jdk_of_a_version_is_taken() {
        let jdk = |home: &str, version| Jdk { home: home.into(), version };
        let found = [jdk("/a", 17), jdk("/b", 25), jdk("/c", 17), jdk("/d", 11)];
        let homes: Vec<_> = first_of_each_version(found).into_iter().map(|jdk| jdk.home).collect();
        assert_eq!(homes, ["/a", "/b", "/d"].map(PathBuf::from));
    }

    #[test]
    fn a_directory_without_java_is_not_a_jdk() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("release"), "JAVA_VERSION=\"17.0.9\"\n").unwrap();
        assert_eq!(Jdk::at(dir.path()), None);
        let message = Jdk::named("/no/such/home").unwrap_err().to_string();
        assert_eq!(message, "not a JDK: /no/such/home");
    }

    #[test]
    fn a_class_path_has_colons() {
        assert_eq!(class_path(["/a.jar", "/b"]), "/a.jar:/b");
    }
}
