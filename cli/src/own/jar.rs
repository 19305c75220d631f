//! A jar as a list of names, and its manifest.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// A file that claims more is not read.
const MAX_DIRECTORY_BYTES: u64 = 256 << 20;
const MAX_MANIFEST_BYTES: usize = 1 << 20;

const MANIFEST: &str = "META-INF/MANIFEST.MF";
/// How a file in a jar is compressed.
const STORED: u64 = 0;
const DEFLATED: u64 = 8;

/// What is in a jar.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Jar {
    /// The names of its files.
    pub(super) names: Vec<String>,
    /// The main attributes of its manifest.
    manifest: BTreeMap<String, String>,
}

impl Jar {
    /// Reads a jar; `None` if it is none.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let directory = Directory::find(&file)?;
        let mut bytes = vec![0; usize::try_from(directory.bytes).ok()?];
        file.read_exact_at(&mut bytes, directory.at).ok()?;
        let mut jar = Self::default();
        let mut rest = bytes.as_slice();
        while rest.starts_with(b"PK\x01\x02") {
            let [name, extra, comment] = [28, 30, 32].map(|at| number(rest, at, 2));
            let name_end = 46 + usize::try_from(name?).ok()?;
            let name = String::from_utf8_lossy(rest.get(46..name_end)?).into_owned();
            if name == MANIFEST {
                let text = content(&file, rest, directory.base).unwrap_or_default();
                jar.manifest = attributes(&String::from_utf8_lossy(&text));
            }
            jar.names.push(name);
            rest = rest.get(name_end + usize::try_from(extra? + comment?).ok()?..)?;
        }
        Some(jar)
    }

    /// An attribute of the manifest.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.manifest.get(name).map(String::as_str)
    }

    /// Returns whether it has this class.
    pub(super) fn has_class(&self, class: &str) -> bool {
        let name = class.replace('.', "/") + ".class";
        self.names.contains(&name)
    }
}

/// Where the list of files is.
struct Directory {
    at: u64,
    bytes: u64,
    /// Where offsets count from: after a script that some jars begin with.
    base: u64,
}

impl Directory {
    fn find(file: &File) -> Option<Self> {
        // The record at the end has 22 bytes and a comment of at most 64 KiB.
        const END_BYTES: u64 = 22;
        let length = file.metadata().ok().filter(|found| found.is_file())?.len();
        let tail_at = length.saturating_sub(END_BYTES + 65_536);
        let mut tail = vec![0; usize::try_from(length - tail_at).ok()?];
        file.read_exact_at(&mut tail, tail_at).ok()?;
        let end = tail.windows(4).rposition(|bytes| bytes == b"PK\x05\x06")?;
        let (mut end_at, record) = (tail_at + end as u64, tail.get(end..)?);
        let (mut bytes, mut offset) = (number(record, 12, 4)?, number(record, 16, 4)?);
        // With more files than two bytes can count, the numbers are in a record that another one locates.
        let locator = end.checked_sub(20).and_then(|at| tail.get(at..));
        if let Some(locator) = locator.filter(|found| found.starts_with(b"PK\x06\x07")) {
            let mut large = [0; 56];
            end_at = number(locator, 8, 8)?;
            file.read_exact_at(&mut large, end_at).ok()?;
            (bytes, offset) = (number(&large, 40, 8)?, number(&large, 48, 8)?);
        }
        let at = end_at.checked_sub(bytes).filter(|_| bytes <= MAX_DIRECTORY_BYTES)?;
        Some(Self { at, bytes, base: at.checked_sub(offset)? })
    }
}

/// The content of a file, from its entry in the list.
fn content(file: &File, entry: &[u8], base: u64) -> Option<Vec<u8>> {
    let (method, bytes) = (number(entry, 10, 2)?, number(entry, 20, 4)?);
    let at = base + number(entry, 42, 4)?;
    let mut head = [0; 30];
    file.read_exact_at(&mut head, at).ok()?;
    let at = at + 30 + number(&head, 26, 2)? + number(&head, 28, 2)?;
    let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes <= MAX_MANIFEST_BYTES)?;
    let mut packed = vec![0; bytes];
    file.read_exact_at(&mut packed, at).ok()?;
    match method {
        STORED => Some(packed),
        DEFLATED => decompress_to_vec_with_limit(&packed, MAX_MANIFEST_BYTES).ok(),
        _ => None,
    }
}

/// A little-endian number.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + size)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// The attributes of a manifest up to the first blank line. A line that begins with a blank continues the one before.
pub(super) fn attributes(text: &str) -> BTreeMap<String, String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().take_while(|line| !line.is_empty()) {
        match (line.strip_prefix(' '), lines.last_mut()) {
            (Some(more), Some(last)) => last.push_str(more),
            _ => lines.push(line.to_owned()),
        }
    }
    let attribute = |line: &String| {
        let (key, value) = line.split_once(':')?;
        Some((key.to_owned(), value.trim().to_owned()))
    };
    lines.iter().filter_map(attribute).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Writes a jar of files that are not compressed.
    pub(in crate::own) fn write(path: &Path, before: &str, files: &[(&str, &str)]) {
        let (mut bytes, mut list) = (before.as_bytes().to_vec(), Vec::new());
        let number =
            |n: usize, size| (n as u64).to_le_bytes().into_iter().take(size).collect::<Vec<_>>();
        for (name, text) in files {
            let at = bytes.len() - before.len();
            let sizes =
                [number(text.len(), 4), number(text.len(), 4), number(name.len(), 2)].concat();
            bytes.extend(
                [&b"PK\x03\x04"[..], &[0; 14], &sizes, &[0; 2], name.as_bytes(), text.as_bytes()]
                    .concat(),
            );
            list.extend(
                [&b"PK\x01\x02"[..], &[0; 16], &sizes, &[0; 12], &number(at, 4), name.as_bytes()]
                    .concat(),
            );
        }
        let offset = bytes.len() - before.len();
        bytes.extend(&list);
        bytes.extend(
            [&b"PK\x05\x06"[..], &[0; 8], &number(list.len(), 4), &number(offset, 4), &[0; 2]]
                .concat(),
        );
        std::fs::write(path, bytes).unwrap();
    }

    #[test]
    fn a_jar_is_read_even_after_a_script() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jar");
        let manifest = "Manifest-Version: 1.0\r\nMain-Class: com.app.a.very.long.name.that.is.con\r\n tinued.Main\r\n\r\nName: x\r\nMain-Class: no\r\n";
        for before in ["", "#!/bin/sh\nexec java -jar $0\n"] {
            write(&path, before, &[("com/app/A.class", "x"), (MANIFEST, manifest)]);
            let jar = Jar::open(&path).unwrap();
            assert_eq!(jar.names, ["com/app/A.class", MANIFEST]);
            assert_eq!(
                jar.attribute("Main-Class"),
                Some("com.app.a.very.long.name.that.is.continued.Main")
            );
            assert!(jar.has_class("com.app.A") && !jar.has_class("com.app.B"));
        }
    }

    #[test]
    fn any_other_file_is_no_jar() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jar");
        write(&path, "", &[(MANIFEST, "Main-Class: A\n"), ("A.class", "")]);
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let _ = Jar::open(&path);
            let mut bytes = whole.clone();
            bytes[cut] ^= 0xFF;
            std::fs::write(&path, bytes).unwrap();
            let _ = Jar::open(&path);
        }
        assert_eq!(Jar::open(dir.path()), None);
        assert_eq!(Jar::open(&dir.path().join("none")), None);
    }
}
