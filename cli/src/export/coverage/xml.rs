//! Elements of XML.

use std::io::{self, Write};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use crate::output::escaped;

/// Writes a document: the declaration, the line with its type, and an element.
pub(super) fn document(
    doctype: &str,
    to: &mut dyn Write,
    root: impl FnOnce(&mut Xml<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut writer = Writer::new_with_indent(to, b' ', 1);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer.write_event(Event::DocType(BytesText::from_escaped(doctype)))?;
    root(&mut writer)?;
    writeln!(writer.get_mut())
}

/// What elements are written to.
pub(super) type Xml<'a> = Writer<&'a mut dyn Write>;

/// An element with others in it.
pub(super) fn element<'a>(
    to: &mut Xml<'a>,
    name: &str,
    attributes: &[(&str, &str)],
    content: impl FnOnce(&mut Xml<'a>) -> io::Result<()>,
) -> io::Result<()> {
    let element = to.create_element(name).with_attributes(shown(attributes));
    element.write_inner_content(content).map(drop)
}

/// An element without others.
pub(super) fn leaf(to: &mut Xml<'_>, name: &str, attributes: &[(&str, &str)]) -> io::Result<()> {
    to.create_element(name).with_attributes(shown(attributes)).write_empty().map(drop)
}

/// Attributes without the characters that XML has no form for.
fn shown<'a>(attributes: &'a [(&str, &str)]) -> Vec<(&'a str, std::borrow::Cow<'a, str>)> {
    attributes.iter().map(|(name, value)| (*name, escaped(value))).collect()
}

/// An element with text.
pub(super) fn text(to: &mut Xml<'_>, name: &str, text: &str) -> io::Result<()> {
    to.create_element(name).write_text_content(BytesText::new(&escaped(text))).map(drop)
}
