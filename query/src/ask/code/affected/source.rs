//! What a source file says about the classes that are compiled from it: their names and supertypes, which other files they may
//! depend on, and constants that compilers copy into other classes.
//!
//! Nothing is parsed: words between signs are enough for an answer that errs on the safe side. Of Java, comments and texts are
//! left out; of other languages they are not, because their rules for both differ.

use std::collections::BTreeSet;

/// The extensions of source files.
const LANGUAGES: [&str; 4] = ["java", "kt", "groovy", "scala"];

/// Types of constants that `javac` copies.
const COPIED_TYPES: [&str; 9] =
    ["boolean", "byte", "char", "short", "int", "long", "float", "double", "String"];

/// Words of other languages that have compilers copy code or constants.
const COPYING_WORDS: [&str; 3] = ["const", "inline", "final"];

/// Words before the name of a type.
const TYPE_WORDS: [&str; 6] = ["class", "interface", "enum", "record", "object", "trait"];

/// Words before a name that other files use without that of a class, in languages other than Java.
const MEMBER_WORDS: [&str; 6] = ["fun", "val", "var", "def", "typealias", "type"];

/// The longest list of modifiers that is searched for `final`, in words and signs.
const MOST_MODIFIERS: usize = 24;

/// The name of a file without its folders, and of it what comes after the last dot.
fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// Returns whether classes are compiled from a file. `module-info.java` has none, and decides what others can use.
pub(super) fn is_source(path: &str) -> bool {
    let is_module = path.ends_with("module-info.java") || path.ends_with("package-info.java");
    LANGUAGES.contains(&extension(path)) && !is_module
}

fn is_java(path: &str) -> bool {
    extension(path) == "java"
}

/// A version of a source file.
#[derive(Debug)]
pub(super) struct Source<'t> {
    /// The path in the repository.
    pub(super) path: &'t str,
    /// The file in the folder of its package: `com/app/Orders.java`.
    pub(super) place: String,
    /// The package, with a dot after it unless it has no name.
    pub(super) package: String,
    /// The names by which other files use it: types that are in no other, and functions outside of classes.
    pub(super) tops: BTreeSet<&'t str>,
    /// Classes in no other that tests may be in: neither abstract nor interfaces.
    pub(super) classes: BTreeSet<&'t str>,
    /// All types in it.
    pub(super) types: BTreeSet<&'t str>,
    /// Names that types in it extend or implement.
    pub(super) supertypes: BTreeSet<&'t str>,
    /// All words.
    pub(super) words: BTreeSet<&'t str>,
    /// Declarations that compilers may copy to other classes.
    pub(super) copied: BTreeSet<Vec<&'t str>>,
    /// Whether other files can read static fields of it.
    pub(super) has_visible_state: bool,
    /// Whether it declares an annotation, which other classes have without calling it.
    pub(super) has_annotation: bool,
    /// Whether its classes seem to have tests.
    pub(super) has_tests: bool,
}

impl<'t> Source<'t> {
    /// Reads what a file says.
    pub(super) fn new(path: &'t str, text: &'t str) -> Self {
        let tokens = tokens(text, is_java(path));
        let package = package(&tokens, text, is_java(path));
        let name = path.rsplit('/').next().unwrap_or(path);
        let types = Types::of(&tokens, text, is_java(path));
        let is_word = |token: &&&str| token.starts_with(is_of_name);
        let is_test_name = |name: &str| {
            ["Test", "Tests", "TestCase", "Spec", "Suite"].iter().any(|end| name.ends_with(end))
        };
        Self {
            path,
            place: format!("{}{name}", package.replace('.', "/")),
            words: tokens.iter().filter(is_word).copied().collect(),
            copied: copied(&tokens, is_java(path)),
            has_visible_state: !is_java(path) || has_visible_state(&tokens),
            has_annotation: tokens.windows(2).any(|pair| pair == ["@", "interface"])
                || (!is_java(path) && tokens.contains(&"annotation")),
            has_tests: annotations(&tokens).any(|name| name.contains("Test"))
                || types.supertypes.iter().any(|name| is_test_name(name)),
            tops: types.tops,
            classes: types.classes,
            types: types.all,
            supertypes: types.supertypes,
            package,
        }
    }

    /// Returns whether a word of the file is one of some names.
    pub(super) fn names<'n>(&self, names: &BTreeSet<&'n str>) -> Option<&'n str> {
        names.iter().find(|name| self.words.contains(*name)).copied()
    }
}

/// The names of annotations, without packages.
fn annotations<'t>(tokens: &[&'t str]) -> impl Iterator<Item = &'t str> {
    let places = tokens.iter().enumerate().filter(|(_, token)| **token == "@");
    places.filter_map(|(at, _)| {
        let mut names = tokens.get(at + 1..)?.chunks(2);
        let last = names.find(|name| name.get(1) != Some(&"."))?;
        last.first().copied()
    })
}

/// Returns whether two versions of a file differ at most in comments and white space, neither of which is in class files.
/// Numbers of lines are, but no call depends on them.
pub(super) fn is_same_code(path: &str, before: &str, after: &str) -> bool {
    let is_plain = is_java(path) && ![before, after].iter().any(|text| has_escaped_sign(text));
    before == after || (is_plain && tokens(before, true) == tokens(after, true))
}

/// Returns whether a sign that begins or ends a comment or a text is escaped, as Java allows everywhere: `\u002a` is `*`.
fn has_escaped_sign(text: &str) -> bool {
    let codes = text.split("\\u").skip(1).map(|rest| rest.trim_start_matches('u'));
    let mut codes = codes.filter_map(|rest| u32::from_str_radix(rest.get(..4)?, 16).ok());
    codes.any(|code| char::from_u32(code).is_some_and(|c| "\"'*/\\\n\r".contains(c)))
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Words, texts and signs. Equal signs next to each other are one: `++` is no `+ +`.
fn tokens(text: &str, is_java: bool) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            _ if first.is_whitespace() => first.len_utf8(),
            _ if is_java && rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if is_java && rest.starts_with("/*") => {
                rest.get(2..).and_then(|rest| rest.find("*/")).map_or(rest.len(), |end| end + 4)
            }
            '"' | '\'' if is_java => {
                let length = literal(rest, first);
                tokens.extend(rest.get(..length));
                length
            }
            _ => {
                let is_more = |c: char| match is_of_name(first) {
                    true => is_of_name(c),
                    false => c == first && !"(){}[];,@".contains(c),
                };
                let first_length = first.len_utf8();
                let more = rest.get(first_length..).unwrap_or_default();
                let length = first_length + more.find(|c| !is_more(c)).unwrap_or(more.len());
                tokens.extend(rest.get(..length));
                length
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    tokens
}

/// The length of a text or character of Java at the start of `rest`.
fn literal(rest: &str, quote: char) -> usize {
    let end = if rest.starts_with("\"\"\"") { "\"\"\"" } else { rest.get(..1).unwrap_or_default() };
    let mut at = end.len();
    while let Some(left) = rest.get(at..).filter(|left| !left.is_empty()) {
        let Some(c) = left.chars().next() else { break };
        if left.starts_with(end) {
            return at + end.len();
        }
        // A line ends what is no block of text, so that a mistake stays in its line.
        if c == '\n' && end.len() == quote.len_utf8() {
            return at;
        }
        at += c.len_utf8();
        if c == '\\' {
            at += left.chars().nth(1).map_or(0, char::len_utf8);
        }
    }
    rest.len()
}

/// `com.app.`; empty without a package.
fn package(tokens: &[&str], text: &str, is_java: bool) -> String {
    let mut name = String::new();
    if is_java {
        let words = tokens.iter().skip_while(|token| **token != "package").skip(1);
        words.take_while(|token| **token != ";").for_each(|token| name.push_str(token));
    } else {
        // Scala has one for each part, if it likes.
        let parts = text.lines().filter_map(|line| line.strip_prefix("package "));
        let parts: Vec<_> = parts.map(|part| part.trim().trim_end_matches(';')).collect();
        name = parts.join(".");
    }
    if name.is_empty() { name } else { format!("{name}.") }
}

/// The types of a file.
#[derive(Default)]
struct Types<'t> {
    tops: BTreeSet<&'t str>,
    classes: BTreeSet<&'t str>,
    all: BTreeSet<&'t str>,
    supertypes: BTreeSet<&'t str>,
}

impl<'t> Types<'t> {
    fn of(tokens: &[&'t str], text: &'t str, is_java: bool) -> Self {
        let mut types = Self::default();
        let mut depth = 0_i64;
        let mut before = "";
        for (at, token) in tokens.iter().enumerate() {
            let rest = tokens.get(at + 1..).unwrap_or_default();
            let next = rest.first().copied().unwrap_or_default();
            match *token {
                "{" => depth += 1,
                "}" => depth -= 1,
                "new" => types.supertypes.extend(anonymous(rest)),
                "object" if next == ":" => types.supertypes.extend(header(rest)),
                word if TYPE_WORDS.contains(&word)
                    && before != "."
                    && next.starts_with(char::is_alphabetic) =>
                {
                    types.all.insert(next);
                    types.supertypes.extend(header(rest.get(1..).unwrap_or_default()));
                    if depth == 0 || !is_java {
                        types.tops.insert(next);
                        let start = at.saturating_sub(4);
                        let modifiers = tokens.get(start..at).unwrap_or_default();
                        if ["class", "object"].contains(&word) && !modifiers.contains(&"abstract") {
                            types.classes.insert(next);
                        }
                    }
                }
                _ => {}
            }
            before = token;
        }
        if !is_java {
            types.tops.extend(text.lines().filter_map(member));
        }
        types
    }
}

/// The name of a function or value that begins in a line without indentation.
fn member(line: &str) -> Option<&str> {
    if line.starts_with(char::is_whitespace) {
        return None;
    }
    let mut rest = line;
    loop {
        let (word, after) = rest.split_once(' ')?;
        rest = after;
        if MEMBER_WORDS.contains(&word) {
            break;
        }
    }
    let end = rest.find(['(', '=', ':', '{']).unwrap_or(rest.len());
    let name = rest.get(..end)?.trim();
    name.rsplit(|c: char| !is_of_name(c)).find(|part| !part.is_empty())
}

/// The words after the name of a type up to its body, without arguments of types and parameters.
fn header<'t>(rest: &[&'t str]) -> impl Iterator<Item = &'t str> {
    let (mut inside, mut found) = (0_i64, Vec::new());
    for token in rest {
        let length = i64::try_from(token.len()).unwrap_or(i64::MAX);
        match token.chars().next() {
            Some('<' | '(' | '[') => inside += length,
            Some('>' | ')' | ']') => inside -= length,
            Some('{' | ';' | '}') if inside <= 0 => break,
            _ if ["permits", "import", "fun"].contains(token) || TYPE_WORDS.contains(token) => {
                break;
            }
            Some(c) if is_of_name(c) && inside <= 0 => found.push(*token),
            _ => {}
        }
    }
    found.into_iter()
}

/// The class that `new` extends or implements with a body: `Base<T>(x) {`.
fn anonymous<'t>(rest: &[&'t str]) -> impl Iterator<Item = &'t str> {
    let (mut inside, mut found, mut has_arguments) = (0_i64, Vec::new(), false);
    for token in rest {
        let length = i64::try_from(token.len()).unwrap_or(i64::MAX);
        match token.chars().next() {
            Some('{') if inside == 0 && has_arguments => return found.into_iter(),
            Some('<') => inside += length,
            Some('>') => inside -= length,
            Some('(') if inside == 0 && has_arguments => break,
            Some('(') => {
                inside += length;
                has_arguments = true;
            }
            Some(')') => inside -= length,
            Some('.') => {}
            Some(c) if is_of_name(c) && !has_arguments && inside == 0 => found.push(*token),
            _ if inside == 0 => break,
            _ => {}
        }
    }
    Vec::new().into_iter()
}

/// Declarations of constants, from their types to their ends. Of other languages, all code if any of it may be copied.
fn copied<'t>(tokens: &[&'t str], is_java: bool) -> BTreeSet<Vec<&'t str>> {
    if !is_java {
        let is_copied = COPYING_WORDS.iter().any(|word| tokens.contains(word));
        return is_copied.then(|| tokens.to_vec()).into_iter().collect();
    }
    let has_interface = tokens.contains(&"interface");
    let mut found = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_value = COPIED_TYPES.contains(token) && tokens.get(at + 2) == Some(&"=");
        if !is_value {
            continue;
        }
        let modifiers = tokens.get(at.saturating_sub(MOST_MODIFIERS)..at).unwrap_or_default();
        let modifiers =
            modifiers.rsplit(|token| [";", "{", "}"].contains(token)).next().unwrap_or_default();
        let is_member =
            ["static", "public", "protected"].iter().any(|word| modifiers.contains(word));
        if has_interface || (modifiers.contains(&"final") && is_member) {
            let declaration = tokens.get(at..).unwrap_or_default();
            let end = declaration.iter().position(|token| *token == ";");
            found.insert(
                declaration.get(..end.unwrap_or(declaration.len())).unwrap_or_default().to_vec(),
            );
        }
    }
    found
}

/// Returns whether there is a static field of Java that is not private.
fn has_visible_state(tokens: &[&str]) -> bool {
    if ["enum", "interface"].iter().any(|word| tokens.contains(word)) {
        return true;
    }
    tokens.iter().enumerate().filter(|(_, token)| **token == "static").any(|(at, _)| {
        let before = tokens.get(at.saturating_sub(MOST_MODIFIERS)..at).unwrap_or_default();
        let before =
            before.rsplit(|token| [";", "{", "}"].contains(token)).next().unwrap_or_default();
        let after = tokens.get(at..).unwrap_or_default();
        let ends = |token: &&&str| ["=", ";", "(", "{"].contains(*token);
        let declaration = after.iter().position(|token| ends(&token)).unwrap_or(after.len());
        let words = after.get(..declaration).unwrap_or_default();
        let is_import = before.last() == Some(&"import");
        let is_private = before.contains(&"private") || words.contains(&"private");
        let is_field = [Some(&"="), Some(&";")].contains(&after.get(declaration));
        is_field && !is_private && !is_import
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<'t>(words: &[&'t str]) -> BTreeSet<&'t str> {
        words.iter().copied().collect()
    }

    #[test]
    fn comments_and_white_space_are_no_code() {
        let is_same = |before, after| is_same_code("A.java", before, after);
        assert!(is_same("int x = 1; // one", "/** The x. */\nint  x=1 ;"));
        assert!(is_same("String s = \"//\"; /* ' */", "String s = \"//\";"));
        assert!(is_same("char c = '\"'; // \"", "char c = '\"';"));
        assert!(is_same("char c = '\\uFEFF'; // mark", "char c = '\\uFEFF';"));
        assert!(is_same(
            "String s = \"\"\"\n a \" // b\n\"\"\"; // c",
            "String s = \"\"\"\n a \" // b\n\"\"\";"
        ));
        for (before, after) in [
            ("x = a - -b;", "x = a --b;"),
            ("s = \"a b\";", "s = \"a  b\";"),
            ("s = \"\\\" // a\";", "s = \"\\\" // b\";"),
            ("c = '\\''; // x\nf();", "c = '\\''; // x\ng();"),
            ("s = \"\"\"\n // a\n\"\"\";", "s = \"\"\"\n // b\n\"\"\";"),
            ("x = 1; // a", "x = 1; // \\u000a f();"),
            ("c = '\\uFEFF';", "c = '\\uFEFE';"),
        ] {
            assert!(!is_same(before, after), "{before}");
        }
        // Other languages nest comments, and have texts with code.
        assert!(!is_same_code("A.kt", "val x = 1", "val x = 1 // one"));
    }

    #[test]
    fn types_have_names_and_supertypes() {
        let text = "package com.app;\n\
            import static com.app.Other.x;\n\
            /** class Comment extends Nothing */\n\
            public abstract class A<T extends Bound> extends Base<Argument> implements One, com.app.Two {\n\
              static class Inner extends Three { }\n\
              record Point(Field field) implements Four { }\n\
              Object o = new Five<>(1, f(2)) { void run() { } };\n\
              Object p = new NotExtended(A.class) ;\n\
            }\n\
            sealed interface B permits C { }\n\
            final class C implements B { }";
        let source = Source::new("x/A.java", text);
        assert_eq!(
            (source.place.as_str(), source.package.as_str()),
            ("com/app/A.java", "com.app.")
        );
        assert_eq!(source.types, words(&["A", "Inner", "Point", "B", "C"]));
        assert_eq!(source.tops, words(&["A", "B", "C"]));
        assert_eq!(source.classes, words(&["C"]));
        let found = ["Base", "One", "Two", "Three", "Four", "Five", "B"];
        assert!(words(&found).is_subset(&source.supertypes), "{:?}", source.supertypes);
        for name in ["Bound", "Argument", "Field", "NotExtended", "Nothing", "C"] {
            assert!(!source.supertypes.contains(name), "{name}");
        }
        let text = "package com.app\n\nclass K(val x: Field) : Base(x), One\n\nfun String.twice(n: Int) = n\nval <T> T.size: Int get() = 1\n\
            val made = object : Two() { }\n";
        let source = Source::new("K.kt", text);
        assert_eq!(source.tops, words(&["K", "twice", "size", "made"]));
        assert!(
            words(&["Base", "One", "Two"]).is_subset(&source.supertypes),
            "{:?}",
            source.supertypes
        );
        assert_eq!(Source::new("A.java", "class A { }").place, "A.java");
    }

    #[test]
    fn constants_that_are_copied_are_known() {
        let copied = |text| Source::new("A.java", text).copied.len();
        assert_eq!(
            copied(
                "class A { public static final int X = 1, Y = 2; static final String S = \"a\"; }"
            ),
            2
        );
        assert_eq!(copied("interface A { long X = 1; }"), 1);
        assert_eq!(
            copied("class A { static int x = 1; final int y = 2; static final Object O = f(); }"),
            0
        );
        let of = |text| Source::new("A.java", text).copied;
        assert_ne!(
            of("class A { static final int X = 1\n + 1; }"),
            of("class A { static final int X = 1\n + 2; }")
        );
        assert_eq!(Source::new("A.kt", "const val X = 1").copied.len(), 1);
        assert_eq!(Source::new("A.kt", "val x = 1").copied.len(), 0);
    }

    #[test]
    fn static_fields_that_others_can_read_are_known() {
        let is_visible = |text| Source::new("A.java", text).has_visible_state;
        for text in [
            "class A { static final Object O = f(); }",
            "class A { final public static List<String> all; }",
            "enum A { ONE }",
        ] {
            assert!(is_visible(text), "{text}");
        }
        for text in [
            "import static a.B.c; class A { private static final Object O = f(); }",
            "class A { static private int x; static int f() { return 1; } static { x = 1; } }",
            "class A { static class Inner { int x; } }",
        ] {
            assert!(!is_visible(text), "{text}");
        }
    }

    #[test]
    fn files_with_tests_are_known() {
        let has_tests = |text| Source::new("A.java", text).has_tests;
        assert!(has_tests("class A { @Test void x() { } }"));
        assert!(has_tests("class A { @ParameterizedTest void x() { } }"));
        assert!(has_tests("class A { @org.junit.Test void x() { } }"));
        assert!(has_tests("class A extends TestCase { }"));
        assert!(!has_tests("@Deprecated class A { }"));
    }
}
