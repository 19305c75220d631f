//! The file of the page: markup, style, scripts and data in one.

use std::hash::{BuildHasher, RandomState};

use super::data::Data;
use crate::failure::Failure;

const MARKUP: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");
/// In order: each may use what the scripts before it define.
const SCRIPTS: [&str; 13] = [
    include_str!("page/format.js"),
    include_str!("page/data.js"),
    include_str!("page/colours.js"),
    include_str!("page/chart.js"),
    include_str!("page/input.js"),
    include_str!("page/search.js"),
    include_str!("page/describe.js"),
    include_str!("page/table.js"),
    include_str!("page/threads.js"),
    include_str!("page/head.js"),
    include_str!("page/legend.js"),
    include_str!("page/link.js"),
    include_str!("page/main.js"),
];

/// Assembles the page.
pub(super) fn assemble(data: &Data<'_>) -> Result<Vec<u8>, Failure> {
    let json = serde_json::to_string(data)?;
    let nonce = nonce();
    let mut page = String::with_capacity(json.len() + json.len() / 8 + (128 << 10));
    let mut rest = MARKUP;
    while let Some((before, behind)) = rest.split_once("{{") {
        page.push_str(before);
        let Some((name, behind)) = behind.split_once("}}") else { break };
        match name {
            "nonce" => page.push_str(&nonce),
            "style" => page.push_str(STYLE),
            "script" => page.extend(SCRIPTS),
            // Without `<`, the data cannot end its element.
            "data" => page.push_str(&json.replace('<', "\\u003c")),
            _ => {}
        }
        rest = behind;
    }
    page.push_str(rest);
    Ok(page.into_bytes())
}

/// A random number that identifies our own script and style. No name in the trace can contain it.
fn nonce() -> String {
    let random = || RandomState::new().hash_one(0);
    format!("{:016x}{:016x}", random(), random())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_script_or_style_ends_its_element() {
        for text in SCRIPTS {
            assert!(!text.contains("</") && !text.contains("<!--"));
        }
        assert!(!STYLE.contains("</"));
    }

    #[test]
    fn our_code_is_small_and_loads_nothing() {
        let code = SCRIPTS.iter().map(|text| text.len()).sum::<usize>();
        assert!(code < 96 << 10, "{code}");
        for text in SCRIPTS.iter().chain([&MARKUP, &STYLE]) {
            for loads in ["http:", "https:", "//cdn", "import(", "fetch(", "url(", "innerHTML"] {
                assert!(!text.contains(loads), "{loads}");
            }
        }
    }
}
