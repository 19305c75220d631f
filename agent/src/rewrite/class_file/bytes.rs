//! Reads big-endian numbers from a slice and never past its end.

use crate::rewrite::Malformed;

/// A position in a byte slice.
#[derive(Clone, Debug)]
pub(in crate::rewrite) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(in crate::rewrite) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The number of bytes read so far.
    pub(in crate::rewrite) fn at(&self) -> usize {
        self.at
    }

    pub(in crate::rewrite) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub(in crate::rewrite) fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let taken = self
            .bytes
            .get(self.at..)
            .and_then(|rest| rest.get(..len))
            .ok_or(Malformed::Truncated)?;
        self.at += len;
        Ok(taken)
    }

    pub(in crate::rewrite) fn u8(&mut self) -> Result<u8, Malformed> {
        let byte = *self.bytes.get(self.at).ok_or(Malformed::Truncated)?;
        self.at += 1;
        Ok(byte)
    }

    pub(in crate::rewrite) fn u16(&mut self) -> Result<u16, Malformed> {
        let number = u16_at(self.bytes, self.at)?;
        self.at += 2;
        Ok(number)
    }

    pub(in crate::rewrite) fn u32(&mut self) -> Result<u32, Malformed> {
        let number = u32_at(self.bytes, self.at)?;
        self.at += 4;
        Ok(number)
    }

    /// Reads a length of four bytes, and as many bytes.
    pub(in crate::rewrite) fn sized(&mut self) -> Result<&'a [u8], Malformed> {
        let len = usize::try_from(self.u32()?).map_err(|_| Malformed::Truncated)?;
        self.take(len)
    }
}

pub(in crate::rewrite) fn u16_at(bytes: &[u8], at: usize) -> Result<u16, Malformed> {
    match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(&number) => Ok(u16::from_be_bytes(number)),
        None => Err(Malformed::Truncated),
    }
}

pub(in crate::rewrite) fn u32_at(bytes: &[u8], at: usize) -> Result<u32, Malformed> {
    match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(&number) => Ok(u32::from_be_bytes(number)),
        None => Err(Malformed::Truncated),
    }
}

/// Attributes, from their count on: each the index of its name, and its content.
#[derive(Debug)]
pub(in crate::rewrite) struct Attributes<'r, 'a> {
    reader: &'r mut Reader<'a>,
    left: Result<u16, Malformed>,
}

impl<'r, 'a> Attributes<'r, 'a> {
    pub(in crate::rewrite) fn new(reader: &'r mut Reader<'a>) -> Self {
        let left = reader.u16();
        Self { reader, left }
    }

    /// The reader's position: after the previous attribute.
    pub(super) fn at(&self) -> usize {
        self.reader.at()
    }

    fn read(&mut self) -> Result<(u16, &'a [u8]), Malformed> {
        Ok((self.reader.u16()?, self.reader.sized()?))
    }
}

impl<'a> Iterator for Attributes<'_, 'a> {
    type Item = Result<(u16, &'a [u8]), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let attribute = match std::mem::replace(&mut self.left, Ok(0)) {
            Ok(0) => return None,
            Ok(left) => {
                self.left = Ok(left - 1);
                self.read()
            }
            Err(error) => Err(error),
        };
        if attribute.is_err() {
            self.left = Ok(0);
        }
        Some(attribute)
    }
}
