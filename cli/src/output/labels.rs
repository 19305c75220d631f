//! The names of methods in each output format, rendered once per method instead of once per call.

use std::borrow::Cow;

use flow_codec::format::methods::MethodInfo;
use flow_codec::read::{Method, Methods};
use flow_codec::{MethodId, MethodMap, MethodNames, Name, NameForm};
use serde::Serialize;

use super::{Format, escaped};

/// A cache of one text for each method of a trace, rendered on first use.
#[derive(Debug)]
pub(crate) struct Memo<'a> {
    pub(crate) names: MethodNames<'a>,
    /// The texts of methods with a name.
    known: MethodMap<Box<str>>,
    /// The text of the last id without a name. These are not cached, because there may be any number of them.
    unknown: String,
}

impl<'a> Memo<'a> {
    /// Creates an empty cache for these methods.
    pub(crate) fn new(methods: &'a Methods) -> Self {
        let (known, unknown) = (MethodMap::default(), String::new());
        Self { names: MethodNames::new(methods), known, unknown }
    }

    /// Returns the text of a method, which `make` renders.
    #[inline]
    pub(crate) fn get(
        &mut self,
        id: MethodId,
        make: impl FnOnce(&MethodNames<'a>) -> String,
    ) -> &str {
        // Looked up twice: the borrow checker extends a borrow that one arm returns to the other arm.
        if self.known.get(id).is_none() {
            if self.names.methods().get(id).is_none() {
                self.unknown = make(&self.names);
                return &self.unknown;
            }
            *self.known.or_default(id) = make(&self.names).into_boxed_str();
        }
        self.known.get(id).map_or("", |text| text)
    }
}

/// The methods of a trace in one output format:
///
/// | format | label |
/// |---|---|
/// | text | `pkg.Class.name(int)`; `pkg.Class.name(I)V` if verbose |
/// | JSON | `"method":7,"class":"pkg.Class","name":"name","descriptor":"(I)V","readable":"pkg.Class.name(int)"` |
/// | CSV | `7,pkg.Class,name,(I)V,pkg.Class.name(int)` |
///
/// and on request where a method comes from:
///
/// | format | addition |
/// |---|---|
/// | text | `  (Class.java:12, app)` |
/// | JSON | `,"source":"Class.java","line":12,"loaders":["app"]` |
/// | CSV | `,Class.java,12,app` |
#[derive(Debug)]
pub(crate) struct Labels<'a> {
    format: Format,
    is_verbose: bool,
    with_origin: bool,
    with_readable: bool,
    memo: Memo<'a>,
}

impl<'a> Labels<'a> {
    /// The columns of CSV that a label without its origin has.
    pub(crate) const COLUMNS: &'static str = "method,class,name,descriptor,readable";
    /// The label of no method, as JSON and as CSV.
    pub(crate) const NOTHING: [&'static str; 2] =
        [r#""method":null,"class":null,"name":null,"descriptor":null,"readable":null"#, ",,,,"];

    /// Creates the labels of a trace's methods in one format. Text has descriptors if `is_verbose`.
    pub(crate) fn new(methods: &'a Methods, format: Format, is_verbose: bool) -> Self {
        let memo = Memo::new(methods);
        Self { format, is_verbose, with_origin: false, with_readable: true, memo }
    }

    /// The same without readable names in JSON and CSV, for output with a line per call, which is large enough.
    pub(crate) fn brief(self) -> Self {
        Self { with_readable: false, ..self }
    }

    /// The same, with the source file, first line and class loaders of each method.
    pub(crate) fn with_origin(self, with_origin: bool) -> Self {
        Self { with_origin, ..self }
    }

    /// The label of a method.
    #[inline]
    pub(crate) fn get(&mut self, id: MethodId) -> &str {
        let Self { format, is_verbose, with_origin, with_readable, memo } = self;
        memo.get(id, |names| {
            let origin = with_origin.then(|| Origin::of(names.methods().get(id)));
            match format {
                Format::Text => text(names, id, *is_verbose, origin),
                Format::Json => Fields::of(names, id, *with_readable, origin).json(),
                Format::Csv => Fields::of(names, id, *with_readable, origin).csv(),
            }
        })
    }

    /// The name of a method, not escaped: readable in text, full in JSON, CSV and verbose text.
    pub(crate) fn name(&self, id: MethodId) -> String {
        self.memo.names.get(id, self.form())
    }

    /// The short name of a method, for lists of callers in text.
    pub(crate) fn short(&self, id: MethodId) -> String {
        let form = if self.is_verbose { NameForm::Full } else { NameForm::Short };
        self.memo.names.get(id, form)
    }

    /// Returns the source file of a line of a method, if it is known, and the number of the line in that file.
    pub(crate) fn line(&self, id: MethodId, number: u32) -> Option<(Option<&'a str>, u32)> {
        Some(self.memo.names.methods().get(id)?.info.named_line(number))
    }

    /// The names of frames of which only the full name is known, in the form of [`name`](Self::name).
    pub(crate) fn frames(&self, frames: &[String]) -> Vec<String> {
        self.memo.names.frames(frames, self.form())
    }

    fn form(&self) -> NameForm {
        let is_readable = self.format == Format::Text && !self.is_verbose;
        if is_readable { NameForm::Readable } else { NameForm::Full }
    }
}

#[cold]
fn text(
    names: &MethodNames<'_>,
    id: MethodId,
    is_verbose: bool,
    origin: Option<Origin<'_>>,
) -> String {
    let form = if is_verbose { NameForm::Full } else { NameForm::Readable };
    let mut text = names.get(id, form);
    text.extend(origin.and_then(|origin| origin.text()));
    escaped(&text).into_owned()
}

/// The fields of a method in JSON and CSV.
#[derive(Serialize)]
struct Fields<'a> {
    method: MethodId,
    class: Option<&'a str>,
    name: Option<&'a str>,
    descriptor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    readable: Option<Option<String>>,
    #[serde(flatten)]
    origin: Option<Origin<'a>>,
}

impl<'a> Fields<'a> {
    #[cold]
    fn of(
        names: &MethodNames<'a>,
        method: MethodId,
        with_readable: bool,
        origin: Option<Origin<'a>>,
    ) -> Self {
        let name = names.methods().get(method).map(|method| Name::from(&method.info));
        Self {
            method,
            class: name.map(|name| name.class),
            name: name.map(|name| name.name),
            descriptor: name.map(|name| name.descriptor),
            readable: with_readable.then(|| name.map(|_| names.get(method, NameForm::Readable))),
            origin,
        }
    }

    fn json(&self) -> String {
        let object = serde_json::to_string(self).unwrap_or_default();
        let inner = object.strip_prefix('{').and_then(|object| object.strip_suffix('}'));
        inner.unwrap_or_default().to_owned()
    }

    fn csv(self) -> String {
        let names = [self.class, self.name, self.descriptor];
        let mut fields = vec![self.method.to_string()];
        fields.extend(names.map(|name| name.unwrap_or_default().to_owned()));
        fields.extend(self.readable.map(Option::unwrap_or_default));
        fields.extend(self.origin.into_iter().flat_map(|origin| origin.fields()));
        csv_fields(fields.iter().map(String::as_str))
    }
}

/// Where a method comes from, if that is known.
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

    /// `  (Class.java:12, app)`; `None` if nothing is known.
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

/// Fields of a CSV line, [escaped], quoted where necessary, and [harmless to spreadsheets](defused), without
/// the line break.
pub(crate) fn csv_fields<'a>(fields: impl IntoIterator<Item = &'a str>) -> String {
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    let fields = fields.into_iter().map(|field| defused(escaped(field)));
    // Writing to memory cannot fail.
    let _ = writer.write_record(fields.map(Cow::into_owned));
    let line = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned()
}

/// Adds an apostrophe before a field that a spreadsheet would run as a formula. Numbers stay as they are.
fn defused(field: Cow<'_, str>) -> Cow<'_, str> {
    let is_formula =
        field.len() > 1 && field.starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err();
    if is_formula { Cow::Owned(format!("'{field}")) } else { field }
}

/// Returns how a line of a method is shown beside the name of the method: as its number, with the file if that is another one.
pub(crate) fn short_line(info: &MethodInfo, number: u32) -> String {
    match info.named_line(number) {
        (Some(file), line) if info.source.as_deref() != Some(file) => format!("{file}:{line}"),
        (_, line) => line.to_string(),
    }
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
            (
                Format::Json,
                r#""method":7,"class":null,"name":null,"descriptor":null,"readable":null"#,
            ),
            (Format::Csv, "7,,,,"),
        ] {
            assert_eq!(Labels::new(&methods, format, false).get(id), label);
        }
    }
}
