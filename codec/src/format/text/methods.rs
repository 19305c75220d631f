//! `methods.jsonl`: what is known about each method.
//!
//! One JSON object a line, written with the id's line of [`ids`](super::ids), before any event:
//!
//! ```text
//! {"id":0,"class":"com.example.A","name":"m","descriptor":"(I)V","source":"A.java","line":12,"loader":"app","flags":["public","static"]}
//! ```
//!
//! | field | type | value |
//! |---|---|---|
//! | `id` | number | [`MethodId`] |
//! | `class` | string | binary class name; hidden classes end in `/0x…` |
//! | `name`, `descriptor` | string | as in the class file; `<class>` and empty for a [class](super::ids#classes), `<field>total` and empty for a [field](super::ids#fields) |
//! | `source` | string, optional | name of the source file |
//! | `line` | number, optional | line of the first instruction |
//! | `loader` | string | `boot`; a built-in loader's own name (`app`, `platform`); else its class, `@`, a number; empty for a field |
//! | `flags` | strings | access flags in source order, and `hidden` for methods of hidden classes |
//! | `lines` | numbers, optional | the lines of a method that `lines=` names, each once, in order: those that have marks when they are reached |
//! | `parameters` | strings, optional | the names of the parameters of a method that `values=` names, in order; empty where the class file has none |
//! | `code` | object, optional | the code of a method that `instructions=` names: see [`instructions`](crate::format::instructions). Of several lines of a version, one has it |
//! | `interface` | string, optional | of a method of a proxy that the JDK made (`java.lang.reflect.Proxy`): the interface that it implements |
//! | `roles` | strings, optional | what the method is to the presets of the recording: see [`roles`](super::roles) |
//! | `inlined` | arrays, optional | lines of other code that a compiler copied into the method: see *Inlined code* |
//! | `version` | number, optional | version of the method; 0 if absent |
//!
//! A second line with the same id describes the same class and method in another class loader, or another *version* of the
//! method, with other `lines`, `parameters`, `roles` or `code`. [Calls](crate::format::values) of a version other than 0 begin with its number.
//! A method has a line for each of its first 16 loaders, and for each version.
//!
//! **Inlined code.** Kotlin copies the code of inline functions into their callers, and gives it line numbers after the end of
//! the file. The class file has a map of these numbers ([JSR 45], stratum `Kotlin`). `inlined` is the part of the map that the
//! lines of the method need. Each array has the first number, how many numbers follow each other, the source line of the first
//! one, and the path of the source file: the folder of its package, and its name.
//!
//! ```text
//! "inlined":[[19,3,1634,"kotlin/collections/_Collections.kt"]]
//! ```
//!
//! A method of a class that the compiler copied as a whole has such an array for all of its lines. Numbers in `lines`, in
//! `code`, in marks and in samples are those of the class file; readers show the source lines. `line` is the first one that is
//! not inlined, if there is one.
//!
//! [JSR 45]: https://jcp.org/en/jsr/detail?id=45
//!
//! Lone halves of surrogate pairs, which JVM names may contain and UTF-8 cannot, are
//! written as the text `\uD800`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::MethodId;
use crate::format::instructions::Code;
use crate::format::roles::MethodRole;

/// One line of `methods.jsonl`.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "FlatLine")]
pub struct MethodLine {
    /// The id.
    pub id: MethodId,
    /// The method.
    #[serde(flatten)]
    pub method: MethodInfo,
}

/// What is known about a method.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct MethodInfo {
    /// Binary class name.
    pub class: String,
    /// Name of the method.
    pub name: String,
    /// JVM descriptor.
    pub descriptor: String,
    /// Name of the source file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Line of the first instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The class loader that defined the class.
    pub loader: String,
    /// Access flags by name.
    pub flags: Vec<Cow<'static, str>>,
    /// The lines that are recorded, each once, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<u16>,
    /// The names of the parameters, if values are recorded; empty where they are not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
    /// Its code, if its instructions are recorded.
    #[doc(hidden)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Box<Code>>,
    /// The interface that a method of a proxy implements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<Box<str>>,
    /// What the method is to presets.
    #[doc(hidden)]
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub roles: Box<[MethodRole]>,
    /// Lines of the method that come from other code.
    #[doc(hidden)]
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub inlined: Box<[Inlined]>,
    /// The version of the method.
    #[serde(skip_serializing_if = "is_first")]
    pub version: u16,
}

/// Lines of other code that a compiler copied into a method.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(from = "(u16, u16, u32, String)", into = "(u16, u16, u32, String)")]
pub struct Inlined {
    /// The first number in the class file.
    pub first: u16,
    /// How many consecutive numbers there are.
    pub count: u16,
    /// The source line of the first number.
    pub line: u32,
    /// The file of that line, in the folder of its package: `com/app/Orders.kt`.
    pub file: String,
}

impl From<(u16, u16, u32, String)> for Inlined {
    fn from((first, count, line, file): (u16, u16, u32, String)) -> Self {
        Self { first, count, line, file }
    }
}

impl From<Inlined> for (u16, u16, u32, String) {
    fn from(Inlined { first, count, line, file }: Inlined) -> Self {
        (first, count, line, file)
    }
}

impl Inlined {
    /// Returns the source line of a number in the class file, if the range has the number.
    #[must_use]
    pub(crate) fn line_of(&self, number: u32) -> Option<u32> {
        let after = number.checked_sub(self.first.into())?;
        (after < self.count.into()).then(|| self.line.saturating_add(after))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde passes")]
fn is_first(version: &u16) -> bool {
    *version == 0
}

impl MethodInfo {
    /// Returns the file and line of a number in the class file, if it belongs to code of another file or function.
    #[must_use]
    pub fn inlined_line(&self, number: u32) -> Option<(&str, u32)> {
        self.inlined.iter().find_map(|from| Some((&*from.file, from.line_of(number)?)))
    }

    /// Returns the source file with the folder of its package, `com/app/Orders.java`, and the line of a number in the class
    /// file. Without debug information, the file is the class file.
    #[must_use]
    pub fn source_line(&self, number: u32) -> (Cow<'_, str>, u32) {
        if let Some((file, line)) = self.inlined_line(number) {
            return (Cow::Borrowed(file), line);
        }
        let path = self.class.replace('.', "/");
        let file = match (&self.source, path.rsplit_once('/')) {
            (Some(source), Some((package, _))) => format!("{package}/{source}"),
            (Some(source), None) => source.clone(),
            (None, _) => format!("{path}.class"),
        };
        (Cow::Owned(file), number)
    }

    /// Returns the source file of the first line, with the folder of its package.
    #[must_use]
    pub fn source_path(&self) -> Cow<'_, str> {
        self.source_line(self.line.unwrap_or_default()).0
    }

    /// Returns the name of the source file, if it is known, and the line of a number in the class file.
    #[must_use]
    pub fn named_line(&self, number: u32) -> (Option<&str>, u32) {
        match self.inlined_line(number) {
            Some((file, line)) => (file.rsplit('/').next(), line),
            None => (self.source.as_deref(), number),
        }
    }

    /// Returns the name of the source file, if it is known, and the line of a number in the class file, if there is one.
    #[must_use]
    pub fn named_place(&self, number: Option<u32>) -> (Option<&str>, Option<u32>) {
        match number.map(|number| self.named_line(number)) {
            Some((file, line)) => (file, Some(line)),
            None => (self.source.as_deref(), None),
        }
    }

    /// Returns whether the method has lines, parameters, roles or code, by which versions differ.
    #[must_use]
    pub fn has_details(&self) -> bool {
        !self.lines.is_empty()
            || !self.parameters.is_empty()
            || !self.roles.is_empty()
            || self.code.is_some()
    }
}

/// A line while it is read. Serde buffers flattened fields before it knows what they are, which takes twice
/// as long as everything else about names.
#[derive(Deserialize)]
struct FlatLine {
    id: MethodId,
    class: String,
    name: String,
    descriptor: String,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    line: Option<u32>,
    #[serde(default)]
    loader: String,
    #[serde(default)]
    flags: Vec<Cow<'static, str>>,
    #[serde(default)]
    lines: Vec<u16>,
    #[serde(default)]
    parameters: Vec<String>,
    #[serde(default)]
    code: Option<Box<Code>>,
    #[serde(default)]
    interface: Option<Box<str>>,
    #[serde(default)]
    roles: Box<[MethodRole]>,
    #[serde(default)]
    inlined: Box<[Inlined]>,
    #[serde(default)]
    version: u16,
}

impl MethodLine {
    /// Reads a line. `None` if it violates the format.
    #[must_use]
    pub fn decode(line: &str) -> Option<Self> {
        Self::decode_plain(line).or_else(|| serde_json::from_str(line).ok())
    }

    /// Reads a line in the form in which flow writes it, if no text in it is escaped: in a fifth of the time that a
    /// reader of any JSON needs, which is most of what it takes to open a trace.
    fn decode_plain(line: &str) -> Option<Self> {
        // No such byte may be in a text of JSON as it is, and escapes begin with a backslash.
        let is_special = |byte: u8| byte < b' ' || byte == b'\\';
        if line.bytes().fold(false, |found, byte| found | is_special(byte)) {
            return None;
        }
        let mut rest = Plain(line);
        let id = MethodId::new(rest.after("{\"id\":")?.number()?)?;
        let class = rest.after(",\"class\":\"")?.text()?.to_owned();
        let name = rest.after(",\"name\":\"")?.text()?.to_owned();
        let descriptor = rest.after(",\"descriptor\":\"")?.text()?.to_owned();
        let source = match rest.after(",\"source\":\"") {
            Some(rest) => Some(rest.text()?.to_owned()),
            None => None,
        };
        let line = match rest.after(",\"line\":") {
            Some(rest) => Some(u32::try_from(rest.number()?).ok()?),
            None => None,
        };
        let loader = rest.after(",\"loader\":\"")?.text()?.to_owned();
        let mut flags = Vec::new();
        let mut next = rest.after(",\"flags\":[")?.after("\"").is_some();
        while next {
            flags.push(flag(rest.text()?));
            next = rest.after(",\"").is_some();
        }
        let method = MethodInfo {
            class,
            name,
            descriptor,
            source,
            line,
            loader,
            flags,
            ..MethodInfo::default()
        };
        (rest.0 == "]}").then_some(Self { id, method })
    }
}

/// What is left of a line without escapes.
struct Plain<'a>(&'a str);

impl<'a> Plain<'a> {
    /// Skips what comes first; `None`, and nothing is skipped, if something else does.
    fn after(&mut self, first: &str) -> Option<&mut Self> {
        self.0 = self.0.strip_prefix(first)?;
        Some(self)
    }

    /// The text up to a quotation mark, which is skipped too.
    fn text(&mut self) -> Option<&'a str> {
        let end = memchr::memchr(b'"', self.0.as_bytes())?;
        let (text, rest) = self.0.split_at(end);
        self.0 = rest.get(1..)?;
        Some(text)
    }

    /// A number, which has no zero before other digits.
    fn number(&mut self) -> Option<u64> {
        let end = self.0.find(|c: char| !c.is_ascii_digit())?;
        let (number, rest) = self.0.split_at(end);
        self.0 = rest;
        number.parse().ok().filter(|_| end == 1 || !number.starts_with('0'))
    }
}

impl From<FlatLine> for MethodLine {
    fn from(flat: FlatLine) -> Self {
        let FlatLine {
            id,
            class,
            name,
            descriptor,
            source,
            line,
            loader,
            flags,
            lines,
            parameters,
            code,
            interface,
            roles,
            inlined,
            version,
        } = flat;
        let method = MethodInfo {
            class,
            name,
            descriptor,
            source,
            line,
            loader,
            flags,
            lines,
            parameters,
            code,
            interface,
            roles,
            inlined,
            version,
        };
        Self { id, method }
    }
}

/// Names of the access flags of a method, in the order Java sources write them.
const FLAGS: [(u32, &str); 12] = [
    (0x0001, "public"),
    (0x0004, "protected"),
    (0x0002, "private"),
    (0x0400, "abstract"),
    (0x0008, "static"),
    (0x0010, "final"),
    (0x0020, "synchronized"),
    (0x0100, "native"),
    (0x0800, "strictfp"),
    (0x0040, "bridge"),
    (0x0080, "varargs"),
    (0x1000, "synthetic"),
];

/// The access flags of a method (JVMS §4.6) by name.
#[doc(hidden)]
#[must_use]
pub fn flag_names(access: u32) -> Vec<Cow<'static, str>> {
    FLAGS.iter().filter(|(bit, _)| access & bit != 0).map(|(_, name)| (*name).into()).collect()
}

/// The access flags of a method as a number, of those with a name.
#[doc(hidden)]
#[must_use]
pub fn access_of(flags: &[Cow<'static, str>]) -> u32 {
    let bit = |flag: &Cow<'_, str>| FLAGS.iter().find(|(_, name)| name == flag).map(|(bit, _)| bit);
    flags.iter().filter_map(bit).sum()
}

/// A flag. The names of Java need no memory of their own.
fn flag(name: &str) -> Cow<'static, str> {
    match FLAGS.iter().find(|(_, known)| *known == name) {
        Some((_, known)) => Cow::Borrowed(known),
        None => Cow::Owned(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_have_the_documented_fields() {
        assert_eq!(access_of(&flag_names(0x0009)), 0x0009);
        let line = MethodLine {
            id: MethodId::new(0).unwrap(),
            method: MethodInfo {
                class: "com.example.A".into(),
                name: "m".into(),
                descriptor: "(I)V".into(),
                source: Some("A.java".into()),
                line: Some(12),
                loader: "app".into(),
                flags: flag_names(0x0009),
                ..MethodInfo::default()
            },
        };
        let text = serde_json::to_string(&line).unwrap();
        assert_eq!(
            text,
            "{\"id\":0,\"class\":\"com.example.A\",\"name\":\"m\",\"descriptor\":\"(I)V\",\
             \"source\":\"A.java\",\"line\":12,\"loader\":\"app\",\"flags\":[\"public\",\"static\"]}"
        );
        assert_eq!(serde_json::from_str::<MethodLine>(&text).unwrap(), line);
        assert_eq!(MethodLine::decode_plain(&text), Some(line.clone()));

        let with_lines = MethodInfo { lines: vec![12, 300], ..line.method.clone() };
        let with_lines = MethodLine { id: line.id, method: with_lines };
        let longer = text.replace('}', ",\"lines\":[12,300]}");
        assert_eq!(serde_json::to_string(&with_lines).unwrap(), longer);
        assert_eq!(MethodLine::decode(&longer), Some(with_lines));

        let of_preset = MethodInfo {
            interface: Some("com.example.I".into()),
            roles: [MethodRole::parse("sql run arg0").unwrap()].into(),
            ..line.method.clone()
        };
        let of_preset = MethodLine { id: line.id, method: of_preset };
        let longer =
            text.replace('}', ",\"interface\":\"com.example.I\",\"roles\":[\"sql run arg0\"]}");
        assert_eq!(serde_json::to_string(&of_preset).unwrap(), longer);
        assert_eq!(MethodLine::decode(&longer), Some(of_preset));

        let parameters = vec!["n".to_owned(), String::new()];
        let with_names =
            MethodLine { id: line.id, method: MethodInfo { parameters, ..line.method } };
        let longer = text.replace('}', ",\"parameters\":[\"n\",\"\"]}");
        assert_eq!(serde_json::to_string(&with_names).unwrap(), longer);
        assert_eq!(MethodLine::decode(&longer), Some(with_names.clone()));

        let from =
            |first, count, line, file: &str| Inlined { first, count, line, file: file.to_owned() };
        let inlined = Box::new([
            from(19, 3, 1634, "kotlin/collections/_Collections.kt"),
            from(22, 1, 4, "A.kt"),
        ]);
        let method = MethodInfo { inlined, ..with_names.method.clone() };
        assert_eq!(method.inlined_line(20), Some(("kotlin/collections/_Collections.kt", 1635)));
        assert_eq!(
            [18, 22, 23].map(|line| method.inlined_line(line)),
            [None, Some(("A.kt", 4)), None]
        );
        assert_eq!(method.named_line(20), (Some("_Collections.kt"), 1635));
        assert_eq!(method.named_line(12), (Some("A.java"), 12));
        assert_eq!(method.source_line(22), ("A.kt".into(), 4));
        assert_eq!(method.source_line(12), ("com/example/A.java".into(), 12));
        let with_inlined = MethodLine { id: with_names.id, method };
        let map =
            ",\"inlined\":[[19,3,1634,\"kotlin/collections/_Collections.kt\"],[22,1,4,\"A.kt\"]]}";
        let text = longer.strip_suffix('}').unwrap().to_owned() + map;
        assert_eq!(serde_json::to_string(&with_inlined).unwrap(), text);
        assert_eq!(MethodLine::decode(&text), Some(with_inlined));

        let method = MethodInfo { version: 2, ..with_names.method };
        let of_version = MethodLine { id: with_names.id, method };
        let longer = longer.replace("\"]}", "\"],\"version\":2}");
        assert_eq!(serde_json::to_string(&of_version).unwrap(), longer);
        assert_eq!(MethodLine::decode(&longer), Some(of_version));
    }

    /// Text of some length, also with what is escaped.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["[a-z.$/;ü]{0,9}", "[a\"\\\\\n,{}:]{0,4}"]
    }

    proptest! {
        #[test]
        #[cfg_attr(miri, ignore = "slow there")]
        fn lines_are_read_as_any_json_is(
            id in prop_oneof![0_u64..30, any::<u64>()],
            texts in [text(), text(), text(), text()],
            source in prop::option::of(text()),
            line in prop::option::of(any::<u32>()),
            flags in prop::collection::vec(text(), 0..3),
            changes in prop::collection::vec((any::<prop::sample::Index>(), "[0-9\",:{} a\\[\\]]{0,2}"), 0..3),
        ) {
            let [class, name, descriptor, loader] = texts;
            let flags = flags.into_iter().map(Cow::from).collect();
            let method =
                MethodInfo { class, name, descriptor, source, line, loader, flags, ..MethodInfo::default() };
            let id = MethodId::new(id).unwrap_or(MethodId::new(7).unwrap());
            let line = MethodLine { id, method };
            let mut text = serde_json::to_string(&line).unwrap();
            prop_assert_eq!(MethodLine::decode(&text), Some(line));
            // Some characters are replaced by others.
            for (place, other) in changes {
                let (at, old) = text.char_indices().nth(place.index(text.chars().count())).unwrap();
                text.replace_range(at..at + old.len_utf8(), &other);
            }
            let read = MethodLine::decode_plain(&text);
            if read.is_some() {
                prop_assert_eq!(read, serde_json::from_str(&text).ok(), "{}", text);
            }
        }
    }
}
