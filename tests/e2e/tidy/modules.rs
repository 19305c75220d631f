//! The modules of a crate, and which of them use which: read from the sources, as far as names show it.
//!
//! A use counts where the name leads to, not where it is written: through `pub use`, through globs, and through the
//! root of the crate. Names that macros define, and methods, are not seen.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A module of a crate: a file, or a part of one.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// The names from the root of the crate, which has none.
    pub(super) path: Vec<String>,
    /// The file that holds the module.
    pub(super) file: PathBuf,
    /// Whether the module is compiled for tests only.
    pub(super) is_of_tests: bool,
    children: HashMap<String, usize>,
    /// The names of its items, except modules.
    defined: HashSet<String>,
    /// The types that all modules of the crate can use.
    pub(super) types: Vec<String>,
    /// The types that other crates can use, if they can name them.
    shown: HashSet<String>,
    /// The children that are public and not hidden from the documentation.
    shown_children: Vec<usize>,
    imports: Vec<Import>,
    /// Paths in the code, with their lines.
    mentions: Vec<(Vec<String>, usize)>,
}

#[derive(Debug, Default)]
struct Import {
    path: Vec<String>,
    /// The name under which it is known; `None`: everything in it.
    name: Option<String>,
    /// Whether other modules get it from this one.
    is_passed_on: bool,
    /// Whether other crates do, and the documentation shows it.
    is_shown: bool,
    line: usize,
}

/// A use of something that another module defines.
#[derive(Debug)]
pub(super) struct Arrow {
    /// The module that uses it.
    pub(super) from: usize,
    /// The module that defines it.
    pub(super) to: usize,
    /// Line in the file of `from`.
    pub(super) line: usize,
}

/// Where a path leads.
enum Found {
    Module(usize),
    /// To another crate, or to a type of the module itself.
    Elsewhere,
    Nothing,
}

/// All modules of a crate.
#[derive(Debug)]
pub(super) struct Modules {
    /// The root first.
    pub(super) all: Vec<Module>,
    /// Uses of one module in another.
    pub(super) arrows: Vec<Arrow>,
    /// Paths into this crate that lead to nothing, with their places.
    pub(super) unknown: Vec<String>,
}

impl Modules {
    /// Reads the crate whose root is `src/lib.rs` or `src/main.rs`.
    pub(super) fn read(src: &Path) -> Self {
        let root = ["lib.rs", "main.rs"].map(|name| src.join(name));
        let root = root.into_iter().find(|path| path.exists()).expect("a crate has a root");
        let mut all = Vec::new();
        read_file(&mut all, root, src.to_owned(), Vec::new(), false);
        let mut modules = Self { all, arrows: Vec::new(), unknown: Vec::new() };
        modules.find_arrows();
        modules
    }

    fn find_arrows(&mut self) {
        let mut arrows = Vec::new();
        let mut unknown = Vec::new();
        for (from, module) in self.all.iter().enumerate() {
            let imports = module.imports.iter().map(|import| {
                let is_of_child = |to: &Module| to.path.starts_with(&module.path);
                (&import.path, import.line, import.is_passed_on, is_of_child)
            });
            for (path, line, is_passed_on, is_of_child) in imports {
                match self.resolve(from, path) {
                    // What a module passes on from its own parts is used where it is imported.
                    Found::Module(to) if is_passed_on && is_of_child(&self.all[to]) => {}
                    Found::Module(to) => arrows.push(Arrow { from, to, line }),
                    Found::Elsewhere => {}
                    Found::Nothing => unknown.push(self.unknown(from, path, line)),
                }
            }
            for (path, line) in &module.mentions {
                match self.resolve(from, path) {
                    Found::Module(to) => arrows.push(Arrow { from, to, line: *line }),
                    Found::Elsewhere => {}
                    Found::Nothing => unknown.push(self.unknown(from, path, *line)),
                }
            }
        }
        arrows.retain(|arrow| arrow.from != arrow.to);
        (self.arrows, self.unknown) = (arrows, unknown);
    }

    fn unknown(&self, from: usize, path: &[String], line: usize) -> String {
        format!("{}:{line}: {}", self.all[from].file.display(), path.join("::"))
    }

    /// Returns the module that defines what a path names.
    fn resolve(&self, from: usize, path: &[String]) -> Found {
        self.resolve_unless(from, path, &mut HashSet::new())
    }

    /// Resolves a path, except names that are being resolved already.
    fn resolve_unless(
        &self,
        from: usize,
        path: &[String],
        seen: &mut HashSet<(usize, String)>,
    ) -> Found {
        let mut at = from;
        let mut rest = path;
        while let Some((name, others)) = rest.split_first() {
            let next = match name.as_str() {
                "crate" => Some(0),
                "self" => Some(at),
                "super" => self.parent(at),
                name => self.all[at].children.get(name).copied(),
            };
            let Some(next) = next else { break };
            (at, rest) = (next, others);
        }
        let Some((name, others)) = rest.split_first() else { return Found::Module(at) };
        if self.all[at].defined.contains(name) {
            return Found::Module(at);
        }
        // A path that leads back to itself does so without end.
        if !seen.insert((at, name.clone())) {
            return Found::Nothing;
        }
        let mut imported = Found::Nothing;
        for import in &self.all[at].imports {
            let rest = match &import.name {
                Some(known) if known == name => others,
                Some(_) => continue,
                None => rest,
            };
            let path: Vec<_> = import.path.iter().chain(rest).cloned().collect();
            match self.resolve_unless(at, &path, seen) {
                Found::Module(module) => return Found::Module(module),
                Found::Elsewhere if import.name.is_some() => imported = Found::Elsewhere,
                _ => {}
            }
        }
        // The first name of a path may be that of another crate.
        if rest.len() == path.len() { Found::Elsewhere } else { imported }
    }

    fn parent(&self, of: usize) -> Option<usize> {
        let (_, parent) = self.all[of].path.split_last()?;
        self.all.iter().position(|module| module.path == parent)
    }

    /// The types that the documentation of the crate shows, each with the path of the module that defines it.
    pub(super) fn shown_types(&self) -> BTreeSet<(String, &str)> {
        let mut types = BTreeSet::new();
        let (mut open, mut seen) = (vec![0], HashSet::from([0]));
        while let Some(number) = open.pop() {
            let module = &self.all[number];
            let mut show = |of: usize, name: &str| {
                let of = &self.all[of];
                if let Some(name) = of.shown.get(name) {
                    types.insert((of.path.join("::"), name.as_str()));
                }
            };
            module.shown.iter().for_each(|name| show(number, name));
            let mut modules = module.shown_children.clone();
            for import in module.imports.iter().filter(|import| import.is_shown) {
                let Found::Module(to) = self.resolve(number, &import.path) else { continue };
                match import.path.last() {
                    Some(name) if self.all[to].defined.contains(name) => show(to, name),
                    // A module, or everything in one.
                    _ => modules.push(to),
                }
            }
            open.extend(modules.into_iter().filter(|module| seen.insert(*module)));
        }
        types
    }

    /// The circles between the parts of each module, by its path: sets of parts each of which uses all others, directly or
    /// not. The module itself is a part, too: `mod`. What only tests use does not count.
    pub(super) fn circles(&self) -> BTreeMap<String, BTreeSet<BTreeSet<String>>> {
        let mut edges: BTreeMap<Vec<String>, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for arrow in &self.arrows {
            let [from, to] = [arrow.from, arrow.to].map(|module| &self.all[module]);
            if from.is_of_tests {
                continue;
            }
            let shared = from.path.iter().zip(&to.path).take_while(|(a, b)| a == b).count();
            let part = |path: &[String]| path.get(shared).map_or("mod", String::as_str).to_owned();
            let of_parent = edges.entry(from.path[..shared].to_vec()).or_default();
            of_parent.entry(part(&from.path)).or_default().insert(part(&to.path));
        }
        let mut circles = BTreeMap::new();
        for (parent, edges) in edges {
            let found = circles_of(&edges);
            if !found.is_empty() {
                circles.insert(parent.join("::"), found);
            }
        }
        circles
    }
}

/// Returns the sets of nodes that reach each other.
fn circles_of(edges: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<BTreeSet<String>> {
    let reached_from = |start: &String| {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(next) = open.pop() {
            for to in edges.get(next).into_iter().flatten() {
                if reached.insert(to.clone()) {
                    open.push(to);
                }
            }
        }
        reached
    };
    let reached: BTreeMap<_, _> = edges.keys().map(|node| (node, reached_from(node))).collect();
    let reaches =
        |from: &String, to: &String| reached.get(from).is_some_and(|all| all.contains(to));
    let circles = reached.iter().map(|(node, from_it)| {
        from_it.iter().filter(|other| reaches(other, node)).cloned().collect::<BTreeSet<_>>()
    });
    circles.filter(|circle| circle.len() > 1).collect()
}

/// Reads a file and those of its modules. Returns its number.
fn read_file(
    all: &mut Vec<Module>,
    file: PathBuf,
    folder: PathBuf,
    path: Vec<String>,
    is_of_tests: bool,
) -> usize {
    let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let mut tokens = Tokens { all: tokens(&text), at: 0 };
    read_module(all, &mut tokens, file, folder, path, is_of_tests)
}

/// What is before the name of an item: attributes, and who can use it.
#[derive(Default)]
struct Beginning {
    is_public: bool,
    /// Whether all modules of the crate can use it.
    is_of_crate: bool,
    /// Whether other crates can.
    is_of_all: bool,
    /// Whether only tests have it.
    is_for_tests: bool,
    is_hidden: bool,
}

impl Beginning {
    fn attribute(&mut self, tokens: &[String]) {
        self.is_for_tests |= tokens.windows(4).any(|of| of == ["cfg", "(", "test", ")"]);
        self.is_hidden |= tokens.windows(4).any(|of| of == ["doc", "(", "hidden", ")"]);
    }

    /// Reads what follows `pub`.
    fn publish(&mut self, tokens: &mut Tokens) {
        let limits = if tokens.peek() == Some("(") { tokens.brackets() } else { Vec::new() };
        self.is_public = true;
        self.is_of_all = limits.is_empty();
        self.is_of_crate = self.is_of_all || limits == ["(", "crate", ")"];
    }

    /// Returns whether the documentation has the item, if it has the module.
    fn is_shown(&self) -> bool {
        self.is_of_all && !self.is_hidden
    }
}

/// Reads a module to its end, which is that of the file or a brace.
fn read_module(
    all: &mut Vec<Module>,
    tokens: &mut Tokens,
    file: PathBuf,
    folder: PathBuf,
    path: Vec<String>,
    is_of_tests: bool,
) -> usize {
    let number = all.len();
    all.push(Module { path: path.clone(), file: file.clone(), is_of_tests, ..Module::default() });
    let mut depth = 0_usize;
    let mut next = Beginning::default();
    // Whether the items are those of `rows! { … }`.
    let mut is_in_rows = false;
    while let Some((token, line)) = tokens.next() {
        let module = &mut all[number];
        match token.as_str() {
            "{" => depth += 1,
            "}" if depth == 0 && std::mem::take(&mut is_in_rows) => {}
            "}" if depth == 0 => break,
            "}" => depth -= 1,
            "#" if tokens.peek() == Some("[") || tokens.peek() == Some("!") => {
                next.attribute(&tokens.brackets());
                continue;
            }
            "pub" => {
                next.publish(tokens);
                continue;
            }
            "use" => {
                let mut imports = Vec::new();
                tokens.import(&[], line, &mut imports);
                for import in &mut imports {
                    (import.is_passed_on, import.is_shown) = (next.is_public, next.is_shown());
                }
                module.imports.extend(imports);
            }
            "mod" if depth == 0 => {
                let name = tokens.next().expect("a module has a name").0;
                let of_tests = is_of_tests || next.is_for_tests || name == "tests";
                let path = path.iter().chain([&name]).cloned().collect();
                let inside = folder.join(&name);
                let child = if tokens.next().expect("an end").0 == "{" {
                    read_module(all, tokens, file.clone(), inside, path, of_tests)
                } else {
                    let beside = folder.join(format!("{name}.rs"));
                    let file = if beside.exists() { beside } else { inside.join("mod.rs") };
                    read_file(all, file, inside, path, of_tests)
                };
                all[number].children.insert(name, child);
                if next.is_shown() {
                    all[number].shown_children.push(child);
                }
            }
            kind @ ("struct" | "enum" | "trait" | "type" | "union" | "fn" | "const" | "static"
            | "macro_rules")
                if depth == 0 =>
            {
                let Some(name) = tokens.name_of_item() else { continue };
                let is_type = ["struct", "enum", "trait", "type", "union"].contains(&kind);
                if is_type && next.is_of_crate && !is_of_tests && !next.is_for_tests {
                    module.types.push(name.clone());
                    if next.is_shown() {
                        module.shown.insert(name.clone());
                    }
                }
                module.defined.insert(name);
            }
            name if is_name(name) => {
                let name = name.to_owned();
                let path = tokens.path(name);
                let is_rows = depth == 0 && path.last().is_some_and(|name| name == "rows");
                if is_rows && tokens.is("!") && tokens.is("{") {
                    is_in_rows = true;
                } else if path.len() > 1 {
                    module.mentions.push((path, line));
                }
                if ["unsafe", "async", "extern"].contains(&token.as_str()) {
                    continue;
                }
            }
            _ => {}
        }
        next = Beginning::default();
    }
    number
}

struct Tokens {
    all: Vec<(String, usize)>,
    at: usize,
}

impl Tokens {
    fn next(&mut self) -> Option<(String, usize)> {
        let token = self.all.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn peek(&self) -> Option<&str> {
        self.all.get(self.at).map(|(token, _)| token.as_str())
    }

    fn is(&mut self, expected: &str) -> bool {
        let is = self.peek() == Some(expected);
        self.at += usize::from(is);
        is
    }

    /// Returns everything up to the end of the brackets that begin here.
    fn brackets(&mut self) -> Vec<String> {
        let mut inside = Vec::new();
        let mut depth = 0;
        while let Some((token, _)) = self.next() {
            match token.as_str() {
                "(" | "[" => depth += 1,
                ")" | "]" => depth -= 1,
                _ => {}
            }
            inside.push(token);
            if depth == 0 && inside.last().is_some_and(|last| last != "!") {
                break;
            }
        }
        inside
    }

    /// Returns the path that begins with this name.
    fn path(&mut self, first: String) -> Vec<String> {
        let mut path = vec![first];
        while self.peek() == Some("::") {
            match self.all.get(self.at + 1) {
                Some((name, _)) if is_name(name) => path.push(name.clone()),
                _ => break,
            }
            self.at += 2;
        }
        path
    }

    /// Returns the name of an item; `None` if a function follows, or a block.
    fn name_of_item(&mut self) -> Option<String> {
        while self.peek().is_some_and(|next| ["mut", "unsafe", "extern", "!"].contains(&next)) {
            self.next();
        }
        let is_name = self.peek().is_some_and(|next| next != "fn" && is_name(next));
        is_name.then(|| self.next().expect("an item has a name").0)
    }

    /// Reads what follows `use`, below `before`.
    fn import(&mut self, before: &[String], line: usize, to: &mut Vec<Import>) {
        let mut path = before.to_vec();
        self.is("::");
        loop {
            if self.is("{") {
                while !self.is("}") {
                    self.import(&path, line, to);
                    self.is(",");
                }
                return;
            }
            if self.is("*") {
                return to.push(Import { path, line, ..Import::default() });
            }
            path.push(self.next().expect("a name").0);
            if !self.is("::") {
                break;
            }
        }
        // `use a::{self}` imports `a`.
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let name = match self.is("as") {
            true => self.next().map(|(name, _)| name),
            false => path.last().cloned(),
        };
        to.push(Import { path, name, line, ..Import::default() });
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Returns names, `::` and single characters with their lines, without comments, texts and numbers.
fn tokens(text: &str) -> Vec<(String, usize)> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 1);
    let get = |at: usize| chars.get(at).copied().unwrap_or('\n');
    while at < chars.len() {
        let start = at;
        match chars[at] {
            '/' if get(at + 1) == '/' => {
                while get(at) != '\n' {
                    at += 1;
                }
            }
            '/' if get(at + 1) == '*' => {
                at += 2;
                while at < chars.len() && (get(at - 1), get(at)) != ('*', '/') {
                    at += 1;
                }
                at += 1;
            }
            'r' | 'b' | 'c' if is_raw_text(&chars, at) => {
                while get(at) != '#' && get(at) != '"' {
                    at += 1;
                }
                let mut fences = 0;
                while get(at) == '#' {
                    (at, fences) = (at + 1, fences + 1);
                }
                at += 1;
                let ends = |at: usize| get(at) == '"' && (1..=fences).all(|n| get(at + n) == '#');
                while at < chars.len() && !ends(at) {
                    at += 1;
                }
                at += 1 + fences;
            }
            '"' => {
                at += 1;
                while at < chars.len() && get(at) != '"' {
                    at += if get(at) == '\\' { 2 } else { 1 };
                }
                at += 1;
            }
            '\'' if get(at + 1) == '\\' || get(at + 2) == '\'' => {
                at += if get(at + 1) == '\\' { 3 } else { 2 };
                while get(at) != '\'' {
                    at += 1;
                }
                at += 1;
            }
            c if c.is_alphanumeric() || c == '_' => {
                while get(at).is_alphanumeric() || get(at) == '_' {
                    at += 1;
                }
                let word: String = chars[start..at].iter().collect();
                if is_name(&word) {
                    tokens.push((word, line));
                }
            }
            ':' if get(at + 1) == ':' => {
                tokens.push(("::".to_owned(), line));
                at += 2;
            }
            c => {
                if !c.is_whitespace() {
                    tokens.push((c.to_string(), line));
                }
                at += 1;
            }
        }
        line += chars[start..at.min(chars.len())].iter().filter(|c| **c == '\n').count();
    }
    tokens
}

/// Returns whether `r"`, `r#"`, `br"` or the like begins here.
fn is_raw_text(chars: &[char], at: usize) -> bool {
    let rest = &chars[at..];
    let skipped = rest.iter().take_while(|c| ['r', 'b', 'c'].contains(c)).count();
    let is_raw = rest[..skipped].contains(&'r');
    let fences = rest[skipped..].iter().take_while(|c| **c == '#').count();
    is_raw && skipped <= 2 && rest.get(skipped + fences) == Some(&'"')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path, name: &str, text: &str) {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn shown_types_have_a_public_path_that_is_not_hidden() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| write(dir.path(), name, text);
        write(
            "lib.rs",
            "mod inner;\nmod all;\npub mod open;\n#[doc(hidden)]\npub mod closed;\npub use inner::{One, One as Again, f};\n\
             pub use self::all::*;\n#[doc(hidden)]\npub use inner::Two;\npub(crate) use inner::Three;",
        );
        write(
            "inner.rs",
            "pub struct One;\npub struct Two;\npub struct Three;\npub struct Four;\npub fn f() {}",
        );
        write("all.rs", "mod part;\npub use part::Five;\n#[doc(hidden)]\npub use part::Six;");
        write("all/part.rs", "pub enum Five {}\npub type Six = Five;");
        write(
            "open.rs",
            "pub struct Seven;\n#[doc(hidden)]\n#[derive(Debug)]\npub struct Eight;\nstruct Nine;",
        );
        write("closed.rs", "pub struct Ten;");
        let modules = Modules::read(dir.path());
        let shown: Vec<_> = modules.shown_types().into_iter().map(|(_, name)| name).collect();
        assert_eq!(shown, ["Five", "One", "Seven"]);
    }

    #[test]
    fn arrows_lead_to_where_a_name_is_defined() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| write(dir.path(), name, text);
        write("lib.rs", "mod low;\nmod high;\npub use high::Top as Best;\npub use self::low::*;");
        write("high.rs", "pub struct Top;\nconst fn of() -> [u8; 1] { [const { b'{' }] }");
        write("low/mod.rs", "mod first;\nmod second;\npub use self::{first::One, second::*};");
        write(
            "low/first.rs",
            "use crate::{\nBest, Two};\npub(super) struct One;\n/* } */ // {\nconst TEXT: &str = r#\"}\"{\"#;\n\
             fn f<'a>(_: &'a str) -> char { std::fmt::x(); super::Two; '{' }\n\
             #[cfg(test)]\nmod tests {\nuse super::super::second::Two;\nuse crate::lost::It;\n}",
        );
        write("low/second.rs", "use super::One;\n#[derive(Debug)] pub struct Two { one: One }");
        let modules = Modules::read(dir.path());
        let path = |module: usize| modules.all[module].path.join("::");
        let arrows: Vec<_> = modules
            .arrows
            .iter()
            .filter(|arrow| arrow.from != 0)
            .map(|arrow| (path(arrow.from), arrow.line, path(arrow.to)))
            .collect();
        let [first, second] = ["low::first", "low::second"].map(str::to_owned);
        assert_eq!(
            arrows,
            [
                (first.clone(), 1, "high".to_owned()),
                (first.clone(), 1, second.clone()),
                (first.clone(), 6, second.clone()),
                ("low::first::tests".to_owned(), 9, second.clone()),
                (second, 1, first),
            ]
        );
        assert_eq!(modules.unknown.len(), 1, "{:?}", modules.unknown);
        assert!(modules.unknown[0].ends_with(":10: crate::lost::It"), "{:?}", modules.unknown);
        let circles = modules.circles();
        let circle = BTreeSet::from(["first", "second"].map(str::to_owned));
        assert_eq!(circles, BTreeMap::from([("low".to_owned(), BTreeSet::from([circle]))]));
        let types = modules.all.iter().flat_map(|module| module.types.iter().map(String::as_str));
        assert_eq!(types.collect::<BTreeSet<_>>(), BTreeSet::from(["Top", "Two"]));
    }
}
