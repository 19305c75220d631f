//! A tracefile of LCOV.

use std::io::{self, Write};

use flow_query::ask::{Covered, CoveredMethod};

use super::document::Count;
use crate::output::escaped;

/// Writes the lines of a test; without a name, of everything. `path` finds the source file.
pub(crate) fn lcov(
    test: &str,
    covered: &Covered,
    path: &mut dyn FnMut(&str) -> Option<String>,
    to: &mut dyn Write,
) -> io::Result<()> {
    // Names of tests have only letters, digits and underscores.
    let test = test.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    for (file, of_file) in &covered.files {
        let found = path(file);
        writeln!(to, "TN:{test}\nSF:{}", escaped(found.as_deref().unwrap_or(file)))?;
        // The format has names up to the end of the line.
        let mut methods: Vec<&CoveredMethod> = of_file.methods.iter().collect();
        methods.sort_by_key(|method| (method.first, &method.title));
        for method in &methods {
            writeln!(to, "FN:{},{}", method.first, escaped(&method.title))?;
        }
        for method in &methods {
            writeln!(to, "FNDA:{},{}", method.calls, escaped(&method.title))?;
        }
        let count = Count::of_methods(&of_file.methods);
        writeln!(to, "FNF:{}\nFNH:{}", count.all, count.reached)?;
        for (line, count) in &of_file.lines {
            writeln!(to, "DA:{line},{count}")?;
        }
        let count = Count::of(&of_file.lines);
        writeln!(to, "LF:{}\nLH:{}\nend_of_record", count.all, count.reached)?;
    }
    Ok(())
}
