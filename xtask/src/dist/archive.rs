//! Archives with the same bytes each time: files are sorted, belong to root, and have one time and fixed modes.

use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::files::{Files, Kind};
use crate::base::failure::{Context, Result};

/// Packs files into a compressed tar archive.
///
/// # Errors
///
/// If a path is longer than the format permits.
pub(super) fn tar_gz(files: &Files, time: u64) -> Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    let mut add = |path: &str, kind: EntryType, mode: u32, bytes: &[u8]| {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(time);
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, path, bytes).context(path)
    };
    for directory in files.directories() {
        add(&format!("{directory}/"), EntryType::Directory, Kind::Program.mode(), &[])?;
    }
    for (path, file) in files.iter() {
        add(path, EntryType::Regular, file.kind.mode(), &file.bytes)?;
    }
    gzip(&archive.into_inner().context("tar")?)
}

/// Compresses bytes. The header has neither a name nor a time.
///
/// # Errors
///
/// Never, because memory can be written.
pub(super) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).context("gzip")?;
    encoder.finish().context("gzip")
}

/// Returns a jar with the entries of another one, and with files after them. Their times are those at which
/// the format begins, in 1980.
///
/// # Errors
///
/// If `jar` is not a jar, or has one of the files.
pub(super) fn extended_jar(jar: &[u8], files: &Files) -> Result<Vec<u8>> {
    let mut given = ZipArchive::new(Cursor::new(jar)).context("jar")?;
    let mut all = ZipWriter::new(Cursor::new(Vec::new()));
    for index in 0..given.len() {
        all.raw_copy_file(given.by_index_raw(index).context("jar")?).context("jar")?;
    }
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(9));
    for (path, file) in files.iter() {
        all.start_file(path, options.unix_permissions(file.kind.mode())).context(path)?;
        all.write_all(&file.bytes).context(path)?;
    }
    Ok(all.finish().context("jar")?.into_inner())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use tar::Archive;

    use super::*;

    fn files(order: [&str; 3]) -> Files {
        let mut files = Files::default();
        for path in order {
            let kind = if path.contains("bin") { Kind::Program } else { Kind::Data };
            files.add(path, kind, path);
        }
        files
    }

    #[test]
    fn an_archive_is_sorted_and_has_one_time_and_one_owner() {
        let bytes = tar_gz(&files(["a/lib/z", "a/bin/x", "a/README"]), 1_700_000_000).unwrap();
        let mut archive = Archive::new(GzDecoder::new(bytes.as_slice()));
        let mut lines = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            let header = entry.header();
            assert_eq!(header.mtime().unwrap(), 1_700_000_000);
            assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
            let path = entry.path().unwrap().display().to_string();
            lines.push(format!("{:o} {path} {text}", header.mode().unwrap()));
        }
        let expected = [
            "755 a/ ",
            "755 a/bin/ ",
            "755 a/lib/ ",
            "644 a/README a/README",
            "755 a/bin/x a/bin/x",
            "644 a/lib/z a/lib/z",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn the_order_in_which_files_are_added_does_not_matter() {
        let one = tar_gz(&files(["a/lib/z", "a/bin/x", "a/README"]), 1).unwrap();
        let two = tar_gz(&files(["a/README", "a/lib/z", "a/bin/x"]), 1).unwrap();
        assert_eq!(one, two);
    }

    #[test]
    fn a_jar_keeps_its_entries_and_has_the_files_after_them() {
        let empty = ZipWriter::new(Cursor::new(Vec::new())).finish().unwrap().into_inner();
        let mut manifest = Files::default();
        manifest.add("META-INF/MANIFEST.MF", Kind::Data, "Main-Class: A\n");
        let jar = extended_jar(&empty, &manifest).unwrap();
        let all = extended_jar(&jar, &files(["c", "b", "bin/a"])).unwrap();
        let mut read = ZipArchive::new(Cursor::new(&all)).unwrap();
        let names: Vec<_> = read.file_names().map(|name| name.unwrap().into_owned()).collect();
        assert_eq!(names, ["META-INF/MANIFEST.MF", "b", "bin/a", "c"]);
        let mut text = String::new();
        read.by_name("META-INF/MANIFEST.MF").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "Main-Class: A\n");
        assert!(extended_jar(&jar, &manifest).is_err(), "a file that the jar has");
    }
}
