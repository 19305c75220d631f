//! An XML report of JaCoCo.

use std::io::{self, Write};

use flow_query::ask::{CoveredFile, CoveredMethod};

use super::document::{Count, Document, classes, lines_of};
use crate::output::xml::{Xml, document, element, leaf};

const DOCTYPE: &str = "report PUBLIC \"-//JACOCO//DTD Report 1.1//EN\" \"report.dtd\"";

/// How many lines, methods and classes there are and were reached.
#[derive(Clone, Copy, Default)]
struct Counts {
    lines: Count,
    methods: Count,
    classes: Count,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.lines.add(other.lines);
        self.methods.add(other.methods);
        self.classes.add(other.classes);
    }

    /// Of a class. Lines are those of its file.
    fn of_class(methods: &[CoveredMethod]) -> Self {
        let of_methods = Count::of_methods(methods);
        Self {
            lines: Count::of(&lines_of(methods)),
            methods: of_methods,
            classes: Count { reached: usize::from(of_methods.reached > 0), all: 1 },
        }
    }

    fn of_file(file: &CoveredFile) -> Self {
        let mut sum = Self::default();
        classes(file).for_each(|(_, methods)| sum.add(Self::of_class(methods)));
        Self { lines: Count::of(&file.lines), ..sum }
    }

    fn write(&self, to: &mut Xml<'_>) -> io::Result<()> {
        counter(to, "LINE", self.lines)?;
        counter(to, "METHOD", self.methods)?;
        counter(to, "CLASS", self.classes)
    }
}

fn counter(to: &mut Xml<'_>, kind: &str, count: Count) -> io::Result<()> {
    if count.all == 0 {
        return Ok(());
    }
    let (missed, covered) = ((count.all - count.reached).to_string(), count.reached.to_string());
    leaf(to, "counter", &[("type", kind), ("missed", &missed), ("covered", &covered)])
}

/// Writes the report.
pub(super) fn jacoco(what: &Document<'_>, to: &mut dyn Write) -> io::Result<()> {
    document(Some(DOCTYPE), to, |to| {
        element(to, "report", &[("name", what.title)], |to| {
            let mut all = Counts::default();
            for (name, files) in what.packages() {
                let mut of_package = Counts::default();
                files.iter().for_each(|(_, file)| of_package.add(Counts::of_file(file)));
                all.add(of_package);
                element(to, "package", &[("name", name)], |to| {
                    files.iter().try_for_each(|(path, file)| classes_of(to, path, file))?;
                    files.iter().try_for_each(|(path, file)| source_file(to, path, file))?;
                    of_package.write(to)
                })?;
            }
            all.write(to)
        })
    })
}

/// The name of a file without its folder.
fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn classes_of(to: &mut Xml<'_>, path: &str, file: &CoveredFile) -> io::Result<()> {
    for (class, methods) in classes(file) {
        let class = class.replace('.', "/");
        let attributes = [("name", &*class), ("sourcefilename", name(path))];
        element(to, "class", &attributes, |to| {
            for method in methods {
                let first = method.first.to_string();
                let attributes =
                    [("name", &*method.name), ("desc", &method.descriptor), ("line", &first)];
                element(to, "method", &attributes, |to| {
                    counter(to, "LINE", Count::of(&method.lines))?;
                    let reached = usize::from(method.calls > 0);
                    counter(to, "METHOD", Count { reached, all: 1 })
                })?;
            }
            Counts::of_class(methods).write(to)
        })?;
    }
    Ok(())
}

/// The lines of a file, each as if it had one instruction.
fn source_file(to: &mut Xml<'_>, path: &str, file: &CoveredFile) -> io::Result<()> {
    element(to, "sourcefile", &[("name", name(path))], |to| {
        for (line, count) in &file.lines {
            let line = line.to_string();
            let (missed, covered) = if *count > 0 { ("0", "1") } else { ("1", "0") };
            let attributes =
                [("nr", &*line), ("mi", missed), ("ci", covered), ("mb", "0"), ("cb", "0")];
            leaf(to, "line", &attributes)?;
        }
        Counts::of_file(file).write(to)
    })
}
