//! A report of tests in the XML of JUnit, as Jenkins, GitLab and others read it.

use std::io::{self, Write};

use super::xml::{Xml, document, element, leaf, text};

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

/// Writes the report of a suite with this name.
pub(crate) fn suite(name: &str, cases: &[Case<'_>], to: &mut dyn Write) -> io::Result<()> {
    let failures = cases.iter().filter(|case| case.failure.is_some()).count();
    let [tests, failures] = [cases.len(), failures].map(|count| count.to_string());
    let suite = [
        ("name", name),
        ("tests", &tests),
        ("failures", &failures),
        ("errors", "0"),
        ("skipped", "0"),
    ];
    document(None, to, |to| {
        element(to, "testsuites", &[], |to| {
            element(to, "testsuite", &suite, |to| cases.iter().try_for_each(|of| case(of, to)))
        })
    })
}

fn case(Case { class, name, failure, note }: &Case<'_>, to: &mut Xml<'_>) -> io::Result<()> {
    let attributes = [("classname", *class), ("name", *name)];
    match (failure, note) {
        (Some(failure), _) => {
            element(to, "testcase", &attributes, |to| leaf(to, "failure", &[("message", failure)]))
        }
        (None, Some(note)) => {
            element(to, "testcase", &attributes, |to| text(to, "system-out", note))
        }
        (None, None) => leaf(to, "testcase", &attributes),
    }
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
            case("\"&'\n]]>\0\u{1b}\u{ffff}ä", Some("1 < 2 & more"), None),
            case("u", None, Some("a > b")),
        ];
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
 <testsuite name="flow.lock" tests="3" failures="1" errors="0" skipped="0">
  <testcase classname="a.T&lt;X&gt;" name="t"/>
  <testcase classname="a.T&lt;X&gt;" name="&quot;&amp;&apos;\u{a}]]&gt;\u{0}\u{1b}�ä">
   <failure message="1 &lt; 2 &amp; more"/>
  </testcase>
  <testcase classname="a.T&lt;X&gt;" name="u">
   <system-out>a &gt; b</system-out>
  </testcase>
 </testsuite>
</testsuites>
"#;
        let mut written = Vec::new();
        suite("flow.lock", &cases, &mut written).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }
}
