//! An XML report of Cobertura.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::document::{Count, Document, classes, lines_of};
use crate::output::xml::{Xml, document, element, leaf, text};

const DOCTYPE: &str = "coverage SYSTEM \"http://cobertura.sourceforge.net/xml/coverage-04.dtd\"";

impl Count {
    /// The part that was reached; of nothing, all.
    fn rate(self) -> String {
        match self.all {
            0 => "1".to_owned(),
            all => format!("{:.4}", self.reached as f64 / all as f64),
        }
    }
}

/// Writes the report.
pub(super) fn cobertura(what: &Document<'_>, to: &mut dyn Write) -> io::Result<()> {
    let all = Count::of_all(what.covered.files.values().map(|file| Count::of(&file.lines)));
    let (reached, valid) = (all.reached.to_string(), all.all.to_string());
    let started = what.started_ms.to_string();
    let attributes = [
        ("line-rate", &*all.rate()),
        ("branch-rate", "0"),
        ("lines-covered", &reached),
        ("lines-valid", &valid),
        ("branches-covered", "0"),
        ("branches-valid", "0"),
        ("complexity", "0"),
        ("version", "flow"),
        ("timestamp", &started),
    ];
    document(Some(DOCTYPE), to, |to| {
        element(to, "coverage", &attributes, |to| {
            element(to, "sources", &[], |to| {
                what.sources.iter().try_for_each(|source| text(to, "source", source))
            })?;
            element(to, "packages", &[], |to| packages(what, to))
        })
    })
}

fn packages(what: &Document<'_>, to: &mut Xml<'_>) -> io::Result<()> {
    for (package, files) in what.packages() {
        let count = Count::of_all(files.iter().map(|(_, file)| Count::of(&file.lines)));
        let name = package.replace('/', ".");
        element(to, "package", &rates(&[("name", &name)], &count.rate()), |to| {
            element(to, "classes", &[], |to| {
                for (path, file) in &files {
                    // Lines that code of other files was copied to are in no class.
                    let mut left = file.lines.clone();
                    for (class, methods) in classes(file) {
                        let lines = lines_of(methods);
                        left.retain(|line, _| !lines.contains_key(line));
                        let names = [("name", class), ("filename", *path)];
                        element(to, "class", &rates(&names, &Count::of(&lines).rate()), |to| {
                            element(to, "methods", &[], |to| {
                                methods.iter().try_for_each(|method| {
                                    let names = [
                                        ("name", &*method.name),
                                        ("signature", &method.descriptor),
                                    ];
                                    let rate = Count::of(&method.lines).rate();
                                    element(to, "method", &rates(&names, &rate), |to| {
                                        lines_element(to, &method.lines)
                                    })
                                })
                            })?;
                            lines_element(to, &lines)
                        })?;
                    }
                    if !left.is_empty() {
                        let class = path.replace('/', ".");
                        let names = [("name", &*class), ("filename", *path)];
                        element(to, "class", &rates(&names, &Count::of(&left).rate()), |to| {
                            leaf(to, "methods", &[])?;
                            lines_element(to, &left)
                        })?;
                    }
                }
                Ok(())
            })
        })?;
    }
    Ok(())
}

/// Attributes, and those that all elements have.
fn rates<'a>(names: &[(&'a str, &'a str)], rate: &'a str) -> Vec<(&'a str, &'a str)> {
    let rates = [("line-rate", rate), ("branch-rate", "0"), ("complexity", "0")];
    names.iter().copied().chain(rates).collect()
}

fn lines_element(to: &mut Xml<'_>, lines: &BTreeMap<u32, u64>) -> io::Result<()> {
    element(to, "lines", &[], |to| {
        lines.iter().try_for_each(|(line, count)| {
            let (line, count) = (line.to_string(), count.to_string());
            leaf(to, "line", &[("number", &line), ("hits", &count), ("branch", "false")])
        })
    })
}
