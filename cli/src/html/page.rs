//! The file of the page: markup, style, scripts and data in one.

use std::hash::{BuildHasher, RandomState};

use serde::Serialize;

use crate::failure::Failure;

/// The head of each page.
const HEAD: &str = include_str!("page/shared/head.html");
const STYLE: &str = include_str!("page/shared/style.css");

/// What pages of one kind consist of.
pub(super) struct Template {
    title: &'static str,
    markup: &'static str,
    /// In order: each may use what the scripts before it define.
    scripts: &'static [&'static str],
}

/// The page of a trace.
pub(super) const REPORT: Template = Template {
    title: "flow",
    markup: include_str!("page/report/page.html"),
    scripts: &REPORT_SCRIPTS,
};
/// The page of two runs that are compared.
pub(super) const DIFF: Template = Template {
    title: "flow diff",
    markup: include_str!("page/diff/diff.html"),
    scripts: &DIFF_SCRIPTS,
};

const REPORT_SCRIPTS: [&str; 18] = [
    include_str!("page/shared/format.js"),
    include_str!("page/shared/methods.js"),
    include_str!("page/report/data.js"),
    include_str!("page/report/colours.js"),
    include_str!("page/report/chart.js"),
    include_str!("page/report/input.js"),
    include_str!("page/shared/search.js"),
    include_str!("page/shared/shapes.js"),
    include_str!("page/shared/tree.js"),
    include_str!("page/report/calls.js"),
    include_str!("page/report/describe.js"),
    include_str!("page/report/table.js"),
    include_str!("page/report/threads.js"),
    include_str!("page/report/lists.js"),
    include_str!("page/report/head.js"),
    include_str!("page/report/legend.js"),
    include_str!("page/shared/link.js"),
    include_str!("page/report/main.js"),
];

const DIFF_SCRIPTS: [&str; 8] = [
    include_str!("page/shared/format.js"),
    include_str!("page/shared/methods.js"),
    include_str!("page/shared/search.js"),
    include_str!("page/shared/shapes.js"),
    include_str!("page/shared/tree.js"),
    include_str!("page/shared/link.js"),
    include_str!("page/diff/difference.js"),
    include_str!("page/diff/diff.js"),
];

/// Assembles a page of this data, and of shapes as text.
pub(super) fn assemble(
    template: &Template,
    data: &impl Serialize,
    shapes: &str,
) -> Result<Vec<u8>, Failure> {
    let json = serde_json::to_string(data)?;
    let nonce = nonce();
    let mut page = String::with_capacity(json.len() + json.len() / 8 + shapes.len() + (160 << 10));
    let markup = template.markup.replacen("{{head}}", HEAD, 1);
    let mut rest = &*markup;
    while let Some((before, behind)) = rest.split_once("{{") {
        page.push_str(before);
        let Some((name, behind)) = behind.split_once("}}") else { break };
        match name {
            "title" => page.push_str(template.title),
            "nonce" => page.push_str(&nonce),
            "style" => page.push_str(STYLE),
            "script" => page.extend(template.scripts.iter().copied()),
            // Without `<`, the data cannot end its element.
            "data" => page.push_str(&json.replace('<', "\\u003c")),
            "shapes" => page.push_str(shapes),
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
        for text in REPORT_SCRIPTS.iter().chain(&DIFF_SCRIPTS) {
            assert!(!text.contains("</") && !text.contains("<!--"));
        }
        assert!(!STYLE.contains("</"));
    }

    #[test]
    fn our_code_is_small_and_loads_nothing() {
        for template in [REPORT, DIFF] {
            let code = template.scripts.iter().map(|text| text.len()).sum::<usize>();
            // A quarter of it unfolds calls from shapes.
            assert!(code < 128 << 10, "{code}");
        }
        let texts = REPORT_SCRIPTS.iter().chain(&DIFF_SCRIPTS);
        for text in texts.chain([&HEAD, &REPORT.markup, &DIFF.markup, &STYLE]) {
            for loads in ["http:", "https:", "//cdn", "import(", "fetch(", "url(", "innerHTML"] {
                assert!(!text.contains(loads), "{loads}");
            }
        }
    }
}
