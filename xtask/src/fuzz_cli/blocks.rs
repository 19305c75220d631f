//! Takes files with blocks apart and puts them together again, with right checksums. See `codec/src/format/blocks/container.rs`; this
//! second reader of the format keeps what no other would accept.

/// Bytes before the first block.
const HEADER_BYTES: usize = 16;
/// Bytes of a block before its objects.
const START_BYTES: usize = 17;
const START: u8 = 0x0A;
const STOP: u8 = 0x0B;

/// A file.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    header: Vec<u8>,
    pub(super) blocks: Vec<Block>,
    /// What follows the last block.
    rest: Vec<u8>,
}

/// Objects of one thread.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) thread: u64,
    pub(super) objects: Vec<Object>,
}

/// A piece of a stream, as a rule.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) kind: u8,
    pub(super) offset: u64,
    pub(super) coding: u8,
    /// The unpacked size that the object claims.
    pub(super) unpacked: u64,
    pub(super) stored: Vec<u8>,
}

/// Returns whether bytes are a file with blocks.
pub(super) fn are_blocks(bytes: &[u8]) -> bool {
    bytes.starts_with(b"flowtrce") && bytes.len() >= HEADER_BYTES
}

impl Blocks {
    /// Takes a file apart, up to what is no block.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let (header, mut rest) = bytes.split_at(HEADER_BYTES.min(bytes.len()));
        let mut blocks = Vec::new();
        while let Some((block, after)) = block(rest) {
            blocks.push(block);
            rest = after;
        }
        Self { header: header.to_vec(), blocks, rest: rest.to_vec() }
    }

    /// Puts it together.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.header.clone();
        for Block { thread, objects } in &self.blocks {
            let mut content = Vec::new();
            for Object { kind, offset, coding, unpacked, stored } in objects {
                let mut body = Vec::new();
                put(&mut body, *offset);
                body.push(*coding);
                if *coding > 0 {
                    put(&mut body, *unpacked);
                }
                body.extend_from_slice(stored);
                content.push(*kind);
                put(&mut content, body.len() as u64);
                content.extend_from_slice(&body);
            }
            let mut summed = thread.to_be_bytes().to_vec();
            summed.extend(u32::try_from(content.len()).unwrap_or(u32::MAX).to_be_bytes());
            let checksum = crc32fast::hash(&[&summed[..], &content].concat());
            bytes.push(START);
            bytes.extend_from_slice(&summed);
            bytes.extend(checksum.to_be_bytes());
            bytes.extend_from_slice(&content);
            bytes.push(STOP);
        }
        bytes.extend_from_slice(&self.rest);
        bytes
    }
}

fn block(bytes: &[u8]) -> Option<(Block, &[u8])> {
    let (&START, rest) = bytes.split_first()? else { return None };
    let (thread, rest) = rest.split_first_chunk()?;
    let (len, _) = rest.split_first_chunk()?;
    let len = usize::try_from(u32::from_be_bytes(*len)).ok()?;
    let mut content = bytes.get(START_BYTES..START_BYTES.checked_add(len)?)?;
    let after = bytes.get(START_BYTES + len..)?;
    let (&STOP, after) = after.split_first()? else { return None };
    let mut objects = Vec::new();
    while let Some((&kind, mut rest)) = content.split_first() {
        let len = usize::try_from(take(&mut rest)?).ok()?;
        let mut body = rest.get(..len)?;
        content = rest.get(len..)?;
        let offset = take(&mut body)?;
        let (&coding, mut stored) = body.split_first()?;
        let unpacked = if coding > 0 { take(&mut stored)? } else { stored.len() as u64 };
        objects.push(Object { kind, offset, coding, unpacked, stored: stored.to_vec() });
    }
    Some((Block { thread: u64::from_be_bytes(*thread), objects }, after))
}

/// Takes a LEB128 number.
pub(super) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Appends a LEB128 number.
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(0x80 | u8::try_from(number & 0x7F).unwrap_or(0));
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap_or(0));
}

/// The example of the format of files.
#[cfg(test)]
pub(super) fn example() -> Vec<u8> {
    let mut file = b"flowtrce\0\0\0\0\0\0\0\x01".to_vec();
    file.extend([0x0A, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 6, 0x61, 0x79, 0xA2, 0x28]);
    file.extend([4, 4, 0, 0, 0x81, 0, 0x0B, 0x0C]);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_put_together_as_it_was() {
        let file = example();
        let blocks = Blocks::of(&file);
        assert_eq!((blocks.blocks.len(), blocks.blocks[0].thread), (1, 7));
        assert_eq!(blocks.blocks[0].objects[0].stored, [0x81, 0]);
        assert_eq!(blocks.bytes(), file);
        for end in 0..file.len() {
            assert_eq!(Blocks::of(&file[..end]).bytes(), file[..end]);
        }
    }

    #[test]
    fn numbers_are_written_as_they_are_read() {
        for number in [0, 1, 0x7F, 0x80, 300, u64::MAX] {
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            assert_eq!(take(&mut &bytes[..]), Some(number));
        }
    }
}
