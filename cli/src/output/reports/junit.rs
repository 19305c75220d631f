//! A report of tests in the XML of JUnit, as Jenkins, GitLab and others read it.

use std::fmt::Write;

/// A test of the report.
#[derive(Debug)]
pub(crate) struct Case<'a> {
    pub(crate) class: &'a str,
    pub(crate) name: &'a str,
    /// Why it fails.
    pub(crate) failure: Option<String>,
    /// What to know about it if it does not fail.
    pub(crate) note: Option<String>,
}

/// Returns the report of a suite with this name.
pub(crate) fn suite(name: &str, cases: &[Case<'_>]) -> String {
    let failures = cases.iter().filter(|case| case.failure.is_some()).count();
    let (name, tests) = (quoted(name), cases.len());
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "<testsuites>\n<testsuite name={name} tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\">"
    );
    for Case { class, name, failure, note } in cases {
        let _ = write!(text, "<testcase classname={} name={}", quoted(class), quoted(name));
        let _ = match (failure, note) {
            (Some(failure), _) => {
                writeln!(text, "><failure message={}/></testcase>", quoted(failure))
            }
            (None, Some(note)) => {
                writeln!(text, "><system-out>{}</system-out></testcase>", escaped(note))
            }
            (None, None) => writeln!(text, "/>"),
        };
    }
    text + "</testsuite>\n</testsuites>\n"
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

/// Text that is the same in an element and in an attribute. Characters that XML does not have are replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_every_test_and_is_well_formed() {
        let case = |name, failure: Option<&str>, note: Option<&str>| Case {
            class: "a.T<X>",
            name,
            failure: failure.map(str::to_owned),
            note: note.map(str::to_owned),
        };
        let cases = [
            case("t", None, None),
            case("\"&'\n]]>\0\u{1b}\u{ffff}ä", Some("1 < 2 & more\nlines"), None),
            case("u", None, Some("a > b")),
        ];
        let expected = "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites>
<testsuite name=\"flow.lock\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"0\">
<testcase classname=\"a.T&lt;X&gt;\" name=\"t\"/>
<testcase classname=\"a.T&lt;X&gt;\" name=\"&quot;&amp;'&#10;]]&gt;\u{fffd}\u{fffd}\u{fffd}ä\"><failure message=\"1 &lt; 2 &amp; more&#10;lines\"/></testcase>
<testcase classname=\"a.T&lt;X&gt;\" name=\"u\"><system-out>a &gt; b</system-out></testcase>
</testsuite>
</testsuites>
";
        assert_eq!(suite("flow.lock", &cases), expected);
    }
}
