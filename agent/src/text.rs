//! Decodes text of the JVM, from class files and from JVMTI.

use std::borrow::Cow;

/// Decodes the *modified UTF-8* of class files and of JVMTI (JVMS §4.4.7): NUL is `C0 80`, characters beyond
/// U+FFFF are two surrogates of three bytes each. A lone surrogate, which UTF-8 does not have, becomes the
/// six characters `\uD800`; invalid bytes become U+FFFD.
pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if bytes.is_ascii() {
        return String::from_utf8_lossy(bytes);
    }
    let mut text = String::with_capacity(bytes.len());
    for unit in char::decode_utf16(utf16_units(bytes)) {
        match unit {
            Ok(c) => text.push(c),
            Err(lone) => text.push_str(&format!("\\u{:04X}", lone.unpaired_surrogate())),
        }
    }
    text.into()
}

/// Returns the binary name, `pkg.Outer$Inner`, of an internal one, `pkg/Outer$Inner`.
pub(crate) fn binary_name(internal: &[u8]) -> String {
    decode(internal).replace('/', ".")
}

/// The UTF-16 that modified UTF-8 represents.
fn utf16_units(bytes: &[u8]) -> impl Iterator<Item = u16> {
    const REPLACEMENT: u16 = 0xFFFD;
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let low_bits = |at: usize| {
            rest.get(at).filter(|byte| **byte & 0xC0 == 0x80).map(|byte| u16::from(byte & 0x3F))
        };
        let first = u16::from(*rest.first()?);
        let (unit, len) = match (first, low_bits(1), low_bits(2)) {
            (0x00..=0x7F, ..) => (first, 1),
            (0xC0..=0xDF, Some(low), _) => ((first & 0x1F) << 6 | low, 2),
            (0xE0..=0xEF, Some(middle), Some(low)) => ((first & 0x0F) << 12 | middle << 6 | low, 3),
            _ => (REPLACEMENT, 1),
        };
        rest = rest.get(len..)?;
        Some(unit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modified_utf8_is_not_utf8() {
        assert_eq!(decode(b"plain"), "plain");
        assert_eq!(decode("é漢".as_bytes()), "é漢");
        assert_eq!(decode(&[b'a', 0xC0, 0x80, b'b']), "a\0b");
        // U+1D453 as two surrogates.
        assert_eq!(decode(&[0xED, 0xA0, 0xB5, 0xED, 0xB1, 0x93]), "𝑓");
        assert_eq!(decode(&[b'x', 0xED, 0xA0, 0x80]), "x\\uD800");
        assert_eq!(decode(&[0xE6, 0xBC]), "\u{FFFD}\u{FFFD}");
        assert_eq!(decode(&[0xFF, b'a']), "\u{FFFD}a");
    }

    proptest::proptest! {
        #[test]
        fn any_text_survives_modified_utf8(text in ".{0,40}") {
            let mut bytes = Vec::new();
            for unit in text.encode_utf16() {
                let byte = |bits: u16| u8::try_from(bits & 0xFF).unwrap();
                match unit {
                    0x01..=0x7F => bytes.push(byte(unit)),
                    0 | 0x80..=0x7FF => {
                        bytes.extend([byte(0xC0 | unit >> 6), byte(0x80 | unit & 0x3F)]);
                    }
                    _ => bytes.extend([
                        byte(0xE0 | unit >> 12),
                        byte(0x80 | unit >> 6 & 0x3F),
                        byte(0x80 | unit & 0x3F),
                    ]),
                }
            }
            proptest::prop_assert_eq!(decode(&bytes), text);
        }

        #[test]
        fn any_bytes_become_text(bytes: Vec<u8>) {
            decode(&bytes);
        }
    }
}
