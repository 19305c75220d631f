//! `ids.properties`: which id a method has.
//!
//! UTF-8, LF, one line a method, in the order in which ids were assigned:
//!
//! ```text
//! com.example.A#m(Ljava/lang/String;)V=0
//! com.example.A#<init>()V=1
//! ```
//!
//! The part before the last `=` is the *key*: binary class name (dots, `$` for nested classes), `#`, method
//! name, JVM descriptor. Ids are dense from 0. The same class and method in two class loaders have one key
//! and one id; [`methods`](super::methods) lists the loaders.
//!
//! # Classes
//!
//! The classes of exceptions have ids too, from the same numbers, with a line here and in
//! [`methods`](super::methods) each. Their name is [`CLASS`], which no method can have, and their descriptor is empty:
//!
//! ```text
//! java.io.IOException#<class>=7
//! ```
//!
//! No event of [`flow`](crate::format::flow) has such an id; [`marks`](crate::format::marks) do.
//!
//! # Fields
//!
//! So have the fields that `fields=` names, if recorded code refers to them. The class is the one by which the code does. Their
//! name is [`FIELD`] and the name of the field:
//!
//! ```text
//! com.example.A#<field>total=9
//! ```
//!
//! Only [values](crate::format::values) have such an id.
//!
//! # Source
//!
//! Source: the Java agent's `ids.properties`, which escapes nothing. JVM names may contain almost any
//! character, so flow escapes the few that would break a line, and only in names that contain them:
//!
//! | in the name | in the file |
//! |---|---|
//! | LF, CR | `\n`, `\r` |
//! | `\` before `n`, `r`, `\`, LF, CR, and before `#` at the start | `\\`: else it would begin one of these |
//! | `\` elsewhere | unchanged: compilers of other languages (JRuby, …) have it in their names |
//! | `#` at the start | `\#`: else the line would be a comment |
//! | `=` | unchanged: the last `=` of the line is the separator |
//!
//! A reader skips empty lines and lines that begin with `#`. A line without `=`, or with anything but a
//! number after it, is an error with its line number. A last line without LF was cut off by a kill and is
//! skipped. If two lines have the same id, the first one counts.

use std::borrow::Cow;

use crate::MethodId;
use crate::Undecoded;

/// The name in place of a method's, for a class.
pub const CLASS: &str = "<class>";

/// What the name of a field begins with, where a method has its name.
pub const FIELD: &str = "<field>";

/// Appends the line for one method to `out`, LF included.
#[doc(hidden)]
pub fn encode_line(key: &str, id: MethodId, out: &mut String) {
    if key.starts_with('#') {
        out.push('\\');
    }
    let mut chars = key.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\\' if matches!(next, Some('n' | 'r' | '\\' | '\n' | '\r')) => out.push_str("\\\\"),
            '\\' if at == 0 && next == Some('#') => out.push_str("\\\\"),
            c => out.push(c),
        }
    }
    out.push('=');
    out.push_str(&id.to_string());
    out.push('\n');
}

/// Reads one line, without its LF: `Ok(None)` if it holds no method, `Err` if it is malformed.
///
/// # Errors
/// The line has no `=`, or no number within the limits after the last one.
#[doc(hidden)]
pub fn decode_line(line: &str) -> Result<Option<(Cow<'_, str>, MethodId)>, Undecoded> {
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (key, number) = line.rsplit_once('=').ok_or(NOT_AN_ID)?;
    let id = number.parse().ok().and_then(MethodId::new).ok_or(NOT_AN_ID)?;
    Ok(Some((unescape(key), id)))
}

const NOT_AN_ID: Undecoded = Undecoded::Invalid("a line key=id");

fn unescape(key: &str) -> Cow<'_, str> {
    // The case of nearly all names.
    if memchr::memchr(b'\\', key.as_bytes()).is_none() {
        return key.into();
    }
    let mut out = String::with_capacity(key.len());
    let mut chars = key.chars();
    if key.starts_with("\\#") {
        chars.next();
    }
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('\\') => out.push('\\'),
            // Not an escape of flow: another writer's name, kept unchanged.
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out.into()
}

/// The key of a method: its identity within a trace.
#[doc(hidden)]
#[must_use]
pub fn key(class: &str, name: &str, descriptor: &str) -> String {
    format!("{class}#{name}{descriptor}")
}

/// Returns whether this is the [`key`] of that method.
#[must_use]
pub(crate) fn is_key(key: &str, class: &str, name: &str, descriptor: &str) -> bool {
    let name_on = key.strip_prefix(class).and_then(|rest| rest.strip_prefix('#'));
    name_on.and_then(|rest| rest.strip_prefix(name)) == Some(descriptor)
}

/// Splits a key into class, name and descriptor. Parts that are missing are empty.
#[must_use]
pub(crate) fn split_key(key: &str) -> (&str, &str, &str) {
    // A descriptor begins at its only `(`. Names may hold `#` and even `(`; class names as
    // compilers write them do not, so the first `#` and the last `(` are the borders.
    let (class, rest) = key.split_once('#').unwrap_or(("", key));
    match rest.rfind('(') {
        Some(at) => (class, &rest[..at], &rest[at..]),
        None => (class, rest, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> MethodId {
        MethodId::new(number).unwrap()
    }

    #[test]
    fn plain_names_are_written_unchanged() {
        let mut out = String::new();
        encode_line("com.example.A#m(Ljava/lang/String;)V", id(0), &mut out);
        assert_eq!(out, "com.example.A#m(Ljava/lang/String;)V=0\n");
    }

    #[test]
    fn a_backslash_without_a_meaning_is_not_escaped() {
        let mut out = String::new();
        encode_line("DashE#RUBY$block$\\=\\^main\\_$0()V", id(3), &mut out);
        assert_eq!(out, "DashE#RUBY$block$\\=\\^main\\_$0()V=3\n");
    }

    #[test]
    fn a_key_is_that_of_its_parts_and_of_no_others() {
        for (class, name, descriptor) in
            [("a.B", "m", "()V"), ("a#B", "#m", "()V"), ("", "", ""), ("é", "ü", "(J)J")]
        {
            let key = key(class, name, descriptor);
            assert!(is_key(&key, class, name, descriptor));
            assert!(!is_key(&format!("{key}x"), class, name, descriptor));
            assert!(!is_key(&format!("x{key}"), class, name, descriptor));
            assert!(!is_key(&key, class, name, &format!("{descriptor}V")));
        }
    }

    #[test]
    fn names_with_separators_and_line_breaks_survive() {
        for key in [
            "a.B#x = y()V",
            "a.B#two\nlines\r()V",
            "a.B#back\\slash\\n()V",
            "a.B#\\u0041()V",
            "#Comment#like()V",
            "\\#a.B#m()V",
            "a.B#\\\\=\\\\\\n\\\n\\\\\n()V\\",
        ] {
            let mut out = String::new();
            encode_line(key, id(9), &mut out);
            assert_eq!(out.matches('\n').count(), 1, "{out}");
            let line = out.strip_suffix('\n').unwrap();
            assert_eq!(decode_line(line), Ok(Some((key.into(), id(9)))));
        }
    }

    #[test]
    fn malformed_lines_are_refused_and_comments_skipped() {
        assert_eq!(decode_line("# a comment=1"), Ok(None));
        assert_eq!(decode_line(""), Ok(None));
        for bad in
            ["no separator", "a#b()V=", "a#b()V=x", "a#b()V=-1", "a#b()V=9223372036854775808"]
        {
            assert_eq!(decode_line(bad), Err(NOT_AN_ID), "{bad}");
        }
    }

    #[test]
    fn keys_split_into_class_name_and_descriptor() {
        assert_eq!(split_key("a.B$C#m(I)V"), ("a.B$C", "m", "(I)V"));
        assert_eq!(split_key("a.B#odd#name()V"), ("a.B", "odd#name", "()V"));
        assert_eq!(split_key("nonsense"), ("", "nonsense", ""));
    }
}
