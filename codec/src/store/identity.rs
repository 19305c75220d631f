//! The recording to which a file belongs that was found by its name.

use std::fs::File;
use std::io;

use super::system::read_some;
use crate::TraceId;
use crate::format::container::{BlockStart, HEADER_BYTES, START_BYTES, identity_of, is_sound};
use crate::format::journal;
use crate::format::manifest::Manifest;

/// The identity of a file of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RecordingIdentity {
    /// The file has this identity, or none, as older files.
    Known(Option<TraceId>),
    /// The block or manifest with the identity is damaged or missing.
    Unknown,
}

impl RecordingIdentity {
    /// Returns whether two files may be of the same recording.
    pub(crate) fn may_be(self, other: Self) -> bool {
        match (self, other) {
            (Self::Known(id), Self::Known(other)) => id == other,
            _ => true,
        }
    }

    /// Returns the identity of a trace with this manifest.
    pub(crate) fn of(manifest: Option<&Manifest>) -> Self {
        manifest.map_or(Self::Unknown, |manifest| Self::Known(manifest.id))
    }

    /// Returns the identity in the text of a manifest, of which nothing else needs to be valid.
    pub(crate) fn in_manifest(text: &str) -> Self {
        #[derive(serde::Deserialize)]
        struct Fields {
            id: Option<TraceId>,
        }
        serde_json::from_str(text).map_or(Self::Unknown, |Fields { id }| Self::Known(id))
    }

    /// Returns the identity in the header of a journal, which may not have been written yet.
    pub(crate) fn of_journal(journal: &File) -> io::Result<Self> {
        let mut header = [0; journal::HEADER_BYTES];
        read_some(journal, &mut header, 0)?;
        let (magic, rest) = header.split_first_chunk().unwrap_or((&[0; 8], &[]));
        let words = rest.as_chunks().0;
        let word = |number: usize| words.get(number).map_or(0, |word| u64::from_le_bytes(*word));
        if *magic != journal::MAGIC || word(0) != journal::VERSION {
            return Ok(Self::Unknown);
        }
        Ok(Self::Known(TraceId::new(word(journal::IDENTITY_WORD - 1))))
    }

    /// Returns the identity in the first block of a part.
    pub(crate) fn of_part(part: &File) -> io::Result<Self> {
        let (at, len) = (HEADER_BYTES as u64, part.metadata()?.len());
        let mut start = [0; START_BYTES];
        read_some(part, &mut start, at)?;
        let start = BlockStart::decode(&start).map(|start| start.block_bytes());
        let Some(bytes) = start.filter(|bytes| at + *bytes as u64 <= len) else {
            return Ok(Self::Unknown);
        };
        let mut block = vec![0; bytes];
        read_some(part, &mut block, at)?;
        Ok(if is_sound(&block) { Self::Known(identity_of(&block)) } else { Self::Unknown })
    }
}
