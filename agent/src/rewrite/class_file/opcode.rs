//! The instruction set (JVMS §6.5): lengths, which instructions throw, and what they do to the stack.
//!
//! Only opcodes that code refers to have a name; tables list the others by their numbers.

use super::bytes::{u16_at, u32_at};
use crate::rewrite::Skip;

pub(in crate::rewrite) const BIPUSH: u8 = 16;
pub(in crate::rewrite) const SIPUSH: u8 = 17;
pub(in crate::rewrite) const LDC: u8 = 18;
pub(in crate::rewrite) const LDC_W: u8 = 19;
pub(in crate::rewrite) const LDC2_W: u8 = 20;
pub(in crate::rewrite) const ALOAD: u8 = 25;
pub(in crate::rewrite) const ALOAD_0: u8 = 42;
pub(in crate::rewrite) const ALOAD_1: u8 = 43;
pub(in crate::rewrite) const ALOAD_3: u8 = 45;
pub(in crate::rewrite) const ISTORE: u8 = 54;
pub(in crate::rewrite) const LSTORE: u8 = 55;
pub(in crate::rewrite) const DSTORE: u8 = 57;
pub(in crate::rewrite) const ASTORE: u8 = 58;
pub(in crate::rewrite) const ISTORE_0: u8 = 59;
pub(in crate::rewrite) const ASTORE_3: u8 = 78;
pub(in crate::rewrite) const POP: u8 = 87;
pub(in crate::rewrite) const POP2: u8 = 88;
pub(in crate::rewrite) const DUP: u8 = 89;
pub(in crate::rewrite) const DUP_X2: u8 = 91;
pub(in crate::rewrite) const DUP2: u8 = 92;
pub(in crate::rewrite) const DUP2_X1: u8 = 93;
pub(in crate::rewrite) const DUP2_X2: u8 = 94;
pub(in crate::rewrite) const SWAP: u8 = 95;
pub(in crate::rewrite) const IINC: u8 = 132;
pub(in crate::rewrite) const IFEQ: u8 = 153;
pub(in crate::rewrite) const GOTO: u8 = 167;
pub(in crate::rewrite) const JSR: u8 = 168;
pub(in crate::rewrite) const RET: u8 = 169;
pub(in crate::rewrite) const TABLESWITCH: u8 = 170;
pub(in crate::rewrite) const LOOKUPSWITCH: u8 = 171;
pub(in crate::rewrite) const IRETURN: u8 = 172;
pub(in crate::rewrite) const RETURN: u8 = 177;
pub(in crate::rewrite) const GETSTATIC: u8 = 178;
pub(in crate::rewrite) const PUTSTATIC: u8 = 179;
pub(in crate::rewrite) const GETFIELD: u8 = 180;
pub(in crate::rewrite) const PUTFIELD: u8 = 181;
pub(in crate::rewrite) const INVOKEVIRTUAL: u8 = 182;
pub(in crate::rewrite) const INVOKESPECIAL: u8 = 183;
pub(in crate::rewrite) const INVOKESTATIC: u8 = 184;
pub(in crate::rewrite) const INVOKEINTERFACE: u8 = 185;
pub(in crate::rewrite) const INVOKEDYNAMIC: u8 = 186;
pub(in crate::rewrite) const ATHROW: u8 = 191;
pub(in crate::rewrite) const MONITORENTER: u8 = 194;
pub(in crate::rewrite) const MONITOREXIT: u8 = 195;
pub(in crate::rewrite) const WIDE: u8 = 196;
pub(in crate::rewrite) const MULTIANEWARRAY: u8 = 197;
pub(in crate::rewrite) const IFNULL: u8 = 198;
pub(in crate::rewrite) const IFNONNULL: u8 = 199;
pub(in crate::rewrite) const GOTO_W: u8 = 200;
pub(in crate::rewrite) const JSR_W: u8 = 201;

/// In the table of lengths: the length is in the code.
const VARIABLE: u8 = u8::MAX;
/// In the table of lengths: not an instruction.
const NONE: u8 = 0;

static LENGTHS: [u8; 256] = table_of_lengths();

const fn table_of_lengths() -> [u8; 256] {
    let mut lengths = [NONE; 256];
    let mut op = 0;
    while op <= JSR_W {
        lengths[op as usize] = match op {
            TABLESWITCH | LOOKUPSWITCH | WIDE => VARIABLE,
            BIPUSH | LDC | 21..=25 | 54..=58 | RET | 188 => 2,
            SIPUSH | LDC_W | LDC2_W | IINC | 153..=168 | 178..=184 => 3,
            187 | 189 | 192 | 193 | IFNULL | IFNONNULL => 3,
            MULTIANEWARRAY => 4,
            INVOKEINTERFACE | INVOKEDYNAMIC | GOTO_W | JSR_W => 5,
            _ => 1,
        };
        op += 1;
    }
    lengths
}

/// The length of the instruction at `pc`, all of which lies within the code.
pub(in crate::rewrite) fn length_at(code: &[u8], pc: usize) -> Result<usize, Skip> {
    let op = *code.get(pc).ok_or(Skip::Malformed)?;
    let len = match LENGTHS.get(usize::from(op)) {
        Some(&VARIABLE) => variable_length(code, pc, op)?,
        Some(&len) if len != NONE => usize::from(len),
        _ => return Err(Skip::Malformed),
    };
    if len > code.len() - pc { Err(Skip::Malformed) } else { Ok(len) }
}

#[cold]
fn variable_length(code: &[u8], pc: usize, op: u8) -> Result<usize, Skip> {
    if op == WIDE {
        return match code.get(pc + 1) {
            Some(&IINC) => Ok(6),
            Some(21..=25 | 54..=58 | &RET) => Ok(4),
            _ => Err(Skip::Malformed),
        };
    }
    let switch = Switch::at(code, pc)?;
    Ok(switch.end() - pc)
}

/// Where a `tableswitch` or `lookupswitch` keeps its offsets.
#[derive(Clone, Copy, Debug)]
pub(in crate::rewrite) struct Switch {
    /// Where the operands begin, padding left out: with the default offset.
    pub(in crate::rewrite) operands_at: usize,
    /// Where the first entry begins.
    entries_at: usize,
    /// The number of entries.
    count: usize,
    /// The bytes of an entry, whose last four are the offset.
    step: usize,
}

impl Switch {
    /// A branch, as a switch that has only its default.
    pub(in crate::rewrite) fn branch(pc: usize) -> Self {
        Self { operands_at: pc + 1, entries_at: pc + 1, count: 0, step: 0 }
    }

    /// Reads the switch at `pc`. Its entries may extend beyond the end of the code.
    pub(in crate::rewrite) fn at(code: &[u8], pc: usize) -> Result<Self, Skip> {
        let operands_at = padded(pc);
        let operand = |number: usize| u32_at(code, operands_at + 4 * number);
        if code.get(pc) == Some(&LOOKUPSWITCH) {
            let count = operand(1)? as usize;
            if count > code.len() {
                return Err(Skip::Malformed);
            }
            return Ok(Self { operands_at, entries_at: operands_at + 8, count, step: 8 });
        }
        let (low, high) = (operand(1)?.cast_signed(), operand(2)?.cast_signed());
        let count = usize::try_from(i64::from(high) - i64::from(low) + 1).unwrap_or(0);
        if count == 0 || count > code.len() {
            return Err(Skip::Malformed);
        }
        Ok(Self { operands_at, entries_at: operands_at + 12, count, step: 4 })
    }

    /// Where the next instruction begins.
    pub(in crate::rewrite) fn end(self) -> usize {
        self.entries_at + self.count * self.step
    }

    /// Where the offsets are: that of the default first.
    pub(in crate::rewrite) fn offsets(self) -> impl Iterator<Item = usize> {
        let entries = (1..=self.count).map(move |n| self.entries_at + n * self.step - 4);
        std::iter::once(self.operands_at).chain(entries)
    }
}

/// Where the operands of a switch at `pc` begin: they are aligned to four bytes.
pub(in crate::rewrite) fn padded(pc: usize) -> usize {
    (pc | 3) + 1
}

/// The place that an offset, read at `at`, leads to from the instruction at `pc`.
pub(in crate::rewrite) fn target(
    code: &[u8],
    pc: usize,
    at: usize,
    wide: bool,
) -> Result<usize, Skip> {
    let offset = if wide {
        i64::from(u32_at(code, at)?.cast_signed())
    } else {
        i64::from(u16_at(code, at)?.cast_signed())
    };
    i64::try_from(pc)
        .ok()
        .and_then(|pc| usize::try_from(pc + offset).ok())
        .filter(|target| *target < code.len())
        .ok_or(Skip::Malformed)
}

/// What an instruction does to the order of execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rewrite) enum Flow {
    /// Continues with the next one.
    Next,
    /// A branch with an offset of two bytes.
    Branch,
    /// A branch with an offset of four bytes.
    WideBranch,
    /// `tableswitch` or `lookupswitch`.
    Switch,
    /// Leaves the method by a return.
    Return,
    /// `athrow` or `ret`.
    Stop,
}

static FLOWS: [Flow; 256] = table_of_flows();

const fn table_of_flows() -> [Flow; 256] {
    let mut flows = [Flow::Next; 256];
    let mut op = 0;
    while op <= JSR_W {
        flows[op as usize] = match op {
            153..=168 | IFNULL | IFNONNULL => Flow::Branch,
            GOTO_W | JSR_W => Flow::WideBranch,
            TABLESWITCH | LOOKUPSWITCH => Flow::Switch,
            IRETURN..=RETURN => Flow::Return,
            ATHROW | RET => Flow::Stop,
            _ => Flow::Next,
        };
        op += 1;
    }
    flows
}

/// Returns what an instruction does to the order of execution. A `wide ret` counts as `Next`: code that
/// follows instructions refuses it.
pub(in crate::rewrite) fn flow(op: u8) -> Flow {
    FLOWS.get(usize::from(op)).copied().unwrap_or(Flow::Next)
}

/// Returns whether a branch is always taken.
pub(in crate::rewrite) fn is_goto(op: u8) -> bool {
    matches!(op, GOTO | JSR | GOTO_W | JSR_W)
}

/// Returns whether an instruction neither throws, allocates nor calls, whatever its operands: it reads no
/// object and divides no integers.
pub(in crate::rewrite) fn is_harmless(op: u8) -> bool {
    matches!(op, 0..=17 | 21..=45 | 54..=78 | 87..=107 | 110 | 111 | 114..=167 | 170..=177 | 198..=200)
}

/// How many slots an instruction pops and pushes. `None` if that depends on its operands, and for those that
/// rearrange the stack.
pub(in crate::rewrite) fn stack_effect(op: u8) -> Option<(usize, usize)> {
    Some(match op {
        0 | IINC | GOTO | GOTO_W | RETURN => (0, 0),
        1..=8 | 11..=13 | 16..=19 | 21 | 23 | 26..=29 | 34..=37 | 187 => (0, 1),
        9 | 10 | 14 | 15 | 20 | 22 | 24 | 30..=33 | 38..=41 => (0, 2),
        46 | 48 | 50..=53 => (2, 1),
        47 | 49 => (2, 2),
        79 | 81 | 83..=86 => (3, 0),
        80 | 82 => (4, 0),
        87 => (1, 0),
        88 => (2, 0),
        // Arithmetic comes in fours: int, long, float, double.
        96..=115 if op.is_multiple_of(2) => (2, 1),
        96..=115 => (4, 2),
        116 | 118 => (1, 1),
        117 | 119 => (2, 2),
        // Shifts, then bit operations: int, long.
        121 | 123 | 125 => (3, 2),
        120..=131 if op.is_multiple_of(2) => (2, 1),
        120..=131 => (4, 2),
        // Conversions.
        133 | 135 | 140 | 141 => (1, 2),
        134 | 139 | 145..=147 => (1, 1),
        136 | 137 | 142 | 144 => (2, 1),
        138 | 143 => (2, 2),
        // Comparisons.
        148 | 151 | 152 => (4, 1),
        149 | 150 => (2, 1),
        153..=158 | IFNULL | IFNONNULL | TABLESWITCH | LOOKUPSWITCH => (1, 0),
        159..=166 => (2, 0),
        172 | 174 | 176 | ATHROW | 194 | 195 => (1, 0),
        173 | 175 => (2, 0),
        188..=190 | 192 | 193 => (1, 1),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_opcode_has_its_length() {
        let mut counts = [0; 6];
        for op in 0..=u8::MAX {
            if !matches!(op, TABLESWITCH | LOOKUPSWITCH | WIDE) {
                let code = [op, 0, 0, 0, 0, 0];
                counts[length_at(&code, 0).unwrap_or(0)] += 1;
            }
        }
        assert_eq!(counts, [256 - 202, 147, 14, 33, 1, 4]);
        assert_eq!(length_at(&[WIDE, IINC, 0, 0, 0, 0], 0), Ok(6));
        assert_eq!(length_at(&[WIDE, RET, 0, 0], 0), Ok(4));
        assert!(length_at(&[WIDE, GOTO, 0, 0], 0).is_err());
        assert!(length_at(&[GOTO, 0], 0).is_err());
    }

    #[test]
    fn a_switch_cannot_be_longer_than_the_code() {
        let mut code = vec![TABLESWITCH, 0, 0, 0, 0, 0, 0, 0];
        code.extend(i32::MIN.to_be_bytes());
        code.extend(i32::MAX.to_be_bytes());
        assert_eq!(length_at(&code, 0), Err(Skip::Malformed));
        let mut code = vec![LOOKUPSWITCH, 0, 0, 0, 0, 0, 0, 0];
        code.extend(u32::MAX.to_be_bytes());
        assert_eq!(length_at(&code, 0), Err(Skip::Malformed));
    }
}
