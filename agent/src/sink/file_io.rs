//! Steps that writing to any file of a trace takes.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};

use flow_codec::format::container::HEADER_BYTES;
use rustix::io::Errno;

use super::Scope;

/// The scope of a file that cannot be opened.
pub(super) fn scope_of_open(error: &io::Error) -> Scope {
    let of_one_file = [Errno::MFILE, Errno::NFILE, Errno::LOOP].map(Errno::raw_os_error);
    let one_thread = error.kind() == ErrorKind::AlreadyExists
        || error.raw_os_error().is_some_and(|error| of_one_file.contains(&error));
    if one_thread { Scope::Thread } else { Scope::Trace }
}

/// Appends all of `bytes`, or nothing: what follows a part of a chunk would be misread.
pub(super) fn write_whole(file: &mut File, bytes: &[u8], len: u64) -> io::Result<()> {
    file.write_all(bytes).inspect_err(|_| {
        let _ = file.set_len(len);
    })
}

/// Appends the blocks of a file with this length to another one.
pub(super) fn copy_blocks(mut file: File, len: u64, mut to: &File) -> io::Result<()> {
    let start = HEADER_BYTES as u64;
    file.seek(SeekFrom::Start(start))?;
    // By the kernel, where it can.
    let copied = io::copy(&mut file.take(len.saturating_sub(start)), &mut to)?;
    match copied == len.saturating_sub(start) {
        true => Ok(()),
        false => Err(io::Error::other("another program has shortened the trace")),
    }
}
