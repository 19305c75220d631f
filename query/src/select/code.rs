//! Code that tests reach: a method, or a line of a source file.

use std::cmp::Reverse;

use flow_codec::format::methods::MethodInfo;
use flow_codec::read::Trace;

use super::pattern::{methods_of, nearest};
use crate::Error;

/// Returns patterns for the methods that a person means: a pattern for methods, or `Orders.java:12` for the method that has
/// this line. A line belongs to the method of the file that begins last at or before it; after code inside of a method, such as a
/// lambda expression, also to the method around that.
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
        if nearest.is_empty() {
            return Err(Error::Text(format!("no recorded method is in a source file '{file}'")));
        }
        return Err(Error::NoMethod { pattern: format!("{file}:{line}"), nearest });
    }
    let mut before: Vec<_> = of_file.iter().filter(|(.., begins)| *begins <= line).collect();
    before.sort_unstable_by_key(|(.., begins)| Reverse(*begins));
    if before.is_empty() {
        let first = of_file.iter().min_by_key(|(.., begins)| *begins);
        let nearest = first.map(|(_, source, begins)| format!("{source}:{begins}"));
        let pattern = format!("{file}:{line}");
        return Err(Error::NoMethod { pattern, nearest: nearest.into_iter().collect() });
    }
    let mut patterns = Vec::new();
    for here in before.chunk_by(|(.., one), (.., other)| one == other) {
        patterns.extend(here.iter().map(|(info, ..)| format!("{}#{}", info.class, info.name)));
        // Where such code ends is not known: the line may be after it.
        if !here.iter().all(|(info, ..)| is_inside_method(info)) {
            break;
        }
    }
    patterns.sort_unstable();
    patterns.dedup();
    Ok(patterns)
}

/// Returns whether the code of a method is inside of another method: of a lambda expression, of a local or anonymous class, or of a
/// class that the compiler made, such as that of a `switch`.
fn is_inside_method(info: &MethodInfo) -> bool {
    let is_numbered = |part: &str| part.starts_with(|first: char| first.is_ascii_digit());
    info.name.starts_with("lambda$") || info.class.split('$').skip(1).any(is_numbered)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_line_after_code_inside_of_a_method_may_be_of_that_method() {
        let dir = tempfile::tempdir().unwrap();
        let methods = [
            ("a.B", "switches", 7),
            ("a.B$1", "<clinit>", 7),
            ("a.B", "after", 17),
            ("a.B", "lists", 20),
            ("a.B", "lambda$lists$0", 21),
            ("a.B$2", "compare", 24),
            ("a.B$Inner", "last", 40),
        ];
        let row = |(id, (class, name, line)): (usize, &(&str, &str, u32))| {
            format!(
                r#"{{"id":{id},"class":"{class}","name":"{name}","descriptor":"()V","source":"B.java","line":{line}}}"#
            ) + "\n"
        };
        let rows: String = methods.iter().enumerate().map(row).collect();
        fs::write(dir.path().join("methods.jsonl"), rows).unwrap();
        fs::write(dir.path().join("thread-1.flow"), [0x80, 0x00]).unwrap();
        let trace = Trace::open(dir.path()).unwrap();
        let at = |line: u32| methods_at(&format!("B.java:{line}"), [&trace]).unwrap();
        assert_eq!(at(9), ["a.B#switches", "a.B$1#<clinit>"]);
        assert_eq!(at(17), ["a.B#after"]);
        assert_eq!(at(20), ["a.B#lists"]);
        assert_eq!(at(22), ["a.B#lambda$lists$0", "a.B#lists"]);
        assert_eq!(at(39), ["a.B#lambda$lists$0", "a.B#lists", "a.B$2#compare"]);
        assert_eq!(at(41), ["a.B$Inner#last"]);
        assert!(methods_at("B.java:6", [&trace]).is_err());
        let other = methods_at("Unlike.kt:3", [&trace]).unwrap_err();
        assert_eq!(other.to_string(), "no recorded method is in a source file 'Unlike.kt'");
    }
}
