//! The values of calls as text and as JSON.

use std::borrow::Cow;

use flow_codec::format::values::{
    CallValue, Identity, ObjectContent, Place, Primitive, Role, Value,
};
use flow_codec::read::{Method, Methods};
use flow_codec::{MethodId, type_name};
use serde_json::json;

use super::{escaped, grouped, plural};

/// How many elements of an array, or parts of another object, are shown in text.
const MOST_ELEMENTS: usize = 16;

/// Shows values of a method.
#[derive(Clone, Copy, Debug)]
pub struct ValueTexts<'a> {
    methods: &'a Methods,
    method: Option<&'a Method>,
}

/// A value that is compared.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The names that it goes by.
    pub names: [String; 2],
    /// What it is without quotes, `None` if it is null. Of an object, the name of its class.
    pub text: Option<String>,
    /// Whether there is more of it than was recorded.
    pub is_cut: bool,
}

/// A text, or why there is none, as [`ValueTexts::text`] shows it.
pub(crate) fn message_text(message: &Value) -> String {
    match message {
        Value::Text { units, beginning } => {
            let quoted = quoted(beginning);
            match *units > shown_units(beginning) {
                true => format!("{quoted}… ({} characters)", grouped(*units)),
                false => quoted,
            }
        }
        Value::Redacted => "(redacted)".to_owned(),
        Value::Null => "null".to_owned(),
        _ => "?".to_owned(),
    }
}

impl<'a> ValueTexts<'a> {
    /// For the values of a call of this method, if it is known.
    #[must_use]
    pub fn new(methods: &'a Methods, method: Option<MethodId>) -> Self {
        let method = method.and_then(|method| methods.get(method));
        Self { methods, method }
    }

    /// The name of a value: that of the parameter, `arg0` if it has none, `this`, `result` or `message`.
    #[must_use]
    pub fn name(&self, value: &CallValue) -> String {
        match value.role {
            Role::Argument(number) => {
                let version = self.method.map(|method| method.version(value.version));
                let name = version.and_then(|info| info.parameters.get(usize::from(number)));
                match name.filter(|name| !name.is_empty()) {
                    Some(name) => name.clone(),
                    None => format!("arg{number}"),
                }
            }
            Role::This => "this".to_owned(),
            Role::Result => "result".to_owned(),
            Role::Message => "message".to_owned(),
            Role::Read | Role::Write => "access".to_owned(),
            _ => "?".to_owned(),
        }
    }

    /// The name of a value that is compared with another: as [`name`](Self::name), but `field(total)` and `element` of accesses.
    #[must_use]
    pub(crate) fn compared_name(&self, value: &CallValue) -> String {
        let field = value.place.as_deref().map(|place| place.field);
        match field {
            None => self.name(value),
            Some(None) => "element".to_owned(),
            Some(Some(field)) => {
                let name = self.methods.field(field).map_or("?", |field| &field.name);
                format!("field({name})")
            }
        }
    }

    /// Values that belong together, as one line: `(this = Order@1a2b, n = 5)`, `= 42`, `! "not found"`,
    /// `read Order@1a2b.total = 42`.
    #[must_use]
    pub fn line(&self, values: &[CallValue]) -> String {
        let [first, ..] = values else { return String::new() };
        match first.role {
            Role::Result => format!("= {}", self.text(&first.value)),
            Role::Message => format!("! {}", self.text(&first.value)),
            Role::Argument(_) | Role::This => {
                let named = |value: &CallValue| {
                    format!("{} = {}", self.name(value), self.text(&value.value))
                };
                format!("({})", values.iter().map(named).collect::<Vec<_>>().join(", "))
            }
            role => {
                let verb = if role == Role::Write { "write" } else { "read" };
                let place = first.place.as_deref().map(|place| self.place(place));
                let value = self.text(&self.accessed(first));
                format!("{verb} {} = {value}", place.unwrap_or_default())
            }
        }
    }

    /// What is accessed: `Order@1a2b.total`, `Order.count`, `int[3]@1a2b[2]`.
    fn place(&self, Place { field, object, index }: &Place) -> String {
        let field = field.map(|field| self.methods.field(field));
        let object = match (object, field) {
            (Some(object), _) => self.text(object),
            (None, Some(Some(field))) => simple(&field.class),
            (None, _) => "?".to_owned(),
        };
        match (field, index) {
            (Some(field), _) => {
                format!("{object}.{}", escaped(field.map_or("?", |field| &field.name)))
            }
            (None, Some(index)) => format!("{object}[{index}]"),
            (None, None) => object,
        }
    }

    /// The value of an access. Instructions do not distinguish elements of `boolean[]` from bytes.
    fn accessed<'v>(&self, CallValue { value, place, .. }: &'v CallValue) -> Cow<'v, Value> {
        let object = place.as_deref().and_then(|place| place.object.as_ref());
        match (value, object) {
            (Value::Primitive(Primitive::Byte(byte)), Some(Value::Array { array, .. }))
                if self.full_class(array.class) == "boolean[]" =>
            {
                Cow::Owned(Value::Primitive(Primitive::Boolean(byte & 1 != 0)))
            }
            _ => Cow::Borrowed(value),
        }
    }

    /// All values of a call, as one line.
    #[must_use]
    pub fn all(&self, values: &[CallValue]) -> String {
        let is_given = |value: &CallValue| matches!(value.role, Role::Argument(_) | Role::This);
        let parts = values.chunk_by(|one, next| is_given(one) && is_given(next));
        parts.map(|part| format!("  {}", self.line(part))).collect()
    }

    /// What is recorded of a call that has ended: its values as [one line](Self::all), and the exception that ended it, if any, with
    /// its message: `com.app.Denied: "not yours"`. Each is empty if there is nothing.
    #[must_use]
    pub fn of_call(&self, values: &[CallValue], thrown: Option<&str>) -> [String; 2] {
        let is_message = |value: &CallValue| thrown.is_some() && value.role == Role::Message;
        let (messages, values): (Vec<_>, Vec<_>) = values.iter().cloned().partition(is_message);
        let message = messages.first().map(|value| format!(": {}", self.text(&value.value)));
        let thrown =
            thrown.map(|class| format!("{}{}", escaped(class), message.unwrap_or_default()));
        [self.all(&values).trim_start().to_owned(), thrown.unwrap_or_default()]
    }

    /// A value as conditions see it, and with its parts also what is in it: of `order` also `order.total`, `order.class` and
    /// `order.lines.size`.
    #[must_use]
    pub(crate) fn compared(&self, value: &CallValue, with_parts: bool) -> Vec<Compared> {
        let whole = self.compared_whole(value);
        let names = whole.names.clone();
        let mut all = vec![whole];
        if with_parts {
            self.add_inside(&names, &value.value, &mut all);
        }
        all
    }

    fn add_inside(&self, names: &[String; 2], value: &Value, all: &mut Vec<Compared>) {
        let inside = |name: &str| {
            names.each_ref().map(|of| match of.is_empty() {
                true => String::new(),
                false => format!("{of}.{name}"),
            })
        };
        if let Value::Object(object) | Value::Content { object, .. } = value {
            let text = Some(self.full_class(object.class));
            all.push(Compared { names: inside("class"), text, is_cut: false });
        }
        let size = match value {
            Value::Array { length, .. }
            | Value::Content {
                content:
                    ObjectContent::Elements { length, .. } | ObjectContent::Entries { length, .. },
                ..
            } => Some(*length),
            _ => None,
        };
        if let Some(size) = size {
            let text = Some(size.to_string());
            all.push(Compared { names: inside("size"), text, is_cut: false });
        }
        let Value::Content { content: ObjectContent::Fields { fields, .. }, .. } = value else {
            return;
        };
        for (name, value) in fields {
            let names = inside(name);
            let (text, is_cut) = self.compared_text(value);
            all.push(Compared { names: names.clone(), text, is_cut });
            self.add_inside(&names, value, all);
        }
    }

    fn compared_whole(&self, compared: &CallValue) -> Compared {
        let CallValue { role, place, .. } = compared;
        let field = place.as_deref().and_then(|place| self.methods.field(place.field?));
        let names = match (role, field) {
            (Role::Argument(number), _) => [self.name(compared), format!("arg{number}")],
            (_, Some(field)) => [format!("field({})", field.name), String::new()],
            _ => [self.name(compared), String::new()],
        };
        let (text, is_cut) = self.compared_text(&self.accessed(compared));
        Compared { names, text, is_cut }
    }

    /// A value without quotes, and whether there is more of it than was recorded.
    fn compared_text(&self, value: &Value) -> (Option<String>, bool) {
        let text = match value {
            Value::Null => None,
            Value::Text { beginning, .. } => Some(beginning.clone()),
            Value::Object(identity)
            | Value::Content { object: identity, content: ObjectContent::Fields { .. } } => {
                Some(self.full_class(identity.class))
            }
            Value::Primitive(Primitive::Char(unit)) | Value::Boxed(Primitive::Char(unit)) => {
                Some(String::from_utf16_lossy(&[*unit]))
            }
            other => Some(self.text(other)),
        };
        let is_cut = match value {
            Value::Text { units, beginning } => *units > shown_units(beginning),
            _ => false,
        };
        (text, is_cut)
    }

    /// A value as Java would write it, with what is known of an object.
    #[must_use]
    pub fn text(&self, value: &Value) -> String {
        match value {
            Value::Null => "null".to_owned(),
            Value::Redacted => "(redacted)".to_owned(),
            Value::Primitive(value) | Value::Boxed(value) => primitive(*value),
            Value::Object(identity) => self.object(*identity),
            Value::Text { .. } => message_text(value),
            Value::Array { array, length, elements } => {
                let shown = elements.iter().take(MOST_ELEMENTS);
                let mut texts: Vec<_> = shown.map(|element| primitive(*element)).collect();
                if (texts.len() as u64) < *length && !texts.is_empty() {
                    texts.push("…".to_owned());
                }
                let content = if texts.is_empty() {
                    format!("@{:x}", array.hash)
                } else {
                    format!(" {{{}}}", texts.join(", "))
                };
                let class = self.class(array.class);
                let element = class.strip_suffix("[]").unwrap_or(&class);
                format!("{element}[{}]{content}", grouped(*length))
            }
            Value::Constant { class: _, name } => escaped(name).into_owned(),
            Value::Content { object, content } => self.content(*object, content),
            _ => "?".to_owned(),
        }
    }

    /// An object with what is in it: `1.19`, `[1, 2]`, `Optional["a"]`, `{"k" = 1}`, `Order@18b4aac2{id = 5}`, `Line{id = 5}`.
    /// Where that was not recorded, how much it is: `[3 elements]`.
    fn content(&self, object: Identity, content: &ObjectContent) -> String {
        let parts = |length: u64, of: &str, shown: &mut dyn Iterator<Item = String>| {
            let mut parts: Vec<_> = shown.take(MOST_ELEMENTS).collect();
            let left = length.saturating_sub(parts.len() as u64);
            if left > 0 {
                parts.push(match parts.is_empty() {
                    true => plural(left, of),
                    false => format!("… {} more", grouped(left)),
                });
            }
            parts.join(", ")
        };
        let full = self.full_class(object.class);
        match content {
            ObjectContent::Text(text) if full.starts_with("java.lang.String") => quoted(text),
            ObjectContent::Text(text) => escaped(text).into_owned(),
            ObjectContent::Elements { length: 0, .. } if full.starts_with("java.util.Optional") => {
                format!("{}.empty", simple(&full))
            }
            ObjectContent::Elements { length, elements } => {
                let mut elements = elements.iter().map(|element| self.text(element));
                let parts = parts(*length, "element", &mut elements);
                let class = simple(&full);
                match class.strip_suffix("[]") {
                    Some(element) => format!("{element}[{}] {{{parts}}}", grouped(*length)),
                    None if is_collection(&full) => format!("[{parts}]"),
                    None => format!("{class}[{parts}]"),
                }
            }
            ObjectContent::Entries { length, entries } => {
                let entry = |(key, value)| format!("{} = {}", self.text(key), self.text(value));
                let mut entries = entries.iter().map(|(key, value)| entry((key, value)));
                format!("{{{}}}", parts(*length, "key", &mut entries))
            }
            ObjectContent::Fields { is_record, length, fields } => {
                let field = |(name, value): &(String, Value)| {
                    format!("{} = {}", escaped(name), self.text(value))
                };
                let parts = parts(*length, "field", &mut fields.iter().map(field));
                match is_record {
                    true => format!("{}{{{parts}}}", simple(&full)),
                    false => format!("{}{{{parts}}}", self.object(object)),
                }
            }
        }
    }

    /// A value as JSON: its name, its type, and what is known of it.
    #[must_use]
    pub fn json(&self, value: &CallValue) -> serde_json::Value {
        let Some(Place { field, object, index }) = value.place.as_deref() else {
            return self.named_json(&self.name(value), &value.value);
        };
        let field = field.and_then(|field| self.methods.field(field));
        let name = match (field, index) {
            (Some(field), _) => field.name.clone(),
            (None, Some(index)) => format!("[{index}]"),
            (None, None) => "?".to_owned(),
        };
        let mut json = self.named_json(&name, &self.accessed(value));
        if let Some(json) = json.as_object_mut() {
            let access = if value.role == Role::Write { "write" } else { "read" };
            json.insert("access".to_owned(), access.into());
            if let Some(field) = field {
                json.insert("class".to_owned(), field.class.clone().into());
            }
            if let Some(object) = object {
                let mut object = self.named_json("", object);
                object.as_object_mut().map(|object| object.remove("name"));
                json.insert("object".to_owned(), object);
            }
            if let Some(index) = index {
                json.insert("index".to_owned(), (*index).into());
            }
        }
        json
    }

    fn named_json(&self, name: &str, value: &Value) -> serde_json::Value {
        let of = |kind: &str, value: serde_json::Value| json!({"name": name, "type": kind, "value": value});
        match value {
            Value::Null => of("null", serde_json::Value::Null),
            Value::Redacted => json!({"name": name, "type": "redacted"}),
            Value::Primitive(value) => of(primitive_type(*value), primitive_json(*value)),
            Value::Boxed(value) => of(box_type(*value), primitive_json(*value)),
            Value::Object(identity) => {
                json!({"name": name, "type": self.full_class(identity.class), "identity": format!("{:x}", identity.hash)})
            }
            Value::Text { units, beginning } => {
                json!({"name": name, "type": "java.lang.String", "value": beginning, "length": units})
            }
            Value::Array { array, length, elements } => json!({
                "name": name,
                "type": self.full_class(array.class),
                "identity": format!("{:x}", array.hash),
                "value": elements.iter().map(|element| primitive_json(*element)).collect::<Vec<_>>(),
                "length": length,
            }),
            Value::Constant { class, name: constant } => {
                json!({"name": name, "type": self.full_class(*class), "value": constant})
            }
            Value::Content { object, content } => self.content_json(name, *object, content),
            _ => json!({"name": name}),
        }
    }

    fn content_json(
        &self,
        name: &str,
        object: Identity,
        content: &ObjectContent,
    ) -> serde_json::Value {
        let inside = |value: &Value| {
            let mut json = self.named_json("", value);
            json.as_object_mut().map(|json| json.remove("name"));
            json
        };
        let (value, length): (serde_json::Value, _) = match content {
            ObjectContent::Text(text) => (text.clone().into(), None),
            ObjectContent::Elements { length, elements } => {
                (elements.iter().map(inside).collect(), Some(length))
            }
            ObjectContent::Entries { length, entries } => {
                let entry = |(key, value)| json!({"key": inside(key), "value": inside(value)});
                (entries.iter().map(|(key, value)| entry((key, value))).collect(), Some(length))
            }
            ObjectContent::Fields { length, fields, .. } => {
                let fields = fields.iter().map(|(name, value)| self.named_json(name, value));
                (fields.collect(), Some(length))
            }
        };
        let mut json = json!({
            "name": name,
            "type": self.full_class(object.class),
            "identity": format!("{:x}", object.hash),
            "value": value,
        });
        if let (Some(json), Some(length)) = (json.as_object_mut(), length) {
            json.insert("length".to_owned(), (*length).into());
        }
        json
    }

    fn object(&self, Identity { class, hash }: Identity) -> String {
        format!("{}@{hash:x}", self.class(class))
    }

    /// The name of a class without its package.
    fn class(&self, class: Option<MethodId>) -> String {
        simple(&self.full_class(class))
    }

    /// The name of a class as in Java sources; `?` if it is not known.
    fn full_class(&self, class: Option<MethodId>) -> String {
        let name = class.and_then(|class| self.methods.class(class)).unwrap_or("?");
        // That of an array is its descriptor.
        let of_array = name.starts_with('[').then(|| type_name(name)).flatten();
        of_array.unwrap_or_else(|| name.to_owned())
    }
}

/// Whether a class is one of the JDK's collections, which print alike.
fn is_collection(full: &str) -> bool {
    let others = ["java.util.Optional", "java.util.concurrent.atomic."];
    full.starts_with("java.util.") && !others.iter().any(|other| full.starts_with(other))
}

/// The name of a class without its package.
fn simple(full: &str) -> String {
    let start = full.rfind('.').map_or(0, |dot| dot + 1);
    escaped(full.get(start..).unwrap_or_default()).into_owned()
}

/// How many code units of a text its beginning has.
fn shown_units(beginning: &str) -> u64 {
    // A half of a surrogate pair is six characters here.
    let halves = beginning.matches("\\u").count() * 5;
    beginning.encode_utf16().count().saturating_sub(halves) as u64
}

/// A text in quotes.
fn quoted(text: &str) -> String {
    // As in JSON, but without its second backslash for halves of surrogate pairs.
    let quoted = serde_json::Value::from(text).to_string().replace("\\\\u", "\\u");
    escaped(&quoted).into_owned()
}

fn primitive(value: Primitive) -> String {
    match value {
        Primitive::Char(unit) => match char::from_u32(unit.into()) {
            Some(c) => format!("'{}'", escaped(&c.to_string())),
            None => format!("'\\u{unit:04X}'"),
        },
        Primitive::Boolean(value) => value.to_string(),
        Primitive::Byte(value) => value.to_string(),
        Primitive::Short(value) => value.to_string(),
        Primitive::Int(value) => value.to_string(),
        Primitive::Long(value) => value.to_string(),
        Primitive::Float(bits) => format!("{:?}", f32::from_bits(bits)),
        Primitive::Double(bits) => format!("{:?}", f64::from_bits(bits)),
    }
}

fn primitive_json(value: Primitive) -> serde_json::Value {
    match value {
        Primitive::Boolean(value) => value.into(),
        Primitive::Byte(value) => value.into(),
        Primitive::Short(value) => value.into(),
        Primitive::Int(value) => value.into(),
        Primitive::Long(value) => value.into(),
        Primitive::Char(unit) => char::from_u32(unit.into())
            .map_or_else(|| format!("\\u{unit:04X}"), |c| c.to_string())
            .into(),
        // JSON has no infinities: these are texts.
        Primitive::Float(bits) => float(f32::from_bits(bits).into()),
        Primitive::Double(bits) => float(f64::from_bits(bits)),
    }
}

fn float(value: f64) -> serde_json::Value {
    if value.is_finite() { value.into() } else { value.to_string().into() }
}

fn primitive_type(value: Primitive) -> &'static str {
    match value {
        Primitive::Boolean(_) => "boolean",
        Primitive::Byte(_) => "byte",
        Primitive::Char(_) => "char",
        Primitive::Short(_) => "short",
        Primitive::Int(_) => "int",
        Primitive::Float(_) => "float",
        Primitive::Long(_) => "long",
        Primitive::Double(_) => "double",
    }
}

fn box_type(value: Primitive) -> &'static str {
    match value {
        Primitive::Boolean(_) => "java.lang.Boolean",
        Primitive::Byte(_) => "java.lang.Byte",
        Primitive::Char(_) => "java.lang.Character",
        Primitive::Short(_) => "java.lang.Short",
        Primitive::Int(_) => "java.lang.Integer",
        Primitive::Float(_) => "java.lang.Float",
        Primitive::Long(_) => "java.lang.Long",
        Primitive::Double(_) => "java.lang.Double",
    }
}
