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
//! | `name`, `descriptor` | string | as in the class file |
//! | `source` | string, optional | name of the source file |
//! | `line` | number, optional | line of the first instruction |
//! | `loader` | string | `boot`; a built-in loader's own name (`app`, `platform`); else its class, `@`, a number |
//! | `flags` | strings | access flags in source order, and `hidden` for methods of hidden classes |
//!
//! A second line with the same id is the same class and method in another class loader. The first 16 loaders
//! of a method have a line. Lone halves of surrogate pairs, which JVM names may contain and UTF-8 cannot, are
//! written as the text `\uD800`.

use serde::{Deserialize, Serialize};

use crate::MethodId;

/// One line of `methods.jsonl`.
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
    pub flags: Vec<String>,
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
    flags: Vec<String>,
}

impl From<FlatLine> for MethodLine {
    fn from(flat: FlatLine) -> Self {
        let FlatLine { id, class, name, descriptor, source, line, loader, flags } = flat;
        Self { id, method: MethodInfo { class, name, descriptor, source, line, loader, flags } }
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
#[must_use]
pub fn flag_names(access: u32) -> Vec<String> {
    FLAGS.iter().filter(|(bit, _)| access & bit != 0).map(|(_, name)| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_documented_fields() {
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
            },
        };
        let text = serde_json::to_string(&line).unwrap();
        assert_eq!(
            text,
            "{\"id\":0,\"class\":\"com.example.A\",\"name\":\"m\",\"descriptor\":\"(I)V\",\
             \"source\":\"A.java\",\"line\":12,\"loader\":\"app\",\"flags\":[\"public\",\"static\"]}"
        );
        assert_eq!(serde_json::from_str::<MethodLine>(&text).unwrap(), line);
    }
}
