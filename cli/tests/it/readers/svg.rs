//! Reads flame graphs, from the titles of their rectangles.

use quick_xml::Reader;
use quick_xml::events::Event;

/// The frames, with their widths in calls.
pub(crate) fn read(bytes: &[u8]) -> Vec<(String, u64)> {
    let text = std::str::from_utf8(bytes).unwrap();
    let mut reader = Reader::from_str(text);
    let mut frames = Vec::new();
    let mut title: Option<String> = None;
    loop {
        match reader.read_event().unwrap() {
            Event::Start(tag) if tag.name().as_ref() == b"title" => title = Some(String::new()),
            Event::Text(piece) => {
                if let Some(title) = &mut title {
                    title.push_str(&piece.decode().unwrap());
                }
            }
            Event::GeneralRef(reference) => {
                if let Some(title) = &mut title {
                    let name = reference.decode().unwrap();
                    let known = quick_xml::escape::resolve_predefined_entity(&name);
                    title.push_str(known.unwrap_or_else(|| panic!("{name}")));
                }
            }
            Event::End(tag) if tag.name().as_ref() == b"title" => {
                // `name (1,234 calls, 12.34%)`
                let title = title.take().unwrap();
                let (name, rest) = title.rsplit_once(" (").unwrap();
                let calls = rest.split_once(" calls, ").unwrap().0.replace(',', "");
                frames.push((name.to_owned(), calls.parse().unwrap()));
            }
            Event::Eof => return frames,
            _ => {}
        }
    }
}
