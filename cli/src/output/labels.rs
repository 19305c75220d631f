//! The names of methods in each output format, rendered once per method instead of once per call.

use std::borrow::Cow;

use flow_codec::format::methods::MethodInfo;
use flow_codec::read::{Method, Methods};
use flow_codec::{MethodId, MethodMap, MethodNames, Name, NameForm};
use flow_query::rows::{Cell, MethodColumns, Raw, Row};

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
            let origin = with_origin.then(|| OriginColumns::of(names.methods().get(id)));
            if *format == Format::Text {
                return text(names, id, *is_verbose, origin);
            }
            let columns = match with_readable {
                true => fields(&MethodColumns::new(id, names), *format),
                false => fields(&BriefColumns::new(id, names), *format),
            };
            let origin = origin.map(|origin| fields(&origin, *format));
            [columns].into_iter().chain(origin).collect::<Vec<_>>().join(",")
        })
    }

    /// The name of a method, not escaped: readable in text, full in JSON, CSV and verbose text.
    pub(crate) fn name(&self, id: MethodId) -> String {
        self.memo.names.get(id, self.form())
    }

    /// The [name](Self::name) of a method in a table.
    pub(crate) fn cell(&self, id: MethodId) -> Cell<'static> {
        Cell::method(self.name(id))
    }

    /// The short name of a method, for lists of callers in text.
    pub(crate) fn short(&self, id: MethodId) -> String {
        let form = if self.is_verbose { NameForm::Full } else { NameForm::Short };
        self.memo.names.get(id, form)
    }

    /// Returns the source file of a line of a method, if it is known, and the number of the line in that file.
    pub(crate) fn line(&self, id: MethodId, number: u32) -> Option<(Option<&'a str>, u32)> {
        Some(self.memo.names.methods().get(id)?.info().named_line(number))
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
    origin: Option<OriginColumns<'_>>,
) -> String {
    let form = if is_verbose { NameForm::Full } else { NameForm::Readable };
    let mut text = names.get(id, form);
    text.extend(origin.and_then(|origin| origin.text()));
    escaped(&text).into_owned()
}

/// A row as members of an object, or as fields of a line.
fn fields(row: &impl Row, format: Format) -> String {
    if format == Format::Csv {
        return csv_row(None, row);
    }
    let object = serde_json::to_string(row).unwrap_or_default();
    object.trim_start_matches('{').trim_end_matches('}').to_owned()
}

/// A row as a line of CSV, after another field.
pub(super) fn csv_row(first: Option<&str>, row: &impl Row) -> String {
    let mut cells: Vec<_> = first.map(Cell::text).into_iter().collect();
    row.cells(&mut cells);
    let fields: Vec<_> = cells.iter().map(Cell::raw).collect();
    csv_fields(fields.iter().map(|field| &**field))
}

flow_query::rows! {
    /// A method without its readable name.
    struct BriefColumns<'a> {
        method: MethodId,
        class: Option<&'a str>,
        name: Option<&'a str>,
        /// what was called
        descriptor: Option<&'a str>,
    }

    /// Where a method comes from, if that is known.
    struct OriginColumns<'a> {
        source: Option<&'a str>,
        line: Option<u32>,
        /// its source file, its first line, and its class loaders
        loaders: Raw<Vec<&'a str>>,
    }
}

impl<'a> BriefColumns<'a> {
    fn new(method: MethodId, names: &MethodNames<'a>) -> Self {
        let name = names.methods().get(method).map(|method| Name::from(method.info()));
        let [class, word, descriptor] =
            name.map_or([None; 3], |name| [name.class, name.name, name.descriptor].map(Some));
        Self { method, class, name: word, descriptor }
    }
}

impl<'a> OriginColumns<'a> {
    fn of(method: Option<&'a Method>) -> Self {
        let Some(method) = method else {
            return Self { source: None, line: None, loaders: Raw::default() };
        };
        let info = method.info();
        let loaders = [&info.loader].into_iter().chain(method.other_loaders()).map(String::as_str);
        let loaders: Vec<_> = loaders.filter(|loader| !loader.is_empty()).collect();
        let loaders = Raw { text: loaders.join(" "), json: loaders };
        Self { source: info.source.as_deref(), line: info.line, loaders }
    }

    /// `  (Class.java:12, app)`; `None` if nothing is known.
    fn text(&self) -> Option<String> {
        let place = match (self.source, self.line) {
            (Some(source), Some(line)) => Some(format!("{source}:{line}")),
            (Some(source), None) => Some(source.to_owned()),
            (None, line) => line.map(|line| format!("line {line}")),
        };
        let loaders = self.loaders.json.iter().map(|loader| (*loader).to_owned());
        let parts: Vec<_> = place.into_iter().chain(loaders).collect();
        (!parts.is_empty()).then(|| format!("  ({})", parts.join(", ")))
    }
}

/// Fields of a CSV line, [escaped], quoted where necessary, and [harmless to spreadsheets](defused), without
/// the line break.
pub(crate) fn csv_fields<'a>(fields: impl IntoIterator<Item = &'a str>) -> String {
    let mut writer = csv::WriterBuilder::new().buffer_capacity(1 << 10).from_writer(Vec::new());
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
