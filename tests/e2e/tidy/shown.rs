//! What the documentation of the libraries shows: few types, and all that these mention.

use std::collections::BTreeSet;

use super::exceptions::{LIBRARIES, of_root};
use super::modules::Modules;
use super::{root, sources};

/// The most types of libraries that other programs can rely on, and have to know.
const MOST: usize = 180;

/// A type that only crates of our own use is hidden: `#[doc(hidden)]`.
#[test]
fn the_libraries_document_few_types() {
    let libraries = LIBRARIES.map(|src| (src, Modules::read(&root().join(src))));
    let of_library = |(src, modules): &(&str, Modules)| {
        let place = |(module, name): (String, &str)| format!("{src}: {module}::{name}");
        modules.shown_types().into_iter().map(place).collect::<Vec<_>>()
    };
    let shown: Vec<_> = libraries.iter().flat_map(of_library).collect();
    let count = shown.len();
    assert!(count <= MOST, "{count} types have a page:\n{}", shown.join("\n"));
}

/// Types are known by their names here: one that is hidden in a library and shown in the other counts as shown.
#[test]
fn what_the_libraries_document_mentions_no_hidden_type() {
    let libraries = LIBRARIES.map(|src| Modules::read(&root().join(src)));
    let shown: BTreeSet<&str> =
        libraries.iter().flat_map(Modules::shown_types).map(|(_, name)| name).collect();
    let all = libraries.iter().flat_map(|modules| &modules.all).flat_map(|of| &of.types);
    let hidden: BTreeSet<&str> =
        all.map(String::as_str).filter(|name| !shown.contains(name)).collect();
    let mut found = Vec::new();
    for (src, modules) in LIBRARIES.iter().zip(&libraries) {
        let owners: BTreeSet<&str> =
            modules.shown_types().into_iter().map(|(_, name)| name).collect();
        for (path, text) in sources(&root().join(src)) {
            let signatures = signatures(&text).into_iter();
            for (owner, line, signature) in signatures.filter(|of| owners.contains(&*of.0)) {
                if let Some(name) = words(&signature).find(|word| hidden.contains(word)) {
                    found.push(format!("{}:{line}: {owner} mentions {name}", of_root(&path)));
                }
            }
        }
    }
    assert!(
        found.is_empty(),
        "show these types, or hide what mentions them:\n{}",
        found.join("\n")
    );
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Returns what a formatted file has for all: public fields, variants, and the signatures of public functions and of traits, each
/// with its type and line.
fn signatures(text: &str) -> Vec<(String, usize, String)> {
    let mut found = Vec::new();
    let (mut owner, mut kind, mut is_hidden) = (String::new(), "", false);
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        if code.starts_with("//") || code.is_empty() {
            continue;
        }
        if code.starts_with('#') {
            is_hidden |= code == "#[doc(hidden)]";
            continue;
        }
        // What is inside functions and bodies of variants belongs to no signature, except fields of variants.
        let is_shown = !std::mem::take(&mut is_hidden);
        let mut whole = code.to_owned();
        let is_function = ["fn ", "const fn ", "pub fn ", "pub const fn "];
        let is_function = is_function.iter().any(|start| code.starts_with(start));
        if indent == 0 && code.starts_with("impl") || indent <= 4 && is_function {
            while !whole.ends_with(['{', ';', '}']) {
                let Some((_, next)) = lines.next() else { break };
                whole += next;
            }
        }
        if indent == 0 {
            let head = ["pub struct ", "pub enum ", "pub trait ", "impl"];
            kind = head.into_iter().find(|head| code.starts_with(head)).unwrap_or("");
            owner = named(whole.trim_start_matches(kind)).to_owned();
            if kind == "impl" && whole.contains(" for ") {
                kind = "";
            }
            continue;
        }
        let counts = match kind {
            "pub enum " => true,
            "pub trait " => indent == 4 && is_function,
            "pub struct " => indent == 4 && code.starts_with("pub "),
            "impl" => indent == 4 && is_function && code.starts_with("pub "),
            _ => false,
        };
        if counts && is_shown {
            let signature = whole.split(" {").next().unwrap_or("");
            // The name of a field, variant or function is none of a type.
            let name =
                signature.find([':', '(']).unwrap_or(if indent == 4 { signature.len() } else { 0 });
            let signature = signature[name..].to_owned();
            found.push((owner.clone(), number, signature));
        }
    }
    found
}

/// Returns the name of a type, which may follow parameters of the block that implements it.
fn named(head: &str) -> &str {
    let mut depth = 0_usize;
    let after = head.char_indices().find(|(_, c)| {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && *c != '>' && *c != ' '
    });
    words(after.map_or("", |(at, _)| &head[at..])).next().unwrap_or("")
}
