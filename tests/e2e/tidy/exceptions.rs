//! Rules with exceptions: `exceptions.txt` lists what broke them when they were made. The list only shrinks: what is new
//! fails, and so does a line of what is no longer there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::modules::Modules;
use super::{root, sources};

/// The folders of the sources that the rules hold for: those of crates, and those of the tests.
const SOURCES: [&str; 10] = [
    "agent/src",
    "options/src",
    "codec/src",
    "query/src",
    "cli/src",
    "xtask/src",
    "tests/support",
    "tests/model/src",
    "tests/e2e",
    "query/fuzz",
];

/// The crates whose modules are drawn, and whose types have different names.
const CRATES: [&str; 6] = ["agent", "options", "codec", "query", "cli", "xtask"];

/// The crates that others use as libraries.
pub(super) const LIBRARIES: [&str; 2] = ["codec/src", "query/src"];

#[test]
fn the_list_of_exceptions_only_shrinks() {
    let found: BTreeSet<String> =
        [circles(), siblings(), beginnings(), types(), mixed()].concat().into_iter().collect();
    let list = root().join("tests/e2e/tidy/exceptions.txt");
    let text = fs::read_to_string(&list).unwrap();
    let is_line = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let listed: BTreeSet<String> = text.lines().filter(is_line).map(str::to_owned).collect();
    let new: Vec<_> = found.difference(&listed).cloned().collect();
    let gone: Vec<_> = listed.difference(&found).cloned().collect();
    if std::env::var_os("FLOW_BLESS").is_some() && new.iter().all(|line| is_less(line, &gone)) {
        let comments = text.lines().take_while(|line| !is_line(line));
        let lines = comments.chain(found.iter().map(String::as_str));
        fs::write(&list, lines.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        return;
    }
    assert!(
        new.is_empty() && gone.is_empty(),
        "against the rules of {}, which has what to do:\n{}\nlisted there and gone, so remove (FLOW_BLESS=1 does):\n{}",
        list.display(),
        new.join("\n"),
        gone.join("\n"),
    );
}

/// Returns whether the list has a line of the same rule and place with a larger number or set.
fn is_less(line: &str, gone: &[String]) -> bool {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let line = words(line);
    gone.iter().map(|other| words(other)).any(|other| {
        let set = |words: &[String]| words[2..].iter().cloned().collect::<BTreeSet<_>>();
        line[..2] == other[..2]
            && match (line[2].parse::<usize>(), other[2].parse::<usize>()) {
                (Ok(now), Ok(before)) => now < before,
                _ => set(&line).is_subset(&set(&other)),
            }
    })
}

/// Parts of a module that use each other in a circle.
fn circles() -> Vec<String> {
    let of_crate = |name: &str| {
        let circles = Modules::read(&root().join(name).join("src")).circles();
        let name = name.to_owned();
        circles.into_iter().flat_map(move |(parent, circles)| {
            let place = [&*name, &*parent].join("::");
            let place = place.trim_end_matches("::").to_owned();
            circles.into_iter().map(move |parts| {
                format!("circle {place} {}", parts.into_iter().collect::<Vec<_>>().join(" "))
            })
        })
    };
    CRATES.into_iter().flat_map(of_crate).collect()
}

/// Folders with more than sixteen files and folders.
fn siblings() -> Vec<String> {
    let mut counts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, _) in SOURCES.iter().flat_map(|part| sources(&root().join(part))) {
        let path = path.strip_prefix(root()).unwrap();
        let mut child = path;
        while let Some(parent) = child.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            let name = child.file_name().unwrap().to_str().unwrap().to_owned();
            counts.entry(parent.to_str().unwrap().to_owned()).or_default().insert(name);
            child = parent;
        }
    }
    let many = counts.into_iter().filter(|(_, children)| children.len() > 16);
    many.map(|(folder, children)| format!("siblings {folder} {}", children.len())).collect()
}

/// Doc comments that are not understood without the one before.
fn beginnings() -> Vec<String> {
    let words = ["The same", "It", "Its", "That of", "Those", "Their", "These"];
    let begins = |text: &str| {
        let after = |word| {
            text.strip_prefix(word).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        };
        words.into_iter().any(after)
    };
    let mut found = Vec::new();
    for (path, text) in SOURCES.iter().flat_map(|part| sources(&root().join(part))) {
        let doc = |line: &str| {
            let line = line.trim_start();
            line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::to_owned)
        };
        let lines: Vec<_> = text.lines().map(doc).collect();
        let is_first = |at: usize| at == 0 || lines[at - 1].is_none();
        let count = (0..lines.len()).filter(|at| {
            is_first(*at) && lines[*at].as_ref().is_some_and(|text| begins(text.trim_start()))
        });
        let count = count.count();
        if count > 0 {
            found.push(format!("doc-comments {} {count}", of_root(&path)));
        }
    }
    found
}

/// Types that can be used in all of a crate, and share a name.
fn types() -> Vec<String> {
    let mut found = Vec::new();
    for name in CRATES {
        let modules = Modules::read(&root().join(name).join("src"));
        let mut places: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for module in &modules.all {
            for of_type in &module.types {
                places.entry(of_type).or_default().insert(module.path.join("::"));
            }
        }
        for (of_type, places) in places.into_iter().filter(|(_, places)| places.len() > 1) {
            let places: Vec<_> = places.into_iter().collect();
            found.push(format!("types {name}::{of_type} {}", places.join(" ")));
        }
    }
    found
}

/// Structs of libraries with public fields beside others: some of what they hold can be changed, and the rest not.
fn mixed() -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in LIBRARIES.iter().flat_map(|part| sources(&root().join(part))) {
        let structs = text.split("\npub struct ").skip(1).filter_map(|text| {
            let (name, rest) = text.split_once(" {\n").filter(|(name, _)| !name.contains('\n'))?;
            Some((name.split('<').next()?, rest.split("\n}").next()?))
        });
        for (name, fields) in structs {
            let fields: Vec<_> = fields
                .lines()
                .filter_map(|line| line.strip_prefix("    "))
                .filter(|line| !line.starts_with([' ', '/', '#', ')']))
                .map(|line| line.starts_with("pub "))
                .collect();
            if fields.contains(&true) && fields.contains(&false) {
                found.push(format!("fields {} {name}", of_root(&path)));
            }
        }
    }
    found
}

pub(super) fn of_root(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned()
}
