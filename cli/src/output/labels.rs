//! What lines say of a method, made once a method instead of once a call.

use std::borrow::Cow;

use flow_codec::format::methods::MethodInfo;
use flow_codec::read::{Method, Methods};
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
///
/// and on request of where it comes from:
///
/// | format | behind that |
/// |---|---|
/// | text | `  (Class.java:12, app)` |
/// | JSON | `,"source":"Class.java","line":12,"loaders":["app"]` |
/// | CSV | `,Class.java,12,app` |
#[derive(Debug)]
pub(crate) struct Labels<'a> {
    methods: &'a Methods,
    format: Format,
    with_origin: bool,
    /// Of methods with a name; ids without one are made anew each time, for there may be any number.
    known: MethodMap<Box<str>>,
    unknown: String,
}

impl<'a> Labels<'a> {
    /// The labels of a trace's methods in one format.
    pub(crate) fn new(methods: &'a Methods, format: Format) -> Self {
        let (known, unknown) = (MethodMap::default(), String::new());
        Self { methods, format, with_origin: false, known, unknown }
    }

    /// The same, with the source file, first line and class loaders of each method.
    pub(crate) fn with_origin(self, with_origin: bool) -> Self {
        Self { with_origin, ..self }
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
            #[serde(flatten)]
            origin: Option<Origin<'a>>,
        }
        let info = self.methods.get(id).map(|method| &method.info);
        let word = |word: fn(&MethodInfo) -> &str| info.map(word);
        let class = word(|info| &info.class);
        let name = word(|info| &info.name);
        let descriptor = word(|info| &info.descriptor);
        let origin = self.with_origin.then(|| Origin::of(self.methods.get(id)));
        match self.format {
            Format::Text => {
                let mut text = self.methods.display(id);
                text.extend(origin.and_then(|origin| origin.text()));
                neutral(&text).into_owned()
            }
            Format::Json => {
                let words = Words { method: id, class, name, descriptor, origin };
                let object = serde_json::to_string(&words).unwrap_or_default();
                let inner = object.strip_prefix('{').and_then(|object| object.strip_suffix('}'));
                inner.unwrap_or_default().to_owned()
            }
            Format::Csv => {
                let id = id.to_string();
                let words = [Some(id.as_str()), class, name, descriptor];
                let mut fields: Vec<_> =
                    words.map(|word| word.unwrap_or_default().to_owned()).into();
                if let Some(origin) = origin {
                    fields.extend(origin.fields());
                }
                csv_fields(fields.iter().map(String::as_str))
            }
        }
    }
}

/// Where a method comes from, as far as that is known.
#[derive(Serialize)]
struct Origin<'a> {
    source: Option<&'a str>,
    line: Option<u32>,
    loaders: Vec<&'a str>,
}

impl<'a> Origin<'a> {
    fn of(method: Option<&'a Method>) -> Self {
        let Some(Method { info, other_loaders, .. }) = method else {
            return Self { source: None, line: None, loaders: Vec::new() };
        };
        let loaders = [&info.loader].into_iter().chain(other_loaders);
        Self {
            source: info.source.as_deref(),
            line: info.line,
            loaders: loaders.map(String::as_str).filter(|loader| !loader.is_empty()).collect(),
        }
    }

    /// `  (Class.java:12, app)`, or nothing where nothing is known.
    fn text(&self) -> Option<String> {
        let place = match (self.source, self.line) {
            (Some(source), Some(line)) => Some(format!("{source}:{line}")),
            (Some(source), None) => Some(source.to_owned()),
            (None, line) => line.map(|line| format!("line {line}")),
        };
        let loaders = self.loaders.iter().map(|loader| (*loader).to_owned());
        let parts: Vec<_> = place.into_iter().chain(loaders).collect();
        (!parts.is_empty()).then(|| format!("  ({})", parts.join(", ")))
    }

    fn fields(&self) -> [String; 3] {
        let line = self.line.map(|line| line.to_string());
        [
            self.source.unwrap_or_default().to_owned(),
            line.unwrap_or_default(),
            self.loaders.join(" "),
        ]
    }
}

/// Fields of a CSV line, [`neutral()`], quoted where need be, and [no formulas](defused), without the line's end.
pub(crate) fn csv_fields<'a>(fields: impl IntoIterator<Item = &'a str>) -> String {
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    let fields = fields.into_iter().map(|field| defused(neutral(field)));
    // A vector takes all that is written to it.
    let _ = writer.write_record(fields.map(Cow::into_owned));
    let line = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned()
}

/// A field with an apostrophe in front if a spreadsheet would run it as a formula. Numbers keep their sign.
fn defused(field: Cow<'_, str>) -> Cow<'_, str> {
    let is_formula =
        field.len() > 1 && field.starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err();
    if is_formula { Cow::Owned(format!("'{field}")) } else { field }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_field_is_a_formula() {
        let fields = ["=1+2", "+a", "-a", "@a", "-7", "+7", "-1.5e3", "-", "", "a=b"];
        assert_eq!(csv_fields(fields), "'=1+2,'+a,'-a,'@a,-7,+7,-1.5e3,-,,a=b");
        assert_eq!(csv_fields(["=f(\"x\")"]), r#""'=f(""x"")""#);
    }

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
