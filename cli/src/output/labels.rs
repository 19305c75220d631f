//! What lines say of a method, made once a method instead of once a call.

use flow_codec::format::methods::MethodInfo;
use flow_codec::read::Methods;
use flow_codec::{MethodId, MethodMap};
use serde::Serialize;

use super::neutral;
use crate::args::Format;

/// The methods of a trace, each in the words of one output format:
///
/// | format | words |
/// |---|---|
/// | text | `pkg.Class.name(I)V` |
/// | JSON | `"method":7,"class":"pkg.Class","name":"name","descriptor":"(I)V"` |
/// | CSV | `7,pkg.Class,name,(I)V` |
#[derive(Debug)]
pub(crate) struct Labels<'a> {
    methods: &'a Methods,
    format: Format,
    /// Of methods with a name; ids without one are made anew each time, for there may be any number.
    known: MethodMap<Box<str>>,
    unknown: String,
}

impl<'a> Labels<'a> {
    /// The labels of a trace's methods in one format.
    pub(crate) fn new(methods: &'a Methods, format: Format) -> Self {
        Self { methods, format, known: MethodMap::default(), unknown: String::new() }
    }

    /// The label of a method.
    #[inline]
    pub(crate) fn get(&mut self, id: MethodId) -> &str {
        // Asked twice, because a reference that is returned in one arm only outlives both.
        if self.known.get(id).is_none() {
            if self.methods.get(id).is_none() {
                self.unknown = self.make(id);
                return &self.unknown;
            }
            *self.known.or_default(id) = self.make(id).into_boxed_str();
        }
        self.known.get(id).map_or("", |label| label)
    }

    #[cold]
    fn make(&self, id: MethodId) -> String {
        #[derive(Serialize)]
        struct Words<'a> {
            method: MethodId,
            class: Option<&'a str>,
            name: Option<&'a str>,
            descriptor: Option<&'a str>,
        }
        let info = self.methods.get(id).map(|method| &method.info);
        let word = |word: fn(&MethodInfo) -> &str| info.map(word);
        let class = word(|info| &info.class);
        let name = word(|info| &info.name);
        let descriptor = word(|info| &info.descriptor);
        match self.format {
            Format::Text => neutral(&self.methods.display(id)).into_owned(),
            Format::Json => {
                let words = Words { method: id, class, name, descriptor };
                let object = serde_json::to_string(&words).unwrap_or_default();
                let inner = object.strip_prefix('{').and_then(|object| object.strip_suffix('}'));
                inner.unwrap_or_default().to_owned()
            }
            Format::Csv => csv_fields([
                id.to_string().as_str(),
                class.unwrap_or_default(),
                name.unwrap_or_default(),
                descriptor.unwrap_or_default(),
            ]),
        }
    }
}

/// Fields of a CSV line, [`neutral()`] and quoted where need be, without the line's end.
pub(crate) fn csv_fields<'a>(fields: impl IntoIterator<Item = &'a str>) -> String {
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    let fields = fields.into_iter().map(neutral);
    // A vector takes all that is written to it.
    let _ = writer.write_record(fields.map(std::borrow::Cow::into_owned));
    let line = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_separators_are_quoted() {
        assert_eq!(csv_fields(["a,b", "say \"x\"", "l\nf"]), r#""a,b","say ""x""",l\u{a}f"#);
    }

    #[test]
    fn ids_without_a_name_have_a_label_in_every_format() {
        let methods = Methods::default();
        let id = MethodId::new(7).unwrap();
        for (format, label) in [
            (Format::Text, "?#7"),
            (Format::Json, r#""method":7,"class":null,"name":null,"descriptor":null"#),
            (Format::Csv, "7,,,"),
        ] {
            assert_eq!(Labels::new(&methods, format).get(id), label);
        }
    }
}
