//! Which lines were reached, in the formats of tools that show coverage.
//!
//! | format | written as described by |
//! |---|---|
//! | LCOV | the manual page of `geninfo`: records of lines of text |
//! | Cobertura | `coverage-04.dtd` of Cobertura |
//! | JaCoCo | `report.dtd` of JaCoCo, "Report 1.1" |
//!
//! Nothing is known of branches and of instructions, so no numbers of them are written.

mod cobertura;
mod document;
mod jacoco;
mod lcov;

use std::io::{self, Write};

use clap::ValueEnum;

pub(crate) use self::document::Document;
pub(crate) use self::lcov::lcov;

/// A format, by the tool that made it known.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CoverageFormat {
    /// Which lines were reached, for genhtml and editors
    Lcov,
    /// Which lines were reached, for GitLab, Jenkins and others
    Cobertura,
    /// Which lines were reached, for tools that read the XML reports of JaCoCo
    Jacoco,
}

/// Writes a document. `path` finds source files.
pub(crate) fn write(
    document: &Document<'_>,
    format: CoverageFormat,
    path: &mut dyn FnMut(&str) -> Option<String>,
    to: &mut dyn Write,
) -> io::Result<()> {
    match format {
        CoverageFormat::Lcov => lcov("", document.covered, path, to),
        CoverageFormat::Cobertura => cobertura::cobertura(document, to),
        CoverageFormat::Jacoco => jacoco::jacoco(document, to),
    }
}

#[cfg(test)]
mod tests {
    use flow_query::ask::{Covered, CoveredFile, CoveredMethod};

    use super::*;

    /// A file with a class whose constructor was called twice, and a method that was not called; and a line of another file.
    fn covered() -> Covered {
        let method = |name: &str, first, calls, lines: &[(u32, u64)]| CoveredMethod {
            class: "app.Cart$Line".to_owned(),
            name: name.to_owned(),
            descriptor: "()V".to_owned(),
            title: format!("app.Cart$Line.{name}()"),
            first,
            calls,
            lines: lines.iter().copied().collect(),
        };
        let cart = CoveredFile {
            lines: [(3, 2), (4, 2), (7, 0), (9, 1)].into(),
            methods: vec![
                method("<init>", 3, 2, &[(3, 2), (4, 2)]),
                method("add", 7, 0, &[(7, 0)]),
            ],
        };
        let alone = CoveredFile { lines: [(1, 0)].into(), methods: Vec::new() };
        let files = [("app/Cart.java".to_owned(), cart), ("Top.kt".to_owned(), alone)];
        Covered { files: files.into(), unplaced: 0 }
    }

    fn written(format: CoverageFormat) -> String {
        let covered = covered();
        let sources = ["src/main/java".to_owned(), "a&b".to_owned()];
        let document =
            Document { title: "\u{1}shop", started_ms: 12, sources: &sources, covered: &covered };
        let mut bytes = Vec::new();
        let mut path = |file: &str| (file == "Top.kt").then(|| "/src/Top.kt".to_owned());
        write(&document, format, &mut path, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn lcov_has_methods_and_lines_by_file() {
        let expected = "TN:\nSF:/src/Top.kt\nFNF:0\nFNH:0\nDA:1,0\nLF:1\nLH:0\nend_of_record\n\
            TN:\nSF:app/Cart.java\nFN:3,app.Cart$Line.<init>()\nFN:7,app.Cart$Line.add()\n\
            FNDA:2,app.Cart$Line.<init>()\nFNDA:0,app.Cart$Line.add()\nFNF:2\nFNH:1\n\
            DA:3,2\nDA:4,2\nDA:7,0\nDA:9,1\nLF:4\nLH:3\nend_of_record\n";
        assert_eq!(written(CoverageFormat::Lcov), expected);
        let mut bytes = Vec::new();
        lcov("a.Test.b()[1]", &covered(), &mut |_| None, &mut bytes).unwrap();
        assert!(bytes.starts_with(b"TN:a_Test_b___1_\nSF:Top.kt\n"));
    }

    #[test]
    fn cobertura_has_lines_by_method_and_class() {
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd">
<coverage line-rate="0.6000" branch-rate="0" lines-covered="3" lines-valid="5" branches-covered="0" branches-valid="0" complexity="0" version="flow" timestamp="12">
 <sources>
  <source>src/main/java</source>
  <source>a&amp;b</source>
 </sources>
 <packages>
  <package name="" line-rate="0.0000" branch-rate="0" complexity="0">
   <classes>
    <class name="Top.kt" filename="Top.kt" line-rate="0.0000" branch-rate="0" complexity="0">
     <methods/>
     <lines>
      <line number="1" hits="0" branch="false"/>
     </lines>
    </class>
   </classes>
  </package>
  <package name="app" line-rate="0.7500" branch-rate="0" complexity="0">
   <classes>
    <class name="app.Cart$Line" filename="app/Cart.java" line-rate="0.6667" branch-rate="0" complexity="0">
     <methods>
      <method name="&lt;init&gt;" signature="()V" line-rate="1.0000" branch-rate="0" complexity="0">
       <lines>
        <line number="3" hits="2" branch="false"/>
        <line number="4" hits="2" branch="false"/>
       </lines>
      </method>
      <method name="add" signature="()V" line-rate="0.0000" branch-rate="0" complexity="0">
       <lines>
        <line number="7" hits="0" branch="false"/>
       </lines>
      </method>
     </methods>
     <lines>
      <line number="3" hits="2" branch="false"/>
      <line number="4" hits="2" branch="false"/>
      <line number="7" hits="0" branch="false"/>
     </lines>
    </class>
    <class name="app.Cart.java" filename="app/Cart.java" line-rate="1.0000" branch-rate="0" complexity="0">
     <methods/>
     <lines>
      <line number="9" hits="1" branch="false"/>
     </lines>
    </class>
   </classes>
  </package>
 </packages>
</coverage>
"#;
        assert_eq!(written(CoverageFormat::Cobertura), expected);
    }

    #[test]
    fn jacoco_has_counters_of_methods_classes_and_packages() {
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE report PUBLIC "-//JACOCO//DTD Report 1.1//EN" "report.dtd">
<report name="\u{1}shop">
 <package name="">
  <sourcefile name="Top.kt">
   <line nr="1" mi="1" ci="0" mb="0" cb="0"/>
   <counter type="LINE" missed="1" covered="0"/>
  </sourcefile>
  <counter type="LINE" missed="1" covered="0"/>
 </package>
 <package name="app">
  <class name="app/Cart$Line" sourcefilename="Cart.java">
   <method name="&lt;init&gt;" desc="()V" line="3">
    <counter type="LINE" missed="0" covered="2"/>
    <counter type="METHOD" missed="0" covered="1"/>
   </method>
   <method name="add" desc="()V" line="7">
    <counter type="LINE" missed="1" covered="0"/>
    <counter type="METHOD" missed="1" covered="0"/>
   </method>
   <counter type="LINE" missed="1" covered="2"/>
   <counter type="METHOD" missed="1" covered="1"/>
   <counter type="CLASS" missed="0" covered="1"/>
  </class>
  <sourcefile name="Cart.java">
   <line nr="3" mi="0" ci="1" mb="0" cb="0"/>
   <line nr="4" mi="0" ci="1" mb="0" cb="0"/>
   <line nr="7" mi="1" ci="0" mb="0" cb="0"/>
   <line nr="9" mi="0" ci="1" mb="0" cb="0"/>
   <counter type="LINE" missed="1" covered="3"/>
   <counter type="METHOD" missed="1" covered="1"/>
   <counter type="CLASS" missed="0" covered="1"/>
  </sourcefile>
  <counter type="LINE" missed="1" covered="3"/>
  <counter type="METHOD" missed="1" covered="1"/>
  <counter type="CLASS" missed="0" covered="1"/>
 </package>
 <counter type="LINE" missed="2" covered="3"/>
 <counter type="METHOD" missed="1" covered="1"/>
 <counter type="CLASS" missed="0" covered="1"/>
</report>
"#;
        assert_eq!(written(CoverageFormat::Jacoco), expected);
    }
}
