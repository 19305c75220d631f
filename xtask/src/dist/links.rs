//! Links of documents that are shipped without the sources.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Returns a Markdown text in which links to files that are not shipped are replaced by their text and, if that is not their
/// name, by where the file is in the source tree. `document` is the path of the text, `shipped` has the paths of all files.
pub(super) fn without_others(text: &str, document: &str, shipped: &BTreeSet<&str>) -> String {
    let folder = Path::new(document).parent().unwrap_or(Path::new(""));
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, link, after)) = next_link(rest) {
        out.push_str(before);
        let path = path_of(folder, link.target);
        match path.filter(|path| !is_shipped(path, shipped)) {
            None => out.push_str(link.whole),
            Some(path) if link.label.trim_matches('`') == path => {
                out.push_str(&format!("{} of the sources", link.label));
            }
            Some(path) => out.push_str(&format!("{} (`{path}` of the sources)", link.label)),
        }
        rest = after;
    }
    out + rest
}

fn is_shipped(path: &str, shipped: &BTreeSet<&str>) -> bool {
    let inside = format!("{path}/");
    shipped.contains(path) || shipped.iter().any(|file| file.starts_with(&inside))
}

struct Link<'a> {
    whole: &'a str,
    label: &'a str,
    target: &'a str,
}

/// The first link of a text, between what is before and after it. A label has no brackets.
fn next_link(text: &str) -> Option<(&str, Link<'_>, &str)> {
    let mut searched = 0;
    loop {
        let middle = searched + text.get(searched..)?.find("](")?;
        let start = text.get(..middle)?.rfind('[').filter(|start| *start >= searched);
        let end = middle + text.get(middle..)?.find(')')? + 1;
        if let Some(start) = start {
            let link = Link {
                whole: text.get(start..end)?,
                label: text.get(start + 1..middle)?,
                target: text.get(middle + 2..end - 1)?,
            };
            return Some((text.get(..start)?, link, text.get(end..)?));
        }
        searched = end;
    }
}

/// The path of a linked file from the root of the source tree; `None` if the link leads elsewhere.
fn path_of(folder: &Path, target: &str) -> Option<String> {
    let file = target.split('#').next().filter(|file| !file.is_empty() && !file.contains("://"))?;
    let mut path = PathBuf::new();
    for part in folder.join(file).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    Some(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_what_is_not_shipped_become_text() {
        let shipped = BTreeSet::from(["README.md", "docs/time.md", "examples/maven/pom.xml"]);
        let converted = |text| without_others(text, "docs/time.md", &shipped);
        for kept in [
            "[a](../README.md#b)",
            "[b](#c)",
            "![d](https://e.example/f.png)",
            "[g](../examples)",
            "h](i",
            "",
        ] {
            assert_eq!(converted(kept), kept);
        }
        assert_eq!(
            converted(
                "See [`src/a.rs`](../src/a.rs), [the source](../src/b.rs#c) and [time](time.md)."
            ),
            "See `src/a.rs` of the sources, the source (`src/b.rs` of the sources) and [time](time.md)."
        );
    }
}
