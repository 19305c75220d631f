//! Where the bytes of a trace are: in files of a directory, in one file with everything, or in a journal.
//!
//! Knows no calls. What the bytes mean is for `read`.

mod container;
mod converted;
mod identity;
mod journal;
mod open_chunk;
mod parts;
mod place;
pub(crate) mod regular;
mod system;
mod text;

pub use self::container::{BlockWalk, NoBlock};
pub(crate) use self::container::{Container, Stored, StoredReader, Stream};
pub(crate) use self::converted::{Converted, Converter, Lines, lines_bytes};
pub(crate) use self::identity::RecordingIdentity;
pub(crate) use self::journal::Journal;
pub use self::journal::is_journal_elsewhere;
pub use self::open_chunk::OpenChunk;
pub(crate) use self::open_chunk::{OpenMarks, count};
pub use self::parts::parts_beside;
pub(crate) use self::place::Place;
pub(crate) use self::system::{FileExt, create_private, create_private_dir};
pub(crate) use self::text::{Text, for_each_line, read_whole};
