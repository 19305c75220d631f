//! Finds the blocks of a [`container`](crate::format::container) in a file, and what they hold.

use std::fs::File;
use std::io;

use super::pieces::{Container, Packed, Piece, small};
use super::window::Window;
use crate::ThreadId;
use crate::format::container::{
    BlockStart, END, HEADER_BYTES, Held, MAX_OBJECT_HEADER_BYTES, Object, START, START_BYTES, STOP,
    is_sound,
};
use crate::store::system::FileExt as _;

/// A search for the next block verifies at most this many bytes per byte of the file.
const SEARCH_EFFORT: u64 = 4;

impl Container {
    /// Finds the pieces in a file. Returns whether it has an end, and how many bytes of an unfinished block.
    pub(super) fn find_pieces(
        &mut self,
        number: u32,
        file: &File,
        len: u64,
    ) -> io::Result<(bool, u64)> {
        let mut window = Window::new(len);
        let mut at = HEADER_BYTES as u64;
        let mut effort = SEARCH_EFFORT.saturating_mul(len);
        while at < len {
            if at + 1 == len && window.bytes(file, at, 1)? == [END] {
                return Ok((true, 0));
            }
            if let Some(end) = self.block(&mut window, (number, file), at, len)? {
                at = end;
                continue;
            }
            match next_sound_block(&mut window, file, at + 1, len, &mut effort)? {
                Some(next) => {
                    self.add_damage(
                        number,
                        at,
                        format!("{} bytes that are not a block", next - at),
                    );
                    at = next;
                }
                None => {
                    // The process was killed while it wrote.
                    if window.bytes(file, at, 1)?.first() == Some(&START) {
                        return Ok((false, len - at));
                    }
                    self.add_damage(number, at, format!("{} bytes that are not a block", len - at));
                    return Ok((false, 0));
                }
            }
        }
        Ok((false, 0))
    }

    /// Adds the pieces of the block at an offset, and returns where it ends; `None` if there is none.
    fn block(
        &mut self,
        window: &mut Window,
        (in_file, file): (u32, &File),
        at: u64,
        len: u64,
    ) -> io::Result<Option<u64>> {
        let start = window.bytes(file, at, START_BYTES)?;
        let Some(start) = start.first_chunk().and_then(BlockStart::decode) else { return Ok(None) };
        let block_bytes = start.block_bytes();
        let end = at + block_bytes as u64;
        if end > len {
            return Ok(None);
        }
        let known = (self.pieces.len(), self.objects.len());
        let (mut next, last) = (START_BYTES, block_bytes - 1);
        while next < last {
            let room = (last - next).min(MAX_OBJECT_HEADER_BYTES);
            let object = Object::decode(window.bytes(file, at + next as u64, room)?);
            let Some(object) = object.filter(|o| o.head + o.stored <= last - next) else { break };
            let number = small(self.objects.len());
            let bytes = u32::try_from(object.bytes).unwrap_or(u32::MAX);
            self.objects.push(Packed {
                is_group: object.held == Held::Group,
                file: in_file,
                block: at,
                block_bytes: small(block_bytes),
                at: small(next + object.head),
                stored: small(object.stored),
                coding: object.coding,
                bytes,
            });
            if let Held::Piece(kind) = object.held {
                let thread = if kind.is_of_thread() { start.thread } else { ThreadId::new(0) };
                let (offset, object, at) = (object.offset, number, 0);
                self.pieces.push(Piece { kind, thread, offset, object, at, bytes });
            }
            next += object.head + object.stored;
        }
        // The next block is read with it.
        let is_block = next == last && window.bytes(file, end - 1, 1)?.first() == Some(&STOP);
        if !is_block {
            self.pieces.truncate(known.0);
            self.objects.truncate(known.1);
        }
        Ok(is_block.then_some(end))
    }
}

/// Where the next block begins whose checksum is right.
fn next_sound_block(
    window: &mut Window,
    file: &File,
    from: u64,
    len: u64,
    effort: &mut u64,
) -> io::Result<Option<u64>> {
    let mut at = from;
    while at < len {
        let bytes = window.bytes(file, at, 1)?;
        let Some(next) = bytes.iter().position(|&byte| byte == START) else {
            at += bytes.len().max(1) as u64;
            continue;
        };
        at += next as u64;
        let start = window.bytes(file, at, START_BYTES)?.first_chunk();
        if let Some(start) = start.and_then(BlockStart::decode)
            && at + start.block_bytes() as u64 <= len
            && window.byte(file, at + start.block_bytes() as u64 - 1)? == Some(STOP)
        {
            let Some(left) = effort.checked_sub(start.block_bytes() as u64) else {
                return Ok(None);
            };
            *effort = left;
            let mut block = vec![0; start.block_bytes()];
            file.read_exact_at(&mut block, at)?;
            if is_sound(&block) {
                return Ok(Some(at));
            }
        }
        at += 1;
    }
    Ok(None)
}
