//! Recognises visibility bridges: methods by which compilers make a public method of a superclass visible that is not public
//! itself.
//!
//! A bridge has the name and the descriptor of the method, and only calls that method. It is synthetic, but the program does
//! call a method of its class by this name.

use super::bytes::Reader;
use super::code::Instructions;
use super::opcode::INVOKESPECIAL;
use super::pool::Pool;

/// `ACC_BRIDGE` (JVMS §4.6).
const ACC_BRIDGE: u16 = 0x0040;
/// `ACC_SYNTHETIC` (JVMS §4.6).
pub(in crate::rewrite) const ACC_SYNTHETIC: u16 = 0x1000;

/// Returns whether a method is a visibility bridge, from its access flags, its name and descriptor, its code, and the number
/// and bytes of the constants of its class.
#[must_use]
pub fn is_visibility_bridge(
    access: u32,
    (name, descriptor): (&str, &str),
    code: &[u8],
    (count, constants): (u16, &[u8]),
) -> bool {
    let access = u16::try_from(access & 0xFFFF).unwrap_or_default();
    let pool = [&count.to_be_bytes(), constants].concat();
    Pool::parse(&mut Reader::new(&pool))
        .is_ok_and(|pool| calls_same(access, (name.as_bytes(), descriptor.as_bytes()), code, &pool))
}

/// Returns whether a bridge calls a method of the same name and descriptor of a superclass.
pub(in crate::rewrite) fn calls_same(
    access: u16,
    (name, descriptor): (&[u8], &[u8]),
    code: &[u8],
    pool: &Pool<'_>,
) -> bool {
    access & ACC_BRIDGE != 0
        && Instructions::of(code).flatten().any(|instruction| {
            let operand = code.get(instruction.pc + 1..).map(Reader::new);
            let called = operand.and_then(|mut operand| operand.u16().ok());
            instruction.op == INVOKESPECIAL
                && called
                    .and_then(|index| pool.method(index).ok())
                    .is_some_and(|called| (called.name, called.descriptor) == (name, descriptor))
        })
}
