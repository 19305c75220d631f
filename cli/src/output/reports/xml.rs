//! Elements of XML.

use std::borrow::Cow;
use std::io::{self, Write};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::super::escaped;

/// Writes a document: the declaration, the line with its type if it has one, and an element.
pub(crate) fn document(
    doctype: Option<&str>,
    to: &mut dyn Write,
    root: impl FnOnce(&mut Xml<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut writer = Writer::new_with_indent(to, b' ', 1);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    if let Some(doctype) = doctype {
        writer.write_event(Event::DocType(BytesText::from_escaped(doctype)))?;
    }
    root(&mut writer)?;
    writeln!(writer.get_mut())
}

/// What elements are written to.
pub(crate) type Xml<'a> = Writer<&'a mut dyn Write>;

/// An element with others in it.
pub(crate) fn element<'a>(
    to: &mut Xml<'a>,
    name: &str,
    attributes: &[(&str, &str)],
    content: impl FnOnce(&mut Xml<'a>) -> io::Result<()>,
) -> io::Result<()> {
    let element = to.create_element(name).with_attributes(shown(attributes));
    element.write_inner_content(content).map(drop)
}

/// An element without others.
pub(crate) fn leaf(to: &mut Xml<'_>, name: &str, attributes: &[(&str, &str)]) -> io::Result<()> {
    to.create_element(name).with_attributes(shown(attributes)).write_empty().map(drop)
}

/// Text without the characters that XML has no form for.
fn valid(text: &str) -> Cow<'_, str> {
    const NONE: [char; 2] = ['\u{fffe}', '\u{ffff}'];
    let text = escaped(text);
    match text.contains(NONE) {
        true => text.replace(NONE, "\u{fffd}").into(),
        false => text,
    }
}

/// Attributes without the characters that XML has no form for.
fn shown<'a>(attributes: &'a [(&str, &str)]) -> Vec<(&'a str, Cow<'a, str>)> {
    attributes.iter().map(|(name, value)| (*name, valid(value))).collect()
}

/// An element with text.
pub(crate) fn text(to: &mut Xml<'_>, name: &str, text: &str) -> io::Result<()> {
    to.create_element(name).write_text_content(BytesText::new(&valid(text))).map(drop)
}
