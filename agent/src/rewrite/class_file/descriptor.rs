//! Descriptors (JVMS §4.3), counted in slots: a long or double takes two.

use crate::certain::Certain as _;
use crate::rewrite::Skip;

/// The parameters and the result of a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rewrite) struct Signature {
    pub(in crate::rewrite) parameters: usize,
    pub(in crate::rewrite) parameter_slots: usize,
    pub(in crate::rewrite) result_slots: usize,
}

/// Reads the descriptor of a method.
pub(in crate::rewrite) fn signature(descriptor: &[u8]) -> Result<Signature, Skip> {
    let mut rest = descriptor.strip_prefix(b"(").ok_or(Skip::Malformed)?;
    let (mut parameters, mut parameter_slots) = (0, 0);
    loop {
        if let Some(result) = rest.strip_prefix(b")") {
            let result_slots = if result == b"V" { 0 } else { field_slots(result)? };
            return Ok(Signature { parameters, parameter_slots, result_slots });
        }
        let (slots, after) = first_field(rest)?;
        parameters += 1;
        parameter_slots += slots;
        rest = after;
    }
}

/// The slots of a field.
pub(in crate::rewrite) fn field_slots(descriptor: &[u8]) -> Result<usize, Skip> {
    let (slots, after) = first_field(descriptor)?;
    if after.is_empty() { Ok(slots) } else { Err(Skip::Malformed) }
}

/// The slots of the field descriptor at the start of a text, and the rest of the text.
pub(in crate::rewrite) fn first_field(text: &[u8]) -> Result<(usize, &[u8]), Skip> {
    let element = text.iter().position(|byte| *byte != b'[').ok_or(Skip::Malformed)?;
    let (kind, after) = text.get(element..).and_then(<[u8]>::split_first).ok_or(Skip::Malformed)?;
    let after = match kind {
        b'L' => {
            let end = after.iter().position(|byte| *byte == b';').ok_or(Skip::Malformed)?;
            after.get(end + 1..).certain()
        }
        b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' => after,
        _ => return Err(Skip::Malformed),
    };
    let slots = if element == 0 && matches!(kind, b'J' | b'D') { 2 } else { 1 };
    Ok((slots, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_counted_in_slots() {
        let read = |text: &str| signature(text.as_bytes()).ok();
        let expect = |parameters, parameter_slots, result_slots| {
            Some(Signature { parameters, parameter_slots, result_slots })
        };
        assert_eq!(read("()V"), expect(0, 0, 0));
        assert_eq!(read("(IJ[[DLjava/lang/String;D)J"), expect(5, 7, 2));
        assert_eq!(read("([J)[D"), expect(1, 1, 1));
        for wrong in ["", "V", "(", "(L;", "(Q)V", "([)V", "()", "()IV"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
