//! Text of the JVM as text of ours.
//!
//! JVMTI hands out *modified UTF-8* (JVMS §4.4.7): NUL is `C0 80`, characters beyond U+FFFF are two
//! surrogates of three bytes each, and a surrogate may stand alone. Lone surrogates, which UTF-8 does
//! not have, become the six characters `\uD800`.

/// Decodes modified UTF-8. Bytes that are none become U+FFFD.
pub(super) fn decode(bytes: &[u8]) -> String {
    if bytes.is_ascii() {
        return bytes.iter().map(|&byte| char::from(byte)).collect();
    }
    let units = utf16_units(bytes);
    let mut text = String::with_capacity(bytes.len());
    for unit in char::decode_utf16(units) {
        match unit {
            Ok(c) => text.push(c),
            Err(lone) => text.push_str(&format!("\\u{:04X}", lone.unpaired_surrogate())),
        }
    }
    text
}

fn utf16_units(bytes: &[u8]) -> Vec<u16> {
    const REPLACEMENT: u16 = 0xFFFD;
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        let continuation = |at: usize| {
            tail.get(at).filter(|byte| **byte & 0xC0 == 0x80).map(|byte| u16::from(byte & 0x3F))
        };
        let (unit, len) = match (first, continuation(0), continuation(1)) {
            (0x00..=0x7F, ..) => (u16::from(*first), 1),
            (0xC0..=0xDF, Some(low), _) => (u16::from(first & 0x1F) << 6 | low, 2),
            (0xE0..=0xEF, Some(middle), Some(low)) => {
                (u16::from(first & 0x0F) << 12 | middle << 6 | low, 3)
            }
            _ => (REPLACEMENT, 1),
        };
        units.push(unit);
        rest = rest.get(len..).unwrap_or_default();
    }
    units
}

/// A class as its signature names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ClassName {
    /// `pkg.Outer$Inner`; of a hidden class `pkg.Name/0x…`, as `Class.getName` has it.
    pub(super) binary: String,
    pub(super) hidden: bool,
}

/// Reads a class signature: `Lpkg/Name;`, of a hidden class `Lpkg/Name.0x…;` (JDK 15 and later) or
/// `Lpkg/Name/123;` (VM-anonymous classes before).
pub(super) fn class_name(signature: &str) -> ClassName {
    let internal =
        signature.strip_prefix('L').and_then(|name| name.strip_suffix(';')).unwrap_or(signature);
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let suffix = internal
        .rsplit_once('.')
        .or_else(|| internal.rsplit_once('/').filter(|(_, last)| all_digits(last)));
    match suffix {
        Some((name, suffix)) => {
            ClassName { binary: format!("{}/{suffix}", name.replace('/', ".")), hidden: true }
        }
        None => ClassName { binary: internal.replace('/', "."), hidden: false },
    }
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

    #[test]
    fn signatures_become_binary_names() {
        let name = |signature| {
            let ClassName { binary, hidden } = class_name(signature);
            (binary, hidden)
        };
        assert_eq!(name("Lcom/app/A$B;"), ("com.app.A$B".to_owned(), false));
        assert_eq!(name("LA;"), ("A".to_owned(), false));
        assert_eq!(
            name("Lcom/app/A$$Lambda.0x00007f01;"),
            ("com.app.A$$Lambda/0x00007f01".to_owned(), true)
        );
        assert_eq!(
            name("Lcom/app/A$$Lambda$1/791452441;"),
            ("com.app.A$$Lambda$1/791452441".to_owned(), true)
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_comes_back_from_modified_utf8(text in ".{0,40}") {
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
