//! Accessors: methods that only read a field, set one, or pass their arguments on to another method.
//!
//! Both engines decide by the instructions alone, so that they agree. An accessor has no branch and computes nothing, ends with
//! its only return, and has at most one instruction that writes a field or calls a method.
//!
//! A method without parameters and result, such as `run()`, is never an accessor. Neither is a `synchronized` one, which may
//! wait.

use super::opcode::{
    self, ALOAD_3, GETFIELD, GETSTATIC, INVOKEINTERFACE, INVOKEVIRTUAL, LDC2_W, PUTFIELD, PUTSTATIC,
};

const ACC_SYNCHRONIZED: u32 = 0x0020;
/// From `iload` to `aload_3`: of variables, not of elements.
const ILOAD: u8 = 21;
/// From `i2l` to `i2s`.
const I2L: u8 = 133;
const I2S: u8 = 147;
const CHECKCAST: u8 = 192;

/// Returns whether a method is an accessor. `access` are the flags of the class file.
#[must_use]
pub fn is_accessor(name: &str, descriptor: &str, access: u32, code: &[u8]) -> bool {
    !name.starts_with('<')
        && descriptor != "()V"
        && access & ACC_SYNCHRONIZED == 0
        && only_passes_on(code)
}

fn only_passes_on(code: &[u8]) -> bool {
    let (mut pc, mut has_effect) = (0, false);
    while let (Some(&op), Ok(len)) = (code.get(pc), opcode::length_at(code, pc)) {
        pc += len;
        match op {
            // Constants, and variables, which are parameters: nothing is stored into them.
            0..=LDC2_W | ILOAD..=ALOAD_3 | I2L..=I2S | CHECKCAST | GETSTATIC | GETFIELD => {}
            PUTSTATIC | PUTFIELD | INVOKEVIRTUAL..=INVOKEINTERFACE if !has_effect => {
                has_effect = true;
            }
            _ => return opcode::flow(op) == opcode::Flow::Return && pc == code.len(),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::rewrite::class_file::opcode::{IRETURN, RETURN};

    const ARETURN: u8 = 176;

    #[track_caller]
    fn check(expected: bool, code: &[u8]) {
        assert_eq!(is_accessor("m", "(I)I", 1, code), expected, "{code:?}");
    }

    #[test]
    fn getters_setters_and_delegations_are_accessors() {
        // aload_0, getfield, ireturn
        check(true, &[42, GETFIELD, 0, 1, IRETURN]);
        // aload_0, iload_1, putfield, return; and a setter that returns this
        check(true, &[42, 27, PUTFIELD, 0, 1, RETURN]);
        check(true, &[42, 27, PUTFIELD, 0, 1, 42, ARETURN]);
        // A call on a field, with a cast of the result; a constant.
        check(true, &[42, GETFIELD, 0, 1, 27, INVOKEVIRTUAL, 0, 2, CHECKCAST, 0, 3, ARETURN]);
        check(true, &[42, INVOKEINTERFACE, 0, 2, 1, 0, I2L, 173]);
        check(true, &[4, IRETURN]);
    }

    #[test]
    fn whatever_does_more_is_not() {
        // Two calls; two writes; a write and a call.
        check(false, &[42, INVOKEVIRTUAL, 0, 2, INVOKEVIRTUAL, 0, 3, IRETURN]);
        check(false, &[42, 27, PUTFIELD, 0, 1, 42, 27, PUTFIELD, 0, 2, RETURN]);
        check(false, &[42, 27, PUTFIELD, 0, 1, 42, INVOKEVIRTUAL, 0, 2, IRETURN]);
        // A sum, a branch, an element of an array, a new object, a store, invokedynamic.
        check(false, &[26, 27, 96, IRETURN]);
        check(false, &[27, 153, 0, 4, 4, IRETURN]);
        check(false, &[42, 27, 46, IRETURN]);
        check(false, &[187, 0, 1, ARETURN]);
        check(false, &[27, 60, 27, IRETURN]);
        check(false, &[186, 0, 1, 0, 0, ARETURN]);
        // Code after the return, code without one, code that is cut off, no code.
        check(false, &[4, IRETURN, 191]);
        check(false, &[4]);
        check(false, &[42, GETFIELD, 0]);
        check(false, &[]);
    }

    #[test]
    fn some_methods_are_never_accessors() {
        let getter = [42, GETFIELD, 0, 1, IRETURN];
        assert!(!is_accessor("<init>", "(I)V", 1, &[42, 27, PUTFIELD, 0, 1, RETURN]));
        assert!(!is_accessor("m", "()I", 1 | ACC_SYNCHRONIZED, &getter));
        assert!(!is_accessor("run", "()V", 1, &[42, INVOKEVIRTUAL, 0, 2, RETURN]));
        assert!(is_accessor("m", "()I", 1, &getter));
    }
}
