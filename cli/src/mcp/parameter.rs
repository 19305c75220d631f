//! Parameters of tools: their schema for clients, and from JSON to the words of a command.

use serde_json::{Map, Value, json};

/// A parameter of a tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) kind: Kind,
    pub(super) is_required: bool,
}

/// What a parameter is, and where the command has it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Text that is a word of its own.
    Word,
    /// Words of their own.
    Words,
    /// The trace that is asked; by default that of the server.
    Trace,
    /// Another trace.
    OtherTrace,
    /// The value of a flag.
    Text(&'static str),
    /// Values of a flag that can be repeated.
    Texts(&'static str),
    /// A number, the value of a flag.
    Number(&'static str),
    /// A flag without a value.
    Switch(&'static str),
    /// One of these, the value of a flag.
    Choice(&'static str, &'static [&'static str]),
    /// The most bytes of the answer. Some verbs have a flag for it.
    Bytes(Option<&'static str>),
}

impl Kind {
    /// The flag, with its dashes.
    pub(super) fn flag(self) -> Option<&'static str> {
        match self {
            Self::Word | Self::Words | Self::Trace | Self::OtherTrace => None,
            Self::Text(flag)
            | Self::Texts(flag)
            | Self::Number(flag)
            | Self::Switch(flag)
            | Self::Choice(flag, _) => Some(flag),
            Self::Bytes(flag) => flag,
        }
    }

    /// What is expected, for messages.
    fn expected(self) -> String {
        match self {
            Self::Word | Self::Trace | Self::OtherTrace | Self::Text(_) => "a string".to_owned(),
            Self::Words => "an array of strings, one for each word".to_owned(),
            Self::Texts(_) => "a string or an array of strings".to_owned(),
            Self::Number(_) | Self::Bytes(_) => "a whole number from 0 on".to_owned(),
            Self::Switch(_) => "true or false".to_owned(),
            Self::Choice(_, values) => format!("one of {}", values.join(", ")),
        }
    }

    /// The schema, without the description.
    fn schema(self) -> Value {
        match self {
            Self::Word | Self::Trace | Self::OtherTrace | Self::Text(_) => {
                json!({"type": "string"})
            }
            Self::Words => json!({"type": "array", "items": {"type": "string"}, "minItems": 1}),
            Self::Texts(_) => json!({"anyOf": [
                {"type": "string"}, {"type": "array", "items": {"type": "string"}},
            ]}),
            Self::Number(_) | Self::Bytes(_) => json!({"type": "integer", "minimum": 0}),
            Self::Switch(_) => json!({"type": "boolean"}),
            Self::Choice(_, values) => json!({"type": "string", "enum": values}),
        }
    }

    /// The words that a client gave. Clients that write a number or a boolean as a string, or the reverse, mean the same.
    ///
    /// # Errors
    /// What was expected, for a value of another type.
    pub(super) fn words(self, value: &Value) -> Result<Vec<String>, String> {
        let word = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let words = match (self, value) {
            (Self::Words, Value::Array(values)) | (Self::Texts(_), Value::Array(values)) => {
                values.iter().map(word).collect()
            }
            (Self::Words, _) => None,
            (Self::Switch(_), Value::Bool(is_on)) => Some(vec![is_on.to_string()]),
            (Self::Switch(_), Value::String(text)) if text == "true" || text == "false" => {
                Some(vec![text.clone()])
            }
            (Self::Switch(_), _) => None,
            (Self::Number(_) | Self::Bytes(_), value) => {
                let digits = |text: &String| text.parse::<u64>().is_ok();
                word(value).filter(digits).map(|text| vec![text])
            }
            (Self::Choice(_, values), value) => {
                let is_known = |text: &String| values.contains(&text.as_str());
                word(value).filter(is_known).map(|text| vec![text])
            }
            (_, value) => word(value).map(|text| vec![text]),
        };
        let is_text = |words: &Vec<String>| words.iter().all(|word| !word.contains('\0'));
        words.filter(is_text).ok_or_else(|| self.expected())
    }
}

impl Parameter {
    pub(super) const fn new(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, about, kind, is_required: false }
    }

    pub(super) const fn required(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, about, kind, is_required: true }
    }
}

/// The JSON schema of an object with these parameters and no others.
pub(super) fn schema(parameters: &[Parameter]) -> Map<String, Value> {
    let property = |parameter: &Parameter| {
        let mut schema = parameter.kind.schema();
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".to_owned(), parameter.about.into());
        }
        (parameter.name.to_owned(), schema)
    };
    let properties: Map<_, _> = parameters.iter().map(property).collect();
    let required: Vec<_> = parameters.iter().filter(|p| p.is_required).map(|p| p.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_write_otherwise_means_the_same() {
        assert_eq!(Kind::Number("--max").words(&json!("12")), Ok(vec!["12".to_owned()]));
        assert_eq!(Kind::Number("--max").words(&json!(12)), Ok(vec!["12".to_owned()]));
        assert_eq!(Kind::Switch("--own").words(&json!("true")), Ok(vec!["true".to_owned()]));
        assert_eq!(Kind::Texts("--test").words(&json!("a")), Ok(vec!["a".to_owned()]));
        let two = Ok(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(Kind::Texts("--test").words(&json!(["a", "b"])), two);
        assert_eq!(Kind::Text("--thread").words(&json!(7)), Ok(vec!["7".to_owned()]));
    }

    #[test]
    fn other_types_are_refused_with_what_was_expected() {
        for (kind, value, expected) in [
            (Kind::Number("--max"), json!(-1), "a whole number from 0 on"),
            (Kind::Number("--max"), json!(1.5), "a whole number from 0 on"),
            (Kind::Number("--max"), json!(null), "a whole number from 0 on"),
            (Kind::Switch("--own"), json!("yes"), "true or false"),
            (Kind::Word, json!({"a": 1}), "a string"),
            (Kind::Word, json!("a\0b"), "a string"),
            (Kind::Words, json!("mvn test"), "an array of strings, one for each word"),
            (Kind::Choice("--by", &["calls", "cpu"]), json!("time"), "one of calls, cpu"),
        ] {
            assert_eq!(kind.words(&value), Err(expected.to_owned()), "{value}");
        }
    }
}
