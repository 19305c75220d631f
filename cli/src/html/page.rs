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

const REPORT_SCRIPTS: [&str; 20] = [
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
    include_str!("page/report/parts.js"),
    include_str!("page/report/describe.js"),
    include_str!("page/report/table.js"),
    include_str!("page/report/threads.js"),
    include_str!("page/report/lists.js"),
    include_str!("page/report/merged.js"),
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
            "script" => template.scripts.iter().for_each(|script| push_code(script, &mut page)),
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

/// Appends a script without its comments and its indentation.
fn push_code(script: &str, page: &mut String) {
    for line in script.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
        page.push_str(line);
        page.push('\n');
    }
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
    fn no_text_of_a_script_spans_lines() {
        // Its lines would lose their indentation, or be taken for comments.
        for line in REPORT_SCRIPTS.iter().chain(&DIFF_SCRIPTS).flat_map(|script| script.lines()) {
            assert_eq!(line.matches('`').count() % 2, 0, "{line}");
        }
        let mut code = String::new();
        push_code("// a\nconst x = 1; // b\n\n  // c\n  x;\n", &mut code);
        assert_eq!(code, "const x = 1; // b\n\nx;\n");
    }

    #[test]
    fn our_code_is_small_and_loads_nothing() {
        for template in [REPORT, DIFF] {
            let mut code = String::new();
            template.scripts.iter().for_each(|script| push_code(script, &mut code));
            // A quarter of it unfolds calls from shapes.
            assert!(code.len() < 132 << 10, "{}", code.len());
        }
        let texts = REPORT_SCRIPTS.iter().chain(&DIFF_SCRIPTS);
        for text in texts.chain([&HEAD, &REPORT.markup, &DIFF.markup, &STYLE]) {
            for loads in ["http:", "https:", "//cdn", "import(", "fetch(", "url(", "innerHTML"] {
                assert!(!text.contains(loads), "{loads}");
            }
        }
    }

    /// A colour in OKLab, in which equal distances look about equally different, and its luminance.
    fn seen([red, green, blue]: [f64; 3]) -> ([f64; 3], f64) {
        let linear = |part: f64| match part <= 0.040_45 {
            true => part / 12.92,
            false => ((part + 0.055) / 1.055).powf(2.4),
        };
        let [r, g, b] = [red, green, blue].map(linear);
        let l = (0.412_221 * r + 0.536_333 * g + 0.051_446 * b).cbrt();
        let m = (0.211_903 * r + 0.680_700 * g + 0.107_397 * b).cbrt();
        let s = (0.088_302 * r + 0.281_719 * g + 0.629_979 * b).cbrt();
        let lab = [
            0.210_454 * l + 0.793_618 * m - 0.004_072 * s,
            1.977_998 * l - 2.428_592 * m + 0.450_594 * s,
            0.025_904 * l + 0.782_772 * m - 0.808_676 * s,
        ];
        (lab, 0.2126 * r + 0.7152 * g + 0.0722 * b)
    }

    /// The red, green and blue of a hue, a saturation and a lightness.
    fn of_tone([hue, saturation, lightness]: [f64; 3]) -> [f64; 3] {
        let (saturation, lightness) = (saturation / 100.0, lightness / 100.0);
        let reach = saturation * lightness.min(1.0 - lightness);
        [0.0, 8.0, 4.0].map(|shift| {
            let at = (shift + hue / 30.0) % 12.0;
            lightness - reach * (at - 3.0).min(9.0 - at).clamp(-1.0, 1.0)
        })
    }

    fn of_hex(hex: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0)
    }

    #[test]
    fn colours_of_packages_differ_clearly_and_text_on_them_can_be_read() {
        const COLOURS: &str = include_str!("page/report/colours.js");
        let shade = 2.0;
        assert!(COLOURS.contains("const SHADE = 2;"));
        for (scheme, text, others) in [
            ("light", "#16181c", ["#ff9bd6", "#dcdfe4", "#ffffff"]),
            ("dark", "#f1f3f5", ["#8a1f5c", "#3a3f47", "#16181c"]),
        ] {
            for colour in others.iter().take(2).chain([&text]) {
                assert!(COLOURS.contains(colour), "{colour}");
            }
            let (_, after) = COLOURS.split_once(&format!("  {scheme}: \"")).unwrap();
            let (palette, _) = after.split_once('"').unwrap();
            let tone = |tone: &str| -> [f64; 3] {
                let parts: Vec<f64> = tone.split(' ').map(|part| part.parse().unwrap()).collect();
                parts.try_into().unwrap()
            };
            let tones: Vec<[f64; 3]> = palette.split(", ").map(tone).collect();
            assert_eq!(tones.len(), 16);
            let distance = |one: [f64; 3], other: [f64; 3]| {
                let (one, other) = (seen(one).0, seen(other).0);
                one.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
            };
            let shades = |[hue, saturation, lightness]: [f64; 3]| {
                [-shade, 0.0, shade].map(|by| of_tone([hue, saturation, lightness + by]))
            };
            for (place, one) in tones.iter().enumerate() {
                for other in &tones[..place] {
                    // What is just noticed is about 0.02.
                    let between = distance(of_tone(*one), of_tone(*other));
                    let least = if place < 8 { 0.1 } else { 0.075 };
                    assert!(between > least, "{scheme} {one:?} {other:?} {between}");
                    for (a, b) in shades(*one).iter().flat_map(|a| shades(*other).map(|b| (*a, b)))
                    {
                        assert!(distance(a, b) > 0.04, "{scheme} {one:?} {other:?}");
                    }
                }
                for other in others {
                    assert!(
                        distance(of_tone(*one), of_hex(other)) > 0.09,
                        "{scheme} {one:?} {other}"
                    );
                }
                for shade in shades(*one) {
                    let [a, b] = [seen(shade).1, seen(of_hex(text)).1];
                    let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                    assert!(contrast >= 4.5, "{scheme} {one:?} {contrast}");
                }
            }
        }
    }
}
