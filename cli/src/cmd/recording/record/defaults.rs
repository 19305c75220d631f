//! Default options of the agent. They are environment variables, so that the user's options, which are in the option
//! string, take precedence.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use flow_options::mains::COMPILERS;
use tempfile::TempDir;

use super::wrapped::java_arguments;
use crate::args::AgentArgs;
use crate::cmd::recording::agent::{SelectedBy, Selection, is_java};
use crate::failure::Failure;
use crate::own::{self, Surroundings};

/// The jar of the Java API, with the listeners that mark tests. `scripts/api.sh` builds it.
const API_JAR: &[u8] = include_bytes!("../../../../java/flow-api.jar");

/// Methods that JaCoCo adds to classes.
const JACOCO_METHODS: &str = "**#$jacocoInit";

/// A trace of this size is too large for nearly every question, and a disk that fills unnoticed stops more than flow.
const MAX_BYTES: u64 = 20 << 30;
/// The smallest limit that the agent accepts.
const LEAST_BYTES: u64 = 1 << 20;
/// A trace takes at most this part of what is free: a half.
const FREE_SHARE: u64 = 2;

/// Environment variables for the command, and the files that belong to them.
#[derive(Debug)]
pub(super) struct Defaults {
    pub(super) variables: Vec<(&'static str, OsString)>,
    /// Which methods are recorded, if the user has not chosen them.
    pub(super) remark: Option<String>,
    /// Removed when the command has ended.
    files: TempDir,
}

impl Defaults {
    /// Chooses defaults for the command.
    pub(super) fn of(command: &[OsString], args: &AgentArgs) -> Result<Self, Failure> {
        // Only this user may write to a directory of this kind, which matters because JVMs run its content.
        let files =
            tempfile::Builder::new().prefix("flow-").tempdir().map_err(Failure::temporary_file)?;
        // Some umasks remove too much.
        fs::set_permissions(files.path(), Permissions::from_mode(0o700))
            .map_err(Failure::temporary_file)?;
        let mut defaults = Self { variables: Vec::new(), remark: None, files };
        let jar = defaults.keep("flow-api.jar", API_JAR)?;
        defaults.add("FLOW_API", jar.into());
        if starts_tools(command) {
            defaults.add("FLOW_ONLY_MAIN", "!tools".into());
        }
        defaults.choose_packages(command, args)?;
        Ok(defaults)
    }

    /// Creates a file that exists as long as the command runs.
    pub(super) fn keep(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<PathBuf, Failure> {
        let path = self.files.path().join(name);
        fs::write(&path, bytes).map_err(Failure::temporary_file)?;
        Ok(path)
    }

    /// Adds a variable, unless the user has set it.
    fn add(&mut self, name: &'static str, value: OsString) {
        if env::var_os(name).is_none_or(|set| set.is_empty()) {
            self.variables.push((name, value));
        }
    }

    /// Limits the size of the trace, unless the user does, or wants no limit.
    pub(super) fn limit_size(&mut self, args: &AgentArgs, out: &str) {
        let is_memory = |value: &str| value == "memory";
        let is_set = args.max_size.is_some()
            || args.options.iter().any(|(key, _)| key == "max-size")
            || args.config.is_some()
            // The agent has a limit for that.
            || args.keep.as_deref().is_some_and(is_memory)
            || args.options.iter().any(|(key, value)| key == "keep" && is_memory(value))
            || env::var("FLOW_KEEP").is_ok_and(|value| is_memory(&value))
            || env::var_os("FLOW_CONFIG").is_some_and(|value| !value.is_empty());
        let place = Path::new(out).ancestors().find(|place| place.exists());
        let free = place.and_then(|place| rustix::fs::statvfs(place).ok());
        let free = free.map_or(u64::MAX, |free| free.f_bavail.saturating_mul(free.f_frsize));
        let bytes = MAX_BYTES.min(free / FREE_SHARE);
        if !is_set && bytes >= LEAST_BYTES {
            // Without a unit, by which flow info recognises it.
            self.add("FLOW_MAX_SIZE", bytes.to_string().into());
        }
    }

    /// Names the packages of the application, and selects them unless the user selects methods.
    fn choose_packages(&mut self, command: &[OsString], args: &AgentArgs) -> Result<(), Failure> {
        let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let of_java = |words: Vec<_>| own::of_java(&words, &Surroundings::of_children());
        let mut own = java_arguments(command).map_or_else(Vec::new, of_java);
        if own.is_empty() && starts_tools(command) {
            own = own::globs(&own::of_projects(&project_dirs(command)));
        }
        let selection = Selection::of(own, args, is_set)?;
        let is_compiler_excluded = starts_tools(command) && args.config.is_none();
        let everything = if is_compiler_excluded { "all but compilers" } else { "everything" };
        self.remark = selection.remark(everything);
        if is_compiler_excluded {
            // In a program that is compiled in its own JVM, calls of the compiler would fill the trace.
            let compilers = COMPILERS.iter().filter(|_| selection.by == SelectedBy::Nothing);
            let excluded: Vec<_> = [JACOCO_METHODS].iter().chain(compilers).copied().collect();
            self.add("FLOW_EXCLUDE", excluded.join(";").into());
        }
        if !selection.own.is_empty() {
            self.add("FLOW_OWN", selection.patterns().into());
        }
        if selection.by == SelectedBy::OwnPackages {
            self.variables.push(("FLOW_INCLUDE", selection.patterns().into()));
        }
        Ok(())
    }
}

/// Returns whether the command may start JVMs of build tools: all but programs of a JDK.
pub(super) fn starts_tools(command: &[OsString]) -> bool {
    command.first().is_some_and(|program| !is_of_jdk(program))
}

/// Returns whether a program is `java` or another program of a JDK, which the user wants recorded itself.
fn is_of_jdk(program: &OsStr) -> bool {
    is_java(program)
        || find(program).is_some_and(|path| {
            let home = path.parent().and_then(Path::parent);
            home.is_some_and(|home| {
                ["lib/modules", "lib/tools.jar"].into_iter().any(|file| home.join(file).is_file())
            })
        })
}

/// The path of the program that the command runs, if it is `java` or another program of a JDK.
pub(super) fn program_of_jdk(command: &[OsString]) -> Option<PathBuf> {
    command.first().filter(|program| is_of_jdk(program)).and_then(|program| find(program))
}

/// The path of a program, with links resolved.
fn find(program: &OsStr) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return fs::canonicalize(path).ok();
    }
    let search = env::var_os("PATH")?;
    let found = env::split_paths(&search).map(|dir| dir.join(path)).find(|path| path.is_file())?;
    fs::canonicalize(found).ok()
}

/// Files that show that a directory is that of a project.
const SIGNS: [&str; 11] = [
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "build.sbt",
    "build.xml",
    "target/classes",
    "build/classes",
    "src/main",
    "src/test",
];

/// The directories of the project: the current one, and the one that options of Maven and Gradle name.
fn project_dirs(command: &[OsString]) -> Vec<PathBuf> {
    let mut dirs = vec![PathBuf::from(".")];
    let mut args = command.iter().skip(1);
    while let Some(arg) = args.next() {
        if matches!(arg.to_str(), Some("-f" | "--file" | "-p" | "--project-dir"))
            && let Some(place) = args.next()
        {
            let place = PathBuf::from(place);
            let dir =
                if place.is_dir() { Some(place) } else { place.parent().map(Path::to_path_buf) };
            dirs.extend(dir.filter(|dir| !dir.as_os_str().is_empty()));
        }
    }
    dirs.retain(|dir| SIGNS.into_iter().any(|sign| dir.join(sign).exists()));
    dirs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_a_jdk_are_recognized_by_their_directory() {
        let root = tempfile::tempdir().unwrap();
        for dir in ["jdk/bin", "jdk/lib", "usr/bin", "usr/lib/modules"] {
            fs::create_dir_all(root.path().join(dir)).unwrap();
        }
        for file in ["jdk/bin/javac", "jdk/lib/modules", "usr/bin/mvn"] {
            fs::write(root.path().join(file), "").unwrap();
        }
        std::os::unix::fs::symlink(
            root.path().join("jdk/bin/javac"),
            root.path().join("usr/bin/javac"),
        )
        .unwrap();
        let is = |program: &str| is_of_jdk(root.path().join(program).as_os_str());
        assert!(is("jdk/bin/javac") && is("usr/bin/javac") && is("anywhere/java"));
        assert!(!is("usr/bin/mvn") && !is("missing/mvn"));
    }

    #[test]
    fn a_project_elsewhere_is_found_by_its_option() {
        let root = tempfile::tempdir().unwrap();
        let (pom, empty) = (root.path().join("a/pom.xml"), root.path().join("empty"));
        fs::create_dir_all(pom.parent().unwrap()).unwrap();
        fs::write(&pom, "").unwrap();
        fs::create_dir(&empty).unwrap();
        let command = |option: &str, place: &Path| {
            let words = ["mvn".as_ref(), option.as_ref(), place.as_os_str(), "-X".as_ref()];
            project_dirs(&words.map(OsStr::to_owned))
        };
        let expected = root.path().join("a");
        assert!(command("-f", &pom).contains(&expected));
        assert!(command("-p", &expected).contains(&expected));
        // Not a project, and an option without its value.
        assert!(!command("-f", &empty).contains(&empty));
        assert_eq!(project_dirs(&["mvn".into(), "-f".into()]), project_dirs(&["mvn".into()]));
    }
}
