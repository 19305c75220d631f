//! Whether two values of different traces, or of different calls, are the same by what they hold.
//!
//! Which object it is does not count: only its class, and what was recorded of its content. What was recorded of one side only,
//! because of other options, cannot be compared, and counts as the same. Sets and maps are the same whatever their order, which
//! differs from run to run.

use flow_codec::MethodId;
use flow_codec::format::values::{Identity, ObjectContent, Value};
use flow_codec::read::Methods;

use crate::text::ValueTexts;

/// The methods of both sides, which have the names of classes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contents<'a> {
    pub(super) before: &'a Methods,
    pub(super) after: &'a Methods,
}

/// Where two values differ: in themselves, or in something inside.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct DifferingPart<'v> {
    /// What leads to the part, such as `.lines[2].total`; empty for the values themselves.
    pub(super) path: String,
    /// What leads to such parts of any value: without indexes and keys, as in `.lines[].total`.
    pub(super) kind: String,
    pub(super) values: [&'v Value; 2],
}

impl Contents<'_> {
    /// The first part in which two values differ; `None` if they are the same.
    pub(super) fn differing_part<'v>(
        &self,
        before: &'v Value,
        after: &'v Value,
    ) -> Option<DifferingPart<'v>> {
        let here = || Some(DifferingPart::of(before, after));
        match (before, after) {
            (Value::Redacted, _) | (_, Value::Redacted) => None,
            (Value::Text { units, beginning }, Value::Text { units: others, beginning: other }) => {
                // One of them may have been cut sooner.
                let is_same = beginning.starts_with(other.as_str()) || other.starts_with(beginning);
                if units == others && is_same { None } else { here() }
            }
            (
                Value::Array { array, length, elements },
                Value::Array { array: other, length: others, elements: other_elements },
            ) => {
                if length != others || !self.is_same_class(array.class, other.class) {
                    return here();
                }
                let at = elements.iter().zip(other_elements).position(|(one, other)| one != other);
                at.map(|at| DifferingPart::of(before, after).inside(&format!("[{at}]"), "[]"))
            }
            (
                Value::Constant { class, name },
                Value::Constant { class: other_class, name: other },
            ) => {
                let is_same = name == other && self.is_same_class(*class, *other_class);
                if is_same { None } else { here() }
            }
            (
                Value::Content { object, content },
                Value::Content { object: other, content: other_content },
            ) if self.is_same_class(object.class, other.class) => {
                match self.inside(*object, content, other_content) {
                    Inner::Same => None,
                    Inner::Part(part) => Some(part),
                    Inner::Whole => here(),
                }
            }
            _ => match (class_of(before), class_of(after)) {
                // Of one of them, or of both, only the class is known.
                (Some(one), Some(other)) if self.is_same_class(one, other) => None,
                (None, None) if before == after => None,
                _ => here(),
            },
        }
    }

    fn inside<'v>(
        &self,
        Identity { class, .. }: Identity,
        before: &'v ObjectContent,
        after: &'v ObjectContent,
    ) -> Inner<'v> {
        use ObjectContent::{Elements, Entries, Fields, Text};
        match (before, after) {
            (Text(one), Text(other)) => {
                if one == other {
                    Inner::Same
                } else {
                    Inner::Whole
                }
            }
            (
                Elements { length, elements },
                Elements { length: others, elements: other_elements },
            ) => {
                if length != others {
                    return Inner::Whole;
                }
                let is_set = class.and_then(|id| self.before.class(id)).is_some_and(has_no_order);
                if is_set {
                    let is_whole =
                        [elements, other_elements].map(|all| all.len() as u64 == *length);
                    return match is_whole == [true; 2]
                        && !self.is_same_set(elements, other_elements)
                    {
                        true => Inner::Whole,
                        false => Inner::Same,
                    };
                }
                let pairs = elements.iter().zip(other_elements).enumerate();
                first(pairs.map(|(at, (one, other))| {
                    let part = self.differing_part(one, other)?;
                    Some(part.inside(&format!("[{at}]"), "[]"))
                }))
            }
            (Entries { length, entries }, Entries { length: others, entries: other_entries }) => {
                if length != others {
                    return Inner::Whole;
                }
                let is_whole = [entries, other_entries].map(|all| all.len() as u64 == *length);
                for (key, value) in entries {
                    let of_key = other_entries.iter().find(|(other, _)| self.is_same(key, other));
                    match of_key {
                        Some((_, other)) => {
                            if let Some(part) = self.differing_part(value, other) {
                                let key = ValueTexts::new(self.before, None).text(key);
                                return Inner::Part(part.inside(&format!("[{key}]"), "[]"));
                            }
                        }
                        None if is_whole == [true; 2] => return Inner::Whole,
                        None => {}
                    }
                }
                Inner::Same
            }
            (Fields { fields, .. }, Fields { fields: others, .. }) => {
                first(fields.iter().map(|(name, value)| {
                    // Of another version of the class, a field that both have.
                    let (_, other) = others.iter().find(|(other, _)| other == name)?;
                    let (path, part) = (format!(".{name}"), self.differing_part(value, other)?);
                    Some(part.inside(&path, &path))
                }))
            }
            _ => Inner::Whole,
        }
    }

    /// Returns whether two values are the same.
    pub(super) fn is_same(&self, before: &Value, after: &Value) -> bool {
        self.differing_part(before, after).is_none()
    }

    /// Returns whether each element has another one that is the same.
    fn is_same_set(&self, before: &[Value], after: &[Value]) -> bool {
        let mut left: Vec<&Value> = after.iter().collect();
        before.iter().all(|one| {
            let at = left.iter().position(|other| self.is_same(one, other));
            at.map(|at| left.swap_remove(at)).is_some()
        })
    }

    /// Returns whether two classes have the same name. An unknown one may be any.
    fn is_same_class(&self, before: Option<MethodId>, after: Option<MethodId>) -> bool {
        let before = before.and_then(|class| self.before.class(class));
        let after = after.and_then(|class| self.after.class(class));
        before.zip(after).is_none_or(|(before, after)| lasting(before) == lasting(after))
    }
}

/// What was found in two objects of a class.
enum Inner<'v> {
    Same,
    Part(DifferingPart<'v>),
    /// They differ, in no single part.
    Whole,
}

/// The first of some parts.
fn first<'v>(mut parts: impl Iterator<Item = Option<DifferingPart<'v>>>) -> Inner<'v> {
    parts.find_map(|part| part).map_or(Inner::Same, Inner::Part)
}

impl<'v> DifferingPart<'v> {
    fn of(before: &'v Value, after: &'v Value) -> Self {
        Self { path: String::new(), kind: String::new(), values: [before, after] }
    }

    /// Returns the part, as seen from an object that holds it.
    fn inside(mut self, path: &str, kind: &str) -> Self {
        self.path.insert_str(0, path);
        self.kind.insert_str(0, kind);
        self
    }
}

/// The class of an object of which nothing else need be known; `None` of a value that has no identity.
fn class_of(value: &Value) -> Option<Option<MethodId>> {
    match value {
        Value::Object(object) | Value::Content { object, .. } => Some(object.class),
        Value::Array { array, .. } => Some(array.class),
        _ => None,
    }
}

/// The name of a class without what the JVM numbers anew in each run: `App$$Lambda$14/0x7f00` is `App$$Lambda`, and
/// `$Proxy12` is `$Proxy`.
fn lasting(class: &str) -> &str {
    const LAMBDA: &str = "$$Lambda";
    const PROXY: &str = "$Proxy";
    if let Some(at) = class.find(LAMBDA) {
        return class.get(..at + LAMBDA.len()).unwrap_or(class);
    }
    if let Some(at) = class.rfind(PROXY) {
        let (name, number) = class.split_at(at + PROXY.len());
        if number.bytes().all(|byte| byte.is_ascii_digit()) {
            return name;
        }
    }
    class.split("/0x").next().unwrap_or(class)
}

/// Returns whether elements of such a collection are in no order that the program decides.
fn has_no_order(class: &str) -> bool {
    let simple = class.rsplit('.').next().unwrap_or(class);
    class.starts_with("java.util.") && (simple.contains("Set") || simple.ends_with("$Values"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow_codec::format::methods::MethodInfo;
    use flow_codec::format::values::Primitive;

    fn int(number: i32) -> Value {
        Value::Primitive(Primitive::Int(number))
    }

    fn text(text: &str) -> Value {
        Value::Text { units: text.len() as u64, beginning: text.to_owned() }
    }

    /// An object of the class with this id.
    fn object(class: u64, hash: u32, content: ObjectContent) -> Value {
        Value::Content { object: Identity { class: MethodId::new(class), hash }, content }
    }

    fn elements(elements: Vec<Value>) -> ObjectContent {
        ObjectContent::Elements { length: elements.len() as u64, elements }
    }

    fn fields(fields: &[(&str, Value)]) -> ObjectContent {
        let length = fields.len() as u64;
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        ObjectContent::Fields { is_record: false, length, fields: fields.collect() }
    }

    /// Classes: 0 is `a.Order`, 1 a list, 2 a set, 3 and 4 the same lambda in two runs.
    fn methods() -> Methods {
        let dir = tempfile::tempdir().unwrap();
        let ids = "a.Order#<class>=0\njava.util.ArrayList#<class>=1\njava.util.ImmutableCollections$SetN#<class>=2\n\
                   a.B$$Lambda$14/0x7f01#<class>=3\na.B$$Lambda/0x7e#<class>=4\n";
        std::fs::write(dir.path().join("ids.properties"), ids).unwrap();
        std::fs::write(dir.path().join("thread-1.flow"), [0x80, 0x00]).unwrap();
        let trace = flow_codec::read::Trace::open(dir.path()).unwrap();
        let mut methods = trace.methods().clone();
        methods.insert(MethodId::new(9).unwrap(), MethodInfo::default());
        methods
    }

    /// The path and the kind of the part that differs, with its values.
    fn part(before: &Value, after: &Value) -> Option<(String, String, [Value; 2])> {
        let methods = methods();
        let contents = Contents { before: &methods, after: &methods };
        let part = contents.differing_part(before, after)?;
        Some((part.path, part.kind, part.values.map(Value::clone)))
    }

    #[test]
    fn the_part_that_differs_is_named() {
        let order = |hash, numbers: &[i32], name: &str| {
            let lines = elements(numbers.iter().map(|number| int(*number)).collect());
            let map = ObjectContent::Entries { length: 1, entries: vec![(text("k"), text(name))] };
            let lines = ("lines", object(1, hash, lines));
            object(0, hash, fields(&[("id", int(1)), lines, ("names", object(1, 3, map))]))
        };
        assert_eq!(part(&order(1, &[1, 2], "a"), &order(2, &[1, 2], "a")), None, "identities");
        let (path, kind, values) = part(&order(1, &[1, 2], "a"), &order(2, &[1, 3], "b")).unwrap();
        assert_eq!((&*path, &*kind, values), (".lines[1]", ".lines[]", [int(2), int(3)]));
        let (path, kind, values) = part(&order(1, &[], "a"), &order(1, &[], "b")).unwrap();
        assert_eq!((&*path, &*kind), (".names[\"k\"]", ".names[]"));
        assert_eq!(values, [text("a"), text("b")]);
        // Of a list of another length, the list.
        let (path, ..) = part(&order(1, &[1], "a"), &order(1, &[1, 2], "a")).unwrap();
        assert_eq!(path, ".lines");
    }

    #[test]
    fn sets_and_maps_have_no_order_and_lists_have() {
        let of = |class, numbers: &[i32]| {
            object(class, 0, elements(numbers.iter().map(|number| int(*number)).collect()))
        };
        assert_eq!(part(&of(2, &[1, 2, 2]), &of(2, &[2, 1, 2])), None);
        assert_eq!(part(&of(2, &[1, 2, 2]), &of(2, &[1, 1, 2])).unwrap().0, "");
        assert_eq!(part(&of(1, &[1, 2]), &of(1, &[2, 1])).unwrap().0, "[0]");
        let map = |keys: [i32; 2], values: [i32; 2]| {
            let entries = keys.into_iter().zip(values).map(|(key, value)| (int(key), int(value)));
            object(0, 0, ObjectContent::Entries { length: 2, entries: entries.collect() })
        };
        assert_eq!(part(&map([1, 2], [3, 4]), &map([2, 1], [4, 3])), None);
        assert_eq!(part(&map([1, 2], [3, 4]), &map([2, 1], [3, 4])).unwrap().0, "[1]");
        assert_eq!(part(&map([1, 2], [3, 4]), &map([1, 5], [3, 4])).unwrap().0, "");
    }

    #[test]
    fn what_was_recorded_of_one_side_only_is_the_same() {
        let cut = |beginning: &str, units| Value::Text { units, beginning: beginning.to_owned() };
        assert_eq!(part(&cut("abcd", 9), &cut("ab", 9)), None, "another max-value");
        assert!(part(&cut("abcd", 9), &cut("abcd", 8)).is_some());
        assert!(part(&cut("abcd", 9), &cut("abxx", 9)).is_some());
        assert_eq!(part(&Value::Redacted, &int(1)), None);
        let identity = |class| Identity { class: MethodId::new(class), hash: 5 };
        let order = object(0, 1, fields(&[("id", int(1))]));
        assert_eq!(part(&Value::Object(identity(0)), &order), None, "another values-depth");
        assert!(part(&Value::Object(identity(1)), &order).is_some());
        let array = |elements: &[i32]| Value::Array {
            array: identity(1),
            length: 9,
            elements: elements.iter().map(|number| Primitive::Int(*number)).collect(),
        };
        assert_eq!(part(&array(&[1, 2]), &array(&[1])), None);
        assert_eq!(part(&array(&[1, 2]), &array(&[1, 3])).unwrap().0, "[1]");
    }

    #[test]
    fn values_of_other_kinds_differ() {
        let values = [
            Value::Null,
            int(1),
            Value::Boxed(Primitive::Int(1)),
            Value::Primitive(Primitive::Long(1)),
            text("1"),
            Value::Constant { class: MethodId::new(0), name: "ONE".to_owned() },
            Value::Object(Identity { class: MethodId::new(0), hash: 1 }),
            object(1, 1, ObjectContent::Text("1.1".to_owned())),
            object(1, 1, ObjectContent::Text("1.19".to_owned())),
        ];
        for (at, before) in values.iter().enumerate() {
            for (other, after) in values.iter().enumerate() {
                assert_eq!(part(before, after).is_none(), at == other, "{before:?} {after:?}");
            }
        }
    }

    #[test]
    fn classes_have_the_names_that_last() {
        let of = |class| Value::Object(Identity { class: MethodId::new(class), hash: 1 });
        assert_eq!(part(&of(3), &of(4)), None);
        assert!(part(&of(3), &of(0)).is_some());
        assert_eq!(lasting("jdk.proxy2.$Proxy12"), "jdk.proxy2.$Proxy");
        assert_eq!(lasting("a.$ProxyFactory"), "a.$ProxyFactory");
        assert_eq!(lasting("a.Hidden/0x01"), "a.Hidden");
    }
}
