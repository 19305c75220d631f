//! Patterns for methods: each must match at least one, because a misspelt pattern would look like a method that is never called.

use std::collections::BTreeSet;

use flow_codec::read::{Methods, Trace};
use flow_codec::{Glob, Name};

use crate::Error;

/// Parses patterns. Each must match at least one method of one of the traces: a misspelt pattern would look like a
/// method that is never called.
///
/// # Errors
/// A pattern matches no method.
pub fn globs<'a>(
    patterns: &[String],
    traces: impl IntoIterator<Item = &'a Trace> + Clone,
) -> Result<Vec<Glob>, Error> {
    let glob = |pattern: &String| {
        let glob = Glob::new(pattern);
        check(&glob, traces.clone()).map(|()| glob)
    };
    patterns.iter().map(glob).collect()
}

/// Parses patterns that name methods alone. The name of a method without its class, which may have `*` in it, is a pattern for
/// that method, if it is the only one of such a name.
///
/// # Errors
/// A pattern matches no method, or is a name that methods of several classes have.
pub fn methods<'a>(
    patterns: &[String],
    traces: impl IntoIterator<Item = &'a Trace> + Clone,
) -> Result<Vec<Glob>, Error> {
    let glob = |pattern: &String| {
        let glob = Glob::new(pattern);
        let all = || traces.clone().into_iter().map(|trace| trace.methods());
        check(&glob, traces.clone())
            .map(|()| glob)
            .or_else(|error| only_of_name(pattern, all()).unwrap_or(Err(error)))
    };
    patterns.iter().map(glob).collect()
}

/// Parses a pattern that names some of these methods, or the only one of a name.
///
/// # Errors
/// The pattern matches no method, or is a name that methods of several classes have.
pub fn methods_of<'a, I: Iterator<Item = &'a Methods>>(
    pattern: &str,
    all: impl Fn() -> I,
) -> Result<Glob, Error> {
    let glob = Glob::new(pattern);
    let mut methods = all().flat_map(|methods| methods.iter());
    if methods.any(|(_, method)| glob.matches_name((method.info()).into())) {
        return Ok(glob);
    }
    only_of_name(pattern, all()).unwrap_or_else(|| Err(unmatched(&glob, all())))
}

/// The pattern for the only method of a name, or a failure that lists all of them; `None` if there is none.
fn only_of_name<'a>(
    name: &str,
    methods: impl Iterator<Item = &'a Methods>,
) -> Option<Result<Glob, Error>> {
    if name.contains(['.', '#', '(']) {
        return None;
    }
    let glob = Glob::new(&format!("**#{name}"));
    let all = methods.flat_map(|methods| methods.iter()).map(|(_, method)| method.info());
    let of_name = all.filter(|method| glob.matches_name((*method).into()));
    let patterns: BTreeSet<_> =
        of_name.map(|method| format!("{}#{}", method.class, method.name)).collect();
    if patterns.len() < 2 {
        return patterns.first().map(|pattern| Ok(Glob::new(pattern)));
    }
    Some(Err(Error::SeveralMethods {
        name: name.to_owned(),
        patterns: patterns.into_iter().collect(),
    }))
}

/// Checks that a pattern matches at least one method of one of the traces.
///
/// # Errors
/// The pattern matches no method.
pub fn check<'a>(
    glob: &Glob,
    traces: impl IntoIterator<Item = &'a Trace> + Clone,
) -> Result<(), Error> {
    // Ids without a name are methods of no class.
    let is_nameless = glob.matches("", "") || glob.nameless_id().is_some();
    if is_nameless || traces.clone().into_iter().any(|trace| is_in(trace, glob)) {
        return Ok(());
    }
    Err(unmatched(glob, traces.into_iter().map(|trace| trace.methods())))
}

/// The failure if a pattern matches none of these methods, with the nearest names.
pub fn unmatched<'a>(glob: &Glob, methods: impl Iterator<Item = &'a Methods>) -> Error {
    let methods = methods.flat_map(|methods| methods.iter());
    let names =
        methods.map(|(_, method)| format!("{}#{}", method.info().class, method.info().name));
    let nearest = nearest(glob.text(), names);
    Error::NoMethod { pattern: glob.text().to_owned(), nearest }
}

/// The most names to propose.
const PROPOSED: usize = 3;
/// Names that are less similar, from 0 to 1, are not proposed.
const LEAST_SIMILARITY: f64 = 0.85;

/// Returns the names that are most similar to a text, the most similar first. Each is compared whole and from the start
/// of each of its parts, so that packages may be missing.
pub fn nearest(text: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    let plain = |text: &str| text.replace('#', ".").to_lowercase();
    let wanted = plain(text.trim_matches('*'));
    let similarity = |name: &str| {
        let name = plain(name);
        let starts = name.match_indices(['.', '$']).map(|(at, _)| at + 1);
        let ends = [0].into_iter().chain(starts).filter_map(|start| name.get(start..));
        // A class is compared without its method, too.
        let parts =
            ends.flat_map(|end| [end, end.rsplit_once('.').map_or(end, |(class, _)| class)]);
        parts.map(|part| strsim::jaro_winkler(part, &wanted)).fold(0.0, f64::max)
    };
    let mut found: Vec<(f64, String)> = Vec::new();
    for name in names {
        let similarity = similarity(&name);
        let is_known = found.iter().any(|(_, other)| *other == name);
        if similarity < LEAST_SIMILARITY || is_known {
            continue;
        }
        let at = found.partition_point(|(other, _)| *other >= similarity);
        found.insert(at, (similarity, name));
        found.truncate(PROPOSED);
    }
    found.into_iter().map(|(_, name)| name).collect()
}

/// Returns whether a pattern matches a method of a trace.
#[must_use]
pub fn is_in(trace: &Trace, glob: &Glob) -> bool {
    let mut methods = trace.methods().iter();
    // Of frames that were entered before recording, only the names are known.
    let open = trace.threads().iter().flat_map(|(_, thread)| &thread.open.frames);
    methods.any(|(_, method)| glob.matches_name(Name::from(method.info())))
        || open.map(|frame| Name::parse(frame)).any(|name| glob.matches_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_are_proposed() {
        let names =
            ["demo.Orders#order", "demo.Orders#total", "demo.Cart#add", "java.util.List#of"];
        let proposed = |text| nearest(text, names.iter().map(|name| (*name).to_owned()));
        assert_eq!(proposed("demo.Orders#oder").first().unwrap(), "demo.Orders#order");
        assert_eq!(proposed("Ordes.total").first().unwrap(), "demo.Orders#total");
        assert_eq!(proposed("Crat"), ["demo.Cart#add"]);
        assert_eq!(proposed("order").first().unwrap(), "demo.Orders#order");
        assert!(proposed("**.Quux").is_empty());
    }
}
