//! Code that tests reach: a method, or a line of a source file.

use flow_codec::format::methods::MethodInfo;
use flow_codec::read::Trace;

use super::pattern::{methods_of, nearest};
use crate::Error;

/// Returns patterns for the methods that a person means: a pattern for methods, or `Orders.java:12` for the method that has
/// this line. A line belongs to the method of the file that begins last at or before it.
///
/// # Errors
/// No method matches, no method of the file begins at or before the line, or no file has this name.
pub fn methods_at<'a>(
    place: &str,
    traces: impl IntoIterator<Item = &'a Trace> + Clone,
) -> Result<Vec<String>, Error> {
    let all = || traces.clone().into_iter().map(|trace| trace.methods());
    let line = place.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    let Some((file, line)) = line.filter(|(file, _)| !file.is_empty()) else {
        return Ok(vec![methods_of(place, all)?.text().to_owned()]);
    };
    let methods = all().flat_map(|methods| methods.iter()).map(|(_, method)| method.info());
    of_line(file, line, &methods.collect::<Vec<_>>())
}

fn of_line(file: &str, line: u32, all: &[&MethodInfo]) -> Result<Vec<String>, Error> {
    // `com/app/Orders.java`, below the folder of sources, or the name alone.
    let is_in_file = |class: &str, source: &str| {
        let package = class.rsplit_once('.').map_or("", |(package, _)| package);
        let path = format!("{}/{source}", package.replace('.', "/"));
        let path = path.trim_start_matches('/');
        file == source
            || path.ends_with(&format!("/{file}"))
            || file.ends_with(&format!("/{path}"))
            || file == path
    };
    let of_file = all.iter().filter_map(|info| Some((info, info.source.as_deref()?, info.line?)));
    let of_file: Vec<_> =
        of_file.filter(|(info, source, _)| is_in_file(&info.class, source)).collect();
    if of_file.is_empty() {
        let files = all.iter().filter_map(|info| info.source.clone());
        let nearest = nearest(file, files);
        return Err(Error::NoMethod { pattern: format!("{file}:{line}"), nearest });
    }
    let begins = of_file.iter().map(|(.., begins)| *begins).filter(|begins| *begins <= line).max();
    let Some(begins) = begins else {
        let first = of_file.iter().min_by_key(|(.., begins)| *begins);
        let nearest = first.map(|(_, source, begins)| format!("{source}:{begins}"));
        let pattern = format!("{file}:{line}");
        return Err(Error::NoMethod { pattern, nearest: nearest.into_iter().collect() });
    };
    let here = of_file.iter().filter(|(.., other)| *other == begins);
    let mut patterns: Vec<_> =
        here.map(|(info, ..)| format!("{}#{}", info.class, info.name)).collect();
    patterns.sort_unstable();
    patterns.dedup();
    Ok(patterns)
}
