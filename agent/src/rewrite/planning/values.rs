//! What probes record of the values of a method: its arguments, its result, and the message of an exception that leaves it.
//!
//! A constructor's `this` is not recorded: it is not initialised when its probes run.

use flow_codec::format::roles::ValueSource;
use flow_codec::format::values::{Role, kind};

use super::snippet::push_integer;
use crate::rewrite::Skip;
use crate::rewrite::class_file::bytes::Reader;
use crate::rewrite::class_file::class::{ClassFile, Entry};
use crate::rewrite::class_file::code::Code;
use crate::rewrite::class_file::descriptor::{field_slots, first_field};
use crate::rewrite::class_file::kind::Kind;
use crate::rewrite::class_file::opcode::{ALOAD_0, DUP, SIPUSH, WIDE};
use crate::rewrite::class_file::pool::Additions;
use crate::text::{binary_name, decode};

const ACC_STATIC: u16 = 0x0008;
/// The slots on top of a method's own stack that a probe takes: a long, and the head of the value.
pub(in crate::rewrite) const STACK: u16 = 3;

/// The values of a method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Values {
    /// What is recorded of `this`.
    this: Extent,
    /// Its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// What it returns, unless that is nothing or not recorded.
    pub result: Option<Typed>,
    result_extent: Extent,
    /// Whether the messages of exceptions are left out.
    pub redacts_messages: bool,
}

/// How much is recorded of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Nothing, not even that it is left out.
    Nothing,
    /// Which object it is.
    Identity,
    /// The number of the thread that it is.
    Thread,
    /// The value.
    All,
}

/// A parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its name, if the class file has it.
    pub name: Option<String>,
    /// Its type.
    pub typed: Typed,
    extent: Extent,
    slot: u16,
}

/// Something with a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Typed {
    /// The binary name of its class; of arrays, that of the elements; nothing for primitive types.
    pub class: String,
    /// Whether its values are left out.
    pub is_redacted: bool,
    kind: Kind,
}

impl Values {
    pub(in crate::rewrite) fn of(
        class: &ClassFile<'_>,
        entry: &Entry<'_>,
        code: &Code<'_>,
    ) -> Result<Self, Skip> {
        let is_static = entry.access & ACC_STATIC != 0;
        let mut slot = u16::from(!is_static);
        let mut rest = entry.descriptor.strip_prefix(b"(").ok_or(Skip::Malformed)?;
        let mut parameters = Vec::new();
        let result = loop {
            if let Some(result) = rest.strip_prefix(b")") {
                break (result != b"V").then(|| field_slots(result).map(|_| Typed::of(result)));
            }
            let (slots, after) = first_field(rest)?;
            let descriptor = rest.strip_suffix(after).ok_or(Skip::Malformed)?;
            let name = parameter_name(class, code, slot);
            let typed = Typed::of(descriptor);
            parameters.push(Parameter { name, typed, extent: Extent::All, slot });
            slot = u16::try_from(slots)
                .ok()
                .and_then(|slots| slot.checked_add(slots))
                .ok_or(Skip::Malformed)?;
            rest = after;
        };
        let has_this = !is_static && !entry.is_constructor();
        let this = if has_this { Extent::All } else { Extent::Nothing };
        if slot > code.max_locals || parameters.len() > usize::from(u8::MAX) {
            return Err(Skip::Malformed);
        }
        let result = result.transpose()?;
        let result_extent = if result.is_some() { Extent::All } else { Extent::Nothing };
        Ok(Self { this, parameters, result, result_extent, redacts_messages: false })
    }

    /// Records this much of each value; of one that is no object, all or nothing.
    pub fn limit(&mut self, extent: impl Fn(ValueSource) -> Extent) {
        if self.this != Extent::Nothing {
            self.this = extent(ValueSource::This);
        }
        for (number, parameter) in (0..=u8::MAX).zip(&mut self.parameters) {
            parameter.extent = extent(ValueSource::Argument(number));
        }
        self.result_extent = extent(ValueSource::Result);
    }

    /// The names of its parameters; empty where they are not known.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.parameters.iter().map(|one| one.name.clone().unwrap_or_default()).collect()
    }

    /// Appends the probes that follow the entry.
    pub(in crate::rewrite) fn push_arguments(
        &self,
        additions: &mut Additions,
        code: &mut Vec<u8>,
    ) -> Result<(), Skip> {
        if self.this != Extent::Nothing {
            code.push(ALOAD_0);
            push_value(Role::This, Kind::Object, self.this, additions, code)?;
        }
        for (number, parameter) in (0..=u8::MAX).zip(&self.parameters) {
            let Parameter { typed, slot, extent, .. } = parameter;
            if *extent == Extent::Nothing {
                continue;
            }
            let role = Role::Argument(number);
            if typed.is_redacted {
                push_redacted(role, additions, code)?;
                continue;
            }
            match u8::try_from(*slot) {
                Ok(slot) => code.extend_from_slice(&[typed.kind.load(), slot]),
                Err(_) => {
                    code.extend_from_slice(&[WIDE, typed.kind.load()]);
                    code.extend_from_slice(&slot.to_be_bytes());
                }
            }
            push_value(role, typed.kind, *extent, additions, code)?;
        }
        Ok(())
    }

    /// Appends the probe before a return, whose value is on the stack and stays there.
    pub(in crate::rewrite) fn push_result(
        &self,
        additions: &mut Additions,
        code: &mut Vec<u8>,
    ) -> Result<(), Skip> {
        match &self.result {
            None => Ok(()),
            Some(_) if self.result_extent == Extent::Nothing => Ok(()),
            Some(Typed { is_redacted: true, .. }) => push_redacted(Role::Result, additions, code),
            Some(Typed { kind, .. }) => {
                code.push(kind.duplicate());
                push_value(Role::Result, *kind, self.result_extent, additions, code)
            }
        }
    }

    /// Appends the probe of the message of the exception on the stack, which stays there.
    pub(in crate::rewrite) fn push_message(
        &self,
        additions: &mut Additions,
        code: &mut Vec<u8>,
    ) -> Result<(), Skip> {
        if self.redacts_messages {
            return push_redacted(Role::Message, additions, code);
        }
        code.push(DUP);
        push_probe(Role::Message, Kind::Object, additions, code)
    }
}

impl Typed {
    fn of(descriptor: &[u8]) -> Self {
        Self { class: class_in(descriptor), is_redacted: false, kind: Kind::of(descriptor) }
    }
}

/// The binary name of the class in the descriptor of a type; of arrays, that of the elements; nothing for primitive types.
pub(in crate::rewrite) fn class_in(descriptor: &[u8]) -> String {
    let element = descriptor.iter().position(|byte| *byte != b'[').unwrap_or_default();
    let element = descriptor.get(element..).unwrap_or_default();
    let class = element.strip_prefix(b"L").and_then(|class| class.strip_suffix(b";"));
    class.map_or_else(String::new, binary_name)
}

/// Appends the probe of what is on top of the stack, and takes it.
pub(in crate::rewrite) fn push_probe(
    role: Role,
    kind: Kind,
    additions: &mut Additions,
    code: &mut Vec<u8>,
) -> Result<(), Skip> {
    push_value(role, kind, Extent::All, additions, code)
}

/// Appends the probe of as much of what is on top of the stack as is recorded, and takes it.
fn push_value(
    role: Role,
    kind: Kind,
    extent: Extent,
    additions: &mut Additions,
    code: &mut Vec<u8>,
) -> Result<(), Skip> {
    push_head(role, kind.number(), code);
    let probe = match (kind, extent) {
        (Kind::Object, Extent::Identity) => additions.identity()?,
        (Kind::Object, Extent::Thread) => additions.thread()?,
        _ => additions.value(kind)?,
    };
    push_call(probe, code);
    Ok(())
}

/// Appends the probe that follows the entry of a method that has other versions.
pub(in crate::rewrite) fn push_version(
    version: u16,
    additions: &mut Additions,
    code: &mut Vec<u8>,
) -> Result<(), Skip> {
    push_integer(version.into(), additions, code)?;
    push_probe(Role::Version, Kind::Int(kind::INT), additions, code)
}

/// Appends the probe of a value that is left out.
pub(in crate::rewrite) fn push_redacted(
    role: Role,
    additions: &mut Additions,
    code: &mut Vec<u8>,
) -> Result<(), Skip> {
    push_head(role, kind::REDACTED, code);
    push_call(additions.redacted()?, code);
    Ok(())
}

/// Pushes the first two bytes of a value.
fn push_head(role: Role, kind: u8, code: &mut Vec<u8>) {
    let [first, number] = role.head();
    code.extend_from_slice(&[SIPUSH, number, first | kind]);
}

fn push_call(probe: u16, code: &mut Vec<u8>) {
    code.push(crate::rewrite::class_file::opcode::INVOKESTATIC);
    code.extend_from_slice(&probe.to_be_bytes());
}

/// The name of the local variable that is in a slot when the method begins.
fn parameter_name(class: &ClassFile<'_>, code: &Code<'_>, slot: u16) -> Option<String> {
    for (name, table) in &code.tables.variables {
        if class.pool.utf8(*name) != Ok(b"LocalVariableTable") {
            continue;
        }
        let mut table = Reader::new(table);
        for _ in 0..table.u16().ok()? {
            let (start, _len) = (table.u16().ok()?, table.u16().ok()?);
            let (name, _descriptor) = (table.u16().ok()?, table.u16().ok()?);
            if table.u16().ok()? == slot && start == 0 {
                return Some(decode(class.pool.utf8(name).ok()?).into_owned());
            }
        }
    }
    None
}
