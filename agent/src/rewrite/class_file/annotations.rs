//! Annotations: their names, and those that make the JVM treat a method of the JDK specially.
//!
//! The JVM replaces the code of the latter methods (`@IntrinsicCandidate`), relies on how they are inlined
//! (`@ForceInline`), hides them from stack traces, or allows them no call (`@Scoped`). Some had other names
//! in JDK 8 to 15.

use super::bytes::Reader;
use super::pool::Pool;
use crate::rewrite::Malformed;
use crate::text::binary_name;

/// The prefix of their descriptors.
const INTERNAL: [&[u8]; 4] = [
    b"Ljdk/internal/vm/annotation/",
    b"Ljdk/internal/HotSpotIntrinsicCandidate;",
    b"Ljdk/internal/misc/ScopedMemoryAccess$Scoped;",
    b"Ljava/lang/invoke/",
];

/// How deep annotations may be nested. Deeper ones are not read.
const MAX_DEPTH: u32 = 32;

/// Returns whether a method has one. An annotation that cannot be read counts as one.
pub(in crate::rewrite) fn are_internal(content: &[u8], pool: &Pool<'_>) -> bool {
    let is_internal = |kind: &[u8]| INTERNAL.iter().any(|internal| kind.starts_with(internal));
    any(content, pool, is_internal).unwrap_or(true)
}

/// The binary names of annotations, as far as they can be read.
pub(in crate::rewrite) fn names(content: &[u8], pool: &Pool<'_>) -> Vec<String> {
    let mut names = Vec::new();
    // Those before an odd one count.
    let _ = any(content, pool, |kind| {
        let class = kind.strip_prefix(b"L").and_then(|kind| kind.strip_suffix(b";"));
        names.extend(class.map(binary_name));
        false
    });
    names
}

/// Returns whether the descriptor of any annotation is such.
fn any(
    content: &[u8],
    pool: &Pool<'_>,
    mut is_such: impl FnMut(&[u8]) -> bool,
) -> Result<bool, Malformed> {
    let mut reader = Reader::new(content);
    for _ in 0..reader.u16()? {
        if is_such(pool.utf8(reader.u16()?)?) {
            return Ok(true);
        }
        skip_pairs(&mut reader, MAX_DEPTH)?;
    }
    Ok(false)
}

fn skip_pairs(reader: &mut Reader<'_>, depth: u32) -> Result<(), Malformed> {
    for _ in 0..reader.u16()? {
        let _name = reader.u16()?;
        skip_value(reader, depth)?;
    }
    Ok(())
}

fn skip_value(reader: &mut Reader<'_>, depth: u32) -> Result<(), Malformed> {
    let depth = depth.checked_sub(1).ok_or(Malformed::Truncated)?;
    match reader.u8()? {
        b'e' => reader.take(4).map(drop),
        b'@' => {
            let _kind = reader.u16()?;
            skip_pairs(reader, depth)
        }
        b'[' => (0..reader.u16()?).try_for_each(|_| skip_value(reader, depth)),
        _ => reader.take(2).map(drop),
    }
}
