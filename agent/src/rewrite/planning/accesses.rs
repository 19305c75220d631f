//! What probes record of the fields and array elements that a method reads and writes.
//!
//! ```text
//! WRITE  putfield      what is on the stack is copied: the access may fail after it was recorded
//! dup  getfield  READ  the object is kept for what follows
//! ```
//!
//! WRITE and READ are values, one probe each: which field or index, the object or array, and the value. The stack is the
//! same before and after them. A constructor may write fields of `this` before it calls another one, and `this` can be passed to
//! nobody then, so of these there is no object.

use flow_codec::MethodId;
use flow_codec::format::values::{Role, kind};

use super::snippet::push_integer;
use super::values::{push_probe, push_redacted};
use crate::rewrite::Skip;
use crate::rewrite::class_file::bytes::u16_at;
use crate::rewrite::class_file::class::ClassFile;
use crate::rewrite::class_file::code::{Code, Instruction};
use crate::rewrite::class_file::kind::Kind;
use crate::rewrite::class_file::opcode::{
    DUP, DUP_X2, DUP2, DUP2_X1, DUP2_X2, GETFIELD, GETSTATIC, POP, POP2, PUTFIELD, PUTSTATIC, SWAP,
};
use crate::rewrite::class_file::pool::{Additions, Member};
use crate::text::{binary_name, decode};

/// The slots on top of a method's own stack that copies and probes take: after `laload`, an array, an index and a long
/// more than that.
pub(in crate::rewrite) const STACK: u16 = 4;

/// Something that is read or written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Accessed {
    /// A field.
    Field(FieldName),
    /// An element of an array.
    Element,
}

/// A field, by the class by which code refers to it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FieldName {
    /// The binary name of that class.
    pub class: String,
    /// Its name.
    pub name: String,
    /// The binary name of the class of its values; of arrays, that of the elements; nothing for primitive types.
    pub of: String,
}

/// What is recorded of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Nothing.
    Nothing,
    /// That it is made, without the value.
    Redacted,
    /// All.
    All,
}

/// An access that is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rewrite) struct Access {
    pub(in crate::rewrite) pc: usize,
    shape: Shape,
    kind: Kind,
    is_redacted: bool,
}

/// The instruction; of fields with their number among those of the method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    GetStatic(usize),
    PutStatic(usize),
    GetField(usize),
    PutField(usize),
    /// Before `this` is initialised.
    PutFieldEarly(usize),
    Load,
    Store,
}

/// The accesses of a method that are recorded.
#[derive(Debug, Default)]
pub(in crate::rewrite) struct Accesses {
    /// In the order of the code.
    pub(in crate::rewrite) list: Vec<Access>,
    /// The fields, each once.
    pub(in crate::rewrite) fields: Vec<FieldName>,
}

impl Accesses {
    /// `is_early` returns whether `this` is not initialised at a place.
    pub(in crate::rewrite) fn of(
        class: &ClassFile<'_>,
        code: &Code<'_>,
        is_early: impl Fn(usize) -> bool,
        choose: &dyn Fn(&Accessed) -> Choice,
    ) -> Result<Self, Skip> {
        let mut accesses = Self::default();
        for instruction in code.instructions() {
            let Instruction { pc, op, .. } = instruction?;
            let (shape, kind, choice) = match (op, element(op)) {
                (_, Some((shape, kind))) => (shape, kind, choose(&Accessed::Element)),
                (GETSTATIC..=PUTFIELD, None) => {
                    let field = class.pool.field(u16_at(code.bytes, pc + 1)?)?;
                    let accessed = Accessed::Field(name_of(field));
                    let choice = choose(&accessed);
                    let Accessed::Field(name) = accessed else { continue };
                    if choice == Choice::Nothing {
                        continue;
                    }
                    let number = accesses.number_of(name);
                    let shape = match op {
                        GETSTATIC => Shape::GetStatic(number),
                        PUTSTATIC => Shape::PutStatic(number),
                        GETFIELD => Shape::GetField(number),
                        _ if is_early(pc) => Shape::PutFieldEarly(number),
                        _ => Shape::PutField(number),
                    };
                    (shape, Kind::of(field.descriptor), choice)
                }
                _ => continue,
            };
            if choice != Choice::Nothing {
                let is_redacted = choice == Choice::Redacted;
                accesses.list.push(Access { pc, shape, kind, is_redacted });
            }
        }
        Ok(accesses)
    }

    fn number_of(&mut self, name: FieldName) -> usize {
        let known = self.fields.iter().position(|field| *field == name);
        known.unwrap_or_else(|| {
            self.fields.push(name);
            self.fields.len() - 1
        })
    }
}

impl Access {
    /// What is inserted before its instruction, and what after it. `fields` are the ids of the method's fields.
    pub(in crate::rewrite) fn probes(
        self,
        fields: &[MethodId],
        additions: &mut Additions,
    ) -> Result<[Vec<u8>; 2], Skip> {
        let is_wide = matches!(self.kind, Kind::Long | Kind::Double);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        match self.shape {
            Shape::GetStatic(field) => {
                push_field(field, fields, additions, &mut after)?;
                self.push_value(Role::Read, additions, &mut after)?;
            }
            Shape::PutStatic(field) | Shape::PutFieldEarly(field) => {
                push_field(field, fields, additions, &mut before)?;
                self.push_value(Role::Write, additions, &mut before)?;
            }
            Shape::GetField(field) => {
                before.push(DUP);
                push_field(field, fields, additions, &mut after)?;
                after.extend_from_slice(if is_wide { &[DUP2_X1, POP2] } else { &[SWAP] });
                push_probe(Role::Object, Kind::Object, additions, &mut after)?;
                self.push_value(Role::Read, additions, &mut after)?;
            }
            Shape::PutField(field) => {
                push_field(field, fields, additions, &mut before)?;
                before.extend_from_slice(if is_wide {
                    &[DUP2_X1, POP2, DUP_X2]
                } else {
                    &[DUP2, POP]
                });
                push_probe(Role::Object, Kind::Object, additions, &mut before)?;
                self.push_value(Role::Write, additions, &mut before)?;
            }
            Shape::Load => {
                before.push(DUP2);
                after.extend_from_slice(if is_wide { &[DUP2_X2, POP2] } else { &[DUP_X2, POP] });
                push_probe(Role::Index, INDEX, additions, &mut after)?;
                push_probe(Role::Object, Kind::Object, additions, &mut after)?;
                self.push_value(Role::Read, additions, &mut after)?;
            }
            Shape::Store => {
                before.extend_from_slice(if is_wide {
                    &[DUP2_X2, POP2, DUP2_X2]
                } else {
                    &[DUP_X2, POP, DUP2_X1]
                });
                push_probe(Role::Index, INDEX, additions, &mut before)?;
                push_probe(Role::Object, Kind::Object, additions, &mut before)?;
                self.push_value(Role::Write, additions, &mut before)?;
            }
        }
        Ok([before, after])
    }

    /// Records what is on top of the stack, where it stays.
    fn push_value(
        self,
        role: Role,
        additions: &mut Additions,
        code: &mut Vec<u8>,
    ) -> Result<(), Skip> {
        if self.is_redacted {
            return push_redacted(role, additions, code);
        }
        code.push(self.kind.duplicate());
        push_probe(role, self.kind, additions, code)
    }
}

/// The type of the numbers of fields and of indices.
const INDEX: Kind = Kind::Int(kind::INT);

fn push_field(
    number: usize,
    fields: &[MethodId],
    additions: &mut Additions,
    code: &mut Vec<u8>,
) -> Result<(), Skip> {
    let id = fields.get(number).and_then(|id| i32::try_from(id.get()).ok());
    push_integer(id.ok_or(Skip::IdTooLarge)?, additions, code)?;
    push_probe(Role::Field, INDEX, additions, code)
}

/// The instruction and type of an access to an element.
fn element(op: u8) -> Option<(Shape, Kind)> {
    const IALOAD: u8 = 46;
    const IASTORE: u8 = 79;
    let kind = |number| {
        Some(match number {
            0 => Kind::Int(kind::INT),
            1 => Kind::Long,
            2 => Kind::Float,
            3 => Kind::Double,
            4 => Kind::Object,
            // Or a boolean.
            5 => Kind::Int(kind::BYTE),
            6 => Kind::Int(kind::CHAR),
            7 => Kind::Int(kind::SHORT),
            _ => return None,
        })
    };
    let load = op.checked_sub(IALOAD).and_then(kind).map(|kind| (Shape::Load, kind));
    load.or_else(|| op.checked_sub(IASTORE).and_then(kind).map(|kind| (Shape::Store, kind)))
}

fn name_of(Member { class, name, descriptor }: Member<'_>) -> FieldName {
    FieldName {
        class: binary_name(class),
        name: decode(name).into_owned(),
        of: super::values::class_in(descriptor),
    }
}
