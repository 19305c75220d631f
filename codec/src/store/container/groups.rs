//! Finds the pieces that are in [groups](crate::format::group) of a container.
//!
//! Each group is unpacked for that, on all cores: a trace of a million short threads consists of them.

use std::io;
use std::sync::Arc;

use super::pieces::{Container, Packed, Piece, small};
use crate::format::group::{self, MAX_GROUP_BYTES};
use crate::parallel::on_cores_from;

/// Fewer groups are opened on one core.
const MANY_GROUPS: usize = 16;

/// Some of the groups, opened.
#[derive(Default)]
struct Opened {
    /// Their pieces, in order.
    pieces: Vec<Piece>,
    damaged: Vec<Packed>,
}

impl Container {
    /// Adds the pieces that are in groups to those that were found.
    pub(super) fn open_groups(&mut self) -> io::Result<()> {
        let groups = (0_u32..).zip(&self.objects).filter(|(_, object)| object.is_group);
        let groups: Vec<(u32, Packed)> = groups.map(|(number, object)| (number, *object)).collect();
        let opened = on_cores_from(MANY_GROUPS, &groups, |groups| {
            let mut opened = Opened::default();
            for (number, object) in groups {
                if !self.open_group(*number, object, &mut opened.pieces)? {
                    opened.damaged.push(*object);
                }
            }
            opened.pieces.sort_unstable_by(Piece::order);
            Ok::<_, io::Error>(opened)
        });
        for opened in opened {
            let Opened { mut pieces, damaged } = opened?;
            self.pieces.append(&mut pieces);
            for Packed { file, block, block_bytes, .. } in damaged {
                let found = format!("a damaged block of {block_bytes} bytes, with several threads");
                self.add_damage(file, block, found);
            }
        }
        Ok(())
    }

    /// Adds the pieces of a group. Returns whether it is sound.
    fn open_group(
        &self,
        number: u32,
        object: &Packed,
        pieces: &mut Vec<Piece>,
    ) -> io::Result<bool> {
        if object.bytes as usize > MAX_GROUP_BYTES {
            return Ok(false);
        }
        let Some(bytes) = self.unpack(object)? else { return Ok(false) };
        let Some(found) = group::decode(&bytes, object.stored as usize) else { return Ok(false) };
        let mut at = bytes.len() - found.iter().map(|piece| piece.bytes.len()).sum::<usize>();
        pieces.extend(found.into_iter().map(|piece| {
            let group::GroupPiece { thread, kind, offset, bytes } = piece;
            let (start, bytes) = (at, bytes.len());
            at += bytes;
            let (at, bytes) = (small(start), small(bytes));
            Piece { kind, thread, offset, object: number, at, bytes }
        }));
        self.groups.keep(number, &Arc::new(bytes));
        Ok(true)
    }
}
