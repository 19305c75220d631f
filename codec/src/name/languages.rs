//! Names as the language of the source writes them, instead of what its compiler made of them.
//!
//! | in the class file | shown | what it is |
//! |---|---|---|
//! | `Orders.lambda$total$0` | `Orders.total lambda` | Java: a lambda expression in `total`; `lambda$new$0` is one in a constructor |
//! | `OrdersKt.total$lambda$0` | `OrdersKt.total lambda` | Kotlin: the same |
//! | `OrdersKt$total$1.invoke` | `OrdersKt.total lambda` | Kotlin: the same, as a class of its own |
//! | `OrdersKt$total$1.invokeSuspend` | `OrdersKt.total suspend` | Kotlin: what a suspending function runs |
//! | `Orders.total$sum` | `Orders.total fun sum` | Kotlin: a function in `total` |
//! | `Orders.pay-u05o7KA` | `Orders.pay` | Kotlin: takes a value of an inline class |
//! | `Orders.total$default` | `Orders.total default` | Kotlin: fills in default arguments |
//! | `Orders.total$suspendImpl` | `Orders.total suspend` | Kotlin: the body of a suspending method |
//! | `Orders$Companion.of` | `Orders.Companion.of` | Kotlin: a companion object |
//! | `Orders.access$total`, `access$getTotal$p` | `Orders.total accessor`, `Orders.getTotal accessor` | gives nested classes what is private |
//! | `Orders.$anonfun$total$1`, `total$$anonfun$1` | `Orders.total anonfun` | Scala 2 and 3: a function literal in `total` |
//! | `Orders.total$lzycompute`, `total$lzyINIT1` | `Orders.total lazy` | Scala 2 and 3: computes a lazy value |
//! | `Orders.sum$1` | `Orders.sum local` | Scala: a function in a method |
//! | `Orders.total$` | `Orders.total forwarder` | Scala: calls the method of a trait |
//! | `Orders$.of` | `Orders.of` | Scala: a method of an object |
//! | `$Proxy12.find` | `Orders.find` | Java: a proxy's method that implements that of the interface `Orders` |
//! | `app.Orders$package.of` | `app.of` | Scala 3: a method outside of classes, in `Orders.scala` |
//! | `Orders.total$default$2` | `Orders.total default 2` | Scala: the default of the second parameter |
//! | `Orders.$plus$eq` | `Orders.+=` | Scala: an operator, in names of classes too |
//! | `app.core$map_first$fn__123.invoke` | `app.core/map-first fn` | Clojure: a function in `map-first` |
//! | `Orders$_total_closure1.doCall` | `Orders.total closure` | Groovy: a closure in `total` |
//!
//! Numbers, the names of the methods that are always the same, such as `invoke`, the `$` of an object and the name of a file are
//! shown only where methods would have the same name without.
//!
//! Most of these forms are those of no other names. Those of functions in functions of Kotlin, and of functions in methods,
//! objects and forwarders of Scala may be: they are recognised only if [the source file](super::Origin) is of the language.
//!
//! Sources: the classes that these compilers make; for Clojure `CHAR_MAP` in `clojure.lang.Compiler`, for Scala
//! `scala.reflect.NameTransformer`.

use super::raw::{Name, Source};

/// The words that follow the name of a method in that of what a compiler made of it. The name of a function follows `fun`.
pub const MADE_WORDS: [&str; 18] = [
    "accessor",
    "adapted",
    "anonfun",
    "call",
    "closure",
    "default",
    "doCall",
    "fn",
    "forwarder",
    "fun",
    "invoke",
    "invokePrim",
    "invokeStatic",
    "lambda",
    "lazy",
    "local",
    "proxy",
    "suspend",
];

/// A name in two parts: the class, and what follows it with the separator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Written {
    pub(super) class: String,
    pub(super) rest: String,
}

/// Returns the name as its language writes it, if that is another one. `is_whole` adds what is left out where it
/// distinguishes nothing.
pub(super) fn written(name: Name<'_>, is_whole: bool) -> Option<Written> {
    if let Source::Proxy(interface) = name.origin.0 {
        let proxy = if is_whole { " proxy" } else { "" };
        let rest = format!(".{}{proxy}", name.name);
        return Some(Written { class: interface.to_owned(), rest });
    }
    // Each of them has this character in what its compiler makes.
    if !name.class.contains('$') && !name.name.contains(['$', '-']) {
        return None;
    }
    let of_class = clojure(name, is_whole)
        .or_else(|| groovy(name, is_whole))
        .or_else(|| kotlin_class(name, is_whole));
    if of_class.is_some() {
        return of_class;
    }
    let method = of_method(name, is_whole);
    let (class, companion) = match name.class.strip_suffix("$Companion") {
        Some(class) => (class, "Companion."),
        None => (name.class, ""),
    };
    let is_object = name.origin.0 == Source::Scala && !is_whole;
    let object = class.strip_suffix('$').filter(|_| is_object);
    let class = object.unwrap_or(class);
    // What a file of Scala 3 defines outside of classes.
    let file = class.strip_suffix("$package").filter(|file| is_object && !file.is_empty());
    let class = file.map_or(class, |file| package(file).0.trim_end_matches('.'));
    let operators = class.contains('$').then(|| scala(class)).flatten();
    if method.is_none()
        && operators.is_none()
        && companion.is_empty()
        && object.is_none()
        && file.is_none()
    {
        return None;
    }
    let method = method.unwrap_or_else(|| name.name.to_owned());
    let dot = if class.is_empty() { "" } else { "." };
    let class = operators.unwrap_or_else(|| class.to_owned());
    Some(Written { class, rest: format!("{dot}{companion}{method}") })
}

/// The package with its dot, and the rest.
fn package(class: &str) -> (&str, &str) {
    class.split_at(class.rfind('.').map_or(0, |dot| dot + 1))
}

/// `app.core$map_first$fn__123.invoke`: a function of a namespace. The class has a method for each number of arguments.
fn clojure(name: Name<'_>, is_whole: bool) -> Option<Written> {
    let is_call = matches!(name.name, "invoke" | "invokeStatic" | "doInvoke" | "invokePrim");
    let (package, class) = package(name.class);
    let mut parts = class.split('$');
    let namespace = parts.next()?;
    if !is_call || !namespace.starts_with(char::is_lowercase) || !takes_objects(name.descriptor) {
        return None;
    }
    let function = |part: &str| {
        let mut shown = part;
        // Numbers make each of them unique.
        while !is_whole
            && let Some(rest) =
                shown.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix("__")
        {
            shown = rest;
        }
        clojure_name(shown)
    };
    let functions: Vec<_> = parts.map(function).filter(|part| !part.is_empty()).collect();
    if functions.is_empty() {
        return None;
    }
    let call = if is_whole { format!(" {}", name.name) } else { String::new() };
    let class = format!("{}{}", clojure_name(package), clojure_name(namespace));
    Some(Written { class, rest: format!("/{}{call}", functions.join(" ")) })
}

/// Whether a method takes and returns what Clojure's functions do: objects, `long` and `double`.
fn takes_objects(descriptor: &str) -> bool {
    let rest = descriptor
        .replace("Ljava/lang/Object;", "")
        .replace("Lclojure/lang/ISeq;", "")
        .replace(['J', 'D'], "");
    rest == "()"
}

/// The name in the source. A `_` is a hyphen, and other characters have words.
fn clojure_name(name: &str) -> String {
    const WORDS: [(&str, char); 24] = [
        ("COLON", ':'),
        ("PLUS", '+'),
        ("GT", '>'),
        ("LT", '<'),
        ("EQ", '='),
        ("TILDE", '~'),
        ("BANG", '!'),
        ("CIRCA", '@'),
        ("SHARP", '#'),
        ("SINGLEQUOTE", '\''),
        ("DOUBLEQUOTE", '"'),
        ("PERCENT", '%'),
        ("CARET", '^'),
        ("AMPERSAND", '&'),
        ("STAR", '*'),
        ("BAR", '|'),
        ("LBRACE", '{'),
        ("RBRACE", '}'),
        ("LBRACK", '['),
        ("RBRACK", ']'),
        ("SLASH", '/'),
        ("BSLASH", '\\'),
        ("QMARK", '?'),
        ("DOT", '.'),
    ];
    let mut text = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('_') {
        text.push_str(before);
        let word = after.split_once('_').and_then(|(word, after)| {
            let known = WORDS.iter().find(|(known, _)| *known == word);
            known.map(|(_, character)| (*character, after))
        });
        let character;
        (character, rest) = word.unwrap_or(('-', after));
        text.push(character);
    }
    text + rest
}

/// `Orders$_total_closure1$_closure2.doCall`: a closure in a closure of `total`.
fn groovy(name: Name<'_>, is_whole: bool) -> Option<Written> {
    if !matches!(name.name, "doCall" | "call") {
        return None;
    }
    let start = name.class.find("$_")?;
    let (class, closures) = name.class.split_at(start);
    let mut parts = closures.split("$_").skip(1);
    let (method, first) = parts.next()?.rsplit_once('_')?;
    let mut rest = format!(".{method}");
    for closure in std::iter::once(first).chain(parts) {
        let word = closure.trim_end_matches(|c: char| c.is_ascii_digit());
        if !matches!(word, "closure" | "lambda") || word == closure {
            return None;
        }
        rest.push(' ');
        rest.push_str(word);
        if is_whole {
            rest.push(' ');
            rest.push_str(closure.strip_prefix(word)?);
        }
    }
    if is_whole {
        rest.push(' ');
        rest.push_str(name.name);
    }
    Some(Written { class: class.to_owned(), rest })
}

/// `OrdersKt$total$1.invoke`: a lambda, or `invokeSuspend`: the body of a suspending one.
fn kotlin_class(name: Name<'_>, is_whole: bool) -> Option<Written> {
    let (invoked, made) = name.name.split_at(name.name.find('$').unwrap_or(name.name.len()));
    let word = match invoked {
        "invoke" => "lambda",
        "invokeSuspend" => "suspend",
        _ => return None,
    };
    let mut outer = name.class;
    while let Some((before, number)) = outer.rsplit_once('$')
        && is_number(number)
    {
        outer = before;
    }
    let numbers = name.class.strip_prefix(outer)?.trim_start_matches('$');
    let (class, method) = outer.rsplit_once('$')?;
    let is_method = method.starts_with(char::is_lowercase);
    (is_method && !numbers.is_empty() && !package(class).1.is_empty()).then_some(())?;
    let whole = if is_whole { format!(" {}", numbers.replace('$', ".")) } else { String::new() };
    // What is in it, such as `invoke$lambda$0`.
    let inside = match made {
        "" => String::new(),
        _ => of_method(name, is_whole)?.strip_prefix(invoked)?.to_owned(),
    };
    // The bridge of `invoke` takes objects.
    Some(Written { class: class.to_owned(), rest: format!(".{method} {word}{whole}{inside}") })
}

/// The name of a method that a compiler made of another one's.
fn of_method(name: Name<'_>, is_whole: bool) -> Option<String> {
    let text = name.name;
    if let Some(rest) = text.strip_prefix("lambda$") {
        let (method, number) = rest.rsplit_once('$')?;
        return Some(word_of(&in_method(method), "lambda", number, is_whole));
    }
    if let Some(rest) = text.strip_prefix("$anonfun$") {
        let (rest, adapted) = match rest.strip_suffix("$adapted") {
            Some(rest) => (rest, " adapted"),
            None => (rest, ""),
        };
        let (method, number) = rest.rsplit_once('$')?;
        let method = scala(method).unwrap_or_else(|| in_method(method));
        return Some(word_of(&method, "anonfun", number, is_whole) + adapted);
    }
    if name.origin.0 == Source::KotlinLocal
        && !text.starts_with("access$")
        && let Some(local) = kotlin_local(text, is_whole)
    {
        return Some(local);
    }
    if let Some((method, number)) = text.split_once("$$anonfun$") {
        let number = number.strip_suffix("$adapted").unwrap_or(number);
        let method = scala(method).unwrap_or_else(|| in_method(method));
        return Some(word_of(&method, "anonfun", &number.replace("$$anonfun$", "$"), is_whole));
    }
    for lazy in ["$lzycompute", "$lzyINIT"] {
        if let Some((method, number)) = text.split_once(lazy).filter(|(m, _)| !m.is_empty()) {
            let method = scala(method).unwrap_or_else(|| method.to_owned());
            return Some(word_of(&method, "lazy", number.trim_start_matches('$'), is_whole));
        }
    }
    if let Some((method, number)) = text.split_once("$lambda") {
        let number = number.trim_start_matches(['$', '-']);
        let method = without_hash(method, is_whole);
        return (!method.is_empty()).then(|| word_of(method, "lambda", number, is_whole));
    }
    if let Some(rest) = text.strip_prefix("access$") {
        return Some(accessor(rest, name.origin.0, is_whole));
    }
    if let Some(method) = text.strip_suffix("$suspendImpl").filter(|method| !method.is_empty()) {
        return Some(format!("{} suspend", without_hash(method, is_whole)));
    }
    if name.origin.0 == Source::Scala
        && let Some(method) = text.strip_suffix('$').filter(|method| !method.starts_with('$'))
    {
        let shown = of_method(Name { name: method, ..name }, is_whole);
        return Some(format!("{} forwarder", shown.unwrap_or_else(|| method.to_owned())));
    }
    if let Some((method, number)) = text.rsplit_once("$default").filter(|(m, _)| !m.is_empty()) {
        return defaults(method, number, is_whole).or_else(|| scala(text));
    }
    if name.origin.0 == Source::Scala
        && let Some((method, number)) = text.rsplit_once('$')
        && is_number(number)
        && !method.is_empty()
    {
        let method = scala(method).unwrap_or_else(|| method.to_owned());
        return Some(word_of(&method, "local", number, is_whole));
    }
    match without_hash(text, is_whole) {
        method if method.len() < text.len() => Some(method.to_owned()),
        text => scala(text),
    }
}

/// Names an accessor, by what follows `access$`.
fn accessor(rest: &str, origin: Source<'_>, is_whole: bool) -> String {
    let (rest, kind) = match rest.rsplit_once("$p") {
        Some((rest, kind)) if kind.len() <= 1 => (rest, " p"),
        _ => (rest, ""),
    };
    let kind = if is_whole { kind } else { "" };
    if origin == Source::KotlinLocal
        && let Some(local) = kotlin_local(rest, is_whole)
    {
        return format!("{local} accessor{kind}");
    }
    match rest.starts_with(|c: char| c.is_ascii_digit()) {
        // Of an old compiler, which numbers them.
        true => format!("accessor {rest}"),
        false => format!("{} accessor{kind}", without_hash(rest, is_whole)),
    }
}

/// Names the values of parameters that a call leaves out. Scala numbers them; `None` if something else follows the method.
fn defaults(method: &str, number: &str, is_whole: bool) -> Option<String> {
    let number = match number.strip_prefix('$') {
        // That of a function in a method has another number.
        Some(number) => match number.split_once('$') {
            Some((number, _)) if !is_whole => format!(" {number}"),
            _ => format!(" {}", number.replace('$', ".")),
        },
        None if number.is_empty() => String::new(),
        None => return None,
    };
    let method = match method {
        "$lessinit$greater" => "<init>".to_owned(),
        method => {
            let method = without_hash(method, is_whole);
            scala(method).unwrap_or_else(|| method.to_owned())
        }
    };
    Some(format!("{method} default{number}"))
}

/// Returns the name of a method without the suffix that Kotlin appends if the method takes values of inline classes.
fn without_hash(method: &str, is_whole: bool) -> &str {
    match method.split_at_checked(method.len().saturating_sub(HASH)) {
        Some((name, hash)) if !is_whole && is_hash(hash) => {
            name.strip_suffix('-').unwrap_or(method)
        }
        _ => method,
    }
}

/// The length of what Kotlin appends to a method that takes values of inline classes.
const HASH: usize = 7;

/// Returns whether it is such a hash, and not a word of a name.
fn is_hash(text: &str) -> bool {
    text.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-'))
        && text.bytes().any(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
}

/// `load fun outer fun inner` of `load$outer$inner`: functions in functions and lambda expressions. `None` if it is no
/// function.
fn kotlin_local(text: &str, is_whole: bool) -> Option<String> {
    let mut parts = text.split('$');
    let mut shown = kotlin_accessor(parts.next()?);
    let mut is_function = false;
    for part in parts {
        match part {
            "" => return None,
            "lambda" | "default" => {
                shown.push(' ');
                shown.push_str(part);
            }
            number if is_number(number) => {
                if is_whole {
                    shown.push(' ');
                    shown.push_str(number);
                }
            }
            function => {
                is_function = true;
                shown.push_str(" fun ");
                shown.push_str(function);
            }
        }
    }
    (is_function && !shown.starts_with(' ')).then_some(shown)
}

/// What a function in Kotlin's code of a constructor or an accessor is in.
fn kotlin_accessor(method: &str) -> String {
    if method == "_init_" {
        return "<init>".to_owned();
    }
    for accessor in ["get", "set"] {
        let property = method.strip_prefix('_').and_then(|rest| rest.strip_prefix(accessor));
        let property = property.and_then(|rest| rest.strip_prefix('_')?.strip_suffix('_'));
        if let Some(property) = property {
            let mut chars = property.chars();
            let first = chars.next().map(|first| first.to_uppercase().to_string());
            return format!("{accessor}{}{}", first.unwrap_or_default(), chars.as_str());
        }
    }
    method.to_owned()
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit())
}

/// The method that a part of a name comes from.
fn in_method(part: &str) -> String {
    match part {
        "new" => "<init>",
        "static" => "<clinit>",
        // In another lambda expression.
        "null" => "",
        method => method,
    }
    .to_owned()
}

fn word_of(method: &str, word: &str, number: &str, is_whole: bool) -> String {
    let blank = if method.is_empty() { "" } else { " " };
    match is_whole && !number.is_empty() {
        true => format!("{method}{blank}{word} {}", number.replace('$', ".")),
        false => format!("{method}{blank}{word}"),
    }
}

/// A name with the characters of its operators: `+=` of `$plus$eq`. `None` if it has none.
fn scala(name: &str) -> Option<String> {
    const WORDS: [(&str, char); 18] = [
        ("tilde", '~'),
        ("eq", '='),
        ("less", '<'),
        ("greater", '>'),
        ("bang", '!'),
        ("hash", '#'),
        ("percent", '%'),
        ("up", '^'),
        ("amp", '&'),
        ("bar", '|'),
        ("times", '*'),
        ("div", '/'),
        ("plus", '+'),
        ("minus", '-'),
        ("colon", ':'),
        ("bslash", '\\'),
        ("qmark", '?'),
        ("at", '@'),
    ];
    let mut text = String::new();
    let (mut rest, mut found) = (name, false);
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        // Any other character, by its number.
        let code = after.strip_prefix('u').and_then(|code| code.split_at_checked(4));
        let code = code.and_then(|(code, after)| {
            let is_code = code.bytes().all(|c| c.is_ascii_digit() || matches!(c, b'a'..=b'f'));
            let number = u32::from_str_radix(code, 16).ok().filter(|_| is_code)?;
            Some((char::from_u32(number)?, after))
        });
        // A word ends where the next one begins, or the name does.
        let word = WORDS.iter().find_map(|(word, character)| {
            let after = after.strip_prefix(word)?;
            let ends = after.chars().next().is_none_or(|next| !next.is_ascii_lowercase());
            ends.then_some((*character, after))
        });
        match word.or(code) {
            Some((character, after)) => {
                text.push(character);
                (rest, found) = (after, true);
            }
            None => {
                text.push('$');
                rest = after;
            }
        }
    }
    found.then(|| text + rest)
}

#[cfg(test)]
mod tests {
    use super::super::Origin;
    use super::*;

    fn both(full: &str) -> [String; 2] {
        both_of(full, Source::Unknown)
    }

    fn both_of(full: &str, source: Source<'_>) -> [String; 2] {
        [false, true].map(|is_whole| {
            let name = Name::parse(full).of(Origin(source));
            match written(name, is_whole) {
                Some(Written { class, rest }) => class + &rest,
                None => Name { descriptor: "", ..name }.to_string(),
            }
        })
    }

    #[test]
    fn methods_of_proxies_have_the_names_of_their_interfaces() {
        let both =
            both_of("jdk.proxy2.$Proxy12.find(I)I", Source::Proxy("com.app.Orders$Repository"));
        assert_eq!(both[0], "com.app.Orders$Repository.find");
        assert_eq!(both[1], "com.app.Orders$Repository.find proxy");
    }

    /// As Kotlin 1.8 and 2.0 compile them.
    #[test]
    fn functions_in_functions_of_kotlin_have_their_names() {
        for (full, short, whole) in [
            ("shop.Cart.load$local(II)I", "shop.Cart.load fun local", ""),
            (
                "shop.Cart.load$local$0(II)I",
                "shop.Cart.load fun local",
                "shop.Cart.load fun local 0",
            ),
            ("shop.Cart.load$outer$inner(II)I", "shop.Cart.load fun outer fun inner", ""),
            (
                "shop.Cart.withDefault$d$default(IILjava/lang/Object;)I",
                "shop.Cart.withDefault fun d default",
                "",
            ),
            (
                "shop.Cart.inLambda$lambda$2$inL(I)I",
                "shop.Cart.inLambda lambda fun inL",
                "shop.Cart.inLambda lambda 2 fun inL",
            ),
            ("shop.Cart._get_size_$count(Lshop/Cart;)I", "shop.Cart.getSize fun count", ""),
            ("shop.Cart._init_$initial(Lshop/Cart;)Z", "shop.Cart.<init> fun initial", ""),
            ("shop.Cart.access$later$sus(I)V", "shop.Cart.later fun sus accessor", ""),
            (
                "shop.MainKt$main$1.invokeSuspend$local(I)I",
                "shop.MainKt.main suspend fun local",
                "shop.MainKt.main suspend 1 fun local",
            ),
            (
                "shop.MainKt$main$1.invokeSuspend$lambda$0(I)I",
                "shop.MainKt.main suspend lambda",
                "shop.MainKt.main suspend 1 lambda 0",
            ),
            (
                "shop.CartKt$m$1.invoke$lambda$0(I)I",
                "shop.CartKt.m lambda lambda",
                "shop.CartKt.m lambda 1 lambda 0",
            ),
            ("shop.Cart.anon$lambda$3(I)I", "shop.Cart.anon lambda", "shop.Cart.anon lambda 3"),
            // An entry of an enumeration, and what is no function.
            ("shop.Color.$values()[Lshop/Color;", "shop.Color.$values", ""),
            ("shop.Cart.a$$b(I)I", "shop.Cart.a$$b", ""),
        ] {
            let whole = if whole.is_empty() { short } else { whole };
            assert_eq!(both_of(full, Source::KotlinLocal), [short, whole], "{full}");
        }
        // Anyone may have given a method these names.
        for full in
            ["shop.Cart.load$local(II)I", "shop.Cart.hidden$main()I", "CGLIB$f$0.CGLIB$g$1()V"]
        {
            let name = Name { descriptor: "", ..Name::parse(full) }.to_string();
            assert_eq!(both(full), [name.clone(), name], "{full}");
        }
        for (full, short) in [
            ("shop.MainKt.useId-u05o7KA(I)S", "shop.MainKt.useId"),
            ("shop.Id.show-impl(I)S", "shop.Id.show-impl"),
            ("shop.T.adds-numbers()V", "shop.T.adds-numbers"),
        ] {
            assert_eq!(both(full)[0], short, "{full}");
        }
        assert_eq!(both("shop.MainKt.useId-u05o7KA(I)S")[1], "shop.MainKt.useId-u05o7KA");
    }

    /// As Scala 2.13 and 3.3 compile them.
    #[test]
    fn objects_lazy_values_and_functions_of_scala_have_their_names() {
        for (full, short, whole) in [
            ("shop.Shop$.find(I)I", "shop.Shop.find", "shop.Shop$.find"),
            ("shop.Cart$Nested$.deep()I", "shop.Cart$Nested.deep", "shop.Cart$Nested$.deep"),
            (
                "shop.my$minusobj$.odd$u0020name()I",
                "shop.my$minusobj.odd name",
                "shop.my$minusobj$.odd name",
            ),
            (
                "shop.Main$.$anonfun$main$1(I)I",
                "shop.Main.main anonfun",
                "shop.Main$.main anonfun 1",
            ),
            ("shop.Main$$anon$1.name()S", "shop.Main$$anon$1.name", ""),
            ("shop.Cart.local$1(II)I", "shop.Cart.local local", "shop.Cart.local local 1"),
            ("shop.Cart.d$default$1$1()I", "shop.Cart.d default 1", "shop.Cart.d default 1.1"),
            ("shop.Named.name$(Lshop/Named;)S", "shop.Named.name forwarder", ""),
            (
                "shop.Priced.price$default$1$(Lshop/Priced;)I",
                "shop.Priced.price default 1 forwarder",
                "",
            ),
            ("shop.Named.$init$(Lshop/Named;)V", "shop.Named.$init$", ""),
            ("shop.Shop$package.run(I)I", "shop.run", "shop.Shop$package.run"),
            ("shop.Shop$package$.run(I)I", "shop.run", "shop.Shop$package$.run"),
            ("Shop$package$.run(I)I", "run", "Shop$package$.run"),
            (
                "shop.Shop$package$.run$$anonfun$1(I)I",
                "shop.run anonfun",
                "shop.Shop$package$.run anonfun 1",
            ),
        ] {
            let whole = if whole.is_empty() { short } else { whole };
            assert_eq!(both_of(full, Source::Scala), [short, whole], "{full}");
        }
        for full in ["shop.Shop$.find(I)I", "shop.Cart.local$1(II)I", "shop.Named.name$(I)S"] {
            let name = Name { descriptor: "", ..Name::parse(full) }.to_string();
            assert_eq!(both(full), [name.clone(), name], "{full}");
        }
        for (full, short, whole) in [
            ("shop.Cart.total$lzycompute()I", "shop.Cart.total lazy", ""),
            (
                "shop.Cart.inside$lzycompute$1(I)I",
                "shop.Cart.inside lazy",
                "shop.Cart.inside lazy 1",
            ),
            ("shop.Cart.total$lzyINIT1()I", "shop.Cart.total lazy", "shop.Cart.total lazy 1"),
            (
                "shop.Cart.inside$lzyINIT1$1(I)I",
                "shop.Cart.inside lazy",
                "shop.Cart.inside lazy 1.1",
            ),
            (
                "shop.Cart.tryIt$$anonfun$1(I)I",
                "shop.Cart.tryIt anonfun",
                "shop.Cart.tryIt anonfun 1",
            ),
            (
                "shop.Cart.a$$anonfun$1$$anonfun$2(I)I",
                "shop.Cart.a anonfun",
                "shop.Cart.a anonfun 1.2",
            ),
        ] {
            let whole = if whole.is_empty() { short } else { whole };
            assert_eq!(both(full), [short, whole], "{full}");
        }
    }

    #[test]
    fn names_are_as_in_the_source() {
        let object = "(Ljava/lang/Object;)Ljava/lang/Object;";
        for (full, short, whole) in [
            ("a.B.lambda$total$0(I)V", "a.B.total lambda", "a.B.total lambda 0"),
            ("a.B.lambda$new$12()V", "a.B.<init> lambda", "a.B.<init> lambda 12"),
            ("a.B.lambda$static$1()V", "a.B.<clinit> lambda", "a.B.<clinit> lambda 1"),
            ("a.B.lambda$null$1()V", "a.B.lambda", "a.B.lambda 1"),
            ("a.B.access$000(La/B;)I", "a.B.accessor 000", "a.B.accessor 000"),
            ("B.lambda$m$0()V", "B.m lambda", "B.m lambda 0"),
            ("a.BKt.m$lambda$0(I)V", "a.BKt.m lambda", "a.BKt.m lambda 0"),
            ("a.BKt.m$lambda-3(I)V", "a.BKt.m lambda", "a.BKt.m lambda 3"),
            ("a.BKt.m$lambda$0$1(I)V", "a.BKt.m lambda", "a.BKt.m lambda 0.1"),
            ("a.BKt$m$1.invoke(I)V", "a.BKt.m lambda", "a.BKt.m lambda 1"),
            ("a.BKt$m$2$1.invokeSuspend()V", "a.BKt.m suspend", "a.BKt.m suspend 2.1"),
            ("a.B.m$default(La/B;IILjava/lang/Object;)V", "a.B.m default", "a.B.m default"),
            ("a.B.pay-L6cd9Uo$default(La/B;II)V", "a.B.pay default", "a.B.pay-L6cd9Uo default"),
            ("a.B.access$pay-L6cd9Uo(La/B;I)V", "a.B.pay accessor", "a.B.pay-L6cd9Uo accessor"),
            ("a.B.pay-L6cd9Uo$suspendImpl(La/B;)V", "a.B.pay suspend", "a.B.pay-L6cd9Uo suspend"),
            ("a.B.pay-L6cd9Uo$lambda$0(I)V", "a.B.pay lambda", "a.B.pay-L6cd9Uo lambda 0"),
            (
                "a.B.well-known$default(La/B;II)V",
                "a.B.well-known default",
                "a.B.well-known default",
            ),
            ("a.B.m$suspendImpl(La/B;)V", "a.B.m suspend", "a.B.m suspend"),
            ("a.B$Companion.of()V", "a.B.Companion.of", "a.B.Companion.of"),
            ("a.B.access$total(La/B;)V", "a.B.total accessor", "a.B.total accessor"),
            ("a.B.access$getX$p(La/B;)V", "a.B.getX accessor", "a.B.getX accessor p"),
            ("a.B.$anonfun$m$1(I)V", "a.B.m anonfun", "a.B.m anonfun 1"),
            ("a.B.$anonfun$m$1$adapted(I)V", "a.B.m anonfun adapted", "a.B.m anonfun 1 adapted"),
            ("a.B.$anonfun$$plus$2(I)V", "a.B.+ anonfun", "a.B.+ anonfun 2"),
            ("a.B.$plus$eq(I)V", "a.B.+=", "a.B.+="),
            ("a.B.unary_$bang()Z", "a.B.unary_!", "a.B.unary_!"),
            ("a.$colon$colon.head()V", "a.::.head", "a.::.head"),
            ("a.B.m$default$2()I", "a.B.m default 2", "a.B.m default 2"),
            (
                "a.B$.$lessinit$greater$default$1()I",
                "a.B$.<init> default 1",
                "a.B$.<init> default 1",
            ),
            ("a.B$_m_closure1.doCall(I)V", "a.B.m closure", "a.B.m closure 1 doCall"),
            (
                "a.B$_m_closure10$_closure2.call(I)V",
                "a.B.m closure closure",
                "a.B.m closure 10 closure 2 call",
            ),
            // Nothing of this is from such a compiler.
            ("a.B$C.total(I)V", "a.B$C.total", "a.B$C.total"),
            ("a.B$1.invoke(I)V", "a.B$1.invoke", "a.B$1.invoke"),
            ("a.B$C$1.invoke(I)V", "a.B$C$1.invoke", "a.B$C$1.invoke"),
            ("a.B$.m(I)V", "a.B$.m", "a.B$.m"),
            ("a.B.loop$1(I)V", "a.B.loop$1", "a.B.loop$1"),
            ("a.B.$equals(I)V", "a.B.$equals", "a.B.$equals"),
            ("a.B.lambda$(I)V", "a.B.lambda$", "a.B.lambda$"),
            ("a.B.$default(I)V", "a.B.$default", "a.B.$default"),
            ("a.B$_m.doCall(I)V", "a.B$_m.doCall", "a.B$_m.doCall"),
        ] {
            assert_eq!(both(full), [short, whole], "{full}");
        }
        for (full, short, whole) in [
            ("app.core$map.invokeStatic", "app.core/map", "app.core/map invokeStatic"),
            (
                "app.core$map_first$fn__12.invoke",
                "app.core/map-first fn",
                "app.core/map-first fn--12 invoke",
            ),
            ("my_app.core$ok_QMARK_.invoke", "my-app.core/ok?", "my-app.core/ok? invoke"),
            ("user$_STAR_x_STAR_.doInvoke", "user/*x*", "user/*x* doInvoke"),
            ("a.b$iter__1__2$fn__3.invoke", "a.b/iter fn", "a.b/iter--1--2 fn--3 invoke"),
        ] {
            let full = format!("{full}{object}");
            assert_eq!(both(&full), [short, whole], "{full}");
        }
        assert_eq!(both("a.b$m.invoke(Ljava/lang/String;)V")[0], "a.b$m.invoke");
    }
}
