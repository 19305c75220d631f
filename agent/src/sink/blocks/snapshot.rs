//! Copies a trace in one file, with its parts and the open chunks, to another file.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;

use flow_codec::format::container::{BlockEncoder, END, StreamKind, header};
use flow_codec::write::PIECE_BYTES;

use super::BlockFile;
use super::packing::encode;
use crate::sink::directory::NewSnapshot;
use crate::sink::file_io::copy_blocks;

/// Passes bytes on.
type Put<'a> = dyn FnMut(&[u8]) -> io::Result<()> + 'a;

impl BlockFile {
    /// Writes a snapshot with this name and manifest. `copy` passes a checkpoint on.
    ///
    /// # Errors
    /// It cannot be written; nothing of it remains.
    pub fn snapshot(
        &self,
        name: &str,
        manifest: &[u8],
        copy: impl FnOnce(&mut Put<'_>) -> io::Result<()>,
    ) -> io::Result<PathBuf> {
        let new = self.directory().create_snapshot(name)?;
        match self.write_snapshot(&new, manifest, copy) {
            Ok(()) => new.finish(),
            Err(error) => {
                new.remove();
                Err(error)
            }
        }
    }

    fn write_snapshot(
        &self,
        new: &NewSnapshot,
        manifest: &[u8],
        copy: impl FnOnce(&mut Put<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut out = BufWriter::new(new.file());
        out.write_all(&header())?;
        // The files have what comes before the open chunks by the time that these have been copied.
        let (mut piece, mut offset) = (Vec::new(), 0);
        copy(&mut |bytes| {
            piece.extend_from_slice(bytes);
            if piece.len() >= PIECE_BYTES {
                put(&mut out, StreamKind::Journal, offset, &piece)?;
                offset += piece.len() as u64;
                piece.clear();
            }
            Ok(())
        })?;
        put(&mut out, StreamKind::Journal, offset, &piece)?;
        // That with the names is last: it has those of all events in the others.
        for (file, len) in self.files()? {
            self.check_free(len)?;
            out.flush()?;
            copy_blocks(file, len, new.file())?;
        }
        put(&mut out, StreamKind::Manifest, 0, manifest)?;
        out.write_all(&[END])?;
        out.flush()
    }
}

fn put(out: &mut BufWriter<&File>, kind: StreamKind, offset: u64, bytes: &[u8]) -> io::Result<()> {
    let mut blocks = BlockEncoder::default();
    encode(&mut blocks, (None, kind), offset, bytes, None).map_err(io::Error::other)?;
    out.write_all(blocks.bytes())
}
