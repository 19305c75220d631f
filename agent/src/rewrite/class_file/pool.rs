//! The constant pool: looking up constants, and appending to it.
//!
//! A rewritten class keeps its pool byte for byte, so every index in the parts that are not read stays valid.
//! New constants are only appended.

use std::sync::OnceLock;

use super::bytes::Reader;
use super::kind::Kind;
use crate::rewrite::{Malformed, Skip};

/// The kinds of constants (JVMS §4.4).
pub(in crate::rewrite) mod tag {
    pub(in crate::rewrite) const UTF8: u8 = 1;
    pub(in crate::rewrite) const INTEGER: u8 = 3;
    pub(in crate::rewrite) const FLOAT: u8 = 4;
    pub(in crate::rewrite) const LONG: u8 = 5;
    pub(in crate::rewrite) const DOUBLE: u8 = 6;
    pub(in crate::rewrite) const CLASS: u8 = 7;
    pub(in crate::rewrite) const STRING: u8 = 8;
    pub(in crate::rewrite) const FIELD: u8 = 9;
    pub(in crate::rewrite) const METHOD: u8 = 10;
    pub(in crate::rewrite) const INTERFACE_METHOD: u8 = 11;
    pub(in crate::rewrite) const NAME_AND_TYPE: u8 = 12;
    pub(in crate::rewrite) const METHOD_HANDLE: u8 = 15;
    pub(in crate::rewrite) const METHOD_TYPE: u8 = 16;
    pub(in crate::rewrite) const DYNAMIC: u8 = 17;
    pub(in crate::rewrite) const INVOKE_DYNAMIC: u8 = 18;
    pub(in crate::rewrite) const MODULE: u8 = 19;
    pub(in crate::rewrite) const PACKAGE: u8 = 20;
}

/// The internal name of the class whose methods the probes call, unless [set](use_probe_class) to another.
const PROBE_CLASS: &str = "java/lang/FlowProbe";

static OTHER_NAME: OnceLock<&'static str> = OnceLock::new();

/// Makes probes call the class of this internal name. Later calls do nothing.
pub fn use_probe_class(name: &'static str) {
    let _ = OTHER_NAME.set(name);
}

/// The internal name of the class whose methods the probes call.
pub(in crate::rewrite) fn probe_class() -> &'static [u8] {
    OTHER_NAME.get().copied().unwrap_or(PROBE_CLASS).as_bytes()
}

/// The constants of a class file.
#[derive(Debug)]
pub(in crate::rewrite) struct Pool<'a> {
    /// The entries.
    bytes: &'a [u8],
    /// Where the tag of each index is. Indices without an entry have [`NO_ENTRY`].
    offsets: Vec<u32>,
    names_probe: bool,
}

const NO_ENTRY: u32 = u32::MAX;

/// A reference to a field or method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rewrite) struct Member<'a> {
    /// Internal name of the class.
    pub(in crate::rewrite) class: &'a [u8],
    pub(in crate::rewrite) name: &'a [u8],
    pub(in crate::rewrite) descriptor: &'a [u8],
}

impl<'a> Pool<'a> {
    /// Reads the pool that begins, with its count, at the reader's position.
    pub(in crate::rewrite) fn parse(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let count = usize::from(reader.u16()?.max(1));
        let mut offsets = Vec::with_capacity(count + 1);
        offsets.push(NO_ENTRY);
        let mut names_probe = false;
        let mut entries = reader.clone();
        let start = entries.at();
        while offsets.len() < count {
            let offset = entries.at() - start;
            offsets.push(u32::try_from(offset).map_err(|_| Malformed::Truncated)?);
            let tag = entries.u8()?;
            let len = match tag {
                tag::UTF8 => {
                    let len = usize::from(entries.u16()?);
                    names_probe |= entries.take(len)? == probe_class();
                    continue;
                }
                tag::LONG | tag::DOUBLE => {
                    offsets.push(NO_ENTRY);
                    8
                }
                tag::INTEGER | tag::FLOAT | tag::FIELD | tag::METHOD | tag::INTERFACE_METHOD => 4,
                tag::NAME_AND_TYPE | tag::DYNAMIC | tag::INVOKE_DYNAMIC => 4,
                tag::CLASS | tag::STRING | tag::METHOD_TYPE | tag::MODULE | tag::PACKAGE => 2,
                tag::METHOD_HANDLE => 3,
                _ => return Err(Malformed::UnknownConstant { tag }),
            };
            entries.take(len)?;
        }
        // A long or double at the last index has its second half after the end.
        if offsets.len() != count {
            return Err(Malformed::Truncated);
        }
        let bytes = reader.take(entries.at() - start)?;
        Ok(Self { bytes, offsets, names_probe })
    }

    /// The bytes of the entries in the file.
    pub(in crate::rewrite) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The number of indices, with the unused index 0.
    pub(in crate::rewrite) fn count(&self) -> usize {
        self.offsets.len()
    }

    /// Returns whether a text is the name of the probe class.
    pub(in crate::rewrite) fn names_probe(&self) -> bool {
        self.names_probe
    }

    /// The kind of an entry.
    pub(in crate::rewrite) fn tag(&self, index: u16) -> Result<u8, Malformed> {
        self.bytes.get(self.offset(index)).copied().ok_or(Malformed::BadIndex { index })
    }

    fn offset(&self, index: u16) -> usize {
        self.offsets.get(usize::from(index)).copied().unwrap_or(NO_ENTRY) as usize
    }

    /// What follows the tag of an entry, which must be one of `tags`.
    pub(in crate::rewrite) fn entry(
        &self,
        index: u16,
        tags: &[u8],
    ) -> Result<Reader<'a>, Malformed> {
        if !tags.contains(&self.tag(index)?) {
            return Err(Malformed::BadIndex { index });
        }
        let rest = self.bytes.get(self.offset(index) + 1..);
        rest.map(Reader::new).ok_or(Malformed::BadIndex { index })
    }

    /// The modified UTF-8 of a text.
    pub(in crate::rewrite) fn utf8(&self, index: u16) -> Result<&'a [u8], Malformed> {
        let mut entry = self.entry(index, &[tag::UTF8])?;
        let len = entry.u16()?;
        entry.take(usize::from(len))
    }

    /// Returns all texts, with their indices.
    pub(in crate::rewrite) fn texts(&self) -> impl Iterator<Item = (u16, &'a [u8])> {
        (0..=u16::MAX).take(self.count()).filter_map(|index| Some((index, self.utf8(index).ok()?)))
    }

    /// The internal name of a class.
    pub(in crate::rewrite) fn class_name(&self, index: u16) -> Result<&'a [u8], Malformed> {
        self.utf8(self.entry(index, &[tag::CLASS])?.u16()?)
    }

    /// A field that an instruction refers to.
    pub(in crate::rewrite) fn field(&self, index: u16) -> Result<Member<'a>, Malformed> {
        self.member(self.entry(index, &[tag::FIELD])?)
    }

    /// A method, of a class or an interface, that an instruction refers to.
    pub(in crate::rewrite) fn method(&self, index: u16) -> Result<Member<'a>, Malformed> {
        self.member(self.entry(index, &[tag::METHOD, tag::INTERFACE_METHOD])?)
    }

    fn member(&self, mut entry: Reader<'a>) -> Result<Member<'a>, Malformed> {
        let class = self.class_name(entry.u16()?)?;
        let (name, descriptor) = self.name_and_type(entry.u16()?)?;
        Ok(Member { class, name, descriptor })
    }

    /// The descriptor of the call that an `invokedynamic` makes.
    pub(in crate::rewrite) fn dynamic_descriptor(&self, index: u16) -> Result<&'a [u8], Malformed> {
        let mut entry = self.entry(index, &[tag::INVOKE_DYNAMIC])?;
        let _bootstrap = entry.u16()?;
        Ok(self.name_and_type(entry.u16()?)?.1)
    }

    /// The number of the bootstrap method of a dynamic call or constant, its name and descriptor.
    pub(in crate::rewrite) fn dynamic(
        &self,
        index: u16,
    ) -> Result<(u16, &'a [u8], &'a [u8]), Malformed> {
        let mut entry = self.entry(index, &[tag::INVOKE_DYNAMIC, tag::DYNAMIC])?;
        let bootstrap = entry.u16()?;
        let (name, descriptor) = self.name_and_type(entry.u16()?)?;
        Ok((bootstrap, name, descriptor))
    }

    /// A field or method that a method handle refers to.
    pub(in crate::rewrite) fn any_member(&self, index: u16) -> Result<Member<'a>, Malformed> {
        self.member(self.entry(index, &[tag::FIELD, tag::METHOD, tag::INTERFACE_METHOD])?)
    }

    fn name_and_type(&self, index: u16) -> Result<(&'a [u8], &'a [u8]), Malformed> {
        let mut entry = self.entry(index, &[tag::NAME_AND_TYPE])?;
        Ok((self.utf8(entry.u16()?)?, self.utf8(entry.u16()?)?))
    }
}

/// Constants that are appended to those of a class.
///
/// Probes and texts are added once. The numbers of methods all differ, so they are not searched first.
#[derive(Debug)]
pub(in crate::rewrite) struct Additions {
    first: usize,
    bytes: Vec<u8>,
    state: Added,
}

/// What was added so far, and the indices of constants that are added once.
#[derive(Clone, Copy, Debug)]
struct Added {
    added: usize,
    len: usize,
    /// By [`Role`].
    appends: [[u16; 4]; 2],
    notes: [u16; 2],
    exit: u16,
    unwound: u16,
    line: u16,
    /// Also the first one of a method.
    places: [u16; 2],
    handled: u16,
    /// By the number of operands.
    steps: [u16; 3],
    step_value: u16,
    step_this: u16,
    /// By [`Kind`].
    values: [u16; 5],
    identity: u16,
    thread: u16,
    redacted: u16,
    probes: Probes,
    probe_class: u16,
    throwable: u16,
    stack_map_table: u16,
}

/// What probes append.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Probes {
    /// Events.
    Plain,
    /// Each with its time.
    Timed,
    /// Entries and exits with a sequence number.
    Numbered,
}

/// What an event is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rewrite) enum Role {
    /// It is an entry or an exit.
    Event = 0,
    /// It shows which constructors an exception ended.
    Hint = 1,
}

/// A state of [`Additions`] to return to.
#[derive(Clone, Copy, Debug)]
pub(in crate::rewrite) struct Mark(Added);

/// Not a valid index.
const NOT_YET: u16 = 0;

impl Additions {
    pub(in crate::rewrite) fn to(pool: &Pool<'_>, probes: Probes) -> Self {
        let state = Added {
            added: 0,
            len: 0,
            appends: [[NOT_YET; 4]; 2],
            notes: [NOT_YET; 2],
            exit: NOT_YET,
            unwound: NOT_YET,
            line: NOT_YET,
            places: [NOT_YET; 2],
            handled: NOT_YET,
            steps: [NOT_YET; 3],
            step_value: NOT_YET,
            step_this: NOT_YET,
            values: [NOT_YET; 5],
            identity: NOT_YET,
            thread: NOT_YET,
            redacted: NOT_YET,
            probes,
            probe_class: NOT_YET,
            throwable: NOT_YET,
            stack_map_table: NOT_YET,
        };
        Self { first: pool.count(), bytes: Vec::new(), state }
    }

    pub(in crate::rewrite) fn mark(&self) -> Mark {
        Mark(Added { len: self.bytes.len(), ..self.state })
    }

    /// Removes what was added since.
    pub(in crate::rewrite) fn undo(&mut self, Mark(state): Mark) {
        self.bytes.truncate(state.len);
        self.state = state;
    }

    /// The number of indices of the pool, including added ones.
    pub(in crate::rewrite) fn count(&self) -> u16 {
        u16::try_from(self.first + self.state.added).unwrap_or(u16::MAX)
    }

    /// The entries.
    pub(in crate::rewrite) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns whether the entry and the exit of a method can be one event.
    pub(in crate::rewrite) fn may_join(&self) -> bool {
        // What the method reads in between may come from another thread.
        self.state.probes != Probes::Numbered
    }

    /// The method of the probe class that appends this many bytes, 1 to 4.
    pub(in crate::rewrite) fn append(&mut self, bytes: usize, role: Role) -> Result<u16, Skip> {
        const PLAIN: [&[u8]; 4] = [b"append1", b"append2", b"append3", b"append4"];
        const TIMED: [&[u8]; 4] = [b"timed1", b"timed2", b"timed3", b"timed4"];
        const NUMBERED: [&[u8]; 4] = [b"numbered1", b"numbered2", b"numbered3", b"numbered4"];
        let slot = bytes.wrapping_sub(1);
        let names = match (self.state.probes, role) {
            (Probes::Plain, _) | (Probes::Numbered, Role::Hint) => PLAIN,
            (Probes::Timed, _) => TIMED,
            (Probes::Numbered, Role::Event) => NUMBERED,
        };
        let name = names.get(slot).ok_or(Skip::IdTooLarge)?;
        self.once(name, b"(I)V", |state| state.appends.get_mut(role as usize)?.get_mut(slot))
    }

    /// The method of the probe class that appends a byte in an exception handler.
    pub(in crate::rewrite) fn note(&mut self, role: Role) -> Result<u16, Skip> {
        let name: &[u8] = match (self.state.probes, role) {
            (Probes::Plain, _) | (Probes::Numbered, Role::Hint) => b"note",
            (Probes::Timed, _) => b"timedNote",
            (Probes::Numbered, Role::Event) => b"numberedNote",
        };
        self.once(name, b"(I)V", |state| state.notes.get_mut(role as usize))
    }

    /// The method of the probe class that appends an exit.
    pub(in crate::rewrite) fn exit(&mut self) -> Result<u16, Skip> {
        let name: &[u8] = match self.state.probes {
            Probes::Plain => b"exit",
            Probes::Timed => b"timedExit",
            Probes::Numbered => b"numberedExit",
        };
        self.once(name, b"()V", |state| Some(&mut state.exit))
    }

    /// The method of the probe class that appends an exit by exception.
    pub(in crate::rewrite) fn unwound(&mut self) -> Result<u16, Skip> {
        let name: &[u8] = match self.state.probes {
            Probes::Plain => b"unwound",
            Probes::Timed => b"timedUnwound",
            Probes::Numbered => b"numberedUnwound",
        };
        self.once(name, b"(Ljava/lang/Throwable;)V", |state| Some(&mut state.unwound))
    }

    /// The method of the probe class that appends a line.
    pub(in crate::rewrite) fn line(&mut self) -> Result<u16, Skip> {
        self.once(b"line", b"(I)V", |state| Some(&mut state.line))
    }

    /// The method of the probe class that records a place of lines once; at the start of a method without a probe of its entry,
    /// another one.
    pub(in crate::rewrite) fn place(&mut self, is_first: bool) -> Result<u16, Skip> {
        let name: &[u8] = if is_first { b"firstPlace" } else { b"place" };
        self.once(name, b"(I)V", |state| state.places.get_mut(usize::from(is_first)))
    }

    /// The method of the probe class that records an exception that reached a handler.
    pub(in crate::rewrite) fn handled(&mut self) -> Result<u16, Skip> {
        // Not `Throwable`: the verifier might load the class of the exception to see that it is one.
        self.once(b"handled", b"(Ljava/lang/Object;I)V", |state| Some(&mut state.handled))
    }

    /// The method of the probe class that appends that a run begins, and operands.
    pub(in crate::rewrite) fn step(&mut self, descriptor: &[u8]) -> Result<u16, Skip> {
        let slot = match descriptor {
            b"(I)V" => 0,
            b"(Ljava/lang/Object;I)V" => 1,
            _ => 2,
        };
        self.once(b"step", descriptor, |state| state.steps.get_mut(slot))
    }

    /// The method of the probe class that appends the object that is loaded or stored.
    pub(in crate::rewrite) fn step_value(&mut self) -> Result<u16, Skip> {
        let descriptor = b"(Ljava/lang/Object;)V";
        self.once(b"stepValue", descriptor, |state| Some(&mut state.step_value))
    }

    /// The method of the probe class that appends the object whose method it is.
    pub(in crate::rewrite) fn step_this(&mut self) -> Result<u16, Skip> {
        let descriptor = b"(Ljava/lang/Object;)V";
        self.once(b"stepThis", descriptor, |state| Some(&mut state.step_this))
    }

    /// The method of the probe class that appends a value.
    pub(in crate::rewrite) fn value(&mut self, kind: Kind) -> Result<u16, Skip> {
        let (slot, descriptor): (usize, &[u8]) = match kind {
            Kind::Int(_) => (0, b"(II)V"),
            Kind::Float => (1, b"(FI)V"),
            Kind::Long => (2, b"(JI)V"),
            Kind::Double => (3, b"(DI)V"),
            Kind::Object => (4, b"(Ljava/lang/Object;I)V"),
        };
        self.once(b"value", descriptor, |state| state.values.get_mut(slot))
    }

    /// The method of the probe class that appends the class and the identity of an object.
    pub(in crate::rewrite) fn identity(&mut self) -> Result<u16, Skip> {
        self.once(b"identity", b"(Ljava/lang/Object;I)V", |state| Some(&mut state.identity))
    }

    /// The method of the probe class that appends the number of a thread.
    pub(in crate::rewrite) fn thread(&mut self) -> Result<u16, Skip> {
        self.once(b"thread", b"(Ljava/lang/Object;I)V", |state| Some(&mut state.thread))
    }

    /// The method of the probe class that appends that a value is left out.
    pub(in crate::rewrite) fn redacted(&mut self) -> Result<u16, Skip> {
        self.once(b"redacted", b"(I)V", |state| Some(&mut state.redacted))
    }

    /// A method of the probe class, which is added when it is needed first; `slot` is where its number is kept.
    fn once(
        &mut self,
        name: &[u8],
        descriptor: &[u8],
        slot: impl Fn(&mut Added) -> Option<&mut u16>,
    ) -> Result<u16, Skip> {
        let known = *slot(&mut self.state).ok_or(Skip::IdTooLarge)?;
        if known != NOT_YET {
            return Ok(known);
        }
        let added = self.probe(name, descriptor)?;
        slot(&mut self.state).into_iter().for_each(|slot| *slot = added);
        Ok(added)
    }

    fn probe(&mut self, name: &[u8], descriptor: &[u8]) -> Result<u16, Skip> {
        if self.state.probe_class == NOT_YET {
            self.state.probe_class = self.class(probe_class())?;
        }
        self.method_of(self.state.probe_class, name, descriptor)
    }

    /// A method of any class.
    pub(in crate::rewrite) fn method(
        &mut self,
        class: &[u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> Result<u16, Skip> {
        let class = self.class(class)?;
        self.method_of(class, name, descriptor)
    }

    fn method_of(&mut self, class: u16, name: &[u8], descriptor: &[u8]) -> Result<u16, Skip> {
        let name = self.utf8(name)?;
        let descriptor = self.utf8(descriptor)?;
        let name_and_type = self.pair(tag::NAME_AND_TYPE, name, descriptor)?;
        self.pair(tag::METHOD, class, name_and_type)
    }

    /// The class `java.lang.Throwable`.
    pub(in crate::rewrite) fn throwable(&mut self) -> Result<u16, Skip> {
        if self.state.throwable == NOT_YET {
            self.state.throwable = self.class(b"java/lang/Throwable")?;
        }
        Ok(self.state.throwable)
    }

    /// The name of the attribute with the frames.
    pub(in crate::rewrite) fn stack_map_table(&mut self) -> Result<u16, Skip> {
        if self.state.stack_map_table == NOT_YET {
            self.state.stack_map_table = self.utf8(b"StackMapTable")?;
        }
        Ok(self.state.stack_map_table)
    }

    pub(in crate::rewrite) fn integer(&mut self, value: i32) -> Result<u16, Skip> {
        self.add(tag::INTEGER, &value.to_be_bytes())
    }

    fn class(&mut self, name: &[u8]) -> Result<u16, Skip> {
        let name = self.utf8(name)?;
        self.add(tag::CLASS, &name.to_be_bytes())
    }

    pub(in crate::rewrite) fn utf8(&mut self, text: &[u8]) -> Result<u16, Skip> {
        let len = u16::try_from(text.len()).map_err(|_| Skip::PoolFull)?;
        let index = self.add(tag::UTF8, &len.to_be_bytes())?;
        self.bytes.extend_from_slice(text);
        Ok(index)
    }

    fn pair(&mut self, tag: u8, first: u16, second: u16) -> Result<u16, Skip> {
        let [a, b] = first.to_be_bytes();
        let [c, d] = second.to_be_bytes();
        self.add(tag, &[a, b, c, d])
    }

    fn add(&mut self, tag: u8, content: &[u8]) -> Result<u16, Skip> {
        // The count, one more than the last index, must also fit into a u16.
        let index = u16::try_from(self.first + self.state.added)
            .ok()
            .filter(|index| *index < u16::MAX)
            .ok_or(Skip::PoolFull)?;
        self.bytes.push(tag);
        self.bytes.extend_from_slice(content);
        self.state.added += 1;
        Ok(index)
    }
}
