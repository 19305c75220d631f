//! House rules that no compiler checks.

mod exceptions;
mod modules;
mod shown;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use modules::Modules;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn sources(dir: &Path) -> Vec<(PathBuf, String)> {
    files(dir, &["rs"])
}

/// The files with these extensions, without what tools generate.
fn files(dir: &Path, extensions: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if !name.starts_with('.') && !["target", "learned", "artifacts"].contains(&name) {
                found.extend(files(&path, extensions));
            }
        } else if path.extension().is_some_and(|of| extensions.iter().any(|other| of == *other)) {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found
}

#[test]
fn the_library_exports_the_entry_points_and_nothing_else() {
    let nm = Command::new("nm")
        .args(["-D", "--defined-only", "--format=posix"])
        .arg(flow_e2e::library())
        .output()
        .expect("nm comes with the C compiler");
    let text = String::from_utf8(nm.stdout).unwrap();
    let mut symbols: Vec<_> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    symbols.sort_unstable();
    let expected = ["Agent_OnAttach", "Agent_OnLoad", "Agent_OnUnload", "flow_agent_recording"];
    assert_eq!(symbols, expected);
}

#[test]
fn only_two_rooms_lift_the_ban_on_unsafe_code() {
    let root = root();
    let rooms = ["agent/src/sys", "agent/src/jvm"].map(|room| root.join(room));
    for part in [
        "agent/src",
        "options/src",
        "codec/src",
        "query/src",
        "cli/src",
        "tests/support",
        "tests/model",
    ] {
        for (path, text) in sources(&root.join(part)) {
            let names_lint = |line: &str| line.contains("unsafe_code") && !line.contains("forbid");
            let is_in_room = rooms.iter().any(|room| path.starts_with(room));
            assert!(is_in_room || !text.lines().any(names_lint), "{}", path.display());
        }
    }
}

#[test]
fn no_type_of_the_bindings_leaves_the_room_of_the_jvm() {
    let root = root();
    let jvm = root.join("agent/src/jvm");
    for (path, text) in sources(&root.join("agent/src")) {
        let uses = ["jni::", "jvmti_rs", "jobject", "jmethodID"].iter().any(|name| {
            text.lines().any(|line| !line.trim_start().starts_with("//") && line.contains(name))
        });
        assert!(path.starts_with(&jvm) || !uses, "{}", path.display());
    }
    for (path, text) in sources(&jvm) {
        let wrapper =
            text.lines().any(|line| line.contains("jvmti_rs::") && !line.contains("jvmti_rs::sys"));
        assert!(!wrapper, "{}: only jvmti_rs::sys is sound", path.display());
    }
}

/// The rooms of each crate, from the ground floor up: folders and files of its `src`.
const FLOORS: [(&str, &[&str]); 5] = [
    (
        "options",
        &[
            "error", "tracked", "related", "loader", "presets", "filter", "mains", "notice",
            "kinds", "sources", "values", "parse", "tests",
        ],
    ),
    (
        "agent",
        &[
            "certain",
            "sys",
            "text",
            "logging",
            "request",
            "secrets",
            "rewrite",
            "sink",
            "recorder",
            "lifecycle",
            "engine",
            "jvm",
        ],
    ),
    (
        "codec",
        &[
            "ids",
            "format",
            "error",
            "name",
            "glob",
            "parallel",
            "write",
            "method_map",
            "store",
            "read",
            "method_names",
            "scan",
            "derived",
            "index",
            "convert",
        ],
    ),
    (
        "query",
        &[
            "text", "error", "remark", "rows", "select", "dag", "tree", "process", "analysis",
            "profile", "reading", "in_order", "open", "shapes", "ask",
        ],
    ),
    (
        "cli",
        &[
            "failure", "output", "terminal", "input", "jvm", "own", "repair", "export", "html",
            "live", "mcp", "args", "cmd",
        ],
    ),
];

/// The name of a room is that of the first module below the root of its crate.
#[test]
fn rooms_import_only_rooms_below_them() {
    for (part, floors) in FLOORS {
        let modules = Modules::read(&root().join(part).join("src"));
        let unknown = &modules.unknown;
        assert!(unknown.is_empty(), "paths that lead to nothing:\n{}", unknown.join("\n"));
        let floor = |room: &str| floors.iter().position(|other| *other == room);
        for room in modules.all.iter().filter_map(|module| module.path.first()) {
            assert!(floor(room).is_some(), "{part}: no floor for {room}");
        }
        for arrow in &modules.arrows {
            let [from, to] = [arrow.from, arrow.to].map(|module| &modules.all[module]);
            // Macros of the root are on no floor, and the root uses all rooms.
            let (Some(of), Some(used)) = (from.path.first(), to.path.first()) else { continue };
            let file = from.file.display();
            assert!(floor(used) <= floor(of), "{file}:{}: {used} is above {of}", arrow.line);
        }
    }
}

#[test]
fn unit_tests_are_in_the_file_they_test() {
    for part in ["codec", "query", "cli"] {
        for (path, _) in sources(&root().join(part).join("src")) {
            let is_of_tests = path.with_extension("").iter().any(|part| part == "tests");
            assert!(!is_of_tests, "{}: not tests", path.display());
        }
    }
}

#[test]
fn dependencies_point_one_way() {
    let root = root();
    let manifest = |part: &str| fs::read_to_string(root.join(part).join("Cargo.toml")).unwrap();
    let codec = manifest("codec");
    assert!(
        ["flow-agent", "flow-query", "flow-cli", "jni"].iter().all(|name| !codec.contains(name))
    );
    let query = manifest("query");
    assert!(["flow-agent", "flow-cli", "jni"].iter().all(|name| !query.contains(name)));
    assert!(!manifest("agent").contains("flow-cli") && !manifest("agent").contains("flow-query"));
    assert!(!manifest("cli").contains("flow-agent"));
    let options = manifest("options");
    assert!(["flow-agent", "flow-cli", "jni"].iter().all(|name| !options.contains(name)));
}

#[test]
fn hot_files_forbid_what_could_panic() {
    let root = root();
    let mut hot = 0;
    for part in ["agent/src", "codec/src", "query/src"] {
        for (path, text) in sources(&root.join(part)) {
            if text.starts_with("//! HOT") {
                hot += 1;
                assert!(
                    text.contains(
                        "#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic"
                    ),
                    "{}",
                    path.display()
                );
            }
        }
    }
    assert!(hot >= 25, "{hot} files");
}

/// Phrases that a reader stumbles over, and better ones.
const PHRASES: [(&str, &str); 39] = [
    ("tells", "shows, reports"),
    ("it came to", "its outcome"),
    ("they came to", "their outcome"),
    ("answers whether", "returns whether"),
    ("answers with", "returns"),
    ("behind a", "after a"),
    ("behind it", "after it"),
    ("behind its", "after its"),
    ("behind that", "after that"),
    ("behind the", "after the"),
    ("behind which", "after which"),
    ("so many", "this many, n"),
    ("as many as there are", "all of them"),
    ("whoever", "the caller, any thread"),
    ("goes on", "continues"),
    ("go on", "continue"),
    ("going on", "continuing"),
    ("gone on", "continued"),
    ("is told", "is reported"),
    ("are told", "are reported"),
    ("was told", "was reported"),
    ("were told", "were reported"),
    ("stand in", "are in"),
    ("stands in", "is in"),
    ("stands for", "represents"),
    ("stands there", "is there"),
    ("stands behind", "is after"),
    ("hands on", "passes"),
    ("handed on", "passed"),
    ("looks at", "reads, checks"),
    ("is looked at", "is read"),
    ("are looked at", "are read"),
    ("what came of", "the result of"),
    ("came of it", "resulted"),
    ("passed over", "skipped"),
    ("left alone", "not changed, not recorded"),
    ("what there is", "all"),
    ("a fortieth", "2.5 %"),
    ("it is asked for", "it is requested"),
];

/// Where a phrase of the list is right.
const RIGHT: [(&str, &str); 0] = [];

#[test]
fn what_people_read_has_no_phrases_of_the_list() {
    let extensions = ["rs", "java", "js", "cjs", "mjs", "css", "py", "c", "sh", "md"];
    let mut found = Vec::new();
    for (path, text) in files(&root(), &extensions) {
        let path = path.strip_prefix(root()).unwrap().to_str().unwrap();
        if path == "tests/e2e/tidy/mod.rs" {
            continue;
        }
        // All words in a row, because a phrase may continue on the next line of a comment.
        let mut words: Vec<(usize, String)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.replace(['.', ',', ';', ':', '(', ')', '"'], " . ").to_lowercase();
            let of_line = line.split(|c: char| !c.is_alphanumeric() && c != '.');
            words.extend(
                of_line.filter(|word| !word.is_empty()).map(|word| (number, word.to_owned())),
            );
        }
        for (phrase, better) in PHRASES {
            let phrase_words: Vec<&str> = phrase.split(' ').collect();
            for place in words.windows(phrase_words.len()) {
                let is_phrase = place.iter().map(|(_, word)| word).eq(&phrase_words);
                if is_phrase && !RIGHT.contains(&(path, phrase)) {
                    found.push(format!("{path}:{}: '{phrase}': say {better}", place[0].0));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
