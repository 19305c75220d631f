//! Leaves: methods that, once entered, do nothing but return.
//!
//! One call records both their entry and their exit. That must not be observable: nothing may be recorded in
//! between, and no exception may be thrown. So a leaf calls nothing, allocates nothing, waits for nothing,
//! does not loop, and accesses only fields for which neither a null reference, nor linking, nor the
//! initialisation of a class can interfere: fields that its own class declares, of `this` or static. In case
//! of doubt, a method is not a leaf.

use std::collections::BTreeMap;

use crate::rewrite::Skip;
use crate::rewrite::class_file::bytes::u16_at;
use crate::rewrite::class_file::class::{ClassFile, Entry};
use crate::rewrite::class_file::code::{Code, Instruction};
use crate::rewrite::class_file::descriptor::field_slots;
use crate::rewrite::class_file::opcode::{
    self, Flow, GETFIELD, GETSTATIC, INVOKESPECIAL, LDC, LDC_W, LDC2_W, PUTFIELD, PUTSTATIC,
    is_goto, is_harmless,
};
use crate::rewrite::class_file::pool::tag;
use crate::rewrite::class_file::stack::{ThisHolders, constructor_call};

const ACC_STATIC: u16 = 0x0008;
const ACC_FINAL: u16 = 0x0010;
const ACC_SYNCHRONIZED: u16 = 0x0020;

/// Returns whether a method is a leaf.
pub(in crate::rewrite) fn is_leaf(
    class: &ClassFile<'_>,
    entry: &Entry<'_>,
    code: &Code<'_>,
) -> bool {
    if entry.access & ACC_SYNCHRONIZED != 0 || !code.handlers.is_empty() {
        return false;
    }
    let leaf = Leaf { class, entry, code };
    // Most methods have a call among their first instructions and need no closer inspection.
    let candidate = code.instructions().all(|it| it.is_ok_and(|it| leaf.may_hold(it.op)));
    candidate && leaf.proves_itself().unwrap_or(false)
}

struct Leaf<'l, 'a> {
    class: &'l ClassFile<'a>,
    entry: &'l Entry<'a>,
    code: &'l Code<'a>,
}

impl Leaf<'_, '_> {
    /// Returns whether leaves may contain such an instruction, depending on its operands.
    fn may_hold(&self, op: u8) -> bool {
        is_harmless(op)
            || matches!(op, LDC..=LDC2_W | GETSTATIC..=PUTFIELD)
            || (op == INVOKESPECIAL && self.entry.is_constructor())
    }

    /// Follows `this` through the code, which must only go forward.
    fn proves_itself(&self) -> Result<bool, Skip> {
        let is_static = self.entry.access & ACC_STATIC != 0;
        let mut here =
            Some(if is_static { ThisHolders::without_this() } else { ThisHolders::at_entry() });
        let mut ahead: BTreeMap<usize, ThisHolders> = BTreeMap::new();
        for instruction in self.code.instructions() {
            let instruction = instruction?;
            let Instruction { pc, op, .. } = instruction;
            if let Some(joining) = ahead.remove(&pc) {
                match &mut here {
                    Some(here) => drop(here.join(&joining)?),
                    None => here = Some(joining),
                }
            }
            // No path leads to an instruction without a state.
            let Some(state) = &mut here else { continue };
            if !self.allows(state, instruction)? {
                return Ok(false);
            }
            state.step(self.code.bytes, instruction, &self.class.pool)?;
            let flow = opcode::flow(op);
            for target in self.code.targets(pc, flow)? {
                let target = target?;
                if target <= pc {
                    return Ok(false);
                }
                match ahead.get_mut(&target) {
                    Some(known) => drop(known.join(state)?),
                    None => drop(ahead.insert(target, state.clone())),
                }
            }
            if matches!(flow, Flow::Switch | Flow::Return) || is_goto(op) {
                here = None;
            }
        }
        Ok(true)
    }

    fn allows(&self, state: &ThisHolders, instruction: Instruction) -> Result<bool, Skip> {
        let Instruction { pc, op, .. } = instruction;
        let pool = &self.class.pool;
        match op {
            LDC | LDC_W | LDC2_W => self.is_plain_constant(pc, op),
            GETSTATIC | PUTSTATIC => self.is_field_of_class(pc, op),
            GETFIELD => Ok(state.is_this(0) && self.is_field_of_class(pc, op)?),
            PUTFIELD => {
                let field = pool.field(u16_at(self.code.bytes, pc + 1)?)?;
                let value = field_slots(field.descriptor)?;
                Ok(state.is_this(value) && self.is_field_of_class(pc, op)?)
            }
            INVOKESPECIAL => {
                let call = constructor_call(state, self.code.bytes, instruction, pool)?;
                Ok(call.is_some_and(|(callee, for_this)| {
                    for_this && callee.class == b"java/lang/Object"
                }))
            }
            _ => Ok(is_harmless(op)),
        }
    }

    /// Returns whether a constant is a number or a text, which loads without a call.
    fn is_plain_constant(&self, pc: usize, op: u8) -> Result<bool, Skip> {
        let index = match op {
            LDC => (*self.code.bytes.get(pc + 1).ok_or(Skip::Malformed)?).into(),
            _ => u16_at(self.code.bytes, pc + 1)?,
        };
        let kind = self.class.pool.tag(index)?;
        Ok(matches!(kind, tag::INTEGER | tag::FLOAT | tag::LONG | tag::DOUBLE | tag::STRING))
    }

    /// Returns whether an instruction accesses a field that the class declares, and may do so.
    fn is_field_of_class(&self, pc: usize, op: u8) -> Result<bool, Skip> {
        let wanted = self.class.pool.field(u16_at(self.code.bytes, pc + 1)?)?;
        if wanted.class != self.class.name {
            return Ok(false);
        }
        let field = self
            .class
            .fields
            .iter()
            .find(|field| field.name == wanted.name && field.descriptor == wanted.descriptor);
        let wants_static = matches!(op, GETSTATIC | PUTSTATIC);
        let initialiser: &[u8] = if wants_static { b"<clinit>" } else { b"<init>" };
        let may_set_final = matches!(op, GETSTATIC | GETFIELD) || self.entry.name == initialiser;
        Ok(field.is_some_and(|field| {
            (field.access & ACC_STATIC != 0) == wants_static
                && (may_set_final || field.access & ACC_FINAL == 0)
        }))
    }
}
