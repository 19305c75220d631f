//! Finds the packages of a project in the folders in which Maven, Gradle and IDEs have classes and sources.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Modules are at most this deep in a project, packages at most this deep in their folder.
const MAX_DEPTH: usize = 8;
const MAX_PACKAGE_DEPTH: usize = 24;
/// The search ends after this many directories, with the packages found until then.
const MAX_DIRS: usize = 50_000;
/// A filter has at most this many patterns; shorter ones replace many long ones.
const MAX_GLOBS: usize = 40;
/// The start of a source file in which its package declaration is searched.
const HEAD_BYTES: u64 = 8 * 1024;

/// The packages, such as `com.app.order`; an empty name for classes without a package.
pub(crate) fn of_projects(dirs: &[PathBuf]) -> BTreeSet<String> {
    let mut search = PackageSearch { packages: BTreeSet::new(), dirs_left: MAX_DIRS };
    for dir in dirs {
        search.project(dir);
    }
    search.packages
}

/// Adds the packages of compiled classes in a folder of a class path.
pub(super) fn of_folder(folder: &Path, packages: &mut BTreeSet<String>) {
    let mut search = PackageSearch { packages: BTreeSet::new(), dirs_left: MAX_DIRS };
    search.root(folder, package_of_class);
    packages.extend(search.packages);
}

/// Patterns that match these packages and those inside them, as few as possible.
pub(crate) fn globs(packages: &BTreeSet<String>) -> Vec<String> {
    let mut packages = packages.clone();
    let has_default = packages.remove("");
    let outermost = |packages: &BTreeSet<String>| {
        let is_inside = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'))
        };
        let inside = |name: &String| packages.iter().any(|outer| is_inside(name, outer));
        packages.iter().filter(|name| !inside(name)).cloned().collect::<BTreeSet<_>>()
    };
    let mut kept = outermost(&packages);
    while kept.len() > MAX_GLOBS {
        let longest = kept.iter().map(|name| name.matches('.').count()).max().unwrap_or(0);
        if longest == 0 {
            break;
        }
        let shortened = kept.iter().map(|name| match name.rsplit_once('.') {
            Some((outer, _)) if name.matches('.').count() == longest => outer.to_owned(),
            _ => name.clone(),
        });
        kept = outermost(&shortened.collect());
    }
    let named = kept.iter().map(|name| format!("{name}.**"));
    named.chain(has_default.then(|| "*".to_owned())).collect()
}

struct PackageSearch {
    packages: BTreeSet<String>,
    dirs_left: usize,
}

impl PackageSearch {
    /// Searches for folders of classes and sources.
    fn project(&mut self, root: &Path) {
        let mut to_do = vec![(root.to_path_buf(), 0)];
        while let Some((dir, depth)) = to_do.pop() {
            for entry in self.list(&dir) {
                let path = entry.path();
                let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let name = entry.file_name();
                let Some(name) = name.to_str().filter(|name| is_dir && !name.starts_with('.'))
                else {
                    continue;
                };
                if is_package_root(&path) {
                    self.root(&path, package_of_file);
                } else if depth < MAX_DEPTH && name != "node_modules" {
                    to_do.push((path, depth + 1));
                }
            }
        }
    }

    /// Searches a folder for packages.
    fn root(&mut self, root: &Path, found_in: fn(&Path, &str, &str) -> Found) {
        let mut to_do = vec![(root.to_path_buf(), String::new(), 0)];
        while let Some((dir, package, depth)) = to_do.pop() {
            let mut is_known = false;
            for entry in self.list(&dir) {
                let name = entry.file_name();
                let Some(name) = name.to_str() else { continue };
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    if depth < MAX_PACKAGE_DEPTH && is_identifier(name) {
                        let inner = match package.as_str() {
                            "" => name.to_owned(),
                            outer => format!("{outer}.{name}"),
                        };
                        to_do.push((entry.path(), inner, depth + 1));
                    }
                } else if !is_known {
                    let found = found_in(&entry.path(), name, &package);
                    is_known = !matches!(found, Found::Nothing);
                    if let Found::Package(name) = found {
                        self.packages.insert(name);
                    }
                }
            }
        }
    }

    /// The entries of a directory, in order; empty after too many directories.
    fn list(&mut self, dir: &Path) -> Vec<DirEntry> {
        if self.dirs_left == 0 {
            return Vec::new();
        }
        self.dirs_left -= 1;
        let mut entries: Vec<_> = fs::read_dir(dir).into_iter().flatten().flatten().collect();
        entries.sort_by_key(DirEntry::file_name);
        entries
    }
}

/// What a file shows about the folder that it is in.
enum Found {
    /// It is neither a class nor a source.
    Nothing,
    /// The package of the classes in the folder.
    Package(String),
    /// The folder is not that of a package.
    NoPackage,
}

/// The package of a class or a source.
fn package_of_file(path: &Path, name: &str, package: &str) -> Found {
    let Some((stem, extension)) = name.rsplit_once('.') else { return Found::Nothing };
    if is_info(stem) {
        return Found::Nothing;
    }
    Found::Package(match extension {
        "class" | "java" => package.to_owned(),
        // In these languages a file need not be in the folder of its package.
        "kt" | "groovy" | "scala" => declared_package(path).unwrap_or_else(|| package.to_owned()),
        _ => return Found::Nothing,
    })
}

/// The package of a class that is where a class path needs it to be. In the current directory, the default class path,
/// there may be any other files.
fn package_of_class(path: &Path, name: &str, package: &str) -> Found {
    let Some(stem) = name.strip_suffix(".class").filter(|stem| !is_info(stem)) else {
        return Found::Nothing;
    };
    let internal = match package {
        "" => stem.to_owned(),
        package => format!("{}/{stem}", package.replace('.', "/")),
    };
    // Its own name is a constant of the class: its length, and its bytes.
    let mut constant = u16::try_from(internal.len()).unwrap_or(u16::MAX).to_be_bytes().to_vec();
    constant.extend(internal.bytes());
    let class = fs::read(path).unwrap_or_default();
    match class.windows(constant.len()).any(|bytes| bytes == constant) {
        true => Found::Package(package.to_owned()),
        false => Found::NoPackage,
    }
}

/// Returns whether a file describes a module or a package.
pub(super) fn is_info(stem: &str) -> bool {
    matches!(stem, "module-info" | "package-info")
}

/// Returns whether packages begin in a folder: `target/classes`, `build/classes/java/main`, `src/main/java`,
/// `out/production/app`, and the like for tests.
fn is_package_root(path: &Path) -> bool {
    let mut names = path.iter().rev().map(|name| name.to_str().unwrap_or_default());
    let [last, second, third, fourth] = [(); 4].map(|()| names.next().unwrap_or_default());
    let is_language = |name: &str| matches!(name, "java" | "kotlin" | "groovy" | "scala");
    (second == "target" && matches!(last, "classes" | "test-classes"))
        || (fourth == "build" && third == "classes" && is_language(second))
        || (third == "src" && is_language(last))
        || (third == "out" && matches!(second, "production" | "test"))
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_')
}

/// The package that a source declares in its head.
pub(super) fn declared_package(path: &Path) -> Option<String> {
    let mut head = Vec::new();
    fs::File::open(path).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head);
    let line = head.lines().find_map(|line| line.trim().strip_prefix("package "))?;
    let name = line.split([';', '{', '/']).next().unwrap_or_default().trim().replace('`', "");
    name.split('.').all(is_identifier).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let root = project(files);
        globs(&of_projects(&[root.path().to_path_buf()]))
    }

    #[test]
    fn the_modules_of_a_build_are_all_found() {
        let globs = found(&[
            ("core/target/classes/com/app/core/A.class", ""),
            ("core/target/classes/com/app/core/inner/B.class", ""),
            ("core/target/test-classes/com/app/core/ATest.class", ""),
            ("web/build/classes/java/main/com/app/web/W.class", ""),
            ("web/build/classes/kotlin/test/org/else/where/T.class", ""),
            ("web/build/resources/main/com/other/x.txt", ""),
            ("tools/out/production/tools/t/T.class", ""),
            ("docs/org/not/This.class", ""),
            (".git/target/classes/git/G.class", ""),
        ]);
        assert_eq!(globs, ["com.app.core.**", "com.app.web.**", "org.else.where.**", "t.**"]);
    }

    #[test]
    fn packages_are_found_before_anything_is_compiled() {
        let globs = found(&[
            ("src/main/java/com/app/A.java", "package ignored;"),
            ("src/main/java/module-info.java", ""),
            ("src/test/kotlin/Deep.kt", "// x\n\npackage com.kt.`in`.deep // y\n"),
            ("src/main/scala/S.scala", "class S"),
        ]);
        assert_eq!(globs, ["com.app.**", "com.kt.in.deep.**", "*"]);
    }

    #[test]
    fn only_classes_in_their_place_are_in_a_folder_of_a_class_path() {
        // A constant with the length 9.
        let (there, elsewhere) = ("\0\u{9}com/app/A\u{1}", "\0\u{9}com/app/B\u{1}");
        let root = project(&[
            ("com/app/A.class", there),
            ("target/classes/com/app/B.class", elsewhere),
            ("src/S.java", "package src;"),
        ]);
        let mut packages = BTreeSet::new();
        of_folder(root.path(), &mut packages);
        assert_eq!(globs(&packages), ["com.app.**"]);
    }

    #[test]
    fn without_a_project_there_are_no_patterns() {
        assert!(found(&[("README", ""), ("target/x/a/A.class", "")]).is_empty());
        assert!(globs(&of_projects(&["/no/such/dir".into()])).is_empty());
    }

    #[test]
    fn many_packages_become_fewer_patterns() {
        let packages = (0..100).map(|number| format!("com.app{}.p{number}", number % 7)).collect();
        let globs = globs(&packages);
        assert_eq!(globs.len(), 7);
        assert_eq!(globs[0], "com.app0.**");
    }
}
