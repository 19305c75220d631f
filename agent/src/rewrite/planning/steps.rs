//! Finds where the probes of instructions are, and what is known of the instructions beforehand.
//!
//! [`flow_codec::format::instructions`] says what a run is: only its first instruction has a probe. Accesses to fields and
//! elements of arrays begin a run of their own, because their probe takes its operands from the stack. Objects that are loaded
//! have a probe after the instruction, to which no jump leads.
//!
//! At the start of an exception handler, no call may be inserted before the place of its CATCH (`catch`). Runs that begin
//! there are recorded at that place, all of them, which is right unless a jump leads in between: then nothing is recorded.

use flow_codec::format::instructions::{Code as Stored, Instruction as Known};

use super::catch::CatchPlaces;
use super::constructor::Before;
use super::lines;
use crate::rewrite::Skip;
use crate::rewrite::class_file::bytes::{u16_at, u32_at};
use crate::rewrite::class_file::class::{ClassFile, Entry};
use crate::rewrite::class_file::code::{Code, Instruction, Places};
use crate::rewrite::class_file::descriptor::field_slots;
use crate::rewrite::class_file::opcode::{
    self, ALOAD_0, DUP, DUP_X2, DUP2, DUP2_X1, DUP2_X2, Flow, GETFIELD, GETSTATIC, IINC,
    INVOKEDYNAMIC, INVOKESTATIC, LOOKUPSWITCH, MULTIANEWARRAY, POP, POP2, PUTFIELD, PUTSTATIC, RET,
    SIPUSH, Switch, WIDE,
};
use crate::rewrite::class_file::pool::Additions;
use crate::text::decode;

const ACC_STATIC: u16 = 0x0008;
/// The slots on top of a method's own stack that a probe takes.
pub(in crate::rewrite) const STACK: u16 = 3;
/// The most characters of a constant that are stored.
const MAX_TEXT: usize = 64;
/// The most bytes that all operands of a method have as texts.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// The instructions of a method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Steps {
    /// What is stored once.
    pub code: Stored,
    /// Whether `this` is known when the method begins.
    pub(in crate::rewrite) has_this: bool,
    /// In the order of the code.
    pub(in crate::rewrite) runs: Vec<Run>,
}

/// A run of instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rewrite) struct Run {
    /// The index of its first instruction.
    pub(in crate::rewrite) at: u16,
    /// Where it is recorded.
    pub(in crate::rewrite) place: usize,
    /// Whether `this` has become known.
    has_this: bool,
    access: Access,
    /// Whether the value that is loaded or stored is an object.
    is_object: bool,
}

/// Which operands are on the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Access {
    /// None that are recorded.
    Other,
    /// None, and a value is loaded.
    GetStatic,
    /// The value on top.
    PutStatic,
    /// The object on top.
    GetField,
    /// An object, and a value of this many slots.
    PutField(usize),
    /// An array and an index.
    Load,
    /// An array, an index, and a value of this many slots.
    Store(usize),
}

impl Access {
    fn of(class: &ClassFile<'_>, code: &[u8], pc: usize, op: u8) -> Result<(Self, bool), Skip> {
        const AALOAD: u8 = 50;
        const AASTORE: u8 = 83;
        Ok(match op {
            GETSTATIC..=PUTFIELD => {
                let descriptor = class.pool.field(u16_at(code, pc + 1)?)?.descriptor;
                let access = match op {
                    GETSTATIC => Self::GetStatic,
                    PUTSTATIC => Self::PutStatic,
                    GETFIELD => Self::GetField,
                    _ => Self::PutField(field_slots(descriptor)?),
                };
                (access, matches!(descriptor.first(), Some(b'L' | b'[')))
            }
            46..=53 => (Self::Load, op == AALOAD),
            79..=86 => (Self::Store(if matches!(op, 80 | 82) { 2 } else { 1 }), op == AASTORE),
            _ => (Self::Other, false),
        })
    }

    fn is_load(self) -> bool {
        matches!(self, Self::GetStatic | Self::GetField | Self::Load)
    }
}

impl Steps {
    /// # Errors
    /// The instructions of the method are not recorded.
    pub(in crate::rewrite) fn of(
        class: &ClassFile<'_>,
        entry: &Entry<'_>,
        code: &Code<'_>,
        locks: bool,
        before: Option<&Before<'_>>,
    ) -> Result<Self, Skip> {
        let (mut starts, mut entries) =
            (Places::none(code.bytes.len()), Places::none(code.bytes.len()));
        for instruction in code.instructions() {
            let Instruction { pc, op, .. } = instruction?;
            starts.add(pc);
            for target in code.targets(pc, opcode::flow(op))? {
                entries.add(target?);
            }
        }
        let mut handlers: Vec<u16> = code.handlers.iter().map(|one| one.handler).collect();
        handlers.sort_unstable();
        handlers.dedup();
        let keeps_this = keeps_this(code)?;
        let is_before = |pc| before.is_some_and(|before| before.instructions.contains(pc));
        let (mut instructions, mut runs) = (Vec::new(), Vec::<Run>::new());
        let (mut continues, mut after_call, mut text_bytes) = (false, false, 0);
        for instruction in code.instructions() {
            let Instruction { pc, op, .. } = instruction?;
            let at = u16::try_from(pc).map_err(|_| Skip::TooLarge)?;
            let is_entry = entries.contains(pc) || handlers.binary_search(&at).is_ok();
            let (mut access, mut is_object) = Access::of(class, code.bytes, pc, op)?;
            if matches!(access, Access::PutField(_)) && is_before(pc) {
                // The object may not be initialised.
                (access, is_object) = (Access::Other, false);
            }
            if !continues || is_entry || access != Access::Other {
                let has_this = after_call && !is_entry && keeps_this;
                runs.push(Run { at, place: pc, has_this, access, is_object });
            }
            continues = opcode::flow(op) == Flow::Next && opcode::is_harmless(op);
            after_call = before.is_some_and(|before| before.calls.contains_key(&pc));
            let known = known(class, code.bytes, pc, op)?;
            text_bytes += known.operands.iter().map(String::len).sum::<usize>();
            if text_bytes > MAX_TEXT_BYTES {
                return Err(Skip::WithoutInstructions);
            }
            instructions.push(known);
        }
        for place in CatchPlaces::new(code, locks) {
            let place = place?;
            let is_entry = |pc: usize| {
                let is_handler = |pc| handlers.binary_search(&pc).is_ok();
                entries.contains(pc) || u16::try_from(pc).is_ok_and(is_handler)
            };
            if (place.handler + 1..=place.pc).any(is_entry) {
                return Err(Skip::WithoutInstructions);
            }
            let first = runs.partition_point(|run| usize::from(run.at) < place.handler);
            let moved = runs.iter_mut().skip(first);
            for run in moved.take_while(|run| usize::from(run.at) < place.pc) {
                run.place = place.pc;
                (run.access, run.is_object) = (Access::Other, false);
            }
        }
        let short = |pc: usize| u16::try_from(pc).map_err(|_| Skip::TooLarge);
        let lines = lines::table(code, &starts)?;
        let lines = lines.into_iter().map(|(pc, line)| Ok((short(pc)?, line)));
        let lines = lines.collect::<Result<_, Skip>>()?;
        let begin = runs.iter().map(|run| run.at).collect();
        let has_this = entry.access & ACC_STATIC == 0 && !entry.is_constructor();
        let code = Stored { lines, handlers, runs: begin, instructions };
        Ok(Self { code, has_this, runs })
    }

    /// Appends the probe of `this`, which follows the entry.
    pub(in crate::rewrite) fn push_this(
        &self,
        additions: &mut Additions,
        code: &mut Vec<u8>,
    ) -> Result<(), Skip> {
        if self.has_this {
            push_this(additions, code)?;
        }
        Ok(())
    }
}

impl Run {
    /// Whether there is a probe after its first instruction.
    pub(in crate::rewrite) fn has_probe_after(&self) -> bool {
        self.is_object && self.access.is_load()
    }

    /// What is inserted before its first instruction.
    pub(in crate::rewrite) fn before(&self, additions: &mut Additions) -> Result<Vec<u8>, Skip> {
        let mut code = Vec::with_capacity(12);
        if self.has_this {
            push_this(additions, &mut code)?;
        }
        let operands: &[u8] = match self.access {
            Access::Other | Access::GetStatic | Access::PutStatic => &[],
            Access::GetField => &[DUP],
            Access::PutField(1) => &[DUP2, POP],
            Access::PutField(_) => &[DUP2_X1, POP2, DUP_X2],
            Access::Load => &[DUP2],
            Access::Store(1) => &[DUP_X2, POP, DUP2_X1],
            Access::Store(_) => &[DUP2_X2, POP2, DUP2_X2],
        };
        code.extend_from_slice(operands);
        match u8::try_from(self.at).ok().filter(|at| at.cast_signed() >= 0) {
            Some(at) => code.extend_from_slice(&[opcode::BIPUSH, at]),
            // The probe takes the lower two bytes.
            None => {
                code.push(SIPUSH);
                code.extend_from_slice(&self.at.to_be_bytes());
            }
        }
        let descriptor: &[u8] = match self.access {
            Access::Other | Access::GetStatic | Access::PutStatic => b"(I)V",
            Access::GetField | Access::PutField(_) => b"(Ljava/lang/Object;I)V",
            Access::Load | Access::Store(_) => b"(Ljava/lang/Object;II)V",
        };
        push_call(additions.step(descriptor)?, &mut code);
        if self.is_object && !self.access.is_load() {
            code.push(DUP);
            push_call(additions.step_value()?, &mut code);
        }
        Ok(code)
    }

    /// What is inserted after its first instruction.
    pub(in crate::rewrite) fn after(&self, additions: &mut Additions) -> Result<Vec<u8>, Skip> {
        let mut code = Vec::new();
        if self.has_probe_after() {
            code.push(DUP);
            push_call(additions.step_value()?, &mut code);
        }
        Ok(code)
    }
}

fn push_this(additions: &mut Additions, code: &mut Vec<u8>) -> Result<(), Skip> {
    code.push(ALOAD_0);
    push_call(additions.step_this()?, code);
    Ok(())
}

fn push_call(probe: u16, code: &mut Vec<u8>) {
    code.push(INVOKESTATIC);
    code.extend_from_slice(&probe.to_be_bytes());
}

/// Returns whether the local variable 0 is never stored to.
fn keeps_this(code: &Code<'_>) -> Result<bool, Skip> {
    for instruction in code.instructions() {
        let Instruction { pc, op, .. } = instruction?;
        let wide = op == WIDE;
        let op = if wide { code.bytes.get(pc + 1).copied().unwrap_or_default() } else { op };
        let slot = match op {
            54..=58 | IINC if wide => u16_at(code.bytes, pc + 2)?,
            54..=58 | IINC => code.bytes.get(pc + 1).copied().unwrap_or_default().into(),
            59..=78 => u16::from(op - 59) % 4,
            _ => continue,
        };
        if slot == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What is known of an instruction.
fn known(class: &ClassFile<'_>, code: &[u8], pc: usize, op: u8) -> Result<Known, Skip> {
    let at = u16::try_from(pc).map_err(|_| Skip::TooLarge)?;
    let wide = op == WIDE;
    let op = if wide { *code.get(pc + 1).ok_or(Skip::Malformed)? } else { op };
    let first = if wide { pc + 2 } else { pc + 1 };
    let byte = |at: usize| code.get(at).copied().ok_or(Skip::Malformed);
    let variable = || if wide { Ok(u16_at(code, first)?) } else { byte(first).map(u16::from) };
    let pool = &class.pool;
    let name = |bytes: &[u8]| decode(bytes).into_owned();
    let operands = match op {
        21..=25 | 54..=58 | RET => vec![variable()?.to_string()],
        // In groups of four, by the number of the variable.
        26..=45 => vec![((op - 26) % 4).to_string()],
        59..=78 => vec![((op - 59) % 4).to_string()],
        16 => vec![byte(first)?.cast_signed().to_string()],
        17 => vec![u16_at(code, first)?.cast_signed().to_string()],
        18 => constant(class, byte(first)?.into())?.into(),
        19 | 20 => constant(class, u16_at(code, first)?)?.into(),
        IINC => {
            let by = match wide {
                true => u16_at(code, first + 2)?.cast_signed(),
                false => byte(first + 1)?.cast_signed().into(),
            };
            vec![by.to_string(), variable()?.to_string()]
        }
        opcode::TABLESWITCH | LOOKUPSWITCH => switch(code, pc, op)?,
        GETSTATIC..=PUTFIELD => {
            let field = pool.field(u16_at(code, first)?)?;
            [field.class, field.name, field.descriptor].map(name).into()
        }
        182..=185 => {
            let method = pool.method(u16_at(code, first)?)?;
            [method.class, method.name, method.descriptor].map(name).into()
        }
        INVOKEDYNAMIC => {
            let (bootstrap, called, descriptor) = pool.dynamic(u16_at(code, first)?)?;
            let owner = class.bootstrap_class(bootstrap).unwrap_or_default();
            [owner, called, descriptor].map(name).into()
        }
        188 => vec![name(&[primitive(byte(first)?)]), "1".to_owned()],
        187 | 192 | 193 => vec![name(pool.class_name(u16_at(code, first)?)?), "0".to_owned()],
        189 => vec![name(pool.class_name(u16_at(code, first)?)?), "1".to_owned()],
        MULTIANEWARRAY => {
            let dimensions = byte(first + 2)?;
            vec![name(pool.class_name(u16_at(code, first)?)?), dimensions.to_string()]
        }
        _ => {
            let flow = opcode::flow(op);
            match flow {
                Flow::Branch | Flow::WideBranch => {
                    let to = opcode::target(code, pc, pc + 1, flow == Flow::WideBranch)?;
                    vec![to.to_string()]
                }
                _ => Vec::new(),
            }
        }
    };
    Ok(Known { at, op, operands })
}

/// The letter of the type of the elements of a new array.
fn primitive(number: u8) -> u8 {
    const FIRST: u8 = 4;
    let letter = number.checked_sub(FIRST).and_then(|n| b"ZCFDBSIJ".get(usize::from(n)));
    letter.copied().unwrap_or(b'?')
}

fn switch(code: &[u8], pc: usize, op: u8) -> Result<Vec<String>, Skip> {
    let switch = Switch::at(code, pc)?;
    let mut offsets = switch.offsets();
    let to = |at| opcode::target(code, pc, at, true);
    let default = to(offsets.next().ok_or(Skip::Malformed)?)?;
    let low = u32_at(code, switch.operands_at + 4)?.cast_signed();
    let mut cases = String::new();
    for (number, at) in (0_i32..).zip(offsets) {
        let key = match op {
            LOOKUPSWITCH => u32_at(code, at - 4)?.cast_signed(),
            _ => low.wrapping_add(number),
        };
        let blank = if cases.is_empty() { "" } else { " " };
        cases.push_str(&format!("{blank}{key}:{}", to(at)?));
    }
    Ok(vec![default.to_string(), cases])
}

/// A constant and its type.
fn constant(class: &ClassFile<'_>, index: u16) -> Result<[String; 2], Skip> {
    use crate::rewrite::class_file::pool::tag;
    let pool = &class.pool;
    let kind = pool.tag(index)?;
    let mut entry = pool.entry(index, &[kind])?;
    let name = |bytes: &[u8]| decode(bytes).into_owned();
    let (text, kind) = match kind {
        tag::INTEGER => (entry.u32()?.cast_signed().to_string(), "int"),
        tag::FLOAT => (decimal(f32::from_bits(entry.u32()?).into(), true), "float"),
        tag::LONG => {
            let bits = u64::from(entry.u32()?) << u32::BITS | u64::from(entry.u32()?);
            (bits.cast_signed().to_string(), "long")
        }
        tag::DOUBLE => {
            let bits = u64::from(entry.u32()?) << u32::BITS | u64::from(entry.u32()?);
            (decimal(f64::from_bits(bits), false), "double")
        }
        tag::STRING => {
            let text = name(pool.utf8(entry.u16()?)?);
            (text.chars().take(MAX_TEXT).collect(), "String")
        }
        tag::CLASS => (name(pool.utf8(entry.u16()?)?), "Class"),
        tag::METHOD_TYPE => (name(pool.utf8(entry.u16()?)?), "MethodType"),
        tag::METHOD_HANDLE => {
            let _kind = entry.u8()?;
            let member = pool.any_member(entry.u16()?)?;
            let text = [member.class, b"#", member.name, member.descriptor].concat();
            (name(&text), "MethodHandle")
        }
        tag::DYNAMIC => (name(pool.dynamic(index)?.1), "dynamic"),
        _ => return Err(Skip::Malformed),
    };
    Ok([text, kind.to_owned()])
}

/// A number, as Java names those that are not finite.
fn decimal(number: f64, is_float: bool) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else if is_float {
        #[expect(clippy::cast_possible_truncation, reason = "it was a float")]
        let number = number as f32;
        format!("{number:?}")
    } else {
        format!("{number:?}")
    }
}
