//! Source files, where names of methods and lines refer to them: where they are, and their text.

use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use flow_codec::read::{Methods, Trace};

use crate::output::{Out, message};

/// A longer file is not source code.
const MAX_BYTES: u64 = 64 << 20;

/// A project has at most this many directories in which modules are searched.
const MAX_DIRS: usize = 1000;
/// Modules are at most this deep in a project.
const MAX_DEPTH: usize = 2;

/// Finds lines of source files. Only files inside the folders are read, whatever names a trace has, and whatever links lead
/// out of them: a trace may come from anywhere. Memory: the files that lines were taken from, and the packages that were
/// searched.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    dirs: Vec<PathBuf>,
    /// The folders, by paths without links.
    roots: Vec<PathBuf>,
    /// The folders of each package.
    packages: HashMap<String, Vec<PathBuf>>,
    /// The files that are in none, by name.
    loose: Option<HashMap<OsString, PathBuf>>,
    files: HashMap<String, Option<Vec<String>>>,
    /// When the recording began, if files that are newer are to be reported.
    recorded: Option<SystemTime>,
}

/// The folders with source files that a person named, or those of the project in this directory and of its modules, as
/// the usual build tools have them.
pub(crate) fn source_folders(named: &[PathBuf]) -> Vec<PathBuf> {
    if !named.is_empty() {
        return named.to_vec();
    }
    folders_of_project(Path::new("."))
}

fn folders_of_project(project: &Path) -> Vec<PathBuf> {
    const KINDS: [&str; 2] = ["main", "test"];
    const LANGUAGES: [&str; 5] = ["java", "kotlin", "scala", "groovy", "clojure"];
    let mut found = Vec::new();
    let mut to_do = VecDeque::from([(project.to_path_buf(), 0)]);
    for _ in 0..MAX_DIRS {
        let Some((dir, depth)) = to_do.pop_front() else { break };
        let src = dir.join("src");
        if src.is_dir() {
            let all = KINDS
                .iter()
                .flat_map(|kind| LANGUAGES.map(|language| src.join(kind).join(language)));
            found.extend(all.filter(|dir| dir.is_dir()));
        }
        if depth < MAX_DEPTH {
            to_do.extend(entries(&dir).filter(is_module).map(|entry| (entry.path(), depth + 1)));
        }
    }
    let whole = [project.join("src"), project.to_path_buf()];
    found.extend(whole.into_iter().filter(|dir| dir.is_dir()));
    found
}

fn entries(dir: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    let mut entries: Vec<_> = fs::read_dir(dir).into_iter().flatten().flatten().collect();
    entries.sort_by_key(DirEntry::file_name);
    entries.into_iter()
}

/// Returns whether a directory may be a module of a project, by its name.
fn is_module(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    let is_other = name.starts_with('.')
        || matches!(&*name, "src" | "target" | "build" | "out" | "node_modules");
    !is_other && entry.file_type().is_ok_and(|kind| kind.is_dir())
}

/// From now on, names of methods have links to their files below these folders or, if none are named, below those of the
/// project in this directory.
pub(crate) fn link(methods: &Methods, named: &[PathBuf], out: &mut Out) {
    if out.has_links() {
        let mut sources = Sources::new(&source_folders(named));
        out.link(methods, |file| sources.path(file));
    }
}

impl Sources {
    /// Files below these folders, each of which has the packages.
    pub(crate) fn new(dirs: &[PathBuf]) -> Self {
        let roots = dirs.iter().filter_map(|dir| fs::canonicalize(dir).ok()).collect();
        Self { dirs: dirs.to_vec(), roots, ..Self::default() }
    }

    /// From now on, reports each file that is read, and that was written after a recording began.
    pub(crate) fn report_newer_than(&mut self, trace: &Trace) {
        let start = trace.manifest().map(|manifest| Duration::from_nanos(manifest.start_unix_ns));
        self.recorded = start.and_then(|start| UNIX_EPOCH.checked_add(start));
    }

    /// Where a file is.
    pub(crate) fn path(&mut self, file: &str) -> Option<PathBuf> {
        // A path outside is not even looked up: it may be mounted on demand.
        if !Path::new(file).components().all(|part| matches!(part, Component::Normal(_))) {
            return None;
        }
        let (package, name) = file.rsplit_once('/').unwrap_or(("", file));
        let Self { dirs, roots, packages, loose, .. } = self;
        let is_inside = |path: &Path| {
            let real = fs::canonicalize(path).ok();
            real.is_some_and(|real| roots.iter().any(|root| real.starts_with(root)))
        };
        let is_source = |path: &Path| match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => path.is_file() && is_inside(path),
            found => found.is_ok_and(|found| found.is_file()),
        };
        if !packages.contains_key(package) {
            let folders = dirs.iter().map(|dir| dir.join(package));
            let folders = folders.filter(|dir| dir.is_dir() && is_inside(dir));
            packages.insert(package.to_owned(), folders.collect());
        }
        let mut places = packages.get(package)?.iter().map(|folder| folder.join(name));
        // Kotlin allows files outside of the folders of their packages.
        let loose = loose.get_or_insert_with(|| {
            let files = dirs.iter().rev().flat_map(|dir| entries(dir));
            files.map(|entry| (entry.file_name(), entry.path())).collect()
        });
        let place = places.find(|path| is_source(path));
        place.or_else(|| loose.get(OsStr::new(name)).filter(|path| is_source(path)).cloned())
    }

    /// The text of a line, without indentation.
    pub(crate) fn line(&mut self, file: &str, line: u32) -> Option<&str> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        self.lines(file)?.get(index).map(|line| line.trim())
    }

    /// All lines of a file, with blanks instead of tabs; `None` if there is no such file, or if it is not text of a
    /// reasonable size.
    pub(crate) fn lines(&mut self, file: &str) -> Option<&[String]> {
        if self.dirs.is_empty() {
            return None;
        }
        if !self.files.contains_key(file) {
            let found = self.path(file);
            let metadata = found.as_ref().and_then(|path| fs::metadata(path).ok());
            let is_small = metadata.as_ref().is_some_and(|it| it.len() <= MAX_BYTES);
            let bytes = found.filter(|_| is_small).and_then(|path| fs::read(path).ok());
            let written = metadata.and_then(|it| it.modified().ok());
            if bytes.is_some() && self.recorded.is_some_and(|start| written > Some(start)) {
                message(&format!(
                    "{file} was written after the recording began: its lines may be others than those that ran"
                ));
            }
            let lines = bytes.map(|bytes| {
                let text = String::from_utf8_lossy(&bytes);
                let blanks = |line: &str| with_blanks(line);
                text.lines().map(blanks).collect()
            });
            self.files.insert(file.to_owned(), lines);
        }
        self.files.get(file)?.as_deref()
    }
}

/// A line with blanks instead of tabs: as many as editors show at the start, and one anywhere else.
fn with_blanks(line: &str) -> String {
    let text = line.trim_start_matches(['\t', ' ']);
    let (start, _) = line.split_at(line.len() - text.len());
    format!("{}{}", start.replace('\t', "    "), text.replace('\t', " "))
}

#[cfg(test)]
mod tests {
    use flow_codec::format::methods::MethodInfo;

    use super::*;

    fn source_file(class: &str, source: Option<&str>) -> String {
        let source = source.map(str::to_owned);
        let info = MethodInfo { class: class.to_owned(), source, ..MethodInfo::default() };
        info.source_path().into_owned()
    }

    #[test]
    fn a_file_is_in_the_folder_of_its_package() {
        let orders = source_file("com.app.Orders$Line", Some("Orders.java"));
        assert_eq!(orders, "com/app/Orders.java");
        assert_eq!(source_file("Main", Some("Main.java")), "Main.java");
        assert_eq!(source_file("com.app.Orders$1", None), "com/app/Orders$1.class");
    }

    #[test]
    fn the_folders_of_modules_are_those_of_the_project() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path();
        for folder in [
            "src/main/java",
            "src/test/kotlin",
            "core/src/main/scala",
            "apps/web/src/main/java",
            "apps/web/deep/src/main/java",
            "target/src/main/java",
            ".hidden/src/main/java",
            "src/it/java",
        ] {
            fs::create_dir_all(project.join(folder)).unwrap();
        }
        let found = folders_of_project(project);
        let found: Vec<_> =
            found.iter().map(|dir| dir.strip_prefix(project).unwrap().to_str().unwrap()).collect();
        let expected = [
            "src/main/java",
            "src/test/kotlin",
            "core/src/main/scala",
            "apps/web/src/main/java",
            "src",
            "",
        ];
        assert_eq!(found, expected);
        assert_eq!(source_folders(&["x".into()]), [PathBuf::from("x")]);
    }

    #[test]
    fn lines_are_found_in_the_first_folder_that_has_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        fs::create_dir_all(at("a/com/app")).unwrap();
        fs::create_dir_all(at("b/com/app")).unwrap();
        fs::write(at("a/com/app/A.java"), "first\n\tsecond\tpart \n").unwrap();
        fs::write(at("b/com/app/A.java"), "other\n").unwrap();
        fs::write(at("b/B.kt"), "flat").unwrap();
        fs::write(at("secret"), "no").unwrap();
        let mut sources = Sources::new(&[at("a"), at("b")]);
        assert_eq!(sources.line("com/app/A.java", 1), Some("first"));
        assert_eq!(sources.line("com/app/A.java", 2), Some("second part"));
        assert_eq!(sources.lines("com/app/A.java").unwrap()[1], "    second part ");
        assert_eq!(sources.lines("com/app/C.java"), None);
        assert_eq!(sources.line("com/app/A.java", 3), None);
        assert_eq!(sources.line("com/app/A.java", 0), None);
        assert_eq!(sources.line("com/app/B.kt", 1), Some("flat"));
        assert_eq!(sources.line("com/app/C.java", 1), None);
        assert_eq!(sources.line("../secret", 1), None);
        assert_eq!(Sources::default().line("com/app/A.java", 1), None);
    }

    #[test]
    fn only_files_inside_the_folders_are_read() {
        // A file without a dot in its name.
        let dir = tempfile::Builder::new().prefix("flow").tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        fs::create_dir_all(at("src/com/app")).unwrap();
        fs::create_dir_all(at("other")).unwrap();
        fs::create_dir_all(at("secret")).unwrap();
        fs::write(at("secret/S.java"), "no").unwrap();
        fs::write(at("other/O.java"), "other").unwrap();
        fs::write(at("src/com/app/A.java"), "yes").unwrap();
        let link = |to: &str, from: &str| std::os::unix::fs::symlink(at(to), at(from)).unwrap();
        link("secret", "src/com/leak");
        link("secret/S.java", "src/com/app/S.java");
        link("secret/S.java", "src/Loose.java");
        link("src/com/app/A.java", "src/com/app/B.java");
        link("other/O.java", "src/com/app/O.java");
        link("src", "linked");
        let pipe = at("src/com/app/Pipe.java");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        let outside = at("secret/S.java");
        let outside = outside.to_str().unwrap();
        // Paths as the trace of a class may have them.
        let absolute = source_file("com.app.Orders", Some(outside));
        let package = outside.rsplit_once('/').unwrap().0.replace('/', ".");
        let of_package = source_file(&format!("{package}.S"), Some("S.java"));
        for (root, other) in [("src", "other"), ("linked", "other")] {
            let mut sources = Sources::new(&[at(root), at(other)]);
            for file in [
                outside,
                &absolute,
                &of_package,
                "com/app//S.java",
                "com/../../secret/S.java",
                "com/leak/S.java",
                "com/app/S.java",
                "com/Loose.java",
                "com/app/Pipe.java",
                "com/app/",
                "",
            ] {
                assert_eq!((sources.path(file), sources.lines(file)), (None, None), "{file}");
            }
            assert_eq!(sources.line("com/app/A.java", 1), Some("yes"));
            assert_eq!(sources.line("com/app/B.java", 1), Some("yes"), "a link inside");
            assert_eq!(sources.line("com/app/O.java", 1), Some("other"), "into another folder");
        }
    }
}
