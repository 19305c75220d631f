//! Follows `this` through the stack and the local variables of a method.
//!
//! It tracks one fact about every slot: whether it holds the reference that was passed in local variable 0.
//! In a constructor that distinguishes the call of `super(…)` or `this(…)` from all other calls of
//! constructors; elsewhere it proves that a field is read from an object that is not null.

use super::bytes::u16_at;
use super::code::Instruction;
use super::descriptor::{field_slots, signature};
use super::opcode::{
    self, ALOAD, ALOAD_0, ALOAD_3, ASTORE, ASTORE_3, DSTORE, DUP, GETFIELD, GETSTATIC, IINC,
    INVOKEDYNAMIC, INVOKESPECIAL, INVOKESTATIC, INVOKEVIRTUAL, ISTORE, ISTORE_0, LSTORE,
    MULTIANEWARRAY, PUTFIELD, PUTSTATIC, RET, SWAP, WIDE,
};
use super::pool::{Member, Pool};
use crate::certain::Certain as _;
use crate::rewrite::Skip;

/// What holds `this` at one place of the code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::rewrite) struct ThisHolders {
    /// One per slot, the top one last.
    stack: Vec<bool>,
    /// The local variables that hold it, in order.
    locals: Vec<u16>,
}

impl ThisHolders {
    /// At the start of an instance method.
    pub(in crate::rewrite) fn at_entry() -> Self {
        Self { stack: Vec::new(), locals: vec![0] }
    }

    /// At the start of a static method, where nothing holds `this`.
    pub(in crate::rewrite) fn without_this() -> Self {
        Self { stack: Vec::new(), locals: Vec::new() }
    }

    /// At the start of an exception handler that covers this place.
    pub(in crate::rewrite) fn at_handler(&self) -> Self {
        Self { stack: vec![false], locals: self.locals.clone() }
    }

    /// Returns whether local variable 0 still holds it.
    pub(in crate::rewrite) fn keeps_local_0(&self) -> bool {
        self.locals.first() == Some(&0)
    }

    /// The cost of joining: slots of the stack, and local variables that hold it.
    pub(in crate::rewrite) fn slots(&self) -> usize {
        self.stack.len() + self.locals.len()
    }

    /// Returns whether the slot at this distance from the top of the stack holds it.
    pub(in crate::rewrite) fn is_this(&self, below_top: usize) -> bool {
        self.stack.iter().rev().nth(below_top).copied().unwrap_or(false)
    }

    /// Joins another state at the same place: what does not hold `this` in both does not hold it. Returns
    /// whether anything changed.
    pub(in crate::rewrite) fn join(&mut self, other: &Self) -> Result<bool, Skip> {
        if self.stack.len() != other.stack.len() {
            return Err(Skip::Malformed);
        }
        let before = self.clone();
        for (slot, other) in self.stack.iter_mut().zip(&other.stack) {
            *slot &= *other;
        }
        self.locals.retain(|local| other.locals.binary_search(local).is_ok());
        Ok(*self != before)
    }

    /// Applies an instruction.
    pub(in crate::rewrite) fn step(
        &mut self,
        code: &[u8],
        instruction: Instruction,
        pool: &Pool<'_>,
    ) -> Result<(), Skip> {
        let Instruction { pc, op, .. } = instruction;
        let operand = |at: usize| code.get(pc + at).copied().ok_or(Skip::Malformed);
        let index = || u16_at(code, pc + 1);
        match op {
            ALOAD => self.load(operand(1)?.into()),
            ALOAD_0..=ALOAD_3 => self.load((op - ALOAD_0).into()),
            ISTORE..=ASTORE => self.store(op, operand(1)?.into())?,
            ISTORE_0..=ASTORE_3 => {
                let number = op - ISTORE_0;
                self.store(ISTORE + number / 4, (number % 4).into())?;
            }
            WIDE => self.step_wide(operand(1)?, u16_at(code, pc + 2)?)?,
            DUP..=SWAP => self.shuffle(op)?,
            GETSTATIC => self.push(field_slots(pool.field(index()?)?.descriptor)?),
            PUTSTATIC => self.pop(field_slots(pool.field(index()?)?.descriptor)?)?,
            GETFIELD => {
                self.pop(1)?;
                self.push(field_slots(pool.field(index()?)?.descriptor)?);
            }
            PUTFIELD => self.pop(1 + field_slots(pool.field(index()?)?.descriptor)?)?,
            INVOKEVIRTUAL..=INVOKEDYNAMIC => {
                let (descriptor, receiver) = match op {
                    INVOKEDYNAMIC => (pool.dynamic_descriptor(index()?)?, 0),
                    _ => (pool.method(index()?)?.descriptor, usize::from(op != INVOKESTATIC)),
                };
                let signature = signature(descriptor)?;
                self.pop(receiver + signature.parameter_slots)?;
                self.push(signature.result_slots);
            }
            MULTIANEWARRAY => {
                self.pop(operand(3)?.into())?;
                self.push(1);
            }
            _ => {
                let (taken, put) = opcode::stack_effect(op).ok_or(Skip::Malformed)?;
                self.pop(taken)?;
                self.push(put);
            }
        }
        Ok(())
    }

    fn step_wide(&mut self, op: u8, variable: u16) -> Result<(), Skip> {
        match op {
            IINC => {}
            ALOAD => self.load(variable),
            ISTORE..=ASTORE => self.store(op, variable)?,
            RET => return Err(Skip::Malformed),
            _ => self.push(opcode::stack_effect(op).ok_or(Skip::Malformed)?.1),
        }
        Ok(())
    }

    fn load(&mut self, variable: u16) {
        self.stack.push(self.locals.contains(&variable));
    }

    fn store(&mut self, op: u8, variable: u16) -> Result<(), Skip> {
        let is_this = op == ASTORE && self.is_this(0);
        let slots = if matches!(op, LSTORE | DSTORE) { 2 } else { 1 };
        self.pop(slots.into())?;
        let overwritten = variable..variable.saturating_add(slots);
        self.locals.retain(|local| !overwritten.contains(local));
        if is_this {
            self.locals.push(variable);
            self.locals.sort_unstable();
        }
        Ok(())
    }

    /// The `dup` family, which inserts a copy of the top below other slots, and `swap`.
    fn shuffle(&mut self, op: u8) -> Result<(), Skip> {
        let len = self.stack.len();
        if op == SWAP {
            let below = len.checked_sub(2).ok_or(Skip::Malformed)?;
            self.stack.swap(below, len - 1);
            return Ok(());
        }
        // dup, dup_x1, dup_x2, then the same for two slots.
        let (copied, under) = (usize::from((op - DUP) / 3 + 1), usize::from((op - DUP) % 3));
        let from = len.checked_sub(copied).ok_or(Skip::Malformed)?;
        let to = from.checked_sub(under).ok_or(Skip::Malformed)?;
        let copy = self.stack.get(from..).certain().to_vec();
        self.stack.splice(to..to, copy);
        Ok(())
    }

    fn push(&mut self, slots: usize) {
        self.stack.extend(std::iter::repeat_n(false, slots));
    }

    fn pop(&mut self, slots: usize) -> Result<(), Skip> {
        let left = self.stack.len().checked_sub(slots).ok_or(Skip::Malformed)?;
        self.stack.truncate(left);
        Ok(())
    }
}

/// The constructor that an instruction calls, if any, and whether it calls it for `this`.
pub(in crate::rewrite) fn constructor_call<'a>(
    state: &ThisHolders,
    code: &[u8],
    instruction: Instruction,
    pool: &Pool<'a>,
) -> Result<Option<(Member<'a>, bool)>, Skip> {
    if instruction.op != INVOKESPECIAL {
        return Ok(None);
    }
    let callee = pool.method(u16_at(code, instruction.pc + 1)?)?;
    if callee.name != b"<init>" {
        return Ok(None);
    }
    let receiver = signature(callee.descriptor)?.parameter_slots;
    Ok(Some((callee, state.is_this(receiver))))
}
