//! The text of source files, where lines refer to them.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use flow_codec::format::methods::MethodInfo;

/// A longer file is not source code.
const MAX_BYTES: u64 = 64 << 20;

/// Finds lines of source files. Memory: the files that lines were taken from.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    dirs: Vec<PathBuf>,
    files: HashMap<String, Option<Vec<String>>>,
}

/// The file of a method as its package and the name of the file: `com/app/Orders.java`. Without debug information, the
/// name is that of its class file.
pub(crate) fn source_file(info: &MethodInfo) -> String {
    let path = info.class.replace('.', "/");
    match (&info.source, path.rsplit_once('/')) {
        (Some(source), Some((package, _))) => format!("{package}/{source}"),
        (Some(source), None) => source.clone(),
        (None, _) => format!("{path}.class"),
    }
}

impl Sources {
    /// Files below these folders, each of which has the packages.
    pub(crate) fn new(dirs: &[PathBuf]) -> Self {
        Self { dirs: dirs.to_vec(), files: HashMap::new() }
    }

    /// Where a file is.
    pub(crate) fn path(&self, file: &str) -> Option<PathBuf> {
        // Kotlin allows files outside of the folders of their packages.
        let name = file.rsplit('/').next().unwrap_or(file);
        let is_inside = !file.split('/').any(|part| part == "..");
        let places = self.dirs.iter().flat_map(|dir| [dir.join(file), dir.join(name)]);
        places.filter(|_| is_inside).find(|path| path.is_file())
    }

    /// The text of a line, without indentation.
    pub(crate) fn line(&mut self, file: &str, line: u16) -> Option<&str> {
        let index = usize::from(line).checked_sub(1)?;
        self.lines(file)?.get(index).map(|line| line.trim())
    }

    /// All lines of a file, with blanks instead of tabs; `None` if there is no such file, or if it is not text of a
    /// reasonable size.
    pub(crate) fn lines(&mut self, file: &str) -> Option<&[String]> {
        if self.dirs.is_empty() {
            return None;
        }
        if !self.files.contains_key(file) {
            let is_small =
                |path: &PathBuf| fs::metadata(path).is_ok_and(|it| it.len() <= MAX_BYTES);
            let bytes = self.path(file).filter(is_small).and_then(|path| fs::read(path).ok());
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
    use super::*;

    fn info(class: &str, source: Option<&str>) -> MethodInfo {
        let source = source.map(str::to_owned);
        MethodInfo { class: class.to_owned(), source, ..MethodInfo::default() }
    }

    #[test]
    fn a_file_is_in_the_folder_of_its_package() {
        assert_eq!(
            source_file(&info("com.app.Orders$Line", Some("Orders.java"))),
            "com/app/Orders.java"
        );
        assert_eq!(source_file(&info("Main", Some("Main.java"))), "Main.java");
        assert_eq!(source_file(&info("com.app.Orders$1", None)), "com/app/Orders$1.class");
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
}
