//! Files that a change touched, and what they affect by themselves.

use super::source::{is_same_code, is_source};
use crate::text::is_like;

/// A source file of a project.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceText {
    /// The path in the repository.
    pub path: String,
    /// What it contains.
    pub text: String,
}

impl SourceText {
    /// Returns whether classes are compiled from a file with this path.
    #[must_use]
    pub fn is_source(path: &str) -> bool {
        is_source(path)
    }
}

/// A file that was changed, added or removed. A file that was renamed was removed and added.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedFile {
    /// The path in the repository.
    pub path: String,
    /// What it contained; `None` if it is new. Empty for a file that is no source.
    pub before: Option<String>,
    /// What it contains; `None` if it was removed. Empty for a file that is no source.
    pub after: Option<String>,
}

impl ChangedFile {
    /// What happened to the file.
    #[must_use]
    pub fn change(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "added",
            (_, None) => "removed",
            _ => "changed",
        }
    }
}

/// What a changed file affects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileEffect {
    /// Classes, as far as the recording knows any of the file.
    Classes {
        /// How many of its classes the recording has.
        known: usize,
        /// How many other files are affected through it.
        further_files: usize,
    },
    /// Nothing: comments and white space alone changed.
    SameCode,
    /// Nothing: it is a document, or the user said so.
    Nothing,
    /// All tests: a build file, a resource, or what is not known.
    Everything,
}

/// Documents by their extensions, and by how their names begin.
const DOCUMENTS: [&str; 5] = [".md", ".markdown", ".adoc", ".rst", ".asciidoc"];
const DOCUMENT_NAMES: [&str; 10] = [
    "README",
    "LICENSE",
    "LICENCE",
    "NOTICE",
    "CHANGELOG",
    "CHANGES",
    "CONTRIBUTING",
    "AUTHORS",
    "RELEASE-NOTES",
    "SECURITY",
];

/// Files and folders of version control, of editors and of sites of projects.
const OUTSIDE_OF_BUILDS: [&str; 9] = [
    ".github/",
    ".gitlab/",
    ".gitignore",
    ".gitattributes",
    ".editorconfig",
    ".mailmap",
    "src/main/javadoc/",
    "src/site/",
    "src/changes/",
];

/// What a file affects, unless that depends on the classes that are compiled from it.
pub(super) fn own_effect(file: &ChangedFile, ignored: &[String]) -> Option<FileEffect> {
    if ignored.iter().any(|pattern| is_like(&file.path, pattern)) {
        return Some(FileEffect::Nothing);
    }
    if is_source(&file.path) {
        let versions = file.before.as_ref().zip(file.after.as_ref());
        let is_same =
            versions.is_some_and(|(before, after)| is_same_code(&file.path, before, after));
        return is_same.then_some(FileEffect::SameCode);
    }
    Some(if is_document(&file.path) { FileEffect::Nothing } else { FileEffect::Everything })
}

fn is_document(path: &str) -> bool {
    // Tests read what is on the class path.
    if path.split('/').any(|part| part == "resources") {
        return false;
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_named = DOCUMENT_NAMES.iter().any(|start| name.starts_with(start));
    let is_outside = |part: &str| path.starts_with(part) || path.contains(&format!("/{part}"));
    is_named
        || DOCUMENTS.iter().any(|end| name.ends_with(end))
        || OUTSIDE_OF_BUILDS.iter().any(|part| is_outside(part))
}

#[cfg(test)]
mod tests {
    use super::is_document;

    #[test]
    fn documents_are_known_by_their_names_and_folders() {
        for (path, expected) in [
            ("core/README", true),
            ("docs/usage.adoc", true),
            ("src/main/javadoc/overview.html", true),
            ("core/src/site/xdoc/index.xml", true),
            ("src/main/resources/README.md", false),
            ("src/main/overview.html", false),
            ("pom.xml", false),
        ] {
            assert_eq!(is_document(path), expected, "{path}");
        }
    }
}
