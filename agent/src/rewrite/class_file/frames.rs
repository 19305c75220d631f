//! `StackMapTable`s (JVMS §4.7.4): reading them, and writing them with other offsets.
//!
//! A frame counts its offset, and usually its types too, from the previous frame. So no frame is left out or
//! inserted: new ones only follow the last.

use super::bytes::{Reader, u16_at};
use crate::rewrite::Skip;

/// A number of types, and their bytes in the file.
type Types<'a> = (u16, &'a [u8]);

const UNINITIALIZED_THIS: u8 = 6;
const OBJECT: u8 = 7;
const UNINITIALIZED: u8 = 8;

const ONE_STACK: u8 = 64;
const FIRST_RESERVED: u8 = 128;
const ONE_STACK_EXTENDED: u8 = 247;
const SAME_EXTENDED: u8 = 251;
const FULL: u8 = 255;

/// One frame.
#[derive(Debug)]
pub(in crate::rewrite) struct Frame<'a> {
    /// The offset that it describes.
    pub(in crate::rewrite) pc: usize,
    kind: Kind<'a>,
}

#[derive(Debug)]
enum Kind<'a> {
    /// The same local variables, and nothing on the stack.
    Same,
    /// The same local variables, and one type on the stack.
    OneStack(Types<'a>),
    /// One to three local variables fewer: the number.
    Chop(u8),
    /// One to three local variables more.
    Append(Types<'a>),
    Full {
        locals: Types<'a>,
        stack: Types<'a>,
    },
}

/// Reads the content of a `StackMapTable`, frame by frame.
#[derive(Debug)]
pub(in crate::rewrite) struct Frames<'a> {
    reader: Reader<'a>,
    left: u16,
    /// The offset after that of the previous frame.
    next: usize,
}

impl<'a> Frames<'a> {
    pub(in crate::rewrite) fn new(table: &'a [u8]) -> Result<Self, Skip> {
        let mut reader = Reader::new(table);
        let left = reader.u16()?;
        Ok(Self { reader, left, next: 0 })
    }

    fn read(&mut self) -> Result<Frame<'a>, Skip> {
        let tag = self.reader.u8()?;
        let delta = match tag {
            0..ONE_STACK => tag.into(),
            ONE_STACK..FIRST_RESERVED => (tag - ONE_STACK).into(),
            FIRST_RESERVED..ONE_STACK_EXTENDED => return Err(Skip::UnknownFrame),
            ONE_STACK_EXTENDED..=FULL => self.reader.u16()?,
        };
        let kind = match tag {
            0..ONE_STACK | SAME_EXTENDED => Kind::Same,
            ONE_STACK..=ONE_STACK_EXTENDED => Kind::OneStack(self.types(1)?),
            248..SAME_EXTENDED => Kind::Chop(SAME_EXTENDED - tag),
            252..FULL => Kind::Append(self.types((tag - SAME_EXTENDED).into())?),
            FULL => {
                let count = self.reader.u16()?;
                let locals = self.types(count)?;
                let count = self.reader.u16()?;
                Kind::Full { locals, stack: self.types(count)? }
            }
        };
        let pc = self.next + usize::from(delta);
        self.next = pc + 1;
        Ok(Frame { pc, kind })
    }

    fn types(&mut self, count: u16) -> Result<Types<'a>, Skip> {
        let mut ahead = self.reader.clone();
        for _ in 0..count {
            match ahead.u8()? {
                0..=UNINITIALIZED_THIS => {}
                OBJECT | UNINITIALIZED => drop(ahead.u16()?),
                _ => return Err(Skip::UnknownFrame),
            }
        }
        let len = ahead.at() - self.reader.at();
        Ok((count, self.reader.take(len)?))
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, Skip>;

    fn next(&mut self) -> Option<Self::Item> {
        let frame = match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                self.read()
            }
            None if self.reader.is_empty() => return None,
            None => Err(Skip::Malformed),
        };
        if frame.is_err() {
            // Nothing follows.
            self.left = 0;
            self.reader = Reader::new(&[]);
        }
        Some(frame)
    }
}

impl Frame<'_> {
    /// Returns the number of local variables, and whether the first one is a `this` that is not initialised.
    /// Takes both for the previous frame.
    pub(in crate::rewrite) fn uninitialised_this(
        &self,
        count: usize,
        first: bool,
    ) -> Result<(usize, bool), Skip> {
        let (count, first, added) = match self.kind {
            Kind::Same | Kind::OneStack(_) => (count, first, (0, [].as_slice())),
            Kind::Chop(fewer) => {
                let left = count.checked_sub(fewer.into()).ok_or(Skip::Malformed)?;
                (left, first && left > 0, (0, [].as_slice()))
            }
            Kind::Append(types) => (count, first, types),
            Kind::Full { locals, .. } => (0, false, locals),
        };
        let at = places_of(added.1, UNINITIALIZED_THIS).next();
        match at {
            None => Ok((count + usize::from(added.0), first)),
            Some(0) if count == 0 => Ok((usize::from(added.0), true)),
            // No compiler puts it in another variable.
            Some(_) => Err(Skip::OddConstructor),
        }
    }
}

/// Where types of a kind are among others.
fn places_of(types: &[u8], wanted: u8) -> impl Iterator<Item = usize> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let tag = *types.get(at)?;
            let here = at;
            at += if matches!(tag, OBJECT | UNINITIALIZED) { 3 } else { 1 };
            if tag == wanted {
                return Some(here);
            }
        }
    })
}

/// Writes the content of a `StackMapTable`.
#[derive(Debug)]
pub(in crate::rewrite) struct FrameWriter<'o> {
    out: &'o mut Vec<u8>,
    /// The offset of the count in `out`.
    count_at: usize,
    count: u16,
    /// The offset after that of the previous frame.
    next: usize,
}

impl<'o> FrameWriter<'o> {
    pub(in crate::rewrite) fn new(out: &'o mut Vec<u8>) -> Self {
        let count_at = out.len();
        out.extend_from_slice(&[0; 2]);
        Self { out, count_at, count: 0, next: 0 }
    }

    /// Writes a frame for the offset `pc`. `moved` maps the old offset of a `new` to its new one.
    pub(in crate::rewrite) fn put(
        &mut self,
        pc: usize,
        frame: &Frame<'_>,
        moved: impl Fn(u16) -> Result<u16, Skip>,
    ) -> Result<(), Skip> {
        let delta = self.advance(pc)?;
        let short = u8::try_from(delta).ok().filter(|delta| *delta < ONE_STACK);
        match frame.kind {
            Kind::Same => match short {
                Some(delta) => self.out.push(delta),
                None => self.tag(SAME_EXTENDED, delta),
            },
            Kind::OneStack((_, types)) => {
                match short {
                    Some(delta) => self.out.push(ONE_STACK + delta),
                    None => self.tag(ONE_STACK_EXTENDED, delta),
                }
                self.types(types, moved)?;
            }
            Kind::Chop(fewer) => self.tag(SAME_EXTENDED - fewer, delta),
            Kind::Append((count, types)) => {
                let more = u8::try_from(count).map_err(|_| Skip::Malformed)?;
                self.tag(SAME_EXTENDED + more, delta);
                self.types(types, moved)?;
            }
            Kind::Full { locals, stack } => {
                self.tag(FULL, delta);
                for (count, types) in [locals, stack] {
                    self.out.extend_from_slice(&count.to_be_bytes());
                    self.types(types, &moved)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the frame of one of our handlers: an exception on the stack, and no local variables. Before
    /// `this` is initialised, the verifier requires that the frame shows this.
    pub(in crate::rewrite) fn put_handler(
        &mut self,
        pc: usize,
        exception: u16,
        before: bool,
    ) -> Result<(), Skip> {
        let delta = self.advance(pc)?;
        self.tag(FULL, delta);
        let locals: &[u8] = if before { &[0, 1, UNINITIALIZED_THIS] } else { &[0, 0] };
        self.out.extend_from_slice(locals);
        self.out.extend_from_slice(&[0, 1, OBJECT]);
        self.out.extend_from_slice(&exception.to_be_bytes());
        Ok(())
    }

    /// Writes the count.
    pub(in crate::rewrite) fn finish(self) {
        if let Some(count) = self.out.get_mut(self.count_at..self.count_at + 2) {
            count.copy_from_slice(&self.count.to_be_bytes());
        }
    }

    fn advance(&mut self, pc: usize) -> Result<u16, Skip> {
        let delta = pc.checked_sub(self.next).ok_or(Skip::Malformed)?;
        self.next = pc + 1;
        self.count = self.count.checked_add(1).ok_or(Skip::TooLarge)?;
        u16::try_from(delta).map_err(|_| Skip::TooLarge)
    }

    fn tag(&mut self, tag: u8, delta: u16) {
        self.out.push(tag);
        self.out.extend_from_slice(&delta.to_be_bytes());
    }

    fn types(
        &mut self,
        types: &[u8],
        moved: impl Fn(u16) -> Result<u16, Skip>,
    ) -> Result<(), Skip> {
        let start = self.out.len();
        self.out.extend_from_slice(types);
        for at in places_of(types, UNINITIALIZED) {
            let place = moved(u16_at(types, at + 1)?)?.to_be_bytes();
            if let Some(old) = self.out.get_mut(start + at + 1..start + at + 3) {
                old.copy_from_slice(&place);
            }
        }
        Ok(())
    }
}
