//! Patterns that name methods, for recording and for reading.

use crate::{MethodId, Name};

/// A pattern over `pkg.Class`, `pkg.Class#method`, or one of the overloads of a method:
///
/// - `pkg.Class#method(int, String)`: with these parameters, as readable names have them;
/// - `pkg.Class#method(int, String): long`: with this result, too;
/// - `pkg.Class#method(ILjava/lang/String;)J`: with this descriptor.
///
/// In a pattern with parameters, the `#` may be a `.`, as in names.
///
/// | in the pattern | matches |
/// |---|---|
/// | `*` | any characters but `.` |
/// | `**` | any characters |
/// | `?` | one character but `.` |
/// | any other character | itself |
///
/// A pattern without `#` matches all methods of a class. `$` is a plain character: `a.B` does not match
/// `a.B$C`, `a.B*` matches both. A class without `.` and `**` is a simple name: `B`, `B#m` and `?#m` match
/// `a.B`, `a.b.B` and `a.C$B`. Only `*` alone does not: it matches the classes without a package.
///
/// Every name under which a recorded method is shown is a pattern for it too: see
/// [`matches_name`](Self::matches_name).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Glob {
    class: Vec<Token>,
    /// Whether `class` is a simple name, which matches in every package.
    is_simple: bool,
    method: Option<Vec<Token>>,
    /// Name, parameters and result, if the pattern has parameters and a class of its own.
    overload: Option<Vec<Token>>,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Token {
    Literal(char),
    AnyOne,
    AnyWithinPackage,
    Any,
}

impl Glob {
    /// Reads a pattern. Every text is a valid one.
    #[must_use]
    pub fn new(pattern: &str) -> Self {
        let (class, method) = match pattern.split_once('#').or_else(|| split_name(pattern)) {
            Some((class, method)) => (tokens(class), Some(method)),
            None => (tokens(pattern), None),
        };
        let overload = method.filter(|method| method.contains('('));
        let overload = overload.map(|method| tokens(&normal(method)));
        let method = method.map(tokens);
        let is_simple = !class.is_empty()
            && class.iter().all(|token| !matches!(token, Token::Literal('.') | Token::Any))
            && (method.is_some() || class != [Token::AnyWithinPackage]);
        Self { class, is_simple, method, overload, text: pattern.to_owned() }
    }

    /// Returns whether the pattern matches this method or is one of its names, as in the table. In a pattern
    /// with parameters wildcards have their meaning; in one without they match classes: `a.B.*` names
    /// classes.
    ///
    /// | pattern | matches |
    /// |---|---|
    /// | `com.app.Orders.total`, `Orders.total`, of `com.app.Shop$Orders` too | all overloads |
    /// | `com.app.Orders.total(Customer, int)`, `com.app.Orders.total(app.Customer, int): long` | methods with such a readable name |
    /// | `com.app.Orders.total(**)` | all overloads |
    /// | `com.app.Orders.total(Lapp/Customer;I)J` | the method with this descriptor |
    #[must_use]
    pub fn matches_name(&self, name: Name<'_>) -> bool {
        if self.selects(name) || name.is(&self.text) {
            return true;
        }
        self.text.contains('(') && {
            let pattern = tokens(&normal(&self.text));
            let package_bytes = name.class.rfind('.').map_or(0, |dot| dot + 1);
            name.forms().any(|form| {
                matches_all(&pattern, &form)
                    || form.get(package_bytes..).is_some_and(|short| matches_all(&pattern, short))
            })
        }
    }

    /// The pattern as it was given.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the id in `?#7`, the form in which methods without a name are shown.
    #[doc(hidden)]
    #[must_use]
    pub fn nameless_id(&self) -> Option<MethodId> {
        MethodId::new(self.text.strip_prefix("?#")?.parse().ok()?)
    }

    /// Returns whether the pattern matches this method.
    #[must_use]
    pub fn matches(&self, class: &str, method: &str) -> bool {
        self.matches_some_of(class)
            && self.method.as_ref().is_none_or(|pattern| matches_all(pattern, method))
    }

    /// Returns whether the pattern matches this method, its parameters and its result. A pattern may have these as in readable
    /// names or as in descriptors, with wildcards.
    #[must_use]
    pub fn selects(&self, name: Name<'_>) -> bool {
        if self.matches(name.class, name.name) {
            return true;
        }
        let Some(method) = &self.overload else { return false };
        let of_class = |form: &str| {
            let of_method = form.strip_prefix(name.class).map(|rest| rest.trim_start_matches('.'));
            of_method.is_some_and(|form| matches_all(method, form))
        };
        self.matches_some_of(name.class) && name.forms().any(|form| of_class(&form))
    }

    /// The class pattern up to its first wildcard.
    #[doc(hidden)]
    #[must_use]
    pub fn first_part(&self) -> String {
        let literals = self.class.iter().map_while(|token| match token {
            Token::Literal(c) => Some(*c),
            _ => None,
        });
        literals.collect()
    }

    /// Returns whether the pattern may match methods of this class.
    #[doc(hidden)]
    #[must_use]
    pub fn matches_some_of(&self, class: &str) -> bool {
        let matches = |name| matches_all(&self.class, name);
        let simple_names = || ['.', '$'].into_iter().filter_map(|c| Some(class.rsplit_once(c)?.1));
        matches(class) || (self.is_simple && simple_names().any(matches))
    }

    /// Returns whether the pattern matches every method of this class.
    #[doc(hidden)]
    #[must_use]
    pub fn matches_all_of(&self, class: &str) -> bool {
        self.method.is_none() && self.matches_some_of(class)
    }

    /// Returns whether the pattern begins with a part of a package or of a full name: neither with a wildcard
    /// nor with a simple name.
    #[doc(hidden)]
    #[must_use]
    pub fn names_something(&self) -> bool {
        !self.is_simple && matches!(self.class.first(), Some(Token::Literal(_)))
    }
}

/// Splits a pattern with parameters, such as `com.app.Orders.total(int)`, into class and method.
fn split_name(pattern: &str) -> Option<(&str, &str)> {
    let (name, _) = pattern.split_once('(')?;
    let dot = name.rfind('.')?;
    Some((pattern.get(..dot)?, pattern.get(dot + 1..)?))
}

/// Returns parameters and result as names have them: `(int,long):int` becomes `(int, long): int`, and a class at the end of a
/// descriptor gets its semicolon.
fn normal(text: &str) -> String {
    let mut text = text.split(',').map(str::trim_start).collect::<Vec<_>>().join(", ");
    if let Some((before, result)) = text.rsplit_once("):") {
        text = format!("{before}): {}", result.trim_start());
    }
    let result = text.rsplit_once(')').map(|(_, result)| result.trim_start_matches('['));
    if result.is_some_and(|class| class.starts_with('L') && !class.ends_with([';', '*'])) {
        text.push(';');
    }
    text
}

fn tokens(pattern: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for c in pattern.chars() {
        let token = match (c, tokens.last()) {
            ('*', Some(Token::AnyWithinPackage | Token::Any)) => {
                tokens.pop();
                Token::Any
            }
            ('*', _) => Token::AnyWithinPackage,
            ('?', _) => Token::AnyOne,
            (c, _) => Token::Literal(c),
        };
        tokens.push(token);
    }
    tokens
}

/// Returns whether the pattern matches all of the text.
fn matches_all(pattern: &[Token], text: &str) -> bool {
    // Most names differ from most patterns before the first wildcard.
    let (mut pattern, mut rest) = (pattern, text.chars());
    while let Some((Token::Literal(literal), others)) = pattern.split_first() {
        if rest.next() != Some(*literal) {
            return false;
        }
        pattern = others;
    }
    match pattern {
        [] => rest.as_str().is_empty(),
        [Token::Any] => true,
        _ => matches_from_wildcard(pattern, rest.as_str()),
    }
}

/// Matches by the set of pattern positions reached: linear in the text, whatever the wildcards.
fn matches_from_wildcard(pattern: &[Token], text: &str) -> bool {
    let mut reached = vec![false; pattern.len() + 1];
    reached[0] = true;
    skip_wildcards(pattern, &mut reached);
    let mut next = vec![false; pattern.len() + 1];
    for c in text.chars() {
        next.fill(false);
        for (at, token) in pattern.iter().enumerate().filter(|(at, _)| reached[*at]) {
            match token {
                Token::Literal(literal) => next[at + 1] |= *literal == c,
                Token::AnyOne => next[at + 1] |= c != '.',
                Token::AnyWithinPackage => next[at] |= c != '.',
                Token::Any => next[at] = true,
            }
        }
        skip_wildcards(pattern, &mut next);
        std::mem::swap(&mut reached, &mut next);
        if !reached.contains(&true) {
            return false;
        }
    }
    reached[pattern.len()]
}

/// A wildcard may match nothing, so each position before one also reaches the position after it.
fn skip_wildcards(pattern: &[Token], reached: &mut [bool]) {
    for (at, token) in pattern.iter().enumerate() {
        if reached[at] && matches!(token, Token::AnyWithinPackage | Token::Any) {
            reached[at + 1] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_as_documented() {
        for (pattern, class, name, expected) in [
            ("com.app.Foo", "com.app.Foo", "m", true),
            ("com.app.Foo", "com.app.Foo$Bar", "m", false),
            ("com.app.Foo*", "com.app.Foo$Bar", "m", true),
            ("com.app.*", "com.app.sub.Foo", "m", false),
            ("com.app.**", "com.app.sub.Foo", "m", true),
            ("com.app.**", "com.app", "m", false),
            ("**.Foo", "com.app.Foo", "m", true),
            ("com.?pp.Foo", "com.app.Foo", "m", true),
            ("com?app.Foo", "com.app.Foo", "m", false),
            ("com.app.Foo#get*", "com.app.Foo", "getX", true),
            ("com.app.Foo#get*", "com.app.Foo", "setX", false),
            ("**#<init>", "com.app.Foo", "<init>", true),
            ("Foo", "com.app.Foo", "m", true),
            ("Foo", "com.app.Outer$Foo", "m", true),
            ("Foo", "Foo", "m", true),
            ("Outer$Foo", "com.app.Outer$Foo", "m", true),
            ("Foo", "com.app.AFoo", "m", false),
            ("Foo#get*", "com.app.Foo", "getX", true),
            ("Foo#get*", "com.app.Foo", "m", false),
            ("Fo*", "com.app.Foo", "m", true),
            ("*oo#m", "com.app.Foo", "m", true),
            ("?oo", "com.app.Outer$Foo", "m", true),
            ("*#m", "com.app.Foo", "m", true),
            ("*", "com.app.Foo", "m", false),
            ("*", "Foo", "m", true),
            ("o*", "com.app.Foo", "m", false),
            ("", "com.app.Foo", "m", false),
            ("***", "com.app.Foo", "m", true),
        ] {
            assert_eq!(Glob::new(pattern).matches(class, name), expected, "{pattern} {class}");
        }
    }

    #[test]
    fn names_that_are_shown_are_patterns() {
        let name = Name::parse("com.app.Orders.<init>([Lcom/app/Customer;I)V");
        for pattern in [
            "com.app.Orders.<init>([Lcom/app/Customer;I)V",
            "com.app.Orders.<init>(Customer[], int)",
            "com.app.Orders.<init>(com.app.Customer[], int): void",
            "com.app.Orders.<init>(*, int)",
            "**(**)",
            "com.app.Orders.<init>",
            "Orders.<init>",
            "Orders#<init>",
            "Orders",
            "Orders.<init>(Customer[], int)",
            "com.app.Orders",
            "com.app.Orders#<init>",
            "Orders#<init>(Customer[], int)",
            "com.app.Orders#<init>([Lcom/app/Customer;I)V",
            "*ders#<init>(*, int)",
            "Orders#<init>(Customer[],int)",
            "Orders.<init>(Customer[],  int)",
            "Orders.<init>(Customer[], int):void",
            "Orders#<init>(Customer[], int): *",
            "Orders#<init>([Lcom/app/Customer;I)*",
        ] {
            assert!(Glob::new(pattern).matches_name(name), "{pattern}");
        }
        let nested = Name::parse("com.app.Shop$Orders.total()V");
        for pattern in ["Orders.total", "Shop$Orders.total", "Orders#total", "Orders"] {
            assert!(Glob::new(pattern).matches_name(nested), "{pattern}");
        }
        for pattern in ["Shop.total", "Shop.Orders.total", "ders.total"] {
            assert!(!Glob::new(pattern).matches_name(nested), "{pattern}");
        }
        for pattern in ["Orders#<init>(int)", "Order#<init>(**)", "Orders#(**)"] {
            assert!(!Glob::new(pattern).matches_name(name), "{pattern}");
        }
        for pattern in ["com.app.Orders.<init>()", "com.app.Orders.*", "app.Orders.<init>", ""] {
            assert!(!Glob::new(pattern).matches_name(name), "{pattern}");
        }
        assert_eq!(Glob::new("?#7").nameless_id(), MethodId::new(7));
        assert_eq!(Glob::new("a.B#7").nameless_id(), None);
    }

    #[test]
    fn overloads_differ_in_parameters_and_result() {
        let name = |descriptor| Name::new("com.app.Small$1", "next", descriptor);
        let bridge = name("()Ljava/lang/Object;");
        let own = name("()Ljava/lang/Integer;");
        let array = name("()[[Ljava/lang/Object;");
        let number = name("(ILjava/util/Map$Entry;)J");
        for (pattern, expected) in [
            ("com.app.Small$1#next()Ljava/lang/Object;", [true, false, false, false]),
            ("com.app.Small$1#next()Ljava/lang/Object", [true, false, false, false]),
            ("Small$1#next()[[Ljava/lang/Object;", [false, false, true, false]),
            ("Small$1#next(): Object", [true, false, false, false]),
            ("com.app.Small$1.next():Object", [true, false, false, false]),
            ("Small$1#next(): java.lang.Integer", [false, true, false, false]),
            ("com.app.Small$1#next()", [true, true, true, false]),
            ("com.app.Small$1.next()", [true, true, true, false]),
            ("com.app.*#next(int, **): long", [false, false, false, true]),
            ("com.app.*#next(ILjava/util/Map$Entry;)J", [false, false, false, true]),
            ("com.app.*.next(ILjava/util/Map$Entry;)J", [false, false, false, true]),
            ("next()", [false; 4]),
            ("com.app.Small#next()", [false; 4]),
        ] {
            let glob = Glob::new(pattern);
            let found = [bridge, own, array, number].map(|name| glob.selects(name));
            assert_eq!(found, expected, "{pattern}");
            let shown = [bridge, own, array, number].map(|name| glob.matches_name(name));
            assert_eq!(shown, expected, "{pattern}");
        }
    }

    #[test]
    fn many_wildcards_take_no_exponential_time() {
        let pattern = "**a".repeat(30);
        assert!(!Glob::new(&pattern).matches(&"a".repeat(5_000).replace("aa", "ab"), "b"));
    }
}
