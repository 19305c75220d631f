//! Where the manifest is: in a file of its own, or in the one file of the trace.

use std::fs::File;
use std::io;
use std::sync::Arc;

use flow_codec::format::names::MANIFEST;

use super::BlockFile;
use super::directory::{Replacement, TraceDirectory};

/// The place of the manifest of a recording that has begun. Its end will find space on a full disk.
#[derive(Debug)]
pub struct ManifestPlace(Kind);

#[derive(Debug)]
enum Kind {
    File(Replacement),
    /// The file without a name has the space.
    Blocks(Arc<BlockFile>, Option<File>),
}

impl ManifestPlace {
    /// Writes the manifest of a recording that begins, and reserves `end_bytes` for the final one.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(
        directory: &TraceDirectory,
        blocks: &Arc<BlockFile>,
        text: &[u8],
        end_bytes: usize,
    ) -> io::Result<Self> {
        if directory.is_container() {
            blocks.begin(text).map_err(io::Error::other)?;
            let space = directory.reserve_space(end_bytes as u64);
            return Ok(Self(Kind::Blocks(Arc::clone(blocks), space)));
        }
        directory.replace(MANIFEST, text)?;
        directory.reserve(MANIFEST, end_bytes as u64).map(Kind::File).map(Self)
    }

    /// Writes the final manifest. `is_whole` says that nothing follows, `is_synced` that the disk must have it before the
    /// name of its file.
    ///
    /// # Errors
    /// It cannot be written: the first one stays.
    pub fn end(self, text: &[u8], is_whole: bool, is_synced: bool) -> io::Result<()> {
        match self.0 {
            Kind::File(place) if is_synced => place.finish_synced(text),
            Kind::File(place) => place.finish(text),
            Kind::Blocks(blocks, space) => {
                drop(space);
                blocks.end(text, is_whole)
            }
        }
    }
}
